//! Other users do with their own processes what they may: a victim is served all the same, nobody
//! else waits for their failures, and the manager stays within its bounds.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, hugewise, number, promotes, skip, trial, wait_for};
use crate::machine::{Settings, Turn};
use crate::manager::{Manage, Manager};
use crate::promote::FAST;
use anyhow::{Context, ensure};
use hugewise_base::units::{Addr, ProcId};
use hugewise_linux::actuator::{Actuator, ActuatorConfig, Reach};
use hugewise_linux::mappings::{Mapping, Span};
use hugewise_linux::pages::PageReader;
use hugewise_linux::process::Lister;
use hugewise_linux::root::Root;
use hugewise_linux::space_text::mappings;
use hugewise_linux::target::Target;
use hugewise_linux::{machine, process};
use hugewise_manager::decision::{Action, Decision, FailureClass, Motive, Outcome};
use hugewise_manager::reason::SkipReason;
use libtest_mimic::Trial;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Users that nobody else uses: the hostile one, and the victim.
const HOSTILE: u32 = 65_531;
const VICTIM: u32 = 65_530;
/// The victim's memory: in a short trial, and in a soak.
const MIB: u64 = 64;
const SOAK_MIB: u64 = 200;
/// Own memory beside strangers (SPEC.md, "other users starve nobody").
const RSS_BYTES: u64 = 64 << 20;
/// How long all neighbours stay with `HUGEWISE_SOAK=1`.
const SOAK: Duration = Duration::from_secs(600);

/// What each does; together less than half of the memory of a small virtual machine.
const NEIGHBOURS: [&str; 5] = [
    "--kind mappings --mib 16",
    "--kind sparse --mib 16 --count 8",
    "--kind forks --mib 32 --count 24",
    "--kind holes --mib 32",
    "--kind knock --mib 2",
];

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("neighbours_starve_nobody", starve_nobody),
        trial("neighbours_holes_are_their_own", holes_are_their_own),
        trial("a_real_time_thread_excludes_its_program", a_real_time_thread),
    ]
}

fn rules(scratch: &Scratch) -> anyhow::Result<String> {
    let rule = |uid| format!("[[rule]]\nuser = \"#{uid}\"\naction = \"manage\"\n");
    let text = format!(
        "[select]\ndefault = \"exclude\"\nmin_anon_bytes = \"8 MiB\"\nmax_targets = 40\n\n{}{}",
        rule(HOSTILE),
        rule(VICTIM)
    );
    let path = scratch.join("hugewise.toml");
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}

/// How long it takes until all of a new victim's memory is huge.
fn serve(program: &Path, manager: &Manager<'_>, mib: u64) -> anyhow::Result<Duration> {
    let mut victim = Hold::start_as(program, Some(VICTIM), &format!("--mib {mib}"))?;
    let began = Instant::now();
    wait_for("the victim's memory to be huge", || {
        let status = manager.status()?;
        ensure!(status["schema"].is_u64(), "no status: {status}");
        Ok(victim.memory()?.huge >= mib << 10)
    })?;
    victim.verify()?;
    Ok(began.elapsed())
}

/// Largest resident size so far, and CPU time, of a manager and its workers.
fn cost(pid: u32) -> anyhow::Result<(u64, Duration)> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let workers = children.split_whitespace().map(str::parse).collect::<Result<Vec<u32>, _>>()?;
    let mut all = cost_of_one(pid)?;
    for worker in workers {
        // One that was replaced meanwhile.
        let (rss_bytes, cpu) = cost_of_one(worker).unwrap_or_default();
        all = (all.0 + rss_bytes, all.1 + cpu);
    }
    Ok(all)
}

fn cost_of_one(pid: u32) -> anyhow::Result<(u64, Duration)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line.context("no VmHWM")?.trim().trim_end_matches(" kB").parse()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(") ").context("no name")?;
    let ticks =
        fields.split(' ').skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok((kib << 10, Duration::from_millis(ticks * 10)))
}

