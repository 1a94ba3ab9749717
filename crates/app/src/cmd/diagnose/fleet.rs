//! `hugewise diagnose --fleet`: recordings of many hosts, read on all CPUs, one table.
//!
//! Each recording is read in a process of its own, so that one that ends its reader is named and
//! the others are used.

use super::{input, thresholds};
use crate::cli::{DiagnoseArgs, Global};
use crate::exit::{self, coded};
use crate::history::History;
use crate::output::{Asked, Output, paint};
use crate::render::view::fleet;
use crate::say::Progress;
use anyhow::Context;
use hugewise_evidence::diagnose::{Severity, diagnose};
use hugewise_evidence::fleet::{Fleet, Found, Read, Sent};
use hugewise_linux::reader::Readers;
use hugewise_linux::regular;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Largest list of recordings, in bytes: 100,000 paths.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// A recording of a host: a file, the directory of a history, or all files of one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    name: String,
    files: Vec<PathBuf>,
}

/// Runs the command.
pub(super) fn run(global: &Global, args: &DiagnoseArgs, place: &Path) -> anyhow::Result<Output> {
    let only = args.past.is_meant()
        || args.follow
        || args.explain.is_some()
        || args.signatures.is_some()
        || args.r#for.is_some()
        || !(args.files.is_empty() && args.redis.is_empty());
    if only {
        let why = "'--fleet' reads recordings and gives one table: only --set, --table, --report \
                   and --json go with it";
        return Err(coded(exit::USAGE, why));
    }
    let begin = |path: &PathBuf| Asked::begin(path, global);
    let asked = args.table.as_ref().map(begin).transpose()?;
    let report = args.report.as_ref().map(begin).transpose()?;
    let all = recordings(place)?;
    let fleet = Fleet::of(read(&all, &args.set, &Progress::new(!global.json))?);
    let code = match fleet.worst() {
        Some(Severity::Critical) => exit::CRITICAL,
        Some(Severity::Warning) => exit::WARNING,
        _ if fleet.left_out.is_empty() && fleet.problems.is_empty() => exit::OK,
        _ => exit::PARTIAL,
    };
    if let Some(asked) = asked
        && let Some(lines) = asked.finish(fleet::lines(&fleet)?)?
    {
        return Ok(Output::text(lines, code));
    }
    if let Some(report) = report
        && let Some(page) = report.finish(fleet::page::page(&fleet))?
    {
        return Ok(Output::text(page, code));
    }
    match global.json {
        true => Output::pretty_json(&fleet, code),
        false => Ok(Output::text(fleet::text(&fleet, paint(global)), code)),
    }
}

/// What a directory holds, or a list names.
fn recordings(place: &Path) -> anyhow::Result<Vec<Named>> {
    let context = || format!("cannot read '{}'", place.display());
    let all = if place.is_dir() {
        if History::is_recording(place) {
            let why = format!(
                "'{0}' is one recording: 'hugewise diagnose {0}' reads it; --fleet wants a \
                 directory of recordings, or a file that lists them",
                place.display()
            );
            return Err(coded(exit::USAGE, why));
        }
        entries(place).with_context(context)?
    } else {
        listed(place).with_context(context)?
    };
    if all.is_empty() {
        return Err(coded(exit::ERROR, format!("'{}' holds no recordings", place.display())));
    }
    Ok(all.into_iter().map(|path| named(&path)).collect())
}

/// What is in a directory, in order, without what is hidden.
fn entries(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let hidden = |file: &OsStr| file.as_encoded_bytes().starts_with(b".");
    let mut all = regular::entries(path)?;
    all.retain(|file| file.file_name().is_some_and(|name| !hidden(name)));
    Ok(all)
}

/// The paths of a list, one a line; blank lines and those with '#' are passed over.
fn listed(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let file = regular::open(path)?;
    anyhow::ensure!(file.metadata()?.len() <= LIST_BYTES_MAX, "a list has at most 16 MiB");
    let text = std::io::read_to_string(file)?;
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let path = PathBuf::from(line);
        // Of a list of thousands one may be gone; of no list the first line is no path either.
        anyhow::ensure!(
            !all.is_empty() || path.exists(),
            "line {}: there is no '{}': a list has a path on each line",
            number + 1,
            line.chars().take(80).flat_map(char::escape_debug).collect::<String>()
        );
        all.push(path);
    }
    Ok(all)
}

fn named(path: &Path) -> Named {
    let name = path.display().to_string();
    let files = if path.is_dir() && !History::is_recording(path) {
        let files = entries(path).unwrap_or_default();
        files.into_iter().filter(|file| !file.is_dir() || History::is_recording(file)).collect()
    } else {
        vec![path.to_path_buf()]
    };
    Named { name, files }
}

