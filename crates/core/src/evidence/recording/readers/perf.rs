//! `perf report --stdio`: where the samples of a profile lie, by function of the kernel.

use std::collections::BTreeMap;

use super::{Lines, Reader, Taken};
use crate::evidence::recording::{Builder, Field, SourceKind, Subject};

/// Most functions that are recorded; a report of a whole machine names some thousands.
const SYMBOLS_MAX: usize = 10_000;

/// Functions in which an idle CPU rests: samples there are no work.
const IDLE: [&str; 8] = [
    "pv_native_safe_halt",
    "native_safe_halt",
    "acpi_safe_halt",
    "default_idle",
    "intel_idle",
    "mwait_idle",
    "acpi_idle_do_entry",
    "cpuidle_enter_state",
];

/// A report in the making: shares of one function over all programs are added up.
#[derive(Debug, Default)]
struct Perf {
    /// With call chains a row begins with the share of all callees; its own share is the second.
    children: bool,
    shares: BTreeMap<String, f64>,
    /// With callees, where the report has them.
    within: BTreeMap<String, f64>,
}

/// Lines of notes before the headings: 8 in versions 5 and 6.
const NOTES_MAX: usize = 24;

/// Finds the line of headings, or the notes before it.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let notes = (0..NOTES_MAX).map(|by| lines.ahead(by)).take_while(|line| line.starts_with('#'));
    let heading = |line: &&str| line.contains("Overhead ") || line.contains("Children ");
    let heading = notes.filter(heading).last()?.strip_prefix('#')?.trim_start();
    let children = heading.starts_with("Children");
    let ours = (children || heading.starts_with("Overhead")) && heading.contains("Symbol");
    if !ours {
        return None;
    }
    out.begin(SourceKind::PerfReport, lines.number());
    Some(Box::new(Perf { children, ..Perf::default() }))
}

fn percent(word: &str) -> Option<f64> {
    let value: f64 = word.strip_suffix('%')?.replace(',', ".").parse().ok()?;
    (0.0..=100.0).contains(&value).then_some(value)
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
        let (_, function) = line.split_once("[k] ")?;
        let name = function.split_whitespace().next()?;
        let idle = IDLE.iter().any(|idle| name.starts_with(idle));
        let known = self.shares.contains_key(name);
        if !idle && (known || self.shares.len() < SYMBOLS_MAX) {
            *self.shares.entry(name.to_owned()).or_default() += share;
            if self.children {
                *self.within.entry(name.to_owned()).or_default() += below;
            }
        }
        Some(())
    }
}

impl Reader for Perf {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        if self.row(line).is_some() {
            return Taken::Yes;
        }
        let line = line.trim_start();
        // Call chains are drawn with lines or indented by blanks; programs' functions are `[.]`.
        let chain = line.is_empty()
            || line.starts_with(['#', '|', '-'])
            || line.contains("[.] ")
            || !line.contains(' ');
        if chain { Taken::Yes } else { Taken::No }
    }

    fn end(&mut self, out: &mut Builder) {
        let all = [
            (Field::SymbolPercent, std::mem::take(&mut self.shares)),
            (Field::WithinPercent, std::mem::take(&mut self.within)),
        ];
        for (field, shares) in all {
            for (name, share) in shares.into_iter().filter(|(_, share)| *share > 0.0) {
                out.put(field, &Subject::Symbol(name), None, share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(text: &str) -> Vec<(String, f64)> {
        let mut builder = Builder::new();
        builder.read("perf.txt", text.as_bytes()).expect("text");
        let recording = builder.finish();
        let all = recording.hosts.iter().flat_map(|host| host.subjects(Field::SymbolPercent));
        all.map(|(subject, series)| (subject.to_string(), series[0].points[0].value)).collect()
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
    fn with_callees_the_own_share_counts() {
        let text = "# Children      Self  Command  Shared Object  Symbol\n    \
                    98.80%     0.00%  sh  [kernel.kallsyms]  [k] do_syscall_64\n    \
                    77.68%    77.68%  sh  [kernel.kallsyms]  [k] osq_lock\n";
        assert_eq!(shares(text), [("osq_lock".to_owned(), 77.68)]);
    }
}
