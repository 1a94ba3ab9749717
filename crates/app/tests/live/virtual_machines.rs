//! Virtual machines: what is predicted of one before it starts, what becomes huge of it, and what
//! becomes of the same with the algorithm of others.

use crate::compact::fragment_by;
use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, hugewise, promotes, skip, trial, trial_of_newer_kernels, wait_for};
use crate::machine::{Memory, Turn, thp};
use crate::manager::Manage;
use crate::promote::FAST;
use anyhow::{Context, ensure};
use hugewise_base::parse::smaps;
use hugewise_linux::address_space::{RemoteAdvice, advise};
use hugewise_linux::memory::{Arena, LocalAdvice};
use libtest_mimic::Trial;
use rustix::fd::{AsFd, OwnedFd};
use rustix::pipe::{fcntl_setpipe_size, pipe};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};

const MIB: usize = 1 << 20;
const KIB_PER_MIB: usize = 1 << 10;
const HUGE: usize = 2 * MIB;
const PAGE: usize = 4096;
/// Memory of the machine that starts in fragmented memory, MiB.
const SIZE_MIB: usize = 256;
/// Memory of a real one, MiB.
const REAL_MIB: usize = 512;
/// How far a prediction may be off, points.
const OFF_MOST: f64 = 3.0;
/// Of so many states the prediction holds, percent: 18 of 20.
const HOLDS_PERCENT: usize = 90;
const SWITCH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_newer_kernels("virtual_machines_become_as_huge_as_predicted", states),
        trial("virtual_machines_of_qemu_become_huge", |_| real("memory-backend-ram")),
        trial("virtual_machines_of_qemu_in_a_shared_file_become_huge", |_| {
            let file = format!("/dev/shm/hugewise-guest-{}", std::process::id());
            let ended = real(&format!("memory-backend-file,mem-path={file},align=2M,share=on"));
            fs::remove_file(&file).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            ended
        }),
        trial("virtual_machines_of_qemu_in_a_memfd_say_why_not", |_| {
            real("memory-backend-memfd,share=on")
        }),
    ]
}

/// What others hold while a machine starts.
#[derive(Debug, Clone, Copy)]
struct State {
    /// They keep one page of so many.
    one_of: usize,
    /// So much of the memory is whole blocks, MiB.
    whole_mib: usize,
    /// So much is the kernel's, which cannot be moved, side by side, MiB.
    fixed_mib: usize,
    /// In one of so many blocks there is one page of the kernel's; 0: in none.
    spoilt: usize,
}

const fn state(one_of: usize, whole_mib: usize, fixed_mib: usize, spoilt: usize) -> State {
    State { one_of, whole_mib, fixed_mib, spoilt }
}

/// Twenty of them; the first are those of the short form.
const STATES: [State; 20] = [
    state(16, 0, 0, 0),
    state(4, 64, 96, 0),
    state(8, 0, 0, 8),
    state(2, 0, 0, 0),
    state(3, 0, 0, 0),
    state(4, 0, 0, 0),
    state(8, 0, 0, 0),
    state(32, 0, 0, 0),
    state(64, 0, 0, 0),
    state(256, 0, 0, 0),
    state(2, 128, 0, 0),
    state(8, 128, 0, 0),
    state(16, 300, 0, 0),
    state(64, 300, 0, 0),
    state(8, 0, 64, 0),
    state(16, 0, 192, 0),
    state(3, 64, 64, 0),
    state(16, 0, 0, 32),
    state(64, 64, 0, 16),
    state(8, 0, 64, 16),
];
/// Of the short form.
const FEW: usize = 3;

/// Memory that others hold; given back when dropped.
struct Others {
    _arena: Arena,
    _fixed: Vec<(OwnedFd, OwnedFd)>,
}

impl State {
    fn make(self) -> anyhow::Result<Others> {
        let mut fixed = pipes(self.fixed_mib * MIB)?;
        let spoilt = (self.spoilt > 0).then_some(self.spoilt * HUGE);
        let arena = fragment_by(|arena, size| {
            if let Some(step) = spoilt {
                // The only free pages that there are: each in another block.
                let places: Vec<_> = (0..size).step_by(step).collect();
                for at in &places {
                    arena.advise(*at..at + PAGE, LocalAdvice::DontNeed)?;
                }
                fixed.extend(pipes(places.len() * PAGE)?);
            }
            let whole = (self.whole_mib * MIB).min(size);
            arena.advise(0..whole, LocalAdvice::DontNeed)?;
            for at in (whole..size).step_by(self.one_of * PAGE) {
                let end = size.min(at + self.one_of * PAGE);
                if at + PAGE < end {
                    arena.advise(at + PAGE..end, LocalAdvice::DontNeed)?;
                }
            }
            Ok(())
        })?;
        Ok(Others { _arena: arena, _fixed: fixed })
    }
}

