//! `perf report --stdio` and `perf top --stdio`: where the samples of a profile lie, by function of
//! the kernel, and in what those were called.

mod chain;

use super::prelude::*;
use std::collections::BTreeMap;

use self::chain::{Chain, FRAMES_MAX, program};
use super::words::percent;

/// Most functions that are recorded; a report of a whole machine names some thousands.
const SYMBOLS_MAX: usize = 10_000;

/// Functions in which an idle CPU rests: samples there are no work.
const IDLE: [&str; 14] = [
    "pv_native_safe_halt",
    "native_safe_halt",
    "acpi_safe_halt",
    "default_idle",
    "intel_idle",
    "mwait_idle",
    "acpi_idle_do_entry",
    "cpuidle_enter_state",
    "poll_idle",
    "cpu_idle_poll",
    "acpi_processor_ffh_cstate_enter",
    "io_idle",
    "cpu_do_idle",
    "arch_cpu_idle",
];

/// A report in the making: shares of one function over all programs are added up.
#[derive(Default)]
struct Perf {
    /// With call chains a row begins with the share of all callees; its own share is the second.
    children: bool,
    shares: BTreeMap<String, f64>,
    /// With callees, where the report has them.
    within: BTreeMap<String, f64>,
    /// The same as the chains of calls below the rows say it.
    chained: BTreeMap<String, f64>,
    /// Programs, and whole chains of calls.
    paths: BTreeMap<(String, String), f64>,
    /// The chain that is read now.
    chain: Option<Chain>,
    /// Whether the lines of a chain were seen below this row, of whatever program.
    drawn: bool,
    /// What the head of `perf top` says of the kernel.
    kernel: Option<f64>,
    /// Samples in programs and in an idle CPU.
    elsewhere: f64,
    /// Rows, and functions of chains, that were too many.
    left_out: [usize; 2],
}

/// Blanks before a function of a chain: 12 (Linux 6.1, `tools/perf/ui/stdio/hist.c`), fewer where a
/// report was quoted.
const MARGIN: &str = "          ";

/// Lines of notes before the headings: 8 in versions 5 and 6.
const NOTES_MAX: usize = 24;

/// Whether a line is a row, as `perf top` has them without a heading.
fn is_row(line: &str) -> bool {
    let share = line.split_whitespace().next().and_then(percent);
    share.is_some() && (line.contains(" [k] ") || line.contains(" [.] "))
}

/// Finds the line of headings, or the notes before it; or the head of `perf top`, or a row.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let this = lines.ahead(0);
    let notes = (0..NOTES_MAX).map(|by| lines.ahead(by)).take_while(|line| line.starts_with('#'));
    let heading = |line: &&str| line.contains("Overhead ") || line.contains("Children ");
    let heading = notes.filter(heading).last().and_then(|line| line.strip_prefix('#'));
    let heading = heading.map(str::trim_start);
    let children = heading.is_some_and(|heading| heading.starts_with("Children"));
    let begins = |line: &str| children || line.starts_with("Overhead");
    let report = heading.is_some_and(|line| begins(line) && line.contains("Symbol"));
    (report || is_row(this) || this.trim_start().starts_with(TOP))
        .then(|| lines.begin(SourceKind::PerfReport, Perf { children, ..Perf::default() }, out))
}

/// How the head of `perf top` begins.
const TOP: &str = "PerfTop:";

/// The CPUs that `perf top` watches: `(all, 16 CPUs)`.
fn cpus(head: &str) -> Option<u64> {
    let (_, rest) = head.split_once("(all, ")?;
    super::words::count(rest.split_once(" CPU")?.0).filter(|cpus| *cpus > 0)
}

/// The kernel's share in the head of `perf top`: `kernel:74.1%`, `kernel: 4.2%`.
fn kernel(head: &str) -> Option<f64> {
    let (_, rest) = head.split_once("kernel:")?;
    percent(rest.split_whitespace().next()?)
}

