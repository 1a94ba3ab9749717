//! Fragmenters: they leave free memory in pieces too small for huge pages, until they are asked to
//! stop.

use super::groups::BUILT_IN;
use crate::kind::{Kind, More, count, no_demands, params};

params! {
    /// Parameters of the fragmenters. With one base page in ten held, a free huge page is as good
    /// as impossible, and nine tenths of the memory are free for whoever comes.
    Fragment {
        fmfi_percent: u64 = count(85, 0, 100),
            "Wanted share of free memory that is in pieces too small for a huge page, percent.";
        leave_mib: usize = count(1024, 0, 1 << 20),
            "It stops to grow when the machine has no more than this available, MiB.";
        max_mib: usize = count(1 << 20, 16, 1 << 20), "It never takes more than this, MiB.";
        max_s: u64 = count(300, 1, 86_400),
            "It stops after this time, seconds, whatever it has reached.";
        hold_percent: u64 = count(10, 1, 100),
            "Share of the memory that is held at first, percent; less if that is not enough.";
        pinned_percent: u64 = count(0, 0, 100),
            "Share of what `fragment-holes` holds that the kernel cannot move, percent: buffers of \
             io_uring, as network and graphics cards have them.";
        free_blocks_max: usize = count(1 << 20, 0, 1 << 20),
            "Free blocks of a huge page that are left at most; it holds the others. A small share \
             of much free memory is enough for a small workload. Where the kernel withholds more \
             (it does so in a zone for old devices), runs are noisy.";
    }
}

// It takes no more memory than there is.
no_demands! { Fragment }

const METRICS: &[&str] = &[
    "fmfi",
    "free_blocks",
    "held_mib",
    "pinned_mib",
    "fill_s",
    "rss_mib",
    "cgroup_mib",
    "huge_mib",
];

pub(super) const HOLES: Kind = Kind {
    name: "fragment-holes",
    about: "Fills memory with base pages and frees all but random ones.",
    more: More::Release,
    params: Fragment::PARAMS,
    metrics: METRICS,
    ..BUILT_IN
};

pub(super) const PAGE_CACHE: Kind = Kind {
    name: "fragment-page-cache",
    about: "Fills the page cache with pieces of two files and frees all but random ones.",
    more: More::Release,
    params: Fragment::PARAMS,
    metrics: METRICS,
    ..BUILT_IN
};
