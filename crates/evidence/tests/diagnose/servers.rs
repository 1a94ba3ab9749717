//! What servers say of themselves: pasted answers of Redis, PostgreSQL, nginx and php-fpm.

use hugewise_evidence::diagnose::{Cause, Severity, Verdict};

use super::{Text, assert_says, chain, found, notes, of_texts, suffers, verdict};

/// A server of 8 GiB that lacks nothing: two looks, 10 s apart.
const HEALTHY_REDIS: &str = "\
# Server
redis_version:7.0.15
tcp_port:6379
uptime_in_seconds:100000

# Memory
used_memory:8589934592
used_memory_rss:9019431321
maxmemory:17179869184
maxmemory_policy:allkeys-lru
allocator_frag_ratio:1.03
allocator_rss_ratio:1.01
mem_fragmentation_ratio:1.05

# Persistence
rdb_last_cow_size:429496729
aof_delayed_fsync:2

# Stats
evicted_keys:0
keyspace_hits:980000
keyspace_misses:20000
latest_fork_usec:81000

# CPU
used_cpu_sys_main_thread:4000.0
used_cpu_user_main_thread:6000.0

# Commandstats
cmdstat_get:calls=2000000000,usec=2400000000,usec_per_call=1.20,rejected_calls=0,failed_calls=0
cmdstat_set:calls=100000000,usec=260000000,usec_per_call=2.60,rejected_calls=0,failed_calls=0
cmdstat_info:calls=100,usec=20000,usec_per_call=200.00,rejected_calls=0,failed_calls=0

# Server
redis_version:7.0.15
tcp_port:6379
uptime_in_seconds:100010

# Stats
evicted_keys:0
keyspace_hits:981000
keyspace_misses:20010

# Persistence
aof_delayed_fsync:2

# CPU
used_cpu_sys_main_thread:4000.4
used_cpu_user_main_thread:6000.6

# Commandstats
cmdstat_get:calls=2000200000,usec=2400240000,usec_per_call=1.20,rejected_calls=0,failed_calls=0
cmdstat_set:calls=100010000,usec=260026000,usec_per_call=2.60,rejected_calls=0,failed_calls=0
";

/// KEYS in a loop: 0.8 of 10 s.
const KEYS_REDIS: &str = "\
# Server
redis_version:6.2.6
server_time_usec:1700000000000000
uptime_in_seconds:100000
used_cpu_sys_main_thread:10.0
used_cpu_user_main_thread:5000.0
cmdstat_get:calls=1000000,usec=2000000,usec_per_call=2.00
cmdstat_keys:calls=10,usec=3000000,usec_per_call=300000.00

# Server
redis_version:6.2.6
server_time_usec:1700000010000000
uptime_in_seconds:100010
used_cpu_sys_main_thread:10.3
used_cpu_user_main_thread:5009.5
cmdstat_get:calls=1100000,usec=2200000,usec_per_call=2.00
cmdstat_keys:calls=40,usec=12000000,usec_per_call=300000.00
";

/// Trouble with memory of every kind.
const LARGE_REDIS: &str = "\
[root@c1 ~]# cat /sys/kernel/mm/transparent_hugepage/enabled
[always] madvise never
[root@c1 ~]# redis-cli info
uptime_in_seconds:1000
used_memory:17000000000
used_memory_rss:42500000000
maxmemory:17179869184
maxmemory_policy:volatile-lru
allocator_frag_ratio:1.05
allocator_rss_ratio:1.02
mem_fragmentation_ratio:2.50
rdb_last_cow_size:12000000000
latest_fork_usec:1250000
evicted_keys:5000000
keyspace_hits:500
keyspace_misses:500
aof_delayed_fsync:400
";

const FRAGMENTED_REDIS: &str = "\
# Server
uptime_in_seconds:1000
latest_fork_usec:9000
rdb_last_cow_size:1000000
aof_delayed_fsync:1
evicted_keys:0
used_cpu_sys:10
used_cpu_user:20
cmdstat_get:calls=1000,usec=2000,usec_per_call=2.00

# Memory
used_memory:17000000000
used_memory_rss:27200000000
allocator_frag_ratio:1.55
allocator_rss_ratio:1.02
mem_fragmentation_ratio:1.60
/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never
";

const SLOW_LOG: &str = "\
1) 1) (integer) 14
   2) (integer) 1700000100
   3) (integer) 312001
   4) 1) \"SMEMBERS\"
      2) \"all-users\"
