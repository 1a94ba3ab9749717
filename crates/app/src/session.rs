//! What lasts as long as `try` or an experiment does: the progress line, Ctrl-C and other signals
//! that end a program, and a directory of its own.

use anyhow::{Context, bail};
use hugewise_linux::root::Root;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often waiting looks for Ctrl-C and renews the progress line.
pub(crate) const BEAT: Duration = Duration::from_millis(100);

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Session {
    stop: Arc<AtomicBool>,
    begin: Instant,
    line: Option<String>,
    directory: PathBuf,
    afterwards: &'static str,
}

impl Session {
    /// Catches Ctrl-C and makes the directory. One that is already there is another user's trap.
    /// `purpose` is part of its name, `afterwards` says what an interruption leaves behind.
    pub(crate) fn start(purpose: &str, afterwards: &'static str) -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let status = Root::live().read_text("proc/self/status").unwrap_or_default();
        // Who is to outlive the terminal, as by nohup, goes on.
        let others = [SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(&status, *signal));
        for signal in [SIGINT, SIGTERM].into_iter().chain(others) {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        let name = format!("hugewise-{purpose}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let mut private = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        let made = private.create(&directory);
        made.with_context(|| format!("cannot create {}", directory.display()))?;
        let line = std::io::stderr().is_terminal().then(String::new);
        Ok(Self { stop, begin: Instant::now(), line, directory, afterwards })
    }

    /// A directory that goes away with the session.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Says what is being done.
    pub(crate) fn step(&mut self, text: String) -> anyhow::Result<()> {
        if let Some(line) = &mut self.line {
            *line = text;
        }
        self.beat()
    }

    /// Renews the progress line; an error after Ctrl-C.
    pub(crate) fn beat(&self) -> anyhow::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            bail!("interrupted; {}", self.afterwards);
        }
        if let Some(line) = &self.line {
            let seconds = self.begin.elapsed().as_secs();
            let _ = write!(std::io::stderr(), "\r\x1b[K[{seconds:>3} s] {line}");
        }
        Ok(())
    }

    /// Whether there is a progress line: somebody watches. A log gets none.
    pub(crate) fn is_watched(&self) -> bool {
        self.line.is_some()
    }

    /// Says what is to stay readable, on a line of its own.
    pub(crate) fn log(&self, text: &str) {
        let clear = if self.is_watched() { "\r\x1b[K" } else { "" };
        let _ = writeln!(std::io::stderr(), "{clear}{text}");
    }

    /// Waits, with beats.
    pub(crate) fn sleep(&self, time: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + time;
        loop {
            self.beat()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(BEAT));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.line.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Whether `/proc/PID/status` says that a process ignores a signal.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Bit 0 is signal 1 (proc_pid_status(5)).
    let bit = u32::try_from(signal - 1).ok().and_then(|shift| 1_u64.checked_shl(shift));
    mask.zip(bit).is_some_and(|(mask, bit)| mask & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_told_from_others() {
        let nohup = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\tffffffffffffffff\n";
        assert!(is_ignored(nohup, SIGHUP));
        assert!(!is_ignored(nohup, SIGQUIT) && !is_ignored(nohup, SIGTERM));
        assert!(!is_ignored("", SIGHUP) && !is_ignored("SigIgn:\tx\n", SIGHUP));
        assert!(!is_ignored(nohup, 0) && !is_ignored(nohup, 1000));
    }
}
