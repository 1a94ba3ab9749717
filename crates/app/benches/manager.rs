//! `make bench`: what hugewise costs and gains, as ratios against named baselines of the same run.
//!
//! `cargo bench -p hugewise -- NAME...` runs some of: `scan`, `convergence`, `rest`, `tail`,
//! `giveback` (Redis deletes most of its keys), `bloat` (programs that use little of what they
//! touched), `recovery` (how fast held memory comes back), `diagnose` (how fast a day of sar
//! becomes findings; `HUGEWISE_BENCH_SA` names the day's binary file).
//! Sizes and rounds follow `HUGEWISE_BENCH_GIB` (convergence, default 4),
//! `HUGEWISE_BENCH_REST_GIB` (default 16) and `HUGEWISE_BENCH_ROUNDS` (default 5 for scan, tail
//! and the last three). Those three also know `HUGEWISE_BENCH_VARIANTS` and
//! `HUGEWISE_BENCH_SUBJECTS` (names with commas between), `HUGEWISE_BENCH_KEYS`, `_BLOAT_MIB`,
//! `_HOLD_MIB`, and in seconds `_SETTLE`, `_WATCH` and `_SECONDS` of load. Memory of the others is
//! warmed first: a throwaway process touches as much and gives it back right before. Every kernel
//! setting that a variant needs goes through the trail and comes back.

#![forbid(unsafe_code)]

#[path = "manager/convergence.rs"]
mod convergence;
#[path = "manager/diagnose.rs"]
mod diagnose;
#[path = "manager/giveback.rs"]
mod giveback;
#[path = "manager/rest.rs"]
mod rest;
#[path = "manager/scan.rs"]
mod scan;
#[path = "manager/tail.rs"]
mod tail;
#[path = "manager/target.rs"]
mod target;

use hugewise_core::stats::Summary;

type Done = Result<(), Box<dyn std::error::Error>>;
/// A benchmark by its name.
type Named = (&'static str, fn() -> Done);

fn main() -> Done {
    // cargo passes '--bench'; names are what is left.
    let names: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let all: [Named; 8] = [
        ("scan", scan::run),
        ("convergence", convergence::run),
        ("rest", rest::run),
        ("tail", tail::run),
        ("giveback", giveback::run_redis),
        ("bloat", giveback::run_programs),
        ("recovery", giveback::run_recovery),
        ("diagnose", diagnose::run),
    ];
    if let Some(unknown) = names.iter().find(|n| all.iter().all(|(name, _)| name != n)) {
        let known = all.map(|(name, _)| name).join(", ");
        return Err(format!("no benchmark '{unknown}': {known}").into());
    }
    if !rustix::process::geteuid().is_root() {
        return Err("the benchmarks need root".into());
    }
    println!("Kernel {}", std::fs::read_to_string("/proc/version")?.trim());
    for (name, run) in all {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            println!("\n## {name}\n");
            run()?;
        }
    }
    Ok(())
}

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// `median [min..max]`.
fn spread(values: &[f64], digits: usize) -> String {
    Summary::of(values).map_or("-".into(), |s| {
        format!("{:.digits$} [{:.digits$}..{:.digits$}]", s.median, s.min, s.max)
    })
}
