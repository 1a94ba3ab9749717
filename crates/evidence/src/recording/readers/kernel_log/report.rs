//! Reports that the kernel writes about its own failures (oops, BUG, WARNING, lockdep, panic), as
//! one structure: what failed, where, in which kernel, for which task, and what became of it.
//!
//! A report is a heading and, below it, lines of known form: the state of the machine (`CPU: 1 PID:
//! 42 Comm: x Not tainted 6.1.0 #1`), where it stood (`RIP:`, `PC is at`, `NIP`, `Krnl PSW`),
//! registers, and the chain of calls (`kernel/panic.c`, `lib/dump_stack.c`, `arch/*/kernel`).

mod line;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use self::line::Kind;
use self::line::{frame, has_form, heading, is_of_locks, is_ruler, is_source_line, state, symbol};
use super::known::{LOG, ROWS, Trouble, trouble};
use super::when::When;
use crate::recording::readers::prelude::*;
use crate::recording::readers::prompt::prompt;
use crate::table::list;

/// Longest part of a report that is kept.
const CHARS_MAX: usize = 160;

/// Most lines of free text in a row within a report.
const FREE_LINES_MAX: usize = 8;

/// Functions of the chain that are reported, beside the one that failed.
const CALLERS_MAX: usize = 2;

/// What stands before the place at which the CPU was, by architecture: x86, arm, arm64, powerpc,
/// mips and riscv, s390.
const PLACES: [&str; 8] = ["RIP", "EIP", "IP: ", "PC is at ", "pc : ", "NIP [", "epc ", "Krnl PSW"];

/// A report is over, where later messages come this many seconds after its heading.
const OVER_S: f64 = 10.0;

/// Beginnings of the names of functions that write reports: they are not what failed.
static WRITERS: LazyLock<Vec<&str>> = LazyLock::new(|| list(&ROWS, "report writers"));

/// What a report says.
#[derive(Clone, Debug, Default, PartialEq)]
struct Report {
    what: String,
    /// The function at which the CPU stood, else the innermost of the chain that wrote no report.
    place: Option<String>,
    /// Whether that is where the CPU stood, and not a guess from the chain.
    exact: bool,
    callers: Vec<String>,
    task: Option<String>,
    kernel: Option<String>,
    /// Its letters, or empty: not tainted.
    taint: Option<String>,
    at: When,
}

/// How many lines of a report without times begin here: its heading, or the ruler above, with lines
/// of known form below, as far as one looks ahead. 0: none begins.
pub(super) fn extent(lines: &Lines<'_>) -> usize {
    let first = lines.ahead(0).trim();
    let headed = heading(first).is_some() && !first.ends_with('?');
    let ruled = is_ruler(first) && heading(lines.ahead(1).trim()).is_some();
    if !headed && !ruled {
        return 0;
    }
    let locks = is_of_locks(first) || ruled && is_of_locks(lines.ahead(1));
    let (mut sure, mut end) = (symbol(first).is_some(), 0);
    for by in 1..LINES_AROUND {
        let text = lines.ahead(by).trim();
        if by - end > FREE_LINES_MAX || prompt(text).is_some() {
            break;
        }
        sure |= symbol(text).is_some() || state(text).is_some();
        if has_form(text) || locks && is_of_locks(text) {
            end = by;
        }
    }
    if sure && end > 0 { end + 1 } else { 0 }
}

/// Whether a report may begin at a line, judged by it alone.
pub(in super::super) fn may_begin(line: &str) -> bool {
    let line = line.trim();
    is_ruler(line) || heading(line).is_some()
}

/// What a line was for a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It begins one that is so bad.
    Heading(Kind),
    /// It belongs to the one above.
    Body,
    /// It does not.
    None,
}

/// The reports of a log.
#[derive(Debug, Default)]
pub(super) struct Reports {
    open: Option<(Kind, Report)>,
    /// Whether a ruler was the latest line.
    ruled: bool,
    /// The first of each kind, and how many there are.
    first: BTreeMap<Kind, (Report, u64)>,
    /// Whether the kernel panicked after an oops.
    stopped: bool,
    /// The time of the latest message.
    last: When,
    /// The kernel's release, and its taint, as any report says them.
    kernel: Option<String>,
    taint: Option<String>,
}

impl Reports {
    /// Whether a report is being read.
    pub(super) fn is_open(&self) -> bool {
        self.ruled || self.open.is_some()
    }

