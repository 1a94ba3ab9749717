//! Programs that are started to say something, and are not trusted to end.

use std::io::{self, Read};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// How long a program may take to die, or to close its output when it ended.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How often to check whether a program ended.
const LOOK: Duration = Duration::from_millis(5);

/// A program that runs; killed on drop.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Its status, `None` when it still runs at the end of the time.
    pub(crate) fn wait(&mut self, until: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails for one that has ended, as most have.
        let _ = self.0.kill();
        // Inside a system call it dies when that call ends: do not wait for it forever.
        let _ = self.wait(Instant::now() + GRACE);
    }
}

/// Reads a pipe on a thread of its own, up to a limit. The pipe is closed then, and the thread
/// ends; one that is never told anything ends with the program.
pub(crate) fn read_aside(
    pipe: impl Read + Send + 'static,
    limit: u64,
) -> Receiver<io::Result<Vec<u8>>> {
    let (to, from) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.take(limit).read_to_end(&mut bytes);
        // Nobody listens when the program took too long.
        let _ = to.send(read.map(|_| bytes));
    });
    from
}
