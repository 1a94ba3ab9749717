//! The kernel's log: `dmesg`, `dmesg -T`, `journalctl -k`, syslog. Few of its messages say why a
//! machine is slow; the others are passed over.

mod known;
mod mem_info;
mod oom;
mod report;
mod when;

use super::log_prefix::{PREFIX_BYTES_MAX, is_logged};
use super::prelude::*;
use super::prompt::prompt;
use std::collections::BTreeMap;

pub(super) use known::is_headed;
pub use known::{LOG, Trouble};
pub(super) use oom::{killed_in, may_be_own as may_be_kill};
pub(super) use report::may_begin as may_be_report;
pub use report::{Kind as ReportKind, REPORT};
pub use when::dated;
pub(super) use when::{clock_before, date_and_time, up_ms};

use self::when::{When, when};

/// What is left of a line behind the time: `[ 12.345678] `, `[Mon Nov 23 10:00:00 2026] `, or
/// `Nov 23 10:00:00 db1 kernel: `; `None` where neither is there.
fn message(line: &str) -> Option<&str> {
    let line = when::behind_level(line);
    let mut named = None;
    while let Some(rest) = behind_name(named.unwrap_or(line)) {
        // What stands far behind the name is another message, of lines that were joined.
        if named.is_some_and(|message| message.len() - rest.len() > NAME_BYTES_MAX) {
            break;
        }
        named = Some(rest);
    }
    let timed = behind_time(named.unwrap_or(line).trim_start());
    timed.or(named).or_else(|| behind_facility(line))
}

/// Longest prefix of one more log before a message, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// What follows the name that syslog gives the kernel; `kernel:` where it shows it to everybody
/// (`Message from syslogd@db1`).
fn behind_name(line: &str) -> Option<&str> {
    let named = line.split_once(" kernel: ").map(|(_, rest)| rest);
    let shown = || line.trim_start().strip_prefix("kernel:").filter(|rest| !rest.is_empty());
    named.or_else(|| line.strip_prefix("kernel: ")).or_else(shown)
}

/// `10.0.0.5: kern:  alert: [2026-04-07T04:35:57.456Z]: XFS ...`, as Talos ships it: facility,
/// level and time.
fn behind_facility(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("kern: ")?;
    let (level, rest) = rest.trim_start().split_once(": [")?;
    let plain = level.bytes().all(|byte| byte.is_ascii_lowercase());
    let (time, rest) = rest.split_once("]: ")?;
    (plain && time.contains('T')).then_some(rest)
}

/// What follows the kernel's own time.
fn behind_time(line: &str) -> Option<&str> {
    let (time, rest) = line.strip_prefix('[')?.split_once(']')?;
    let since_boot = time.trim().split_once('.').is_some_and(|(seconds, rest)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits(seconds) && digits(rest)
    });
    let words: Vec<&str> = time.split_whitespace().collect();
    let wall = match words.as_slice() {
        [_, _, _, time, _] => time.matches(':').count() == 2,
        // `dmesg -H`: `[Jan17 02:36]`, and below it how much later each line is, `[  +0.000012]`.
        [date, time] => date.len() <= 5 && when::is_day(date) && time.len() == 5,
        [later] => later.strip_prefix('+').is_some_and(|seconds| number(seconds).is_some()),
        _ => false,
    };
    let rest = rest.trim_start();
    (since_boot || wall && !is_of_apache(rest)).then_some(rest)
}

/// Whether what follows a date is of a web server's log, which has its level there: `[error] `,
/// `[mpm_event:notice] `.
fn is_of_apache(rest: &str) -> bool {
    const LEVELS: [&str; 8] =
        ["emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"];
    let inside = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let level = inside.map(|(inside, _)| inside.rsplit(':').next().unwrap_or(inside));
    level.is_some_and(|level| LEVELS.contains(&level))
}

/// Commands that show the kernel's log, perhaps without its times.
const SHOWN_BY: [&str; 5] = ["dmesg", "journalctl", "/var/log/messages", "/var/log/syslog", "kern"];

/// A message that somebody made the title of a report.
pub(super) fn untitled(line: &str) -> &str {
    let title = line.trim_start_matches('#').trim_start();
    if title.len() < line.len() && known::is_headed(title) { title } else { line }
}

