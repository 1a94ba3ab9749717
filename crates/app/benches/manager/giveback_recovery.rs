//! How fast held memory comes back, and what a program feels while its huge pages are split.

use super::super::{Done, number, spread, target};
use super::measure::Program;
use super::programs::Lines;
use super::{Beside, Result, Settings, VARIANTS, Values, Variant};
use hugewise_core::stats::Histogram;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Of each region of 2 MiB so much is given back: 55 %.
const DROPPED_KIB: u64 = 1128;
/// Memory counts as back when so little of what was held is left, percent.
const LEFT_PERCENT: f64 = 5.0;
const LIMIT: Duration = Duration::from_secs(300);
/// Accesses and faults take turns in slices of this many seconds.
const SLICE: f64 = 0.5;

/// How the manager is paced.
const PACES: [(&str, &[&str]); 2] = [("default budget", &[]), ("unpaced", &target::UNPACED)];

pub(crate) fn run() -> Done {
    let guard = VARIANTS.iter().find(|variant| variant.name == "guard").ok_or("no guard")?;
    let rounds = usize::try_from(number("HUGEWISE_BENCH_ROUNDS", 5))?;
    let mib = number("HUGEWISE_BENCH_HOLD_MIB", 1024);
    println!("A program of {mib} MiB in huge pages that gave 55 % of each of them back.\n");
    println!("| budget | held MiB | back after s | GiB/s | demoted | failed | manager CPU s |");
    println!("|---|---|---|---|---|---|---|");
    let mut all: BTreeMap<&str, Vec<Recovered>> = BTreeMap::new();
    for round in 0..rounds {
        for at in 0..PACES.len() {
            let (name, arguments) = PACES[(at + round) % PACES.len()];
            eprintln!("repetition {} of {rounds}: {name}", round + 1);
            all.entry(name).or_default().push(recover(guard, mib, arguments)?);
        }
    }
    for (name, _) in PACES {
        let runs = all.get(name).map_or(&[][..], Vec::as_slice);
        let column = |of: &dyn Fn(&Recovered) -> f64, digits| {
            spread(&runs.iter().map(of).collect::<Vec<_>>(), digits)
        };
        let deed = |name: &'static str, digits| {
            column(&|run| run.values.get(name).copied().unwrap_or(f64::NAN), digits)
        };
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} |",
            column(&|run| run.held_mib, 0),
            column(&|run| run.seconds.unwrap_or(f64::NAN), 2),
            column(&|run| run.seconds.map_or(f64::NAN, |s| run.held_mib / 1024.0 / s), 3),
            deed("demoted", 0),
            deed("failed", 0),
            deed("manager CPU s", 2),
        );
    }
    for (name, runs) in &all {
        let late = runs.iter().filter(|run| run.seconds.is_none()).count();
        if late > 0 {
            let (all, limit) = (runs.len(), LIMIT.as_secs());
            println!("\n{name}: {late} of {all} did not end within {limit} s.");
        }
    }
    tails(guard)
}

struct Recovered {
    held_mib: f64,
    /// `None` where the limit passed first.
    seconds: Option<f64>,
    values: Values,
}

/// A workload of this program in a cgroup of its own.
fn workload(arguments: &[&str]) -> Result<(Program, Lines)> {
    let mut program = Program::start(target::PROGRAM, |command| {
        command.arg("workload").args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
    })?;
    let lines = Lines::of(program.child())?;
    Ok((program, lines))
}

