//! `hugewise capture`.

use crate::capture::{CapturePlan, Directory, Manifest, Stop, Taken, live};
use crate::cli::duration;
use crate::cli::{CaptureArgs, Global};
use crate::cmd::past::{clock, parse};
use crate::exit;
use crate::history::{Moment, Past};
use crate::output::Output;
use crate::render::words::plain;
use crate::say::Progress;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_collect::capture::{Options, PROCESSES_MAX};
use hugewise_evidence::recording::readers::capture::sample;
use hugewise_linux::cpu;
use hugewise_linux::root::Root;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &CaptureArgs) -> anyhow::Result<Output> {
    if let Some(from) = &args.from {
        return piece(global, args, from);
    }
    let plan = plan(args)?;
    let root = Root::at(&global.root);
    let mut directory = Directory::create(&args.output)?;
    let mut manifest = Manifest::new(&root, plan.every, args.with_arguments);
    directory.manifest(&manifest)?;
    let stop = Stop::on_signals()?;
    let progress = Progress::new(!global.json);
    let cpu_ns = cpu::process_cpu_time_ns();
    let (taken, result) = live(&root, &plan, &stop, |text| {
        manifest.bytes += directory.sample(text)?;
        manifest.samples += 1;
        manifest.text_bytes += text.len() as u64;
        progress.show(&line(&manifest, &plan));
        Ok(())
    });
    drop(progress);
    manifest.cpu_ms = (cpu::process_cpu_time_ns() - cpu_ns) / 1_000_000;
    manifest.end(taken, result.as_ref().err());
    // The first error counts: a full disk takes no manifest either.
    let written = directory.manifest(&manifest);
    result.and(written)?;
    if global.json {
        return Output::json(&manifest, exit::OK);
    }
    Ok(Output::text(summary(&manifest, args) + "\n", exit::OK))
}

/// A piece of the history, as a capture.
fn piece(global: &Global, args: &CaptureArgs, from: &str) -> anyhow::Result<Output> {
    let mut past = Past::open(&args.history)?;
    let from_ms = parse(&past, "--from", from)?;
    let to_ms = args.to.as_deref().map(|to| parse(&past, "--to", to)).transpose()?;
    let window = from_ms..=to_ms.unwrap_or(i64::MAX);
    let (manifest, damaged) = export(&mut past, window, &args.output)?;
    let code = if damaged > 0 || !past.problems.is_empty() { exit::PARTIAL } else { exit::OK };
    if global.json {
        return Output::json(&manifest, code);
    }
    let mut text = summary(&manifest, args) + "\n";
    for problem in &past.problems {
        text.push_str(&format!("{}\n", printable(problem)));
    }
    if damaged > 0 {
        text.push_str(&format!("Damaged, left out: {}.\n", counted(damaged, "sample", "samples")));
    }
    Ok(Output::text(text, code))
}

/// Writes what was recorded from a time to another one as a capture; how many samples are damaged.
pub(super) fn export(
    past: &mut Past,
    window: RangeInclusive<i64>,
    to: &Path,
) -> anyhow::Result<(Manifest, u64)> {
    let moments = past.moments().iter().copied();
    let moments: Vec<_> = moments.filter(|moment| window.contains(&moment.at_ms)).collect();
    if moments.is_empty() {
        let ends = past.moments().first().zip(past.moments().last());
        let ends = ends.map(|(first, last)| (clock(first.at_ms), clock(last.at_ms)));
        let (first, last) = ends.unwrap_or_default();
        anyhow::bail!("nothing was recorded then: the history goes from {first} to {last}");
    }
    let mut manifest = first_of(past, &moments, between(&moments))?;
    let mut directory = Directory::create(to)?;
    directory.manifest(&manifest)?;
    let mut damaged = 0;
    for moment in moments {
        let Ok(text) = past.text(moment) else {
            damaged += 1;
            continue;
        };
        if has_arguments(text) {
            manifest.with_arguments();
        }
        manifest.bytes += directory.sample(text)?;
        manifest.samples += 1;
        manifest.text_bytes += text.len() as u64;
    }
    manifest.end(Taken::default(), None);
    directory.manifest(&manifest)?;
    Ok((manifest, damaged))
}

