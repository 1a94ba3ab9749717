//! A child process for tests: this very test binary, running one ignored test.
//!
//! What is process-wide (`prctl`) or must be *another* process (remote advice) is tested there.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};

/// Set for children only, so that running ignored tests by hand does not hang.
const MARK: &str = "HUGEWISE_TEST_CHILD";
/// Tells a child's words from the test runner's.
const PREFIX: &str = "child says: ";

pub(crate) struct Child {
    process: process::Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Child {
    /// Starts the ignored test with this full name.
    pub(crate) fn start(test: &str) -> Self {
        let program = std::env::current_exe().expect("the test binary has a path");
        let mut process = Command::new(program)
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(MARK, "1")
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
        while self.stdout.read_line(&mut line).is_ok_and(|read| read > 0) {
            // The runner prints "test NAME ... " without a newline before the child's words.
            if let Some((_, said)) = line.trim_end().split_once(PREFIX) {
                return said.to_owned();
            }
            line.clear();
        }
        String::new()
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

    /// In a child: true. By hand (`cargo test -- --ignored`): false.
    pub(crate) fn is_this_process() -> bool {
        std::env::var_os(MARK).is_some()
    }

    /// In a child: says one line to the parent.
    pub(crate) fn say(words: &str) {
        println!("{PREFIX}{words}");
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
