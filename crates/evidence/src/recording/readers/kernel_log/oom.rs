//! Kills for memory as the kernel reports them, from 2.6.32 to 7.0 (`mm/oom_kill.c`,
//! `mm/memcontrol.c`): one report is many lines, and people paste some of them.

use std::collections::VecDeque;

use super::mem_info::MemInfo;
use super::when::When;
use crate::recording::readers::prelude::*;
use crate::recording::{Shortage, Subject};

/// A program that was killed, or is going to be.
#[derive(Clone, Debug, Default, PartialEq)]
struct Victim {
    pid: Option<u32>,
    name: String,
    /// Its size in KiB: resident, and of its addresses.
    rss_kib: Option<f64>,
    total_vm_kib: Option<f64>,
}

/// What a line of a report says.
#[derive(Clone, Debug, PartialEq)]
enum OomLine<'a> {
    /// Who asked for memory, and the order of the block.
    Asked(&'a str, Option<f64>),
    /// A cgroup is at its limit.
    Limited(Option<&'a str>),
    /// Use and limit of a counter of that cgroup, in KiB.
    Usage(&'a str, f64, f64),
    /// The victim, with whose memory was used up.
    Chosen(Victim, Shortage, Option<&'a str>),
    Killed(Victim, Shortage),
    /// All others of the victim's cgroup follow (`memory.oom.group`).
    Group,
    Nobody,
    /// The list of all tasks, which the kernel writes when it looks for a victim.
    Listed,
}

/// What stands between two marks.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    rest.split(to).next().map(str::trim).filter(|part| !part.is_empty())
}

/// An amount such as `4194304kB` behind a word.
fn kib_behind(text: &str, word: &str) -> Option<f64> {
    between(text, word, "kB")?.parse().ok().filter(|kib: &f64| *kib >= 0.0 && kib.is_finite())
}

/// What follows the name of a victim.
const BEHIND_NAME: [&str; 5] = [") total-vm:", "), UID", ") score", ") vsz:", ") sharing"];

/// `9120 (java), UID 1001, total-vm:1kB, ...`, or `9120, UID 48, (httpd) total-vm:1kB, ...`.
fn victim(text: &str) -> Option<Victim> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (pid, rest) = text.split_at(digits);
    let (_, name) = rest.split_once('(')?;
    // A name may have brackets of its own.
    let known = BEHIND_NAME.iter().filter_map(|mark| name.find(mark)).min();
    let name = name.get(..known.or_else(|| name.rfind(')'))?)?;
    let parts = ["anon-rss:", "file-rss:", "shmem-rss:"].map(|part| kib_behind(rest, part));
    Some(Victim {
        pid: Some(pid.parse().ok()?),
        name: name.to_owned(),
        rss_kib: parts[0].map(|anon| anon + parts[1..].iter().flatten().sum::<f64>()),
        total_vm_kib: kib_behind(rest, "total-vm:").or_else(|| kib_behind(rest, " vsz:")),
    })
}

/// `oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/a,task_memcg=/a/b,task=java,pid=5,uid=0`.
fn constraint(text: &str) -> Option<OomLine<'_>> {
    let rest = text.strip_prefix("oom-kill:constraint=CONSTRAINT_")?;
    let scope = match rest.split(',').next()? {
        "NONE" => Shortage::Machine,
        "MEMCG" => Shortage::Cgroup,
        "CPUSET" | "MEMORY_POLICY" => Shortage::Nodes,
        _ => Shortage::Unknown,
    };
    let name = between(rest, ",task=", ",pid=").unwrap_or_default().to_owned();
    let pid = between(rest, ",pid=", ",").and_then(|pid| pid.parse().ok());
    // Some leave out what they need not show.
    let limit = between(rest, ",oom_memcg=", ",task_memcg=");
    let limit = limit.map(|path| path.split(",task=").next().unwrap_or(path));
    Some(OomLine::Chosen(Victim { pid, name, ..Victim::default() }, scope, limit))
}

