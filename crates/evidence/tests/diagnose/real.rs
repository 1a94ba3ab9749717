//! Real recordings: one machine of 2 CPUs under stress-ng for 12 seconds each, `sar -A` and
//! `atop -P` of the same run.
//!
//! Class `gpu` of stress-ng is missing: the machine had none. Steal is what the recordings say, in
//! all runs that write to the disk; what the machine's host did then is not known.

use super::{Text, of_texts, suffers};

/// A run: what was done, and which causes `sar` and `atop` must show at warning or worse, the
/// first one first, and none beside them.
struct Run {
    /// stress-ng's class and stressor.
    did: &'static str,
    sar: (Text, &'static [&'static str]),
    atop: (Text, &'static [&'static str]),
}

macro_rules! run {
    ($name:literal, $did:literal, [$($sar:literal),*], [$($atop:literal),*]) => {
        Run {
            did: $did,
            sar: (text!($name, ".sar"), &[$($sar),*]),
            atop: (text!($name, ".atop"), &[$($atop),*]),
        }
    };
}

macro_rules! text {
    ($name:literal, $ending:literal) => {
        (concat!($name, $ending), include_str!(concat!("../recordings/real/", $name, $ending)))
    };
}

const RUNS: &[Run] = &[
    run!("idle", "idle: nothing", [], []),
    run!("cpu", "cpu: --cpu 2", [], []),
    run!("cache", "cpu-cache: --cache 2", [], []),
    run!("brk", "os: --brk 2, which ended at once: idle", [], []),
    run!("urandom", "device: --urandom 2", ["system_calls"], ["system_calls"]),
    // No count knows of directory entries: by elimination.
    run!("dentry", "filesystem: --dentry 2", ["system_calls"], ["system_calls"]),
    run!("getdent", "filesystem: --getdent 2", ["system_calls"], ["system_calls"]),
    // Signals of timers: no interrupt time, and no count has them.
    run!("timer", "interrupt: --timer 2", ["system_calls"], ["system_calls"]),
    // Two tasks with one direct request each: the disk never queues.
    run!(
        "hdd",
        "io: --hdd 2, direct, sequential",
        ["serial_requests", "steal"],
        ["serial_requests", "steal"]
    ),
    run!(
        "hddrnd",
        "io: --hdd 2, direct, random 4 KiB",
        ["serial_requests", "steal"],
        ["serial_requests", "steal"]
    ),
    // sync(2) again and again: requests that tasks wait for, and kernel time for them.
    run!(
        "io",
        "io: --io 4: sync",
        ["serial_requests", "blocked_tasks", "disk_requests", "steal"],
        ["serial_requests", "disk_requests", "steal"]
    ),
    // Reads and writes of the page cache, sync and more: system calls, and fewer requests.
    run!("iomix", "io: --iomix", ["system_calls", "steal"], ["system_calls", "steal"]),
    // Blocks taken and given back: no count has those calls.
    run!("malloc", "memory: --malloc 2", ["system_calls"], ["system_calls"]),
    // A third of the datagrams is lost, as no CPU is left to read them; `atop` does not count them.
    run!("udp", "network: --udp", ["network_stack", "datagrams_unread"], ["network_stack"]),
    run!("sock", "network: --sock", ["network_stack"], ["network_stack"]),
    // `atop` has no count of new tasks, so that there it is by elimination, which says so.
    run!("fork", "scheduler: --fork 2", ["forks"], ["system_calls"]),
    run!("pipe", "pipe: --pipe 2", ["context_switches"], ["context_switches"]),
    run!("switch", "scheduler: --switch", ["context_switches"], ["context_switches"]),
    run!("futex", "scheduler: --futex", ["system_calls"], ["system_calls"]),
    run!("yield", "scheduler: --yield", ["context_switches"], ["context_switches"]),
    // Semaphores in user space: futex calls, and a fifth of the time for the switches.
    run!("sem", "os: --sem", ["context_switches"], ["context_switches"]),
    run!("key", "security: --key", ["system_calls"], ["system_calls"]),
    // A process for each filter, so that forks play a part, but less than the filter's calls.
    run!("seccomp", "security: --seccomp", ["system_calls"], ["system_calls"]),
    run!("vm", "vm: --vm 2", ["allocation_churn"], ["page_faults"]),
    // Each round opens, fills, maps, unmaps and removes a file: its faults cost the least of it.
    run!("fault", "vm: --fault 2", ["steal", "system_calls"], ["steal", "system_calls"]),
    // `atop` has no count of freed pages, so that it cannot tell churn from faults.
    run!("mmap", "vm: --mmap", ["allocation_churn"], ["page_faults"]),
    // The programs were read in first: one sample of 2 s, at 120 MB/s, with a queue. The heap
    // itself grows without need to wait.
    run!("bigheap", "vm: --bigheap", ["disk_bandwidth"], []),
    run!("mremap", "vm: --mremap", ["allocation_churn"], ["page_faults"]),
    // Half of the machine: 50 % of the kernel, but all of one CPU.
    run!("onecpu", "pipe: --pipe 1, kept on CPU 1", ["context_switches"], ["context_switches"]),
    run!("hundred", "cpu: --cpu 12 on 2 CPUs", ["cpu_saturated"], ["cpu_saturated"]),
];

/// Every text on its own, for the coverage.
pub(crate) fn texts() -> impl Iterator<Item = Text> {
    RUNS.iter().flat_map(|run| [run.sar.0, run.atop.0])
}

#[test]
fn causes_are_those_of_the_load() {
    for run in RUNS {
        for (text, wanted) in [run.sar, run.atop] {
            assert_eq!(suffers(&of_texts(&[text])), wanted, "{} ({})", text.0, run.did);
        }
    }
}

/// All findings, in their order: with sar's counts beside them, those of atop name no other cause.
#[test]
fn both_tools_together_say_the_same() {
    let mut differing = Vec::new();
    for run in RUNS {
        let both = suffers(&of_texts(&[run.sar.0, run.atop.0]));
        if both != run.sar.1 {
            differing.push(format!("{} ({}): {both:?}, not {:?}", run.sar.0.0, run.did, run.sar.1));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn healthy_machines_suffer_from_nothing() {
    const HEALTHY: [&str; 4] = ["idle.", "brk.", "cpu.", "cache."];
    for healthy in HEALTHY {
        let texts: Vec<Text> = texts().filter(|(name, _)| name.starts_with(healthy)).collect();
        assert_eq!(texts.len(), 2);
        for part in [&texts[..], &texts[..1], &texts[1..]] {
            let diagnosis = of_texts(part);
            assert!(diagnosis.findings.is_empty(), "{healthy} {:?}", suffers(&diagnosis));
        }
    }
}

#[test]
fn a_compiler_at_work_is_healthy() {
    let diagnosis = of_texts(&[text!("compile", ".sar")]);
    assert!(suffers(&diagnosis).is_empty(), "{:?}", suffers(&diagnosis));
    assert!(super::answer(&diagnosis, "cpu.user").is_yes());
}

#[test]
fn a_quiet_machine_with_all_its_texts_suffers_from_nothing() {
    let proc = ("vm.proc.txt", include_str!("../recordings/real/vm.proc.txt"));
    let diagnosis = of_texts(&[text!("idle", ".sar"), text!("idle", ".atop"), proc]);
    assert_eq!(diagnosis.hosts.len(), 1);
    assert_eq!(suffers(&diagnosis), [""; 0], "{:?}", diagnosis.findings);
}
