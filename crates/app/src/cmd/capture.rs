//! `hugewise capture`.

use crate::capture::{CapturePlan, Directory, Manifest, Stop, live};
use crate::cli::{CaptureArgs, Global};
use crate::cmd::manage::duration;
use crate::exit;
use crate::output::Output;
use crate::render::words::plain;
use crate::say::Progress;
use hugewise_core::base::count::counted;
use hugewise_core::base::escape::printable;
use hugewise_linux::capture::{Options, PROCESSES_MAX};
use hugewise_linux::cpu;
use hugewise_linux::root::Root;
use std::time::Duration;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &CaptureArgs) -> anyhow::Result<Output> {
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
        "{} in '{}': {} KiB, {:.2} s of CPU.",
        counted(manifest.samples, "sample", "samples"),
        args.output.display(),
        manifest.bytes.div_ceil(1024),
        manifest.cpu_ms as f64 / 1000.0
    );
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
