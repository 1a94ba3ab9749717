//! Runs an installed load generator in a directory of its own, and reads its report.

use super::{BEAT, Beat, Progress};
use anyhow::{Context, anyhow, bail};
use hugewise_core::lab::load::tools::{Plan, Report, plan, read};
use hugewise_core::lab::load::{LoadResult, LoadSpec, Profile};
use hugewise_core::units::Ns;
use std::fs::File;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How much longer than its steps a tool may run: a JVM starts, and a report is written.
const GRACE: Duration = Duration::from_secs(120);
const OUTPUT: &str = "output.txt";
const ERRORS: &str = "errors.txt";

pub(super) fn run(spec: &LoadSpec, beat: &mut Beat<'_>) -> anyhow::Result<LoadResult> {
    let plan = plan(spec)?;
    let (_, profile) = spec.check()?;
    let directory = Directory::new()?;
    for (name, content) in &plan.files {
        let path = directory.0.join(name);
        std::fs::write(&path, content).with_context(|| format!("cannot write {name}"))?;
    }
    let status = attend(start(&plan, &directory.0)?, spec, &profile, beat)?;
    let text = |name: &str| std::fs::read_to_string(directory.0.join(name)).unwrap_or_default();
    if !status.success() {
        let said = [text(ERRORS), text(OUTPUT)].join("\n");
        let last: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = last[last.len().saturating_sub(3)..].join(" | ");
        bail!("{} ended with {status}: {last}", plan.program);
    }
    let report = report(&plan, &directory.0)?;
    Ok(read(spec, &profile, &report)?)
}

/// A directory of this run alone, gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> anyhow::Result<Self> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir();
        let path = path.join(format!("hugewise-load-{}-{run}", std::process::id()));
        // One that is already there is another user's trap.
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The tool and what it starts; all of it ends with this.
struct Tool(Child);

impl Drop for Tool {
    fn drop(&mut self) {
        // Once it was waited for, its number may be another's.
        if matches!(self.0.try_wait(), Ok(None)) {
            let group = rustix::process::Pid::from_child(&self.0);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

fn start(plan: &Plan, directory: &Path) -> anyhow::Result<Tool> {
    let file = |name| File::create(directory.join(name));
    let mut command = Command::new(plan.program);
    command.args(&plan.args).current_dir(directory).stdin(Stdio::null());
    // A group of its own, so that what it starts can be ended with it.
    command.stdout(file(OUTPUT)?).stderr(file(ERRORS)?).process_group(0);
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            anyhow!("{} is not installed: install it, or use 'tool = \"own\"'", plan.program)
        }
        _ => anyhow!("cannot start {}: {error}", plan.program),
    })?;
    Ok(Tool(child))
}

/// Waits for the tool, with beats. It is ended when it takes too long, or when a beat says so.
fn attend(
    mut tool: Tool,
    spec: &LoadSpec,
    profile: &Profile,
    beat: &mut Beat<'_>,
) -> anyhow::Result<ExitStatus> {
    let begin = Instant::now();
    let time = profile.time();
    let longest = Duration::from_nanos(time.0) + Duration::from_millis(spec.timeout_ms) + GRACE;
    loop {
        if let Some(status) = tool.0.try_wait().context("cannot wait for the load generator")? {
            return Ok(status);
        }
        let elapsed = begin.elapsed();
        if elapsed > longest {
            bail!("{} did not end within {} s", spec.tool.name(), longest.as_secs());
        }
        let at = Ns(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        // What it has done is in its report only.
        beat(Progress { at, time, intended: 0, completed: 0, failed: 0 })?;
        std::thread::sleep(BEAT.min(Duration::from_millis(50)));
    }
}

fn report(plan: &Plan, directory: &Path) -> anyhow::Result<String> {
    let path = match plan.report {
        Report::Output => directory.join(OUTPUT),
        Report::File(name) => directory.join(name),
        Report::Inside(folder, name) => {
            let entries = std::fs::read_dir(directory.join(folder));
            let mut entries =
                entries.with_context(|| format!("{} left no report", plan.program))?;
            let entry = entries.next().transpose()?;
            entry.with_context(|| format!("{} left no report", plan.program))?.path().join(name)
        }
    };
    let name = path.file_name().unwrap_or_default().display().to_string();
    std::fs::read_to_string(&path)
        .with_context(|| format!("{} left no report {name}", plan.program))
}