    /// A line of the log, without what stands before it: whether it belongs to a report.
    pub(super) fn take(&mut self, text: &str, at: When) -> Part {
        self.last.later(at);
        let over = |(_, open): &(Kind, Report)| open.at.apart_s(at).is_some_and(|s| s > OVER_S);
        if self.open.as_ref().is_some_and(over) {
            self.close();
        }
        let heading = heading(text);
        let ruled = std::mem::replace(&mut self.ruled, is_ruler(text));
        if let Some(kind) = heading {
            return self.headed(kind, text, at);
        }
        if self.ruled || text.starts_with("---[ end ") {
            self.close();
            return Part::Body;
        }
        let Some((_, report)) = &mut self.open else {
            return if ruled && text.is_empty() { Part::Body } else { Part::None };
        };
        // With a time it may be any other message.
        let sentence = at == When::default() && is_of_locks(&report.what) && is_of_locks(text);
        if !sentence && !has_form(text) {
            return Part::None;
        }
        report.learn(text);
        Part::Body
    }

    fn headed(&mut self, kind: Kind, text: &str, at: When) -> Part {
        // An oops says why it was before it says its number, at once.
        if let Some((open, report)) = &mut self.open
            && report.kernel.is_none()
            && kind != Kind::Panic
            && report.at.apart_s(at).is_none_or(|seconds| seconds < 1.0)
        {
            *open = kind.min(*open);
            report.learn(text);
            return Part::Body;
        }
        self.close();
        if kind == Kind::Panic && self.first.contains_key(&Kind::Died) {
            self.stopped = true;
            return Part::Heading(kind);
        }
        let what = text.trim_matches(['[', ']', ' ']).chars().take(CHARS_MAX).collect();
        let mut report = Report { what, at, ..Report::default() };
        report.learn(text);
        self.open = Some((kind, report));
        Part::Heading(kind)
    }

    /// A heading alone is a message, and no report.
    fn close(&mut self) {
        let Some((kind, report)) = self.open.take() else { return };
        self.kernel = report.kernel.clone().or_else(|| self.kernel.take());
        self.taint = report.taint.clone().or_else(|| self.taint.take());
        if report.kernel.is_some() || report.place.is_some() || report.task.is_some() {
            self.first.entry(kind).or_insert((report, 0)).1 += 1;
        }
    }

    /// What became of the machine.
    fn fate(&self, kind: Kind, report: &Report) -> String {
        if kind == Kind::Panic || self.stopped {
            return "the machine stopped (panic)".to_owned();
        }
        let later = self.last.apart_s(report.at).filter(|seconds| *seconds >= 1.0);
        // A CPU that waits for a lock waits on.
        let stuck = report.what.contains("lockup");
        let machine = match later {
            Some(seconds) => format!("the machine went on for {seconds:.0} s at least"),
            None if kind == Kind::Died || stuck => {
                "whether the machine went on is not shown".into()
            }
            None => "the machine went on".to_owned(),
        };
        if kind == Kind::Died { format!("the task was killed; {machine}") } else { machine }
    }

    /// What the worst report says, as settings; how many there are of each kind. Returns the first
    /// of each kind that no message alone tells: what it says, when, and how many there are.
    pub(super) fn end(&mut self, out: &mut Builder) -> Vec<(Trouble, String, When, u64)> {
        self.close();
        let first = std::mem::take(&mut self.first);
        let (mut untold, mut worst) = (Vec::new(), true);
        for (kind, (mut report, many)) in first {
            out.put(Field::LogReports, &Subject::part(LOG, kind.key()), None, many as f64);
            let kept = if kind == Kind::Warning { Trouble::Warned } else { Trouble::Bug };
            let told = trouble(&report.what);
            if told.is_none() {
                untold.push((kept, report.what.clone(), report.at, many));
            }
            if std::mem::take(&mut worst) {
                let fate = self.fate(kind, &report);
                report.kernel = report.kernel.or_else(|| self.kernel.clone());
                report.taint = report.taint.or_else(|| self.taint.clone());
                report.put(told.unwrap_or(kept), fate, out);
            }
        }
        untold
    }
}

/// The settings with the parts of the worst report: about (its [`Trouble`]), what, where, task,
/// kernel, taint and fate, each behind this.
pub const REPORT: &str = "kernel report: ";

