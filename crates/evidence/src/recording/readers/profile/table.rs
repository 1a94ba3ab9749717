//! `perf report` and `perf top`, printed or copied from the screen: where the samples of a profile
//! lie, by function of the kernel, and in what those were called.

use crate::recording::readers::prelude::*;
use crate::recording::readers::words::percent;

use super::chain::{Chain, branch};
use super::model::{FRAMES_MAX, Profile, ProfileRow, lost};

/// Blanks before a function of a chain: 12 (Linux 6.1, `tools/perf/ui/stdio/hist.c`), fewer where a
/// report was quoted.
const MARGIN: &str = "          ";

/// Lines of notes before the headings: 8 in versions 5 and 6.
const NOTES_MAX: usize = 24;

/// Most shares before a row's program, and most lines of a row that was wrapped.
const SHARES_MAX: usize = 8;
const ROW_LINES_MAX: usize = 4;

/// What stands before a function: the kernel's, a program's, a guest's, the hypervisor's.
const MARKS: [&str; 6] = ["[k]", "[.]", "[g]", "[u]", "[H]", "[j]"];

/// How the head of `perf top` begins.
const TOP: &str = "PerfTop:";

/// The words of a row.
#[derive(Debug, PartialEq)]
struct Words<'a> {
    /// The shares at its start.
    shares: Vec<f64>,
    /// Between them and the mark of the function: program, object, counts.
    before: &'a str,
    kernel: bool,
    /// Empty where the line ends before it.
    name: &'a str,
    /// Whether there is a mark at all.
    marked: bool,
}

/// A line without what a screen has before its rows.
fn unfolded(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix(['+', '-']).filter(|rest| rest.starts_with(' ')).map_or(line, str::trim_start)
}

/// The words of a line that begins as a row does.
fn words_of(line: &str) -> Option<Words<'_>> {
    let mut rest = unfolded(line);
    let mut shares = Vec::new();
    while let Some(share) = rest.split_whitespace().next().and_then(percent) {
        if shares.len() == SHARES_MAX {
            return None;
        }
        shares.push(share);
        rest = rest.split_once('%')?.1.trim_start();
    }
    if shares.is_empty() {
        return None;
    }
    let is_mark = |at: usize, mark: &str| {
        let apart = at == 0 || rest[..at].ends_with(char::is_whitespace);
        apart && rest[at + mark.len()..].chars().next().is_none_or(char::is_whitespace)
    };
    // The program's name may contain blanks: the mark in front of the function does not.
    let found = MARKS.iter().flat_map(|mark| rest.match_indices(mark));
    let mark = found.filter(|(at, mark)| is_mark(*at, mark)).min();
    let (at, mark) = mark.unwrap_or((rest.len(), ""));
    let name = rest[at + mark.len()..].split_whitespace().next().unwrap_or_default();
    let (before, kernel) = (rest[..at].trim_end(), mark == "[k]");
    Some(Words { shares, before, kernel, name, marked: !mark.is_empty() })
}

impl Words<'_> {
    fn is_whole(&self) -> bool {
        !self.name.is_empty()
    }

    /// The program, from what stands before the mark of the function.
    fn program(&self) -> String {
        let words = self.before.split_whitespace();
        let said = |word: &&str| !word.starts_with('[') && count(word).is_none();
        let words: Vec<&str> = words.filter(said).collect();
        if words.is_empty() { "all programs".to_owned() } else { words.join(" ") }
    }
}

/// A row with what terminals and mail programs put on the next line: nothing when the next one
/// does not complete it.
fn joined_row(start: &str, next: &str) -> Option<String> {
    let before = words_of(start).filter(|words| !words.is_whole())?;
    let next = next.trim();
    let fits = match before.marked {
        true => percent(next.split_whitespace().next()?).is_none() && !next.starts_with(['|', '-']),
        false => !next.is_empty() && words_of(next).is_none(),
    };
    fits.then(|| format!("{} {next}", start.trim_end()))
}

