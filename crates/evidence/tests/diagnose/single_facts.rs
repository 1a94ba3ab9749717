//! What functions, calls, lines of interrupts, settings and second looks tell by themselves.

use super::{Text, answer, assert_says, chain, found, notes, of_texts, said, suffers, verdict};
use hugewise_evidence::diagnose::{Diagnosis, Verdict};

macro_rules! ticket {
    ($name:literal) => {
        ($name, include_str!(concat!("../corpus/blind2-", $name, ".txt")))
    };
}

const HIGH_ORDER: Text = ticket!("high-order");
const MIN_FREE: Text = ticket!("min-free");
const FUTEX: Text = ticket!("futex");
const LOCK: Text = ticket!("inode-list-lock");
const HPET: Text = ticket!("hpet");
const STORM: Text = ticket!("irq-storm");
const DENTRIES: Text = ticket!("dentries");

/// A device that rests, caches that are small, and what the kernel keeps free by itself.
const QUIET: Text = (
    "quiet.txt",
    "\
db-1:~# cat /proc/interrupts; sleep 10; cat /proc/interrupts
           CPU0       CPU1
 24:       1000       2000   PCI-MSI 1048576-edge      nvme0q1
           CPU0       CPU1
 24:       4000       3000   PCI-MSI 1048576-edge      nvme0q1
db-1:~# cat /proc/meminfo
MemTotal:       16316412 kB
MemFree:         8112044 kB
MemAvailable:   12044812 kB
SReclaimable:     812044 kB
SUnreclaim:       120448 kB
db-1:~# sysctl vm.min_free_kbytes
vm.min_free_kbytes = 67584
",
);

/// A load average of a machine whose CPUs are counted and not watched.
const LOAD: Text = (
    "load.txt",
    "app-17:~$ uptime; nproc\n 03:14:22 up 200 days, 12:04,  5 users,  load average: 124.12, \
     98.90, 52.44\n4\n",
);

/// For the coverage.
pub(crate) fn texts() -> impl Iterator<Item = Text> {
    [HIGH_ORDER, MIN_FREE, FUTEX, LOCK, HPET, STORM, DENTRIES, QUIET, LOAD].into_iter()
}

fn of(text: Text) -> Diagnosis {
    of_texts(&[text])
}

#[test]
fn shares_of_a_profile_are_those_that_it_has() {
    let diagnosis = of(ticket!("hpet"));
    let text = chain(found(&diagnosis, "slow_clock"));
    assert_says(&text, &["of which 71.2 % are in the kernel: read_hpet 52.2 %", "hpet"]);
    for healthy in [ticket!("user-profile"), ticket!("user-profile-report")] {
        let diagnosis = of(healthy);
        assert!(diagnosis.findings.is_empty(), "{:?}", suffers(&diagnosis));
        assert_eq!(verdict(&diagnosis, "kernel.locks"), Verdict::No);
    }
}

#[test]
fn a_lock_is_named_by_who_takes_it() {
    let text = chain(found(&of(LOCK), "kernel_locks"));
    assert_says(&text, &["native_queued_spin_lock_slowpath 84.1 %", "inode_sb_list_add"]);
    assert_eq!(suffers(&of(FUTEX)), ["futex", "kernel_locks"]);
    let text = chain(found(&of(FUTEX), "futex"));
    assert_says(&text, &["futex_wake 9.12 %", "system calls a second were traced: futex 94 %"]);
}

#[test]
fn hardware_interrupts_are_told_from_soft_ones() {
    let diagnosis = of(STORM);
    assert_eq!(suffers(&diagnosis), ["irq_storm", "interrupts_one_cpu"]);
    let text = chain(found(&diagnosis, "irq_storm"));
    assert_says(&text, &["line 16 (IO-APIC 16-fasteoi ehci_hcd:usb1, mpt3sas)", "on CPU 0"]);
    let text = chain(found(&diagnosis, "interrupts_one_cpu"));
    assert_says(&text, &["CPU in interrupts, hardware and soft", "hardware interrupts 92.5 %"]);
    assert_eq!(verdict(&of(QUIET), "interrupts.storm"), Verdict::No);
}

#[test]
fn memory_that_is_there_and_not_to_be_had() {
    let diagnosis = of(MIN_FREE);
    assert_eq!(suffers(&diagnosis), ["min_free", "oom_kills", "memory_short"]);
    assert_says(&chain(found(&diagnosis, "min_free")), &["8.0 GiB of 15.0 GiB (53.3 %)"]);
    assert_says(&said(answer(&diagnosis, "memory.short")), &["8.0 GiB are free all the same"]);
    let diagnosis = of(HIGH_ORDER);
    assert_eq!(suffers(&diagnosis), ["high_order", "compaction"]);
    assert_eq!(verdict(&diagnosis, "kernel.reclaim"), Verdict::No);
    assert_says(&chain(found(&diagnosis, "high_order")), &["kswapd0", "free memory 8.8 GiB"]);
    let text = chain(found(&of(DENTRIES), "slab_cache"));
    assert_says(&text, &["73.9 % of 125.6 GiB", "dentry 90.5 GiB", "497,120,448 of 498,101,202"]);
    assert!(of(QUIET).findings.is_empty());
}

#[test]
fn a_look_at_a_bad_moment_counts_among_others() {
    let diagnosis = of(ticket!("free-twice"));
    assert_eq!(suffers(&diagnosis), ["memory_short"]);
    let text = chain(found(&diagnosis, "memory_short"));
    assert_says(&text, &["available memory 88.0 MiB", "in an earlier listing 19.7 GiB"]);
    assert!(!text.contains("free all the same"), "that is of the other look: {text}");
    let pair = of(ticket!("two-prompts"));
    assert_eq!(pair.hosts.len(), 2);
    assert_eq!(found(&pair, "memory_short").host.as_deref(), Some("web-2"));
}

#[test]
fn a_load_average_alone_leads_to_what_to_run() {
    let diagnosis = of(LOAD);
    assert_eq!(notes(&diagnosis), ["load"]);
    let finding = found(&diagnosis, "load");
    assert!(finding.remedies.iter().any(|remedy| remedy.command.starts_with("vmstat")));
}
