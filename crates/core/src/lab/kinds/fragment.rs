//! Fragmenters: they leave free memory in pieces too small for huge pages, until told to stop.

use crate::lab::kind::{Default, Kind, Param};

/// Kinds that hold something until they are told to release it.
pub const WITH_RELEASE: &[&str] = &["fragment-holes", "fragment-page-cache"];

const FMFI_PERCENT: Param = Param {
    name: "fmfi_percent",
    default: Default::Count(85, 0, 100),
    help: "Wanted share of free memory that is in pieces too small for a huge page, percent.",
};

const LEAVE_MIB: Param = Param {
    name: "leave_mib",
    default: Default::Count(1024, 0, 1 << 20),
    help: "It stops to grow when the machine has no more than this available, MiB.",
};

const MAX_MIB: Param = Param {
    name: "max_mib",
    default: Default::Count(1 << 20, 16, 1 << 20),
    help: "It never takes more than this, MiB.",
};

const MAX_S: Param = Param {
    name: "max_s",
    default: Default::Count(300, 1, 86_400),
    help: "It stops after this time, seconds, whatever it has reached.",
};

/// With one base page in ten held, a free huge page is as good as impossible, and nine tenths of
/// the memory are free for whoever comes.
const HOLD_PERCENT: Param = Param {
    name: "hold_percent",
    default: Default::Count(10, 1, 100),
    help: "Share of the memory that is held at first, percent; less if that is not enough.",
};

const METRICS: &[&str] = &["fmfi", "held_mib", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"];

/// See the module's text.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "fragment-holes",
        about: "Fills memory with base pages and frees all but random ones.",
        params: &[FMFI_PERCENT, LEAVE_MIB, MAX_MIB, MAX_S, HOLD_PERCENT],
        metrics: METRICS,
        programs: &[],
    },
    Kind {
        name: "fragment-page-cache",
        about: "Fills the page cache with pieces of two files and frees all but random ones.",
        params: &[FMFI_PERCENT, LEAVE_MIB, MAX_MIB, MAX_S, HOLD_PERCENT],
        metrics: METRICS,
        programs: &[],
    },
];
