//! `hugewise top` on a real terminal, driven by tmux.

use crate::init;
use crate::kit::{Scratch, skip, trial, wait_for};
use crate::machine::Turn;
use anyhow::ensure;
use libtest_mimic::Trial;
use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Output};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("top_shows_a_program_and_gives_the_terminal_back", shows_a_program),
        trial("top_ends_with_its_terminal", ends_with_its_terminal),
    ]
}

/// A terminal of 80 columns and 24 lines; it ends with this.
pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    pub(crate) fn start(scratch: &Scratch, command: &str) -> anyhow::Result<Self> {
        let socket = scratch.join("tmux").display().to_string();
        let screen = Self { socket };
        let begin = ["new-session", "-d", "-x", "80", "-y", "24", command];
        match screen.run(&begin) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(skip("tmux is not installed")),
            other => {
                let done = other?;
                ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                Ok(screen)
            }
        }
    }

    fn run(&self, args: &[&str]) -> std::io::Result<Output> {
        // No configuration of whoever runs this.
        Command::new("tmux").args(["-f", "/dev/null", "-S", &self.socket]).args(args).output()
    }

    pub(crate) fn keys(&self, keys: &[&str]) -> anyhow::Result<()> {
        self.run(&[&["send-keys"], keys].concat())?;
        Ok(())
    }

    pub(crate) fn text(&self) -> anyhow::Result<String> {
        let done = self.run(&["capture-pane", "-p"])?;
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    pub(crate) fn shows(&self, what: &str) -> anyhow::Result<()> {
        let shown = wait_for(what, || Ok(self.text()?.contains(what)));
        shown.map_err(|error| anyhow::anyhow!("{error:#}: {}", self.text().unwrap_or_default()))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
    }
}

fn shows_a_program(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("a guest has no tmux"));
    }
    let scratch = Scratch::new()?;
    let (run, state) = (scratch.join("run"), scratch.join("state"));
    // What stands on the terminal before it, and how it ended, after it.
    let command = format!(
        "echo BEFORE; '{}' top --run-dir '{}' --state-dir '{}'; echo \"CODE $?\"; sleep 60",
        init::hugewise().display(),
        run.display(),
        state.display()
    );
    // Large enough to be seen: in this test's own process.
    let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
    let screen = Tmux::start(&scratch, &command)?;
    screen.shows("1 Processes")?;
    let pid = std::process::id().to_string();
    screen.shows(&format!("{pid} live"))?;
    // By its pid: what this process starts has its name, until it runs a program of its own.
    screen.keys(&["/", &pid, "Enter", "Enter"])?;
    screen.shows(&format!("(pid {pid}): a cell is"))?;
    screen.keys(&["4"])?;
    screen.shows("none is running here")?;
    screen.keys(&["?"])?;
    screen.shows("name, pid, cgroup")?;
    screen.keys(&["x", "q"])?;
    screen.shows("CODE 0")?;
    let text = screen.text()?;
    ensure!(text.contains("BEFORE") && !text.contains("Processes"), "{text}");
    drop(memory);
    Ok(())
}

/// A lost connection leaves nothing behind that reads from a terminal which is no more.
fn ends_with_its_terminal(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("a guest has no tmux"));
    }
    let scratch = Scratch::new()?;
    let run = scratch.join("run");
    let program = init::hugewise();
    let command = format!("exec '{}' top --run-dir '{}'", program.display(), run.display());
    let screen = Tmux::start(&scratch, &command)?;
    screen.shows("1 Processes")?;
    let pid = String::from_utf8(screen.run(&["display-message", "-p", "#{pane_pid}"])?.stdout)?;
    let status = format!("/proc/{}/status", pid.trim());
    let name = fs::read_to_string(&status)?;
    ensure!(name.starts_with("Name:\thugewise"), "not top itself: {name}");
    drop(screen);
    wait_for("the end of top", || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        Ok(status.is_empty() || status.contains("State:\tZ"))
    })
}
