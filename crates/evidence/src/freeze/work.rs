//! What the kernel does for a program, by the functions on its stack.

use crate::functions::{CLEARING, COMPACTION, HUGE_CLEARING, HUGE_FAULT, RECLAIM};
use hugewise_base::named;
use serde::{Deserialize, Serialize};

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

named! {
    /// A kind of work of the kernel. The first that fits names a stack: what is more specific comes
    /// before what is more general.
    #[derive(Default)]
    Work,
    /// None: the program ran its own code.
    #[default]
    Own = "own": "its own code", "";
    /// Moving pages to make larger blocks of free memory.
    Compaction = "compaction": "compaction of memory", "";
    /// Taking memory back.
    Reclaim = "reclaim": "reclaim of memory", "";
    /// Serving interrupts.
    Interrupts = "interrupts": "interrupts", "";
    /// Making huge pages of base pages.
    Collapse = "collapse": "making huge pages", "";
    /// Handing out huge pages at first touch, and clearing them.
    HugeFault = "huge_fault": "first touches of huge pages", "";
    /// Copying an address space for a new process.
    Fork = "fork": "the copy of an address space (fork)", "";
    /// Giving an address space, or a part of it, back.
    Unmap = "unmap": "giving memory back", "";
    /// Waiting for a lock of the kernel.
    Spin = "spin": "waiting for a lock of the kernel", "";
    /// Clearing base pages.
    Clearing = "clearing": "clearing pages", "";
    /// Reading or writing files.
    Files = "files": "files", "";
    /// None of these.
    Other = "other": "other work of the kernel", "";
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
