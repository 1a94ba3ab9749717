//! Made recordings: what published cases show only as pictures, and what no real one has.

use hugewise_evidence::diagnose::{Level, Reach, Severity, Verdict};

use super::{
    Text, answer, assert_says, chain, found, key, notes, of_texts, said, suffers, verdict,
};

const WORKERS: &[Text] = &[
    text_of!("002-worker2.sar"),
    text_of!("002-worker3.sar"),
    text_of!("002-worker5.sar"),
    text_of!("002-worker7.sar"),
    text_of!("002-worker8.sar"),
];
const SOFTIRQ: &[Text] = &[text_of!("002-softirq.txt")];
const RAMP: &[Text] = &[text_of!("000-thp.sar"), text_of!("thp-always.txt")];
const STEADY: &[Text] = &[text_of!("000-thp-steady.sar"), text_of!("thp-always.txt")];
const BUILDER: &[Text] = &[text_of!("004-khugepaged.txt"), text_of!("004-gc.log")];

/// Texts of one machine, and what they must show: causes at warning or worse, the first one
/// first, then those worth a note.
type Case = (&'static [Text], &'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    (WORKERS, &["one_host"], &[]),
    (SOFTIRQ, &["small_packets", "network_stack"], &[]),
    (RAMP, &["huge_faults", "thp_defrag_always"], &["max_ptes_none"]),
    (STEADY, &["huge_faults", "thp_defrag_always"], &["max_ptes_none"]),
    (BUILDER, &["khugepaged", "gc_kernel"], &[]),
    // One CPU of 24: the machine's mean hides it.
    (&[text_of!("khugepaged-alone.txt")], &["khugepaged"], &[]),
    // The kernel, by what it does.
    (&[text_of!("compaction.atop")], &["compaction"], &[]),
    // CPUs are idle: a program that wants a huge page waits all the same.
    (&[text_of!("compaction-idle.atop")], &["compaction"], &[]),
    (&[text_of!("kcompactd.atop")], &["compaction"], &[]),
    (&[text_of!("churnless.sar")], &["page_faults"], &[]),
    (&[text_of!("reclaim.sar"), text_of!("meminfo-healthy.txt")], &["reclaim"], &[]),
    (&[text_of!("reclaim.sar"), text_of!("meminfo-tables.txt")], &["page_tables"], &[]),
    (&[text_of!("reclaim.sar"), text_of!("meminfo-slab.txt")], &["slab"], &[]),
    (&[text_of!("reclaim.sar"), text_of!("meminfo-hugetlb.txt")], &["hugetlb_unused"], &[]),
    (&[text_of!("swap.sar")], &["swapping"], &[]),
    // Disks.
    (&[text_of!("iowait-only.sar")], &["iowait"], &[]),
    (&[text_of!("nfs-wait.sar")], &["network_storage"], &[]),
    (&[text_of!("ps-nfs.txt")], &["network_storage", "blocked_tasks"], &[]),
    (&[text_of!("ps-disk.txt")], &["blocked_tasks"], &[]),
    (&[text_of!("disk-middle.sar")], &["disk_saturated"], &[]),
    (&[text_of!("one-disk.sar")], &["disk_random", "one_disk"], &[]),
    (&[text_of!("swap-wait.sar")], &["swapping"], &[]),
    // A flash disk, busy with nobody waiting for long.
    (&[text_of!("flash.sar")], &[], &[]),
    // Ten minutes of a quiet day.
    (&[text_of!("swap-storm.sar")], &["swapping"], &[]),
    // Interrupts.
    // Even on all CPUs, half of which are idle.
    (&[text_of!("interrupts-only.sar")], &[], &["interrupts"]),
    (&[text_of!("squeezed-none.sar")], &[], &["interrupts"]),
    (&[text_of!("one-cpu-irq.sar")], &["interrupts_one_cpu"], &["one_cpu"]),
    (&[text_of!("softirqs-one.txt")], &[], &["interrupts_one_cpu"]),
    (&[text_of!("packets.sar")], &["network_stack", "backlog"], &[]),
    // CPUs.
    (&[text_of!("saturated.sar")], &["cpu_saturated"], &[]),
    (&[text_of!("one-cpu.sar")], &[], &["one_cpu"]),
    (&[text_of!("steal.sar")], &["steal"], &[]),
    // Waiting.
    (&[text_of!("blocked.sar")], &["blocked_tasks"], &[]),
    (&[text_of!("pressure.txt")], &["memory_pressure"], &["io_pressure"]),
    (&[text_of!("pressure-memory.txt")], &["memory_pressure"], &[]),
    (&[text_of!("blocked.sar"), text_of!("gc-short.log")], &["blocked_tasks"], &[]),
    (&[text_of!("gc-own.log")], &["gc_pauses"], &[]),
    (&[text_of!("gc-short.log")], &[], &[]),
    (&[text_of!("safepoint.log")], &["safepoint_reach"], &[]),
    (&[text_of!("safepoint-work.log")], &["gc_dump", "gc_pauses"], &[]),
    // The network.
    (&[text_of!("network.sar")], &["link_full", "retransmits", "drops"], &[]),
    (&[text_of!("netstat-s.txt")], &[], &[]),
    (&[text_of!("ss-listen.txt"), text_of!("sysctl-good.txt")], &["listen_overflow"], &[]),
    (&[text_of!("ss-listen.txt"), text_of!("sysctl-bad.txt")], &["somaxconn", "zone_reclaim"], &[]),
    (&[text_of!("ss-sender.txt")], &[], &["slow_peer"]),
    (&[text_of!("ss-quiet.txt")], &[], &[]),
    (&[text_of!("conntrack-full.txt")], &["conntrack_full"], &[]),
    (&[text_of!("conntrack-room.txt")], &[], &[]),
    // Memory.
    (&[text_of!("short-swings.sar")], &["reclaim"], &[]),
    (&[text_of!("job-ended.sar")], &[], &[]),
    // The page cache is turned over: that is no shortage.
    (&[text_of!("copy.sar")], &["kernel_time"], &[]),
    // The same where nobody says how much memory is available; and a large file was deleted.
    (&[text_of!("copy-el7.sar")], &["kernel_time"], &[]),
    (&[text_of!("file-deleted.sar")], &[], &["allocation_churn"]),
    // A CPU that is offline is no busy one.
    (&[text_of!("cpu-offline.sar")], &[], &[]),
    (&[text_of!("meminfo-short.txt")], &["memory_short"], &[]),
    (&[text_of!("meminfo-slab.txt")], &["slab"], &[]),
    (&[text_of!("meminfo-tables.txt")], &["page_tables"], &[]),
    (&[text_of!("meminfo-hugetlb.txt")], &["hugetlb_unused"], &[]),
    (&[text_of!("meminfo-hugetlb-promised.txt")], &[], &[]),
    (
        &[text_of!("vmstat-troubled.txt")],
        &[],
        &["oom_kills", "compaction_since_boot", "fragmentation"],
    ),
    (&[text_of!("buddyinfo-fragmented.txt")], &[], &["fragmentation"]),
    (&[text_of!("huge-stats-bloat.txt"), text_of!("meminfo-healthy.txt")], &["bloat"], &[]),
    // Settings.
    (&[text_of!("sysctl-bad.txt")], &["zone_reclaim"], &["somaxconn"]),
    (&[text_of!("sysctl-good.txt")], &[], &[]),
    (&[text_of!("thp-always.txt")], &["thp_defrag_always"], &["max_ptes_none"]),
    (&[text_of!("thp-tamed.txt")], &[], &["thp_always"]),
    (&[text_of!("thp-madvise.txt")], &[], &[]),
    (HEALTHY, &[], &[]),
];

