//! Pasted `/proc/vmstat`: counts since boot. One reading gives no rates, and readings in one text
//! have no times. Names: `vmstat_text` in `mm/vmstat.c`.

use super::meminfo::{find, keys};
use super::prelude::*;
use crate::recording::base_page::ASSUMED_BYTES;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Counts of events or base pages.
pub(super) static COUNTS: LazyLock<Vec<(&str, Field)>> = LazyLock::new(|| keys("vmstat_counts"));

/// How the names of lines begin that this file alone has.
const STARTS: [&str; 10] = [
    "nr_",
    "pg",
    "pswp",
    "thp_",
    "compact_",
    "allocstall",
    "numa_",
    "kswapd_",
    "oom_kill",
    "workingset_",
];

/// Counts with a line for each zone, in some versions; `pgscan_direct_throttle` is none of them.
const BY_ZONE: [(&str, Field); 3] = [
    ("allocstall_", Field::AllocStallCount),
    ("pgscan_kswapd_", Field::ScanKswapdCount),
    ("pgscan_direct_", Field::ScanDirectCount),
];
/// The zones by which some counters are split: `allocstall` since Linux 4.8, `pgscan_*` and
/// `pgsteal_*` before.
pub(super) const ZONES: [&str; 6] = ["dma", "dma32", "normal", "high", "movable", "device"];

/// Pages, which are reported in bytes: those that were swapped, and pages of now.
const PAGES: [(&str, Field); 5] = [
    ("pswpin", Field::SwapInCount),
    ("pswpout", Field::SwapOutCount),
    ("nr_dirty", Field::Dirty),
    ("nr_writeback", Field::Writeback),
    ("nr_dirty_threshold", Field::DirtyLimit),
];

/// The field of a count by zone.
pub(super) fn by_zone(name: &str) -> Option<Field> {
    let all = BY_ZONE.iter().find_map(|(start, field)| Some((name.strip_prefix(start)?, *field)));
    all.filter(|(zone, _)| ZONES.contains(zone)).map(|(_, field)| field)
}

fn entry<'a>(line: &'a str) -> Option<(&'a str, u64)> {
    // The first of two looks as `diff` shows them; the `>` of the second reads as a quotation.
    let words = words(line.strip_prefix("< ").unwrap_or(line));
    let [name, value] = words.as_slice() else { return None };
    let name: &'a str = name;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if !name.bytes().all(plain) {
        return None;
    }
    Some((name, count(value)?))
}

fn known(line: &str) -> bool {
    entry(line).is_some_and(|(name, _)| STARTS.iter().any(|start| name.starts_with(start)))
}

/// What `diff` says between lines: `12,14c12,14`, `---`.
fn between_looks(line: &str) -> bool {
    let places = |part: &str| part.split(',').all(|place| count(place).is_some());
    line == "---" || line.split_once('c').is_some_and(|(old, new)| places(old) && places(new))
}

/// Begins at two lines of the file, or at one that matters here.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let diff = between_looks(lines.ahead(0)) && lines.ahead(1).starts_with("< ");
    let at = usize::from(diff);
    let (name, _) = entry(lines.ahead(at)).filter(|_| known(lines.ahead(at)))?;
    let swapped = matches!(name, "pswpin" | "pswpout");
    let alone = find(&COUNTS, name).is_some() || by_zone(name).is_some() || swapped;
    (alone || diff || known(lines.ahead(1)))
        .then(|| lines.begin(SourceKind::ProcVmstat, ProcVmstat::default(), out))
}

/// Puts a count by its name.
pub(super) fn put(name: &str, value: f64, out: &mut Builder) {
    if let Some(field) = find(&PAGES, name) {
        out.put(field, &Subject::Machine, None, value * ASSUMED_BYTES);
    } else if let Some(field) = find(&COUNTS, name) {
        out.put(field, &Subject::Machine, None, value);
    }
}

#[derive(Default)]
struct ProcVmstat {
    /// Sums over the zones.
    zones: BTreeMap<Field, u64>,
    /// The first name, with which a second reading begins.
    first: Option<String>,
}

