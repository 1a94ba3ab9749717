//! Folded stacks: a chain a line, the outermost function first, and how often it was met, as flame
//! graphs are drawn from.

use std::collections::BTreeSet;

use super::model::{Profile, unmarked};
use crate::recording::readers::prelude::*;

/// Of a single line this many functions at least.
const DEEP: usize = 4;

/// `java;start_thread;malloc 12`: the functions and the count.
fn chain(line: &str) -> Option<(Vec<&str>, f64)> {
    let (chain, count) = line.trim_end().rsplit_once(' ')?;
    Some((chain.split(';').collect(), number(count)?))
}

/// The same where nothing else says that it is one. A list of something else that semicolons part
/// has blanks behind them, values or empty fields.
fn stack(line: &str) -> Option<(Vec<&str>, f64)> {
    let (frames, count) = chain(line)?;
    let is_function = |frame: &&str| {
        let value = frame.contains('=') && !frame.contains("operator");
        !frame.is_empty() && !frame.starts_with(' ') && number(frame).is_none() && !value
    };
    (!line.starts_with([' ', '#']) && frames.iter().all(is_function)).then_some((frames, count))
}

/// The program of the outermost name: `java-4120/4121` has its ids.
fn program(name: &str) -> &str {
    let ids = |c: char| c.is_ascii_digit() || c == '/' || c == '?';
    let plain = name.trim_end_matches(ids);
    plain.strip_suffix('-').filter(|plain| !plain.is_empty()).unwrap_or(name)
}

/// Begins at two such lines, or one with a long chain.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let depth = |by| stack(lines.ahead(by)).map_or(0, |(frames, _)| frames.len());
    let folded = depth(0) > DEEP || depth(0) > 1 && depth(1) > 1;
    folded.then(|| lines.begin(SourceKind::Stacks, Folded::default(), out))
}

#[derive(Default)]
struct Folded {
    profile: Profile,
    programs: BTreeSet<String>,
}

impl Reader for Folded {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        let Some((frames, count)) = chain(line) else { return Taken::No };
        let [first, calls @ ..] = frames.as_slice() else { return Taken::No };
        let name = program(first);
        // A word and a number alone are of any listing.
        if calls.is_empty() && !self.programs.contains(name) {
            return Taken::No;
        }
        if self.programs.len() < super::model::KINDS_MAX {
            self.programs.insert(name.to_owned());
        }
        self.profile.chain(name, &unmarked(calls.iter().copied()), count);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        std::mem::take(&mut self.profile).put(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read, values};

    #[test]
    fn chains_are_added_up_without_idle_ones() {
        let recording = read(
            "web-31/77;main;read;entry_SYSCALL_64_after_hwframe;do_syscall_64;ksys_read;copy 30\n\
             web-31/78;main;parse 50\nweb 20\n\
             swapper;secondary_startup_64;cpu_startup_entry;do_idle;intel_idle 900\n\
             swapper;asm_common_interrupt;irq_exit_rcu;__do_softirq;net_rx_action 100\n",
        );
        all_understood(&recording);
        let of = |name: &str| {
            values(&recording, Field::SymbolPercent, &Subject::Symbol(name.to_owned()))
        };
        assert_eq!(of("copy"), [15.0]);
        assert_eq!(of("net_rx_action"), [50.0]);
        let entry = Subject::Calls { program: "web".to_owned(), path: "read()".to_owned() };
        assert_eq!(values(&recording, Field::EntryPercent, &entry), [15.0]);
        assert_eq!(values(&recording, Field::ProfileKernel, &Subject::Machine), [65.0]);
    }

    #[test]
    fn a_function_may_have_an_empty_or_odd_name() {
        let recording = read("web;main;parse;read;copy 30\nweb;main;a=b; 12\nweb;main; x 3\n");
        all_understood(&recording);
        assert_eq!(values(&recording, Field::ProfileWeight, &Subject::Machine), [45.0]);
    }

    #[test]
    fn waiting_is_no_cpu_time() {
        let wait = "entry_SYSCALL_64_after_hwframe;do_it;schedule;finish_task_switch";
        let text = format!("db;fsync;{wait} 9000\ndb;poll;{wait} 70\n");
        let recording = read(&text);
        assert!(recording.hosts[0].subjects(Field::SymbolPercent).next().is_none());
        assert_eq!(recording.hosts[0].subjects(Field::EventPercent).count(), 6);
    }

    #[test]
    fn other_lists_with_semicolons_are_none() {
        for text in [
            "a=1;b=2;c=3 200\nd=4;e=5 201\n",
            "Mozilla (X11; Linux) 200\nMozilla (X11; Linux) 304\n",
            "5;6;7 8\n1;2;3 4\n",
            "free 12\nused 13\n",
        ] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