/// What letters of a taint mean.
fn meanings(letters: &str) -> String {
    let meaning = |letter: char| {
        let mut rows = ROWS.iter().filter(|row| row.section == "taints");
        let found = rows.find(|row| row.fields[0].starts_with(letter));
        found.and_then(|row| row.fields.get(1)).map_or_else(String::new, |text| format!(" {text}"))
    };
    let all = letters.chars().map(|letter| format!("{letter}{}", meaning(letter)));
    all.collect::<Vec<_>>().join(", ")
}

impl Report {
    /// What a line says, of what is not known yet.
    fn learn(&mut self, text: &str) {
        if let Some(state) = state(text) {
            let keep = |text: &str| text.chars().take(CHARS_MAX).collect::<String>();
            self.task = self.task.take().or_else(|| state.task.map(keep));
            self.taint = self.taint.take().or(state.taint);
            self.kernel = self.kernel.take().or_else(|| state.kernel.map(keep));
        }
        let stands = PLACES.iter().any(|place| text.starts_with(place));
        let found = symbol(text).map(|(_, name)| name);
        // The first line of a warning says where it was, and the first that a lock is wanted.
        let locks = self.what.contains("lock") && text.contains(", at: ");
        let said = stands || locks || heading(text).is_some();
        let line = text.split(' ').next().filter(|_| is_of_locks(&self.what));
        if let Some(line) = line.filter(|line| !self.exact && is_source_line(line)) {
            (self.place, self.exact) = (Some(line.to_owned()), true);
            return;
        }
        if let Some(name) = found.filter(|_| said && !self.exact) {
            (self.place, self.exact) = (Some(name), true);
            self.callers.clear();
            return;
        }
        // Of a report about locks the chains are of several tasks.
        let told = self.exact && is_of_locks(&self.what);
        let Some(name) = frame(text).filter(|_| !told) else { return };
        let writes = WRITERS.iter().any(|writer| name.starts_with(writer));
        if writes || self.place.as_ref() == Some(&name) || self.callers.len() >= CALLERS_MAX {
            return;
        }
        match &self.place {
            None => self.place = Some(name),
            Some(_) => self.callers.push(name),
        }
    }

