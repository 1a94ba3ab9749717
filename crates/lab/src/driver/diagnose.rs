//! How fast a recording becomes findings: sar as text, against `sadf -j` converting the same.

use super::common;
use crate::program::{MIB, Program};
use crate::run::Run;
use crate::stranger;
use anyhow::{Context, bail, ensure};
use hugewise_experiment::kinds::{Diagnose, Tool};
use hugewise_linux::foreign;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where distributions keep sysstat's collector: on no path.
const COLLECTORS: [&str; 3] =
    ["usr/lib/sysstat/sadc", "usr/lib64/sa/sadc", "usr/libexec/sysstat/sadc"];
/// How often a recording is looked after.
const LOOK: Duration = Duration::from_millis(200);
/// What `diagnose` ends with when it has findings, or could not read everything.
const FINDINGS: [i32; 4] = [0, 3, 4, 5];

/// Runs it once: one tool, one reading.
pub(super) fn drive(params: &Diagnose, run: &mut Run<'_>) -> anyhow::Result<()> {
    let binary = match params.file.as_str() {
        "" => recorded(params, run)?,
        file => PathBuf::from(file),
    };
    // Whatever the user may read who reads it.
    let handed = || foreign::handed_over(&binary).context("cannot hand the recording over");
    let text = as_text(run, &binary, handed()?)?;
    run.value("recording_mib", fs::metadata(&text)?.len() as f64 / MIB);
    let (mut command, good): (_, &[i32]) = if params.tool == Tool::Hugewise {
        let mut command = run.own_program(false)?;
        command.args(["diagnose", "--json"]).arg(&text).stdin(Stdio::null());
        (command, &FINDINGS)
    } else {
        let mut command = run.tool("sadf")?;
        command.args(["-j", "/dev/stdin", "--", "-A"]).stdin(handed()?);
        (command, &[0])
    };
    run.step("reading")?;
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut program = Program::start(&mut command)?;
    let seconds = (common::ended(run, &program)? - began).as_secs_f64();
    let status = program.0.wait()?;
    ensure!(status.code().is_some_and(|code| good.contains(&code)), "reading ended with {status}");
    run.value("read_s", seconds);
    Ok(())
}

/// The recording that all runs of this start share, made by the first of them.
fn recorded(params: &Diagnose, run: &mut Run<'_>) -> anyhow::Result<PathBuf> {
    let seconds = params.record_s;
    let file = run.shared().join(format!("recording-{seconds}.sa"));
    if file.exists() {
        return Ok(file);
    }
    let found = COLLECTORS.iter().map(|path| Path::new("/").join(path)).find(|path| path.exists());
    let collector = found.context("no sadc beside sadf: install sysstat")?;
    let part = run.own().join("recording.sa");
    let mut command = run.tool(&collector.to_string_lossy())?;
    command.args(["-S", "XALL", "1", &seconds.to_string()]).arg(&part);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut sadc = Program::start(&mut command)?;
    let status = loop {
        match sadc.0.try_wait()? {
            Some(status) => break status,
            None => run.sleep(LOOK)?,
        }
        run.step(&format!("recording {seconds} s of this machine"))?;
    };
    ensure!(status.success(), "sadc ended with {status}");
    // Not as it stands there: its collector could still write to it.
    fs::write(&file, stranger::read(&part)?)?;
    Ok(file)
}

/// All reports of a binary file as sar prints them; made once, too.
fn as_text(run: &mut Run<'_>, binary: &Path, handed: File) -> anyhow::Result<PathBuf> {
    let name = binary.file_name().context("'file' names no file")?.to_string_lossy();
    let (text, part) = (run.shared().join(format!("{name}.txt")), run.directory().join("sar.txt"));
    if text.exists() {
        return Ok(text);
    }
    run.step("printing the recording")?;
    let mut command: Command = run.tool("sar")?;
    // The locale decides how sar writes times and numbers.
    command.args(["-A", "-f", "/dev/stdin"]).env("LC_ALL", "C");
    command.stdin(handed).stdout(File::create(&part)?);
    let status = common::finish(run, &mut Program::start(&mut command)?)?;
    if !status.success() {
        bail!("sar cannot read {}: {status}", binary.display());
    }
    fs::rename(&part, &text)?;
    Ok(text)
}
