//! Readers: a process of its own for each recording of many.
//!
//! Problem: a recording comes from anywhere, and whatever the program that reads it dies of, a
//! stack or memory without end, would end the reading of all others.
//!
//! Approach: this very program is started as a reader, for one recording. It hears on its standard
//! input, which is a socket, what to read, answers there, and ends. Its memory and time are limited
//! from outside.
//!
//! Properties: a reader has no terminal, no environment but the time zone, and no descriptor of the
//! process that starts it but this one; it cannot gain privileges. Started by root, it is a user
//! that is nobody else and has no rights before it reads the first byte: it opens the files of its
//! recording as root, and nothing more.

use crate::nobody::Nobody;
use crate::prctl;
use crate::regular;
use crate::root::Root;
use crate::running::{Running, read_aside};
use hugewise_sys::sandbox::Sandbox;
use hugewise_sys::session;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The word of the command line that makes this program a reader.
pub const COMMAND: &str = "reader";

/// What it is called in lists of processes.
const NAME: &std::ffi::CStr = c"hugewise-reader";

/// Address space of a reader: that of the largest input, and as much for what is made of it.
const MEMORY_BYTES_MAX: u64 = 2 << 30;

/// How long a reader may take: at 20 MB/s the largest input takes one minute, and a tool that has
/// to unpack it may take two.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Most bytes that a reader may say.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// Why a reader has said nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// It cannot be started, or heard.
    #[error("its reader cannot be run: {0}")]
    Run(#[from] io::Error),
    /// It ended by a signal.
    #[error("its reader was ended by {0}")]
    Killed(String),
    /// It ended by itself, with another code than 0.
    #[error("its reader ended with exit code {0}")]
    Failed(i32),
    /// It takes too long, and was killed.
    #[error("its reader was stopped after {} s", .0.as_secs())]
    TimedOut(Duration),
    /// It says too much.
    #[error("its reader says more than {} MiB", .0 >> 20)]
    TooMuch(u64),
}

/// Starts readers, with limits for each.
#[derive(Debug, Clone)]
pub struct Readers {
    program: PathBuf,
    memory_bytes_max: u64,
    time_max: Duration,
}

impl Readers {
    /// This very program, with the usual limits: 2 GiB and 10 minutes.
    pub fn live() -> Self {
        Self::of("/proc/self/exe".into(), MEMORY_BYTES_MAX, TIME_MAX)
    }

    /// Another program, with other limits.
    pub const fn of(program: PathBuf, memory_bytes_max: u64, time_max: Duration) -> Self {
        Self { program, memory_bytes_max, time_max }
    }

