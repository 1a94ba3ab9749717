//! Memory that huge pages hold and nobody uses: who gives it back, and what that costs.
//!
//! The machine's `enabled` stays what it is: khugepaged would touch other people's programs.
//! "Always" is what the program itself asks for, by the switch of its allocator; a program that
//! did not ask gets base pages under `madvise`, as under `never`. khugepaged wakes up equally
//! often beside all variants.

use super::{Done, number, spread, target};
use hugewise_core::ownership::THP_DIR;
use hugewise_core::stats::median;
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Scope, Trail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[path = "giveback_measure.rs"]
mod measure;
#[path = "giveback_programs.rs"]
mod programs;
#[path = "giveback_recovery.rs"]
mod recovery;
#[path = "giveback_redis.rs"]
mod redis;

pub(crate) use programs::run as run_programs;
pub(crate) use recovery::run as run_recovery;
pub(crate) use redis::run as run_redis;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
/// What one run of a variant measured, by the name of the metric.
type Values = BTreeMap<&'static str, f64>;
/// A metric: its name, and how many digits after the point are worth printing.
type Metric = (&'static str, usize);

/// Pause of khugepaged between two rounds, the same beside every variant.
const SCAN_SLEEP_MS: &str = "200";

/// What stands beside the program.
#[derive(Debug, Clone, Copy)]
struct Variant {
    name: &'static str,
    /// The program asks for huge pages.
    asks: bool,
    max_ptes_none: &'static str,
    /// Arguments of the manager, where there is one.
    manager: Option<&'static [&'static str]>,
}

/// All variants by their names.
const VARIANTS: [Variant; 5] = [
    Variant { name: "never", asks: false, max_ptes_none: "511", manager: None },
    Variant { name: "always", asks: true, max_ptes_none: "511", manager: None },
    Variant { name: "always409", asks: true, max_ptes_none: "409", manager: None },
    Variant { name: "ingens", asks: false, max_ptes_none: "511", manager: Some(&[]) },
    Variant {
        name: "guard",
        asks: true,
        max_ptes_none: "511",
        manager: Some(&["--mode", "guard"]),
    },
];

/// Those of `wanted` that `HUGEWISE_BENCH_VARIANTS` does not leave out.
fn variants(wanted: &[&str]) -> Result<Vec<Variant>> {
    let only = std::env::var("HUGEWISE_BENCH_VARIANTS").ok();
    let only: Option<Vec<&str>> = only.as_deref().map(|text| text.split(',').collect());
    let known = |name: &&str| VARIANTS.iter().any(|variant| variant.name == *name);
    if let Some(unknown) = only.iter().flatten().find(|name| !known(name)) {
        return Err(format!("HUGEWISE_BENCH_VARIANTS names no variant: '{unknown}'").into());
    }
    let wanted = |variant: &&Variant| {
        wanted.contains(&variant.name)
            && only.as_ref().is_none_or(|only| only.contains(&variant.name))
    };
    Ok(VARIANTS.iter().filter(wanted).copied().collect())
}

/// A number of seconds from the environment.
fn seconds(name: &str, default: u64) -> Duration {
    Duration::from_secs(number(name, default))
}

/// A directory of one run, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let name = format!("hugewise-giveback-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The settings of a variant; they go back when this is dropped, and after a crash with the next
/// benchmark that opens the same directory.
struct Settings(Trail);

impl Settings {
    fn of(variant: &Variant) -> Result<Self> {
        let mut settings = Self(Trail::open(Root::live(), &Self::directory(), Scope::Manager)?);
        // What an earlier benchmark that crashed left behind.
        settings.0.restore();
        let mut set = |file: &str, value: &str| {
            settings.0.set(&format!("{THP_DIR}/khugepaged/{file}"), value).map(drop)
        };
        set("scan_sleep_millisecs", SCAN_SLEEP_MS)?;
        set("max_ptes_none", variant.max_ptes_none)?;
        Ok(settings)
    }

    fn directory() -> PathBuf {
        std::env::temp_dir().join("hugewise-bench-settings")
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        self.0.restore();
    }
}

/// The manager of a variant, from the moment when it may start.
struct Beside {
    running: Option<(target::Running, PathBuf)>,
}

impl Beside {
    fn start(variant: &Variant, pid: u32, more: &[&str]) -> Result<Self> {
        let Some(arguments) = variant.manager else { return Ok(Self { running: None }) };
        let arguments: Vec<&str> = arguments.iter().chain(more).copied().collect();
        Ok(Self { running: Some(target::manage(pid, &arguments)?) })
    }

