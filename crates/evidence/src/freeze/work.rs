//! What the kernel does for a program, by the functions on its stack.

use crate::functions::{CLEARING, COMPACTION, HUGE_CLEARING, HUGE_FAULT, RECLAIM};
use serde::Serialize;
use std::fmt;

/// Interrupts that have work to do: the ways into them.
const INTERRUPTS: [&str; 6] =
    ["handle_softirqs", "__do_softirq", "net_rx_action", "irq_exit", "__irq_exit", "run_ksoftirqd"];
/// The kernel's thread that makes huge pages, and what it calls.
const COLLAPSE: [&str; 3] = ["khugepaged", "collapse_", "hpage_collapse_"];
/// The start of a process: copying page tables.
const FORK: [&str; 4] = ["copy_page_range", "copy_pte_range", "dup_mmap", "copy_process"];
/// The end of a mapping or a process: giving pages back.
const UNMAP: [&str; 5] =
    ["exit_mmap", "unmap_page_range", "unmap_vmas", "zap_pte_range", "tlb_finish_mmu"];
/// Waiting for a lock with the CPU in hand.
const SPIN: [&str; 3] = ["native_queued_spin_lock", "queued_spin_lock", "queued_write_lock"];
/// Files and disks.
const FILES: [&str; 5] = ["vfs_", "ksys_", "ext4_", "xfs_", "blk_"];

/// A kind of work of the kernel. The first that fits names a stack: what is more telling comes
/// before what is more general.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// None: the program ran its own code.
    Own,
    /// Moving pages to make larger blocks of free memory.
    Compaction,
    /// Taking memory back.
    Reclaim,
    /// Serving interrupts.
    Interrupts,
    /// Making huge pages of base pages.
    Collapse,
    /// Handing out huge pages at first touch, and clearing them.
    HugeFault,
    /// Copying an address space for a new process.
    Fork,
    /// Giving an address space, or a part of it, back.
    Unmap,
    /// Waiting for a lock of the kernel.
    Spin,
    /// Clearing base pages.
    Clearing,
    /// Reading or writing files.
    Files,
    /// None of these.
    Other,
}

/// Each kind with the functions that tell it.
const TABLE: [(Work, &[&str]); 11] = [
    (Work::Compaction, &COMPACTION),
    (Work::Reclaim, &RECLAIM),
    (Work::Interrupts, &INTERRUPTS),
    (Work::Collapse, &COLLAPSE),
    (Work::HugeFault, &HUGE_FAULT),
    (Work::HugeFault, &HUGE_CLEARING),
    (Work::Fork, &FORK),
    (Work::Unmap, &UNMAP),
    (Work::Spin, &SPIN),
    (Work::Clearing, &CLEARING),
    (Work::Files, &FILES),
];

impl Work {
    /// What a stack of the kernel's functions does; of none the program runs its own code.
    #[must_use]
    pub fn of(chain: &[String]) -> Self {
        if chain.is_empty() {
            return Self::Own;
        }
        let has = |names: &[&str]| {
            chain.iter().any(|function| names.iter().any(|name| function.starts_with(name)))
        };
        TABLE.iter().find(|(_, names)| has(names)).map_or(Self::Other, |(work, _)| *work)
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "its own code",
            Self::Compaction => "compaction of memory",
            Self::Reclaim => "reclaim of memory",
            Self::Interrupts => "interrupts",
            Self::Collapse => "making huge pages",
            Self::HugeFault => "first touches of huge pages",
            Self::Fork => "the copy of an address space (fork)",
            Self::Unmap => "giving memory back",
            Self::Spin => "waiting for a lock of the kernel",
            Self::Clearing => "clearing pages",
            Self::Files => "files",
            Self::Other => "other work of the kernel",
        })
    }
}