    /// What a new reader says to `order`. It ends at the latest with the thread that calls this.
    ///
    /// # Errors
    /// See [`ReaderError`].
    pub fn ask(&self, order: &[u8]) -> Result<Vec<u8>, ReaderError> {
        let until = Instant::now() + self.time_max;
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&self.program);
        command.arg(COMMAND).env_clear();
        if let Some(zone) = std::env::var_os("TZ") {
            command.env("TZ", zone);
        }
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        session::without_privileges(&mut command, None, Sandbox::of_reader()?);
        let mut running = Running(command.spawn()?);
        // It holds the other end of the socket, which is to close with the reader.
        drop(command);
        self.limit(Pid::from_child(&running.0))?;
        ours.set_write_timeout(Some(self.time_max))?;
        // One that has ended already says why below.
        let _ = (&ours).write_all(order).and_then(|()| ours.shutdown(Shutdown::Write));
        // One byte more than allowed tells too much from just enough.
        let says = read_aside(ours, OUTPUT_BYTES_MAX + 1);
        let Ok(said) = says.recv_timeout(until.saturating_duration_since(Instant::now())) else {
            return Err(ReaderError::TimedOut(self.time_max));
        };
        if said.as_ref().is_ok_and(|said| said.len() as u64 > OUTPUT_BYTES_MAX) {
            return Err(ReaderError::TooMuch(OUTPUT_BYTES_MAX));
        }
        match running.wait(until)? {
            None => Err(ReaderError::TimedOut(self.time_max)),
            Some(status) if status.success() => Ok(said?),
            // The socket of one that did not hear all of its order is reset.
            Some(status) => Err(ended(status)),
        }
    }

    /// A reader does nothing before it has heard what to read.
    fn limit(&self, pid: Pid) -> io::Result<()> {
        for (resource, most) in [(Resource::As, self.memory_bytes_max), (Resource::Core, 0)] {
            prlimit(Some(pid), resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        Ok(())
    }
}

fn ended(status: ExitStatus) -> ReaderError {
    match (status.signal(), status.code()) {
        (Some(number), _) => ReaderError::Killed(match Signal::from_named_raw(number) {
            Some(Signal::ABORT) => "SIGABRT: it ran out of memory or stack".to_owned(),
            Some(Signal::SEGV) => "SIGSEGV".to_owned(),
            Some(Signal::BUS) => "SIGBUS".to_owned(),
            Some(Signal::KILL) => "SIGKILL".to_owned(),
            _ => format!("signal {number}"),
        }),
        (None, code) => ReaderError::Failed(code.unwrap_or(-1)),
    }
}

/// The whole life of a reader: says what `read` makes of the order on its standard input, which
/// names `files`.
///
/// # Errors
/// Nobody listens, or what it was started with cannot be given up.
pub fn run(
    files: impl FnOnce(&[u8]) -> io::Result<Vec<PathBuf>>,
    read: impl FnOnce(&[u8]) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    // Started as /proc/self/exe, it would be called so.
    rustix::thread::set_name(NAME)?;
    prctl::set_parent_death_signal()?;
    let mut stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut order = Vec::new();
    stream.read_to_end(&mut order)?;
    if let Some(nobody) = Nobody::pick(&Root::live())? {
        regular::open_ahead(&files(&order)?);
        nobody.become_it()?;
        // It was asked for by another user.
        prctl::set_parent_death_signal()?;
    }
    stream.write_all(&read(&order)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const ROOM: u64 = 64 << 20;

    fn asked(script: &str, memory_bytes: u64, time: Duration) -> Result<String, String> {
        let scratch = Scratch::new();
        let (source, program) = (scratch.join("script"), scratch.join("reader"));
        // As for tools: the file is made by a program that has ended.
        fs::write(&source, format!("#!/bin/sh\nexec >&0\n{script}\n")).expect("a file");
        assert!(Command::new("/bin/cp").arg(&source).arg(&program).status().expect("cp").success());
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
        let said = Readers::of(program, memory_bytes, time).ask(b"an order\n");
        said.map(|said| String::from_utf8_lossy(&said).into_owned()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_reader_hears_its_order_and_has_nothing_else() {
        let script = "cat; echo $1; env | grep -v -e PWD -e SHLVL -e _= -e TZ; \
                      grep NoNewPrivs /proc/self/status; ls /proc/self/fd | wc -l";
        let said = asked(script, ROOM, Duration::from_secs(60)).expect("said");
        // Three, and the directory that is listed; the shell has its script open, too.
        assert_eq!(said, "an order\nreader\nNoNewPrivs:\t1\n4\n");
    }

    #[test]
    fn whatever_a_reader_dies_of_is_said() {
        let minute = Duration::from_secs(60);
        for (script, memory_bytes, time, wanted) in [
            ("kill -SEGV $$", ROOM, minute, "ended by SIGSEGV"),
            ("echo half; kill -KILL $$", ROOM, minute, "ended by SIGKILL"),
            ("kill -ABRT $$", ROOM, minute, "ended by SIGABRT"),
            ("kill -TERM $$", ROOM, minute, "ended by signal 15"),
            ("cat >/dev/null; exit 101", ROOM, minute, "exit code 101"),
            // The shell itself fits, what it is asked to hold does not.
            ("x=$(head -c 200000000 /dev/zero | tr '\\0' x) || exit 7", ROOM, minute, "ended "),
            ("exec sleep 1000", ROOM, Duration::from_millis(300), "stopped after 0 s"),
            ("exec 1>&- 0<&-; exec sleep 1000", ROOM, Duration::from_millis(300), "stopped after"),
        ] {
            let error = asked(script, memory_bytes, time).expect_err(script);
            assert!(error.contains(wanted), "{script}: {error}");
        }
    }
}
