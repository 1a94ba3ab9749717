//! Programs that the benchmarks look at, and managers beside them.

use hugewise_core::units::Bytes;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_hugewise");

/// Arguments of a manager that is told that stalls don't matter.
pub(crate) const UNPACED: [&str; 8] = [
    "--set",
    "controller.lock_share_percent=100",
    "--set",
    "controller.cpu_percent=100",
    "--set",
    "quota.bytes_per_s=16 GiB",
    "--set",
    "scan.cpu_percent=100",
];

/// A child that is killed when this is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Touches and frees memory, so that the host backs it.
pub(crate) fn warm(size: Bytes) -> Result<()> {
    let status = Command::new(PROGRAM).args(["workload", "warm", &size.0.to_string()]).status()?;
    if status.success() { Ok(()) } else { Err("warming failed".into()) }
}

/// `hugewise workload hold` with these arguments, once it is ready.
pub(crate) fn hold(size: Bytes, arguments: &[&str]) -> Result<Running> {
    let mut child = Command::new(PROGRAM)
        .args(["workload", "hold", "--mib", &(size.0 >> 20).to_string()])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let out = child.stdout.take();
    let running = Running(child);
    let mut line = String::new();
    BufReader::new(out.ok_or("no output")?).read_line(&mut line)?;
    if line.contains("ready") { Ok(running) } else { Err(format!("workload: {line}").into()) }
}

/// A manager of one process; its state lives in a directory of its own.
pub(crate) fn manage(pid: u32, arguments: &[&str]) -> Result<(Running, PathBuf)> {
    let dir = std::env::temp_dir().join(format!("hugewise-bench-{}-{pid}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let child = Command::new(PROGRAM)
        .args(["manage", "--pid", &pid.to_string(), "--state-dir"])
        .arg(&dir)
        .arg("--run-dir")
        .arg(&dir)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    Ok((Running(child), dir))
}

/// Lets a manager end properly, so that its settings go back.
pub(crate) fn stop(mut manager: Running) -> Result<()> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(manager.0.id())?).ok_or("a pid")?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    manager.0.wait()?;
    Ok(())
}

/// `AnonHugePages` of a process.
pub(crate) fn huge(pid: u32) -> Result<Bytes> {
    let text = std::fs::read(format!("/proc/{pid}/smaps_rollup"))?;
    let entries = hugewise_core::parse::smaps::parse(&text).value;
    Ok(Bytes(entries.iter().filter_map(|entry| entry.anon_huge_pages_bytes).sum()))
}

/// CPU time of a process in seconds, at 100 ticks a second.
pub(crate) fn cpu_s(pid: u32) -> Result<f64> {
    let stat = hugewise_core::parse::pid_stat::parse(&std::fs::read(format!("/proc/{pid}/stat"))?)?;
    Ok((stat.utime + stat.stime) as f64 / 100.0)
}
