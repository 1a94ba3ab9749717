//! Remedies for what servers say of themselves.

use super::step::{Reach, Remedy, When};

ladders! {
    SLOW_COMMANDS {
        Look "see who calls it, and on which keys", "redis-cli SLOWLOG GET 32",
            "one client's address, one key";
        Look "see which keys are large (it reads all of them in small steps)",
            "redis-cli --bigkeys -i 0.1", "one key has most elements";
        Program "ask for parts: SCAN for KEYS, SSCAN, HSCAN and ZSCAN for SMEMBERS, HGETALL and \
            large ranges, LRANGE with an end, shorter scripts, UNLINK for DEL of large keys",
            "redis-cli --scan --pattern 'PREFIX:*'",
            "redis-cli INFO commandstats: usec_per_call falls";
        Program "or ask a replica for what has to be slow", "redis-cli -h REPLICA INFO replication",
            "the command leaves commandstats of the primary";
    }
    SERVER_FULL {
        Look "see what it does",
            "redis-cli INFO commandstats; sleep 10; redis-cli INFO commandstats",
            "one command has most of the time";
        Program "fewer, larger requests: pipelines, MGET and MSET, less of what is asked twice",
            "redis-cli INFO stats", "the same work at fewer instantaneous_ops_per_sec";
        Program "let other threads read and write the sockets (Redis 6 and later)",
            "redis-cli CONFIG GET io-threads  # set it in redis.conf: 2 to 4, then restart",
            "used_cpu_*_main_thread grows more slowly";
        Hardware "several servers: a cluster, or replicas that answer reads",
            "redis-cli --cluster check HOST:PORT", "no thread above 70 %";
    }
    REDIS_FORK {
        Look "see how long, and how often", "redis-cli INFO stats; redis-cli INFO persistence",
            "latest_fork_usec, rdb_saves";
        Program "save less often, or on a replica only",
            "redis-cli CONFIG GET save  # CONFIG SET save '' on the one that serves",
            "latest_fork_usec no longer changes";
        Program "smaller servers: a fork takes as long as their page tables are large",
            "redis-cli INFO memory", "latest_fork_usec falls with used_memory";
        Hardware "a virtual machine with hardware support for page tables", "lscpu",
            "less than 20 ms for each GiB";
    }
    REDIS_COW {
        Look "see how much, and whether huge pages are on",
            "redis-cli INFO persistence; grep -H . /sys/kernel/mm/transparent_hugepage/enabled",
            "rdb_last_cow_size against used_memory";
        Program "no huge pages for Redis: its own switch (6.2 and later)",
            "redis-cli CONFIG GET disable-thp  # set it to yes in redis.conf, then restart",
            "rdb_last_cow_size falls";
        Program "save when little is written", "redis-cli CONFIG GET save",
            "rdb_last_cow_size falls";
        Hardware "leave as much memory free as it may copy", "free -h",
            "available memory above rdb_last_cow_size";
    }
    REDIS_EVICTIONS {
        Look "see what it evicts, and what is asked for in vain",
            "redis-cli INFO stats; sleep 10; redis-cli INFO stats",
            "evicted_keys and keyspace_misses grow together";
        Program "keep less: a time to live, smaller values, a policy that fits (allkeys-lru for a \
            cache)", "redis-cli CONFIG GET maxmemory-policy", "evicted_keys grows more slowly";
        Program "or a larger limit, where the machine has the memory",
            "free -h; redis-cli CONFIG SET maxmemory SIZE", "hits rise, evicted_keys stops";
    }
    REDIS_FRAGMENTATION {
        Look "ask what it thinks of its memory", "redis-cli MEMORY DOCTOR",
            "it names fragmentation, or a peak";
        Program "let it move its data together (jemalloc only)",
            "redis-cli CONFIG SET activedefrag yes",
            "redis-cli INFO memory: allocator_frag_ratio falls";
        Program "give back what the allocator keeps", "redis-cli MEMORY PURGE",
            "used_memory_rss falls";
    }
    REDIS_FSYNC {
        Look "see the disk of its log", "iostat -xz 1 10", "w_await above some ms";
        Program "do not fsync while another process rewrites the log",
            "redis-cli CONFIG SET no-appendfsync-on-rewrite yes",
            "aof_delayed_fsync stops growing";
        Program "a disk of its own for the log, or fsync once a second",
            "redis-cli CONFIG GET dir; redis-cli CONFIG GET appendfsync",
            "aof_delayed_fsync stops growing";
    }
    PG_LOCKS {
        Look "see who holds what they wait for",
            "psql -c \"select pid, pg_blocking_pids(pid) as blocked_by, state, wait_event_type, \
                wait_event, left(query, 60) as query from pg_stat_activity where \
                cardinality(pg_blocking_pids(pid)) > 0\"",
            "one of them is nobody's victim";
        Program "end the one at the head", "psql -c 'select pg_terminate_backend(PID)'",
            "the others go on";
        Program "shorter transactions, rows always in the same order, DDL with lock_timeout",
            "psql -c \"alter role ROLE set lock_timeout = '5s'\"", "no more waits in Lock";
    }
    PG_LWLOCKS {
        Look "see which", "psql -c \"select wait_event_type, wait_event, state, count(*) from \
            pg_stat_activity group by 1, 2, 3 order by 4 desc\"",
            "WALWrite: commits; BufferMapping: shared buffers; LockManager: partitions";
        Program "fewer sessions at work at a time: a pool as large as two or three times the CPUs",
            "psql -c 'show max_connections'", "fewer waits in LWLock at the same rate";
    }
    PG_IO {
        Look "see the disk", "iostat -xz 1 10", "busy, with a queue";
        Look "see who reads", "psql -c \"select relname, seq_scan, seq_tup_read, idx_scan from \
            pg_stat_user_tables order by seq_tup_read desc limit 10\"",
            "one table is read as a whole again and again";
        Program "an index for it; more shared_buffers where memory is free",
            "psql -c 'show shared_buffers'", "fewer waits in IO:DataFileRead";
    }
    PG_IDLE {
        Look "see whose", "psql -c \"select pid, state, state_change, now(), wait_event_type, \
            application_name from pg_stat_activity where state like 'idle in%' order by 3\"",
            "one application";
        Program "end transactions before waiting for anything else", "psql -c \"alter role ROLE \
            set idle_in_transaction_session_timeout = '60s'\"",
            "no session idle in transaction for long";
    }
    PG_STATEMENT {
        Look "see how it is executed", "psql -c 'explain (analyze, buffers) STATEMENT'",
            "a step reads far more rows than it gives";
        Program "an index, fresh statistics, or fewer calls", "psql -c 'analyze TABLE'",
            "its mean time falls in pg_stat_statements";
    }
    PG_CHECKPOINTS {
        Look "see the limit", "psql -c 'show max_wal_size'", "less than is written between two";
        Program "let more be written between two checkpoints", "psql -c \"alter system set \
            max_wal_size = '8GB'\" -c 'select pg_reload_conf()'",
            "those by the clock grow, the others do not";
    }
    FPM_FULL {
        Look "see what the workers do", "curl -s 'localhost/status?full' | grep -E \
            'request (duration|uri)'", "one script, or all wait for one database";
        Program "make that faster first: more workers only wait in more places",
            "tail /var/log/php*-fpm.log  # with request_slowlog_timeout = 2s", "listen queue 0";
        Service "more workers, where CPU and memory are left",
            "ps -C php-fpm --no-headers -o rss | sort -n | tail -1  # pm.max_children times this",
            "listen queue 0, idle processes above 0";
    }
    NGINX_DROPS {
        Look "see why", "tail -50 /var/log/nginx/error.log",
            "'worker_connections are not enough' or 'too many open files'";
        Program "more of them: a proxied request takes two", "nginx -T | grep -E \
            'worker_(connections|processes|rlimit_nofile)'", "accepts and handled stay alike";
    }
}