/// `Memory cgroup out of memory: Kill process 5 (java) score 9 or sacrifice child`, and what says
/// that it was done.
fn kill(text: &str) -> Option<OomLine<'_>> {
    const CAUSES: [(&str, Shortage); 4] = [
        ("Memory cgroup out of memory", Shortage::Cgroup),
        ("Out of memory", Shortage::Machine),
        ("No available memory", Shortage::Nodes),
        ("Killed process ", Shortage::Unknown),
    ];
    let (start, scope) = CAUSES.into_iter().find(|(start, _)| text.starts_with(start))?;
    if text.contains("no killable processes") {
        return Some(OomLine::Nobody);
    }
    let unknown = scope == Shortage::Unknown;
    let rest = if unknown { text } else { text.get(start.len()..)?.split_once(": ")?.1 };
    let kind = |word| rest.strip_prefix(word).and_then(victim);
    if let Some(killed) = kind("Killed process ") {
        return Some(OomLine::Killed(killed, scope));
    }
    let chosen = kind("Kill process ").or_else(|| kind("kill process "))?;
    Some(OomLine::Chosen(chosen, scope, None))
}

/// Longest name of a task (`TASK_COMM_LEN`).
const NAME_CHARS_MAX: usize = 16;

fn said(text: &str) -> Option<OomLine<'_>> {
    if let Some((who, rest)) = text.split_once(" invoked oom-killer: ") {
        let order = between(rest, "order=", ",").and_then(|order| order.parse().ok());
        return (who.chars().count() <= NAME_CHARS_MAX).then_some(OomLine::Asked(who, order));
    }
    if let Some((_, limit)) = text.split_once(" killed as a result of limit of ") {
        return text.starts_with("Task in ").then_some(OomLine::Limited(Some(limit.trim())));
    }
    if let Some(rest) = text.strip_prefix("Memory cgroup stats for ") {
        return Some(OomLine::Limited(
            rest.split(": ").next().map(|name| name.trim_end_matches(':')),
        ));
    }
    if let Some((counter, rest)) = text.split_once(": usage ").filter(|(name, _)| name.len() < 16) {
        let limit = kib_behind(rest, "limit ")?;
        return Some(OomLine::Usage(counter, rest.split("kB").next()?.parse().ok()?, limit));
    }
    if text.starts_with("Tasks in ") && text.contains("due to memory.oom.group") {
        return Some(OomLine::Group);
    }
    if let Some(rest) = text.strip_prefix("oom_reaper: reaped process ") {
        let mut reaped = victim(rest)?;
        // What it has now is what was left of it.
        (reaped.rss_kib, reaped.total_vm_kib) = (None, None);
        return Some(OomLine::Killed(reaped, Shortage::Unknown));
    }
    if text.starts_with("Tasks state (memory values in pages):") || is_task_row(text) {
        return Some(OomLine::Listed);
    }
    let panic = text.strip_prefix("Kernel panic - not syncing: ").unwrap_or(text);
    constraint(text).or_else(|| kill(panic))
}

