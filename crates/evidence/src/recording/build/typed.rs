//! What was typed, and what is expected to follow it.

use super::{Builder, COMMAND_CHARS_MAX, HOST_CHARS_MAX, HOSTS_MAX};
use crate::recording::expected::{Expected, Met};
use crate::recording::readers::is_tool;
use crate::recording::{LogSummary, SourceId, SourceKind, Unrecognised};

/// Most words of a heading that ends with a colon, and of one that does not.
const HEADING_WORDS_MAX: usize = 12;
const SHORT_WORDS_MAX: usize = 6;

/// How names of devices begin, which are no machines.
const DEVICES: [&str; 8] = ["sd", "vd", "nvme", "dm-", "md", "eth", "eno", "ens"];

/// How often the loop of a command runs: `for i in 1 2 3`, `{1..3}`, `$(seq 3)`. 1 without one, 0
/// where it is not known.
fn rounds(command: &str) -> usize {
    let list = command.strip_prefix("for ").and_then(|rest| rest.split_once(" in "));
    let Some(list) = list.and_then(|(_, rest)| rest.split(';').next()) else {
        let loops = ["while ", "until ", "watch ", "for "];
        return usize::from(!loops.iter().any(|word| command.contains(word)));
    };
    let list = list.trim();
    let number = |text: &str| text.trim().parse::<usize>().ok();
    if let Some(seq) = list.strip_prefix("$(seq ").and_then(|rest| rest.strip_suffix(')')) {
        let mut ends = seq.split_whitespace().map(number);
        return match (ends.next().flatten(), ends.next(), ends.next()) {
            (Some(last), None, None) => last,
            (Some(first), Some(Some(last)), None) => last.saturating_add(1).saturating_sub(first),
            _ => 0,
        };
    }
    if let Some(ends) = list.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let ends = ends.split_once("..").and_then(|(a, b)| Some((number(a)?, number(b)?)));
        return ends.map_or(0, |(first, last)| last.saturating_add(1).saturating_sub(first));
    }
    if list.contains(['$', '`', '*']) { 0 } else { list.split_whitespace().count() }
}

/// Whether a line that no reader knew is a sentence rather than a tool's: eight words, of which
/// three in four are plain ones.
fn is_prose(text: &str) -> bool {
    let start = text.split_whitespace().take(32);
    let (mut all, mut plain) = (0_u32, 0_u32);
    for word in start {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        all += 1;
        let usual = |c: char| c.is_alphabetic() || matches!(c, '\'' | '\u{2019}' | '-');
        plain += u32::from(!word.is_empty() && word.chars().all(usual));
    }
    all >= 8 && 4 * plain >= 3 * all
}

impl Builder {
    /// Begins the block of a log in no format of its own; `None` where nothing more is taken.
    pub(in super::super) fn begin_log(&mut self, line: usize) -> Option<SourceId> {
        self.begin(SourceKind::OtherLog, line);
        self.source
    }

    /// A line that no reader understood, of which that shows only at the end of the input.
    pub(in super::super) fn unrecognised_late(&mut self, line: usize, text: &str) {
        let part = Unrecognised::of_line(&self.input, line, text);
        let all = &mut self.out.unrecognised;
        let other = all
            .iter()
            .rposition(|known| known.input != part.input || known.first_line < part.first_line);
        let place = other.map_or(0, |at| at + 1);
        let above = place.checked_sub(1).and_then(|at| all.get_mut(at));
        if let Some(above) = above.filter(|above| above.input == part.input)
            && above.last_line + 1 >= line
        {
            above.last_line = above.last_line.max(line);
            return;
        }
        match all.get_mut(place).filter(|below| below.first_line == line + 1) {
            Some(below) => *below = Unrecognised { last_line: below.last_line, ..part },
            None => all.insert(place, part),
        }
    }

    /// Puts what such a log is.
    pub(in super::super) fn put_log(&mut self, log: LogSummary) {
        self.out.logs.push(log);
    }

    /// The command behind a prompt: the next listing is its output.
    pub fn command(&mut self, command: &str) {
        self.command.clear();
        self.command.extend(command.chars().take(COMMAND_CHARS_MAX));
        self.samples.command(&self.command);
        self.container = None;
        self.heading.clear();
        self.expects(command);
    }

    /// Whatever follows, no command has printed it.
    pub(in crate::recording) fn forget_command(&mut self) {
        self.command.clear();
        self.heading.clear();
        self.expected = Expected::default();
    }

    /// A heading names the file that follows.
    pub fn heading(&mut self, path: &str) {
        self.heading.clear();
        self.heading.extend(path.chars().take(COMMAND_CHARS_MAX));
        self.expects(&format!("cat {path}"));
    }

