use super::*;
use crate::recording::Builder;
use crate::recording::readers::capture::sample::{Header, Writer};

fn facts(text: &[u8]) -> Facts {
    let mut out = Builder::new();
    out.read("x", text).expect("a text");
    let recording = out.finish();
    from_recording(&recording.hosts[0], "x")
}

fn capture(at_s: u64, files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = Writer::default();
    for (path, text) in files {
        assert!(writer.file(path, text.as_bytes()));
    }
    let at_ms = i64::try_from(at_s * 1000).expect("small");
    let (host, boot) = (Some("vm".to_owned()), Some("b1".to_owned()));
    let header = Header {
        at_ms,
        utc_offset_s: Some(0),
        monotonic_ns: at_s * 1_000_000_000,
        host,
        boot,
        ticks_per_s: Some(100),
        page_bytes: Some(4096),
    };
    writer.finish(&header)
}

#[test]
fn a_pasted_meminfo_gives_memory_and_pool() {
    let facts = facts(
        b"MemTotal:     20549012 kB\nMemFree:        236668 kB\nBuffers:         77800 kB\n\
          Cached:        7189572 kB\n...\nPageTables:    5007924 kB  <--- 5GB!\n...\n\
          HugePages_Total:     0\nHugePages_Free:      0\nHugepagesize:     2048 kB\n",
    );
    let memory = Memory {
        total: Some(Bytes::kib(20_549_012)),
        free: Some(Bytes::kib(236_668)),
        page_tables: Some(Bytes::kib(5_007_924)),
        ..Memory::default()
    };
    assert_eq!(facts.memory, memory);
    assert_eq!(facts.default_page, Some(Bytes::mib(2)));
    // The number of reserved pages is not given: that is not 0.
    assert_eq!(facts.pools, [Pool { page: Bytes::mib(2), ..Pool::default() }]);
    assert_eq!((facts.objects.len(), facts.processes.len()), (0, 0));
    assert_eq!(facts.missing.len(), 1);
}

#[test]
fn a_pool_in_bytes_becomes_pages() {
    let text = "HugePages_Total: 12200\nHugePages_Free: 85\nHugePages_Rsvd: 7\n\
                Hugepagesize: 2048 kB\n";
    let pool = facts(text.as_bytes()).pools.remove(0);
    assert_eq!((pool.total, pool.free, pool.reserved, pool.surplus), (12_200, 85, Some(7), None));
    let half = facts(b"MemTotal: 8 kB\nHugePages_Total: 5\nHugepagesize: 2048 kB\n");
    assert_eq!(half.pools, []);
    assert_eq!(half.missing[0].what, "HugePages_Total and HugePages_Free");
}

#[test]
fn output_of_free_has_no_pool() {
    let facts = facts(
        b"               total        used        free      shared  buff/cache   available\n\
          Mem:        24684092      912700    23281700       11104       81700    23192900\n\
          Swap:              0           0           0\n",
    );
    assert_eq!(facts.memory.available, Some(Bytes::kib(23_192_900)));
    assert_eq!((facts.memory.swap_total, facts.memory.page_tables), (Some(Bytes(0)), None));
    assert_eq!((facts.default_page, facts.pools.len()), (None, 0));
}

const STAT: &str = " S 0 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 \
                    0 0 0 0 0 0 0 0 0 0 0 0";

#[test]
fn a_capture_gives_segments_processes_and_pools_as_of_its_end() {
    let head = "key shmid perms size cpid lpid nattch uid\n";
    let (first, gone) = (format!("10 (postgres){STAT}"), format!("11 (sh){STAT}"));
    let start = format!("{head}0 7 600 1000 1 1 1 0\n0 8 600 1000 1 1 1 0\n");
    let end = format!("{head}0 8 600 8388608 1 1 12 0\n");
    let pool = "/sys/kernel/mm/hugepages/hugepages-1048576kB";
    let (total, free) = (format!("{pool}/nr_hugepages"), format!("{pool}/free_hugepages"));
    let meminfo = "MemTotal: 8 kB\nHugePages_Total: 5\nHugePages_Free: 5\nHugePages_Rsvd: 1\n\
                   HugePages_Surp: 0\nHugepagesize: 2048 kB\n";
    let files = [
        ("/proc/meminfo", meminfo),
        ("/proc/10/stat", &first),
        ("/proc/10/status", "VmPTE:\t 40 kB\n"),
    ];
    let mut before = files.to_vec();
    before.extend([
        ("/proc/sysvipc/shm", start.as_str()),
        ("/proc/11/stat", &gone),
        ("/proc/11/status", "VmPTE:\t 4000 kB\n"),
    ]);
    let mut after = files.to_vec();
    after.extend([
        ("/proc/sysvipc/shm", end.as_str()),
        ("/proc/cmdline", "root=/dev/vda hugepages=5"),
        ("/proc/sys/kernel/shmmax", "18446744073692774399\n"),
        ("/proc/sys/kernel/shmall", "1024\n"),
        ("/proc/sys/vm/hugetlb_shm_group", "0\n"),
        ("/proc/sys/vm/nr_overcommit_hugepages", "3\n"),
        (&total, "2\n"),
        (&free, "1\n"),
    ]);
    let facts = facts(&[capture(1_795_305_600, &before), capture(1_795_305_602, &after)].concat());
    let segment = Object {
        kind: ObjectKind::SysV(8),
        name: "segment 8".to_owned(),
        bytes: Bytes::mib(8),
        page: None,
        uid: None,
        pids: Vec::new(),
        attached: 12,
        touched: None,
    };
    assert_eq!(facts.objects, [segment]);
    let (name, page_tables) = ("postgres".to_owned(), Some(Bytes::kib(40)));
    let process = Process { name, page_tables, ..Process::default() };
    assert_eq!(facts.processes, [(10, process)].into());
    let small = Pool {
        page: Bytes::mib(2),
        total: 5,
        free: 5,
        reserved: Some(1),
        surplus: Some(0),
        overcommit: Some(3),
        nodes: Vec::new(),
    };
    let large = Pool { page: Bytes(1 << 30), total: 2, free: 1, ..Pool::default() };
    assert_eq!(facts.pools, [small, large]);
    let limits = Limits {
        shm_group: Some(0),
        shmmax: Some(Bytes(18_446_744_073_692_774_399)),
        shmall_pages: Some(1024),
        overcommit_memory: None,
    };
    assert_eq!(facts.limits, limits);
    let found: Vec<_> = facts.configured.iter().map(|c| (c.key.as_str(), &*c.value)).collect();
    assert_eq!(found, [("hugepages", "5")]);
}