/// A message without anything before it: of a report that nothing else looks like, or below a
/// command that shows the log.
fn bare<'a>(line: &'a str, out: &Builder) -> Option<&'a str> {
    let command = out.latest_command();
    let shown = SHOWN_BY.iter().any(|name| command.contains(name));
    let line = untitled(line.trim());
    let own = oom::own(line, PREFIX_BYTES_MAX);
    // Some log has it, with a prefix of its own.
    let logged = |text: &&str| {
        let before = line.get(..line.len() - text.len()).unwrap_or_default();
        !before.contains(char::is_alphabetic) || is_logged(before)
    };
    // Nobody asks what he quotes.
    let headed = known::is_headed(line) && !line.ends_with('?');
    let known = (shown || headed) && known::names_trouble(line);
    own.filter(logged).or_else(|| known.then_some(line))
}

/// Begins at a line with the kernel's time, or with its name.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let ours = message(lines.ahead(0)).or_else(|| bare(lines.ahead(0), out)).is_some();
    let report_lines = report::extent(lines);
    let new = || KernelLog { report_lines, ..KernelLog::default() };
    (ours || report_lines > 0).then(|| lines.begin(SourceKind::KernelLog, new(), out))
}

#[derive(Default)]
struct KernelLog {
    reports: oom::Reports,
    /// Reports of the kernel's own failures, and how many more lines of one without times follow.
    failures: report::Reports,
    report_lines: usize,
    /// Characters of the latest line; 0 after an empty one.
    length: usize,
    floods: u64,
    untracked: u64,
    /// By kind of trouble.
    told: BTreeMap<Trouble, TroubleLines>,
    /// The kind of the latest message.
    latest: Option<Trouble>,
    /// The column in which the latest message begins.
    column: usize,
    /// Whether the latest message had no time.
    bare: bool,
    /// The latest time of a task that hung.
    hung: When,
    /// The latest time of all, and whether anything was said that has an age.
    last: When,
    told_any: bool,
    /// Messages of any kind.
    messages: u64,
}

/// What was said about one kind of trouble.
#[derive(Default)]
struct TroubleLines {
    lines: u64,
    quote: String,
    most: Option<f64>,
    when: When,
}

impl When {
    /// The later of two, of each clock.
    fn later(&mut self, other: Self) {
        self.since_boot_s = match (self.since_boot_s, other.since_boot_s) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        // Dates without a year are below zero, the latest the least; they do not meet others.
        self.clock = other.clock.or(self.clock);
    }

    /// Seconds between two, on the clock that both have; dates without a year go down.
    fn apart_s(self, other: Self) -> Option<f64> {
        let since_boot = self.since_boot_s.zip(other.since_boot_s).map(|(a, b)| (a - b).abs());
        let dated = || self.clock.zip(other.clock).map(|(a, b)| a.abs_diff(b) as f64);
        since_boot.or_else(dated)
    }

    fn put(self, name: &str, out: &mut Builder) {
        self.put_about(&Subject::part(LOG, name), out);
    }

    fn put_about(self, subject: &Subject, out: &mut Builder) {
        let since_boot_ms = self.since_boot_s.map(|seconds| seconds * 1e3);
        out.put_known(Field::LogUptime, subject, None, since_boot_ms);
        out.put_known(Field::LogClock, subject, None, self.clock.map(|clock| clock as f64));
    }
}

/// The part of it about tasks that hang.
pub const HANGS: &str = "hangs";
/// The clock that the log says the kernel went to last, as a setting.
pub const CLOCKSOURCE: &str = "clocksource of the kernel log";

/// The setting with the latest line about a kind of trouble.
pub fn quoted(kind: Trouble) -> String {
    format!("{LOG}: {}", kind.key())
}

/// What the kernel's log said of a disk last, as a setting of this name and the disk's.
pub const DISK_LOG: &str = "kernel log about ";

/// Longest message that is quoted.
const QUOTE_CHARS_MAX: usize = 120;