impl Perf {
    /// A row: shares, then program, object, `[k]`, function. `None`: it is no row.
    fn row(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_whitespace();
        let mut share = percent(words.next()?)?;
        let below = share;
        if self.children {
            share = percent(words.next()?)?;
        }
        // The program's name may contain blanks: the mark in front of the function does not.
        let (before, function) = line.split_once("[k] ").or_else(|| line.split_once("[.] "))?;
        let of_kernel = line.contains("[k] ");
        let name = function.split_whitespace().next()?;
        let idle = of_kernel && IDLE.iter().any(|idle| name.starts_with(idle));
        self.chain_ends();
        if idle || !of_kernel {
            self.elsewhere += share;
            return Some(());
        }
        let known = self.shares.contains_key(name);
        if known || self.shares.len() < SYMBOLS_MAX {
            *self.shares.entry(name.to_owned()).or_default() += share;
            if self.children {
                *self.within.entry(name.to_owned()).or_default() += below;
            }
            self.chain = (share > 0.0).then(|| Chain::new(share, program(before), name));
        } else {
            self.left_out[0] += 1;
        }
        Some(())
    }

    /// A line of the chain below a row.
    fn called(&mut self, line: &str) {
        let Some(chain) = &mut self.chain else { return };
        let Some((name, share)) = chain.function(line) else { return };
        let room = self.chained.len() < SYMBOLS_MAX || self.chained.contains_key(name);
        if room {
            *self.chained.entry(name.to_owned()).or_default() += share;
        }
    }

    /// Nothing more of the chain follows.
    fn chain_ends(&mut self) {
        let Some(mut chain) = self.chain.take() else { return };
        chain.branch_ends();
        self.left_out[1] += chain.left_out;
        for (path, share) in chain.paths {
            let key = (chain.program.clone(), path);
            if self.paths.len() < SYMBOLS_MAX || self.paths.contains_key(&key) {
                *self.paths.entry(key).or_default() += share;
            }
        }
    }
}

