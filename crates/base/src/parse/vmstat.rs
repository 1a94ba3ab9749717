//! `/proc/vmstat` and other files of `name value` lines, such as a cgroup's `memory.stat`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{NAMES_MAX, ParseError, Parsed, decimal, numbered_lines};

/// Counters and gauges by the kernel's names. Units differ by name; most are pages or events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmStat(pub BTreeMap<String, u64>);

impl VmStat {
    /// One value; `None` when this kernel does not have it.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// How much each value grew since `earlier`. `None` for one that shrank (a counter was reset,
    /// or it is no counter) and for one that `earlier` does not have.
    pub fn delta(&self, earlier: &Self) -> BTreeMap<String, Option<u64>> {
        let growth = |name: &str, now: u64| now.checked_sub(earlier.get(name)?);
        self.0.iter().map(|(name, now)| (name.clone(), growth(name, *now))).collect()
    }
}

/// Reads the file.
pub fn parse(text: &str) -> Parsed<VmStat> {
    let mut parsed = Parsed::<VmStat>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let pair = line.split_once(' ').filter(|(name, _)| !name.is_empty());
        match pair.and_then(|(name, value)| Some((name, decimal(value)?))) {
            Some((name, value)) => {
                if let Some(known) = parsed.value.0.get_mut(name) {
                    *known = value;
                } else if parsed.value.0.len() < NAMES_MAX {
                    parsed.value.0.insert(name.to_owned(), value);
                } else {
                    let wanted = "no more than 8192 names; the rest is left out";
                    parsed.full("vmstat", number, line, wanted);
                }
            }
            None => parsed.note(ParseError::new("vmstat", number, line, "'name number'")),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
nr_free_pages 1042011
nr_free_pages_blocks 994304
thp_fault_alloc 17
thp_collapse_alloc 3
";

    #[test]
    fn reads_values_by_name() {
        let parsed = parse(TEXT);
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.value.get("thp_fault_alloc"), Some(17));
        assert_eq!(parsed.value.get("thp_split_page"), None);
    }

    #[test]
    fn growth_is_unknown_where_a_counter_went_back_or_is_new() {
        let earlier = parse("a 5\nb 9\n").value;
        let later = parse("a 7\nb 2\nc 1\n").value;
        let delta = later.delta(&earlier);
        assert_eq!(delta.get("a"), Some(&Some(2)));
        assert_eq!(delta.get("b"), Some(&None));
        assert_eq!(delta.get("c"), Some(&None));
    }

    #[test]
    fn reports_lines_without_a_number() {
        let parsed = parse("a 5\nb\nc -1\n 7\n");
        assert_eq!(parsed.value.0.len(), 1);
        assert_eq!(parsed.problems.len(), 3);
    }
}
