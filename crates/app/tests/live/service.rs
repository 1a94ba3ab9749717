//! The systemd unit: that systemd understands it, and that the manager gets along with what it
//! leaves. Nothing here needs systemd to be running.

use crate::attack_locks::manage;
use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, promotes, skip, trial, trial_of_any_kernel, wait_for};
use crate::machine::{Settings, Turn};
use crate::manager::Manage;
use crate::promote::{FAST, MIB, is_covered};
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output};

const UNIT: &str = include_str!("../../../../dist/hugewise.service");
/// Writes metrics, when a timer says so.
const METRICS: &str = include_str!("../../../../dist/hugewise-metrics.service");
const TIMER: &str = include_str!("../../../../dist/hugewise-metrics.timer");
/// Records a history.
const RECORD: &str = include_str!("../../../../dist/hugewise-record.service");

/// Shows a page.
const SERVE: &str = include_str!("../../../../dist/hugewise-serve.service");
const SOCKET: &str = include_str!("../../../../dist/hugewise-serve.socket");

/// Worst exposure that `systemd-analyze security` may find, in tenths: what is left is what
/// managing memory of others takes (root, ptrace, all of /proc).
const EXPOSURE: &str = "--threshold=20";
/// The same of what serves: it takes a network as well, and becoming somebody without rights.
const EXPOSURE_SERVED: &str = "--threshold=26";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("service_unit_is_understood_and_tight", unit_is_understood_and_tight),
        trial("service_allows_every_system_call", allows_every_system_call),
        trial("service_capabilities_are_enough", capabilities_are_enough),
        trial("service_manager_hears_it_live", service_manager_hears_it_live),
        trial_of_any_kernel("service_restores_after_any_end", restores_after_any_end),
    ]
}

/// What a unit gives a key, all its lines.
fn values(unit: &'static str, key: &str) -> Vec<&'static str> {
    let lines = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines.collect()
}

/// What a program of the host said; a reason to skip where it is missing.
fn host(program: &str, args: &[&str]) -> anyhow::Result<Output> {
    if init::is_guest() {
        return Err(skip(format!("no '{program}' in a guest")));
    }
    match Command::new(program).args(args).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(skip(format!("'{program}' is not installed")))
        }
        output => output.with_context(|| format!("cannot run {program}")),
    }
}

fn said(output: &Output) -> String {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{err}")
}

fn unit_is_understood_and_tight(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let units = [
        ("hugewise-metrics.timer", TIMER),
        ("hugewise.service", UNIT),
        ("hugewise-metrics.service", METRICS),
        ("hugewise-record.service", RECORD),
        ("hugewise-serve.service", SERVE),
        ("hugewise-serve.socket", SOCKET),
    ];
    for (name, text) in units {
        // It complains of programs that are not installed.
        let program = init::hugewise();
        let text = text.replace("/usr/bin/hugewise", program.to_str().context("plain")?);
        fs::write(scratch.join(name), text)?;
    }
    for (name, original) in units {
        let unit = scratch.join(name);
        let unit = unit.to_str().context("a plain path")?;
        let verified = host("systemd-analyze", &["verify", "--man=no", unit])?;
        let text = said(&verified);
        ensure!(verified.status.success() && !text.contains("hugewise"), "{text}");
        if !name.ends_with(".service") {
            continue;
        }
        let most = if original == SERVE { EXPOSURE_SERVED } else { EXPOSURE };
        let secure = host("systemd-analyze", &["security", "--offline=yes", most, unit])?;
        let text = said(&secure);
        if text.contains("unrecognized option") {
            return Err(skip("this systemd-analyze judges no files (before version 250)"));
        }
        ensure!(secure.status.success(), "{text}");
    }
    Ok(())
}

/// System calls of a set, with those of sets within.
fn calls(set: &str, all: &mut BTreeSet<String>) -> anyhow::Result<()> {
    if !set.starts_with('@') {
        all.insert(set.to_owned());
        return Ok(());
    }
    let output = host("systemd-analyze", &["syscall-filter", "--no-pager", set])?;
    ensure!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in text.lines().skip(1).map(str::trim) {
        match line.chars().next() {
            Some('@') => calls(line, all)?,
            Some('#') | None => {}
            Some(_) => _ = all.insert(line.to_owned()),
        }
    }
    Ok(())
}

/// What a unit's filter allows.
fn allowed(unit: &'static str) -> anyhow::Result<BTreeSet<String>> {
    let mut allowed = BTreeSet::new();
    // systemd always allows these.
    calls("@default", &mut allowed)?;
    for value in values(unit, "SystemCallFilter") {
        let mut named = BTreeSet::new();
        for set in value.trim_start_matches('~').split_ascii_whitespace() {
            calls(set, &mut named)?;
        }
        match value.starts_with('~') {
            true => allowed.retain(|call| !named.contains(call)),
            false => allowed.extend(named),
        }
    }
    Ok(allowed)
}