/// The rows that follow, each whole, as far as one looks ahead.
fn rows_ahead(lines: &Lines<'_>) -> Vec<String> {
    let (mut rows, mut by) = (Vec::new(), 0);
    while by < LINES_AROUND {
        let mut row = lines.ahead(by).to_owned();
        by += 1;
        for more in 0..ROW_LINES_MAX {
            let Some(words) = words_of(&row) else { break };
            if words.is_whole() {
                rows.push(row);
                by += more;
                break;
            }
            let Some(longer) = joined_row(&row, lines.ahead(by + more)) else { break };
            row = longer;
        }
    }
    rows
}

/// The headings of a table: nothing when the line has none.
fn headings(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['#', ' ', '\t']);
    let begins = line.starts_with("Overhead") || line.starts_with("Children ");
    (begins && line.contains("Symbol")).then_some(line)
}

/// `Samples: 88K of event 'cycles'`: how many there are, and of which event.
fn samples(line: &str) -> Option<(Option<f64>, &str)> {
    let rest = line.trim_start_matches(['#', ' ', '\t']).strip_prefix("Samples:")?;
    let (many, rest) = rest.split_once(" of event")?;
    let (_, rest) = rest.split_once('\'')?;
    let (many, unit) = number_and_unit(many.trim())?;
    let factor = match unit {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some((Some(many * factor), rest.split('\'').next()?))
}

/// Whether the lines ahead are of a table, and which of two shares is the function's own:
/// the second, where the first has what it called. Of tables without headings there must be two
/// rows, or the drawing of a chain below the first.
fn table(lines: &Lines<'_>) -> Option<bool> {
    let notes = |line: &&str| line.starts_with('#') || samples(line).is_some();
    let mut heading = None;
    for by in 0..NOTES_MAX {
        let line = lines.ahead(by);
        heading = headings(line);
        let blank = by > 0 && line.trim().is_empty();
        if heading.is_some() || !(notes(&line) || blank) {
            break;
        }
    }
    if let Some(heading) = heading {
        return Some(heading.starts_with("Children"));
    }
    let first = words_of(lines.ahead(0))?.shares.len();
    let rows = rows_ahead(lines);
    let of_shape = rows.iter().filter_map(|row| words_of(row)).filter(|r| r.shares.len() == first);
    let rows: Vec<_> = of_shape.collect();
    // With what a function calls it has at least as much as by itself.
    let children = first == 2 && rows.iter().all(|row| row.shares[0] >= row.shares[1]);
    let drawn = (1..=2).any(|by| lines.ahead(by).trim_start().starts_with(['|', '-']));
    (rows.len() >= 2 || !rows.is_empty() && drawn).then_some(children)
}

/// Finds the line of headings, or the notes before it; or the head of `perf top`, or rows.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let top = lines.ahead(0).trim_start().starts_with(TOP);
    let children = if top { Some(false) } else { table(lines) }?;
    let profile = Profile::of_percent();
    let table = Table { children, profile, ..Table::default() };
    Some(lines.begin(SourceKind::PerfReport, table, out))
}

/// The CPUs that `perf top` watches: `(all, 16 CPUs)`.
fn cpus(head: &str) -> Option<u64> {
    let (_, rest) = head.split_once("(all, ")?;
    count(rest.split_once(" CPU")?.0).filter(|cpus| *cpus > 0)
}

/// The kernel's share in the head of `perf top`: `kernel:74.1%`, `kernel: 4.2%`.
fn kernel(head: &str) -> Option<f64> {
    let (_, rest) = head.split_once("kernel:")?;
    percent(rest.split_whitespace().next()?)
}

/// The event in the head of `perf top`: `[4000Hz cycles]`.
fn event(head: &str) -> Option<&str> {
    let (_, rest) = head.split_once("Hz ")?;
    rest.split([']', ' ', ',']).next()
}

/// A table in the making.
#[derive(Default)]
struct Table {
    /// Of two shares the first is that of all callees; its own share is the second.
    children: bool,
    profile: Profile,
    /// The chain that is read now.
    chain: Option<Chain>,
    /// Whether the lines of a chain were seen below this row, of whatever program.
    drawn: bool,
    /// The beginning of a row whose end is on the next line, and how many lines it has.
    open: Option<(String, usize)>,
    rows: usize,
    /// Functions of chains that were too many.
    left_out: usize,
}