impl Reader for ProcVmstat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if elided(line) || between_looks(line) {
            return Taken::Yes;
        }
        let Some((name, value)) = entry(line) else { return Taken::No };
        if self.first.as_deref() == Some(name) {
            self.end(out);
        }
        self.first.get_or_insert_with(|| name.to_owned());
        if let Some(field) = by_zone(name) {
            let sum = self.zones.entry(field).or_default();
            *sum = sum.saturating_add(value);
        } else {
            put(name, value as f64, out);
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        for (field, sum) in std::mem::take(&mut self.zones) {
            out.put(field, &Subject::Machine, None, sum as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    #[test]
    fn counts_since_boot() {
        let recording = read(
            "nr_free_pages 1330870\nallocstall_dma 0\nallocstall_normal 5\nallocstall_movable 7\n\
             pgscan_kswapd 12\npgscan_direct 34\npgscan_direct_throttle 99\noom_kill 1\n\
             compact_stall 8\ncompact_fail 6\ncompact_success 2\nthp_fault_alloc 17\n\
             thp_fault_fallback 3\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::AllocStallCount), [12.0]);
        assert_eq!(machine(&recording, Field::ScanDirectCount), [34.0]);
        assert_eq!(machine(&recording, Field::CompactFailCount), [6.0]);
        assert_eq!(machine(&recording, Field::ThpFaultFallbackCount), [3.0]);
    }

    #[test]
    fn greps_of_some_lines_are_looks_as_well() {
        let grep = "egrep 'pgscan|allocstall|pswp' /proc/vmstat";
        let look = |more: u64| {
            let (swapped, scanned) = (8_812_044 + more, 9_120_448_120 + 10 * more);
            format!(
                "pswpin {swapped}\npgscan_kswapd_normal {scanned}\npgscan_direct_normal \
                 {scanned}\npgscan_direct_dma32 {more}\npgscan_direct_throttle 7\n"
            )
        };
        for typed in [
            format!("h:~# {grep}; sleep 10; {grep}\n{}{}", look(0), look(2000)),
            format!("h:~# {grep}\n{}h:~# sleep 10; {grep}\n{}", look(0), look(2000)),
        ] {
            let recording = read(&typed);
            all_understood(&recording);
            assert_eq!(machine(&recording, Field::SwapIn), [200.0 * 4096.0], "{typed}");
            assert_eq!(machine(&recording, Field::ScanKswapd), [2000.0]);
            assert_eq!(machine(&recording, Field::ScanDirect), [2200.0]);
        }
    }

    #[test]
    fn what_diff_shows_are_two_looks() {
        let typed = "h:~# cat /proc/vmstat > a; sleep 4; cat /proc/vmstat > b; diff a b";
        let hunks = "12,13c12,13\n< pgfree 1000\n< pgfault 400\n---\n> pgfree 9000\n\
                     > pgfault 800\n70c70\n< thp_collapse_alloc 5\n---\n\
                     > thp_collapse_alloc 13\n";
        let grepped: String = hunks
            .lines()
            .filter(|line| line.contains(' '))
            .fold(String::new(), |text, line| text + line + "\n");
        for (typed, shown) in [(typed.to_owned(), hunks), (format!("{typed} | grep _"), &*grepped)]
        {
            let recording = read(&format!("{typed}\n{shown}"));
            all_understood(&recording);
            assert_eq!(machine(&recording, Field::Faults), [100.0], "{shown}");
            assert_eq!(machine(&recording, Field::PagesFreed), [2000.0]);
            assert_eq!(machine(&recording, Field::ThpCollapse), [2.0]);
        }
    }

    #[test]
    fn one_line_that_matters_is_enough_and_other_words_are_none() {
        assert_eq!(machine(&read("compact_stall 8\n"), Field::CompactStallCount), [8.0]);
        assert!(read("pages 12\nchapter 7\nnr_things 5\n").hosts.is_empty());
    }
}
