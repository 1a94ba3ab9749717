//! `hugewise response`: where the time of requests passes, from access logs.

use super::diagnose;
use crate::cli::{Global, ResponseArgs, duration};
use crate::exit::{self, coded};
use crate::output::{Output, paint};
use crate::render::view::response::{self, Answer};
use crate::say::Progress;
use anyhow::Context;
use hugewise_base::units::saturating_u64;
use hugewise_evidence::diagnose::{Thresholds, diagnose as ask};
use hugewise_evidence::response::{Format, How, Options, Tally, Unit, account, join, zone_s};
use hugewise_experiment::load::gatling;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

/// Longest line that is read whole: the headers of a request are 8 KiB by default (nginx's
/// `large_client_header_buffers`, Apache's `LimitRequestLine`), and a log has a few of them.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// The same of JSON that tells many requests in one line, an export of spans or an array of them:
/// once it is read it takes ten times as much memory.
const JSON_BYTES_MAX: u64 = 16 << 20;
/// Largest log of Gatling: 10 million requests.
const GATLING_BYTES_MAX: u64 = 256 << 20;
/// As much is read at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Bytes after which progress is shown again.
const SHOWN_BYTES: u64 = 64 << 20;
/// Margins that make sense: below, noise is slow; above, nothing is.
const MARGINS: std::ops::RangeInclusive<f64> = 1.1..=100.0;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ResponseArgs) -> anyhow::Result<Output> {
    let options = options(args)?;
    let every = args.every.as_deref().map(duration).transpose()?;
    if !MARGINS.contains(&args.margin) {
        let text = format!("--margin {}: wanted a factor from 1.1 to 100", args.margin);
        return Err(coded(exit::USAGE, text));
    }
    let every_ms = every.and_then(|every| i64::try_from(every.0 / 1_000_000).ok());
    let goal_us = args.goal_ms.map(goal_us).transpose()?;
    let (tally, problems) = read_all(args, options)?;
    let account = account(tally, How { every_ms, margin: args.margin, goal_us });
    if account.counts.requests == 0 {
        return Err(coded(exit::ERROR, nothing(args, &problems)));
    }
    let joined = match args.with.as_slice() {
        [] => None,
        files => {
            let recording = diagnose::read(files)?;
            let found = ask(&recording, &Thresholds::default());
            Some(join(&account, &recording, &found))
        }
    };
    let partial = account.partial || account.untold.is_some() || !problems.is_empty();
    let missed = account.goal.as_ref().is_some_and(|goal| !goal.met);
    let code = match account.episodes.is_empty() && !missed {
        false => exit::WARNING,
        true if partial => exit::PARTIAL,
        true => exit::OK,
    };
    let answer = Answer { account, joined, problems };
    match global.json {
        true => Output::pretty_json(&answer.json()?, code),
        false => Ok(Output::text(response::text(&answer, paint(global)), code)),
    }
}

/// A goal in microseconds.
fn goal_us(ms: f64) -> anyhow::Result<u64> {
    let wrong = || coded(exit::USAGE, format!("--goal-ms {ms}: wanted milliseconds above 0"));
    (ms > 0.0 && ms.is_finite()).then(|| saturating_u64((ms * 1e3).round())).ok_or_else(wrong)
}

fn options(args: &ResponseArgs) -> anyhow::Result<Options> {
    let usage = |text: String| coded(exit::USAGE, text);
    let format = args.format.as_deref().map(Format::given).transpose();
    let format = format.map_err(|error| usage(format!("--format: {error}")))?;
    let unit = args.unit.as_deref().map(|text| {
        Unit::named(text).ok_or_else(|| usage(format!("--unit {text}: wanted s, ms, us or ns")))
    });
    let zone = args.zone.as_deref().map(|text| {
        let why = || usage(format!("--zone {text}: wanted a zone such as +01:00 or UTC"));
        zone_s(text).ok_or_else(why)
    });
    Ok(Options { format, unit: unit.transpose()?, zone_s: zone.transpose()? })
}

/// All logs, counted. Of several one may be unreadable: that is a problem, and the others are used.
fn read_all(args: &ResponseArgs, options: Options) -> anyhow::Result<(Tally, Vec<String>)> {
    let mut tally = Tally::new(options);
    let (mut problems, mut failed) = (Vec::new(), None);
    let mut read = 0;
    for log in &args.logs {
        match read_one(&mut tally, log) {
            Ok(()) => read += 1,
            Err(error) => {
                problems.push(format!("{error:#}"));
                failed = failed.or(Some(error));
            }
        }
    }
    match failed {
        Some(error) if read == 0 => Err(error),
        _ => Ok((tally, problems)),
    }
}

