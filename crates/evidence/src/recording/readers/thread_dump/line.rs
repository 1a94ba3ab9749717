//! The lines of a HotSpot thread dump, as `jstack`, `jcmd Thread.print` and SIGQUIT print them
//! (`Threads::print_on` and `JavaThread::print_on` in `threads.cpp` and `javaThread.cpp`,
//! `java_lang_Thread` and `javaVFrame::print_lock_info_on` in `vframe.cpp`, OpenJDK 8 to 25).

use crate::recording::readers::prelude::*;

/// Longest name of a class.
const CLASS_CHARS_MAX: usize = 200;

/// The heading of a dump.
const HEADING: &str = "Full thread dump ";

/// The state of a thread as Java has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Runnable,
    Blocked,
    Waiting,
    TimedWaiting,
    /// `NEW` and `TERMINATED`.
    Other,
}

impl State {
    pub(super) fn new(word: &str) -> Option<Self> {
        Some(match word {
            "RUNNABLE" => Self::Runnable,
            "BLOCKED" => Self::Blocked,
            "WAITING" => Self::Waiting,
            "TIMED_WAITING" => Self::TimedWaiting,
            "NEW" | "TERMINATED" => Self::Other,
            _ => return None,
        })
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Runnable => "RUNNABLE",
            Self::Blocked => "BLOCKED",
            Self::Waiting => "WAITING",
            Self::TimedWaiting => "TIMED_WAITING",
            Self::Other => "other states",
        }
    }
}

/// What a line says of a lock or another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It waits to enter the monitor.
    Enters,
    /// It waits to be notified, the monitor given up.
    Notified,
    /// It waits parked.
    Parked,
    /// It holds the monitor, or owns the synchroniser.
    Holds,
}

/// An object that a thread holds or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) address: Option<u64>,
    pub(super) class: String,
}

/// The first line of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct First<'a> {
    pub(super) name: &'a str,
    /// CPU that it used since its start, from Java 11 on.
    pub(super) cpu_ms: Option<f64>,
    /// How long it has been there, from Java 11 on.
    pub(super) elapsed_ms: Option<f64>,
    /// The address of the thread inside the virtual machine.
    pub(super) tid: Option<u64>,
    /// Whether it is a thread of Java, which has a number, and not one of the machine itself.
    pub(super) is_java: bool,
}

