//! A child process for tests: this very test binary in another role.
//!
//! What is process-wide (`prctl`) or must be *another* process (remote advice) is tested there.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};

/// Names the role; set for children only.
const ROLE: &str = "HUGEWISE_TEST_CHILD";

pub(crate) struct Child {
    process: process::Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Child {
    /// Starts a child in this role.
    pub(crate) fn start(role: &str) -> Self {
        let program = std::env::current_exe().expect("the test binary has a path");
        let mut process = Command::new(program)
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the test binary starts");
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
        Self { process, stdin, stdout }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The next line the child says; empty when it ended without a word.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.stdout.read_line(&mut line);
        line.trim_end().to_owned()
    }

    /// Ends the child's input and returns its next line.
    pub(crate) fn finish(mut self) -> String {
        self.stdin = None;
        self.line()
    }

    /// Waits and tells whether the child died of `SIGKILL`.
    pub(crate) fn was_killed(mut self) -> bool {
        let status = self.process.wait().expect("the child can be waited for");
        status.signal() == Some(libc::SIGKILL)
    }

    /// The role of this process, if it is a child.
    pub(crate) fn role() -> Option<String> {
        std::env::var(ROLE).ok()
    }

    /// In a child: waits until the parent lets go.
    pub(crate) fn wait_for_end_of_input() {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