    /// What was typed last, and the file that a heading below it names.
    pub fn shown(&self) -> String {
        format!("{} {}", self.command, self.heading)
    }

    /// What is typed from here on is typed in this folder of a cgroup; `None`: somewhere else.
    pub(crate) fn in_folder(&mut self, folder: Option<&str>) {
        self.folder = folder.map(|folder| folder.chars().take(COMMAND_CHARS_MAX).collect());
    }

    /// The cgroup's folder in which commands are typed.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// What this command prints may follow.
    pub(crate) fn expects(&mut self, command: &str) {
        self.expected = Expected::new(command);
    }

    /// The latest command was run inside this container.
    pub fn inside(&mut self, container: &str) {
        self.container = Some(container.chars().take(HOST_CHARS_MAX).collect());
    }

    /// The container of the latest command.
    pub fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// What a line is, where only the latest command tells. It is not expected any more then.
    pub fn met(&mut self, line: &str) -> Option<Met> {
        let met = self.expected.met(line)?;
        if let Met::Clock(seconds) = met {
            self.samples.clock(seconds);
        }
        Some(met)
    }

    /// Whether a line is what the latest command prints.
    pub fn meets(&self, line: &str) -> bool {
        self.expected.is_of(line)
    }

    /// An empty line: what a bare word stands for is only clear right below the command.
    pub fn blank(&mut self) {
        self.expected.blank();
    }

    /// Listings of these machines follow, as of a loop: none where there was no loop.
    pub(crate) fn await_hosts(&mut self, names: Vec<&str>) {
        let names = names.into_iter().take(HOSTS_MAX);
        self.awaited = names.map(|name| name.chars().take(HOST_CHARS_MAX).collect()).collect();
    }

    /// The awaited machine that a heading names: `== db1 ==`, `db1:`.
    pub fn awaited(&self, heading: &str) -> Option<String> {
        let ornament = |c: char| c.is_whitespace() || "=-#*>:[]|".contains(c);
        let name = heading.trim_matches(ornament);
        self.awaited.get(name).cloned()
    }

    /// How often the latest command shows a file of this name: as often as it names it, times the
    /// rounds of its loop; 0 where neither is known.
    pub(crate) fn typed_samples(&self, file: &str) -> usize {
        self.command.matches(file).count().saturating_mul(rounds(&self.command))
    }

    /// What somebody wrote between listings: the machine of a prompt holds until then.
    pub(in super::super) fn between(&mut self, text: &str) {
        if self.before_prompt.is_none() && !self.expected.is_any() {
            return;
        }
        let prose = is_prose(text);
        if prose {
            self.expected = Expected::default();
        }
        if let Some(name) = self.headed(text) {
            self.host_of_prompt(&name);
        } else if prose && let Some(before) = self.before_prompt.take() {
            (self.host, self.source, self.closed) = (before, None, false);
        }
    }

    /// The machine that a heading names: what follows is about it, and not about the one whose
    /// prompt stands before. One that is known, in a short line or one that ends with a colon; else
    /// a name behind a command: `dmesg of db-1:`.
    fn headed(&self, text: &str) -> Option<String> {
        let text = text.trim();
        let ornament = |c: char| !c.is_ascii_alphanumeric();
        let words: Vec<&str> =
            text.split_whitespace().map(|word| word.trim_matches(ornament)).collect();
        let heads = words.len() <= HEADING_WORDS_MAX
            && (text.ends_with(':') || words.len() <= SHORT_WORDS_MAX);
        if self.before_prompt.is_none() || !heads {
            return None;
        }
        let mut known = words.iter().filter(|word| self.by_name.contains_key(**word));
        match (known.next(), known.next()) {
            (Some(name), None) => return Some((*name).to_owned()),
            (Some(_), Some(_)) => return None,
            (None, _) => {}
        }
        let [tool, rest @ ..] = words.as_slice() else { return None };
        let at = rest.iter().position(|word| matches!(*word, "of" | "on" | "from" | "at"))?;
        let name = rest.get(at + 1)?;
        let device = DEVICES.iter().any(|start| name.starts_with(start));
        let like = name.contains(|c: char| c == '-' || c.is_ascii_digit())
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= HOST_CHARS_MAX;
        (like && !device && is_tool(tool) && text.ends_with(':')).then(|| (*name).to_owned())
    }

    /// What was typed last, empty where no prompt showed it.
    pub(crate) fn latest_command(&self) -> &str {
        &self.command
    }

    /// Whether what was typed, or a heading, says what may follow.
    pub(crate) fn awaits(&self) -> bool {
        let shown = !(self.command.is_empty() && self.heading.is_empty());
        shown || !self.awaited.is_empty() || self.expected.is_any()
    }
}
