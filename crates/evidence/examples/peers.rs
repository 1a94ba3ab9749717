//! How much is read of the data with which other tools test themselves, and how much of that is
//! right, where their own files say what is: `make peers DIR=FOLDER`, with a repository in each
//! folder below. The data is read, and never kept.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]
#![allow(clippy::disallowed_methods, reason = "the crate itself reads no files, this tool does")]

use hugewise_evidence::diagnose::{Diagnosis, Thresholds, diagnose};
use hugewise_evidence::recording::{Builder, Field, Recording, sorted_by_template};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a file says by itself, or one beside it, against what was read: `None` where it says
/// nothing.
type Truth = fn(&File<'_>) -> Option<bool>;

/// Files of a suite.
struct Kind {
    name: &'static str,
    folder: &'static str,
    /// Which of its files, by name.
    named: fn(&str) -> bool,
    truth: Truth,
}

/// A file, and what was made of it.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
    recording: &'a Recording,
    diagnosis: &'a Diagnosis,
}

const fn kind(
    name: &'static str,
    folder: &'static str,
    named: fn(&str) -> bool,
    truth: Truth,
) -> Kind {
    Kind { name, folder, named, truth }
}

const KINDS: [Kind; 15] = [
    kind("perf script", "FlameGraph/test", is_txt, samples_as_folded),
    kind("folded stacks", "FlameGraph/test/results", is_txt, folded),
    kind("kernel oopses", "satyr/tests/kerneloopses", is_any, reported),
    kind("slow logs of MySQL", "percona-toolkit/t/lib/samples/slowlogs", is_txt, slow_log),
    kind("process lists of MySQL", "percona-toolkit/t/lib/samples/pl", is_txt, unknown),
    kind("other samples of MySQL", "percona-toolkit/t/lib/samples", is_txt, unknown),
    kind("diskstats", "percona-toolkit/t/pt-diskstats/samples", is_txt, unknown),
    kind("logs of PostgreSQL", "pgbadger/t/fixtures", is_any, unknown),
    kind("GC logs of HotSpot", "GCViewer/src/test/resources/openjdk", is_txt, unknown),
    kind("GC logs of IBM", "GCViewer/src/test/resources/ibm", is_any, unknown),
    kind("GC logs of JRockit", "GCViewer/src/test/resources/jrockit", is_any, unknown),
    kind("output of sysstat's tools", "sysstat/tests", is_of_sysstat, unknown),
    kind("pictures and headers of sadf", "sysstat/tests", is_no_data_of_sadf, unknown),
    kind(
        "tools that show load, on CentOS 7.7",
        "jc/tests/fixtures/centos-7.7",
        shows_load,
        unknown,
    ),
    kind("the same on other Linux", "jc/tests/fixtures/generic", shows_load, unknown),
];

fn is_any(_: &str) -> bool {
    true
}

fn is_txt(name: &str) -> bool {
    name.ends_with(".txt")
}

/// What sysstat's tests expect of its tools, but for the environment that they print on demand and
/// two tools whose devices this program does not know.
fn is_of_sysstat(name: &str) -> bool {
    let other = ["cifsiostat", "tapestat", "-V-env"].iter().any(|part| name.contains(part));
    name.starts_with("expected") && !other && !is_no_data_of_sadf(name)
}

/// `sadf -g` draws, and `-H` shows the header of a file; raw counters (`-r`) have no units.
fn is_no_data_of_sadf(name: &str) -> bool {
    let kinds = ["-g", "-H", "-r"].map(|option| format!("sadf{option}"));
    name.starts_with("expected") && kinds.iter().any(|kind| name.contains(kind))
}

/// Tools about CPUs, memory, disks and the network; others list files, users and settings.
fn shows_load(name: &str) -> bool {
    const TOOLS: [&str; 21] = [
        "arp", "df", "ethtool", "free", "ifconfig", "iostat", "ip_route", "lsblk", "lsof", "mount",
        "mpstat", "netstat", "pidstat", "ps", "route", "ss", "sysctl", "top", "uptime", "vmstat",
        "w",
    ];
    let tool = name.split(['-', '.']).next().unwrap_or_default();
    name.ends_with(".out") && TOOLS.contains(&tool)
}

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