impl Reader for Perf {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if self.row(line).is_some() {
            self.drawn = false;
            return Taken::Yes;
        }
        let line = line.trim_end();
        let start = line.trim_start();
        // A chain ends with an empty line.
        self.drawn = !start.is_empty() && (self.drawn || start.starts_with(['|', '-']));
        if start.starts_with(TOP) {
            out.put_known(
                Field::CpuCount,
                &Subject::Machine,
                None,
                cpus(start).map(|cpus| cpus as f64),
            );
            self.kernel = kernel(start).or(self.kernel);
            return Taken::Yes;
        }
        // Call chains are drawn with lines or indented by blanks; programs' functions are `[.]`.
        // Names of C++ and Rust contain blanks.
        let chain = start.is_empty()
            || start.starts_with(['#', '|', '-'])
            || start.contains("[.] ")
            || !start.contains(' ')
            || self.drawn && line.starts_with(MARGIN);
        if !chain {
            return Taken::No;
        }
        self.called(line);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.chain_ends();
        let [rows, functions] = self.left_out;
        if rows > 0 {
            out.cut(format!(
                "a profile of more than {SYMBOLS_MAX} functions: {rows} more rows are left out"
            ));
        }
        if functions > 0 {
            out.cut(format!(
                "chains of more than {FRAMES_MAX} calls in a profile: {functions} more functions \
                 are left out"
            ));
        }
        let machine = &Subject::Machine;
        if !self.shares.is_empty() {
            out.put_known(Field::ProfileKernel, machine, None, self.kernel);
            let most = (100.0 - self.elsewhere).clamp(0.0, 100.0);
            out.put(Field::ProfileKernelMost, machine, None, most);
        }
        let mut within = std::mem::take(&mut self.within);
        for (name, share) in std::mem::take(&mut self.chained) {
            let known = within.entry(name).or_default();
            *known = known.max(share);
        }
        let all = [
            (Field::SymbolPercent, std::mem::take(&mut self.shares)),
            (Field::WithinPercent, within),
        ];
        for (field, shares) in all {
            for (name, share) in shares.into_iter().filter(|(_, share)| *share > 0.0) {
                out.put(field, &Subject::Symbol(name), None, share);
            }
        }
        for ((program, path), share) in std::mem::take(&mut self.paths) {
            out.put(Field::PathPercent, &Subject::Calls { program, path }, None, share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(field: Field, text: &str) -> Vec<(String, f64)> {
        let mut builder = Builder::new();
        builder.read("perf.txt", text.as_bytes()).expect("text");
        let recording = builder.finish();
        let all = recording.hosts.iter().flat_map(|host| host.subjects(field));
        all.map(|(subject, series)| (subject.to_string(), series[0].points[0].value)).collect()
    }

    fn shares(text: &str) -> Vec<(String, f64)> {
        of(Field::SymbolPercent, text)
    }

    #[test]
    fn chains_say_in_what_a_function_was_called() {
        const HEAD: &str = "# Overhead  Command  Shared Object  Symbol\n#\n    \
                            40.00%  sh  [kernel.kallsyms]  [k] clear_page_erms\n            |\n";
        let straight = "            ---clear_page_erms\n               clear_subpage\n\
                        \x20              page_fault\n               mine\n";
        let branched = "            |--30.00%--clear_subpage\n            |          \
                        page_fault\n            |          mine\n            |\n             \
                        --10.00%--do_anonymous_page\n                       page_fault\n";
        let nested = "            ---clear_page_erms\n               |          \n                \
                      --39.00%--clear_subpage\n                          page_fault\n             \
                      --25.00%--mine\n";
        for (chain, share, others) in
            [(straight, 40.0, false), (branched, 30.0, true), (nested, 39.0, false)]
        {
            let within = of(Field::WithinPercent, &format!("{HEAD}{chain}"));
            let value = |name: &str| within.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
            assert_eq!(value("clear_subpage"), Some(share), "{chain}");
            assert_eq!(value("do_anonymous_page").is_some(), others);
        }
        let fractal = straight.replace("---clear_page_erms", "|--75.00%--clear_page_erms");
        let within = of(Field::WithinPercent, &format!("{HEAD}{fractal}"));
        assert!(within.contains(&("clear_subpage".to_owned(), 30.0)), "{within:?}");
    }

    #[test]
    fn names_in_a_chain_contain_blanks() {
        const ROWS: [&str; 15] = [
            "# Overhead  Command  Shared Object  Symbol",
            "#",
            "    40.00%  app  [kernel.kallsyms]  [k] clear_page_erms",
            "            |",
            "            ---clear_page_erms",
            "               asm_exc_page_fault",
            "               <core::iter::adapters::map::Map<I,F> as core::iter::Iterator>::fold",
            "               operator delete(void*, unsigned long)",
            "",
            "     9.00%  app  app  [.] <alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
            "            |",
            "            ---<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
            "               <core::option::Option<T> as core::ops::Try>::branch",
            "",
            "This is what somebody writes below",
        ];
        let text = ROWS.join("\n");
        let mut builder = Builder::new();
        builder.read("perf.txt", text.as_bytes()).expect("text");
        let recording = builder.finish();
        let lines = recording.unrecognised.iter().map(|part| part.first_line);
        assert_eq!(lines.collect::<Vec<_>>(), [ROWS.len()], "{:?}", recording.unrecognised);
        assert_eq!(shares(&text), [("clear_page_erms".to_owned(), 40.0)]);
    }

    #[test]
    fn perf_top_has_the_same_rows() {
        let top = "   PerfTop:   41877 irqs/sec  kernel:58.2%  exact:  0.0% [4000Hz cycles],  \
                   (all, 16 CPUs)\n------------------------\n\n    \
                   22.71%  [kernel]            [k] isolate_freepages_block\n     \
                   1.21%  libjvm.so           [.] 0x00000000006fe2a1\n";
        let found = [("isolate_freepages_block".to_owned(), 22.71)];
        assert_eq!(shares(top), found);
        assert_eq!(shares("    22.71%  [kernel]   [k] isolate_freepages_block\n"), found);
        let of_machine = |value: f64| [("machine".to_owned(), value)];
        assert_eq!(of(Field::CpuCount, top), of_machine(16.0));
        assert_eq!(of(Field::ProfileKernel, top), of_machine(58.2));
        let blank = top.replace("kernel:58.2%", "kernel: 4.2%");
        assert_eq!(of(Field::ProfileKernel, &blank), of_machine(4.2));
    }

    #[test]
    fn functions_of_the_kernel_are_added_up_over_programs() {
        let text = "# Samples: 34K of event 'cpu-clock'\n#\n# Overhead  Command  Shared Object  \
                    Symbol\n# ........  .......  .............  ......\n#\n    \
                    40.50%  redis server  [kernel.kallsyms]  [k] clear_page_erms\n        |\n   \
                    ---clear_page_erms\n               do_fault\n\n    \
                    9.50%  other  [kernel.kallsyms]  [k] clear_page_erms\n    \
                    5.00%  swapper  [kernel.kallsyms]  [k] pv_native_safe_halt\n    \
                    2.00%  other  libc.so.6  [.] malloc\n";
        assert_eq!(shares(text), [("clear_page_erms".to_owned(), 50.0)]);
    }

    #[test]
    fn rows_of_programs_come_first_as_well() {
        let text = "    58.18%  mysqld    [.] row_search_mvcc\n     \
                    1.05%  [kernel]  [k] copy_page\n";
        let mut builder = Builder::new();
        builder.read("perf.txt", text.as_bytes()).expect("text");
        let recording = builder.finish();
        assert!(recording.unrecognised.is_empty(), "{:?}", recording.unrecognised);
        assert_eq!(shares(text), [("copy_page".to_owned(), 1.05)]);
        let most = of(Field::ProfileKernelMost, text)[0].1;
        assert!((most - 41.82).abs() < 0.001, "{most}");
        assert_eq!(of(Field::ProfileKernel, text), []);
    }

    #[test]
    fn ways_to_a_lock_name_who_takes_it() {
        let text = "# Overhead  Command  Shared Object  Symbol\n    \
                    84.12%  squid  [kernel.kallsyms]  [k] native_queued_spin_lock_slowpath\n\
                    \x20           |\n            ---native_queued_spin_lock_slowpath\n\
                    \x20              |\n               |--81.20%--_raw_spin_lock\n\
                    \x20              |          |\n\
                    \x20              |          |--60.44%--inode_sb_list_add\n\
                    \x20              |          |          new_inode\n\
                    \x20              |          |          do_sys_open\n\
                    \x20              |           --20.76%--inode_sb_list_del\n\
                    \x20              |                     evict\n\
                    \x20               --2.92%--_raw_spin_lock_irqsave\n";
        let lock = "native_queued_spin_lock_slowpath";
        let wanted = [
            (format!("squid: evict > inode_sb_list_del > {lock}"), 20.76),
            (format!("squid: open() > new_inode > inode_sb_list_add > {lock}"), 60.44),
        ];
        assert_eq!(of(Field::PathPercent, text), wanted);
    }

    #[test]
    fn with_callees_the_own_share_counts() {
        let text = "# Children      Self  Command  Shared Object  Symbol\n    \
                    98.80%     0.00%  sh  [kernel.kallsyms]  [k] do_syscall_64\n    \
                    77.68%    77.68%  sh  [kernel.kallsyms]  [k] osq_lock\n";
        assert_eq!(shares(text), [("osq_lock".to_owned(), 77.68)]);
    }
}
