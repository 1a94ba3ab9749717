//! Explanations: one file each, with the question, what judges it, what a yes means and what to do.
//!
//! A new one is its file and its two lines here, or a row of a file that is a table; the schema of
//! the output lists its name. Nothing is imported here: the causes are made of this table as well
//! as [the list](all).

mod accept_queue;
pub(super) mod all;
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
mod gc;
mod gc_live;
mod half_open;
mod heap_exhausted;
mod hugetlb_other_sizes;
mod hugetlb_refused;
mod hugetlb_sigbus;
mod inotify_limit;
mod kernel_warned;
mod kernel_worker;
mod kswapd_spins;
mod long_waits;
mod memory_pinned;
mod memory_unlisted;
mod metadata_lock;
mod own_limit;
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
mod space_held;
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

/// All explanations, in the order in which they are asked: file, with the row where it is a table,
/// variant and name of the cause.
macro_rules! explained {
    ($with:ident) => {
        $with! {
            memory_pinned MemoryPinned "memory_pinned",
            memory_unlisted MemoryUnlisted "memory_unlisted",
            hugetlb_other_sizes HugetlbOtherSizes "hugetlb_other_sizes",
            process_grows ProcessGrows "process_grows",
            thrashing Thrashing "thrashing",
            kswapd_spins KswapdSpins "kswapd_spins",
            compaction_since_boot CompactionSinceBoot "compaction_since_boot",
            serial_requests SerialRequests "serial_requests",
            hugetlb_refused HugetlbRefused "hugetlb_refused",
            hugetlb_sigbus HugetlbSigbus "hugetlb_sigbus",
            fork_refused ForkRefused "fork_refused",
            connections_exhausted ConnectionsExhausted "connections_exhausted",
            statement_locks StatementLocks "statement_locks",
            rows_examined RowsExamined "rows_examined",
            temporary_files TemporaryFiles "temporary_files",
            vacuum_held VacuumHeld "vacuum_held",
            pool_waits PoolWaits "pool_waits",
            statement_slow StatementSlow "statement_slow",
            metadata_lock MetadataLock "metadata_lock",
            datagrams_unread DatagramsUnread "datagrams_unread",
            close_wait CloseWait "close_wait",
            half_open HalfOpen "half_open",
            accept_queue AcceptQueue "accept_queue",
            ring_missed RingMissed "ring_missed",
            queues_one_cpu QueuesOneCpu "queues_one_cpu",
            container_full ContainerFull "container_full",
            cluster_node ClusterNode "cluster_node",
            process_in_kernel ProcessInKernel "process_in_kernel",
            kernel_worker KernelWorker "kernel_worker",
            fsync_late FsyncLate "fsync_late",
            worker_limit WorkerLimit "worker_limit",
            inotify_limit InotifyLimit "inotify_limit",
            server_trouble ServerTrouble "server_trouble",
            runtime_pauses RuntimePauses "runtime_pauses",
            cluster_condition ClusterCondition "cluster_condition",
            undo_log UndoLog "undo_log",
            long_waits LongWaits "long_waits",
            event_profile EventProfile "event_profile",
            split_pending SplitPending "split_pending",
            program_starts ProgramStarts "program_starts",
            socket_memory SocketMemory "socket_memory",
            waits_for_disk WaitsForDisk "waits_for_disk",
            disk_damaged DiskDamaged "disk_damaged",
            space_held SpaceHeld "space_held",
            heap_exhausted HeapExhausted "heap_exhausted",
            own_limit OwnLimit "own_limit",
            gc_live GcLive "gc_live_set",
            gc.dump GcDump "gc_dump",
            gc.behind GcBehind "gc_behind",
            gc.humongous GcHumongous "gc_humongous",
            gc.explicit GcExplicit "gc_explicit",
            gc.metaspace GcMetaspace "gc_metaspace",
            gc.references GcReferences "gc_references",
            kernel_warned KernelWarned "kernel_warned",
        }
    };
}
pub(super) use explained;
