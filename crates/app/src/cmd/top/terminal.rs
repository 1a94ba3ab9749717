//! The terminal while a screen is on it; as it was at the end, also after a panic.

use anyhow::Context;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::BufWriter;
use std::time::Duration;

/// The terminal of the process, wherever its output goes.
const TTY: &str = "/dev/tty";

/// A screen; dropping it gives the terminal back.
pub(super) struct Screen {
    /// What is drawn on.
    pub(super) terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
    /// The same terminal, to see whether it is still there.
    tty: File,
}

fn tty() -> std::io::Result<File> {
    File::options().read(true).write(true).open(TTY)
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn open() -> anyhow::Result<Self> {
        let mut tty = tty().context(
            "top needs a terminal, and there is none; 'hugewise status' prints the same once",
        )?;
        enable_raw_mode().context("the terminal cannot be taken")?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        let taken = execute!(tty, EnterAlternateScreen, EnableMouseCapture);
        if let Err(error) = taken {
            give_back();
            return Err(error).context("the terminal cannot be taken");
        }
        let made = tty.try_clone().and_then(|same| {
            let terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(tty)))?;
            Ok(Self { terminal, tty: same })
        });
        Ok(made.inspect_err(|_| give_back())?)
    }

    /// Waits for a key, a click or a new size; whether there is one. The library that reads them
    /// never ends with a terminal that hung up: it is asked only while there is one.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn wait(&self, most: Duration) -> anyhow::Result<bool> {
        let mut keys = [PollFd::new(&self.tty, PollFlags::IN)];
        let most = Timespec::try_from(most).context("a time to wait")?;
        match poll(&mut keys, Some(&most)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).context("the terminal is gone"),
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        anyhow::ensure!(!keys[0].revents().intersects(gone), "the terminal is gone");
        event::poll(Duration::ZERO).context("the terminal is gone")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Whatever fails here: there is nothing else to be done about it.
fn give_back() {
    let _ = disable_raw_mode();
    if let Ok(mut tty) = tty() {
        let _ = execute!(tty, DisableMouseCapture, LeaveAlternateScreen, Show);
    }
}
