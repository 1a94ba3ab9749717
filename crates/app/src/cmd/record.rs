//! `hugewise record`: samples of the machine into a history, or into a file; or a piece of a
//! history into a file.

use super::programs::{FILE, Teller};
use crate::cli::duration;
use crate::cli::{Global, HISTORY_DIR, RecordArgs};
use crate::cmd::recorded::{clock, parse};
use crate::exit::{self, coded};
use crate::history::{Book, FrameFile, History, Limits};
use crate::output::Output;
use crate::render::words::plain;
use crate::say::{Progress, note};
use crate::stop::Stop;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_collect::capture::{LeftOut, Options, Sampler};
use hugewise_evidence::recording::readers::capture::sample;
use hugewise_linux::cpu;
use hugewise_linux::root::Root;
use serde::Serialize;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// Version of what is printed with `--json`.
const SCHEMA: u32 = 1;
/// A failure that lasts is said once in so many samples: once an hour, at 5 s.
const SAY_EVERY: u64 = 720;
/// Time between samples of a history, and of a file.
const EVERY: Duration = Duration::from_secs(5);
const EVERY_OF_FILE: Duration = Duration::from_secs(1);
/// How long samples are written to a file.
const LENGTH_OF_FILE: Duration = Duration::from_secs(60);

/// What was recorded.
#[derive(Debug, Default, Serialize)]
pub(super) struct Done {
    /// [`SCHEMA`].
    schema: u32,
    /// Samples that were written.
    samples: u64,
    /// Samples that could not be written, or not be read.
    lost: u64,
    /// Size on disk of those that were written.
    bytes: u64,
    /// Their size as text.
    text_bytes: u64,
    /// Files that were deleted to stay within the limits.
    files_deleted: u64,
    /// CPU time that it took, compression included.
    cpu_ms: u64,
    /// Whether a signal ended it.
    stopped: bool,
    /// What was left out on purpose.
    redacted: Vec<&'static str>,
    /// What was left out else.
    #[serde(flatten)]
    left_out: LeftOut,
}

impl Done {
    fn redact(&mut self, arguments: bool) {
        self.redacted.push("environment of processes");
        if !arguments {
            self.redacted.extend(["arguments of processes", "kernel command line"]);
        }
    }

    fn add(&mut self, text: &[u8], bytes: u64) {
        self.samples += 1;
        self.bytes += bytes;
        self.text_bytes += text.len() as u64;
    }
}

/// Where samples go.
enum Target {
    History(Book),
    File(FrameFile),
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &RecordArgs) -> anyhow::Result<Output> {
    let history = args.history.as_deref().unwrap_or(Path::new(HISTORY_DIR));
    // The parser does not ask for an option that another one excludes.
    if (args.from.is_some() || args.to.is_some()) && (args.from.is_none() || args.output.is_none())
    {
        let why = "a piece of a history has a begin, '--from', and a file to go to, '-o'";
        return Err(coded(exit::USAGE, why));
    }
    if let Some((from, file)) = args.from.as_ref().zip(args.output.as_ref()) {
        return piece(global, args, History::open(history)?, from, file);
    }
    let (every, length) = times(args)?;
    let (target, place) = match &args.output {
        None => {
            let limits = Limits { days: args.days, bytes: Bytes(args.max_size.0) };
            (Target::History(Book::open(history, limits)?), history)
        }
        Some(_) if args.history.is_some() => {
            let why = "'--history' with '-o' takes a piece of it: say from when with '--from'";
            return Err(coded(exit::USAGE, why));
        }
        Some(file) => (Target::File(FrameFile::create(file)?), file.as_path()),
    };
    record(global, args, (every, length), target, place)
}

/// Time between samples, and from the first to the last one.
fn times(args: &RecordArgs) -> anyhow::Result<(Duration, Option<Duration>)> {
    let time = |text: &String| duration(text).map(|time| Duration::from_nanos(time.0));
    let (every, length) = match args.output {
        None => (EVERY, None),
        Some(_) => (EVERY_OF_FILE, Some(LENGTH_OF_FILE)),
    };
    let length = args.r#for.as_ref().map(time).transpose()?.or(length);
    let Some(given) = &args.every else { return Ok((every, length)) };
    let every = time(given)?;
    if length.is_some_and(|length| every > length) {
        let why = format!("'--every {given}' is longer than it records ('--for')");
        return Err(coded(exit::USAGE, why));
    }
    Ok((every, length))
}