/// Has all of them read, as many at a time as there are CPUs.
fn read(all: &[Named], set: &[String], progress: &Progress) -> anyhow::Result<Vec<Read>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(all.len());
    let next = AtomicUsize::new(0);
    let (send, done) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (send, next) = (send.clone(), &next);
            std::thread::Builder::new().name("reader".into()).spawn_scoped(scope, move || {
                while let Some(named) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if send.send(one(named, set)).is_err() {
                        return;
                    }
                }
            })?;
        }
        drop(send);
        let mut read = Vec::with_capacity(all.len());
        for one in done {
            read.push(one);
            progress.show(&format!("{} of {} recordings read", read.len(), all.len()));
        }
        // Whoever was done first.
        read.sort_by(|a: &Read, b| a.recording.cmp(&b.recording));
        Ok(read)
    })
}

/// What a reader is to read.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The recording's name.
    recording: String,
    /// What a host is called that it does not name.
    host: String,
    files: Vec<OsString>,
    /// Thresholds, as they were given.
    set: Vec<String>,
}

/// What a reader answers: what it found, or why it could not read the recording.
type Answer = Result<Sent, String>;

fn one(named: &Named, set: &[String]) -> Read {
    let path = Path::new(&named.name);
    let host = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let files = named.files.iter().map(|file| file.clone().into_os_string()).collect();
    let order = Order { recording: named.name.clone(), host, files, set: set.to_vec() };
    Read { recording: named.name.clone(), result: ask(&order) }
}

fn ask(order: &Order) -> Result<Found, String> {
    let order_text = serde_json::to_vec(order).map_err(|error| error.to_string())?;
    let said = Readers::live().ask(&order_text).map_err(|error| error.to_string())?;
    let answer: Option<Answer> = serde_json::from_slice(&said).ok();
    let nonsense = || "its reader says what makes no sense".to_owned();
    Found::received(&order.recording, answer.ok_or_else(nonsense)??).ok_or_else(nonsense)
}

/// What a reader opens for an order.
///
/// # Errors
/// The order makes no sense.
pub(crate) fn files_of(order: &[u8]) -> io::Result<Vec<PathBuf>> {
    let order: Order = serde_json::from_slice(order)?;
    Ok(order.files.into_iter().map(PathBuf::from).collect())
}

/// What a reader does: reads the recording of an order.
///
/// # Errors
/// The order makes no sense.
pub(crate) fn answer(order: &[u8]) -> io::Result<Vec<u8>> {
    let order: Order = serde_json::from_slice(order)?;
    let answer: Answer = found(&order).map(|found| found.sent());
    Ok(serde_json::to_vec(&answer)?)
}

fn found(order: &Order) -> Result<Found, String> {
    let thresholds = thresholds::of(&order.set).map_err(|error| format!("{error:#}"))?;
    let files: Vec<PathBuf> = order.files.iter().map(PathBuf::from).collect();
    // A pipe that somebody put there has no end, and would hold up all others.
    let refused = files.iter().filter(|file| !regular::is_directory(file)).find_map(|file| {
        let error = regular::open(file).err()?;
        Some(format!("cannot open '{}': {error}", file.display()))
    });
    let recording = match refused {
        Some(why) => return Err(why),
        None if files.is_empty() => return Err("the directory holds no files".to_owned()),
        None => input::read_as(&files, &order.host).map_err(|error| format!("{error:#}"))?,
    };
    Ok(Found::of(&order.recording, &order.host, &diagnose(&recording, &thresholds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;

    #[test]
    fn recordings_are_files_captures_and_directories_of_files() {
        let scratch = Scratch::new();
        fs::create_dir(scratch.join("host1")).expect("made");
        fs::write(scratch.join("host1/sar.txt"), "x").expect("written");
        fs::create_dir(scratch.join("host2")).expect("made");
        fs::write(scratch.join("host2/000001.zst"), "x").expect("written");
        fs::write(scratch.join("host3.sar"), "x").expect("written");
        fs::write(scratch.join(".hidden"), "x").expect("written");
        let all = recordings(scratch.path()).expect("some");
        let files: Vec<_> = all.into_iter().map(|named| named.files).collect();
        let expected = ["host1/sar.txt", "host2", "host3.sar"].map(|file| vec![scratch.join(file)]);
        assert_eq!(files, expected);
        let error = recordings(&scratch.join("host2")).expect_err("one recording");
        assert_eq!(exit::of_error(&error), exit::USAGE, "{error:#}");
    }

    #[test]
    fn a_list_names_recordings_and_says_where_it_is_none() {
        let scratch = Scratch::new();
        let (list, host) = (scratch.join("list"), scratch.join("host.sar"));
        fs::write(&host, "x").expect("written");
        fs::write(&list, format!("# hosts\n\n{}\n/gone\n", host.display())).expect("written");
        assert_eq!(listed(&list).expect("paths"), [host.clone(), PathBuf::from("/gone")]);
        let error = format!("{:#}", recordings(&host).expect_err("no list"));
        assert!(error.contains("line 1: there is no 'x'"), "{error}");
    }
}
