//! Pasted `/proc/meminfo`, whole or in part. proc_meminfo(5).

use super::prelude::*;
use super::sysstat::of_key;
use crate::recording::words::{LISTING_COLUMNS, MEMINFO_OTHER_KEYS};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How many lines are searched for a second known key.
const LINES_AHEAD: usize = 4;

/// The keys of a section of `columns.tsv`, each with its field.
pub(super) fn keys(section: &str) -> Vec<(&'static str, Field)> {
    let rows = LISTING_COLUMNS.iter().filter(|row| row.section == section);
    let keyed = rows.map(|row| (row, row.fields()));
    keyed.map(|(row, [key, field])| (key, of_key(row, field))).collect()
}

/// Sizes.
pub(super) static KEYS: LazyLock<Vec<(&str, Field)>> = LazyLock::new(|| keys("meminfo"));

/// Counts of pages of `Hugepagesize` each: the default HugeTLB pool.
pub(super) const POOL_KEYS: [(&str, Field); 4] = [
    ("HugePages_Total", Field::HugetlbTotal),
    ("HugePages_Free", Field::HugetlbFree),
    ("HugePages_Rsvd", Field::HugetlbReserved),
    ("HugePages_Surp", Field::HugetlbSurplus),
];

/// The field of a key.
pub(super) fn find(keys: &[(&str, Field)], key: &str) -> Option<Field> {
    keys.iter().find(|(known, _)| *known == key).map(|(_, field)| *field)
}

/// What a line of the file is.
enum Entry {
    Size(Field, u64),
    Pages(Field, u64),
    /// Of the file, but of no use here.
    Other,
    /// A key of use without a number that makes sense.
    Wrong,
}

fn entry(line: &str) -> Option<Entry> {
    let words = words(line);
    let key = words.first()?.strip_suffix(':')?;
    let value = words.get(1).and_then(|word| count(word));
    let in_kib = words.get(2).is_some_and(|unit| matches!(*unit, "kB" | "KB" | "kb"));
    if let Some(field) = find(&POOL_KEYS, key) {
        return Some(value.map_or(Entry::Wrong, |pages| Entry::Pages(field, pages)));
    }
    if let Some(field) = find(&KEYS, key) {
        let bytes = value.filter(|_| in_kib).and_then(|kib| kib.checked_mul(1024));
        return Some(bytes.map_or(Entry::Wrong, |bytes| Entry::Size(field, bytes)));
    }
    let other = MEMINFO_OTHER_KEYS.contains(&key) || key.starts_with("DirectMap");
    (other && value.is_some() && in_kib).then_some(Entry::Other)
}

/// Begins at a line that only this file has, or at a known key with another one near.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let known = |line: &str| {
        let found = entry(line)?;
        matches!(found, Entry::Size(..) | Entry::Pages(..)).then_some(found)
    };
    let first = known(lines.ahead(0))?;
    let alone = match first {
        Entry::Pages(..) => true,
        Entry::Size(field, _) => {
            matches!(field, Field::MemTotal | Field::PageTables | Field::HugetlbPage)
        }
        _ => false,
    };
    if !alone && (1..=LINES_AHEAD).all(|by| known(lines.ahead(by)).is_none()) {
        return None;
    }
    Some(lines.begin(SourceKind::Meminfo, PastGaps(Meminfo::default()), out))
}

#[derive(Default)]
struct Meminfo {
    sizes: BTreeMap<Field, u64>,
    pages: BTreeMap<Field, u64>,
}

impl Reader for Meminfo {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let (field, value, sizes) = match entry(line) {
            None => return Taken::No,
            Some(Entry::Other) => return Taken::Yes,
            Some(Entry::Wrong) => {
                out.problem("no 'number kB' behind a key of /proc/meminfo: left out");
                return Taken::Yes;
            }
            Some(Entry::Size(field, value)) => (field, value, true),
            Some(Entry::Pages(field, value)) => (field, value, false),
        };
        if self.sizes.contains_key(&field) || self.pages.contains_key(&field) {
            self.end(out);
        }
        let values = if sizes { &mut self.sizes } else { &mut self.pages };
        values.insert(field, value);
        Taken::Yes
    }

    /// One reading of the file is complete: where a key comes again, and at the end.
    fn end(&mut self, out: &mut Builder) {
        let sizes = std::mem::take(&mut self.sizes);
        let pages = std::mem::take(&mut self.pages);
        for (field, bytes) in &sizes {
            out.put(*field, &Subject::Machine, None, *bytes as f64);
        }
        let page_bytes =
            sizes.get(&Field::HugetlbPage).copied().or_else(|| page_size(&sizes, &pages));
        let mut sizeless = false;
        for (field, pages) in pages {
            let bytes = match (pages, page_bytes) {
                (0, _) => Some(0),
                (_, Some(page_bytes)) => pages.checked_mul(page_bytes),
                (_, None) => None,
            };
            match bytes {
                Some(bytes) => out.put(field, &Subject::Machine, None, bytes as f64),
                None => sizeless = true,
            }
        }
        if sizeless {
            out.problem("HugePages_ lines without a usable Hugepagesize: their pages are left out");
        }
    }
}

