//! Changes by commands, with their way back: flags of products, sizes of pools.
//!
//! The command that undoes a change is on disk before the one that makes it is started. What a
//! killed experiment left is undone by the next one, or by `hugewise revert --all`.

use crate::program_output;
use anyhow::{Context, bail};
use hugewise_experiment::spec::Change;
use hugewise_linux::trail;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The file below the state directory.
const FILE: &str = "lab-undo.json";
/// What it is called until it is whole.
const NEW: &str = "lab-undo.new";
/// A larger file was not written by hugewise.
const BYTES_MAX: u64 = 1 << 20;
/// A command that takes longer is ended: a change that hangs is none.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a command is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// What is to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pending {
    /// Program and arguments.
    undo: Vec<String>,
    /// Where it runs: relative paths in it are meant from there.
    directory: PathBuf,
}

/// A change that was made, or that was begun.
#[derive(Debug)]
pub(super) struct Changed {
    state_dir: PathBuf,
    pending: Pending,
}

impl Changed {
    /// Writes down how it is undone, and makes it.
    ///
    /// # Errors
    /// When the way back cannot be written down, or the command fails; then it was undone.
    pub(super) fn make(change: &Change, state_dir: &Path) -> anyhow::Result<Self> {
        let directory = std::env::current_dir().context("the current directory is gone")?;
        let pending = Pending { undo: change.undo.clone(), directory };
        trail::make_dir(state_dir).context("cannot make the state directory")?;
        note(&pending, state_dir).context("cannot write down how to undo a change")?;
        let made = Self { state_dir: state_dir.to_owned(), pending };
        match run(&change.apply, &made.pending.directory) {
            Ok(()) => Ok(made),
            Err(error) => {
                made.undo().with_context(|| format!("after 'apply' failed ({error:#})"))?;
                Err(error.context("'apply' failed, and was undone"))
            }
        }
    }

    /// Undoes it.
    ///
    /// # Errors
    /// When its command fails: it stays on disk, and is tried again by the next experiment.
    pub(super) fn undo(self) -> anyhow::Result<()> {
        undo(&self.pending, &self.state_dir)
    }
}

/// Undoes what an experiment that was killed has left; returns the command, in words.
///
/// # Errors
/// When the file is there and cannot be believed, or the command fails.
pub fn undo_left(state_dir: &Path, dry_run: bool) -> anyhow::Result<Option<String>> {
    let Some(pending) = read(state_dir)? else { return Ok(None) };
    if !dry_run {
        undo(&pending, state_dir)?;
    }
    Ok(Some(pending.undo.join(" ")))
}

fn undo(pending: &Pending, state_dir: &Path) -> anyhow::Result<()> {
    run(&pending.undo, &pending.directory).context("a change could not be undone")?;
    fs::remove_file(state_dir.join(FILE)).context("cannot note that a change was undone")
}

/// On disk when this returns, whole or not at all.
fn note(pending: &Pending, state_dir: &Path) -> anyhow::Result<()> {
    let new = state_dir.join(NEW);
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let mut file = options.open(&new)?;
    trail::trusted(state_dir, &file)?;
    file.write_all(&serde_json::to_vec(pending)?)?;
    file.sync_all()?;
    fs::rename(new, state_dir.join(FILE))?;
    Ok(File::open(state_dir)?.sync_all()?)
}

/// What is noted, of this user alone.
fn read(state_dir: &Path) -> anyhow::Result<Option<Pending>> {
    let path = state_dir.join(FILE);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match rustix::fs::open(&path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(error) if std::io::Error::from(error).kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    trail::trusted(state_dir, &file).with_context(|| format!("{}", path.display()))?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let pending = serde_json::from_slice(&bytes).with_context(|| {
        let path = path.display();
        format!("{path} is damaged: undo by hand what it names, and remove it")
    })?;
    Ok(Some(pending))
}

/// Runs a command to its end.
fn run(command: &[String], directory: &Path) -> anyhow::Result<()> {
    let Some((program, arguments)) = command.split_first() else { bail!("there is no command") };
    let shown = command.join(" ").escape_debug().to_string();
    let said = tempfile()?;
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said.try_clone()?)
        // Ctrl-C is for hugewise, which undoes what it has changed.
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start '{shown}'"))?;
    let until = Instant::now() + PATIENCE;
    let status: ExitStatus = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            bail!("'{shown}' did not end within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(LOOK);
    };
    if status.success() {
        return Ok(());
    }
    bail!("'{shown}' ended with {status}: {}", last_line(said))
}

/// A file without a name, for what a command says.
fn tempfile() -> anyhow::Result<File> {
    let fd = rustix::fs::memfd_create("said", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(File::from(fd))
}

fn last_line(file: File) -> String {
    let line = program_output::last_lines(&program_output::end_of(file), 1);
    line.escape_debug().to_string().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    fn change(apply: &str, undo: &str) -> Change {
        let shell = |text: &str| ["sh", "-c", text].map(str::to_owned).to_vec();
        Change { apply: shell(apply), undo: shell(undo) }
    }

    #[test]
    fn a_change_is_made_and_undone() {
        let scratch = Scratch::new();
        let (flag, state) = (scratch.join("flag"), scratch.join("state"));
        let path = flag.display();
        let both = change(&format!("echo on > {path}"), &format!("rm -f {path}"));
        let made = Changed::make(&both, &state).expect("made");
        assert!(flag.exists() && state.join(FILE).exists());
        made.undo().expect("undone");
        assert!(!flag.exists() && !state.join(FILE).exists());
    }

    #[test]
    fn what_a_killed_experiment_left_is_undone() {
        let scratch = Scratch::new();
        let (flag, state) = (scratch.join("flag"), scratch.join("state"));
        let path = flag.display();
        let both = change(&format!("echo on > {path}"), &format!("rm -f {path}"));
        // As if killed: nobody undoes it.
        drop(Changed::make(&both, &state).expect("made"));
        let planned = undo_left(&state, true).expect("reads").expect("something is left");
        assert!(planned.starts_with("sh -c rm -f") && flag.exists());
        assert!(undo_left(&state, false).expect("undone").is_some() && !flag.exists());
        assert_eq!(undo_left(&state, false).expect("nothing is left"), None);
    }

    #[test]
    fn a_change_that_fails_is_undone_and_one_that_cannot_be_undone_stays_noted() {
        let scratch = Scratch::new();
        let (flag, state) = (scratch.join("flag"), scratch.join("state"));
        let path = flag.display();
        let failing = change("echo no such pool >&2; exit 3", &format!("echo off > {path}"));
        let error = format!("{:#}", Changed::make(&failing, &state).expect_err("it fails"));
        assert!(error.contains("was undone") && error.ends_with("no such pool"), "{error}");
        assert!(flag.exists() && !state.join(FILE).exists());
        let stuck = Changed::make(&change("true", "exit 1"), &state).expect("made");
        assert!(stuck.undo().is_err() && state.join(FILE).exists());
        fs::write(state.join(FILE), "{").expect("damaged");
        let error = format!("{:#}", undo_left(&state, false).expect_err("damaged"));
        assert!(error.contains("undo by hand"), "{error}");
    }
}