2) 1) (integer) 13
   2) (integer) 1700000090
   3) (integer) 305001
   4) 1) \"SMEMBERS\"
      2) \"all-users\"
3) 1) (integer) 12
   2) (integer) 1700000080
   3) (integer) 311001
   4) 1) \"SMEMBERS\"
      2) \"all-users\"
";

const SHORT_LOG: &str = "\
1) 1) (integer) 14
   2) (integer) 1700000100
   3) (integer) 12001
   4) 1) \"LRANGE\"
      2) \"x\"
";

const LOCKED: &str = "\
 count |        state        | wait_event_type |  wait_event   
-------+---------------------+-----------------+---------------
    24 | active              | Lock            | transactionid
     6 | active              |                 | 
     1 | idle in transaction | Client          | ClientRead
    90 | idle                | Client          | ClientRead
(4 rows)
";

const LATCHED: &str = "\
count,state,wait_event_type,wait_event
40,active,LWLock,WALWrite
10,active,,
9,idle in transaction,Client,ClientRead
";

const READING: &str = "\
-[ RECORD 1 ]---+-------------
count           | 18
state           | active
wait_event_type | IO
wait_event      | DataFileRead
-[ RECORD 2 ]---+-------------
count           | 3
state           | active

 datname | blks_read | blks_hit
---------+-----------+----------
 shop    |    400000 |   600000
(1 row)
";

const FORGOTTEN: &str = "\
pid,state,wait_event_type,wait_event,state_change,now
77,idle in transaction,Client,ClientRead,2025-11-04 10:00:00+01,2025-11-04 12:00:00+01
78,active,,,2025-11-04 11:59:59+01,2025-11-04 12:00:00+01
";

const STATEMENTS: &str = "\
query|calls|total_exec_time|mean_exec_time
SELECT * FROM orders WHERE lower(mail) = $1|20000|9000000|450
SELECT * FROM items WHERE id = $1|9000000|90000|0.01
(2 rows)
checkpoints_timed|checkpoints_req
12|400
(1 row)
";

const CALM_POSTGRES: &str = "\
 pid  | state  | wait_event_type | wait_event |         state_change          
------+--------+-----------------+------------+-------------------------------
 1201 | active |                 |            | 2025-11-04 15:20:31.123456+01
 1202 | idle   | Client          | ClientRead | 2025-11-04 15:20:30.123456+01
 1203 | idle in transaction | Client | ClientRead | 2025-11-04 15:20:31.0+01
(3 rows)

 query | calls | total_exec_time 
-------+-------+-----------------
 SELECT a FROM t WHERE id = $1 | 9000000 | 90000
 COMMIT | 9000000 | 9000
(2 rows)

 num_timed | num_requested 
-----------+---------------
       400 |            12
(1 row)
";

const FULL_POOL: &str = "\
pool:                 www
listen queue:         42
idle processes:       0
active processes:     50
max children reached: 9
";

const POOL: &str = "\
pool:                 www
listen queue:         0
idle processes:       12
active processes:     8
max children reached: 1
";

const NGINX: &str = "Active connections: 2 \nserver accepts handled requests\n 500 500 900 \n";
const NGINX_DROPS: &str =
    "Active connections: 2 \nserver accepts handled requests\n 900 500 900 \n";

