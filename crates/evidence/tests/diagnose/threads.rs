//! Dumps of threads: which thread waits for which inside of a program, and how long tasks wait for
//! a CPU.

use hugewise_evidence::diagnose::{Cause, Severity, Verdict};

use super::{Text, assert_says, chain, found, notes, of_texts, suffers, verdict};

macro_rules! ticket {
    ($name:literal) => {
        ($name, include_str!(concat!("../corpus/", $name, ".txt")))
    };
}

const SLOW: Text = ticket!("threads-pool-slow-database");
const SMALL: Text = ticket!("threads-pool-small");
const MONITOR: Text = ticket!("threads-lock-synchronized");
const REENTRANT: Text = ticket!("threads-lock-reentrant");
const DEADLOCK: Text = ticket!("threads-deadlock-log");
const BUSY: Text = ticket!("threads-pool-busy-cpu");
const GO: Text = ticket!("threads-go-mutex");
const IDLE: Text = ticket!("ok-threads-tomcat-idle");

/// Two CPUs, six tasks of which wait for them, and one that does.
const DELAYED: Text = (
    "delayed.txt",
    "\
batch1$ cat /proc/schedstat; sleep 10; cat /proc/schedstat
version 15
timestamp 4295
cpu0 0 0 1 2 3 4 5000 1000000000 7
cpu1 0 0 1 2 3 4 5000 1000000000 7
version 15
timestamp 6795
cpu0 0 0 1 2 3 4 9000 31000000000 7
cpu1 0 0 1 2 3 4 9000 31000000000 7
batch1$ vmstat 1 3
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 3  0      0 910240  26612 394030    0    0     0     0  717  645 97  3  0  0  0
 3  0      0 910240  26612 394030    0    0     0     0  717  645 96  4  0  0  0
 3  0      0 910240  26612 394030    0    0     0     0  717  645 97  3  0  0  0
",
);

/// For the coverage.
pub(crate) fn texts() -> Vec<Text> {
    let prompt = |text: &str| text.replace("31000000000", "2000000000");
    let prompt: &str = prompt(DELAYED.1).leak();
    let all = [SLOW, SMALL, MONITOR, REENTRANT, DEADLOCK, BUSY, GO, IDLE, DELAYED];
    all.into_iter().chain([("prompt.txt", prompt)]).collect()
}

/// The listings without what somebody wrote above them.
fn listings(text: Text) -> Text {
    (text.0, text.1.split_once("\n\n").map_or("", |(_, rest)| rest))
}

#[test]
fn a_slow_database_is_told_apart_from_a_small_pool() {
    let slow = of_texts(&[listings(SLOW)]);
    assert_eq!(suffers(&slow)[0], "service_wait");
    assert_eq!(found(&slow, "pool_limit").follows, Some(Cause::ServiceWait));
    let wanted = [
        "4 of 4 threads with a connection of HikariCP wait for PostgreSQL in",
        "com.shop.Orders.find; the same 4 in all 3 dumps",
        "wait for a connection of HikariCP, in each of 3 dumps",
    ];
    assert_says(&chain(found(&slow, "service_wait")), &wanted);
    let small = of_texts(&[listings(SMALL)]);
    assert_eq!(suffers(&small), ["pool_limit"]);
    assert_says(&chain(found(&small, "pool_limit")), &["each dump shows others that use it"]);
}

#[test]
fn one_dump_of_a_pool_decides_less() {
    let (_, rest) = SLOW.1.split_once("Full thread dump").expect("a dump");
    let one = rest.split("Full thread dump").next().expect("its rest");
    let one: &str = format!("Full thread dump{one}").leak();
    let found_in_one = of_texts(&[("one.txt", one)]);
    assert_eq!(suffers(&found_in_one)[0], "pool_limit");
    let text = chain(found(&found_in_one, "pool_limit"));
    assert_says(&text, &["one dump does not tell", "take three, 5 s apart"]);
}

#[test]
fn a_lock_is_named_with_its_place_and_holder() {
    let monitor = of_texts(&[listings(MONITOR)]);
    assert_eq!(suffers(&monitor), ["thread_lock"]);
    let wanted = [
        "wait for a lock: com.shop.Stock in com.shop.Stock.reserve, in each of 3 dumps",
        "another thread holds it in each dump",
        "sleeps in com.shop.Stock.reserve",
    ];
    assert_says(&chain(found(&monitor, "thread_lock")), &wanted);
    // Without -l nobody is known to own it.
    let owned = |line: &&str| !line.starts_with("\t- <0x");
    let lines: Vec<&str> = listings(REENTRANT).1.lines().filter(owned).collect();
    let none: &str = lines.join("\n").leak();
    let none = of_texts(&[("plain.txt", none)]);
    let finding = found(&none, "thread_lock");
    assert!(finding.missing.iter().any(|unseen| unseen.missing.command == "jstack -l PID"));
}

#[test]
fn a_lock_that_few_wait_for_is_none() {
    // Two threads of those that are blocked, and what has it.
    let mut blocked = 0;
    let threads = listings(MONITOR).1.split("\n\n").filter(|thread| {
        blocked += usize::from(thread.contains("BLOCKED"));
        !thread.contains("BLOCKED") || blocked % 7 < 2
    });
    let text: &str = threads.collect::<Vec<_>>().join("\n\n").leak();
    let few = of_texts(&[("few.txt", text)]);
    assert_eq!(suffers(&few), [""; 0]);
    assert_eq!(notes(&few), [""; 0]);
}

#[test]
fn full_cpus_come_before_the_pool() {
    let busy = of_texts(&[listings(BUSY)]);
    assert_eq!(suffers(&busy)[0], "cpu_saturated");
    assert_eq!(found(&busy, "pool_limit").follows, Some(Cause::CpuSaturated));
    assert_says(&chain(found(&busy, "pool_limit")), &["the CPUs are full"]);
}

#[test]
fn a_deadlock_is_told_by_its_threads() {
    let deadlock = of_texts(&[listings(DEADLOCK)]);
    assert_eq!(suffers(&deadlock), ["deadlock"]);
    let text = chain(found(&deadlock, "deadlock"));
    assert_says(&text, &["2 threads wait for each other: pool-1-thread-1, pool-1-thread-2"]);
}

#[test]
fn idle_pools_are_no_wait() {
    let idle = of_texts(&[listings(IDLE)]);
    assert!(idle.findings.is_empty(), "{:?}", suffers(&idle));
    assert_eq!(verdict(&idle, "threads"), Verdict::No);
}

#[test]
fn time_on_the_run_queue_is_a_mean_of_tasks() {
    let delayed = of_texts(&[DELAYED]);
    assert_eq!(suffers(&delayed), ["cpu_saturated"]);
    let finding = found(&delayed, "cpu_saturated");
    assert_eq!(finding.severity, Severity::Warning);
    assert_says(&chain(finding), &["6 tasks wait for a CPU at any time, as a mean, on 2 CPUs"]);
    // As much waiting on CPUs that have room is somebody's limit.
    let room: &str =
        DELAYED.1.replace(" 97  3  0 ", " 20  3 77 ").replace(" 96  4  0 ", " 20  4 76 ").leak();
    let room = of_texts(&[("room.txt", room)]);
    assert_eq!(suffers(&room), [""; 0]);
    assert_eq!(verdict(&room, "user.delayed"), Verdict::No);
}