/// A line of a dump.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DumpLine<'a> {
    /// `2026-11-26 08:00:00`.
    At(Stamp),
    /// `4711:`, as jcmd has it.
    Pid(u32),
    /// `Full thread dump ...`.
    Heading,
    First(First<'a>),
    /// The same with its state.
    Numbered(First<'a>, Option<State>),
    State(State),
    /// A frame: class and method.
    Frame(&'a str),
    Object(Relation, Object),
    /// `Locked ownable synchronizers:`.
    Owns,
    /// The list of deadlocks begins, or one that it names: these threads wait for each other.
    Deadlock,
    /// `"a":` in the list of deadlocks.
    Member(&'a str),
    /// `JNI global refs: 17`: the list of threads ends.
    End,
    /// What belongs to a dump and says nothing that is kept.
    Known,
    Blank,
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// `2026-11-26 08:00:00` alone on a line.
pub(super) fn at(line: &str) -> Option<Stamp> {
    let (day, time) = line.trim().split_once(' ')?;
    (line.trim().len() == 19).then_some(())?;
    Some(joined(date(day)?, time_of_day(time)?))
}

/// `4711:` alone on a line; `4711` in a file.
pub(super) fn pid(line: &str) -> Option<u32> {
    let line = line.trim_end();
    line.strip_suffix(':').unwrap_or(line).parse().ok()
}

/// `2026-11-26T09:00:18.674346022Z` alone on a line, in UTC.
pub(super) fn utc(text: &str) -> Option<Stamp> {
    let (day, time) = text.trim().strip_suffix('Z')?.split_once('T')?;
    Some(joined(date(day)?, time_of_day(time.get(..8)?)?))
}

/// `25.0.3+9-LTS` alone on a line: the version of Java.
fn is_version(line: &str) -> bool {
    let text = line.trim();
    let part = |c: char| c.is_ascii_alphanumeric() || ".+-_".contains(c);
    text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('+') && text.chars().all(part)
}

/// Whether these are the first lines of a file of `Thread.dump_to_file`: process, time, version, a
/// blank one, and a thread.
pub(super) fn is_file(lines: &[&str]) -> bool {
    let [process, time, version, blank, thread, ..] = lines else { return false };
    let head = process.trim().parse::<u32>().is_ok() && utc(time).is_some() && is_version(version);
    head && blank.trim().is_empty() && numbered(thread).is_some()
}

/// Whether a dump begins in this line.
pub(super) fn is_heading(line: &str) -> bool {
    // Of programs that print dumps through their loggers, the words before it are the logger's.
    line.split_once(HEADING).is_some_and(|(_, vm)| vm.contains("VM"))
}

/// `12.34ms`, `5.67s`: in milliseconds.
fn duration_ms(text: &str) -> Option<f64> {
    let (number, factor) = match text.strip_suffix("ms") {
        Some(number) => (number, 1.0),
        None => (text.strip_suffix('s')?, 1000.0),
    };
    super::super::words::number(number).map(|value| value * factor)
}

/// `"main" #1 prio=5 os_prio=0 cpu=45.13ms elapsed=10.21s tid=0x... nid=0x1b2e runnable`.
pub(super) fn first(line: &str) -> Option<First<'_>> {
    let rest = line.strip_prefix('"')?;
    // A name may contain quotes; what follows it never does.
    let (name, rest) = rest.rsplit_once('"')?;
    let mut found = First { name, ..First::default() };
    for word in rest.split_whitespace() {
        match word.split_once('=') {
            Some(("tid", value)) => found.tid = hexadecimal(value.trim_end_matches('.')),
            Some(("cpu", value)) => found.cpu_ms = duration_ms(value),
            Some(("elapsed", value)) => found.elapsed_ms = duration_ms(value),
            Some(("prio", _)) => found.is_java = true,
            None if word.starts_with('#') || word.starts_with("t@") => found.is_java = true,
            _ => {}
        }
    }
    // `"a" - Thread t@625`, as JConsole and VisualVM print it.
    let other = rest.trim().starts_with("- Thread t@");
    (found.tid.is_some() || other).then_some(found)
}

/// `#25 "" virtual WAITING 2026-11-26T09:00:18.9Z`, as `Thread.dump_to_file` prints it: name and
/// state, which Java 21 leaves out.
fn numbered(line: &str) -> Option<(&str, Option<State>)> {
    let (number, rest) = line.strip_prefix('#')?.split_once(' ')?;
    number.parse::<u64>().ok()?;
    let (name, rest) = rest.strip_prefix('"')?.rsplit_once('"')?;
    let state = rest.split_whitespace().find_map(State::new);
    let name = if name.is_empty() { "virtual thread" } else { name };
    Some((name, state))
}

/// `<0x000000071c0b5d8> (a java.lang.Object)`.
fn object(text: &str) -> Option<Object> {
    let (address, rest) = text.trim_start().strip_prefix('<')?.split_once('>')?;
    // `<java.lang.Object@5b3def05>`, of `Thread.dump_to_file`: the hash stands for the address.
    if let Some((class, hash)) = address.rsplit_once('@').filter(|_| rest.trim().is_empty()) {
        let class = class.chars().take(CLASS_CHARS_MAX).collect();
        return Some(Object { address: u64::from_str_radix(hash, 16).ok(), class });
    }
    let class = rest.trim().strip_prefix("(a ").and_then(|rest| rest.strip_suffix(')'));
    // `(a java.lang.Class for com.shop.Stock)`: of a static method.
    let class =
        class.map_or("", |class| class.strip_prefix("java.lang.Class for ").unwrap_or(class));
    let class = class.chars().take(CLASS_CHARS_MAX).collect();
    let bare = || u64::from_str_radix(address, 16).ok();
    Some(Object { address: hexadecimal(address).or_else(bare), class })
}

fn lock(line: &str) -> Option<DumpLine<'_>> {
    const KINDS: [(&str, Relation); 7] = [
        ("waiting to lock", Relation::Enters),
        ("waiting to re-lock in wait()", Relation::Enters),
        ("blocked on", Relation::Enters),
        ("waiting on", Relation::Notified),
        ("parking to wait for", Relation::Parked),
        ("locked", Relation::Holds),
        ("", Relation::Holds),
    ];
    let rest = line.trim().strip_prefix("- ")?;
    let found = KINDS.iter().find_map(|(words, relation)| {
        let object = object(rest.strip_prefix(words)?)?;
        Some(DumpLine::Object(*relation, object))
    });
    const SILENT: [&str; 4] = ["None", "eliminated", "locked", "waiting"];
    found.or_else(|| SILENT.iter().any(|word| rest.starts_with(word)).then_some(DumpLine::Known))
}

/// `at java.base@17.0.15/java.lang.Thread.run(Thread.java:840)`: class and method.
pub(super) fn frame(line: &str) -> Option<&str> {
    // Java 21 sets frames in by six blanks where it writes to a file, and says no `at`.
    let text = line.trim_start();
    let bare = || line.strip_prefix("      ").filter(|_| text.contains('/'));
    let rest = text.strip_prefix("at ").or_else(bare)?;
    let (whole, place) = rest.split_once('(')?;
    place.trim_end().ends_with(')').then_some(())?;
    without_module(whole)
}

/// `java.base@17.0.15/java.lang.Thread.run`, `app//com.shop.Main.main`: without the module.
pub(super) fn without_module(whole: &str) -> Option<&str> {
    // A class made at run time has a slash behind its name: `Main$$Lambda$14/0x0800c03000.run`.
    let hidden = whole.find("/0x");
    let end = hidden.unwrap_or(whole.len());
    let method = match whole[..end].rfind('/') {
        Some(at) => &whole[at + 1..],
        None => whole,
    };
    let word = !method.is_empty() && !method.contains(char::is_whitespace) && method.contains('.');
    word.then_some(method)
}

/// Lines of a dump that say nothing that is kept, by their start.
const KNOWN: &[&str] = &[
    "Threads class SMR info:",
    "_java_thread_list=",
    "_to_delete_list=",
    "No compile task",
    "Compiling:",
    "Carrying virtual thread",
    "Mounted virtual thread",
    "waiting to lock monitor",
    "waiting for ownable synchronizer",
    "which is held by",
    "in JNI, which is held by",
    "but in a state",
    "Heap",
    "garbage-first heap",
    "region size",
    "Metaspace",
    "class space",
    "JNI weak refs:",
    "class_loader",
    "}",
    "Java stack information for the threads",
];

/// A heap at the end of what SIGQUIT prints, of all collectors.
const HEAP: &[&str] = &[
    "PSYoungGen",
    "ParOldGen",
    "PSOldGen",
    "eden space",
    "from space",
    "to   space",
    "object space",
    "def new generation",
    "tenured generation",
    "the space",
    "ZHeap",
    "Shenandoah Heap",
    "par new generation",
    "concurrent mark-sweep generation",
    "total reserved",
    "Virtual Memory",
];

fn is_known(line: &str) -> bool {
    let text = line.trim();
    let list = text.len() > 2
        && text.split([',', ' ']).all(|part| part.is_empty() || hexadecimal(part).is_some());
    let rule = text.len() > 4 && text.bytes().all(|byte| byte == b'=');
    let known = |all: &[&str]| all.iter().any(|start| text.starts_with(start));
    let found = text.starts_with("Found ") && text.contains("deadlock");
    known(KNOWN) || (line.starts_with(' ') && known(HEAP)) || list || rule || found
}

/// What a line of a dump says; `None`: it is none of a dump.
pub(super) fn read(line: &str) -> Option<DumpLine<'_>> {
    if line.trim().is_empty() {
        return Some(DumpLine::Blank);
    }
    if is_heading(line) {
        return Some(DumpLine::Heading);
    }
    if let Some(found) = first(line) {
        return Some(DumpLine::First(found));
    }
    if let Some((name, state)) = numbered(line) {
        let first = First { name, is_java: true, ..First::default() };
        return Some(DumpLine::Numbered(first, state));
    }
    let text = line.trim();
    if let Some(state) = text.strip_prefix("java.lang.Thread.State: ") {
        return State::new(state.split(' ').next()?).map(DumpLine::State);
    }
    if let Some(frame) = frame(line) {
        return Some(DumpLine::Frame(frame));
    }
    if text.starts_with("JNI global ref") {
        return Some(DumpLine::End);
    }
    if text == "Locked ownable synchronizers:" {
        return Some(DumpLine::Owns);
    }
    if text.starts_with("Found one Java-level deadlock") {
        return Some(DumpLine::Deadlock);
    }
    let member = text.strip_prefix('"').and_then(|rest| rest.strip_suffix("\":"));
    if let Some(name) = member {
        return Some(DumpLine::Member(name));
    }
    let time = at(line).or_else(|| utc(line));
    let simple = time.map(DumpLine::At).or_else(|| pid(line).map(DumpLine::Pid));
    simple
        .or_else(|| lock(line))
        .or_else(|| (is_known(line) || is_version(line)).then_some(DumpLine::Known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_of_all_versions() {
        let old = first(
            "\"http-nio-8080-exec-10\" #45 daemon prio=5 os_prio=0 tid=0x00007f2e3c012800 \
             nid=0x1b2e waiting on condition [0x00007f2df8bcd000]",
        )
        .expect("Java 8");
        assert_eq!((old.name, old.cpu_ms, old.is_java), ("http-nio-8080-exec-10", None, true));
        let new = first(
            "\"main\" #1 [4712] prio=5 os_prio=0 cpu=45.13ms elapsed=10.21s \
             tid=0x00007f2e3c012800 nid=4712 runnable  [0x00007f2df8bcd000]",
        )
        .expect("Java 21");
        assert_eq!((new.cpu_ms, new.elapsed_ms), (Some(45.13), Some(10_210.0)));
        let own = first("\"VM Thread\" os_prio=0 cpu=5.1ms elapsed=9.9s tid=0x7f nid=0x5 runnable")
            .expect("one of the machine");
        assert!(!own.is_java);
        assert_eq!(first("\"a\" b"), None);
    }

    #[test]
    fn frames_and_objects() {
        assert_eq!(
            frame("\tat java.base@17.0.15/java.lang.Thread.run(Thread.java:840)"),
            Some("java.lang.Thread.run")
        );
        assert_eq!(
            frame("\tat com.shop.Main$$Lambda$14/0x0000000800c03000.run(Unknown Source)"),
            Some("com.shop.Main$$Lambda$14/0x0000000800c03000.run")
        );
        assert_eq!(frame("\tat app//com.x.Y.z(Y.java:1)"), Some("com.x.Y.z"));
        assert_eq!(frame("at noon (we think)"), None);
        let wanted = Object { address: Some(0xe0c), class: "com.shop.Stock".to_owned() };
        for (line, relation) in [
            ("\t- locked <0xe0c> (a com.shop.Stock)", Relation::Holds),
            (
                "\t- waiting to lock <0xe0c> (a java.lang.Class for com.shop.Stock)",
                Relation::Enters,
            ),
            ("\t- parking to wait for  <0xe0c> (a com.shop.Stock)", Relation::Parked),
            ("\t- <0xe0c> (a com.shop.Stock)", Relation::Holds),
        ] {
            assert_eq!(read(line), Some(DumpLine::Object(relation, wanted.clone())), "{line}");
        }
        for line in [
            "\t- None",
            "\t- waiting on <no object reference available>",
            "  which is held by \"a\"",
        ] {
            assert!(read(line).is_some(), "{line}");
        }
        for line in ["$ jstack 5", "all is well", "MemTotal: 5 kB"] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