/// The disk that a message complains of: `sd 0:2:1:0: [sdb] tag#118 FAILED ...`,
/// `blk_update_request: I/O error, dev sdb, sector 5`, `nvme nvme0: I/O 5 QID 1 timeout`,
/// `Buffer I/O error on dev sdb1`.
fn failing_disk(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let bad =
        ["error", "fail", "timeout", "timed out", "abort", "reset", "unrecovered", "mfi stat"];
    if !bad.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let name =
        |rest: &'_ str| rest.split(|c: char| !c.is_ascii_alphanumeric()).next().map(str::len);
    let after = |mark: &str| {
        let (_, rest) = text.split_once(mark)?;
        rest.get(..name(rest)?).filter(|name| name.len() > 2)
    };
    let scsi = text.starts_with("sd ").then(|| after("[")).flatten();
    let found = scsi.or_else(|| after("dev ")).or_else(|| after("device "));
    let nvme = || text.starts_with("nvme ").then(|| after("nvme ")).flatten();
    let found = found.or_else(nvme);
    // A partition's name ends in its number.
    let whole = |name: &'_ str| name.starts_with("sd") || name.starts_with("vd");
    found.map(|name| match whole(name) {
        true => name.trim_end_matches(|c: char| c.is_ascii_digit()),
        false => name,
    })
}

/// The name of a file server that does not answer, or answers again (`false`).
fn server(text: &str) -> Option<(&str, bool)> {
    if let Some(rest) = text.strip_prefix("nfs: server ") {
        let (name, rest) = rest.split_once(' ')?;
        return Some((name, rest.contains("not responding")))
            .filter(|(_, silent)| *silent || rest.starts_with("OK"));
    }
    let silent = text.starts_with("CIFS") && text.contains("has not responded");
    let before = text.split_once(" has not responded").map(|(before, _)| before);
    let name = before.and_then(|before| before.rsplit(' ').next());
    let name = name.map(|name| name.trim_start_matches('\\'));
    silent.then(|| (name.filter(|name| *name != "Server").unwrap_or("a CIFS server"), true))
}

/// Lines of mails end at this column.
const MAIL_COLUMNS: usize = 72;

impl KernelLog {
    /// Whether a line is the rest of the one above, within a report: that left no room for its
    /// first word.
    fn is_wrapped(&self, line: &str) -> bool {
        let word = line.split_whitespace().next().map_or(0, str::len);
        let full = self.length > 0 && self.length + 1 + word > MAIL_COLUMNS;
        full && self.failures.is_open() && prompt(line).is_none()
    }

    /// Whether a line without a time belongs to a report of the kernel about itself.
    fn reported(&mut self, line: &str, out: &mut Builder) -> bool {
        let within = self.report_lines > 0;
        self.report_lines = self.report_lines.saturating_sub(1);
        if !within && !self.failures.is_open() {
            return false;
        }
        let part = self.failures.take(line.trim(), When::default());
        if let report::Part::Heading(_) = part {
            self.bare = true;
            self.note(line.trim(), When::default(), out);
        }
        within || part != report::Part::None
    }

    /// Notes trouble that has no fields of its own.
    fn note(&mut self, text: &str, at: When, out: &mut Builder) {
        if let Some((_, name)) = text.split_once("witched to clocksource ") {
            out.setting(CLOCKSOURCE, name.split_whitespace().next().unwrap_or_default());
        }
        if let (Some(more), Some(kind)) = (known::suppressed(text), self.latest) {
            let told = self.told.entry(kind).or_default();
            told.lines = told.lines.saturating_add(more);
        } else if let Some(kind) = known::trouble(text) {
            self.latest = Some(kind);
            let told = self.told.entry(kind).or_default();
            told.lines += 1;
            told.quote = text.chars().take(QUOTE_CHARS_MAX).collect();
            told.most = known::amount(kind, text)
                .map(|amount| told.most.map_or(amount, |most| most.max(amount)))
                .or(told.most);
            told.when.later(at);
        }
    }

