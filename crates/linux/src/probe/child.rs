//! The child process that lends its memory, and the conversation with it.
//!
//! One line each way, on its standard input and output: it says `ready ADDRESS` (hexadecimal) as
//! soon as its memory is filled, answers every line it is told with one line, and ends when its
//! input ends.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How to start the child.
#[derive(Debug, Clone)]
pub struct ProbeChild {
    /// The program.
    pub program: PathBuf,
    /// Its arguments; the huge page size in bytes is added as the last one.
    pub args: Vec<OsString>,
    /// When to give up.
    pub time_limit: Duration,
}

impl ProbeChild {
    /// This very program with `args`, and ten seconds: a probe takes about 10 ms; where a host
    /// backs memory only when it is touched, about 50; on an emulated processor that shares a CPU
    /// with a compiler, more than 2 s.
    pub fn this_program(args: &[&str]) -> Self {
        Self {
            // Unlike a path it also works after the file was replaced by an update.
            program: PathBuf::from("/proc/self/exe"),
            args: args.iter().map(OsString::from).collect(),
            time_limit: Duration::from_secs(10),
        }
    }
}

/// A child that ends with its owner.
pub(super) struct Lender(Child);

impl Lender {
    pub(super) fn start(how: &ProbeChild, huge_bytes: u64) -> io::Result<(Self, Dialog)> {
        let mut child = Command::new(&how.program)
            .args(&how.args)
            .arg(huge_bytes.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pid = child.id();
        let lender = Self(child);
        let (says, hears) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        Ok((lender, Dialog { pid, to: says, from: BufReader::new(hears) }))
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        let _ = self.0.kill();
        // A child inside a system call dies when that call ends: do not wait for it forever.
        let until = Instant::now() + Duration::from_millis(500);
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The two pipes.
pub(super) struct Dialog {
    pub(super) pid: u32,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Dialog {
    /// The child's next line. Blocks; ends when the child does.
    pub(super) fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(0) => Err("the probe child ended early".into()),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(format!("probe child: {}", super::finding::named(&error))),
        }
    }

    /// Says one line and returns the answer.
    pub(super) fn ask(&mut self, words: &str) -> Result<String, String> {
        let said = writeln!(self.to, "{words}").and_then(|()| self.to.flush());
        said.map_err(|error| format!("probe child: {}", super::finding::named(&error)))?;
        self.line()
    }
}