impl Table {
    /// A row; `None`: it is no row, or not yet a whole one.
    fn row(&mut self, line: &str) -> Option<()> {
        let words = words_of(line).filter(Words::is_whole)?;
        self.chain_ends();
        self.rows += 1;
        let own = *words.shares.get(usize::from(self.children)).or(words.shares.last())?;
        let within = if self.children { words.shares.first().copied() } else { None };
        let program = words.program();
        let (kernel, name) = (words.kernel, words.name);
        let work = self.profile.row(&ProfileRow { own, within, program: &program, name, kernel });
        self.chain = (work && own > 0.0).then(|| Chain::new(own, program, name));
        self.drawn = false;
        Some(())
    }

    /// A line of the chain below a row.
    fn called(&mut self, line: &str) {
        let Some(chain) = &mut self.chain else { return };
        let Some((name, share)) = chain.function(line) else { return };
        self.profile.chained(name, share);
    }

    /// Nothing more of the chain follows.
    fn chain_ends(&mut self) {
        let Some(mut chain) = self.chain.take() else { return };
        chain.branch_ends();
        self.left_out += chain.left_out;
        for (path, share) in chain.paths {
            self.profile.path(&chain.program, path, share);
        }
    }

    /// Whether a line is the head of a table, which is noted. `None`: another table begins.
    fn head(&mut self, line: &str, out: &mut Builder) -> Option<bool> {
        let start = line.trim_start();
        let said = samples(start);
        let top = start.starts_with(TOP);
        if !top && said.is_none() && headings(start).is_none() {
            return Some(false);
        }
        if self.rows > 0 {
            return None;
        }
        if top {
            let cpus = cpus(start).map(|cpus| cpus as f64);
            out.put_known(Field::CpuCount, &Subject::Machine, None, cpus);
            kernel(start).into_iter().for_each(|kernel| self.profile.kernel(kernel));
        }
        let (many, event) = said.unwrap_or((None, event(start).unwrap_or_default()));
        if !event.is_empty() {
            self.profile.head(many, event);
        }
        Some(true)
    }

    /// Whether a line belongs to a chain of calls. These are drawn with lines, or set in below such
    /// a line; names of C++ and Rust contain blanks.
    fn in_chain(&mut self, line: &str) -> bool {
        let start = line.trim_start();
        let one = |(_, name): (f64, &str)| !name.contains(' ');
        let screen = || branch(unfolded(line)).is_some_and(one) && line.starts_with(' ');
        let drawing = start.starts_with(['|', '-']) || self.rows > 0 && screen();
        // A chain ends with an empty line.
        self.drawn = !start.is_empty() && (self.drawn || drawing);
        let word = line.starts_with(' ') && !start.contains(' ');
        let function = self.drawn && (line.starts_with(MARGIN) || word);
        start.is_empty() || start.starts_with('#') || drawing || function
    }
}

