//! What was typed, and what is expected to follow it.

use super::{Builder, COMMAND_CHARS_MAX, HOST_CHARS_MAX, HOSTS_MAX};
use crate::evidence::recording::expected::{Expected, Met};

impl Builder {
    /// The command behind a prompt: the next listing is its output.
    pub fn command(&mut self, command: &str) {
        self.command.clear();
        self.command.extend(command.chars().take(COMMAND_CHARS_MAX));
        self.looks.command(&self.command);
        self.container = None;
        self.expects(command);
    }

    /// What this command prints may follow.
    pub fn expects(&mut self, command: &str) {
        self.expected = Expected::new(command);
    }

    /// The latest command was run inside this container.
    pub fn inside(&mut self, container: &str) {
        self.container = Some(container.chars().take(HOST_CHARS_MAX).collect());
    }

    /// The container of the latest command.
    #[must_use]
    pub fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// What a line is, where only the latest command tells. It is not expected any more then.
    pub fn met(&mut self, line: &str) -> Option<Met> {
        let met = self.expected.met(line)?;
        if let Met::Clock(seconds) = met {
            self.looks.clock(seconds);
        }
        Some(met)
    }

    /// Whether a line is what the latest command prints.
    #[must_use]
    pub fn meets(&self, line: &str) -> bool {
        self.expected.is_of(line)
    }

    /// An empty line: what a bare word stands for is only clear right below the command.
    pub fn blank(&mut self) {
        self.expected.blank();
    }

    /// Listings of these machines follow, as of a loop: none where there was no loop.
    pub fn await_hosts(&mut self, names: Vec<&str>) {
        let names = names.into_iter().take(HOSTS_MAX);
        self.awaited = names.map(|name| name.chars().take(HOST_CHARS_MAX).collect()).collect();
    }

    /// The awaited machine that a heading names: `== db1 ==`, `db1:`.
    #[must_use]
    pub fn awaited(&self, heading: &str) -> Option<String> {
        let ornament = |c: char| c.is_whitespace() || "=-#*>:[]|".contains(c);
        let name = heading.trim_matches(ornament);
        self.awaited.iter().find(|awaited| *awaited == name).cloned()
    }

    /// What was typed last, empty where no prompt showed it.
    #[must_use]
    pub fn latest_command(&self) -> &str {
        &self.command
    }
}
