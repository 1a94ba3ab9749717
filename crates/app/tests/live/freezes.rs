//! `hugewise diagnose --freezes` on the real kernel: freezes of three kinds, made on purpose.

use crate::compact;
use crate::hold::Hold;
use crate::hugetlb_kit::Pool;
use crate::init;
use crate::kit::{Said, Scratch, skip, trial, trial_of_any_kernel};
use crate::machine::Turn;
use crate::schemas;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Programs that wait for memory for less of the time are not frozen, as the detector has it.
const STALLED_SHARE: f64 = 0.6;
/// Pages of a pool that has to be compacted for.
const POOL_PAGES: u64 = 64;
/// An emulated CPU takes some seconds to begin, and many more beside others.
const READY_MAX: Duration = Duration::from_secs(60);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("freezes_name_a_real_time_task", real_time),
        trial_of_any_kernel("freezes_name_who_stops_a_program", stopped),
        trial_of_any_kernel("freezes_tell_a_stopped_recorder_from_a_frozen_machine", recorder),
        trial("freezes_name_direct_compaction", compaction),
    ]
}

/// A watcher that has begun.
struct Watch {
    child: Child,
}

impl Watch {
    fn start(scratch: &Scratch, bound: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(init::hugewise());
        command.args(["diagnose", "--freezes", "--json", "--longer-than", bound, "--keep"]);
        command.arg(scratch.join("kept")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let watch = Self { child: command.spawn().context("cannot start hugewise")? };
        // It reads the kernel's list of functions first, and is ready once it waits for signals.
        let began = Instant::now();
        while !watch.has_thread("stop") && began.elapsed() < READY_MAX {
            sleep(Duration::from_millis(100));
        }
        // Its probes have begun to sleep by then.
        sleep(Duration::from_secs(1));
        Ok(watch)
    }

    /// One that ended or never came shows in what it says at its end.
    fn has_thread(&self, name: &str) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let names = tasks.into_iter().flatten().flatten();
        let mut names = names.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.any(|found| found.trim() == name)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Its lines but the last one, each as the schema says; what it takes to watch is there.
    fn stop(self) -> anyhow::Result<Vec<Value>> {
        // What comes after a freeze is part of it.
        sleep(Duration::from_secs(6));
        kill_process(self.pid(), Signal::INT)?;
        let said = Said::of(&self.child.wait_with_output()?);
        let lines = said.out.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        let mut lines = lines.with_context(|| format!("{said:#?}"))?;
        schemas::all_fit("diagnose-freezes", &lines).map_err(anyhow::Error::msg)?;
        let end = lines.pop().with_context(|| format!("no line: {said:#?}"))?;
        if let Some(missing) = end["missing"][0].as_str() {
            return Err(skip(missing));
        }
        ensure!(said.code == Some(if lines.is_empty() { 0 } else { 3 }), "{said:#?}");
        Ok(lines)
    }
}

/// The freezes of one cause.
fn of_cause<'a>(lines: &'a [Value], cause: &str) -> anyhow::Result<Vec<&'a Value>> {
    let found: Vec<&Value> = lines.iter().filter(|line| line["cause"] == cause).collect();
    ensure!(!found.is_empty(), "none of cause {cause}: {lines:#?}");
    Ok(found)
}

fn seconds(line: &Value) -> f64 {
    line["length_ns"].as_f64().unwrap_or(0.0) / 1e9
}

fn real_time(_: &Turn) -> anyhow::Result<()> {
    for tool in ["taskset", "chrt"] {
        let found = Command::new(tool).arg("--version").stdout(Stdio::null()).status();
        found.map_err(|error| skip(format!("{tool} of util-linux: {error}")))?;
    }
    let scratch = Scratch::new()?;
    let watch = Watch::start(&scratch, "250ms")?;
    // The kernel ends it after two seconds of CPU time: nobody else could, on that CPU.
    let hog = "ulimit -t 2; while :; do :; done";
    let mut command = Command::new("taskset");
    command.args(["-c", "0", "chrt", "-f", "10", "sh", "-c", hog]);
    let ended = command.stderr(Stdio::null()).status()?;
    let lines = watch.stop()?;
    if ended.code() == Some(1) {
        return Err(skip("no real-time task can be started here (CAP_SYS_NICE)"));
    }
    let found = of_cause(&lines, "real_time_task")?;
    let longest = found.iter().map(|line| seconds(line)).fold(0.0, f64::max);
    ensure!((0.5..4.0).contains(&longest), "of two seconds {longest} s were told: {found:#?}");
    let holder = &found[0]["holders"][0];
    ensure!(holder["name"] == "sh" && holder["real_time"][1] == 10, "{found:#?}");
    // What was kept can be read, and was recorded around it.
    let kept = found[0]["kept"].as_str().context("it was kept")?;
    let piece = scratch.join("piece");
    let piece = piece.to_str().context("a plain path")?;
    let again = ["record", "--json", "--history", kept, "--from", "1h ago", "-o", piece];
    let again = Said::of(&Command::new(init::hugewise()).args(again).output()?);
    let samples = again.expect(0)?.json()?["samples"].as_u64();
    ensure!(samples >= Some(3), "{samples:?} samples were kept");
    let output = Command::new(init::hugewise()).args(["diagnose", kept]).output()?;
    ensure!(output.status.code() != Some(1), "{:#?}", Said::of(&output));
    Ok(())
}

