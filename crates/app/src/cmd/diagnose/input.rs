//! What `diagnose` reads: files of many tools, what was recorded, the live machine.

use super::servers::Servers;
use crate::cmd::watch;
use crate::exit::{self, coded};
use crate::history::History;
use crate::say::Progress;
use crate::stop::Stop;
use anyhow::Context;
use hugewise_base::count::counted;
use hugewise_collect::kernel_log;
use hugewise_evidence::diagnose::Interval;
use hugewise_evidence::recording::readers::capture::{Capture, sample};
use hugewise_evidence::recording::{Builder, Foreign, LONG_BYTES, Recording, foreign, is_whole};
use hugewise_linux::foreign::{Converter, Tool};
use hugewise_linux::regular;
use hugewise_linux::root::Root;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Largest input that is read: a month of `sar` text at one minute on 64 CPUs.
const INPUT_BYTES_MAX: u64 = 1 << 30;

/// Most bytes of a compressed profile.
const PACKED_BYTES_MAX: u64 = 64 << 20;

/// What is recorded of this machine is called so among the inputs.
const RECORDED: &str = "the history";

/// As much of an input as shows whether it is text.
const START_BYTES: u64 = 64 << 10;

/// How much of a long text is read at a time.
const BUFFER_BYTES: usize = 64 << 10;

/// What every input should have been.
const WANTED: &str = "wanted text of sar, sadf -j, atop -P or -J, top, vmstat, mpstat, iostat, \
pidstat, dstat, iotop, iftop, netstat, ss, free, perf report, files of /proc, a Java GC log, or \
what Redis, PostgreSQL, nginx or php-fpm say of themselves \
('hugewise diagnose --help')";

/// Everything that was named, as one recording. Of several files one may be unreadable: that is a
/// problem, and the others are used.
pub(in crate::cmd) fn read(files: &[PathBuf]) -> anyhow::Result<Recording> {
    read_into(Builder::new(), files, |_, _| {})
}

/// The same of several machines: one that its recording does not name is called as the file, or by
/// its whole path where several files are called so.
pub(super) fn read_of_many(files: &[PathBuf]) -> anyhow::Result<Recording> {
    let stem = |file: &Path| file.file_stem().unwrap_or(file.as_os_str()).to_owned();
    let mut stems = BTreeMap::<_, usize>::new();
    files.iter().for_each(|file| *stems.entry(stem(file)).or_default() += 1);
    read_into(Builder::new(), files, |builder, file| {
        let name = stem(file);
        let name = if stems.get(&name) > Some(&1) { file.as_os_str() } else { &name };
        builder.otherwise_named(&name.to_string_lossy());
    })
}

/// The same of one machine: it is called so where its recording does not name it.
pub(super) fn read_as(files: &[PathBuf], name: &str) -> anyhow::Result<Recording> {
    read_into(Builder::new(), files, |builder, _| builder.otherwise_named(name))
}

fn read_into(
    mut builder: Builder,
    files: &[PathBuf],
    before: impl Fn(&mut Builder, &Path),
) -> anyhow::Result<Recording> {
    let mut failed = None;
    for file in files {
        let name =
            if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
        before(&mut builder, file);
        if let Err(error) = read_one(&mut builder, file, &name) {
            builder.input(&name);
            builder.input_problem(format!("left out: {error:#}"));
            failed = failed.or(Some(error));
        }
    }
    let recording = builder.finish();
    match failed {
        Some(error) if recording.sources.is_empty() => Err(error),
        _ => Ok(recording),
    }
}

fn read_one(builder: &mut Builder, file: &Path, name: &str) -> anyhow::Result<()> {
    if regular::is_directory(file) || History::is_recording(file) {
        let mut past = History::open(file)?;
        return moments(builder, &mut past, (i64::MIN..=i64::MAX, &[]), name);
    }
    let context = || format!("cannot read '{}'", file.display());
    let mut text = opened(file)?;
    let mut start = Vec::new();
    let is_long = begin(&mut text, &mut start).with_context(context)?;
    if is_long && !is_whole(&start) {
        let text = start.chain(text.by_ref().take(INPUT_BYTES_MAX));
        builder.read_long(name, &mut BufReader::with_capacity(BUFFER_BYTES, text));
    } else {
        if is_long {
            let packed = foreign(&start).is_some();
            let most = if packed { PACKED_BYTES_MAX } else { INPUT_BYTES_MAX };
            text.by_ref().take(most).read_to_end(&mut start).with_context(context)?;
        }
        match builder.read(name, &start) {
            Err(Foreign::SysstatBinary) => converted(builder, Tool::Sadf, file, name)?,
            Err(Foreign::AtopBinary) => converted(builder, Tool::Atop, file, name)?,
            Err(Foreign::PerfData) => converted(builder, Tool::Perf, file, name)?,
            other => other.map_err(|foreign| refuse(name, foreign))?,
        }
    }
    // Of a pipe nobody knows the length before its end.
    if is_long && text.read(&mut [0]).is_ok_and(|more| more > 0) {
        builder
            .cut(format!("it has more than {} MiB: the rest is left out", INPUT_BYTES_MAX >> 20));
    }
    if builder.understood() {
        return Ok(());
    }
    Err(coded(exit::ERROR, format!("'{name}': nothing in it was recognised; {WANTED}")))
}

/// Reads what was recorded from a time to another one, in milliseconds since 1970-01-01 UTC.
pub(in crate::cmd) fn of_past(
    past: &mut History,
    window: RangeInclusive<i64>,
) -> anyhow::Result<Recording> {
    let mut builder = Builder::new();
    moments(&mut builder, past, (window, &[]), RECORDED)?;
    Ok(builder.finish())
}

