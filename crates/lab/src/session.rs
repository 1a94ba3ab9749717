//! What lasts as long as an experiment does: its progress, Ctrl-C and other signals that end a
//! program, and a directory of its own.

use anyhow::{Context, bail};
use hugewise_linux::nobody::{self, Nobody};
use hugewise_linux::private::PrivateDir;
use hugewise_linux::root::Root;
use hugewise_linux::signals::{is_ignored, survive_harmless};
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How often a wait checks for Ctrl-C and renews the progress line.
pub const BEAT: Duration = Duration::from_millis(100);
/// What programs of others have left behind is gone after so long.
const END: Duration = Duration::from_secs(5);

/// Shows a user what happens. This crate prints nothing itself.
pub trait Progress: std::fmt::Debug {
    /// Whether somebody watches a line that changes. A log gets none.
    fn is_watched(&self) -> bool;
    /// Replaces the line, `seconds` after the beginning.
    fn line(&self, seconds: u64, text: &str);
    /// Says what is to stay readable, on a line of its own.
    fn log(&self, text: &str);
    /// Takes the line away.
    fn clear(&self);
}

/// A long command: its stop flag, its progress, a directory that goes away on drop, and the user
/// that external programs run as.
#[derive(Debug)]
pub struct Session {
    stop: Arc<AtomicBool>,
    begin: Instant,
    progress: Box<dyn Progress>,
    line: String,
    directory: PrivateDir,
    user: Option<Nobody>,
    afterwards: &'static str,
}

/// The flag of all sessions of this process: what comes between two of them ends the next.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A flag that Ctrl-C and the like set.
fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    // Who is to outlive the terminal, as by nohup, continues.
    let others = [SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(*signal));
    survive_harmless().context("cannot handle signals")?;
    for signal in [SIGINT, SIGTERM, SIGABRT, SIGXCPU].into_iter().chain(others) {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(Arc::clone(STOP.get_or_init(|| stop)))
}

impl Session {
    /// Catches Ctrl-C and makes the directory. `purpose` is part of its name, `afterwards` says
    /// what an interruption leaves behind.
    pub fn start(
        purpose: &str,
        afterwards: &'static str,
        progress: Box<dyn Progress>,
    ) -> anyhow::Result<Self> {
        let stop = match STOP.get() {
            Some(stop) => Arc::clone(stop),
            None => stop_flag()?,
        };
        let user = Nobody::pick(&Root::live()).context("choosing a user for programs of others")?;
        let directory = PrivateDir::new(&format!("hugewise-{purpose}-"));
        let directory = directory.context("cannot create a directory for the experiment")?;
        if let Some(user) = user {
            directory.open_to(user.gid).context("opening the way to programs' own directories")?;
        }
        let (begin, line) = (Instant::now(), String::new());
        Ok(Self { stop, begin, progress, line, directory, user, afterwards })
    }

    /// A directory that goes away with the session. Nobody else enters it but programs of others
    /// that run for it, who pass through to what is theirs.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The user that external programs run as; `None` where that is who runs hugewise.
    pub fn user(&self) -> Option<Nobody> {
        self.user
    }

    /// Says what is being done.
    pub fn step(&mut self, text: String) -> anyhow::Result<()> {
        self.line = text;
        self.beat()
    }

    /// Renews the progress line; an error after Ctrl-C.
    pub fn beat(&self) -> anyhow::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            bail!("interrupted; {}", self.afterwards);
        }
        if self.is_watched() {
            self.progress.line(self.begin.elapsed().as_secs(), &self.line);
        }
        Ok(())
    }

    /// Whether there is a progress line: somebody watches. A log gets none.
    pub fn is_watched(&self) -> bool {
        self.progress.is_watched()
    }

    /// Says what is to stay readable, on a line of its own.
    pub fn log(&self, text: &str) {
        self.progress.log(text);
    }

    /// Waits, with beats.
    pub fn sleep(&self, time: Duration) -> anyhow::Result<()> {
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
        self.progress.clear();
        if let Some(user) = self.user {
            nobody::end_all(&Root::live(), user, END);
        }
    }
}