/// Texts, and what they must show: causes at warning or worse, then those worth a note.
type Case = (&'static [Text], &'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    (&[("redis.txt", HEALTHY_REDIS)], &[], &[]),
    (&[("keys.txt", KEYS_REDIS)], &["slow_commands", "server_thread_full"], &[]),
    (
        &[("large.txt", LARGE_REDIS)],
        &["redis_copy_on_write", "bloat", "redis_evictions", "redis_fork", "redis_fsync"],
        &["thp_always"],
    ),
    (
        &[("fragmented.txt", FRAGMENTED_REDIS), ("short.txt", SHORT_LOG)],
        &["redis_fragmentation"],
        &[],
    ),
    (
        &[("keys.txt", KEYS_REDIS), ("redis.txt", HEALTHY_REDIS)],
        &["slow_commands", "server_thread_full"],
        &[],
    ),
    (&[("slow.txt", SLOW_LOG)], &["slow_commands"], &[]),
    (&[("short.txt", SHORT_LOG)], &[], &[]),
    (&[("locked.txt", LOCKED)], &["postgres_locks"], &[]),
    (&[("locked.txt", LOCKED), ("calm.txt", CALM_POSTGRES)], &["postgres_locks"], &[]),
    (&[("latched.txt", LATCHED)], &["postgres_lwlocks"], &[]),
    (&[("reading.txt", READING)], &["postgres_io"], &[]),
    (&[("forgotten.txt", FORGOTTEN)], &["postgres_idle_in_transaction"], &[]),
    (&[("statements.txt", STATEMENTS)], &[], &["postgres_statement", "postgres_checkpoints"]),
    (&[("calm.txt", CALM_POSTGRES)], &[], &[]),
    (&[("pool.txt", FULL_POOL)], &["php_fpm_full"], &[]),
    (&[("pool.txt", POOL), ("nginx.txt", NGINX)], &[], &[]),
    (&[("pool.txt", FULL_POOL), ("nginx.txt", NGINX)], &["php_fpm_full"], &[]),
    (&[("nginx.txt", NGINX_DROPS), ("pool.txt", POOL)], &[], &["nginx_drops"]),
    (
        &[("locked.txt", LOCKED), ("forgotten.txt", FORGOTTEN)],
        &["postgres_idle_in_transaction", "postgres_locks"],
        &[],
    ),
];

/// The texts of each case, for the coverage.
pub(crate) fn texts() -> impl Iterator<Item = &'static [Text]> {
    CASES.iter().map(|case| case.0)
}

#[test]
fn servers_that_suffer_say_why_and_healthy_ones_nothing() {
    for (texts, wanted, noted) in CASES {
        let diagnosis = of_texts(texts);
        assert_eq!(diagnosis.unrecognised, [], "{}", texts[0].0);
        let mut got = suffers(&diagnosis);
        let mut all = wanted.to_vec();
        assert_eq!(got.first(), wanted.first(), "{}: {got:?}", texts[0].0);
        got.sort_unstable();
        all.sort_unstable();
        assert_eq!(got, all, "{}", texts[0].0);
        assert_eq!(notes(&diagnosis), *noted, "{}", texts[0].0);
    }
}

#[test]
fn a_slow_command_is_named_with_its_share_and_before_the_full_thread() {
    let diagnosis = of_texts(&[("keys.txt", KEYS_REDIS)]);
    let finding = found(&diagnosis, "slow_commands");
    let wanted = ["KEYS takes 90 % of its one thread", "97.8 % of the time", "300 ms a call"];
    assert_says(&chain(finding), &wanted);
    assert_eq!(found(&diagnosis, "server_thread_full").follows, Some(Cause::SlowCommands));
    let without = KEYS_REDIS.replace("server_time_usec", "other_name");
    assert_eq!(suffers(&of_texts(&[("keys.txt", without.leak())]))[0], "slow_commands");
}

/// The process of the server at all of a CPU, on a machine with others.
const TOP: &str = "\
top - 15:20:31 up 33 days,  4:02,  2 users,  load average: 1.20, 1.81, 1.02
Tasks: 311 total,   2 running, 309 sleeping,   0 stopped,   0 zombie
%Cpu(s): 12.9 us,  0.4 sy,  0.0 ni, 86.5 id,  0.0 wa,  0.0 hi,  0.2 si,  0.0 st
MiB Mem :  64315.0 total,  40110.0 free,  20220.0 used,   4300.0 buff/cache
MiB Swap:      0.0 total,      0.0 free,      0.0 used.  43110.0 avail Mem

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
   4120 redis     20   0   11.2g   8.1g   4120 R  99.3  12.9   4021:11 redis-server
";

#[test]
fn the_machine_s_full_cpu_follows_from_the_command() {
    let once = "cmdstat_get:calls=1000000,usec=2000000,usec_per_call=2.00\n\
                cmdstat_lrange:calls=900,usec=54000000,usec_per_call=60000.00\n\
                uptime_in_seconds:864000\n";
    let diagnosis = of_texts(&[("ticket", format!("{TOP}\n{once}").leak())]);
    let finding = found(&diagnosis, "slow_commands");
    assert_eq!(finding.severity, Severity::Warning);
    assert_says(&chain(finding), &["redis-server (4120)", "99.3 %", "LRANGE", "60 ms a call"]);
    assert_eq!(found(&diagnosis, "one_cpu").follows, Some(Cause::SlowCommands));
    // Without the process nothing says that it matters now.
    assert!(suffers(&of_texts(&[("ticket", once)])).is_empty());
    // Another program's CPU is not this server's.
    let other = TOP.replace("redis-server", "encoder");
    let busy = KEYS_REDIS.to_owned() + &other;
    let diagnosis = of_texts(&[("ticket", busy.leak())]);
    assert_eq!(found(&diagnosis, "one_cpu").follows, None);
}

