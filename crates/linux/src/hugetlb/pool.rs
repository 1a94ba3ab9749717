//! Pools: their files, what keeps them from shrinking, and how they grow.

use crate::machine;
use crate::root::Root;
use crate::trail::{Trail, TrailError};
use hugewise_core::hugetlb::files;
use hugewise_core::hugetlb::grow::{Grow, Outcome, Seen, Step};
use hugewise_core::parse;
use hugewise_core::units::{Bytes, Geometry};
use std::fs::OpenOptions;
use std::io::{self, Write};

/// The last part of each pool's path.
const SIZE: &str = "/nr_hugepages";
/// Writing `1` compacts all zones (admin-guide/sysctl/vm.rst). No setting: nothing stays.
const COMPACT: &str = "proc/sys/vm/compact_memory";

/// Whether a file sizes a pool, or a NUMA node's share of one.
#[must_use]
pub fn is_size(file: &str) -> bool {
    let folder = |rest: &str| {
        let size = rest.strip_suffix(SIZE).and_then(|rest| rest.strip_prefix("hugepages-"));
        size.and_then(|size| size.strip_suffix("kB")).is_some_and(is_number)
    };
    if let Some(rest) = file.strip_prefix("sys/kernel/mm/hugepages/") {
        return folder(rest);
    }
    let rest = file.strip_prefix("sys/devices/system/node/node");
    let rest = rest.and_then(|rest| rest.split_once("/hugepages/"));
    rest.is_some_and(|(node, rest)| is_number(node) && folder(rest))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Pages of a pool that are its own. Surplus ones, which the kernel counts in `nr_hugepages` of
/// sysfs and not in that of sysctl (measured on 6.18), go away when they are given back.
///
/// # Errors
/// When its files cannot be read, or hold no numbers.
pub fn size(root: &Root, file: &str) -> io::Result<u64> {
    let folder = file.strip_suffix(SIZE).unwrap_or(file);
    let read = |name: &str| {
        let text = root.read_line(format!("{folder}/{name}"))?;
        let bad = |_| io::Error::new(io::ErrorKind::InvalidData, format!("'{text}'"));
        text.parse::<u64>().map_err(bad)
    };
    Ok(read("nr_hugepages")?.saturating_sub(read("surplus_hugepages").unwrap_or(0)))
}

/// Pages of the pool that are in use or reserved; `None` for a file that is no pool's.
#[must_use]
pub(crate) fn floor(root: &Root, file: &str) -> Option<u64> {
    if !is_size(file) {
        return None;
    }
    let folder = file.strip_suffix(SIZE)?;
    let read = |name: &str| -> Option<u64> {
        root.read_line(format!("{folder}/{name}")).ok()?.parse().ok()
    };
    let (total, free) = (read("nr_hugepages")?, read("free_hugepages")?);
    // A node's share has no count of reserved pages: the kernel keeps those where they are.
    Some(total.saturating_sub(free).saturating_add(read("resv_hugepages").unwrap_or(0)))
}

/// What became of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grown {
    /// Pages before.
    pub before: u64,
    /// Pages now, as the kernel says.
    pub pages: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// How often memory was compacted.
    pub compactions: u32,
}

/// What is wanted of a pool, or of a NUMA node's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Size of its pages.
    pub page: Bytes,
    /// Of this node only.
    pub node: Option<u32>,
    /// Pages.
    pub pages: u64,
    /// Memory that must remain available.
    pub leave: Bytes,
}

impl Wanted {
    /// The file that sizes it.
    #[must_use]
    pub fn file(&self) -> String {
        match self.node {
            Some(node) => files::node_file(self.page, node),
            None => files::pool_file(self.page),
        }
    }
}

/// Brings a pool to its size, step by step, and reads back what was granted; `progress` is told
/// the pages after each step. The old size is on disk first.
///
/// # Errors
/// When the pool's file or the trail cannot be read or written.
pub fn grow(
    root: &Root,
    trail: &mut Trail,
    wanted: Wanted,
    progress: &mut dyn FnMut(u64),
) -> Result<Grown, TrailError> {
    let file = wanted.file();
    let before = pages(root, &file)?;
    if before == wanted.pages {
        return Ok(Grown { before, pages: before, outcome: Outcome::Granted, compactions: 0 });
    }
    trail.begin(&file)?;
    let mut steps = Grow::new(wanted.page, wanted.pages, wanted.leave);
    let mut compactions = 0;
    let done = loop {
        let now = pages(root, &file)?;
        progress(now);
        match steps.next(seen(root, wanted.page, now)) {
            Step::Write(size) => match trail.write_step(&file, &size.to_string()) {
                Ok(()) => {}
                Err(error) => break Err(error),
            },
            Step::Compact => {
                compactions += 1;
                compact(root);
            }
            Step::Done(outcome) => {
                break Ok(Grown { before, pages: now, outcome, compactions });
            }
        }
    };
    trail.settle(&file, &wanted.pages.to_string())?;
    done
}

fn pages(root: &Root, file: &str) -> Result<u64, TrailError> {
    size(root, file).map_err(|error| TrailError::Read { file: file.into(), error })
}

fn seen(root: &Root, page: Bytes, pages: u64) -> Seen {
    let geometry = machine::geometry(root);
    let memory = root.read_text("proc/meminfo").map(|text| parse::meminfo::parse(&text).value);
    Seen {
        pages,
        free_blocks: machine::free_huge(root, Geometry { huge: page, ..geometry })
            .filter(|_| page == geometry.huge),
        available: memory.ok().and_then(|memory| memory.mem_available_bytes).map(Bytes),
    }
}

/// Best effort: where it cannot be, the kernel still compacts for each page.
fn compact(root: &Root) {
    let open = OpenOptions::new().write(true).open(root.path(COMPACT));
    let _ = open.and_then(|mut file| file.write_all(b"1"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_pools_are_pools() {
        for good in [
            "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
            "sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages",
        ] {
            assert!(is_size(good), "{good}");
        }
        for bad in [
            "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
            "sys/kernel/mm/hugepages/hugepages-../../x/nr_hugepages",
            "sys/devices/system/node/node0/../x/hugepages/hugepages-2048kB/nr_hugepages",
            "etc/passwd",
        ] {
            assert!(!is_size(bad), "{bad}");
        }
    }
}