/// Full pipes: their pages cannot be moved.
fn pipes(bytes: usize) -> anyhow::Result<Vec<(OwnedFd, OwnedFd)>> {
    let mut all = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let (read, write) = pipe().context("a pipe")?;
        let size = fcntl_setpipe_size(&write, MIB.min(left)).context("a large pipe")?;
        let size = size.min(left);
        let mut written = 0;
        while written < size {
            written += rustix::io::write(&write, &vec![1; size - written])?;
        }
        left -= size;
        all.push((read, write));
    }
    Ok(all)
}

/// The program whose memory stands for that of a guest, in base pages.
fn started() -> anyhow::Result<Hold> {
    Hold::start(&format!("--mib {SIZE_MIB} --advise later"))
}

fn coverage(pid: u32) -> anyhow::Result<f64> {
    Ok(100.0 * Memory::of(pid)?.huge as f64 / (SIZE_MIB * KIB_PER_MIB) as f64)
}

/// What came of one state.
struct Row {
    state: State,
    forecast: Value,
    ours: f64,
    others: f64,
    reason: Value,
}

impl Row {
    fn of(state: State) -> anyhow::Result<Self> {
        let (forecast, ours, reason) = {
            let _others = state.make()?;
            let size = format!("{SIZE_MIB}MiB");
            let said = hugewise(["advise", "place", &size, "--guarantee", "99", "--json"])?;
            let forecast = said.json()?["forecast"].clone();
            let mut hold = started()?;
            let scratch = Scratch::new()?;
            let pid = hold.pid();
            let args = format!("--pid {pid} --guarantee 99 --keep-settings --for 2m {FAST}");
            let said = Manage::new(&scratch, &args).run()?;
            let guarantee = said.json()?["guarantee"].clone();
            let code = if guarantee["reached"] == true { 0 } else { 5 };
            said.expect(code)?;
            hold.verify()?;
            (forecast, coverage(pid)?, guarantee["reason"].clone())
        };
        let others = {
            let _others = state.make()?;
            let hold = started()?;
            collapse_as_kubevirt(hold.pid())?;
            coverage(hold.pid())?
        };
        Ok(Self { state, forecast, ours, others, reason })
    }

    fn percent(&self, name: &str) -> f64 {
        self.forecast[name].as_f64().unwrap_or(f64::NAN)
    }

    fn is_right(&self) -> bool {
        (self.percent("percent") - self.ours).abs() <= OFF_MOST
    }

    fn text(&self) -> String {
        let [predicted, least, most, now] =
            ["percent", "least_percent", "most_percent", "at_once_percent"]
                .map(|n| self.percent(n));
        format!(
            "{:?}: predicted {predicted:.1} ({least:.1} to {most:.1}), free now {now:.1}, huge \
             {:.1}, KubeVirt's {:.1}{}{}",
            self.state,
            self.ours,
            self.others,
            if self.is_right() { "" } else { ", NOT as predicted" },
            self.reason.as_str().map(|reason| format!(", {reason}")).unwrap_or_default(),
        )
    }
}

/// What KubeVirt does when a machine has started (`THPMemoryBacking`, VEP 383): mappings of more
/// than 16 MiB that may be huge, each as a whole, three times.
fn collapse_as_kubevirt(pid: u32) -> anyhow::Result<()> {
    const LEAST: u64 = 16 << 20;
    let process = Pid::from_raw(i32::try_from(pid)?).context("a pid")?;
    let pidfd = pidfd_open(process, PidfdFlags::empty())?;
    for _ in 0..3 {
        let text = fs::read(format!("/proc/{pid}/smaps"))?;
        for one in smaps::parse(&text).value {
            let (start, length) = (one.map.start, one.map.end - one.map.start);
            if one.thp_eligible == Some(true) && length > LEAST {
                // It goes on whatever the answer is, and looks at the coverage in the end.
                let _ = advise(pidfd.as_fd(), start, length, RemoteAdvice::Collapse);
            }
        }
    }
    Ok(())
}