/// Starts all neighbours, and waits until the manager has those with memory in its table.
fn settle(scratch: &Scratch, manager: &Manager<'_>) -> anyhow::Result<Vec<Hold>> {
    let doors = ["state", "run"].map(|dir| format!("--at {}", scratch.join(dir).display()));
    let start = |args| {
        let args = format!("{args} {}", doors.join(" "));
        Hold::start_program("neighbour", Some(HOSTILE), &args)
    };
    let hostile = NEIGHBOURS.into_iter().map(start).collect::<anyhow::Result<Vec<_>>>()?;
    wait_for("all neighbours to be managed", || {
        let status = manager.status()?;
        let managed = |pid| status["targets"].as_array()?.iter().find(|t| t["pid"] == pid);
        let large = hostile.iter().zip(NEIGHBOURS).filter(|(_, args)| !args.contains("knock"));
        Ok(large.into_iter().all(|(neighbour, _)| managed(neighbour.pid()).is_some()))
    })?;
    Ok(hostile)
}

/// Whatever goes on, settings come back: after a kill, and while others knock at every door.
fn comes_back(scratch: &Scratch, manager: Manager<'_>, before: &Settings) -> anyhow::Result<()> {
    ensure!(!before.differences().is_empty(), "the manager took no setting");
    manager.kill()?;
    let state = scratch.join("state");
    let state = state.to_str().context("a plain path")?;
    let began = Instant::now();
    hugewise(["revert", "--state-dir", state])?.expect(0)?;
    println!("neighbours: settings were back {:.2} s after a kill", began.elapsed().as_secs_f64());
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    Ok(())
}

fn starve_nobody(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let program = scratch.program("hugewise")?;
    let before = Settings::read()?;
    let soak = init::is_soak();
    if init::is_guest() && !soak {
        return Err(skip(
            "takes a minute and a half on an emulated processor: 'make soak' runs it",
        ));
    }
    // At its usual pace it must keep its budget; a short trial has no time for that pace.
    let (pace, mib) = if soak { ("", SOAK_MIB) } else { (FAST, MIB) };
    let args = format!("--for 1h {pace} --config {}", rules(&scratch)?);
    let manager = Manage::new(&scratch, &args).start()?;
    let alone = serve(&program, &manager, mib)?;
    let hostile = settle(&scratch, &manager)?;
    let (began, (_, cpu_before)) = (Instant::now(), cost(manager.pid())?);
    let warm_before = number(&manager.status()?, "/warm_cpu_ns")?;
    let mut beside = vec![serve(&program, &manager, mib)?];
    while soak && began.elapsed() < SOAK {
        beside.push(serve(&program, &manager, mib)?);
    }
    let status = manager.status()?;
    let (rss_bytes, cpu) = cost(manager.pid())?;
    let share = |time: Duration| 100.0 * time.as_secs_f64() / began.elapsed().as_secs_f64();
    // Warming ahead has a budget of its own, of CPU time that nobody else wants.
    let warm = Duration::from_nanos(number(&status, "/warm_cpu_ns")? - warm_before);
    let (percent, warm) = (share((cpu - cpu_before).saturating_sub(warm)), share(warm));
    beside.sort();
    let worst = beside[beside.len() - 1];
    println!(
        "neighbours: victim of {mib} MiB huge after {:.1} s alone; beside them, {} times, {:.1} s \
         (median), {:.1} s (longest); manager {} MiB, {percent:.1} % of a core and \
         {warm:.1} % for warming",
        alone.as_secs_f64(),
        beside.len(),
        beside[beside.len() / 2].as_secs_f64(),
        worst.as_secs_f64(),
        rss_bytes >> 20
    );
    // controller.cpu_percent, and one for everything else.
    ensure!(!soak || percent <= 6.0, "the manager needed {percent:.1} % of a core");
    ensure!(!soak || warm <= 25.0, "warming needed {warm:.1} % of a core");
    ensure!(!soak || worst <= 2 * alone, "a victim waited {worst:?}, alone {alone:?}");
    ensure!(rss_bytes <= RSS_BYTES, "the manager needed {rss_bytes} bytes");
    ensure!(number(&status, "/promoted")? > 0, "{status}");
    ensure!(status["gate"].is_null(), "everybody waits: {status}");
    comes_back(&scratch, manager, &before)?;
    drop(hostile);
    Ok(())
}

