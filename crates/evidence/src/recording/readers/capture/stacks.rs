//! What the CPUs ran, by the kernel's functions: lines as flame graphs are drawn from.
//!
//! ```text
//! # cpu-clock frequency_hz=97 lost=0
//! redis-server;asm_exc_page_fault;exc_page_fault;handle_mm_fault;clear_page_erms 31
//! redis-server 12
//! ```
//!
//! The program, the kernel's functions from the outermost to the innermost, and how often it was
//! met; without functions it ran its own code.

use std::collections::{BTreeMap, BTreeSet};

use crate::recording::{Builder, Field, Subject};
use hugewise_base::parse::ParseError;

/// The name of this text in a sample. There is no such file.
pub const PATH: &str = "/hugewise/stacks";

/// Fewer samples of the kernel say nothing: of 50 a share of one half is known to 7 points
/// (the standard error of a proportion).
const KERNEL_MIN: u64 = 50;
/// Most functions, and most ways into them, that are remembered.
const KINDS_MAX: usize = 10_000;
/// How many functions at the inner end of a chain are told.
const INNER: usize = 3;

/// Where every chain begins, whatever is called: x86-64's and arm64's ways into the kernel, and
/// the start of a kernel thread (`arch/x86/entry`, `arch/arm64/kernel/entry-common.c`,
/// `kernel/kthread.c`, Linux 6.18).
const ENTRIES: [&str; 19] = [
    "entry_SYSCALL_64_after_hwframe",
    "entry_SYSCALL_64",
    "do_syscall_64",
    "x64_sys_call",
    "ret_from_fork_asm",
    "ret_from_fork",
    "kthread",
    "exc_page_fault",
    "irqentry_exit_to_user_mode",
    "syscall_exit_to_user_mode",
    "el0t_64_sync",
    "el0t_64_sync_handler",
    "el0_svc",
    "do_el0_svc",
    "el0_svc_common",
    "el0_svc_common.constprop.0",
    "invoke_syscall",
    "invoke_syscall.constprop.0",
    "system_call_fastpath",
];
/// What stands before the name of a system call's function, or of one that does its work, where the
/// compiler put the first into its caller.
const CALLS: [&str; 8] = [
    "__x64_sys_",
    "__arm64_sys_",
    "__ia32_sys_",
    "__se_sys_",
    "__do_sys_",
    "ksys_",
    "do_sys_",
    "__sys_",
];
/// The same before Linux 4.17, right behind where the chain begins.
const OLD_CALLS: [&str; 2] = ["SyS_", "sys_"];
/// Functions that take a page fault.
const FAULTS: [&str; 4] = ["asm_exc_page_fault", "async_page_fault", "page_fault", "do_page_fault"];

/// How it is called where a program was seen between its own code and the kernel's functions.
pub const SYSCALL_ENTRY: &str = "entry and exit of system calls";

/// A name without blanks and semicolons, for a line.
pub fn frame(name: &str) -> String {
    let plain = |c: char| if c.is_control() || c.is_whitespace() || c == ';' { '_' } else { c };
    name.chars().map(plain).collect()
}

/// Samples of all programs, added up.
#[derive(Debug, Default)]
pub(super) struct Profile {
    all: u64,
    kernel: u64,
    functions: BTreeMap<String, u64>,
    /// With what they called.
    within: BTreeMap<String, u64>,
    /// By program and way.
    entries: BTreeMap<(String, String), u64>,
    paths: BTreeMap<(String, String), u64>,
}

fn add<K: Ord>(to: &mut BTreeMap<K, u64>, key: K, count: u64) {
    if to.len() < KINDS_MAX || to.contains_key(&key) {
        let sum = to.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
}

impl Profile {
    /// Takes the text of one sample; the first line that makes no sense, if there is one.
    pub(super) fn take(&mut self, text: &str) -> Option<ParseError> {
        let mut odd = None;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            if self.line(line).is_none() {
                let wanted = "a program, functions and a count";
                odd = odd.or_else(|| Some(ParseError::new("stacks", at + 1, line, wanted)));
            }
        }
        odd
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (chain, count) = line.rsplit_once(' ')?;
        let count: u64 = count.parse().ok()?;
        let mut frames = chain.split(';');
        let program = frames.next().filter(|name| !name.is_empty())?;
        let frames: Vec<&str> = frames.collect();
        self.all = self.all.saturating_add(count);
        let Some(innermost) = frames.last() else { return Some(()) };
        self.kernel = self.kernel.saturating_add(count);
        add(&mut self.functions, (*innermost).to_owned(), count);
        for caller in frames.iter().copied().collect::<BTreeSet<_>>() {
            add(&mut self.within, caller.to_owned(), count);
        }
        let (entry, path) = way(&frames);
        add(&mut self.paths, (program.to_owned(), path), count);
        add(&mut self.entries, (program.to_owned(), entry), count);
        Some(())
    }

    /// The shares, once there are enough samples.
    pub(super) fn put(self, out: &mut Builder) {
        if self.kernel < KERNEL_MIN {
            return;
        }
        let percent = |count: u64| count as f64 / self.all as f64 * 100.0;
        out.put(Field::ProfileKernel, &Subject::Machine, None, percent(self.kernel));
        let functions =
            [(Field::SymbolPercent, self.functions), (Field::WithinPercent, self.within)];
        for (field, counts) in functions {
            for (name, count) in counts {
                out.put(field, &Subject::Symbol(name), None, percent(count));
            }
        }
        let ways = [(Field::EntryPercent, self.entries), (Field::PathPercent, self.paths)];
        for (field, counts) in ways {
            for ((program, path), count) in counts {
                out.put(field, &Subject::Calls { program, path }, None, percent(count));
            }
        }
    }
}