/// A sample of a machine that lacks nothing.
const HEALTHY: &[Text] = &[
    text_of!("meminfo-healthy.txt"),
    text_of!("vmstat-healthy.txt"),
    text_of!("buddyinfo-healthy.txt"),
    text_of!("huge-stats-healthy.txt"),
    text_of!("sysctl-good.txt"),
    text_of!("thp-madvise.txt"),
    text_of!("ss-quiet.txt"),
];

/// The texts of each case, for the coverage.
pub(crate) fn texts() -> impl Iterator<Item = &'static [Text]> {
    CASES.iter().map(|case| case.0)
}

#[test]
fn causes_are_those_that_were_made() {
    for (texts, wanted, noted) in CASES {
        let diagnosis = of_texts(texts);
        let name = texts[0].0;
        assert_eq!(
            (suffers(&diagnosis), notes(&diagnosis)),
            (wanted.to_vec(), noted.to_vec()),
            "{name}"
        );
    }
}

#[test]
fn a_disk_is_not_the_other_one_of_what_lies_on_it_or_in_no_drive() {
    let rows = |names: &[&str]| {
        let row = |name: &&str| {
            let figures = match *name {
                "sda" | "dev8-0" => "210.00 1680.00 1680.00 16.00 6.50 130.00 4.70 99.00",
                _ => "0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00",
            };
            format!("09:00:10 {name} {figures}\n")
        };
        let rows: String = names.iter().map(row).collect();
        format!(
            "Linux 5.14.0 (web1) \t11/22/2026 \t_x86_64_\t(4 CPU)\n\n\
             09:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util\n{rows}\n"
        )
    };
    let answers = |names: &[&str]| verdict(&of_texts(&[("made", &rows(names))]), "balance.disks");
    for alone in
        [&["sda", "sr0", "loop0"][..], &["sda", "sda1", "sda2"], &["dev8-0", "dev253-0", "dev11-0"]]
    {
        assert_eq!(answers(alone), Verdict::No, "{alone:?}");
    }
    for several in [&["sda", "sdb"][..], &["dev8-0", "dev8-16"]] {
        assert_eq!(answers(several), Verdict::Yes, "{several:?}");
    }
}

