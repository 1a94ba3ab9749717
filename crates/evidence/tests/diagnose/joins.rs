//! Sources that say something only together: speeds and bytes, mounts and waits; and how full file
//! systems are.

use hugewise_evidence::diagnose::{Cause, Verdict};

use super::{Text, assert_says, chain, found, of_texts, suffers, verdict};

const GIGABIT: &str =
    "Settings for eth0:\n\tSpeed: 1000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n";

/// 118 MB/s out, as sar says where it does not know the speed.
const SAR: &str = "\
Linux 6.1.0-21-amd64 (web1) \t11/04/2026 \t_x86_64_\t(8 CPU)

10:00:01  IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
10:00:11   eth0  41020.00  82110.00   2841.00 118320.00      0.00      0.00      0.00      0.00
10:00:21   eth0  40990.00  82230.00   2839.00 118410.00      0.00      0.00      0.00      0.00
";

const FLOWS: &str = "\
   1 web1:https                               =>      488Mb      491Mb      490Mb      613MB
     198.51.100.7:51820                       <=     9.10Mb     9.31Mb     9.20Mb     11.6MB
   2 web1:https                               =>      460Mb      455Mb      452Mb      565MB
     198.51.100.9:40112                       <=     8.10Mb     8.31Mb     8.20Mb     10.2MB
";

const WAITS: &str = "\
Linux 6.1.0-21-amd64 (web1) \t11/04/2026 \t_x86_64_\t(4 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           3.10    0.00    2.20   52.40    0.00   42.30

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s  aqu-sz  %util
sda              0.40      3.20     0.00   0.00    0.50     8.00    1.20      9.60    0.01   0.30
";

pub(crate) const FULL: Text = (
    "df.txt",
    "Filesystem      Size  Used Avail Use% Mounted on\n/dev/vda1        40G   40G     0 100% /\n\
     tmpfs           3.9G     0  3.9G   0% /dev/shm\n",
);
pub(crate) const ROOMY: Text = (
    "df.txt",
    "Filesystem      Size  Used Avail Use% Mounted on\n/dev/vda1        40G   20G   20G  51% /\n\
     /dev/loop2       64M   64M     0 100% /snap/core20/2318\n",
);

#[test]
fn bytes_and_a_speed_of_two_tools_fill_a_link() {
    let alone = of_texts(&[("sar.txt", SAR)]);
    assert_eq!(verdict(&alone, "network.link"), Verdict::Unknown, "0 % is no measurement");
    let both = of_texts(&[("sar.txt", SAR), ("ethtool.txt", GIGABIT)]);
    assert_eq!(found(&both, "link_full").cause, Cause::LinkFull);
    assert_says(&chain(found(&both, "link_full")), &["eth0: it passes", "97 %"]);
    let ten = GIGABIT.replace("1000Mb/s", "10000Mb/s");
    let wide = of_texts(&[("sar.txt", SAR), ("ethtool.txt", &ten)]);
    assert_eq!(verdict(&wide, "network.link"), Verdict::No);
}

#[test]
fn flows_fill_the_only_link() {
    let both = of_texts(&[("iftop.txt", FLOWS), ("ethtool.txt", GIGABIT)]);
    let text = chain(found(&both, "link_full"));
    assert_says(&text, &["the flows listed are together", "web1:https to 198.51.100.7:51820"]);
    let other = GIGABIT.replace("eth0", "eth1");
    let two = of_texts(&[("iftop.txt", FLOWS), ("a.txt", GIGABIT), ("b.txt", &other)]);
    assert_eq!(verdict(&two, "network.link"), Verdict::Unknown, "which of them is not known");
}

#[test]
fn half_duplex_adds_both_directions() {
    let sar = SAR.replace("118320.00", "60000.00").replace("118410.00", "60000.00");
    let sar = sar.replace("2841.00", "58000.00").replace("2839.00", "58000.00");
    let half = GIGABIT.replace("Full", "Half");
    let verdict_of =
        |text| verdict(&of_texts(&[("sar.txt", &sar), ("e.txt", text)]), "network.link");
    assert_eq!(verdict_of(GIGABIT), Verdict::No);
    assert_eq!(verdict_of(&half), Verdict::Yes);
}

