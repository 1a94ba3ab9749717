//! How fast a recording becomes findings: a day of sar as text, against `sadf -j` converting the
//! same day.
//!
//! `HUGEWISE_BENCH_SA` names a binary file of sysstat; without it, one is recorded for two
//! minutes, a sample a second, all reports.

use super::{Done, number, spread};
use hugewise_core::stats::median;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const COLLECTORS: [&str; 2] = ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc"];

pub(crate) fn run() -> Done {
    let rounds = number("HUGEWISE_BENCH_ROUNDS", 5);
    let scratch = std::env::temp_dir().join(format!("hugewise-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let done = compare(rounds, &scratch);
    std::fs::remove_dir_all(&scratch)?;
    done
}

fn compare(rounds: u64, scratch: &Path) -> Done {
    let binary = match std::env::var_os("HUGEWISE_BENCH_SA") {
        Some(file) => PathBuf::from(file),
        None => record(scratch)?,
    };
    let text = scratch.join("sar.txt");
    let sar = Command::new("sar").args(["-A", "-f"]).arg(&binary).env("LC_ALL", "C").output()?;
    if !sar.status.success() {
        return Err(String::from_utf8_lossy(&sar.stderr).into_owned().into());
    }
    std::fs::write(&text, &sar.stdout)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut diagnose = Command::new(env!("CARGO_BIN_EXE_hugewise"));
        ours.push(seconds(diagnose.args(["diagnose", "--json"]).arg(&text))?);
        let mut convert = Command::new("sadf");
        theirs.push(seconds(convert.arg("-j").arg(&binary).args(["--", "-A"]))?);
    }
    let ratio = median(&theirs).unwrap_or(f64::NAN) / median(&ours).unwrap_or(f64::NAN);
    println!(
        "{:.1} MiB of sar text, all reports; seconds, {rounds} interleaved rounds: median \
         [min..max].\n\n| text to findings | `sadf -j` converts | sadf / ours |\n|---|---|---|\n\
         | {} | {} | {ratio:.1} |",
        sar.stdout.len() as f64 / f64::from(1 << 20),
        spread(&ours, 3),
        spread(&theirs, 3),
    );
    Ok(())
}

/// Two minutes of this machine.
fn record(scratch: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let collector = COLLECTORS.iter().find(|path| Path::new(path).exists());
    let collector = collector.ok_or("no sadc: install sysstat")?;
    let file = scratch.join("bench.sa");
    let status = Command::new(collector).args(["-S", "XALL", "1", "120"]).arg(&file).status()?;
    if status.success() { Ok(file) } else { Err(format!("sadc: {status}").into()) }
}

fn seconds(command: &mut Command) -> Result<f64, Box<dyn std::error::Error>> {
    let began = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    // Findings are an exit code of 3 or 4.
    match status.code() {
        Some(0 | 3 | 4 | 5) => Ok(began.elapsed().as_secs_f64()),
        _ => Err(format!("{command:?}: {status}").into()),
    }
}
