//! Properties of every parser: no input makes one panic, what is printed reads back, and text
//! torn off anywhere is either understood in part or refused.

use std::collections::BTreeSet;

use hugewise_base::parse::maps::MapName;
use hugewise_base::parse::pool_path;
use hugewise_base::parse::{
    PROBLEMS_MAX, arguments, buddyinfo, cgroup, cpulist, diskstats, id_map, irq_table,
    kernel_release, loadavg, maps, meminfo, mountinfo, net_dev, pagetypeinfo, passwd, pid_io,
    pid_limits, pid_stat, pid_status, pressure, proc_stat, smaps, snmp, softnet, statm, sysctl,
    sysv_shm, taskstats, tcp_table, thp_choice, unix_diag, vmstat,
};
use hugewise_base::size::{self, Size};
use proptest::prelude::*;

/// One well-formed text per format, all given to all parsers.
const SAMPLES: [&str; 30] = [
    "Number of blocks type Unmovable Movable Reclaimable\nNode 0, zone Normal 425 10060 267\n",
    "MemTotal:       24684096 kB\nHugePages_Total:       4\nDirectMap2M:     2066432 kB\n",
    "nr_free_pages 1042011\nthp_fault_alloc 17\n",
    "Node 0, zone      DMA      0      1      3 \nNode 0, zone   Normal    835    603    182 \n",
    "4132 (a) b) R 4125 4125 3302 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 1 0 46458 3133440 381 \
     18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 1 1 1 1 1 1 1 0\n",
    "765 406 377 5 0 123 0\n",
    "Name:\tcat\nUid:\t0\t0\t0\t0\nVmHWM:\t 1712 kB\nCapEff:\t000001fffeffffff\nNSpid:\t4134\n",
    "7f04d8000000-7f04da000000 rw-p 00000000 00:00 0 \n\
     7f04da000000-7f04da200000 rw-s 00000000 00:01 3072    [anon_shmem:pool]\n",
    "7f04d8000000-7f04da000000 rw-p 00000000 00:00 0   [heap]\nRss:   32768 kB\n\
     AnonHugePages:     30720 kB\nTHPeligible:           1\nVmFlags: rd wr hg \n",
    "always defer defer+madvise [madvise] never\n",
    "9:name=systemd:/system.slice/cron.service\n4:memory:/a:b\n0::/\n",
    "some avg10=0.00 avg60=1.25 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 \
     total=7\n",
    "0-3,7,9-12\n",
    "cpu  99764 1 64277 407627 6404 0 3230 6585 3 4\ncpu0 1 0 3 2 2 0 1 3 0 0\nctxt 361\n",
    "1.06 0.75 0.40 2/157 41317\n",
    " 254 0 vda 183 16 178 160 492 166 165 116 0 87 308 90 85 93 15 16 16\n",
    "       CPU0  CPU1\n 24:  1  20   PCI-MSI 16384-edge virtio\n NET_RX: 7 9\nERR: 0\n",
    "Inter-| Receive\neth0: 71 2 5 6 0 0 0 0 11 7 0 0 0 0 0 0\n",
    "001f9718 00000001 00000004 0 0 0 0 0 0 0 0 0 00000003 0 0\n",
    "Tcp: MaxConn InSegs\nTcp: -1 70\nread_bytes: 4096\n",
    "       key      shmid perms  size  cpid  lpid nattch\n 1 7 600 536870912 8 9 12\n",
    "  sl  local_address rem_address   st tx_queue rx_queue\n   0: 0100007F:1A0B \
     00000000000000000000000001000000:0016 0A 00000000:00000003 00:00000000\n",
    "Max locked memory         8388608              unlimited            bytes     \n",
    "root:x:0:0:root:/root:/bin/sh\n+::::::\n",
    "         0     100000      65536\n",
    "26 20 0:24 / /dev/huge\\040 rw shared:11 - hugetlbfs none rw,pagesize=2M,size=4294967296\n",
    "# a comment\n-vm/nr_hugepages = 5\nvm.hugetlb_shm_group=7\n",
    "default_hugepagesz=1G hugepages=0:5,1:6 sysctl.vm.nr_hugepages=8\n",
    "java\0-Xmx4g\0-XX:MaxRAMPercentage=75.0\0-cp\0a\0-D\0/pg\0-jar\0-XX:+UseZGC\0",
    "hugepages-2048kB/nr_hugepages node0/hugepages/hugepages-2048kB/nr_hugepages node0/meminfo \
     Node 0 MemFree:  24172192 kB",
];

