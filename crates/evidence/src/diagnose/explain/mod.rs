//! Explanations: one file each, with the question, what judges it, what a yes means and what to do.
//!
//! A new one is its file, its line in [`ALL`] and its variant of [`Cause`](super::cause::Cause).

mod accept_queue;
mod close_wait;
mod cluster_condition;
mod cluster_node;
mod compaction_since_boot;
mod connections_exhausted;
mod container_full;
mod datagrams_unread;
mod disk_damaged;
mod event_profile;
mod fork_refused;
mod fsync_late;
mod gc_behind;
mod gc_dump;
mod gc_explicit;
mod gc_humongous;
mod gc_live;
mod gc_metaspace;
mod gc_references;
mod half_open;
mod heap_exhausted;
mod hugetlb_other_sizes;
mod hugetlb_refused;
mod hugetlb_sigbus;
mod inotify_limit;
mod kernel_warned;
mod kswapd_spins;
mod long_waits;
mod memory_unlisted;
mod metadata_lock;
mod pauses;
mod pool_waits;
mod prelude;
mod process_grows;
mod process_in_kernel;
mod program_starts;
mod queues_one_cpu;
mod ring_missed;
mod rows_examined;
mod runtime_pauses;
mod serial_requests;

mod server_trouble;
mod socket_memory;
mod sockets;
mod split_pending;
mod statement_locks;
mod statement_slow;
mod sums;
mod temporary_files;
mod thrashing;
mod undo_log;
mod vacuum_held;
mod waits_for_disk;
mod worker_limit;

use super::explanation::Explanation;

/// All explanations, in the order in which they are asked.
pub(super) const ALL: &[&Explanation] = &[
    &memory_unlisted::EXPLANATION,
    &hugetlb_other_sizes::EXPLANATION,
    &process_grows::EXPLANATION,
    &thrashing::EXPLANATION,
    &kswapd_spins::EXPLANATION,
    &compaction_since_boot::EXPLANATION,
    &serial_requests::EXPLANATION,
    &hugetlb_refused::EXPLANATION,
    &hugetlb_sigbus::EXPLANATION,
    &fork_refused::EXPLANATION,
    &connections_exhausted::EXPLANATION,
    &statement_locks::EXPLANATION,
    &rows_examined::EXPLANATION,
    &temporary_files::EXPLANATION,
    &vacuum_held::EXPLANATION,
    &pool_waits::EXPLANATION,
    &statement_slow::EXPLANATION,
    &metadata_lock::EXPLANATION,
    &datagrams_unread::EXPLANATION,
    &close_wait::EXPLANATION,
    &half_open::EXPLANATION,
    &accept_queue::EXPLANATION,
    &ring_missed::EXPLANATION,
    &queues_one_cpu::EXPLANATION,
    &container_full::EXPLANATION,
    &cluster_node::EXPLANATION,
    &process_in_kernel::EXPLANATION,
    &fsync_late::EXPLANATION,
    &worker_limit::EXPLANATION,
    &inotify_limit::EXPLANATION,
    &server_trouble::EXPLANATION,
    &runtime_pauses::EXPLANATION,
    &cluster_condition::EXPLANATION,
    &undo_log::EXPLANATION,
    &long_waits::EXPLANATION,
    &event_profile::EXPLANATION,
    &split_pending::EXPLANATION,
    &program_starts::EXPLANATION,
    &socket_memory::EXPLANATION,
    &waits_for_disk::EXPLANATION,
    &disk_damaged::EXPLANATION,
    &heap_exhausted::EXPLANATION,
    &gc_live::EXPLANATION,
    &gc_dump::EXPLANATION,
    &gc_behind::EXPLANATION,
    &gc_humongous::EXPLANATION,
    &gc_explicit::EXPLANATION,
    &gc_metaspace::EXPLANATION,
    &gc_references::EXPLANATION,
    &kernel_warned::EXPLANATION,
];
