//! What lasts as long as `try` or an experiment does: the progress line, Ctrl-C, and a directory of
//! its own.

use anyhow::{Context, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
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
        for signal in [SIGINT, SIGTERM] {
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