/// `[  812]   107   812     2638      663    61440      160          -900 dbus-daemon`
/// (`dump_task` in `mm/oom_kill.c`), or the heading of such rows.
fn is_task_row(text: &str) -> bool {
    let Some((pid, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return false;
    };
    if pid.trim() == "pid" {
        return rest.contains("total_vm") && rest.contains("oom_score_adj");
    }
    let numbers = rest.split_whitespace().take_while(|word| word.parse::<i64>().is_ok()).count();
    count(pid.trim()).is_some() && (6..=10).contains(&numbers)
}

/// Whether a line may have a message that is [`is_own`].
pub(in super::super) fn may_be_own(line: &str) -> bool {
    const WORDS: [&str; 7] = [
        "oom",
        "ut of memory",
        "illed process",
        "emory: usage",
        "as a result of",
        "emory cgroup",
        "available memory",
    ];
    WORDS.iter().any(|words| line.contains(words))
}

/// Whether a message without anything before it is one of such a report: nothing else reads so.
fn is_own(text: &str) -> bool {
    match said(text) {
        Some(OomLine::Asked(..)) => text.contains("gfp_mask="),
        Some(OomLine::Killed(killed, scope)) => {
            scope != Shortage::Unknown || killed.rss_kib.is_some() || text.starts_with("oom_reaper")
        }
        Some(OomLine::Usage(counter, ..)) => {
            counter.starts_with("memory") && text.contains("failcnt")
        }
        Some(OomLine::Chosen(..) | OomLine::Limited(_)) => true,
        Some(OomLine::Group | OomLine::Nobody | OomLine::Listed) | None => false,
    }
}

/// How messages of a report begin.
const STARTS: [&str; 8] = [
    "oom-kill:constraint=",
    "Memory cgroup out of memory: ",
    "Out of memory: ",
    "No available memory ",
    "Killed process ",
    "Task in ",
    "memory: usage ",
    "oom_reaper: ",
];

/// The message of a report in a line, behind no more than this number of bytes of something else.
pub(super) fn own(line: &str, most: usize) -> Option<&str> {
    let by_start = STARTS.iter().filter_map(|start| line.find(start)).min();
    // The name of who asked stands before the words.
    let asked = || {
        let (before, _) = line.split_once(" invoked oom-killer: ")?;
        let behind = [": ", "] "].iter().filter_map(|mark| Some(before.rfind(mark)? + mark.len()));
        let iso = before.rfind(' ').filter(|_| before.starts_with(|c: char| c.is_ascii_digit()));
        Some(behind.max().or(iso.map(|at| at + 1)).unwrap_or(0))
    };
    let at = by_start.or_else(asked).or(line.starts_with("Memory cgroup").then_some(0))?;
    line.get(at..).filter(|text| at <= most && is_own(text))
}

/// The victim that the kernel's words name within another text, and whose memory was used up.
pub(in super::super) fn killed_in(text: &str) -> Option<(Shortage, String)> {
    let starts = ["Memory cgroup out of memory", "Out of memory", "Killed process ", "oom-kill:"];
    let at = starts.iter().filter_map(|start| text.find(start)).min()?;
    match said(text.get(at..)?)? {
        OomLine::Killed(victim, scope) | OomLine::Chosen(victim, scope, _) => {
            Some((scope, victim.name))
        }
        _ => None,
    }
}

/// Limits from here on, in KiB, are none.
const NO_LIMIT_KIB: f64 = (1_u64 << 50) as f64;

/// Lines that are further apart, in seconds, are of two reports.
const REPORT_S: f64 = 60.0;

/// Most victims of one report: `memory.oom.group` kills all of a cgroup.
const VICTIMS_MAX: usize = 4096;

/// Kills that are remembered, because `oom_reaper` speaks of them later.
const RECENT_MAX: usize = 64;

/// One report, as far as it was seen.
#[derive(Debug, Default)]
struct Report {
    asked: Option<(String, Option<f64>)>,
    scope: Option<Shortage>,
    limited: Option<String>,
    /// The limit that was reached in KiB, and whether it is known to be.
    limit: Option<(f64, bool)>,
    usage: bool,
    chosen: Option<Victim>,
    killed: Vec<Victim>,
    group: bool,
    nobody: bool,
    listed: bool,
    when: When,
}

impl Report {
    fn is_empty(&self) -> bool {
        let told = self.scope.is_some() || self.usage || self.nobody || self.listed;
        self.asked.is_none() && self.chosen.is_none() && self.killed.is_empty() && !told
    }

    /// Whether a line is of another report than this one.
    fn is_over(&self, said: &OomLine<'_>, at: When) -> bool {
        let other = |scope: &Shortage| {
            // These have the machine's words, too.
            let other = [Shortage::Nodes, Shortage::ByHand];
            let same = |own: Shortage| own == *scope || other.contains(&own);
            *scope != Shortage::Unknown && self.scope.is_some_and(|own| !same(own))
        };
        let done = !self.killed.is_empty();
        let over = match said {
            OomLine::Asked(..) => true,
            OomLine::Limited(_) => {
                done || self.scope.is_some_and(|scope| scope != Shortage::Cgroup)
            }
            OomLine::Usage(counter, ..) => done || *counter == "memory" && self.usage,
            OomLine::Chosen(_, scope, _) => done || self.chosen.is_some() || other(scope),
            OomLine::Killed(_, scope) => done && !self.group || other(scope),
            OomLine::Group => false,
            OomLine::Listed => done || self.chosen.is_some(),
            OomLine::Nobody => done || self.chosen.is_some() || self.nobody,
        };
        over || self.when.apart_s(at).is_some_and(|apart| apart > REPORT_S)
    }

    fn take(&mut self, said: OomLine<'_>) {
        match said {
            OomLine::Asked(who, order) => {
                self.asked = Some((who.to_owned(), order));
                self.scope = order.filter(|order| *order < 0.0).map(|_| Shortage::ByHand);
            }
            OomLine::Limited(name) => {
                self.scope = Some(Shortage::Cgroup);
                self.limited = self.limited.take().or(name.map(str::to_owned));
            }
            OomLine::Usage(counter, usage, limit) => {
                self.usage = true;
                self.scope = self.scope.or(Some(Shortage::Cgroup));
                let reached = (usage >= limit, limit < NO_LIMIT_KIB);
                if reached.1 && (reached.0 || counter == "memory") {
                    self.limit = self.limit.filter(|known| known.1).or(Some((limit, reached.0)));
                }
            }
            OomLine::Chosen(victim, scope, limited) => {
                self.chosen = Some(victim);
                self.in_scope(scope);
                self.limited = limited.map(str::to_owned).or(self.limited.take());
            }
            OomLine::Killed(victim, scope) => {
                self.in_scope(scope);
                if self.killed.len() < VICTIMS_MAX {
                    self.killed.push(victim);
                }
            }
            OomLine::Group => self.group = true,
            OomLine::Nobody => self.nobody = true,
            OomLine::Listed => self.listed = true,
        }
    }

    fn in_scope(&mut self, scope: Shortage) {
        // What the constraint says is more than the words of the kill.
        self.scope = self.scope.or(Some(scope)).filter(|scope| *scope != Shortage::Unknown);
    }

    fn subject(&self, victim: Option<&Victim>) -> Subject {
        let scope = self.scope.unwrap_or(Shortage::Unknown);
        let limited = self.limited.clone().filter(|_| scope == Shortage::Cgroup);
        let named = victim.map(|victim| victim.name.clone()).filter(|name| !name.is_empty());
        Subject::Kill { scope, limited, victim: named }
    }

    fn put(&mut self, out: &mut Builder) {
        if let Some((who, order)) = &self.asked {
            let process = Subject::process(None, who);
            out.put(Field::OomAsked, &process, None, 1.0);
            out.put_known(Field::OomOrder, &process, None, *order);
        }
        if self.killed.is_empty() {
            self.killed.extend(self.chosen.take());
        }
        let limit = self.limit.map(|(kib, _)| kib * 1024.0);
        for victim in &self.killed {
            let kill = self.subject(Some(victim));
            out.put(Field::ProcKilled, &kill, None, 1.0);
            let bytes = victim.rss_kib.map(|kib| kib * 1024.0);
            out.put_known(Field::OomVictim, &kill, None, bytes);
            out.put_known(Field::OomLimit, &kill, None, limit);
            self.when.put_about(&kill, out);
        }
        if self.killed.is_empty() {
            let kill = self.subject(None);
            let field = if self.nobody { Field::OomNobody } else { Field::OomCalls };
            out.put(field, &kill, None, 1.0);
            out.put_known(Field::OomLimit, &kill, None, limit);
            self.when.put_about(&kill, out);
        }
    }
}

/// The reports of a log.
#[derive(Debug, Default)]
pub(super) struct Reports {
    report: Report,
    memory: MemInfo,
    /// Who was killed lately.
    recent: VecDeque<u32>,
}

impl Reports {
    /// Takes a message; `false` where it is of no report.
    pub(super) fn take(&mut self, text: &str, at: When, out: &mut Builder) -> bool {
        let Some(said) = said(text) else { return self.memory.take(text, out) };
        if let OomLine::Killed(victim, _) = &said
            && text.starts_with("oom_reaper")
        {
            let known = |own: &Victim| own.pid == victim.pid;
            let told = self.report.killed.iter().chain(&self.report.chosen).any(known);
            if told || victim.pid.is_some_and(|pid| self.recent.contains(&pid)) {
                return true;
            }
        }
        if !self.report.is_empty() && self.report.is_over(&said, at) {
            self.end(out);
        }
        self.report.when.later(at);
        if matches!(said, OomLine::Listed) {
            self.memory.take(text, out);
        }
        self.report.take(said);
        true
    }

    /// No more lines of this report follow.
    pub(super) fn end(&mut self, out: &mut Builder) {
        let mut report = std::mem::take(&mut self.report);
        if report.is_empty() {
            return self.memory.end(&[], out);
        }
        report.put(out);
        let sizes = report.killed.iter().filter_map(|victim| victim.pid.zip(victim.total_vm_kib));
        self.memory.end(&sizes.collect::<Vec<_>>(), out);
        self.recent.extend(report.killed.iter().filter_map(|victim| victim.pid));
        let passed = self.recent.len().saturating_sub(RECENT_MAX);
        self.recent.drain(..passed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{all_understood, machine, read, values};
    use super::*;
    use crate::recording::Recording;

    fn kill(scope: Shortage, limited: &str, victim: &str) -> Subject {
        let known = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        Subject::Kill { scope, limited: known(limited), victim: known(victim) }
    }

    /// All kills of a text, with how often.
    fn kills(recording: &Recording) -> Vec<(Subject, usize)> {
        let all = recording.hosts[0].subjects(Field::ProcKilled);
        all.map(|(subject, series)| (subject.clone(), series[0].points.len())).collect()
    }

    #[test]
    fn a_cgroups_kill_as_kernels_before_5_log_it() {
        let recording = read(
            "[501.1] node invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null), \
             order=3, oom_score_adj=12\n\
             [501.1] Task in /a/b killed as a result of limit of /a\n\
             [501.1] memory: usage 65536kB, limit 65536kB, failcnt 88\n\
             [501.1] memory+swap: usage 65536kB, limit 9007199254740988kB, failcnt 0\n\
             [501.1] Memory cgroup stats for /a: cache:0KB rss:65000KB\n\
             [501.1] [ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n\
             [501.1] [ 77]     0    77    50000    16000     101        0            12 node\n\
             [501.1] [ 78]     0    78      500      160     101        0            12 web (1)\n\
             [501.1] Memory cgroup out of memory: Kill process 77 (node) score 1012 or sacrifice \
             child\n\
             [501.2] Killed process 77 (node), UID 8, total-vm:200000kB, anon-rss:63000kB, \
             file-rss:1000kB, shmem-rss:0kB\n\
             [501.9] oom_reaper: reaped process 77 (node), now anon-rss:0kB\n",
        );
        all_understood(&recording);
        let wanted = kill(Shortage::Cgroup, "/a", "node");
        assert_eq!(kills(&recording), [(wanted.clone(), 1)]);
        assert_eq!(values(&recording, Field::OomLimit, &wanted), [65536.0 * 1024.0]);
        assert_eq!(values(&recording, Field::OomVictim, &wanted), [64000.0 * 1024.0]);
        let asked = Subject::process(None, "node");
        assert_eq!(values(&recording, Field::OomOrder, &asked), [3.0]);
        let other = Subject::process(Some(78), "web (1)");
        assert_eq!(values(&recording, Field::LogTaskRss, &other), [160.0 * 4096.0]);
    }

    #[test]
    fn one_line_of_a_report_says_what_it_says() {
        use Shortage as S;
        for (line, wanted) in [
            (
                "Memory cgroup out of memory: Kill process 9 (a) score 9 or sacrifice child",
                S::Cgroup,
            ),
            ("Memory cgroup out of memory: Killed process 9 (a) total-vm:1kB", S::Cgroup),
            ("Out of memory: kill process 9 (a) score 812 or a child", S::Machine),
            ("No available memory (MPOL_BIND): kill process 9 (a) score 1 or a child", S::Nodes),
            ("Killed process 9 (a) vsz:12kB, anon-rss:8kB, file-rss:0kB", S::Unknown),
            ("Killed process 9, UID 48, (a) total-vm:12kB, anon-rss:8kB", S::Unknown),
            (
                "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task=a,pid=9,uid=0",
                S::Machine,
            ),
            ("oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=0,task=a,pid=9,uid=0", S::Nodes),
            ("oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,task=a,pid=9,uid=0", S::Nodes),
            ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=a,pid=9,uid=0", S::Cgroup),
        ] {
            let bare = format!("{line}\n");
            let logged = format!("Mar  3 04:05:06 n1 kernel: [ 5.0] {line}\n");
            let iso = format!("2026-03-03T04:05:06,812044+01:00 {line}\n");
            let raw = format!("<3>[    5.000000] {line}\n");
            let decoded = format!("kern  :err   : [    5.000000] {line}\n");
            let odd = format!("[03-03 04:05] {line}\n");
            for text in [bare, logged, iso, raw, decoded, odd] {
                let recording = read(&text);
                all_understood(&recording);
                assert_eq!(kills(&recording), [(kill(wanted, "", "a"), 1)], "{text}");
            }
        }
        let limit = read("memory: usage 4096kB, limit 4096kB, failcnt 5\n");
        let called = kill(Shortage::Cgroup, "", "");
        assert_eq!(values(&limit, Field::OomCalls, &called), [1.0]);
        assert_eq!(values(&limit, Field::OomLimit, &called), [4096.0 * 1024.0]);
        let nobody =
            read("[5.0] Kernel panic - not syncing: Out of memory and no killable processes...\n");
        let unknown = kill(Shortage::Unknown, "", "");
        assert_eq!(values(&nobody, Field::OomNobody, &unknown), [1.0]);
    }

    #[test]
    fn reports_are_told_apart() {
        let constraint = |cgroup: &str, pid: u32| {
            format!(
                "[9.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,\
                 mems_allowed=0,oom_memcg={cgroup},task_memcg={cgroup}/x,task=w,pid={pid},uid=0\n"
            )
        };
        let killed = |pid: u32| {
            format!("[9.0] Memory cgroup out of memory: Killed process {pid} (w) total-vm:1kB\n")
        };
        let of = |cgroup: &str| kill(Shortage::Cgroup, cgroup, "w");
        let group = "[9.0] Tasks in /g are going to be killed due to memory.oom.group set\n";
        for (text, wanted) in [
            // The second report was cut short by the limit on messages.
            (constraint("/g", 1) + &killed(1) + &killed(2), vec![(of(""), 1), (of("/g"), 1)]),
            (constraint("/g", 1) + &constraint("/g", 2), vec![(of("/g"), 2)]),
            (constraint("/g", 1) + &killed(1) + group + &killed(2), vec![(of("/g"), 2)]),
            (
                "[1.0] w invoked oom-killer: gfp_mask=0x0, order=0, oom_score_adj=0\n".to_owned()
                    + "[900.0] Out of memory: Killed process 3 (w) total-vm:1kB\n",
                vec![(kill(Shortage::Machine, "", "w"), 1)],
            ),
        ] {
            let recording = read(&text);
            all_understood(&recording);
            let mut found = kills(&recording);
            found.sort();
            assert_eq!(found, wanted, "{text}");
        }
        let by_hand = read(
            "[4.0] kworker/0:1 invoked oom-killer: gfp_mask=0xcc0, order=-1, oom_score_adj=0\n\
             [4.0] Out of memory: Killed process 3 (w) total-vm:1kB\n",
        );
        assert_eq!(kills(&by_hand), [(kill(Shortage::ByHand, "", "w"), 1)]);
    }

    #[test]
    fn the_memory_that_was_reported_below() {
        let recording = read(
            "[Fri May  1 10:00:00 2026] Mem-Info:\n\
             [Fri May  1 10:00:00 2026] active_anon:1000 inactive_anon:24 isolated_anon:0\n\
             \x20                           active_file:5 inactive_file:6 shmem:7\n\
             [Fri May  1 10:00:00 2026] Node 0 active_anon:4000kB inactive_anon:96kB\n\
             [Fri May  1 10:00:00 2026] Node 1 Normal free:512kB min:600kB low:700kB high:800kB \
             active_anon:4000kB managed:9000kB free_cma:0kB\n\
             [Fri May  1 10:00:00 2026] Node 0 Normal: 4*16kB (U) 0*32kB = 64kB\n\
             [Fri May  1 10:00:00 2026] Node 0 hugepages_total=4 hugepages_free=1 \
             hugepages_surp=0 hugepages_size=2048kB\n\
             [Fri May  1 10:00:00 2026] Free swap  = 12kB\n\
             [Fri May  1 10:00:00 2026] 100 pages cma reserved\n\
             [Fri May  1 10:00:00 2026] 9 pages hwpoisoned\n\
             [Fri May  1 10:00:01 2026] Out of memory: Killed process 8 (java) total-vm:1kB\n",
        );
        all_understood(&recording);
        // Pages of 16 KiB, as the list of free blocks shows.
        assert_eq!(machine(&recording, Field::LogAnon), [1024.0 * 16384.0]);
        assert_eq!(machine(&recording, Field::LogFileCache), [11.0 * 16384.0]);
        assert_eq!(machine(&recording, Field::LogCma), [100.0 * 16384.0]);
        assert_eq!(machine(&recording, Field::LogPoisoned), [9.0 * 16384.0]);
        assert_eq!(machine(&recording, Field::LogSwapFree), [12.0 * 1024.0]);
        let zone = Subject::Named("zone Normal of node 1".to_owned());
        assert_eq!(values(&recording, Field::LogZoneFree, &zone), [512.0 * 1024.0]);
        assert_eq!(values(&recording, Field::LogZoneMin, &zone), [600.0 * 1024.0]);
        let pool = Subject::Named("node 0, pages of 2048 KiB".to_owned());
        assert_eq!(values(&recording, Field::LogHugetlbFree, &pool), [2_097_152.0]);
        let unknown = read("[1.0] active_anon:1000 inactive_anon:24 isolated_anon:0\n");
        assert!(machine(&unknown, Field::LogAnon).is_empty(), "how large a page is nobody says");
    }

    #[test]
    fn prose_about_a_kill_is_none() {
        for text in [
            "Then the process was Killed process 9 (a) they said\n",
            "I saw that java invoked oom-killer: what does that mean?\n",
            "We ran Out of memory: kill it\n",
        ] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
