//! What page tables cost, and whose they are. `hugetlb` and `diagnose` share this.
//!
//! Each process that maps a page has an entry of 8 bytes for it, in a table that is a base page
//! (x86-64, arm64 and riscv64). A segment that many processes attach is therefore paid for by each
//! of them.

use serde::{Deserialize, Serialize};

use crate::recording::ASSUMED;
use hugewise_base::units::Bytes;

/// A page-table entry, in bytes (Linux 6.18 arch/x86/include/asm/pgtable_64_types.h: `pteval_t`
/// is an unsigned long).
const ENTRY_BYTES: u64 = 8;

/// Memory that one table maps, by the size of what its entries point to: base pages, then what a
/// table of the level below maps; three levels.
fn reaches(base: Bytes) -> [u64; 3] {
    let entries = base.0 / ENTRY_BYTES;
    let small = entries.saturating_mul(base.0).max(1);
    [small, small.saturating_mul(entries), small.saturating_mul(entries).saturating_mul(entries)]
}

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
    /// Page tables of all processes together, if each touches all of it in base pages of the usual
    /// size.
    pub fn tables(&self) -> Bytes {
        self.tables_in(ASSUMED.base)
    }

    /// The same, in base pages of that size.
    pub(crate) fn tables_in(&self, base: Bytes) -> Bytes {
        Bytes(of_mapping(self.bytes, base, base).0.saturating_mul(self.attached))
    }
}

/// What a machine's page tables say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attribution {
    /// Page tables (`PageTables` of `/proc/meminfo`).
    pub tables: Bytes,
    /// Memory that a number of entries map in base pages.
    pub mapped: Bytes,
    /// `mapped` in units of the machine's memory: above 1 the same pages are mapped several times.
    pub times_memory: Option<f64>,
    /// `tables` as a share of the machine's memory.
    pub percent_of_memory: Option<f64>,
    /// The segment that costs most, if each of its processes touches all of it.
    pub costliest: Option<Segment>,
}

/// Memory that a number of page tables map in base pages, at most.
pub const fn mapped(tables: Bytes, base: Bytes) -> Bytes {
    Bytes(tables.0.saturating_mul(base.0 / ENTRY_BYTES))
}

/// Whose page tables these are, as far as segments explain them.
pub fn attribute(
    tables: Bytes,
    memory: Option<Bytes>,
    segments: &[Segment],
    base: Bytes,
) -> Attribution {
    let mapped = mapped(tables, base);
    let memory = memory.filter(|memory| memory.0 > 0);
    let share = |part: Bytes| memory.map(|memory| part.0 as f64 / memory.0 as f64);
    let used = segments.iter().filter(|segment| segment.attached > 0);
    Attribution {
        tables,
        mapped,
        times_memory: share(mapped),
        percent_of_memory: share(tables).map(|share| share * 100.0),
        costliest: used.max_by_key(|segment| segment.tables_in(base)).cloned(),
    }
}

/// Page tables of one process for a mapping of `bytes` that it touches wholly, in pages of `page`:
/// the tables of its entries and those above them that no other mapping shares.
pub(crate) fn of_mapping(bytes: Bytes, page: Bytes, base: Bytes) -> Bytes {
    let [small, huge, giant] = reaches(base).map(|reach| {
        let tables = bytes.0.div_ceil(reach).saturating_mul(base.0);
        if page.0 < reach { tables } else { 0 }
    });
    // The table of a mapping at the top, which it does not fill, is shared with the rest of the
    // process.
    let shared = if bytes.0 < reaches(base)[2] { giant } else { 0 };
    Bytes(small.saturating_add(huge).saturating_add(giant - shared))
}

/// How many processes that touch all of `segment` it takes for `tables`; `None` for a segment
/// without a table.
pub fn sharers(tables: Bytes, segment: Bytes, base: Bytes) -> Option<f64> {
    let one = of_mapping(segment, base, base);
    (segment.0 > 0).then(|| tables.0 as f64 / one.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Bytes = Bytes::kib(4);

    #[test]
    fn ten_gib_cost_twenty_mib_a_process_and_almost_nothing_huge() {
        let segment = Bytes(10 << 30);
        // 5,120 tables of entries and 10 above them.
        assert_eq!(of_mapping(segment, BASE, BASE), Bytes((5120 + 10) * 4096));
        assert_eq!(of_mapping(segment, Bytes::mib(2), BASE), Bytes(10 * 4096));
        assert_eq!(of_mapping(segment, Bytes(1 << 30), BASE), Bytes(0));
        assert_eq!(of_mapping(Bytes(1 << 40), Bytes(1 << 30), BASE), Bytes(2 * 4096));
    }

    #[test]
    fn larger_pages_take_fewer_tables() {
        // One table of 64 KiB maps 512 MiB, one of 16 KiB 32 MiB.
        let of = |kib| of_mapping(Bytes(10 << 30), Bytes::kib(kib), Bytes::kib(kib));
        assert_eq!((of(64), of(16)), (Bytes(21 * 65_536), Bytes(321 * 16_384)));
        assert_eq!(mapped(Bytes::mib(1), Bytes::kib(64)), Bytes(8 << 30));
    }

    #[test]
    fn seed_003_is_the_tables_of_244_processes() {
        let tables = Bytes(5_007_924 << 10);
        let sharers = sharers(tables, Bytes(10 << 30), BASE).expect("a size");
        assert!((sharers - 244.05).abs() < 0.05, "{sharers}");
        let said = attribute(tables, Some(Bytes(20_549_012 << 10)), &[], BASE);
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
        let said = attribute(Bytes::mib(300), None, &all, BASE);
        assert_eq!(said.costliest.map(|segment| segment.name), Some("shared".into()));
        assert_eq!(said.times_memory, None);
        assert_eq!(attribute(Bytes(0), None, &[], BASE).costliest, None);
    }
}