impl Reader for Table {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some((start, lines)) = self.open.take() {
            let longer = joined_row(&start, line).filter(|_| lines < ROW_LINES_MAX);
            match longer {
                Some(longer) if self.row(&longer).is_some() => return Taken::Yes,
                Some(longer) => {
                    self.open = Some((longer, lines + 1));
                    return Taken::Yes;
                }
                None => self.called(&start),
            }
        }
        let Some(head) = self.head(line, out) else { return Taken::No };
        if head || self.row(line).is_some() {
            return Taken::Yes;
        }
        let line = line.trim_end();
        lost(line).into_iter().for_each(|lost| self.profile.lost(lost));
        if self.in_chain(line) {
            self.called(line);
            return Taken::Yes;
        }
        if words_of(line).is_some() {
            self.open = Some((line.to_owned(), 1));
            return Taken::Yes;
        }
        Taken::No
    }

    fn end(&mut self, out: &mut Builder) {
        self.chain_ends();
        if self.left_out > 0 {
            out.cut(format!(
                "chains of more than {FRAMES_MAX} calls in a profile: {} more functions are left \
                 out",
                self.left_out
            ));
        }
        std::mem::take(&mut self.profile).put(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read};

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
        // A row alone may be what somebody quotes.
        assert_eq!(shares("    22.71%  [kernel]   [k] isolate_freepages_block\n"), []);
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
                    20.00%  swapper  [kernel.kallsyms]  [k] pv_native_safe_halt\n    \
                    2.00%  other  libc.so.6  [.] malloc\n";
        assert_eq!(shares(text), [("clear_page_erms".to_owned(), 62.5)]);
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

    #[test]
    fn screens_are_read_as_they_are_copied() {
        let head = "Samples: 12K of event 'cycles', Event count (approx.): 9\n";
        let open = "  Children      Self  Command  Shared Object  Symbol\n\
                    -   70.00%     1.00%  db  [kernel.kallsyms]  [k] do_anonymous_page\n   \
                    - 69.00% do_anonymous_page\n      - 61.00% alloc_pages\n           get_page\n\
                    +   60.00%    59.00%  db  [kernel.kallsyms]  [k] get_page\n";
        let recording = read(&format!("{head}{open}"));
        all_understood(&recording);
        assert_eq!(shares(&format!("{head}{open}")).len(), 2);
        assert_eq!(shares(open)[1], ("get_page".to_owned(), 59.0));
        assert_eq!(of(Field::ProfileSamples, &format!("{head}{open}"))[0].1, 12000.0);
        let within = of(Field::WithinPercent, open);
        assert!(within.contains(&("do_anonymous_page".to_owned(), 70.0)), "{within:?}");
    }

    #[test]
    fn of_two_shares_the_own_one_is_never_the_larger() {
        let rows = "  91.10%  0.20%  db  [kernel.vmlinux]  [k] do_syscall_64\n  \
                    33.30%  33.10%  db  [kernel.vmlinux]  [k] osq_lock\n";
        assert_eq!(
            shares(rows),
            [("do_syscall_64".to_owned(), 0.2), ("osq_lock".to_owned(), 33.1)]
        );
    }

    #[test]
    fn rows_are_joined_where_they_were_wrapped() {
        for text in [
            "  31.20%  web  [kernel.kallsyms]  [k]\nosq_lock\n  9.00%  web  web  [.]\nmain\n",
            "  31.20%  web  [kernel.kallsyms]\n[k] osq_lock\n  9.00%  web  web\n[.] main\n",
            "31.20%\nweb  [kernel.kallsyms]\n[k] osq_lock\n9.00%\nweb web\n[.] main\n",
        ] {
            let recording = read(text);
            all_understood(&recording);
            assert_eq!(shares(text), [("osq_lock".to_owned(), 31.2)], "{text}");
        }
    }

    #[test]
    fn words_around_rows_are_no_functions() {
        let rows = "  31.20%  [kernel]  [k] osq_lock\n  9.00%  web  [.] main\n";
        for text in [format!("```\n{rows}```\n"), format!("{rows}compact_zone?\nor not\n")] {
            assert_eq!(shares(&text), [("osq_lock".to_owned(), 31.2)]);
            assert_eq!(of(Field::WithinPercent, &text), []);
        }
        assert_eq!(of(Field::SymbolPercent, "I see 60 % compact_zone in perf\n"), []);
    }

    #[test]
    fn tables_of_other_events_and_idle_time_are_no_work() {
        let rows = "# Overhead  Command  Shared Object  Symbol\n    \
                    60.00%  swapper  [kernel.kallsyms]  [k] intel_idle\n    \
                    20.00%  db  [kernel.kallsyms]  [k] osq_lock\n";
        assert_eq!(shares(rows), [("osq_lock".to_owned(), 50.0)]);
        let faults = format!("# Samples: 9K of event 'page-faults'\n{rows}");
        assert_eq!(shares(&faults), []);
        assert_eq!(of(Field::EventPercent, &faults).len(), 2);
    }
}