    fn put(self, about: Trouble, fate: String, out: &mut Builder) {
        let place = self.place.map(|place| {
            let how = if self.exact { "in" } else { "probably in" };
            let callers = self.callers.iter().map(|name| format!(", called by {name}"));
            format!("{how} {place}{}", callers.collect::<String>())
        });
        let taint = self.taint.map(|letters| match letters.as_str() {
            "" => "not tainted".to_owned(),
            letters => format!("tainted: {}", meanings(letters)),
        });
        let parts = [
            ("about", Some(about.key().to_owned())),
            ("what", Some(self.what)),
            ("where", place),
            ("task", self.task),
            ("kernel", self.kernel),
            ("taint", taint),
            ("fate", Some(fate)),
        ];
        for (name, text) in parts {
            text.iter().for_each(|text| out.setting(&format!("{REPORT}{name}"), text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read, values};

    fn told(text: &str) -> Vec<String> {
        let recording = read(text);
        all_understood(&recording);
        let settings = &recording.hosts[0].settings;
        let names = ["about", "what", "where", "task", "kernel", "taint", "fate"];
        let part = |name: &&str| settings.get(&format!("{REPORT}{name}")).map(|q| q.text.clone());
        names.iter().map(|name| part(name).unwrap_or_default()).collect()
    }

    const OOPS: &str = "BUG: unable to handle page fault for address: ffffb00c01020304\n\
        #PF: supervisor write access in kernel mode\nPGD 100000067 P4D 100000067 PUD 0\n\
        Oops: 0002 [#1] PREEMPT SMP NOPTI\n\
        CPU: 7 PID: 812 Comm: my task:1 Tainted: G        W  OE      6.4.9-lab #3\n\
        Hardware name: Nobody, BIOS 1.0\n\
        RIP: 0010:ring_put+0x1c/0x90 [fancynic]\n\
        Code: 48 89 <48> c3\nRSP: 0018:ffffb00c0a0b0c0d EFLAGS: 00010202\n\
        Call Trace:\n <IRQ>\n ? __die+0x20/0x70\n nic_poll+0x80/0x2f0 [fancynic]\n \
        net_rx_action+0x1a0/0x300\n </IRQ>\n---[ end trace 0000000000000000 ]---\n";

    #[test]
    fn an_oops_says_where_and_for_whom() {
        let wanted = [
            "kernel bugs",
            "BUG: unable to handle page fault for address: ffffb00c01020304",
            "in ring_put of module fancynic, called by nic_poll of module fancynic, called by \
             net_rx_action",
            "my task:1",
            "6.4.9-lab",
            "tainted: W warned before, O module from outside the kernel, E unsigned module",
            "the task was killed; whether the machine went on is not shown",
        ];
        assert_eq!(told(OOPS), wanted);
        let timed = |line: &str| format!("[  90.25] {line}\n");
        let log: String = OOPS.lines().map(timed).collect();
        let later = log.clone() + "[  97.5] usb 1-1: new device\n";
        assert_eq!(told(&later)[6], "the task was killed; the machine went on for 7 s at least");
        let stopped = log + "[  90.3] Kernel panic - not syncing: Fatal exception in interrupt\n";
        assert_eq!(told(&stopped)[6], "the machine stopped (panic)");
    }

    #[test]
    fn places_of_other_architectures() {
        for (line, place) in [
            ("PC is at gadget_free+0x84/0x1c0 [gadget]", "in gadget_free of module gadget"),
            ("pc : gadget_free+0x84/0x1c0", "in gadget_free"),
            ("NIP [c0000000000abcde] .gadget_free+0x84/0x1c0", "in gadget_free"),
            ("Krnl PSW : 0704c00180000000 0000001a2b (gadget_free+0x84/0x1c0)", "in gadget_free"),
            ("EIP: gadget_free+0x84/0x1c0 SS:ESP 0068:c0ffee00", "in gadget_free"),
            ("epc : gadget_free+0x84/0x1c0", "in gadget_free"),
            (
                "[<c0010203>] (gadget_free) from [<c0010204>] (work+0x1/0x9)",
                "probably in gadget_free",
            ),
        ] {
            let text = format!("Internal error: Oops: 17 [#2] SMP\n{line}\n");
            assert_eq!(told(&text)[2], place, "{line}");
        }
    }

    #[test]
    fn warnings_and_locks_stop_nothing() {
        let text = "======================================================\n\
            WARNING: possible recursive locking detected\n6.5.0-rc3 #9 Not tainted\n\
            --------------------------------------------\n\
            kworker/3:1/77 is trying to acquire lock:\n\
            ffff0000c0ffee00 (&dev->guard){+.+.}-{3:3}, at: gadget_stop+0x30/0x80\n\n\
            but task is already holding lock:\n\
            ffff0000c0ffee40 (&dev->guard){+.+.}-{3:3}, at: gadget_all+0x10/0x44\n\n\
            *** DEADLOCK ***\n";
        let told = told(text);
        assert_eq!(told[0], "kernel warnings");
        assert_eq!(told[2..6], ["in gadget_stop", "kworker/3:1/77", "6.5.0-rc3", "not tainted"]);
        assert_eq!(told[6], "the machine went on");
        let recording = read(text);
        let part = Subject::part(LOG, Trouble::Warned.key());
        assert_eq!(values(&recording, Field::LogLines, &part), [1.0]);
    }

    #[test]
    fn a_report_takes_from_others_what_it_does_not_say() {
        let text = "[  7.000000] [ INFO: possible recursive locking detected ]\n\
            [  7.000000] 6.5.0-rc3 #9 Not tainted\n\
            [  7.000000] ---------------------------------------------\n\
            [  7.000000] 1 lock held by first/12:\n\
            [  7.200000] BUG: spinlock lockup suspected on CPU#1, second/0:1/34\n\
            [  7.200000] [<c0010203>] (inner+0x8/0x40) from [<c0010204>] (outer+0x1/0x9)\n";
        let told = told(text);
        assert_eq!(told[3..6], ["second/0:1/34", "6.5.0-rc3", "not tainted"]);
        assert_eq!(told[6], "whether the machine went on is not shown");
    }

    #[test]
    fn what_follows_a_report_is_none_of_it() {
        let text = OOPS.to_owned()
            + "\nI had to start it again. Any idea?\n\n\
            MemTotal:       16384000 kB\nMemFree:         1024000 kB\n";
        let recording = read(&text);
        assert_eq!(recording.unrecognised.len(), 1);
        assert_eq!(values(&recording, Field::MemFree, &Subject::Machine).len(), 1);
        for other in [
            "WARNING: this program is old\nand slow\n",
            "BUG: it does not start\nsee below\n",
            "====================\nINFO: done\n",
            "[ 1.5] acpi: WARNING: nothing below\n",
        ] {
            let recording = read(other);
            let all = recording.hosts.iter();
            assert!(all.flat_map(|h| h.subjects(Field::LogReports)).next().is_none(), "{other}");
        }
    }
}