#[test]
fn who_comes_and_goes_is_not_counted_for_each_list() {
    let mut text = String::from(
        "Linux 5.14.0 (build) \t11/22/2026 \t_x86_64_\t(4 CPU)\n\n\
         10:00:01 CPU %user %nice %system %iowait %steal %idle\n",
    );
    for second in 2..12 {
        text += &format!("10:00:{second:02} all 10.00 0.00 40.00 0.00 0.00 50.00\n");
    }
    text += "\n10:00:01 UID PID %usr %system %guest %wait %CPU CPU Command\n";
    for second in 2..12 {
        text += &format!("10:00:{second:02} 0 50 0.00 80.00 0.00 0.00 80.00 0 java\n");
        let pid = 100 + second;
        text += &format!("10:00:{second:02} 0 {pid} 0.00 60.00 0.00 0.00 60.00 1 sh\n");
    }
    let diagnosis = of_texts(&[("made", &text)]);
    let text = chain(found(&diagnosis, "kernel_time"));
    assert!(text.contains("java has 50 % of it"), "{text}");
}

#[test]
fn a_storm_is_not_lost_in_a_day_s_mean() {
    let diagnosis = of_texts(&[text_of!("swap-storm.sar")]);
    let text = chain(found(&diagnosis, "swapping"));
    assert_says(&text, &["swapped in and out from 2026-11-22 11:00:00 to 11:10:00"]);
}

#[test]
fn one_machine_of_five_is_exhausted() {
    let diagnosis = of_texts(WORKERS);
    assert_eq!(diagnosis.hosts.len(), 5);
    let finding = found(&diagnosis, "one_host");
    assert_eq!(finding.host.as_deref(), Some("k8s-worker-8"));
    let wanted = ["k8s-worker-8 uses 9", "the 4 other machines", "most room: k8s-worker-5"];
    assert_says(&chain(finding), &wanted);
}

#[test]
fn many_small_packets_at_little_bandwidth() {
    let diagnosis = of_texts(SOFTIRQ);
    let text = chain(found(&diagnosis, "small_packets"));
    assert_says(&text, &["packets a second", "bytes a packet", "NET_RX grew most"]);
    assert_eq!(verdict(&diagnosis, "interrupts.one_cpu"), Verdict::No);
}

