//! Quantities of programs and servers, behind those of the machine: one list in two files.

/// Makes [`Field`](super::Field) of the quantities given and of these.
macro_rules! fields_of_programs {
    ($($of_the_machine:tt)*) => { fields! { $($of_the_machine)*

    // Shared segments, cgroups, Java virtual machines.
    SegmentBytes "segment.bytes" Bytes Instant "size of a shared memory segment";
    SegmentAttached "segment.attached" Count Instant "processes attached to a shared memory \
        segment";
    CgroupThrottled "cgroup.throttled_percent" Percent Average "periods in which the CPU quota \
        was used up";
    CgroupThrottledEver "cgroup.throttled_ever_percent" Percent SinceBoot
        "periods since its start in which the CPU quota was used up";
    CgroupPeriodCount "cgroup.periods" Count SinceBoot "periods since its start";
    CgroupThrottledCount "cgroup.throttled" Count SinceBoot "periods throttled since its start";
    CgroupCpu "cgroup.cpu_percent" Percent Average "its CPU, of one CPU";
    ClusterCpu "cluster.cpu_percent" Percent Average "CPU of a node, of all that it gives to pods";
    ClusterMemoryPercent "cluster.memory_percent" Percent Instant
        "memory in use on a node, of what it gives to pods";
    CgroupScanDirect "cgroup.direct_scan_per_s" PerSecond Average "base pages scanned at the \
        cgroup's limit";
    CgroupMemory "cgroup.memory_bytes" Bytes Instant "memory in use";
    CgroupMemoryMax "cgroup.memory_max_bytes" Bytes Instant "limit of its memory";
    CgroupMemoryHigh "cgroup.memory_high_bytes" Bytes Instant
        "memory from which on it is slowed down";
    CgroupMaxHitCount "cgroup.max_hits" Count SinceBoot
        "times since its start that it was at its memory limit";
    CgroupMaxHits "cgroup.max_hits_per_s" PerSecond Average "times that it is at its memory limit";
    CgroupHighHitCount "cgroup.high_hits" Count SinceBoot
        "times since its start that it was slowed down above memory.high";
    CgroupHighHits "cgroup.high_hits_per_s" PerSecond Average
        "times that it is slowed down above memory.high";
    CgroupPsiMemory "cgroup.psi_memory_some_percent" Percent Instant
        "time in which one of its tasks waited for memory";
    CgroupRefaultCount "cgroup.refaults" Count SinceBoot
        "base pages since its start that were read again soon after they were dropped";
    CgroupRefaults "cgroup.refaults_per_s" PerSecond Average
        "base pages read again soon after they were dropped";
    GcPause "gc.pause_ms" Milliseconds Event "pause for garbage collection";
    GcUser "gc.user_ms" Milliseconds Event "CPU outside the kernel in such a pause";
    GcSystem "gc.system_ms" Milliseconds Event "CPU in the kernel in such a pause";
    GcHeapAfter "gc.heap_after_bytes" Bytes Event "Java's heap in use after a full collection";
    GcHeapSize "gc.heap_bytes" Bytes Event "size of Java's heap at a full collection";
    GcOld "gc.old_percent" Percent Instant "use of the old part of Java's heap";
    GcBusy "gc.busy_percent" Percent Average "time in garbage collection";
    Safepoint "gc.safepoint_ms" Milliseconds Event
        "pause at a safepoint, the work done there included";
    SafepointReach "gc.safepoint_reach_ms" Milliseconds Event "time until all threads stopped at \
        a safepoint";
    // The pauses of which the CPU time is known, one for one with that.
    GcTimed "gc.timed_ms" Milliseconds Event "pause of which the CPU time is known";
    GcKind "gc.pause_of_kind_ms" Milliseconds Event "pause of this kind";
    GcCause "gc.pause_by_cause_ms" Milliseconds Event "pause for this cause";
    GcTrouble "gc.pause_with_trouble_ms" Milliseconds Event
        "pause in which this went wrong, or was done beside the collection";
    GcPart "gc.part_ms" Milliseconds Event "part of a pause";
    RuntimePause "runtime.pause_ms" Milliseconds Event
        "pause of another language's program for garbage collection";
    RuntimeHeapAfter "runtime.heap_after_bytes" Bytes Event "its heap in use after a collection";

    // What servers say of themselves. A server counts since its own start.
    ServerUptime "server.uptime_ms" Milliseconds Instant "time since the server's start";
    ServerCpuTime "server.cpu_ms" Milliseconds SinceBoot "CPU of the server since its start";
    ServerCpu "server.cpu_percent" Percent Average "CPU of the server's main thread";
    ServerSystemTime "server.cpu_kernel_ms" Milliseconds SinceBoot
        "CPU of the server in the kernel since its start";
    ServerSystem "server.cpu_kernel_percent" Percent Average
        "CPU of the server's main thread in the kernel";
    ServerRequests "server.requests_per_s" PerSecond Average "requests served";
    LatencyEvent "server.latency_ms" Milliseconds Event "latest stall that the server measured";
    LatencyWorst "server.latency_worst_ms" Milliseconds Event "longest stall that it measured";
    HugeFound "server.huge_found" Count Event "times that it found huge pages in its memory";
    HugeRefused "server.huge_refused" Count Event "its requests for huge pages that were refused";
    HugeForgone "server.huge_forgone" Count Event "times that it went on without huge pages";
    HugeUsed "server.huge_bytes" Bytes Event "its memory in HugeTLB pages";
    HugePool "server.pool_bytes" Bytes Event "HugeTLB pool, as the server sees it";
    HugePoolFree "server.pool_free_bytes" Bytes Event "HugeTLB pool that nobody uses";
    MemoryRefused "server.memory_refused" Count Event "its requests for memory that were refused";
    MemoryWanted "server.memory_wanted_bytes" Bytes Event "memory that the server asked for";
    LockRefused "server.lock_refused" Count Event "memory that it could not lock";
    MemlockLimit "server.memlock_bytes" Bytes Event "memory that the server may lock";
    ForkRefused "server.fork_refused" Count Event "its forks that were refused for want of memory";
    ServerSigbus "server.sigbus" Count Event "processes of the server that died of SIGBUS";
    ServerSigkill "server.sigkill" Count Event "processes of the server that died of SIGKILL";
    CommandCalls "command.calls" Count SinceBoot "calls since the counts began";
    CommandTime "command.time_ms" Milliseconds SinceBoot "time in all calls since the counts began";
    CommandBusy "command.busy_percent" Percent Average "time in all calls, of one thread";
    CommandSlow "command.slow_ms" Milliseconds Event "time of one call in the slow log";
    DataSize "data.used_bytes" Bytes Instant "memory that the server's allocator handed out";
    DataRss "data.rss_bytes" Bytes Instant "resident memory, as the server sees it";
    DataLimit "data.limit_bytes" Bytes Instant "limit of the server's memory";
    RssRatio "data.rss_ratio" Index Instant "resident memory over what was handed out";
    AllocatorFragmentation "data.allocator_fragmentation" Index Instant
        "pages in use over what was handed out from them";
    AllocatorRss "data.allocator_rss" Index Instant
        "pages that the allocator holds over those in use";
    ForkTime "data.fork_ms" Milliseconds Instant "latest fork, in which the server stood still";
    CowSize "data.copied_bytes" Bytes Instant "memory copied while the server last saved";
    EvictedCount "data.evicted" Count SinceBoot "keys evicted since the server's start";
    Evictions "data.evicted_per_s" PerSecond Average "keys evicted";
    SavesFailed "data.saves_failed" Count Event "attempts to save that failed";
    FsyncTime "data.fsync_ms" Milliseconds Event "an fsync of the log";
    ServerLate "server.late" Count Event "requests that took the server too long";
    HeapErrors "heap.errors" Count Event "times that a program found its heap full";
    OwnLimit "memory.own_limit" Count Event "times that a program reached its own limit of memory";
    OwnLimitBytes "memory.own_limit_bytes" Bytes Event "a program's own limit of memory";
    MemoryAlarm "server.memory_alarm" Count Event "times that it stopped its clients for memory";
    PoolFullLogged "pool.full_logged" Count Event "times that it had no worker or connection left";
    PoolLimit "pool.limit" Count Event "most workers or connections that it may have";
    FsyncLate "data.fsync_late" Count Event "times that fsync of the log took too long";
    RefusedWriteCount "data.refused" Count SinceBoot "commands refused for want of memory";
    CacheHitCount "cache.hits" Count SinceBoot "reads that found their data in the cache";
    CacheMissCount "cache.misses" Count SinceBoot "reads that did not";
    FsyncDelayCount "data.fsync_delays" Count SinceBoot "writes of the log held up by fsync";
    FsyncDelays "data.fsync_delays_per_s" PerSecond Average "writes of the log held up by fsync";
    SessionsAll "sessions.all" Count Instant "sessions, idle ones too";
    SessionLongest "sessions.longest_ms" Milliseconds Instant
        "longest time that a session has been in what it does";
    Sessions "sessions.active" Count Instant "sessions that execute a statement";
    SessionsWaiting "sessions.waiting" Count Instant "sessions in this wait within a statement";
    SessionsBlocked "sessions.blocked" Count Instant
        "sessions that wait for this one's locks, also through others";
    SessionWait "sessions.wait_ms" Milliseconds Instant
        "longest time that a session has been in this wait";
    LockWaiters "sessions.wait_for_lock" Count Instant "sessions that wait for this lock";
    SessionsIn "sessions.in_statement" Count Instant "sessions in this wait with this statement";
    SessionIdle "sessions.idle_ms" Milliseconds Instant "time that this session has been idle";
    TransactionTime "sessions.transaction_ms" Milliseconds Instant
        "time that a transaction has been open";
    UndoLength "data.undo_records" Count Instant "transactions whose old row versions are kept";
    SessionsIdleInTransaction "sessions.idle_in_transaction" Count Instant
        "sessions idle within a transaction";
    IdleInTransaction "sessions.idle_in_transaction_ms" Milliseconds Instant
        "longest time that a session has been idle within a transaction";
    CheckpointsTimed "checkpoints.timed" Count SinceBoot "checkpoints by the clock";
    CheckpointsRequested "checkpoints.requested" Count SinceBoot
        "checkpoints that something asked for, mostly full WAL";
    PoolActive "pool.active" Count Instant "workers at work";
    PoolIdle "pool.idle" Count Instant "workers without work";
    PoolQueue "pool.queue" Count Instant "requests that wait for a worker";
    PoolQueueLimit "pool.queue_limit" Count Instant
        "most requests that may wait for a worker; 0: the server cannot tell how many wait";
    AcceptWaiting "listen.waiting" Count Instant "connections that wait to be accepted";
    PoolFullCount "pool.full" Count SinceBoot "times that the pool was full since its start";
    // Pools of connections, as programs log them.
    ConnUsed "connections.used" Count Event "connections of the pool in use";
    ConnSize "connections.size" Count Event "connections of the pool, or the most it may have";
    ConnWaiting "connections.waiting" Count Event "requests that wait for a connection of the pool";
    ConnTimeouts "connections.timeouts" Count Event "requests that got no connection of the pool";
    ConnWait "connections.wait_ms" Milliseconds Event "time that such a request waited";
    ConnOpened "connections.opened" Count Event "connections opened, of a minute";
    // Of a pool between clients and a server, from its own statistics.
    PoolWait "pool.wait_ms" Milliseconds Average
        "mean time that a client waits for a connection to the server";
    PoolQuery "pool.query_ms" Milliseconds Average "mean time of a statement at the server";
    ConnRefused "connections.refused" Count Event "connections refused: the server has its most";
    // Containers, pods and nodes of clusters.
    Restarts "container.restarts" Count Instant "its restarts";
    ContainerLimit "container.memory_limit_bytes" Bytes Instant "limit of its memory";
    ContainerRequest "container.memory_request_bytes" Bytes Instant "memory kept for it";
    NodeCondition "cluster.condition" Count Instant "a condition of the node holds (1) or not (0)";
    NodeAllocated "cluster.allocated_percent" Percent Instant "share of the node that is promised";
    ClusterEvents "cluster.events" Count Event "events of this kind";
    ClusterEventAge "cluster.event_age_ms" Milliseconds Instant "time since the latest of them";
    // Threads of a program, as its own dumps show them.
    Threads "threads.count" Count Instant "threads";
    ThreadsBusy "threads.busy" Count Instant "threads with work";
    ThreadsInState "threads.in_state" Count Instant "threads in this state";
    ThreadsDoing "threads.doing" Count Instant "threads of the pool that do this";
    ThreadsBorrow "threads.wait_for_connection" Count Instant
        "threads that wait for a connection of this pool";
    ConnectionUsers "threads.use_connection" Count Instant
        "threads that use a connection of this pool, and do this";
    ThreadsLimited "threads.wait_for_permit" Count Instant
        "threads that wait for this limited thing";
    ThreadsLocked "threads.wait_for_lock" Count Instant "threads that wait for this lock";
    LockHolders "threads.hold_lock" Count Instant "threads that wait for this holder of the lock";
    ThreadsRemote "threads.wait_for_service" Count Instant
        "threads that serve a request and wait for this service";
    ThreadStays "threads.stay_ms" Milliseconds SinceBoot
        "CPU of a thread that holds, or waits for, this";
    ThreadsDeadlocked "threads.deadlocked" Count Instant "threads that wait for each other";
    PoolRequests "threads.requests_in_pool" Count Instant "threads of this pool with a request";
    ThreadsCpu "threads.cpu_ms" Milliseconds SinceBoot "CPU of the threads since their start";
    CollectorsCpu "threads.collectors_cpu_ms" Milliseconds SinceBoot
        "CPU of the collectors of garbage since their start";
    // One run of a statement, as the server's log has it; of each run one after the other.
    StatementTime "statement.time_ms" Milliseconds Event "time of one run of the statement";
    StatementLocks "statement.locks_ms" Milliseconds Event
        "time that one run of the statement waited for locks";
    StatementExamined "statement.rows_examined" Count Event
        "rows that one run of the statement looked at";
    StatementSent "statement.rows_sent" Count Event "rows that one run of the statement gave back";
    StatementRuns "statement.runs" Count Event "runs of the statement of which no time is known";
    StatementPlan "statement.plan_ms" Milliseconds Event
        "time that one run of the statement took to be parsed and planned";
    ServerErrors "server.errors" Count Event "statements and sessions that failed in this way";
    LockWait "sessions.lock_ms" Milliseconds Event "time that a session waited for this lock";
    Deadlocks "sessions.deadlocks" Count Event "sessions that waited for each other";
    CheckpointsApart "checkpoints.apart_ms" Milliseconds Event
        "time between checkpoints of which the server says that it is too short";
    CheckpointTime "checkpoints.time_ms" Milliseconds Event "time that a checkpoint took";
    CheckpointSync "checkpoints.sync_ms" Milliseconds Event
        "time of it in which the disk was told to keep what was written";
    AutovacuumTime "autovacuum.time_ms" Milliseconds Event
        "time that autovacuum took for the table, or for its statistics";
    AutovacuumDead "autovacuum.dead_rows" Count Event
        "dead rows that it had to leave, as somebody may still read them";
    TemporaryFile "statement.temporary_file_bytes" Bytes Event "file of a sort or hash";
    ConnectionsDroppedCount "connections.dropped" Count SinceBoot
        "connections accepted and dropped since the server's start";
    ConnectionsDropped "connections.dropped_per_s" PerSecond Average
        "connections accepted and dropped";
    } };
}
pub(super) use fields_of_programs;