/// The size of a page of the default pool, where it follows: all HugeTLB memory divided by the
/// number of pages. Pages of other sizes would make it another value than any architecture has.
fn page_size(sizes: &BTreeMap<Field, u64>, pages: &BTreeMap<Field, u64>) -> Option<u64> {
    // 64 KiB (arm64) to 16 GiB (powerpc): Documentation/admin-guide/mm/hugetlbpage.rst.
    const SIZES: std::ops::RangeInclusive<u64> = 1 << 16..=1 << 34;
    let (all, count) = (*sizes.get(&Field::HugetlbAll)?, *pages.get(&Field::HugetlbTotal)?);
    let bytes = all.checked_div(count)?;
    let whole = bytes * count == all && bytes.is_power_of_two() && SIZES.contains(&bytes);
    whole.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    #[test]
    fn an_elided_and_annotated_paste() {
        let recording = read(
            "MemTotal:     20549012 kB\nMemFree:        236668 kB\nBuffers:         77800 kB\n\
             Cached:        7189572 kB\n...\nPageTables:    5007924 kB  <--- 5GB!\n...\n\
             HugePages_Total:     0\nHugePages_Free:      0\nHugepagesize:     2048 kB\n\n\
             HugePages\n",
        );
        assert_eq!(machine(&recording, Field::PageTables), [5_007_924.0 * 1024.0]);
        assert_eq!(machine(&recording, Field::HugetlbTotal), [0.0]);
        assert_eq!(machine(&recording, Field::HugetlbPage), [2_097_152.0]);
        assert_eq!(machine(&recording, Field::SwapTotal).len(), 0);
        assert_eq!(recording.unrecognised[0].first_line, 12);
        assert_eq!(recording.problems, []);
    }

    #[test]
    fn a_pool_is_in_bytes_and_each_look_its_own() {
        let recording = read(
            "HugePages_Total:\u{a0}\u{a0} 12200\nHugePages_Free:\u{a0} 85\r\n\
             Hugepagesize:     2048 kB\n\nHugePages_Total:  6144\n\
             HugePages_Free:   1655 <-- Free pages are less than total pages.\n\
             Hugepagesize:     2048 kB\n",
        );
        all_understood(&recording);
        let pool = machine(&recording, Field::HugetlbTotal);
        assert_eq!(pool, [12_200.0 * 2_097_152.0, 6144.0 * 2_097_152.0]);
        let free = machine(&recording, Field::HugetlbFree);
        assert_eq!(free, [85.0 * 2_097_152.0, 1655.0 * 2_097_152.0]);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let sizeless = read("HugePages_Total:  6144\nHugePages_Free: 0\n");
        assert_eq!(sizeless.problems.len(), 1);
        assert_eq!(machine(&sizeless, Field::HugetlbFree), [0.0]);
        assert_eq!(machine(&sizeless, Field::HugetlbTotal).len(), 0);
        let torn = read("MemTotal:  20549012 kB\nMemFree: 2366\nActive(anon): 5 kB\n");
        assert_eq!(torn.problems.len(), 1);
        assert_eq!(machine(&torn, Field::MemFree).len(), 0);
        let status = read("MemTotal: 8 kB\nVmRSS: 5 kB\nAnonHugePages: 2048 kB\n");
        assert_eq!(machine(&status, Field::AnonHuge).len(), 0);
        let prose = read("Cached: 5 is what I saw.\nBuffers: 7 kB it said.\n");
        assert!(prose.hosts.is_empty());
    }
}
