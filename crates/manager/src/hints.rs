//! What is known beforehand of how a program uses its memory: written by hand, or found out by an
//! experiment.
//!
//! A hint names no address, because each start of a program has others: it names a mapping by its
//! rank, and a range in it.

use super::bounds::{Conditions, bytes_or_text, out_of_range};
use crate::access::Access;
use hugewise_base::units::{Addr, Bytes, Geometry};
use serde::{Deserialize, Serialize};

/// One hint. Every condition that is given must hold; text conditions may end in `*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hint {
    /// Path of the executable, as `/proc/PID/exe` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exe: Option<String>,
    /// cgroup path; also matches everything below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// systemd unit, as the system's systemd names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// User name, or `#` and a numeric uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Which of the program's mappings: 1 is the one with the most populated memory. Default 1.
    #[serde(default = "largest")]
    pub mapping: u32,
    /// Where the range begins in it.
    #[serde(default, deserialize_with = "bytes_or_text")]
    pub from_bytes: Bytes,
    /// Where it ends; default: at the mapping's end.
    #[serde(default = "end", deserialize_with = "bytes_or_text", skip_serializing_if = "is_end")]
    pub to_bytes: Bytes,
    /// Share of its base pages that the program accesses each second.
    pub accessed_percent: f64,
}

const fn largest() -> u32 {
    1
}

/// No mapping is larger.
const fn end() -> Bytes {
    Bytes(1 << 56)
}

/// Whether the range goes as far as its mapping.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_end(to: &Bytes) -> bool {
    *to == end()
}

impl Hint {
    /// Its conditions: all that are given must hold.
    pub(super) fn conditions(&self) -> Conditions<'_> {
        Conditions {
            exe: self.exe.as_deref(),
            cgroup: self.cgroup.as_deref(),
            unit: self.unit.as_deref(),
            user: self.user.as_deref(),
        }
    }

    /// What is wrong with it.
    pub(super) fn faults(&self) -> impl Iterator<Item = String> {
        let ranges = [
            ("accessed_percent", self.accessed_percent, 0.0, 100.0),
            ("mapping", self.mapping.into(), 1.0, 1000.0),
        ];
        let mut faults: Vec<_> = ranges
            .into_iter()
            .filter_map(|(key, value, low, high)| {
                Some(format!("'{key}' {}", out_of_range(value, low, high)?))
            })
            .collect();
        if self.to_bytes <= self.from_bytes || self.to_bytes > end() {
            let (from, to) = (self.from_bytes, self.to_bytes);
            faults.push(format!("it ends at {to}, but begins at {from}: to_bytes must be larger"));
        }
        let conditions = self.conditions();
        if conditions.are_absent() {
            faults.push("it names no program: give at least one of exe, cgroup, unit, user".into());
        }
        faults.into_iter().chain(conditions.faults())
    }
}

/// Populated memory of one mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Its start.
    pub start: Addr,
    /// End of its last region.
    pub end: Addr,
    /// Populated base pages.
    pub populated: u64,
}

/// What these hints say of a program with these mappings, ascending and without overlaps: of two
/// hints for the same memory the first counts.
pub fn accesses(hints: &[&Hint], mappings: &[Mapping], geometry: Geometry) -> Vec<Access> {
    let mut ranked: Vec<_> = mappings.iter().collect();
    ranked.sort_by_key(|mapping| (std::cmp::Reverse(mapping.populated), mapping.start));
    let mut all: Vec<Access> = Vec::new();
    for hint in hints {
        let rank = usize::try_from(hint.mapping.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(mapping) = ranked.get(rank) else { continue };
        let at = |offset: Bytes| mapping.start.0.saturating_add(offset.0).min(mapping.end.0);
        let (mut from, to) = (at(hint.from_bytes), at(hint.to_bytes));
        let mut parts = Vec::new();
        for taken in &all {
            if taken.from.0 < to && from < taken.to.0 {
                parts.push((from, taken.from.0));
                from = taken.to.0;
            }
        }
        parts.push((from, to));
        for (from, to) in parts.into_iter().filter(|(from, to)| from < to) {
            let bytes = Bytes(to - from).percent(hint.accessed_percent);
            let pages = bytes.0 / geometry.base.0.max(1);
            let (from, to) = (Addr(from), Addr(to));
            all.push(Access { from, to, least_pages: pages, most_pages: pages });
        }
        all.sort_by_key(|access| access.from);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hint(from: u64, to: u64, accessed_percent: f64) -> Hint {
        Hint {
            exe: Some("/bin/x".into()),
            cgroup: None,
            unit: None,
            user: None,
            mapping: 1,
            from_bytes: Bytes(from),
            to_bytes: Bytes(to),
            accessed_percent,
        }
    }

    #[test]
    fn the_largest_mapping_is_meant_and_the_first_hint_counts() {
        let small = Mapping { start: Addr(0x1000), end: Addr(0x20_0000), populated: 1 };
        let large = Mapping { start: Addr(0x40_0000), end: Addr(0x140_0000), populated: 9 };
        let (hot, rest) = (hint(8 << 20, 1 << 40, 100.0), hint(0, 1 << 40, 10.0));
        let found = accesses(&[&hot, &rest], &[small, large], Geometry::X86_64);
        let access = |from, to, pages| Access {
            from: Addr(from),
            to: Addr(to),
            least_pages: pages,
            most_pages: pages,
        };
        assert_eq!(found, [access(0x40_0000, 0xc0_0000, 204), access(0xc0_0000, 0x140_0000, 2048)]);
        let nowhere = Hint { mapping: 3, ..hot };
        assert!(accesses(&[&nowhere], &[small, large], Geometry::X86_64).is_empty());
    }

    #[test]
    fn hints_without_sense_are_refused() {
        for wrong in [
            hint(2, 1, 10.0),
            hint(0, 1, 101.0),
            hint(0, 1, f64::NAN),
            Hint { exe: None, ..hint(0, 1, 1.0) },
            Hint { mapping: 0, ..hint(0, 1, 1.0) },
            Hint { exe: Some("redis-server".into()), ..hint(0, 1, 1.0) },
        ] {
            assert!(wrong.faults().next().is_some(), "{wrong:?}");
        }
        assert_eq!(hint(0, 1, 1.0).faults().count(), 0);
    }

    #[test]
    fn an_end_that_nobody_gave_is_not_shown() {
        let open = Hint { to_bytes: end(), ..hint(0, 1, 1.0) };
        let json = serde_json::to_value(&open).expect("JSON");
        assert_eq!(json.get("to_bytes"), None);
        assert_eq!(serde_json::from_value::<Hint>(json).expect("a hint"), open);
        let given = serde_json::to_value(hint(0, 1, 1.0)).expect("JSON");
        assert_eq!(given["to_bytes"], 1);
    }

    proptest! {
        #[test]
        fn whatever_is_hinted_stays_within_its_mapping_and_overlaps_nothing(
            ranges in prop::collection::vec((any::<u64>(), any::<u64>(), 0.0..=100.0_f64), 0..8),
        ) {
            let mapping = Mapping { start: Addr(4096), end: Addr(1 << 30), populated: 5 };
            let hints: Vec<_> = ranges.into_iter().map(|(from, to, p)| hint(from, to, p)).collect();
            let hints: Vec<_> = hints.iter().collect();
            let mut end = mapping.start;
            for access in accesses(&hints, &[mapping], Geometry::X86_64) {
                prop_assert!(access.from >= end && access.from < access.to);
                prop_assert!(access.to <= mapping.end && access.most_pages <= 1 << 18);
                end = access.to;
            }
        }
    }
}