/// In every state of the memory as much becomes huge as was predicted before.
fn states(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if !init::is_guest() {
        return Err(skip("it fragments nearly all memory: only in a virtual machine"));
    }
    let states = if init::is_soak() { &STATES[..] } else { &STATES[..FEW] };
    let mut rows = Vec::new();
    for state in states {
        let row = Row::of(*state).with_context(|| format!("{state:?}"))?;
        init::say(&row.text());
        rows.push(row);
    }
    let all: String = rows.iter().map(|row| row.text() + "\n").collect();
    let right = rows.iter().filter(|row| row.is_right()).count();
    ensure!(
        right * 100 >= rows.len() * HOLDS_PERCENT,
        "{right} of {} as predicted:\n{all}",
        rows.len()
    );
    for row in rows.iter().filter(|row| row.percent("at_once_percent") >= 100.0) {
        ensure!(row.ours >= 99.0, "blocks were there: {}", row.text());
    }
    Ok(())
}

/// A real machine, which an emulator runs; it ends with the trial.
struct Qemu(Child);

impl Qemu {
    /// With memory of this kind, all of it touched; its firmware runs.
    fn start(backend: &str) -> anyhow::Result<Self> {
        let memory = format!("{backend},id=ram,size={REAL_MIB}M,prealloc=on");
        let started = Command::new("qemu-system-x86_64")
            .args(["-accel", "tcg", "-nodefaults", "-display", "none"])
            .args(["-machine", "pc,memory-backend=ram", "-m", &format!("{REAL_MIB}M")])
            .args(["-object", &memory])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        let child = match started {
            Ok(child) => child,
            Err(error) => return Err(skip(format!("qemu-system-x86_64: {error}"))),
        };
        let mut machine = Self(child);
        wait_for("the guest's memory", || {
            ensure!(machine.0.try_wait()?.is_none(), "qemu ended");
            Ok(Memory::of(machine.0.id())
                .is_ok_and(|memory| memory.rss >= (REAL_MIB * KIB_PER_MIB) as u64))
        })?;
        Ok(machine)
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// No huge pages in faults, until dropped: QEMU asks for them.
struct Never(String);

impl Never {
    fn set() -> anyhow::Result<Self> {
        let before = thp("enabled")?;
        fs::write(SWITCH, "never").context(SWITCH)?;
        Ok(Self(before))
    }
}

impl Drop for Never {
    fn drop(&mut self) {
        let _ = fs::write(SWITCH, &self.0);
    }
}

/// A machine of QEMU is recognised, and huge when `manage --guarantee` has ended.
fn real(backend: &str) -> anyhow::Result<()> {
    promotes()?;
    let never = Never::set()?;
    let machine = Qemu::start(backend)?;
    drop(never);
    let pid = machine.0.id();
    let said = hugewise(["status", "--pid", &pid.to_string(), "--json"])?.json()?;
    let seen = said["processes"][0]["guest"].clone();
    ensure!(seen["monitor"] == "qemu", "{seen}");
    let scratch = Scratch::new()?;
    let args = format!("--pid {pid} --guarantee 95 --keep-settings --for 100s");
    let began = std::time::Instant::now();
    let said = Manage::new(&scratch, &args).run()?;
    let (took, guarantee) = (began.elapsed(), said.json()?["guarantee"].clone());
    let rollup = fs::read(format!("/proc/{pid}/smaps_rollup"))?;
    let rollup = smaps::parse(&rollup).value.pop().context("a rollup")?;
    let huge =
        rollup.anon_huge_pages_bytes.unwrap_or(0) + rollup.shmem_pmd_mapped_bytes.unwrap_or(0);
    let percent = 100.0 * huge as f64 / (REAL_MIB * MIB) as f64;
    eprintln!("{backend}: {percent:.1} % huge after {took:?}; {guarantee}; seen before: {seen}");
    if backend.contains("memfd") && guarantee["reason"] == "misaligned" {
        // QEMU maps a memfd at any address; no page is made huge then, and its owner is told.
        said.expect(5)?;
        return Ok(());
    }
    said.expect(0)?;
    ensure!(percent >= 95.0, "{percent} % of the guest's memory is huge: {guarantee}");
    Ok(())
}
