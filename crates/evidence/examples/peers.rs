//! How much is read of the data with which other tools test themselves, and how much of that is
//! right, where their own files say what is: `make peers DIR=FOLDER`, with a repository in each
//! folder below. The data is read, and never kept.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]
#![allow(clippy::disallowed_methods, reason = "the crate itself reads no files, this tool does")]

use hugewise_evidence::diagnose::{Diagnosis, Thresholds, diagnose};
use hugewise_evidence::recording::{Builder, Field, Recording};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a file says by itself, or one beside it, against what was read: `None` where it says
/// nothing.
type Truth = fn(&File<'_>) -> Option<bool>;

/// Files of a suite.
struct Kind {
    name: &'static str,
    folder: &'static str,
    /// How their names end.
    ends: &'static str,
    truth: Truth,
}

/// A file, and what was made of it.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
    recording: &'a Recording,
    diagnosis: &'a Diagnosis,
}

const fn kind(name: &'static str, folder: &'static str, ends: &'static str, truth: Truth) -> Kind {
    Kind { name, folder, ends, truth }
}

const KINDS: [Kind; 13] = [
    kind("perf script", "FlameGraph/test", ".txt", samples_as_folded),
    kind("folded stacks", "FlameGraph/test/results", ".txt", folded),
    kind("kernel oopses", "satyr/tests/kerneloopses", "", reported),
    kind("slow logs of MySQL", "percona-toolkit/t/lib/samples/slowlogs", ".txt", slow_log),
    kind("process lists of MySQL", "percona-toolkit/t/lib/samples/pl", ".txt", unknown),
    kind("other samples of MySQL", "percona-toolkit/t/lib/samples", ".txt", unknown),
    kind("diskstats", "percona-toolkit/t/pt-diskstats/samples", ".txt", unknown),
    kind("logs of PostgreSQL", "pgbadger/t/fixtures", "", unknown),
    kind("GC logs of HotSpot", "GCViewer/src/test/resources/openjdk", ".txt", unknown),
    kind("GC logs of IBM", "GCViewer/src/test/resources/ibm", "", unknown),
    kind("GC logs of JRockit", "GCViewer/src/test/resources/jrockit", "", unknown),
    kind("all files of sysstat's tests", "sysstat/tests", "", unknown),
    kind("tools on CentOS 7.7", "jc/tests/fixtures/centos-7.7", ".out", unknown),
];

fn unknown(_: &File<'_>) -> Option<bool> {
    None
}

/// All values of a quantity.
fn values(recording: &Recording, field: Field) -> Vec<f64> {
    let mut all = Vec::new();
    for host in &recording.hosts {
        for series in host.series.get(&field).into_iter().flat_map(|of| of.values()).flatten() {
            all.extend(series.points.iter().map(|point| point.value));
        }
    }
    all
}

/// The sum of the last words of all lines.
fn sum_of_folded(text: &str) -> f64 {
    let counts = text.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    counts.sum()
}

fn weighs(recording: &Recording, sum: f64) -> bool {
    values(recording, Field::ProfileWeight).contains(&sum)
}

fn folded(file: &File<'_>) -> Option<bool> {
    Some(weighs(file.recording, sum_of_folded(file.text)))
}

/// By what the suite's own script made of the same samples.
fn samples_as_folded(file: &File<'_>) -> Option<bool> {
    let name = file.path.file_stem()?.to_str()?;
    let results = file.path.with_file_name("results").join(format!("{name}-collapsed-pid.txt"));
    let wanted = std::fs::read(results).ok()?;
    Some(weighs(file.recording, sum_of_folded(&String::from_utf8_lossy(&wanted))))
}

/// Whether a report of the kernel's own failure is told as one.
fn reported(file: &File<'_>) -> Option<bool> {
    Some(!file.diagnosis.findings.is_empty())
}

/// By the lines that say how long a statement took.
fn slow_log(file: &File<'_>) -> Option<bool> {
    let entries = file.text.lines().filter(|line| {
        let timed = line.starts_with('#').then(|| line.split_once("Query_time:")).flatten();
        timed.is_some_and(|(_, time)| time.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    });
    let entries = entries.count();
    let without: f64 = values(file.recording, Field::StatementRuns).iter().sum();
    let read = values(file.recording, Field::StatementTime).len() as f64 + without;
    (entries > 0).then_some(read == entries as f64)
}

/// The files of a kind, by name; none where the suite is not there.
fn files(root: &Path, kind: &Kind) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join(kind.folder)) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let ends = |path: &PathBuf| path.to_string_lossy().ends_with(kind.ends);
    all.retain(|path| path.is_file() && ends(path));
    all.sort();
    all
}

/// Files of a kind: all, read whole, in part, not at all; right and wrong by what is known.
#[derive(Default)]
struct Row {
    all: usize,
    whole: usize,
    partly: usize,
    unread: usize,
    right: usize,
    wrong: usize,
}

impl Row {
    fn add(&mut self, path: &Path, truth: Truth) {
        self.all += 1;
        let bytes = std::fs::read(path).unwrap_or_default();
        let mut builder = Builder::new();
        if builder.read("file", &bytes).is_err() {
            self.unread += 1;
            return;
        }
        let recording = builder.finish();
        let diagnosis = diagnose(&recording, &Thresholds::default());
        match (recording.sources.is_empty(), diagnosis.unrecognised.is_empty()) {
            (true, _) => self.unread += 1,
            (false, true) => self.whole += 1,
            (false, false) => self.partly += 1,
        }
        let text = String::from_utf8_lossy(&bytes);
        let file = File { path, text: &text, recording: &recording, diagnosis: &diagnosis };
        match truth(&file) {
            Some(true) => self.right += 1,
            Some(false) => {
                self.wrong += 1;
                eprintln!("not right: {}", path.display());
            }
            None => {}
        }
    }
}

fn main() -> ExitCode {
    let Some(root) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("error: name the folder with the repositories: make peers DIR=FOLDER");
        return ExitCode::FAILURE;
    };
    println!("| files | all | read | partly | unread | right | wrong |\n{}|", "|---".repeat(7));
    let mut any = false;
    for kind in &KINDS {
        let mut row = Row::default();
        for path in files(&root, kind) {
            row.add(&path, kind.truth);
        }
        any |= row.all > 0;
        let Row { all, whole, partly, unread, right, wrong } = row;
        println!("| {} | {all} | {whole} | {partly} | {unread} | {right} | {wrong} |", kind.name);
    }
    if !any {
        eprintln!("error: none of the suites is in {}", root.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