/// How a program came into the kernel, and the way from there, in the middle shortened.
pub fn way(frames: &[&str]) -> (String, String) {
    let inside = |frame: &&str| !ENTRIES.contains(frame) && !FAULTS.contains(frame);
    let first = frames.iter().position(inside).unwrap_or(frames.len());
    let old = frames.get(first).filter(|_| first > 0).and_then(|frame| after(frame, &OLD_CALLS));
    let call = frames.iter().enumerate().find_map(|(at, frame)| Some((at, after(frame, &CALLS)?)));
    // A system call may fault, when it copies: the call is how the program came in.
    let (entry, below) = match (call, frames.get(first)) {
        (Some((at, name)), _) => (format!("{name}()"), at + 1),
        (None, Some(_)) if frames[..first].iter().any(|frame| FAULTS.contains(frame)) => {
            ("page fault".to_owned(), first)
        }
        (None, Some(name)) => {
            (old.map_or_else(|| (*name).to_owned(), |n| format!("{n}()")), first + 1)
        }
        (None, None) if frames.iter().any(|frame| FAULTS.contains(frame)) => {
            ("page fault".to_owned(), first)
        }
        (None, None) => (SYSCALL_ENTRY.to_owned(), first),
    };
    let below: Vec<&str> = frames[below..].iter().copied().filter(inside).collect();
    let left_out = below.len().saturating_sub(INNER);
    let shown =
        (left_out > 0).then_some("...").into_iter().chain(below[left_out..].iter().copied());
    let path = shown.fold(entry.clone(), |path, frame| path + " > " + frame);
    (entry, path)
}

/// The system call that this function begins.
fn after<'a>(frame: &'a str, marks: &[&str]) -> Option<&'a str> {
    marks.iter().find_map(|mark| frame.strip_prefix(mark)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Series;

    fn shown(frames: &[&str]) -> String {
        way(frames).1
    }

    #[test]
    fn ways_begin_with_what_the_program_did() {
        let read = [
            "entry_SYSCALL_64_after_hwframe",
            "do_syscall_64",
            "__x64_sys_read",
            "ksys_read",
            "vfs_read",
            "filemap_read",
            "copy_page_to_iter",
        ];
        assert_eq!(shown(&read), "read() > ... > vfs_read > filemap_read > copy_page_to_iter");
        let fault = ["asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "clear_page"];
        assert_eq!(shown(&fault), "page fault > do_user_addr_fault > clear_page");
        let thread = ["ret_from_fork_asm", "ret_from_fork", "kthread", "kswapd", "shrink_node"];
        assert_eq!(shown(&thread), "kswapd > shrink_node");
        let copying = ["do_syscall_64", "__x64_sys_write", "asm_exc_page_fault", "clear_page"];
        assert_eq!(shown(&copying), "write() > clear_page");
        let inlined = ["do_syscall_64", "ksys_read", "vfs_read"];
        assert_eq!(shown(&inlined), "read() > vfs_read");
        assert_eq!(shown(&["system_call_fastpath", "sys_read", "vfs_read"]), "read() > vfs_read");
        assert_eq!(shown(&["sys_imageblit"]), "sys_imageblit");
        assert_eq!(shown(&["asm_exc_page_fault", "exc_page_fault"]), "page fault");
        assert_eq!(shown(&["entry_SYSCALL_64_after_hwframe", "do_syscall_64"]), SYSCALL_ENTRY);
        assert_eq!(shown(&["__x64_sys_getppid"]), "getppid()");
    }

    #[test]
    fn few_samples_say_nothing() {
        let profile = |count: u64| {
            let mut profile = Profile::default();
            let text = format!("# cpu-clock frequency_hz=97 lost=0\na;f;g {count}\na {count}\n");
            assert_eq!(profile.take(&text), None);
            let mut out = Builder::new();
            out.host("here");
            profile.put(&mut out);
            let recording = out.finish();
            let found = recording.hosts.iter().flat_map(|host| host.subjects(Field::PathPercent));
            let value = |series: &[Series]| series[0].points[0].value;
            found.map(|(subject, series)| (subject.to_string(), value(series))).next()
        };
        assert_eq!(profile(KERNEL_MIN - 1), None);
        assert_eq!(profile(KERNEL_MIN), Some(("a: f > g".to_owned(), 50.0)));
    }

    #[test]
    fn odd_lines_are_told() {
        let mut profile = Profile::default();
        for odd in ["a;b", ";b 3", "a;b x", " 5"] {
            let told = profile.take(&format!("a;b 1\n{odd}\n")).expect("an odd line");
            assert_eq!((told.line, told.found.as_str()), (2, odd));
        }
    }
}