/// Takes samples, and writes them down.
fn record(
    global: &Global,
    args: &RecordArgs,
    (every, length): (Duration, Option<Duration>),
    mut target: Target,
    place: &Path,
) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let options = Options { arguments: args.with_arguments, processes_max: args.processes.into() };
    let mut sampler = Sampler::new(&root, options);
    let of_history = matches!(target, Target::History(_));
    let mut teller = of_history.then(|| Teller::new(&root, &args.daemon, &args.state_dir));
    if args.stacks || !of_history {
        sampler.start_stacks(every);
    }
    let mut done = Done::default();
    done.redact(args.with_arguments);
    let stop = Stop::on_signals()?;
    let progress = Progress::new(!global.json);
    done.stopped = stop.repeat(every, length, || {
        let programs = teller.as_mut().map(|teller| serde_json::to_vec(&teller.ask()));
        let programs = programs.map(Result::unwrap_or_default);
        let text = match &programs {
            Some(programs) => sampler.sample_with(&[(FILE, programs)]),
            None => sampler.sample(),
        };
        let written = match &mut target {
            Target::History(book) => book.append(&text),
            Target::File(file) => file.append(&text),
        };
        match written {
            Ok(bytes) => done.add(&text, bytes),
            Err(error) => {
                if done.lost.is_multiple_of(SAY_EVERY) {
                    note(&format!("a sample is lost: {error:#}"));
                }
                done.lost += 1;
            }
        }
        progress.show(&line(&done));
        Ok(true)
    })?;
    drop(progress);
    if let Target::History(book) = &target {
        done.files_deleted = book.deleted();
    }
    done.left_out = sampler.left_out().clone();
    said(global, &mut done, place, &[])
}

/// Writes a piece of a history to a file.
fn piece(
    global: &Global,
    args: &RecordArgs,
    mut past: History,
    from: &str,
    file: &Path,
) -> anyhow::Result<Output> {
    let from_ms = parse(&past, "--from", from)?;
    let to_ms = args.to.as_deref().map(|to| parse(&past, "--to", to)).transpose()?;
    let mut done = export(&mut past, from_ms..=to_ms.unwrap_or(i64::MAX), file)?;
    said(global, &mut done, file, &past.problems)
}

/// Writes what was recorded from a time to another one to a file.
pub(super) fn export(
    past: &mut History,
    window: RangeInclusive<i64>,
    to: &Path,
) -> anyhow::Result<Done> {
    let moments = past.moments().iter().copied();
    let moments: Vec<_> = moments.filter(|moment| window.contains(&moment.at_ms)).collect();
    if moments.is_empty() {
        let ends = past.moments().first().zip(past.moments().last());
        let ends = ends.map(|(first, last)| (clock(first.at_ms), clock(last.at_ms)));
        let (first, last) = ends.unwrap_or_default();
        anyhow::bail!("nothing was recorded then: the history goes from {first} to {last}");
    }
    let mut file = FrameFile::create(to)?;
    let mut done = Done::default();
    let mut arguments = false;
    for moment in moments {
        match past.text(moment) {
            Ok(text) => {
                arguments |= has_arguments(text);
                done.add(text, file.append(text)?);
            }
            Err(_) => done.lost += 1,
        }
    }
    anyhow::ensure!(done.samples > 0, "no sample is whole");
    done.redact(arguments);
    Ok(done)
}

/// Whether a sample has arguments of processes and of the kernel: either both are taken, or none.
fn has_arguments(text: &[u8]) -> bool {
    sample::split(text).is_ok_and(|(sample, _)| sample.files.contains_key("/proc/cmdline"))
}

/// How far it is.
fn line(done: &Done) -> String {
    let samples = counted(done.samples, "sample", "samples");
    let lost = match done.lost {
        0 => String::new(),
        lost => format!(", {lost} lost"),
    };
    format!("{samples}, {} KiB{lost}", done.bytes >> 10)
}

/// What is said at the end.
fn said(
    global: &Global,
    done: &mut Done,
    place: &Path,
    problems: &[String],
) -> anyhow::Result<Output> {
    done.schema = SCHEMA;
    done.cpu_ms = cpu::process_cpu_time_ns() / 1_000_000;
    let code = if done.lost > 0 || !problems.is_empty() { exit::PARTIAL } else { exit::OK };
    if global.json {
        return Output::json(done, code);
    }
    let mut text = format!(
        "{} in '{}': {} KiB, {:.2} s of CPU.\n",
        counted(done.samples, "sample", "samples"),
        place.display(),
        done.bytes.div_ceil(1024),
        done.cpu_ms as f64 / 1000.0
    );
    text.push_str(&format!("Not recorded: {}.\n", done.redacted.join(", ")));
    let left_out = &done.left_out;
    for (number, one, many, what) in [
        (done.lost, "sample", "samples", "lost"),
        (done.files_deleted, "file", "files", "deleted to stay within the limits"),
        (left_out.processes_left_out as u64, "process", "processes", "left out of a sample"),
        (left_out.cgroups_left_out as u64, "cgroup", "cgroups", "left out of a sample"),
    ] {
        if number > 0 {
            text.push_str(&format!("{} {what}.\n", counted(number, one, many)));
        }
    }
    for file in &left_out.unreadable {
        let (path, why) = (printable(&file.path), printable(&plain(&file.why)));
        let times = counted(file.times, "time", "times");
        text.push_str(&format!("Could not be read: {path} ({why}), {times}.\n"));
    }
    for problem in problems {
        text.push_str(&format!("{}\n", printable(problem)));
    }
    Ok(Output::text(text, code))
}