/// A refusal for a region of which pages were unmapped after it was chosen says nothing of the
/// machine's memory: nobody else is to wait.
fn holes_are_their_own(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let args = "--kind holes --mib 8";
    let neighbour = Hold::start_program("neighbour", Some(HOSTILE), args)?;
    let (root, pid) = (Root::live(), neighbour.pid());
    let geometry = machine::geometry(&root);
    let holed = |mapping: &Mapping| {
        let Span { start, end, excluded, .. } = mapping.span;
        let size = geometry.huge.0 - geometry.base.0;
        excluded.is_none() && end.0 - start.0 == size && end.0 % geometry.huge.0 == 0
    };
    let mappings = mappings(&root, pid)?;
    let holed = mappings.iter().find(|m| holed(m)).context("no region with a hole")?;
    let region = Addr(holed.span.end.0 - geometry.huge.0);
    let id = ProcId { pid, start_ticks: process::stat(&root, pid).context("gone")?.starttime };
    let mut pages = PageReader::new(geometry).context("pages cannot be counted here")?;
    let mut target = Target::open(&root, id).map_err(|reason| anyhow::anyhow!("{reason}"))?;
    let mut actuator = Actuator::new(&root, Reach::Act, geometry, ActuatorConfig::default());
    // Nothing is mapped at 1 TiB: the kernel then says ENOMEM, and for a hole EINVAL or ENOMEM.
    for region in [region, Addr(1 << 40)] {
        let decision = Decision {
            target: id,
            region,
            mapping: region,
            action: Action::Promote,
            motive: Motive::Utilization,
            populated: 511,
            waste: 0,
            min_populated: 0,
            warm: false,
            sample: false,
            another: false,
            unhurried: false,
            shared_memory: false,
            outlook: None,
        };
        let outcome = actuator.act(&root, &mut pages, &mut target, &decision);
        let blamed = matches!(
            outcome,
            Outcome::Failed { class: FailureClass::Refused, reason, errno: Some(_), .. }
                if matches!(reason, SkipReason::Hole | SkipReason::RefusedByKernel)
        );
        ensure!(blamed, "a hole is the region's own: {outcome:?}");
    }
    Ok(())
}

/// Sets a thread's scheduling, as an operator would.
fn chrt(policy: &str, priority: &str, tid: i32) -> anyhow::Result<()> {
    let mut command = Command::new("chrt");
    let command = command.args([policy, "--pid", priority, &tid.to_string()]);
    let output = command.output().map_err(|_| skip("needs chrt (Debian's package util-linux)"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(skip(String::from_utf8_lossy(&output.stderr).trim()))
}

/// The first thread of this program is an ordinary one; another is made real-time.
fn a_real_time_thread(_: &Turn) -> anyhow::Result<()> {
    let ended = std::thread::scope(|scope| scope.spawn(real_time_for_a_moment).join());
    ended.map_err(|_| anyhow::anyhow!("the thread panicked"))?
}

fn real_time_for_a_moment() -> anyhow::Result<()> {
    let (root, pid) = (Root::live(), std::process::id());
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    ensure!(i64::from(tid) != i64::from(pid), "a trial has a thread of its own");
    let geometry = machine::geometry(&root);
    // Of a process with less memory of its own only two files are read.
    let memory = std::hint::black_box(vec![1_u8; 4 << 20]);
    let real_time = || {
        let sample = Lister::new(&root).sample(&root, geometry, pid);
        sample.context("no sample of this process").map(|sample| sample.real_time)
    };
    ensure!(!real_time()?, "no thread is real-time yet");
    chrt("--fifo", "1", tid)?;
    let found = real_time();
    chrt("--other", "0", tid)?;
    ensure!(found?, "a real-time thread was not seen");
    ensure!(!real_time()?, "it is ordinary again");
    drop(memory);
    Ok(())
}