fn allows_every_system_call(_: &Turn) -> anyhow::Result<()> {
    let all = [allowed(UNIT)?, allowed(METRICS)?, allowed(RECORD)?];
    host("strace", &["-V"])?;
    let scratch = Scratch::new()?;
    let trace = scratch.join("trace");
    let hold = Hold::start(&format!("--mib {MIB}"))?;
    let args = format!("--pid {} --once --set demote.sample=true {FAST}", hold.pid());
    let to = format!("-fqqo{}", trace.display());
    Manage::new(&scratch, &args).through(&["strace", &to]).run()?.expect(0)?;
    let by_manager = called(&trace)?;
    ensure!(by_manager.contains("process_madvise") || by_manager.len() > 30, "{by_manager:?}");
    let (program, file) = (init::hugewise(), scratch.join("hugewise.prom"));
    let words = [
        to.as_ref(),
        program.as_os_str(),
        "serve".as_ref(),
        "--once".as_ref(),
        "--output".as_ref(),
    ];
    let done = Command::new("strace").args(words).arg(&file).output()?;
    ensure!(done.status.success() && file.exists(), "{}", said(&done));
    let by_metrics = called(&trace)?;
    let (history, run) = (scratch.join("history"), scratch.join("run"));
    let words =
        [to.as_ref(), program.as_os_str(), "record".as_ref(), "--for".as_ref(), "2s".as_ref()];
    let done = Command::new("strace")
        .args(words)
        .args([OsStr::new("--every"), "1s".as_ref(), "--history".as_ref(), history.as_ref()])
        .args([OsStr::new("--run-dir"), run.as_ref()])
        .output()?;
    ensure!(done.status.success(), "{}", said(&done));
    for (allowed, called) in all.iter().zip([by_manager, by_metrics, called(&trace)?]) {
        let forbidden: Vec<&String> = called.difference(allowed).collect();
        ensure!(forbidden.is_empty(), "a unit forbids what its program calls: {forbidden:?}");
    }
    Ok(())
}

/// The system calls of a trace.
fn called(trace: &Path) -> anyhow::Result<BTreeSet<String>> {
    let text = fs::read_to_string(trace)?;
    // "PID call(...": resumed ones and signals begin otherwise.
    let call = |line: &str| {
        let (_, rest) = line.split_once(' ')?;
        let (call, _) = rest.trim_start().split_once('(')?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (!call.is_empty() && call.chars().all(plain)).then(|| call.to_owned())
    };
    Ok(text.lines().filter_map(call).collect())
}

fn capabilities_are_enough(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    host("setpriv", &["--version"])?;
    let names = values(UNIT, "CapabilityBoundingSet").concat().to_lowercase();
    let names: Vec<String> = names.split(' ').map(|name| name.replacen("cap_", "+", 1)).collect();
    let bound = format!("--bounding-set=-all,{}", names.join(","));
    let scratch = Scratch::new()?;
    let before = Settings::read()?;
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let args = format!("--pid {} --once {FAST}", hold.pid());
    let said = Manage::new(&scratch, &args).through(&["setpriv", &bound]).run()?.expect(0)?;
    is_covered(&mut hold, &said.json()?)?;
    ensure!(before.differences().is_empty(), "{:?}", before.differences());
    // Metrics need none at all, and say nothing of missing ones.
    let mut metrics = Command::new("setpriv");
    metrics.arg("--bounding-set=-all").arg(init::hugewise()).args(["serve", "--once"]);
    let done = metrics.arg("--run-dir").arg(scratch.join("run")).output()?;
    ensure!(done.status.success() && done.stderr.is_empty(), "{}", self::said(&done));
    Ok(())
}

fn service_manager_hears_it_live(_: &Turn) -> anyhow::Result<()> {
    host("env", &["true"])?;
    let scratch = Scratch::new()?;
    let socket = UnixDatagram::bind(scratch.join("notify"))?;
    socket.set_read_timeout(Some(crate::kit::PATIENCE))?;
    let hear = || -> anyhow::Result<String> {
        let mut buffer = [0; 100];
        let length = socket.recv(&mut buffer)?;
        Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
    };
    let hold = Hold::start("--mib 8")?;
    let name = format!("NOTIFY_SOCKET={}", scratch.join("notify").display());
    let before = Settings::read()?;
    let manager = manage(&scratch, &hold).through(&["env", &name]).spawn()?;
    ensure!(hear()?.starts_with("READY=1"), "the first message");
    ensure!(!before.differences().is_empty(), "ready means that its settings stand");
    ensure!(hear()? == "WATCHDOG=1", "then it is alive");
    manager.stop()?.expect(0)?;
    wait_for("the last message", || Ok(hear()? == "STOPPING=1"))
}

/// What systemd does with the unit, step by step: whatever the end of the manager was, and however
/// often it crashed, the unit's last command puts everything back.
fn restores_after_any_end(_: &Turn) -> anyhow::Result<()> {
    ensure!(values(UNIT, "ExecStopPost") == ["/usr/bin/hugewise revert"], "{UNIT}");
    ensure!(
        values(UNIT, "StartLimitBurst").len() == 1 && values(UNIT, "WatchdogSec").len() == 1,
        "{UNIT}"
    );
    let scratch = Scratch::new()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    // The next start finds what the crash before left; the last one of the loop nobody follows.
    for _ in 0..2 {
        manage(&scratch, &hold).start()?.kill()?;
        ensure!(!before.differences().is_empty(), "settings were taken");
    }
    let state = scratch.join("state");
    let said =
        crate::kit::hugewise(["revert".as_ref(), "--state-dir".as_ref(), state.as_os_str()])?;
    said.expect(0)?;
    ensure!(before.differences().is_empty(), "{:?}", before.differences());
    // A start that is refused (exit code 6: never restarted) changes nothing.
    let args = "--for 1h --set promote.no_such_key=1";
    ensure!(Manage::new(&scratch, args).run()?.code != Some(0), "no such key");
    ensure!(before.differences().is_empty(), "{:?}", before.differences());
    Ok(())
}
