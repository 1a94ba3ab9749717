//! What page tables cost, and whose they are. `hugetlb` and `diagnose` share this.
//!
//! Each process that maps a page has an entry of 8 bytes for it (x86-64 and arm64 with 4 KiB
//! pages). A segment that many processes attach is therefore paid for by each of them.

use serde::{Deserialize, Serialize};

use hugewise_base::units::Bytes;

/// A page-table entry, in bytes (Linux 6.18 arch/x86/include/asm/pgtable_64_types.h: `pteval_t`
/// is an unsigned long).
const ENTRY_BYTES: u64 = 8;
/// A page table is a page: 512 entries.
const TABLE_BYTES: u64 = 4096;
/// Memory that one table of 4 KiB pages maps: 2 MiB.
const REACH_SMALL: u64 = TABLE_BYTES / ENTRY_BYTES * 4096;
/// Memory that one table of 2 MiB pages maps: 1 GiB.
const REACH_HUGE: u64 = TABLE_BYTES / ENTRY_BYTES * REACH_SMALL;
/// Memory that one table of 1 GiB pages maps: 512 GiB.
const REACH_GIANT: u64 = TABLE_BYTES / ENTRY_BYTES * REACH_HUGE;

/// A shared segment and how many processes map it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: Bytes,
    /// Processes that map it.
    pub attached: u64,
}

impl Segment {
    /// Page tables of all processes together, if each touches all of it in 4 KiB pages.
    pub fn tables(&self) -> Bytes {
        Bytes(of_mapping(self.bytes, Bytes(4096)).0.saturating_mul(self.attached))
    }
}

/// What a machine's page tables say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attribution {
    /// Page tables (`PageTables` of `/proc/meminfo`).
    pub tables: Bytes,
    /// Memory that so many entries map in 4 KiB pages.
    pub mapped: Bytes,
    /// `mapped` in units of the machine's memory: above 1 the same pages are mapped several times.
    pub times_memory: Option<f64>,
    /// `tables` as a share of the machine's memory.
    pub percent_of_memory: Option<f64>,
    /// The segment that costs most, if each of its processes touches all of it.
    pub costliest: Option<Segment>,
}

/// Memory that so many page tables map in 4 KiB pages, at most.
pub const fn mapped(tables: Bytes) -> Bytes {
    Bytes(tables.0.saturating_mul(TABLE_BYTES / ENTRY_BYTES))
}

/// Whose page tables these are, as far as segments explain them.
pub fn attribute(tables: Bytes, memory: Option<Bytes>, segments: &[Segment]) -> Attribution {
    let mapped = mapped(tables);
    let memory = memory.filter(|memory| memory.0 > 0);
    let share = |part: Bytes| memory.map(|memory| part.0 as f64 / memory.0 as f64);
    let used = segments.iter().filter(|segment| segment.attached > 0);
    Attribution {
        tables,
        mapped,
        times_memory: share(mapped),
        percent_of_memory: share(tables).map(|share| share * 100.0),
        costliest: used.max_by_key(|segment| segment.tables()).cloned(),
    }
}

/// Page tables of one process for a mapping of `bytes` that it touches wholly, in pages of `page`:
/// the tables of its entries and those above them that no other mapping shares.
pub(crate) fn of_mapping(bytes: Bytes, page: Bytes) -> Bytes {
    let of = |reach: u64| bytes.0.div_ceil(reach).saturating_mul(TABLE_BYTES);
    let small = if page.0 < REACH_SMALL { of(REACH_SMALL) } else { 0 };
    let huge = if page.0 < REACH_HUGE { of(REACH_HUGE) } else { 0 };
    let giant = if page.0 < REACH_GIANT { of(REACH_GIANT) } else { 0 };
    // The table of a mapping below 512 GiB at the top is shared with the rest of the process.
    let shared = if bytes.0 < REACH_GIANT { giant } else { 0 };
    Bytes(small.saturating_add(huge).saturating_add(giant - shared))
}

/// How many processes that touch all of `segment` it takes for `tables`; `None` for a segment
/// without a table.
pub fn sharers(tables: Bytes, segment: Bytes) -> Option<f64> {
    let one = of_mapping(segment, Bytes(4096));
    (segment.0 > 0).then(|| tables.0 as f64 / one.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_gib_cost_twenty_mib_a_process_and_almost_nothing_huge() {
        let segment = Bytes(10 << 30);
        // 5,120 tables of entries and 10 above them.
        assert_eq!(of_mapping(segment, Bytes(4096)), Bytes((5120 + 10) * 4096));
        assert_eq!(of_mapping(segment, Bytes::mib(2)), Bytes(10 * 4096));
        assert_eq!(of_mapping(segment, Bytes(1 << 30)), Bytes(0));
        assert_eq!(of_mapping(Bytes(1 << 40), Bytes(1 << 30)), Bytes(2 * 4096));
    }

    #[test]
    fn seed_003_is_the_tables_of_244_processes() {
        let tables = Bytes(5_007_924 << 10);
        let sharers = sharers(tables, Bytes(10 << 30)).expect("a size");
        assert!((sharers - 244.05).abs() < 0.05, "{sharers}");
        let said = attribute(tables, Some(Bytes(20_549_012 << 10)), &[]);
        assert!(said.percent_of_memory.is_some_and(|p| (p - 24.37).abs() < 0.01), "{said:?}");
        assert!(said.times_memory.is_some_and(|t| (t - 124.8).abs() < 0.1), "{said:?}");
    }

    #[test]
    fn the_costliest_segment_counts_its_processes() {
        let segment = |name: &str, mib, attached| Segment {
            name: name.into(),
            bytes: Bytes::mib(mib),
            attached,
        };
        let all = [segment("large", 4096, 2), segment("shared", 1024, 100), segment("idle", 9, 0)];
        let said = attribute(Bytes::mib(300), None, &all);
        assert_eq!(said.costliest.map(|segment| segment.name), Some("shared".into()));
        assert_eq!(said.times_memory, None);
        assert_eq!(attribute(Bytes(0), None, &[]).costliest, None);
    }
}
