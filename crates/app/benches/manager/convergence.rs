//! How fast a dense program becomes huge: hugewise against khugepaged.

use super::{Done, number, target};
use hugewise_core::ownership::THP_DIR;
use hugewise_core::units::Bytes;
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Scope, Trail};
use std::time::{Duration, Instant};

/// khugepaged at its defaults is watched this long; what it would need in all is extrapolated.
const WATCH: Duration = Duration::from_secs(120);
const LIMIT: Duration = Duration::from_secs(300);

struct Measured {
    name: &'static str,
    mib_per_s: f64,
    note: String,
}

pub(crate) fn run() -> Done {
    let size = Bytes::mib(number("HUGEWISE_BENCH_GIB", 4) << 10);
    println!(
        "A program with {size} of dense base pages, warmed; each variant once, in this order.\n"
    );
    let all = [
        khugepaged("khugepaged, defaults", size, &[], WATCH)?,
        khugepaged(
            "khugepaged, tuned hard",
            size,
            &[
                ("pages_to_scan", "1000000"),
                ("scan_sleep_millisecs", "0"),
                ("alloc_sleep_millisecs", "0"),
            ],
            LIMIT,
        )?,
        ours("hugewise, defaults", size, &[])?,
        ours("hugewise, told that stalls don't matter", size, &target::UNPACED)?,
    ];
    println!("| variant | MiB/s | against khugepaged's defaults | note |");
    println!("|---|---|---|---|");
    let base = all[0].mib_per_s;
    for measured in all {
        let Measured { name, mib_per_s, note } = measured;
        println!("| {name} | {mib_per_s:.1} | {:.1} x | {note} |", mib_per_s / base);
    }
    Ok(())
}

/// Waits until everything is huge or `limit` has passed; MiB/s and a note.
fn watch(
    name: &'static str,
    pid: u32,
    size: Bytes,
    limit: Duration,
) -> Result<Measured, Box<dyn std::error::Error>> {
    let began = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let huge = target::huge(pid)?;
        let done = huge.0 as f64 >= 0.99 * size.0 as f64;
        if done || began.elapsed() >= limit {
            let seconds = began.elapsed().as_secs_f64();
            let mib_per_s = huge.0 as f64 / f64::from(1 << 20) / seconds;
            let all = (size.0 >> 20) as f64 / mib_per_s;
            let note = if done {
                format!("all huge after {seconds:.1} s")
            } else {
                format!("{huge} after {seconds:.0} s; extrapolated to all: {all:.0} s")
            };
            return Ok(Measured { name, mib_per_s, note });
        }
    }
}

fn khugepaged(
    name: &'static str,
    size: Bytes,
    settings: &[(&str, &str)],
    limit: Duration,
) -> Result<Measured, Box<dyn std::error::Error>> {
    target::warm(size)?;
    // Advised, so that khugepaged serves this program and no other of the machine.
    let target = target::hold(size, &["--fill", "dense", "--advise", "later"])?;
    let dir = std::env::temp_dir().join(format!("hugewise-bench-{}", std::process::id()));
    let mut trail = Trail::open(Root::live(), &dir, Scope::Manager)?;
    let measured = (|| {
        for (file, value) in settings {
            trail.set(&format!("{THP_DIR}/khugepaged/{file}"), value)?;
        }
        watch(name, target.0.id(), size, limit)
    })();
    trail.restore();
    measured
}

fn ours(
    name: &'static str,
    size: Bytes,
    arguments: &[&str],
) -> Result<Measured, Box<dyn std::error::Error>> {
    target::warm(size)?;
    let target = target::hold(size, &["--fill", "dense"])?;
    let pid = target.0.id();
    let (manager, dir) = target::manage(pid, arguments)?;
    let mut measured = watch(name, pid, size, LIMIT)?;
    target::stop(manager)?;
    measured.note.push_str(&call_times(&dir.join("journal.jsonl"))?);
    Ok(measured)
}

/// What the calls took, from the journal.
fn call_times(journal: &std::path::Path) -> Result<String, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(journal)?;
    let lines = text.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    let (mut calls, mut warms) = (Vec::new(), Vec::new());
    for line in lines {
        calls.extend(line["call_ns"].as_f64().map(|ns| ns / 1e6));
        warms.extend(line["warm_ns"].as_f64().map(|ns| ns / 1e6));
    }
    Ok(format!(
        "; call ms {}, {} warm-ups ms {}",
        super::spread(&calls, 2),
        warms.len(),
        super::spread(&warms, 2)
    ))
}