    /// Whether it still runs, if there is one.
    fn check(&mut self) -> Result<()> {
        let Some((manager, _)) = &mut self.running else { return Ok(()) };
        match manager.0.try_wait()? {
            Some(status) => Err(format!("the manager ended by itself: {status}").into()),
            None => Ok(()),
        }
    }

    /// Ends it properly; what it used and did goes into the values.
    fn stop(mut self, values: &mut Values) -> Result<()> {
        self.check()?;
        let Some((manager, directory)) = self.running.take() else { return Ok(()) };
        values.insert("manager CPU s", target::cpu_s(manager.0.id())?);
        target::stop(manager)?;
        let done = Deeds::read(&directory)?;
        values.insert("promoted", done.promoted);
        values.insert("demoted", done.demoted);
        values.insert("failed", done.failed);
        values.insert("freed by demotion MiB", done.freed_mib);
        let _ = std::fs::remove_dir_all(directory);
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Only after an error: killing it would leave its settings behind.
        if let Some((manager, directory)) = self.running.take() {
            let _ = target::stop(manager);
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// What a manager did, from its journal.
#[derive(Debug, Default)]
struct Deeds {
    promoted: f64,
    demoted: f64,
    failed: f64,
    freed_mib: f64,
}

impl Deeds {
    fn read(directory: &Path) -> Result<Self> {
        let mut done = Self::default();
        // A long journal was moved aside once.
        let old = std::fs::read_to_string(directory.join("journal.jsonl.1")).unwrap_or_default();
        let new = std::fs::read_to_string(directory.join("journal.jsonl"))?;
        for line in old.lines().chain(new.lines()) {
            let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            if line["record"] != "action" {
                continue;
            }
            match line["result"].as_str() {
                Some("promoted") => done.promoted += 1.0,
                Some("demoted") => done.demoted += 1.0,
                Some("failed") => done.failed += 1.0,
                _ => {}
            }
            let pages = line["freed_pages"].as_f64().unwrap_or(0.0);
            done.freed_mib += pages * rustix::param::page_size() as f64 / f64::from(1 << 20);
        }
        Ok(done)
    }
}

/// Runs every variant once per repetition, in an order that rotates, and prints the table. A run
/// that fails leaves a gap, and is an error after everything else.
fn compare(
    variants: &[Variant],
    metrics: &[Metric],
    mut one: impl FnMut(&Variant, u64) -> Result<Values>,
) -> Done {
    let rounds = number("HUGEWISE_BENCH_ROUNDS", 5);
    let mut all: BTreeMap<&str, Vec<Values>> = BTreeMap::new();
    let mut failed = Vec::new();
    for round in 0..rounds {
        for at in 0..variants.len() {
            let rotated = (at + usize::try_from(round)?) % variants.len();
            let variant = &variants[rotated];
            eprintln!("repetition {} of {rounds}: {}", round + 1, variant.name);
            let values = one(variant, round).unwrap_or_else(|error| {
                failed.push(format!("{}, repetition {}: {error}", variant.name, round + 1));
                Values::new()
            });
            all.entry(variant.name).or_default().push(values);
        }
    }
    table(variants, metrics, &all);
    failed.iter().for_each(|what| println!("Failed: {what}\n"));
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
}

/// One row per metric: median [min..max] and the median ratio to `never` of the same repetition.
fn table(variants: &[Variant], metrics: &[Metric], all: &BTreeMap<&str, Vec<Values>>) {
    let names: Vec<_> = variants.iter().map(|variant| variant.name).collect();
    println!("| | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    for (metric, digits) in metrics {
        let cells: Vec<_> = names.iter().map(|name| cell(name, metric, *digits, all)).collect();
        if cells.iter().any(|cell| cell != "-") {
            println!("| {metric} | {} |", cells.join(" | "));
        }
    }
    println!();
}

fn cell(name: &str, metric: &str, digits: usize, all: &BTreeMap<&str, Vec<Values>>) -> String {
    let Some(own) = all.get(name) else { return "-".into() };
    let values: Vec<f64> = own.iter().filter_map(|values| values.get(metric).copied()).collect();
    let shown = spread(&values, digits);
    let never = all.get("never").filter(|_| name != "never");
    let ratios: Vec<f64> = never
        .iter()
        .flat_map(|never| never.iter().zip(own))
        .filter_map(|(never, own)| Some(own.get(metric)? / never.get(metric)?))
        // What is missing of the whole machine's memory may be negative: others give some back.
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .collect();
    median(&ratios).map_or(shown.clone(), |ratio| format!("{shown} ({ratio:.2} x)"))
}