#[test]
fn a_slow_ramp_is_found_and_huge_page_faults_stay_unknown() {
    let diagnosis = of_texts(RAMP);
    let finding = found(&diagnosis, "huge_faults");
    assert_says(&chain(finding), &["rises slowly from 13", "steadiness 0.9"]);
    assert_eq!(verdict(&diagnosis, "kernel.huge_faults"), Verdict::Unknown);
    let missing: Vec<&str> = finding.missing.iter().map(|unseen| unseen.missing.what).collect();
    assert!(missing.contains(&"THP and compaction counters (sar has none)"), "{missing:?}");
}

#[test]
fn what_is_in_force_and_not_counted_is_not_eliminated() {
    let counted: &[Text] = &[text_of!("000-thp-steady.sar")];
    let text = said(answer(&of_texts(counted), "kernel.system_calls"));
    assert_says(&text, &["not counted in these sources: packets, disk requests, huge-page faults"]);
    let diagnosis = of_texts(STEADY);
    assert_eq!(verdict(&diagnosis, "kernel.system_calls"), Verdict::Unknown);
    // What was examined without result stands beside it, as far as it is far from its limit.
    let finding = found(&diagnosis, "huge_faults");
    assert_eq!(finding.confidence.level, Level::Possible);
    let ruled_out: Vec<&str> = finding.ruled_out.iter().map(|step| step.node).collect();
    for node in ["kernel.reclaim", "kernel.faults", "kernel.switches"] {
        assert!(ruled_out.contains(&node), "{node}: {ruled_out:?}");
    }
}

/// Nobody asked for them: the switch removes them, and what programs can do only eases it.
#[test]
fn under_always_the_first_cure_of_huge_page_faults_is_the_switch() {
    let diagnosis = of_texts(RAMP);
    let finding = found(&diagnosis, "huge_faults");
    let cure = finding.remedies.iter().find(|remedy| remedy.reach != Reach::Look);
    let cure = cure.map(|remedy| &*remedy.command).unwrap_or_default();
    assert!(cure.starts_with("hugewise thp set enabled=never"), "{cure}");
}

#[test]
fn khugepaged_in_bursts_and_pauses_in_the_kernel() {
    let diagnosis = of_texts(BUILDER);
    let finding = found(&diagnosis, "khugepaged");
    let times: Vec<String> = finding.intervals.iter().map(ToString::to_string).collect();
    // The frames between the bursts are no part of them.
    assert_eq!(
        times,
        ["2012-10-18 14:02:10 to 14:02:16", "2012-10-18 14:02:22 to 14:02:25"],
        "{finding:?}"
    );
    let text = chain(found(&diagnosis, "gc_kernel"));
    assert_says(&text, &["4,772 ms", "3 of 6 pauses", "81.7 s of CPU in the kernel"]);
}

#[test]
fn one_cpu_of_many_is_not_critical() {
    for texts in [&[text_of!("khugepaged-alone.txt")], &[text_of!("one-cpu-irq.sar")]] {
        let diagnosis = of_texts(texts);
        assert_eq!(diagnosis.worst(), Some(Severity::Warning), "{}", texts[0].0);
    }
}

#[test]
fn a_limit_of_queues_is_told_with_the_queue_that_is_full() {
    let diagnosis = of_texts(&[text_of!("ss-listen.txt"), text_of!("sysctl-bad.txt")]);
    let text = chain(found(&diagnosis, "somaxconn"));
    assert_says(&text, &["0.0.0.0:8080 holds 129 connections", "(2210/java)", "somaxconn: 128"]);
}

#[test]
fn a_whole_healthy_look_has_no_finding() {
    let diagnosis = of_texts(HEALTHY);
    assert!(
        diagnosis.findings.is_empty(),
        "{:?}",
        diagnosis.findings.iter().map(key).collect::<Vec<_>>()
    );
}