/// Keys of sysctl's files that are asked for.
const SYSCTL_KEYS: [&str; 2] = ["vm.nr_hugepages", "vm.hugetlb_shm_group"];

/// Runs every parser; the point is that it returns.
fn parse_with_all(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let zones = buddyinfo::parse(&text).value;
    for order in [0, 9, 64, usize::MAX] {
        let index = buddyinfo::fmfi_total(&zones, order);
        assert!(index.is_none_or(|index| (0.0..=1.0).contains(&index)));
        let _ = buddyinfo::free_blocks_at_or_above(&zones, order);
    }
    let zones = pagetypeinfo::parse(&text);
    assert!(zones.problems.len() <= PROBLEMS_MAX);
    let unmovable = pagetypeinfo::unmovable_percent(&zones.value, 0);
    assert!(unmovable.is_none_or(|percent| percent >= 0.0));
    let stat = vmstat::parse(&text);
    assert!(stat.value.delta(&stat.value).values().all(|growth| *growth == Some(0)));
    assert!(stat.problems.len() <= PROBLEMS_MAX);
    let _ = cgroup::parse(bytes).value.unit();
    let _ = pid_limits::parse(&text);
    let _ = passwd::parse(bytes);
    for mount in mountinfo::parse(bytes).value {
        let _ = mount.size_option("pagesize");
    }
    assert!(sysctl::parse(&text, &SYSCTL_KEYS).problems.len() <= PROBLEMS_MAX);
    let _ = sysctl::kernel_parameters(&text, &SYSCTL_KEYS);
    assert!(arguments::java_memory_flags(bytes).iter().all(|flag| flag.starts_with("-X")));
    let _ = arguments::postgres_directory(bytes);
    let _ = pool_path::is_size(&text);
    for entry in smaps::parse(bytes).value {
        let _ = (entry.is_hugetlb(4096), entry.hugetlb_bytes());
    }
    for segment in sysv_shm::parse(&text).value {
        let _ = segment.hugetlb_page(4096, &[2 << 20, 1 << 30]);
    }
    let _ = meminfo::parse(&text);
    let _ = pid_status::parse(bytes);
    let _ = maps::parse(bytes);
    let _ = pressure::parse(&text);
    let _ = proc_stat::parse(&text);
    let disks = diskstats::parse(&text).value;
    let names = disks.iter().map(|disk| disk.name.as_str()).collect();
    let _ = disks.iter().filter(|disk| diskstats::is_partition(&disk.name, &names)).count();
    let _ = irq_table::parse(&text);
    let _ = net_dev::parse(&text);
    let _ = softnet::parse(&text);
    let _ = snmp::parse(&text).value.get("Tcp", "InSegs");
    let _ = pid_io::parse(&text);
    let _ = tcp_table::parse(&text);
    let _ = tcp_table::listeners(&text, 6667);
    let _ = id_map::parse(&text);
    let _ = text.lines().filter(|line| tcp_table::worth_keeping(line)).count();
    // Refusing is as good as reading.
    let _ = loadavg::parse(&text);
    let _ = pid_stat::parse(bytes);
    let _ = statm::parse(&text);
    let _ = thp_choice::parse(&text);
    let _ = cpulist::parse(&text);
    let _ = kernel_release::parse(&text);
    let _ = (taskstats::family(bytes), taskstats::delays(bytes), unix_diag::parse(bytes));
    let _ = size::parse(&text).map(Size::rounded);
}

#[test]
fn every_prefix_and_every_flipped_byte_is_survived() {
    for sample in SAMPLES {
        for end in 0..=sample.len() {
            parse_with_all(&sample.as_bytes()[..end]);
        }
        for at in 0..sample.len() {
            let mut bytes = sample.as_bytes().to_vec();
            bytes[at] ^= 0x80 | 0x15;
            parse_with_all(&bytes);
        }
    }
}

/// A torn size line must not turn into a smaller size.
#[test]
fn torn_sizes_are_unknown_and_not_smaller() {
    let text = "MemTotal:       24684096 kB";
    for end in 0..text.len() {
        assert_eq!(meminfo::parse(&text[..end]).value.mem_total_bytes, None);
    }
}

