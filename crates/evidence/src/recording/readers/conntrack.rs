//! `conntrack -S`: what each CPU counted of connections that found no place (conntrack(8)).

use std::collections::BTreeMap;

use super::prelude::*;

const COUNTED: [(&str, Field); 3] = [
    ("drop", Field::ConntrackDropCount),
    ("insert_failed", Field::ConntrackFailCount),
    ("early_drop", Field::ConntrackEvictCount),
];

/// `cpu=0   found=12 invalid=0 insert=0 insert_failed=7 drop=7 early_drop=0 error=0`.
fn pairs(line: &str) -> Option<Vec<(&str, u64)>> {
    let pair = |word: &'_ str| -> Option<(usize, u64)> {
        let at = word.find('=')?;
        Some((at, count(word.get(at + 1..)?)?))
    };
    let words = words(line);
    let all: Option<Vec<(&str, u64)>> =
        words.iter().map(|word| pair(word).map(|(at, value)| (&word[..at], value))).collect();
    all.filter(|all| all.len() > 2 && all.first().is_some_and(|(name, _)| *name == "cpu"))
}

/// Begins at the first CPU.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    pairs(lines.ahead(0))?;
    Some(lines.resume(SourceKind::Conntrack, Conntrack::default(), out))
}

/// Sums over the CPUs.
#[derive(Default)]
struct Conntrack {
    sums: BTreeMap<Field, f64>,
}

impl Reader for Conntrack {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let Some(pairs) = pairs(line) else { return Taken::No };
        if pairs.first() == Some(&("cpu", 0)) {
            self.end(out);
        }
        for (name, value) in pairs {
            if let Some((_, field)) = COUNTED.iter().find(|(known, _)| *known == name) {
                *self.sums.entry(*field).or_default() += value as f64;
            }
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        for (field, sum) in std::mem::take(&mut self.sums) {
            out.put(field, &Subject::Machine, None, sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    #[test]
    fn the_sums_of_all_cpus() {
        let recording = read(
            "cpu=0   \tfound=10 invalid=2 insert=0 insert_failed=7 drop=5 early_drop=1 error=0\n\
             cpu=1   \tfound=11 invalid=2 insert=0 insert_failed=3 drop=2 early_drop=0 error=0\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::ConntrackFailCount), [10.0]);
        assert_eq!(machine(&recording, Field::ConntrackDropCount), [7.0]);
        let table = read("$ sudo conntrack -C\n262144\n");
        all_understood(&table);
        let setting = &table.hosts[0].settings["/proc/sys/net/netfilter/nf_conntrack_count"];
        assert_eq!(setting.text, "262144");
    }
}
