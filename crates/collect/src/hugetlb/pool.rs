//! Pools: how they grow and shrink.

use hugewise_base::parse;
use hugewise_base::units::{Bytes, Geometry};
use hugewise_evidence::hugetlb::files;
use hugewise_evidence::hugetlb::grow::{Grow, Outcome, Seen, Step};
use hugewise_linux::machine;
use hugewise_linux::pool_size::size;
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Trail, TrailError};
use std::fs::OpenOptions;
use std::io::Write;

/// Writing `1` compacts all zones (admin-guide/sysctl/vm.rst). No setting: nothing stays.
const COMPACT: &str = "proc/sys/vm/compact_memory";

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
pub struct PoolSize {
    /// Size of its pages.
    pub page: Bytes,
    /// Of this node only.
    pub node: Option<u32>,
    /// Pages.
    pub pages: u64,
    /// Memory that must remain available.
    pub leave: Bytes,
}

impl PoolSize {
    /// The file that sizes it.
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
    wanted: PoolSize,
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
