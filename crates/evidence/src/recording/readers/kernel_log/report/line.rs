//! The lines that reports of the kernel about itself are made of.

use std::sync::LazyLock;

use super::super::known::ROWS;
use crate::recording::readers::prelude::*;
use crate::table::{list, named_enum};

named_enum! {
    /// How bad a report is, the worst first.
    Kind {
        /// The machine stopped.
        Panic "panics",
        /// The task that ran was killed: an oops.
        Died "oopses",
        /// The kernel found its own data in disorder, and went on.
        Bug "bugs",
        /// A check failed, and nothing else.
        Warning "warnings",
    }
}

/// What lines of reports about locks have, which are sentences.
const OF_LOCKS: [&str; 9] =
    ["lock", "LOCK", "rcu", "RCU", "CPU0", "ther info", "acktrace", "dependency", "context"];

/// Lines of known form of which the rest is free.
static LABELS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let labels = list(&ROWS, "report lines").into_iter();
    labels.map(|label| label.replace("<space>", " ")).collect()
});
/// `do_one_initcall+0xce/0x160 [module]`: the function of a line, and its module.
pub(super) fn symbol(text: &str) -> Option<(usize, String)> {
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find("+0x") {
        let plus = from + found;
        let offset = |rest: &str| rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let digits = offset(text.get(plus + 3..)?);
        let size = text.get(plus + 3 + digits..)?.strip_prefix("/0x");
        let size = size.map_or(0, offset);
        let head = &text[..plus];
        let part = |c: char| c.is_alphanumeric() || "_.$".contains(c);
        let start = head.rfind(|c: char| !part(c)).map_or(0, |at| at + 1);
        let name = head.get(start..).unwrap_or_default().trim_start_matches('.');
        if digits > 0 && size > 0 && !name.is_empty() {
            let rest = &text[plus + 3 + digits + 3 + size..];
            let module = rest.strip_prefix(" [").and_then(|rest| rest.split(']').next());
            let module = module.filter(|name| !name.is_empty() && !name.contains(' '));
            let module = module.map_or_else(String::new, |name| format!(" of module {name}"));
            return Some((start, format!("{name}{module}")));
        }
        from = plus + 3;
    }
    None
}

/// A function of a chain of calls; `None` for one that only may have been called.
pub(super) fn frame(text: &str) -> Option<String> {
    // On arm a line says which function called which: `[<c00>] (inner) from [<c01>]
    // (outer+0x24/0x2c)`.
    if let Some((inner, _)) = text.split_once(") from [<") {
        let (_, name) = inner.rsplit_once('(')?;
        return Some(symbol(name).map_or_else(|| name.to_owned(), |(_, name)| name));
    }
    let (start, name) = symbol(text)?;
    let before = text[..start].trim_end();
    let address = before.is_empty() || before.ends_with([']', '.', '(']);
    (address && !before.ends_with('?')).then_some(name)
}

/// The letters of a taint, and the words behind them: `G        W  O 6.1.0 #1`.
fn tainted(text: &str) -> (String, &str) {
    let (mut letters, mut rest) = (String::new(), text.trim_start());
    while let Some(word) = rest.split_whitespace().next() {
        // What is nothing but capitals; distributions put signs of their own behind them.
        let flags = word.trim_end_matches('-').trim_matches(['[', ']', ',']);
        if !flags.bytes().all(|byte| byte.is_ascii_uppercase()) {
            break;
        }
        letters.extend(flags.chars().filter(|letter| *letter != 'G'));
        rest = rest.get(word.len()..).unwrap_or_default().trim_start();
    }
    (letters, rest)
}

/// The kernel's release, which its build follows: `6.1.0-13-amd64 #1`.
fn release(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    let (release, build) = (words.next()?, words.next()?);
    let numbered = release.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    (numbered && release.contains('.') && build.starts_with('#')).then_some(release)
}

/// The state of the machine as a line of a report says it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct State<'a> {
    pub(super) task: Option<&'a str>,
    pub(super) taint: Option<String>,
    pub(super) kernel: Option<&'a str>,
}

/// The task of a sentence of lockdep: `make/77 is trying to acquire lock:`, `2 locks held by
/// make/77:`, and of a lock that nobody gives back: `spinlock lockup on CPU#3, make/77`.
fn task(text: &str) -> Option<&str> {
    let acts = [" is trying to ", " is leaving the kernel "];
    if let Some((task, _)) = acts.iter().find_map(|act| text.split_once(act)) {
        return Some(task);
    }
    let held = [" lock held by ", " locks held by "];
    if let Some((number, task)) = held.iter().find_map(|held| text.split_once(held)) {
        return task.strip_suffix(':').filter(|_| count(number).is_some());
    }
    let (_, place) = text.split_once("lockup")?.1.split_once(" on CPU#")?;
    place.split_once(", ").map(|(_, task)| task)
}