/// The same, and of that only what lies in one of these times by the machine's own clock.
pub(super) fn of_times(
    past: &mut History,
    window: RangeInclusive<i64>,
    times: &[Interval],
) -> anyhow::Result<Recording> {
    let mut builder = Builder::new();
    moments(&mut builder, past, (window, times), RECORDED)?;
    Ok(builder.finish())
}

fn moments(
    builder: &mut Builder,
    past: &mut History,
    (window, times): (RangeInclusive<i64>, &[Interval]),
    name: &str,
) -> anyhow::Result<()> {
    let mut capture = Capture::new(name);
    let (mut damaged, mut first) = (0_u64, None);
    let meant: Vec<_> = past.moments().to_vec();
    for moment in meant.into_iter().filter(|moment| window.contains(&moment.at_ms)) {
        match past.text(moment) {
            Ok(text) => {
                let at = sample::header_of(text).ok().and_then(|header| header.stamp());
                if times.is_empty() || times.iter().any(|time| time.holds(at)) {
                    capture.take(text, builder);
                }
            }
            Err(error) => {
                damaged += 1;
                first.get_or_insert(format!("{error:#}"));
            }
        }
    }
    capture.end(builder);
    for problem in &past.problems {
        builder.input_problem(problem.clone());
    }
    if let Some(why) = first {
        let samples = counted(damaged, "sample is", "samples are");
        builder.input_problem(format!("{samples} left out: {why}"));
    }
    Ok(())
}

/// Watches the machine below `root` for a while, and asks servers before and after.
pub(super) fn watch(
    root: &Root,
    length: Duration,
    mut servers: Servers,
) -> anyhow::Result<Recording> {
    let progress = Progress::new(true);
    // Ended early, it says what was seen until then.
    let stop = Stop::on_signals()?;
    servers.first_look();
    let mut builder = watch::watch(root, length, &stop, |samples| {
        progress.show(&format!("watching this machine: {samples} of {} s", length.as_secs()));
        Ok(())
    })?;
    drop(progress);
    servers.last_look(&mut builder);
    // Who may not read it finds the command among what was not observed.
    if let Ok(log) = kernel_log::read(root)
        && builder.read("/dev/kmsg", format!("$ dmesg\n{log}").as_bytes()).is_err()
    {
        builder.input_problem("/dev/kmsg: left out: it is no text");
    }
    Ok(builder.finish())
}

/// Reads a binary recording through the tool that wrote it.
fn converted(builder: &mut Builder, tool: Tool, file: &Path, name: &str) -> anyhow::Result<()> {
    let program = tool.program();
    if file == Path::new("-") {
        let text = format!("a binary recording of {program} cannot be read from standard input");
        return Err(coded(exit::ERROR, format!("{text}: give the file")));
    }
    let text = Converter::live().convert(tool, file);
    let text = text.map_err(|error| coded(exit::ERROR, format!("'{name}': {error}")))?;
    builder.read(name, &text.bytes).map_err(|foreign| refuse(name, foreign))?;
    if let Some(complaint) = text.complaint {
        builder.input_problem(format!("{program} says: {complaint}"));
    }
    Ok(())
}

/// An input, of which no more than [`INPUT_BYTES_MAX`] is read.
fn opened(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let open = regular::opened_ahead(file).unwrap_or_else(|| File::open(file));
    let open = open.with_context(|| format!("cannot open '{}'", file.display()))?;
    let length = open.metadata().map_or(0, |about| about.len());
    anyhow::ensure!(
        length <= INPUT_BYTES_MAX,
        "'{}' is larger than {} MiB: give a part of it",
        file.display(),
        INPUT_BYTES_MAX >> 20
    );
    Ok(Box::new(open))
}

/// Reads how an input begins, of one that is no text only as much as shows that: a device such as
/// `/dev/zero`, or a file with a hole, may be of any size. Returns whether it is a long text.
fn begin(input: &mut dyn Read, start: &mut Vec<u8>) -> std::io::Result<bool> {
    input.take(START_BYTES).read_to_end(start)?;
    // What is compressed may be a profile of pprof.
    if !matches!(foreign(start), None | Some(Foreign::Empty | Foreign::Compressed("gzip"))) {
        return Ok(false);
    }
    let more = (LONG_BYTES as u64).saturating_sub(START_BYTES);
    input.take(more).read_to_end(start)?;
    Ok(start.len() >= LONG_BYTES)
}

/// What the input is, what was wanted, and how to get there.
fn refuse(name: &str, foreign: Foreign) -> anyhow::Error {
    let text = match foreign {
        Foreign::Empty => format!("'{name}' is empty; {WANTED}"),
        Foreign::SysstatBinary => format!(
            "'{name}' is a binary file of sysstat and no sadf is installed here: install sysstat, \
             or run 'sadf -j {name} -- -A' where it was recorded"
        ),
        Foreign::AtopBinary => format!(
            "'{name}' is a raw log of atop, which only atop of its own version reads: run 'atop \
             -r {name} -P ALL' there"
        ),
        Foreign::PerfData => format!(
            "'{name}' is a recording of perf: run 'perf script -i {name} > stacks.txt' where it \
             was recorded, and give that text"
        ),
        Foreign::Compressed(with) => {
            format!("'{name}' is compressed with {with}: decompress it first; {WANTED}")
        }
        Foreign::Archive(with) => {
            format!("'{name}' is a {with} archive: unpack it and give the files; {WANTED}")
        }
        Foreign::Binary(what) => format!("'{name}' is {what}; {WANTED}"),
    };
    coded(exit::ERROR, text)
}