fn stopped(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let watch = Watch::start(&scratch, "300ms")?;
    let victim = Hold::start("--mib 2")?;
    let pid = Pid::from_raw(i32::try_from(victim.pid())?).context("a pid")?;
    for (signal, wait_ms) in [(Signal::STOP, 700), (Signal::CONT, 0)] {
        kill_process(pid, signal)?;
        sleep(Duration::from_millis(wait_ms));
    }
    let lines = watch.stop()?;
    let ours = |line: &&&Value| line["freeze"]["pid"] == victim.pid();
    let found = of_cause(&lines, "stopped")?;
    let line = found.iter().find(ours).with_context(|| format!("not ours: {found:#?}"))?;
    ensure!((0.7..3.0).contains(&seconds(line)), "{line:#}");
    ensure!(line["freeze"]["by"] == std::process::id(), "{line:#}");
    ensure!(line["freeze"]["lasts"] == false, "{line:#}");
    Ok(())
}

fn recorder(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let watch = Watch::start(&scratch, "500ms")?;
    let pid = watch.pid();
    kill_process(pid, Signal::STOP)?;
    sleep(Duration::from_millis(1500));
    kill_process(pid, Signal::CONT)?;
    let lines = watch.stop()?;
    let found = of_cause(&lines, "recorder_stopped")?;
    ensure!(seconds(found[0]) >= 1.0, "{found:#?}");
    let of_others = |line: &&Value| line["cause"] == "program" || line["cause"] == "kernel_work";
    ensure!(!lines.iter().any(|line| of_others(&line)), "somebody was blamed: {lines:#?}");
    Ok(())
}

fn compaction(_: &Turn) -> anyhow::Result<()> {
    if !init::is_guest() {
        return Err(skip("it fragments nearly all memory: only in a virtual machine"));
    }
    if fs::metadata("/proc/pressure/memory").is_err() {
        return Err(skip("this kernel has no PSI"));
    }
    let kept = (compact::fragment(4)?, compact::take_all_blocks()?);
    let scratch = Scratch::new()?;
    let watch = Watch::start(&scratch, "20ms")?;
    let before = (stalls()?, waited_us()?);
    // A pool's pages are compacted for one after the other, and cleared by whoever gets them: this
    // waits and does nothing else, however slow the CPU is.
    let began = Instant::now();
    let pool = Grown::start()?;
    let took = began.elapsed();
    let (grown, waited_us) = (stalls()? - before.0, waited_us()? - before.1);
    let lines = watch.stop()?;
    drop((pool, kept));
    init::say(&format!(
        "compact_stall grew by {grown} in {waited_us} us of {took:?}: {} lines",
        lines.len()
    ));
    // Fewer are no freeze to speak of.
    if grown < 5 || waited_us < 60_000 {
        return Err(skip(format!("{grown} faults had to compact, for {waited_us} us only")));
    }
    // On an emulated CPU this may hold it so long that this is what freezes first: then it is this
    // program's compaction that is named.
    let own =
        |holder: &Value| holder["pid"] == std::process::id() && holder["work"] == "compaction";
    let held = |line: &Value| line["cause"] == "kernel_work" && own(&line["holders"][0]);
    let stalled = |line: &Value| line["cause"] == "compaction";
    let named = lines.iter().any(|line| held(line) || stalled(line));
    let share = waited_us as f64 / took.as_micros() as f64;
    if !named && share < STALLED_SHARE {
        // A busy host takes the CPU from the guest in between.
        let percent = share * 100.0;
        return Err(skip(format!("it waited for memory {percent:.0} % of the time: no freeze")));
    }
    ensure!(named, "neither a stall nor a CPU that was held: {lines:#?}");
    let memory = lines.iter().filter(|line| stalled(line));
    ensure!(memory.into_iter().all(|line| line["freeze"]["kind"] == "memory"), "{lines:#?}");
    Ok(())
}

/// A pool that has to be compacted for; empty again at the end.
struct Grown;

impl Grown {
    fn start() -> anyhow::Result<Self> {
        if Pool::now()?.total > 0 {
            return Err(skip("somebody uses HugeTLB pages here"));
        }
        Pool::write(POOL_PAGES)?;
        Ok(Self)
    }
}

impl Drop for Grown {
    fn drop(&mut self) {
        let _ = Pool::write(0);
    }
}

fn stalls() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/vmstat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("compact_stall "));
    Ok(line.context("compact_stall")?.trim().parse()?)
}

/// Time for which some program has waited for memory.
fn waited_us() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/pressure/memory")?;
    let total = text.lines().next().and_then(|line| line.rsplit_once("total="));
    Ok(total.context("no total")?.1.trim().parse()?)
}