/// `CPU: 1 PID: 42 Comm: kswapd0 Tainted: G W 6.1.0 #1`; before 3.9 `Pid: 42, comm: ...`; in
/// reports of lockdep `6.1.0 #1 Not tainted`.
pub(super) fn state(text: &str) -> Option<State<'_>> {
    if let Some(kernel) = release(text) {
        let taint = match text.split_once("Tainted: ") {
            Some((_, rest)) => Some(tainted(rest).0),
            None => text.contains("Not tainted").then(String::new),
        };
        return Some(State { task: None, taint, kernel: Some(kernel) });
    }
    if let Some(task) = task(text) {
        return Some(State { task: Some(task), ..State::default() });
    }
    // The allocator of objects has it in brackets.
    if let Some((_, rest)) = text.strip_prefix("BUG ").and_then(|rest| rest.split_once('(')) {
        let letters = rest.strip_prefix("Tainted: ").map(|rest| tainted(rest).0);
        let taint = letters.or_else(|| rest.starts_with("Not tainted").then(String::new));
        return Some(State { taint, ..State::default() });
    }
    let (_, rest) = text.split_once("Comm: ").or_else(|| text.split_once(", comm: "))?;
    let mark = ["Not tainted", "Tainted: "].into_iter().find(|mark| rest.contains(mark));
    let Some((task, rest)) = mark.and_then(|mark| rest.split_once(mark)) else {
        return Some(State { task: Some(rest.trim()), ..State::default() });
    };
    let flagged = mark == Some("Tainted: ");
    let (letters, rest) = if flagged { tainted(rest) } else { (String::new(), rest) };
    Some(State { task: Some(task.trim()), taint: Some(letters), kernel: release(rest) })
}

/// Whether half of the words at least are what registers hold: 8 hexadecimal digits or more, fewer
/// with zeros before them.
fn is_dump(text: &str) -> bool {
    let (mut words, mut numbers) = (0, 0);
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let long = word.len() >= 8 || word.len() >= 4 && word.starts_with('0');
        numbers += usize::from(long && word.bytes().all(|byte| byte.is_ascii_hexdigit()));
        words += 1;
    }
    numbers > 0 && numbers * 2 >= words
}

/// Whether a line between a heading and the end of its report has one of the known forms.
pub(super) fn has_form(text: &str) -> bool {
    let address = text.trim_start_matches(['(', '[']).starts_with('<') || text.contains("[<");
    // Above two columns it has two parts.
    let ruler = text.len() > 3 && text.bytes().all(|byte| b"=- ".contains(&byte));
    let labelled = LABELS.iter().any(|label| text.starts_with(label.as_str()));
    let known = address || ruler || labelled || symbol(text).is_some() || state(text).is_some();
    known || is_dump(text)
}

/// `net/ipv4/route.c:645`.
pub(super) fn is_source_line(word: &str) -> bool {
    let (file, line) = word.rsplit_once(':').unwrap_or_default();
    [".c", ".h", ".rs"].iter().any(|end| file.ends_with(end)) && count(line).is_some()
}

/// Whether a line is of a report about locks; CPUs that are stuck are another matter.
pub(super) fn is_of_locks(text: &str) -> bool {
    !text.contains("lockup") && OF_LOCKS.iter().any(|word| text.contains(word))
}

/// A line with which the kernel parts a report from what was before.
pub(super) fn is_ruler(text: &str) -> bool {
    let drawn = text.len() >= 20 && text.bytes().all(|byte| byte == b'=');
    drawn || text.contains("[ cut here ]")
}

/// The number of an oops: `invalid opcode: 0000 [#1] SMP`, `Oops[#1]:`.
fn is_numbered(text: &str) -> bool {
    let marked = text.contains("[#").then_some(text);
    let number =
        marked.and_then(|text| text.split_once("[#")).and_then(|(_, rest)| rest.split_once(']'));
    number.is_some_and(|(number, _)| count(number).is_some())
}

/// How bad what a heading speaks of is. `None`: it is none.
pub(in super::super) fn heading(text: &str) -> Option<Kind> {
    let plain = text.trim_start_matches(['[', ' ']);
    // The part of the kernel that says it, of a word or two.
    let by = plain
        .split_once(": ")
        .filter(|(who, _)| who.split(' ').take(3).count() <= 2 && !who.contains('='));
    let said = by.map_or("", |(_, rest)| rest);
    let marked = |mark: &str| plain.starts_with(mark) || said.starts_with(mark);
    let drawn = text.len() > plain.len() || text.ends_with(" ]");
    if marked("Kernel panic - not syncing") {
        return Some(Kind::Panic);
    }
    const DIES: [&str; 7] = [
        "kernel BUG at ",
        "BUG: unable to handle ",
        "BUG: kernel NULL pointer",
        "Unable to handle kernel ",
        "Unhandled fault",
        "Internal error: ",
        "general protection fault",
    ];
    if is_numbered(text) || DIES.iter().any(|mark| marked(mark)) {
        return Some(Kind::Died);
    }
    let slab = plain.strip_prefix("BUG ").is_some_and(|rest| rest.contains(": "));
    if marked("BUG: ") || slab {
        return Some(Kind::Bug);
    }
    let warns = marked("WARNING: ") || drawn && marked("INFO: ");
    warns.then_some(Kind::Warning)
}