#[test]
fn many_sessions_that_wait_follow_from_the_one_that_sleeps() {
    let diagnosis = of_texts(&[("ticket", format!("{FORGOTTEN}\n{LOCKED}").leak())]);
    assert_eq!(verdict(&diagnosis, "postgres.idle"), Verdict::Yes);
    assert_eq!(found(&diagnosis, "postgres_locks").follows, Some(Cause::PgIdle));
}

#[test]
fn an_empty_server_and_a_cache_that_evicts_are_healthy() {
    let empty = "used_memory:900000\nused_memory_rss:11900000\nmem_fragmentation_ratio:13.2\n\
                 latest_fork_usec:1600\nrdb_last_cow_size:700000\n";
    let cache = "used_memory:8589934000\nmaxmemory:8589934592\nmaxmemory_policy:allkeys-lfu\n\
                 evicted_keys:90000000\nkeyspace_hits:950\nkeyspace_misses:50\n";
    for text in [empty, cache] {
        assert!(of_texts(&[("healthy.txt", text)]).findings.is_empty(), "{text}");
    }
}

#[test]
fn a_server_says_how_much_of_its_time_the_kernel_has() {
    let look = |second: u64, system: f64| {
        format!(
            "# Server\nredis_version:7.0.15\nuptime_in_seconds:{second}\n# CPU\n\
             used_cpu_sys:{system}\nused_cpu_user:{}\n# Commandstats\n\
             cmdstat_set:calls={second}000,usec={second}00000,usec_per_call=120.00\n\
             cmdstat_get:calls={second}00,usec={second}000,usec_per_call=1.20\n",
            second / 100
        )
    };
    let full = look(1000, 500.0) + &look(1010, 509.0);
    let full = of_texts(&[("full", full.leak())]);
    assert_says(
        &chain(found(&full, "server_thread_full")),
        &["in the kernel: more than in its own"],
    );
    let calm = of_texts(&[("calm", look(1000, 50.0).leak())]);
    let said: Vec<&str> = calm.hosts[0].doing.iter().map(|line| line.text.as_str()).collect();
    assert_says(&said.join("; "), &["83.3 % of it in the kernel; of its commands' time SET 99"]);
}

#[test]
fn a_pool_in_use_is_told() {
    let text = "HugePages_Total: 12200\nHugePages_Free: 85\nHugepagesize: 2048 kB\n";
    let found = of_texts(&[("meminfo", text)]);
    let said: Vec<&str> = found.hosts[0].doing.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(said, ["HugeTLB pool of 23.8 GiB (12,200 pages): 99.3 % in use"]);
    assert!(found.findings.is_empty());
}

/// Red Hat's kernel 2.6.32 has the settings of huge pages in a folder of its own.
#[test]
fn commands_fit_the_folder_of_red_hat_6() {
    let text = |folder: &str| {
        format!(
            "[root@ci ~]# uname -r\n2.6.32-279.el6.x86_64\n\
             [root@ci ~]# cat /sys/kernel/mm/{folder}/enabled\n[always] never\n{}",
            TOP.replace("redis-server", "khugepaged")
        )
    };
    for (folder, cure) in [
        ("redhat_transparent_hugepage", "echo never > /sys/kernel/mm/redhat_transparent_hugepage/"),
        ("transparent_hugepage", "hugewise thp set enabled=never"),
    ] {
        let found_here = of_texts(&[("ticket", text(folder).leak())]);
        let finding = found(&found_here, "khugepaged");
        let commands: Vec<&str> = finding.remedies.iter().map(|one| &*one.command).collect();
        let all = commands.join("\n");
        assert_says(&all, &[cure, &format!("/sys/kernel/mm/{folder}/khugepaged")]);
        // Neither prctl (3.15) nor remote promotion (6.1) is there.
        assert!(!all.contains("advise run") && !all.contains("hugewise manage"), "{all}");
        assert!(notes(&found_here).contains(&"thp_always"));
    }
}
