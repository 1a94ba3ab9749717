//! The terminal while a screen is on it; as it was at the end, also after a panic.

use anyhow::Context;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::fs::File;
use std::io::BufWriter;

/// The terminal of the process, wherever its output goes.
const TTY: &str = "/dev/tty";

/// A screen; dropping it gives the terminal back.
pub(super) struct Screen {
    /// What is drawn on.
    pub(super) terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
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
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(tty)));
        Ok(Self { terminal: terminal.inspect_err(|_| give_back())? })
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
