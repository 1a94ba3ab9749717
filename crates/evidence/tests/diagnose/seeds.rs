//! Listings of published cases, as their articles printed them.

use hugewise_evidence::diagnose::{Ground, Level, Reach, Severity, Verdict, episodes};
use hugewise_evidence::recording::{Field, Subject};

use super::{Text, answer, assert_says, chain, found, key, of_texts, read, said, suffers};

/// A database on 20 GB froze again and again: page tables of 5 GB for a shared segment of 10 GB.
pub(crate) const FREEZES: &[Text] = &[text_of!("003.txt")];
/// A file server's disk under a test that writes logs and a database over NFS.
pub(crate) const NFS: &[Text] = &[text_of!("002-nfs.txt")];
/// Sockets of a service of the same test.
pub(crate) const JAVA: &[Text] = &[text_of!("002-java.txt")];

#[test]
fn page_tables_of_a_database() {
    let diagnosis = of_texts(FREEZES);
    assert_eq!(suffers(&diagnosis), ["page_tables"]);
    let finding = found(&diagnosis, "page_tables");
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(finding.confidence.level, Level::Likely);
    let ids: Vec<&str> = finding.chain.iter().map(|step| step.node).collect();
    assert_eq!(ids, ["cpu", "cpu.kernel", "kernel.reclaim", "reclaim.page_tables"]);
    assert_says(
        &chain(finding),
        &[
            "CPU in the kernel, interrupts included: 77.4 % at 07:30:01, 69.2 % at 08:40:02, \
             71.9 % at 10:10:01, 66.6 % at 10:50:01",
            "the sample of 08:30:01 came 169 s late: the recorder itself had to wait",
            "free memory was down to 84.2 MiB (0.4 % of all) at 08:32:50, then 1.1 GiB at \
             08:40:02",
            "free memory was down to 76.7 MiB (0.4 % of all) at 10:41:54, then 4.6 GiB at \
             10:50:01",
            "24.4 % of 19.6 GiB",
            "HugePages_Total 0",
        ],
    );
    let times: Vec<String> = finding.intervals.iter().map(ToString::to_string).collect();
    assert_eq!(times, ["08:20:01 to 08:40:02", "10:30:01 to 10:50:01"]);
    let tables = &finding.chain[3].evidence;
    assert_eq!(tables[0].value, Some(5_007_924.0 * 1024.0));
    let assumed: Vec<&str> = tables
        .iter()
        .filter(|evidence| evidence.ground == Ground::Assumed)
        .map(|evidence| evidence.text.as_str())
        .collect();
    assert_eq!(assumed.len(), 1);
    assert_says(assumed[0], &["shared segment"]);
    let remedies: Vec<&str> = finding.remedies.iter().map(|remedy| &*remedy.command).collect();
    assert_says(&remedies.join("\n"), &["hugewise hugetlb apply", "--user"]);
    assert_eq!(finding.remedies[0].reach, Reach::Look);
}

#[test]
fn what_the_database_s_sources_lack() {
    let diagnosis = of_texts(FREEZES);
    let finding = found(&diagnosis, "page_tables");
    let blind: Vec<String> = finding
        .missing
        .iter()
        .filter(|unseen| unseen.node == "kernel.reclaim")
        .flat_map(|unseen| unseen.blind.iter().map(ToString::to_string))
        .collect();
    assert_eq!(blind, ["07:20:01 to 07:30:01", "10:00:01 to 10:10:01"]);
    let missing: Vec<&str> = finding.missing.iter().map(|unseen| unseen.missing.what).collect();
    for what in [
        "THP and compaction counters (sar has none)",
        "shared memory segments and who attaches",
        "page tables of each process",
        "page faults and reclaim",
    ] {
        assert!(missing.contains(&what), "{what}: {missing:?}");
    }
    let ruled_out: Vec<&str> = finding.ruled_out.iter().map(|step| step.node).collect();
    for node in ["cpu.iowait", "cpu.user", "reclaim.hugetlb"] {
        assert!(ruled_out.contains(&node), "{node}: {ruled_out:?}");
    }
}

#[test]
fn episodes_of_the_database() {
    let recording = read(FREEZES);
    let host = &recording.hosts[0];
    let kernel = host.series(Field::CpuKernel, &Subject::Machine).expect("CPU in the kernel");
    let found = episodes(&kernel.points, 30.0, 10.0);
    let told: Vec<(String, usize, f64)> = found
        .iter()
        .map(|episode| (episode.interval.to_string(), episode.samples, episode.peak.value))
        .collect();
    let wanted = [
        ("07:20:01 to 07:30:01", 1, 77.40),
        ("08:20:01 to 08:40:02", 2, 69.21),
        ("10:00:01 to 10:10:01", 1, 71.88),
        ("10:30:01 to 10:50:01", 2, 66.59),
    ];
    assert_eq!(told, wanted.map(|(times, samples, peak)| (times.to_owned(), samples, peak)));
    // Only the heading that names the article is no tool's.
    assert_eq!(recording.unrecognised.len(), 1);
    assert_eq!((recording.unrecognised[0].first_line, recording.unrecognised[0].last_line), (1, 1));
}

#[test]
fn a_file_server_s_disk() {
    let diagnosis = of_texts(NFS);
    assert_eq!(suffers(&diagnosis), ["disk_bandwidth"]);
    let finding = found(&diagnosis, "disk_bandwidth");
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(finding.host.as_deref(), Some("lenvo-nfs-server"));
    assert_says(
        &chain(finding),
        &[
            "CPU 2: CPU idle while a disk request was pending 93.9 %",
            "sda: busy 100 to 116 %",
            "108 to 129 requests in its queue",
            "a write took 1,046 to 1,276 ms, waiting included",
            "62 blocks of 4 KiB each",
            "nfsd (8 tasks) has 100 % of all writes: 24.7 MiB/s, for the NFS clients \
             172.16.106.130, 172.16.106.100, 172.16.106.195",
            "NFS client 172.16.106.130:",
            "NFS client 172.16.106.100:",
            "NFS client 172.16.106.195:",
        ],
    );
    assert_eq!(answer(&diagnosis, "io.random").verdict, Verdict::No);
    // Nobody has the files open here: the cure is where they are mounted.
    let cures: Vec<&str> = finding.remedies.iter().map(|remedy| remedy.what).collect();
    assert!(cures.iter().all(|cure| !cure.contains("that program")), "{cures:?}");
    assert_says(&cures.join("; "), &["on the machines that mount it"]);
}

#[test]
fn a_service_that_reads_too_slowly() {
    let diagnosis = of_texts(JAVA);
    assert_eq!(diagnosis.findings.iter().map(key).collect::<Vec<_>>(), ["slow_reader"]);
    let text = chain(found(&diagnosis, "slow_reader"));
    let wanted = [
        "java (PID 1) has not read 21,278 bytes on 14 connections",
        "12 of them with MySQL (port 3306)",
        "2 of them with callers of its port 8085",
        "not the network",
    ];
    assert_says(&text, &wanted);
    assert_says(&said(answer(&diagnosis, "network.sender")), &["no unacknowledged bytes"]);
}