/// `ipcs -m` alone says neither whose segments they are, nor on what pages.
#[test]
fn segments_of_a_listing_are_planned_for() {
    use crate::hugetlb::input::Inputs;
    use crate::hugetlb::plan::plan;
    let facts = facts(
        b"------ Shared Memory Segments --------\n\
          key        shmid      owner      perms      bytes      nattch     status\n\
          0x00000000 98304      oracle     600        16777216   251\n\
          0x00000000 131073     oracle     600        10720641024 251\n\
          0x8f9ad1e4 163842     oracle     600        2097152    251\n\
          0x00000000 7          ann        600        393216     2\n\
          0x00000000 9          ann        600        16777216   1\n\n\
          $ cat /proc/meminfo\nMemTotal: 20549012 kB\nHugePages_Total: 0\n\
          HugePages_Free: 0\nHugepagesize: 2048 kB\n",
    );
    let plan = plan(&facts, &Inputs::default());
    let [pool] = &plan.pools[..] else { panic!("{:?}", plan.pools) };
    let mut pages: Vec<u64> = pool.demands.iter().map(|demand| demand.pages).collect();
    pages.sort_unstable();
    assert_eq!((pages.as_slice(), pool.target_pages), (&[1, 8, 5112][..], 5121));
}

/// Oracle's workload report says how large its segment is; a listing of segments says it better.
#[test]
fn the_sga_of_a_workload_report_is_planned_for() {
    use crate::hugetlb::input::Inputs;
    use crate::hugetlb::plan::plan;
    use crate::hugetlb::warning::WarningKind;
    let report = |more: &str| {
        format!(
            "Memory Statistics\n~~~~~~~~~~~~~~~~~                       Begin          End\n\
             \x20                 Host Mem (MB):      20,067.4     20,067.4\n\
             \x20                  SGA use (MB):       9,216.0      9,216.0\n\
             \x20                  PGA use (MB):         841.2      1,102.7\n\n\
             Process Memory Summary                       DB/Inst: TILL/till  Snaps: 7-8\n\n\
             E Other       390.0       N/A      2.4      4.4      40      41    251    251\n\n\
             init.ora Parameters                          DB/Inst: TILL/till  Snaps: 7-8\n\n\
             Parameter Name                Begin value                       (if different)\n\
             ----------------------------- --------------------------------- --------------\n\
             {more}processes                     400\n\
             sga_max_size                  10737418240\n\
             sga_target                    9663676416\n\
             \x20         -------------------------------------------------------------\n\n\
             $ cat /proc/meminfo\nMemTotal: 20549012 kB\nHugePages_Total: 0\n\
             HugePages_Free: 0\nHugepagesize: 2048 kB\n"
        )
    };
    let planned = |text: &str| plan(&facts(text.as_bytes()), &Inputs::default());
    let of_sga = planned(&report(""));
    let [pool] = &of_sga.pools[..] else { panic!("{of_sga:?}") };
    let [demand] = &pool.demands[..] else { panic!("{pool:?}") };
    assert_eq!((demand.pages, demand.attached, pool.target_pages), (5120, Some(251), 5120));
    let listed = report("")
        + "$ ipcs -m\n------ Shared Memory Segments --------\n\
           key        shmid      owner      perms      bytes      nattch     status\n\
           0x00000000 131073     oracle     600        10720641024 251\n";
    assert_eq!(planned(&listed).pools[0].target_pages, 5112, "not twice");
    let automatic = planned(&report("memory_target                 12884901888\n"));
    assert!(automatic.pools.iter().all(|pool| pool.demands.is_empty()), "{automatic:?}");
    let warned =
        |warning: &&crate::hugetlb::warning::Warning| warning.kind == WarningKind::AutomaticMemory;
    assert!(automatic.warnings.iter().any(|one| warned(&one)), "{:?}", automatic.warnings);
}