/// The manifest of a piece, by its first sample that is whole.
fn first_of(past: &mut Past, moments: &[Moment], every: Duration) -> anyhow::Result<Manifest> {
    let mut why = None;
    for moment in moments {
        match past.text(*moment) {
            Ok(text) => {
                let (first, _) = sample::split(text).map_err(anyhow::Error::msg)?;
                return Ok(Manifest::of_history(&first, every));
            }
            Err(error) => why = why.or(Some(error)),
        }
    }
    Err(why.unwrap_or_else(|| anyhow::anyhow!("no sample is whole")))
}

/// Whether a sample has arguments of processes and of the kernel: either both are taken, or none.
fn has_arguments(text: &[u8]) -> bool {
    sample::split(text).is_ok_and(|(sample, _)| sample.files.contains_key("/proc/cmdline"))
}

/// The usual time between moments.
fn between(moments: &[Moment]) -> Duration {
    let mut all: Vec<i64> =
        moments.windows(2).map(|pair| pair[1].at_ms.saturating_sub(pair[0].at_ms)).collect();
    all.sort_unstable();
    let median = all.get(all.len() / 2).copied().unwrap_or(0);
    Duration::from_millis(u64::try_from(median).unwrap_or(0))
}

fn plan(args: &CaptureArgs) -> anyhow::Result<CapturePlan> {
    let time = |text: &str| duration(text).map(|time| Duration::from_nanos(time.0));
    let (every, length) = (time(&args.every)?, time(&args.r#for)?);
    if every > length {
        return Err(exit::coded(
            exit::USAGE,
            format!("'--every {}' is longer than '--for {}'", args.every, args.r#for),
        ));
    }
    let processes_max = args.processes.unwrap_or(PROCESSES_MAX);
    if processes_max > PROCESSES_MAX {
        let text = format!("'--processes {processes_max}': at most {PROCESSES_MAX} are captured");
        return Err(exit::coded(exit::USAGE, text));
    }
    let options = Options { arguments: args.with_arguments, processes_max };
    Ok(CapturePlan { every, length, options })
}

/// How far it is.
fn line(manifest: &Manifest, plan: &CapturePlan) -> String {
    let all = plan.length.as_nanos() / plan.every.as_nanos().max(1) + 1;
    format!("{} of {all} samples, {} KiB", manifest.samples, manifest.bytes >> 10)
}

fn summary(manifest: &Manifest, args: &CaptureArgs) -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "{} in '{}': {} KiB",
        counted(manifest.samples, "sample", "samples"),
        args.output.display(),
        manifest.bytes.div_ceil(1024),
    );
    match args.from {
        Some(_) => text.push('.'),
        None => {
            let _ = write!(text, ", {:.2} s of CPU.", manifest.cpu_ms as f64 / 1000.0);
        }
    }
    if manifest.ended.as_deref() == Some("signal") {
        text.push_str(" Ended by a signal.");
    }
    let _ = write!(text, "\nNot captured: {}.", manifest.redacted.join(", "));
    for (count, one, many) in [
        (manifest.processes_left_out, "process", "processes"),
        (manifest.cgroups_left_out, "cgroup", "cgroups"),
    ] {
        if count > 0 {
            let left_out = counted(count, one, many);
            let _ = write!(text, "\nLeft out: {left_out} beyond the limit.");
        }
    }
    for unreadable in &manifest.unreadable {
        let (path, why) = (printable(&unreadable.path), printable(&plain(&unreadable.why)));
        let times = counted(unreadable.times, "time", "times");
        let _ = write!(text, "\nCould not be read: {path} ({why}), {times}.");
    }
    text
}
