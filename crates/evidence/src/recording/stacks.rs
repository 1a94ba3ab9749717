//! Chains of calls with how much time each has, as flame graphs are drawn from.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Most bytes of all chains of a machine: a profile of a large Java service has about 5 MB of
/// different ones.
const BYTES_MAX: usize = 32 << 20;

/// Longest name of a function that is drawn: of longer ones, as C++ has, the rest says little.
const NAME_CHARS_MAX: usize = 200;

/// Chains of calls of one event, the outermost function first, parted by semicolons. Idle time is
/// left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stacks {
    /// The event as its tool calls it; empty: unknown.
    pub event: String,
    /// Whether the values are shares of CPU time.
    pub cpu_time: bool,
    /// By chain: the program, then its functions. Those of the kernel end in `_[k]`.
    pub folded: BTreeMap<String, f64>,
    /// What chains have that found no room.
    pub left_out: f64,
    bytes: usize,
}

impl Stacks {
    /// One more chain: names, and whether each is the kernel's.
    pub(super) fn add<'a>(
        &mut self,
        program: &str,
        chain: impl Iterator<Item = (&'a str, bool)>,
        count: f64,
    ) {
        let mut folded = String::with_capacity(256);
        push_name(&mut folded, program);
        for (name, kernel) in chain {
            folded.push(';');
            push_name(&mut folded, name);
            folded.push_str(if kernel { "_[k]" } else { "" });
        }
        self.put(folded, count);
    }

    fn put(&mut self, folded: String, count: f64) {
        let length = folded.len();
        match self.folded.entry(folded) {
            Entry::Occupied(mut known) => *known.get_mut() += count,
            Entry::Vacant(new) if self.bytes + length <= BYTES_MAX => {
                self.bytes += length;
                new.insert(count);
            }
            Entry::Vacant(_) => self.left_out += count,
        }
    }

    /// What others say of the same event.
    pub(super) fn join(&mut self, others: Self) {
        self.left_out += others.left_out;
        for (folded, count) in others.folded {
            self.put(folded, count);
        }
    }
}

/// A name as a part of a chain: without what parts names, or is no text.
fn push_name(folded: &mut String, name: &str) {
    let plain = |c: char| match c {
        ';' => ':',
        '\u{fffe}' | '\u{ffff}' => '?',
        c if c.is_control() => '?',
        c => c,
    };
    folded.extend(name.trim().chars().take(NAME_CHARS_MAX).map(plain));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_added_up_and_their_names_stay_names() {
        let mut stacks = Stacks::default();
        let chain = [("a;b\nc", false), ("copy", true)];
        stacks.add("web", chain.into_iter(), 3.0);
        let mut more = Stacks::default();
        more.add("web", chain.into_iter(), 4.0);
        more.add("web", [].into_iter(), 1.0);
        stacks.join(more);
        let all: Vec<_> = stacks.folded.iter().map(|(chain, n)| (chain.as_str(), *n)).collect();
        assert_eq!(all, [("web", 1.0), ("web;a:b?c;copy_[k]", 7.0)]);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut stacks = Stacks { bytes: BYTES_MAX - 4, ..Stacks::default() };
        stacks.add("web", [].into_iter(), 1.0);
        stacks.add("other", [].into_iter(), 2.0);
        stacks.add("web", [].into_iter(), 1.0);
        assert_eq!((stacks.folded["web"], stacks.left_out), (2.0, 2.0));
    }
}