fn read_one(tally: &mut Tally, log: &Path) -> anyhow::Result<()> {
    if log == Path::new("-") {
        return lines(tally, "stdin", &mut BufReader::with_capacity(BUFFER_BYTES, stdin().lock()));
    }
    let name = log.display().to_string();
    let file = File::open(log).with_context(|| format!("cannot open '{name}'"))?;
    lines(tally, &name, &mut BufReader::with_capacity(BUFFER_BYTES, file))
}

fn lines(tally: &mut Tally, name: &str, input: &mut impl BufRead) -> anyhow::Result<()> {
    let problem = || format!("cannot read '{name}'");
    let start = input.fill_buf().with_context(problem)?;
    for (magic, with) in [(&[0x1f, 0x8b][..], "zcat"), (&[0x28, 0xb5, 0x2f, 0xfd][..], "zstdcat")] {
        if start.starts_with(magic) {
            let text = format!(
                "'{name}' is compressed: hand it in with '{with} {name} | hugewise response -'"
            );
            return Err(coded(exit::ERROR, text));
        }
    }
    if gatling::is_log(start) {
        return gatling_log(tally, name, input);
    }
    tally.begin(name);
    let progress = Progress::new(true);
    let (mut line, mut bytes, mut shown) = (Vec::new(), 0_u64, 0);
    loop {
        line.clear();
        let mut limited = input.by_ref().take(LINE_BYTES_MAX);
        let length = limited.read_until(b'\n', &mut line).with_context(problem)?;
        if length == 0 {
            break;
        }
        let is_cut = !line.ends_with(b"\n") && length as u64 == LINE_BYTES_MAX;
        let spans = line.starts_with(b"{\"resourceSpans\"") || line.starts_with(b"[{");
        if is_cut && spans {
            let mut limited = input.by_ref().take(JSON_BYTES_MAX);
            bytes += limited.read_until(b'\n', &mut line).with_context(problem)? as u64;
        } else if is_cut {
            bytes += skip_line(input).with_context(problem)?;
        }
        tally.line(&line);
        bytes += length as u64;
        if bytes - shown >= SHOWN_BYTES {
            shown = bytes;
            progress.show(&format!("reading {name}: {} MiB", bytes >> 20));
        }
    }
    tally.end();
    Ok(())
}

/// A log of Gatling 3.15 is no text.
fn gatling_log(tally: &mut Tally, name: &str, input: &mut impl BufRead) -> anyhow::Result<()> {
    let problem = || format!("cannot read '{name}'");
    let mut log = Vec::new();
    input.take(GATLING_BYTES_MAX + 1).read_to_end(&mut log).with_context(problem)?;
    if log.len() as u64 > GATLING_BYTES_MAX {
        let text = format!("'{name}' has more than {} MiB", GATLING_BYTES_MAX >> 20);
        return Err(coded(exit::ERROR, text));
    }
    let sent =
        gatling::sent(&log).map_err(|error| coded(exit::ERROR, format!("'{name}': {error}")))?;
    let all = sent
        .iter()
        .map(|one| (one.name.as_str(), one.end_ms, one.length.0 / 1000, one.failed.is_none()));
    tally.outcomes((name, "results of Gatling"), all);
    Ok(())
}

/// Reads on to the end of a line that is too long, without keeping it; returns its length.
fn skip_line(input: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        let done = end.is_some() || buffer.is_empty();
        input.consume(length);
        skipped += length as u64;
        if done {
            return Ok(skipped);
        }
    }
}

/// Why there is no answer, and what to do.
fn nothing(args: &ResponseArgs, problems: &[String]) -> String {
    let logs: Vec<String> = args.logs.iter().map(|log| format!("'{}'", log.display())).collect();
    let problems: String = problems.iter().map(|problem| format!("; {problem}")).collect();
    let advice = match args.format {
        Some(_) => "no line fits the given format",
        None => {
            "no line is of a known format; '--format' takes the log_format of nginx or the \
             LogFormat of Apache, as the configuration has it"
        }
    };
    format!("{}: no request in it: {advice}{problems}", logs.join(", "))
}