fn recover(guard: &Variant, mib: u64, arguments: &[&str]) -> Result<Recovered> {
    let _settings = Settings::of(guard)?;
    let size = mib.to_string();
    let (program, mut lines) = workload(&["hold", "--mib", &size, "--advise", "huge"])?;
    if program.memory()?.huge < mib as f64 * 0.9 {
        return Err("the machine gave no huge pages to hold".into());
    }
    for offset in (0..mib).step_by(2) {
        lines.ask(&format!("drop {offset} {DROPPED_KIB}"))?;
    }
    let charged = || program.usage().ok_or("this needs the memory cgroup, version 1");
    let full = charged()?;
    let held_mib = full - program.rss()?;
    if held_mib < mib as f64 / 4.0 {
        return Err(format!("only {held_mib:.0} MiB are held: nothing to give back").into());
    }
    // What is charged, not what is charged and not mapped: khugepaged would fill the gaps.
    let wanted = full - held_mib * (1.0 - LEFT_PERCENT / 100.0);
    let began = Instant::now();
    let mut beside = Beside::start(guard, program.pid(), arguments)?;
    let mut seconds = None;
    while seconds.is_none() && began.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(20));
        beside.check()?;
        if charged()? <= wanted {
            seconds = Some(began.elapsed().as_secs_f64());
        }
    }
    let answer = lines.ask("verify")?;
    if !answer["verified"].is_u64() {
        return Err(format!("DATA CHANGED: {answer}").into());
    }
    let mut values = Values::new();
    beside.stop(&mut values)?;
    Ok(Recovered { held_mib, seconds, values })
}

/// Latencies by what was timed.
type Tails = BTreeMap<&'static str, Histogram>;

/// The demonstration's memory has a sparse fifth in huge pages, which is split while its dense
/// part is read and small pieces are mapped and touched.
fn tails(guard: &Variant) -> Done {
    // Each turn takes a second.
    let turns = 2 * number("HUGEWISE_BENCH_SECONDS", 5).max(1);
    println!("\nWhat a program feels, us: alone, and while its sparse part is given back.\n");
    println!("| budget | timed | | p50 | p99 | p99.9 | worst |");
    println!("|---|---|---|---|---|---|---|");
    for (name, arguments) in PACES {
        let _settings = Settings::of(guard)?;
        let bytes = (number("HUGEWISE_BENCH_HOLD_MIB", 1024) << 20).to_string();
        let (program, mut lines) = workload(&["try", "--variant", "always", "--bytes", &bytes])?;
        lines.ask("fill")?;
        let quiet = timed(&mut lines, turns)?;
        let arguments: Vec<_> =
            ["--set", "demote.sample=true"].iter().chain(arguments).copied().collect();
        let mut beside = Beside::start(guard, program.pid(), &arguments)?;
        let during = timed(&mut lines, turns)?;
        beside.check()?;
        let answer = lines.ask("verify")?;
        if answer["reply"] != "verified" {
            return Err(format!("DATA CHANGED: {answer}").into());
        }
        let mut values = Values::new();
        beside.stop(&mut values)?;
        for (what, alone) in &quiet {
            print_tail(name, what, "alone", alone);
            during.get(what).into_iter().for_each(|all| print_tail(name, what, "meanwhile", all));
        }
        let demoted = values.get("demoted").copied().unwrap_or(0.0);
        println!("| {name} | regions demoted: {demoted} | | | | | |");
    }
    Ok(())
}

fn timed(lines: &mut Lines, turns: u64) -> Result<Tails> {
    let mut tails = Tails::new();
    for _ in 0..turns {
        let access = lines.ask(&format!("access {SLICE}"))?;
        let faults = lines.ask(&format!("faults {SLICE}"))?;
        let parts =
            [("access", &access["batches"]), ("fault", &faults["fault"]), ("mmap", &faults["map"])];
        for (name, part) in parts {
            tails.entry(name).or_default().merge(&Histogram::deserialize(part)?);
        }
    }
    Ok(tails)
}

fn print_tail(budget: &str, what: &str, when: &str, all: &Histogram) {
    let us = |ns: Option<u64>| ns.map_or("-".into(), |ns| format!("{:.2}", ns as f64 / 1e3));
    println!(
        "| {budget} | {what} | {when} | {} | {} | {} | {} |",
        us(all.quantile(0.5)),
        us(all.quantile(0.99)),
        us(all.quantile(0.999)),
        us(all.max())
    );
}