#[test]
fn waits_without_a_busy_disk_are_the_mounted_machine_s() {
    let nfs = "/dev/sda1 on / type ext4 (rw)\nnas1:/data on /srv type nfs4 (rw,hard)\n";
    let named = of_texts(&[("iostat.txt", WAITS), ("mount.txt", nfs)]);
    assert_eq!(suffers(&named)[0], "network_storage");
    let text = chain(found(&named, "network_storage"));
    assert_says(&text, &["mounted from another machine: nas1:/data on /srv (nfs4)"]);
    let local = "/dev/sda1 on / type ext4 (rw)\n";
    let none = of_texts(&[("iostat.txt", WAITS), ("mount.txt", local)]);
    assert_eq!(verdict(&none, "io.remote"), Verdict::Unknown);
}

/// What `iostat` shows of one disk, with so much waiting.
fn plain(iowait: f64, row: &str) -> String {
    let idle = 90.0 - iowait;
    format!(
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n\
         \x20          5.00    0.00    5.00 {iowait:7.2}    0.00 {idle:7.2}\n\n\
         Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\nvdk {row}\n"
    )
}

#[test]
fn work_or_its_absence_on_a_listed_disk_is_no_wait() {
    let read = |text: &str| of_texts(&[("iostat.txt", text)]);
    assert_eq!(verdict(&read(WAITS), "io.remote"), Verdict::Unknown, "the disk may be unlisted");
    let random = "60.00 120.00 8.00 120 8";
    assert_eq!(suffers(&read(&plain(52.0, random))), ["disk_random"]);
    assert_eq!(suffers(&read(&plain(0.5, random))), [""; 0], "nobody waits");
    let few = read(&plain(52.0, "3.00 6.00 0.00 6 0"));
    assert!(!suffers(&few).contains(&"disk_random"), "no disk is full of so few");
}

#[test]
fn requests_without_bytes_are_counters_that_began_anew() {
    let header = "Device r/s rkB/s r_await rareq-sz w/s wkB/s w_await wareq-sz aqu-sz %util\n";
    let row = "vdk 400.00 0.00 20.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n";
    let none = of_texts(&[("iostat.txt", &format!("{header}{row}"))]);
    assert_eq!(suffers(&none), [""; 0]);
    let moved = row.replace("400.00 0.00 20.00 0.00", "400.00 1600.00 20.00 4.00");
    let some = of_texts(&[("iostat.txt", &format!("{header}{moved}"))]);
    assert_eq!(suffers(&some).len(), 1, "{:?}", suffers(&some));
}

#[test]
fn one_cpu_takes_as_many_packets_as_there_are() {
    let vectors = |rate: f64| {
        format!(
            "10:00:01 CPU NET_TX/s NET_RX/s SCHED/s\n10:00:02 0 0.00 0.00 9.00\n\
             10:00:02 1 0.00 {rate:.2} 9.00\n10:00:02 2 0.00 0.00 9.00\n10:00:02 3 0.00 0.00 9.00\n"
        )
    };
    let answer = |rate| verdict(&of_texts(&[("mpstat.txt", &vectors(rate))]), "interrupts.one_cpu");
    assert_eq!((answer(8.0), answer(80_000.0)), (Verdict::No, Verdict::Yes));
}

#[test]
fn full_file_systems_are_found_and_images_are_none() {
    let full = of_texts(&[FULL]);
    assert_eq!(suffers(&full), ["filesystem_full"]);
    assert_says(&chain(found(&full, "filesystem_full")), &["file system /: space in use 100 %"]);
    let roomy = of_texts(&[ROOMY]);
    assert_eq!(suffers(&roomy), [""; 0]);
    assert_eq!(verdict(&roomy, "disk.full"), Verdict::No);
}