    fn said(&mut self, text: &str, at: When, out: &mut Builder) {
        if let Some(task) = text.strip_prefix("INFO: task ")
            && let Some((task, _)) = task.split_once(" blocked for more than ")
        {
            self.hung.later(at);
            let (name, pid) = task.rsplit_once(':').unwrap_or((task, ""));
            let subject = Subject::process(pid.parse().ok(), name);
            out.put(Field::ProcBlocked, &subject, None, 1.0);
            out.put(Field::ProcHung, &subject, None, 1.0);
        } else if let Some((name, silent)) = server(text) {
            let value = if silent { 1.0 } else { 0.0 };
            out.put(Field::ServerSilent, &Subject::Service(name.to_owned()), None, value);
        } else if text.contains("ossible SYN flooding on port") {
            self.floods += 1;
        } else if text.contains("conntrack") && text.contains("table full") {
            self.untracked += 1;
        } else if let Some(disk) = failing_disk(text) {
            out.put(Field::DiskComplaints, &Subject::Disk(disk.to_owned()), None, 1.0);
            let quote: String = text.chars().take(QUOTE_CHARS_MAX).collect();
            out.setting(&format!("{DISK_LOG}{disk}"), &quote);
        }
    }
}

impl Reader for KernelLog {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let wrapped = self.is_wrapped(line);
        self.length = line.trim_end().len();
        if self.length == 0 {
            self.report_lines = self.report_lines.saturating_sub(1);
            return Taken::Yes;
        }
        let timed = message(line);
        if timed.is_none() && (self.reported(line, out) || wrapped) {
            return Taken::Yes;
        }
        let goes_on = || Some(line.trim()).filter(|text| self.bare && known::is_headed(text));
        let Some(text) = timed.or_else(|| bare(line, out)).or_else(goes_on) else {
            // A message of several lines: `dmesg` and `journalctl` put the others below the first.
            let blanks = line.len() - line.trim_start_matches(' ').len();
            let goes_on = self.column > 0 && blanks >= self.column;
            // A report without times continues with lines that are nothing by themselves.
            let bare = self.column == 0 && self.told_any;
            let told = (goes_on || bare) && self.reports.take(line.trim(), When::default(), out);
            return if goes_on || told { Taken::Yes } else { Taken::No };
        };
        // Below a message without its time nothing is in line with it.
        self.bare = timed.is_none();
        self.messages += 1;
        self.column = timed.map_or(0, |text| line.trim_end().len() - text.len());
        let at = when(line);
        self.last.later(at);
        if self.reports.take(text, at, out) {
            self.told_any = true;
            return Taken::Yes;
        }
        if timed.is_some() && self.failures.take(text, at) == report::Part::Body {
            return Taken::Yes;
        }
        self.said(text, at, out);
        self.note(text, at, out);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.reports.end(out);
        for (kind, what, at, many) in self.failures.end(out) {
            let told = self.told.entry(kind).or_default();
            told.lines += many;
            told.quote = what.chars().take(QUOTE_CHARS_MAX).collect();
            told.when.later(at);
        }
        let counts = [(Field::SynFloods, self.floods), (Field::ConntrackDrops, self.untracked)];
        for (field, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            out.put(field, &Subject::Machine, None, count as f64);
        }
        self.hung.put(HANGS, out);
        if self.told_any || !self.told.is_empty() {
            self.last.put_about(&Subject::Named(LOG.to_owned()), out);
        }
        for (kind, told) in &self.told {
            let subject = Subject::part(LOG, kind.key());
            out.put(Field::LogLines, &subject, None, told.lines as f64);
            out.put(Field::LogLength, &subject, None, self.messages as f64);
            out.put_known(Field::LogAmount, &subject, None, told.most);
            told.when.put(kind.key(), out);
            out.setting(&quoted(*kind), &told.quote);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    #[test]
    fn hangs_and_servers_that_do_not_answer() {
        let recording = read(
            "Nov 23 10:00:02 db1 kernel: [23226.1] INFO: task jbd2/sda1-8:312 blocked for more \
             than 120 seconds.\n\
             Nov 23 10:00:03 db1 kernel: nfs: server 192.0.2.7 not responding, still trying\n\
             [    5.000000] usb 1-1: new high-speed USB device\n",
        );
        all_understood(&recording);
        let hung = Subject::process(Some(312), "jbd2/sda1-8");
        assert_eq!(values(&recording, Field::ProcBlocked, &hung), [1.0]);
        let server = Subject::Service("192.0.2.7".to_owned());
        assert_eq!(values(&recording, Field::ServerSilent, &server), [1.0]);
    }

    #[test]
    fn below_a_message_is_its_rest_or_another_text() {
        let other = read("[  1.000000] usb 1-1: new device\n   what nobody knows\n");
        assert_eq!(other.unrecognised.len(), 1, "below the time is another text");
    }

    #[test]
    fn full_tables_and_disks() {
        let recording = read(
            "[1.0] nf_conntrack: nf_conntrack: table full, dropping packet\n\
             [1.5] nf_conntrack: table full, dropping packet.\n\
             [2.0] TCP: request_sock_TCP: Possible SYN flooding on port 80. Sending cookies.\n\
             [4.0] sd 0:2:1:0: [sdb] tag#118 BRCM Debug mfi stat 0x2d, data len\n\
             [5.0] blk_update_request: I/O error, dev sdc, sector 5\n\
             [6.0] Buffer I/O error on dev sdd1, logical block 5\n\
             [7.0] nvme nvme0: I/O 5 QID 1 timeout, aborting\n\
             [8.0] sd 0:0:0:0: [sda] Attached SCSI disk\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::ConntrackDrops), [2.0]);
        assert_eq!(machine(&recording, Field::SynFloods), [1.0]);
        for (disk, lines) in [("sdb", 1), ("sdc", 1), ("sdd", 1), ("nvme0", 1), ("sda", 0)] {
            let said = values(&recording, Field::DiskComplaints, &Subject::Disk(disk.into()));
            assert_eq!(said.len(), lines, "{disk}");
        }
    }

    #[test]
    fn trouble_is_counted_and_quoted_with_its_time() {
        let recording = read(
            "Nov 12 02:14:10 vm kernel: watchdog: BUG: soft lockup - CPU#3 stuck for 41s! [a:1]\n\
             Nov 12 02:14:10 vm kernel: CPU: 3 PID: 8120 Comm: kworker/3:2 Not tainted\n\
             Nov 12 03:02:44 vm kernel: watchdog: BUG: soft lockup - CPU#0 stuck for 38s! [b:2]\n\
             jump-2 kernel: [12050.0] audit: backlog limit exceeded\n\
             jump-2 kernel: [12050.1] audit_log_start: 4120 callbacks suppressed\n\
             [ 812.0] clocksource: Switched to clocksource hpet\n",
        );
        all_understood(&recording);
        let part = |kind: Trouble| Subject::part(LOG, kind.key());
        assert_eq!(values(&recording, Field::LogLines, &part(Trouble::Lockup)), [2.0]);
        assert_eq!(values(&recording, Field::LogAmount, &part(Trouble::Lockup)), [41.0]);
        assert_eq!(values(&recording, Field::LogLines, &part(Trouble::Audit)), [4121.0]);
        assert_eq!(values(&recording, Field::LogUptime, &part(Trouble::Audit)), [12_050_000.0]);
        let settings = &recording.hosts[0].settings;
        assert!(settings[&quoted(Trouble::Lockup)].text.contains("CPU#0"));
        assert_eq!(settings[CLOCKSOURCE].text, "hpet");
    }

    #[test]
    fn a_log_without_times_is_known_by_its_command() {
        let line = "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2\n";
        let shown = read(&format!("root@db1:~# dmesg -t | tail -1\n{line}"));
        let part = Subject::part(LOG, Trouble::FileSystem.key());
        assert_eq!(values(&shown, Field::LogLines, &part), [1.0]);
        assert_eq!(values(&read(line), Field::LogLines, &part), [1.0]);
        let prose = "I have seen EXT4-fs error (device sda1): ext4_find_entry:1455 before\n";
        for line in [prose, "BUG: soft lockup - CPU#3 stuck for 23s, what is that?\n"] {
            assert!(read(line).hosts.is_empty(), "{line}");
        }
    }

    #[test]
    fn other_brackets_are_none() {
        assert!(read("[12:30:01] something\n[info] kernel\n[1/2] step\n").hosts.is_empty());
    }
}