/// Whether a report of the kernel's own failure is reported as one.
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

/// Largest text of a compressed file.
const TEXT_BYTES_MAX: usize = 256 << 20;

/// The text of a file that gzip made without options, or with its name in it (RFC 1952).
fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    const NAMED: u8 = 8;
    let (head, rest) = bytes.split_at_checked(10)?;
    let flags = head.strip_prefix(&[0x1f, 0x8b, 8])?.first().copied()?;
    let name = match flags {
        0 => 0,
        NAMED => rest.iter().position(|byte| *byte == 0)? + 1,
        _ => return None,
    };
    miniz_oxide::inflate::decompress_to_vec_with_limit(rest.get(name..)?, TEXT_BYTES_MAX).ok()
}

/// The files of a kind, by name; none where the suite is not there.
fn files(root: &Path, kind: &Kind) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join(kind.folder)) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let named =
        |path: &PathBuf| path.file_name().is_some_and(|n| (kind.named)(&n.to_string_lossy()));
    all.retain(|path| path.is_file() && named(path));
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
        let bytes = gunzip(&bytes).unwrap_or(bytes);
        let mut builder = Builder::new();
        if builder.read("file", &bytes).is_err() {
            self.unread += 1;
            return;
        }
        let recording = builder.finish();
        let diagnosis = diagnose(&recording, &Thresholds::default());
        let whole = diagnosis.unrecognised.is_empty() && recording.problems.is_empty();
        match (recording.sources.is_empty(), whole) {
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

/// The fields of a row of comma-separated values, quotes around those that hold a comma.
fn fields(row: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quoted = false;
    for letter in row.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            _ => all.last_mut().expect("one at least").push(letter),
        }
    }
    all
}

/// The lines of each group.
fn groups<T: Ord>(of: &[T]) -> BTreeMap<&T, Vec<usize>> {
    let mut all: BTreeMap<&T, Vec<usize>> = BTreeMap::new();
    for (line, group) in of.iter().enumerate() {
        all.entry(group).or_default().push(line);
    }
    all
}

/// The share of lines that are in a group with just those lines that have the same event by the
/// suite's own account: grouping accuracy, as Zhu et al. measure it (ICSE-SEIP 2019).
fn grouping_accuracy(log: &str, account: &str) -> Option<f64> {
    let mut rows = account.lines();
    let event = fields(rows.next()?).iter().position(|name| name == "EventId")?;
    let events: Vec<String> = rows.filter_map(|row| fields(row).get(event).cloned()).collect();
    let mut sorted = sorted_by_template(log);
    sorted.truncate(events.len());
    let (ours, theirs) = (groups(&sorted), groups(&events));
    let same = sorted.iter().zip(&events).filter(|(our, their)| ours.get(our) == theirs.get(their));
    let right = same.count();
    Some(right as f64 / events.len() as f64)
}

/// How well lines of logs without a format of their own are sorted, one row a system.
fn sorted_logs(root: &Path) -> bool {
    let Ok(folders) = std::fs::read_dir(root.join("loghub")) else { return false };
    let mut folders: Vec<PathBuf> = folders.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    println!("\n| log of | lines sorted as the suite does |\n|---|---|");
    let mut all = Vec::new();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = |end: &str| std::fs::read(folder.join(format!("{name}_2k.log{end}"))).ok();
        let Some((log, account)) = read("").zip(read("_structured.csv")) else { continue };
        let (log, account) = (String::from_utf8_lossy(&log), String::from_utf8_lossy(&account));
        if let Some(share) = grouping_accuracy(&log, &account) {
            println!("| {name} | {share:.3} |");
            all.push(share);
        }
    }
    if !all.is_empty() {
        println!("| mean of {} | {:.3} |", all.len(), all.iter().sum::<f64>() / all.len() as f64);
    }
    !all.is_empty()
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
    any |= sorted_logs(&root);
    if !any {
        eprintln!("error: none of the suites is in {}", root.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