fn map_name() -> impl Strategy<Value = (String, MapName)> {
    prop_oneof![
        Just((String::new(), MapName::Anonymous)),
        Just(("[heap]".to_owned(), MapName::Heap)),
        Just(("[stack]".to_owned(), MapName::Stack)),
        "[a-z :]{0,20}".prop_map(|n| (format!("[anon:{n}]"), MapName::AnonNamed(n))),
        "[a-z :]{0,20}".prop_map(|n| (format!("[anon_shmem:{n}]"), MapName::AnonShmem(n))),
        "/[ -~]{0,40}".prop_map(|path| (path.clone(), MapName::File(path))),
    ]
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        parse_with_all(&bytes);
    }

    /// Words of the formats in a random order reach deeper than random bytes do.
    #[test]
    fn no_shuffled_words_panic(
        picks in proptest::collection::vec((0..SAMPLES.len(), 0..60_usize, 0..4_usize), 0..60),
    ) {
        let mut text = String::new();
        for (sample, word, separator) in picks {
            let words: Vec<&str> = SAMPLES[sample].split_whitespace().collect();
            text.push_str(words[word % words.len()]);
            text.push_str([" ", "\n", "", ":"][separator]);
        }
        parse_with_all(text.as_bytes());
    }

    #[test]
    fn sizes_read_back(bytes in any::<u64>(), shift in 0..64_u32) {
        let exact = Size(bytes >> shift << shift);
        prop_assert_eq!(size::parse(&exact.to_string()), Ok(exact));
        prop_assert_eq!(size::parse(&exact.bytes().to_string()), Ok(exact));
    }

    #[test]
    fn cpu_lists_read_back(cpus in proptest::collection::btree_set(0..cpulist::CPUS_MAX, 0..50)) {
        prop_assert_eq!(cpulist::parse(&cpulist::format(&cpus)), Ok(cpus));
    }

    #[test]
    fn cpu_ranges_read_back(first in 0..4096_u32, len in 1..4096_u32) {
        let cpus: BTreeSet<u32> = (first..first + len).collect();
        prop_assert_eq!(cpulist::parse(&cpulist::format(&cpus)), Ok(cpus));
    }

    #[test]
    fn releases_read_back(major in any::<u32>(), minor in any::<u32>(), patch in any::<u32>()) {
        let release = kernel_release::KernelRelease { major, minor, patch };
        prop_assert_eq!(kernel_release::parse(&release.to_string()), Ok(release));
    }

    #[test]
    fn choices_read_back(
        options in proptest::collection::btree_set("[a-z+]{1,8}", 1..6),
        pick in any::<usize>(),
    ) {
        let options: Vec<String> = options.into_iter().collect();
        let selected = options[pick % options.len()].clone();
        let choice = thp_choice::Choice { selected, options };
        prop_assert_eq!(thp_choice::parse(&choice.to_string()), Ok(choice));
    }

    #[test]
    fn maps_read_what_the_kernel_writes(
        start in 0..u64::MAX / 2,
        len in 1..u64::MAX / 2,
        offset in any::<u64>(),
        device in any::<(u8, u32)>(),
        inode in any::<u64>(),
        bits in any::<[bool; 4]>(),
        name in map_name(),
    ) {
        let [read, write, execute, shared] = bits;
        let letters =
            [(read, 'r', '-'), (write, 'w', '-'), (execute, 'x', '-'), (shared, 's', 'p')];
        let letters: String = letters
            .iter()
            .map(|(set, yes, no)| if *set { *yes } else { *no })
            .collect();
        let end = start + len;
        // `show_map_vma` of fs/proc/task_mmu.c: blanks up to the name's column.
        let head = format!(
            "{start:08x}-{end:08x} {letters} {offset:08x} {:02x}:{:02x} {inode} ",
            device.0, device.1
        );
        let line = format!("{head:<73}{}\n", name.0);
        let parsed = maps::parse(line.as_bytes());
        prop_assert_eq!(&parsed.problems, &[]);
        let entry = &parsed.value[0];
        prop_assert_eq!((entry.start, entry.end), (start, end));
        prop_assert_eq!((entry.offset, entry.inode), (offset, inode));
        prop_assert_eq!((entry.dev_major, entry.dev_minor), (u32::from(device.0), device.1));
        let perms = maps::Perms { read, write, execute, shared };
        prop_assert_eq!((&entry.name, entry.perms), (&name.1, perms));
    }
}
