//! Properties of the readers of listings and of atop: whatever happened to a text, reading it
//! ends, does not panic, and gives finite values only.

use hugewise_evidence::recording::{Builder, Field, Recording, SourceKind, Subject};
use proptest::prelude::*;
use proptest::sample::Index;

const VM: &str = include_str!("recordings/real/vm.atop");
const VM_JSON: &str = include_str!("recordings/real/vm.atopJ.json");

const PROC: &str = include_str!("recordings/real/vm.proc.txt");
const REAL_TOP: &str = include_str!("recordings/real/iomix.top.txt");

const TOP: &str = "\
[root@lenvo-nfs-server ~]# top
top - 00:12:28 up 32 days,  4:22,  3 users,  load average: 9.89, 7.87, 4.71
Tasks: 217 total,   1 running, 216 sleeping,   0 stopped,   0 zombie
%Cpu0  :  0.0 us,  4.0 sy,  0.0 ni, 34.8 id, 61.2 wa,  0.0 hi,  0.0 si,  0.0 st
%Cpu1  :  0.0 us,  7.6 sy,  0.0 ni,  3.4 id, 82.8 wa,  0.0 hi,  6.2 si,  0.0 st
KiB Mem :  3589572 total,    82288 free,   775472 used,  2731812 buff/cache
KiB Swap:  8388604 total,  8036400 free,   352204 used.  2282192 avail Mem

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
  12013 root      20   0  601604   1.2g    904 R  94.1   0.4   0:13.76 stress-ng-vm
     45 root      20   0       0      0      0 D   0.0   0.0   0:00.00 [kswapd0]
";

const NETWORK: &str = "\
Total DISK READ: 20.30 M/s | Total DISK WRITE: 24.95 M/s
Actual DISK READ: 20.30 M/s | Actual DISK WRITE: 8.27 M/s
TID  PRIO  USER  DISK READ  DISK WRITE  SWAPIN  IO    COMMAND
12180 be/4 root    2.39 M/s   16.01 M/s   0.00 % 35.94 % [nfsd]
...............
172.16.106.119:nfs                   => 172.16.106.130:multiling-http        1.64Mb  2.04Mb  3.06Mb
                                     <=                                      26.2Mb  14.5Mb  19.8Mb
TX:             cum:   37.0MB   peak:   31.9Mb                      rates:   3.44Mb  5.50Mb  8.22Mb

Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
tcp      759      0 10.100.69.229:8085      10.100.140.32:35444     ESTABLISHED 1/java
State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
LISTEN 129    128          0.0.0.0:8080      0.0.0.0:*    users:((\"java\",pid=7,fd=5))
Tcp:
    1419840 segments sent out
    8 segments retransmitted
Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs
Tcp: 1 -1 1407429 1419809 8
";

const MEMORY: &str = "\
$ free -m
              total        used        free      shared  buff/cache   available
Mem:         128733       90211       30000        1101        8522       37400
Swap:             0           0           0
MemTotal:     20549012 kB
...
PageTables:    5007924 kB  <--- 5GB!
HugePages_Total:  6144
HugePages_Free:\u{a0}  1655 <-- Free pages are less than total pages.
Hugepagesize:     2048 kB
nr_free_pages 1330870
allocstall_normal 5
thp_fault_alloc 17
                    CPU0       CPU1
      NET_RX:    1715705    1780749
           CPU0       CPU1
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
Node 0, zone   Normal    835    603    663    486    266    106     57     41     80     65    182
user@db1:~$ cat /sys/kernel/mm/transparent_hugepage/enabled
[always] madvise never
/proc/pressure/io:some avg10=7.00 avg60=0.00 avg300=0.00 total=0
vm.swappiness = 60
";

const GC: &str = "\
2020-12-26T00:12:28.123+0800: 12.345: [GC (Allocation Failure) 65536K->10728K(251392K), 0.0123456 \
secs] [Times: user=0.05 sys=0.90, real=0.95 secs]
1.500: [GC pause (G1 Evacuation Pause) (young), 0.0456 secs]
   [Parallel Time: 40.0 ms, GC Workers: 4]
 [Times: user=0.10 sys=0.02, real=0.05 secs]
Total time for which application threads were stopped: 3.1 seconds, Stopping threads took: 0.1 \
seconds
[2026-11-22T03:43:10.123+0000][12.345s][info][gc] GC(3) Pause Young (Normal) 12M->3M(64M) 3.456ms
[12.345s][info][gc,cpu      ] GC(3) User=0.05s Sys=0.90s Real=0.95s
[12.345s][info][safepoint   ] Safepoint \"Cleanup\", Time since last: 1 ns, Reaching safepoint: \
2500 ns, At safepoint: 5 ns, Total: 3000 ns
";

/// What servers say of themselves: tickets, whose first lines are prose.
const SERVERS: [&str; 7] = [
    include_str!("corpus/app-redis-keys.txt"),
    include_str!("corpus/app-redis-aof-hdd.txt"),
    include_str!("corpus/app-pg-locks.txt"),
    include_str!("corpus/app-pg-dataread.txt"),
    include_str!("corpus/ok-app-pg17.txt"),
    include_str!("corpus/ok-app-redis-idle-slowlog.txt"),
    include_str!("corpus/ok-app-web.txt"),
];

/// Dumps of threads: tickets as well.
const THREADS: [&str; 5] = [
    include_str!("corpus/threads-dbcp-once.txt"),
    include_str!("corpus/threads-virtual.txt"),
    include_str!("corpus/threads-go-sql.txt"),
    include_str!("corpus/threads-undertow-lock.txt"),
    include_str!("corpus/threads-jedis-journal.txt"),
];

/// How many lines of the long samples are taken: enough for several samples of atop.
fn start(text: &str, bytes: usize) -> String {
    text.char_indices().take_while(|(at, _)| *at < bytes).map(|(_, c)| c).collect()
}

fn samples() -> Vec<String> {
    let short = [TOP, NETWORK, MEMORY, GC, REAL_TOP, PROC].map(str::to_owned);
    let mut samples = Vec::from(short);
    let tickets = SERVERS.iter().chain(&THREADS);
    let listings = tickets.filter_map(|ticket| ticket.split_once("\n\n"));
    samples.extend(listings.map(|(_, listings)| listings.to_owned()));
    samples.push(start(VM, 12_000));
    // Whole objects: a part of one is no JSON at all.
    samples.push(VM_JSON.lines().take(2).collect::<Vec<_>>().join("\n"));
    samples
}

fn read(bytes: &[u8]) -> Recording {
    let mut builder = Builder::new();
    // Refusing a text is as good as reading it.
    let _ = builder.read("input", bytes);
    builder.finish()
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let recording = read(bytes);
    for host in &recording.hosts {
        for field in Field::ALL {
            for (_, series) in host.subjects(*field) {
                let points = series.iter().flat_map(|series| &series.points);
                for point in points {
                    prop_assert!(point.value.is_finite() && point.value >= 0.0, "{field:?}");
                }
            }
        }
    }
    Ok(())
}

/// A way to spoil a text.
#[derive(Clone, Debug)]
enum Harm {
    Flip(Index, u8),
    Cut(Index),
    Insert(Index, String),
    Swap(Index, Index),
    Drop(Index),
    Double(Index),
}

fn harm() -> impl Strategy<Value = Harm> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), any::<u8>()).prop_map(|(at, byte)| Harm::Flip(at, byte)),
        1 => index().prop_map(Harm::Cut),
        2 => (index(), "[ -~\u{a0}\u{e9}\t]{0,60}").prop_map(|(at, line)| Harm::Insert(at, line)),
        2 => (index(), index()).prop_map(|(a, b)| Harm::Swap(a, b)),
        1 => index().prop_map(Harm::Drop),
        1 => index().prop_map(Harm::Double),
    ]
}

fn spoil(text: &str, harms: &[Harm]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    for harm in harms {
        if lines.is_empty() {
            break;
        }
        let count = lines.len();
        match harm {
            Harm::Flip(at, byte) => {
                let line = &mut lines[at.index(count)];
                if !line.is_empty() {
                    let place = at.index(line.len());
                    line[place] ^= byte;
                }
            }
            Harm::Cut(at) => {
                let line = &mut lines[at.index(count)];
                line.truncate(at.index(line.len() + 1));
            }
            Harm::Insert(at, line) => lines.insert(at.index(count), line.clone().into_bytes()),
            Harm::Swap(a, b) => lines.swap(a.index(count), b.index(count)),
            Harm::Drop(at) => drop(lines.remove(at.index(count))),
            Harm::Double(at) => lines.push(lines[at.index(count)].clone()),
        }
    }
    lines.join(&b'\n')
}

#[test]
fn each_sample_is_understood() {
    for sample in samples() {
        let recording = read(sample.as_bytes());
        assert_eq!(recording.unrecognised, [], "{sample}");
        assert!(recording.hosts.iter().any(|host| !host.is_empty()), "{sample}");
    }
}

#[test]
fn files_of_proc_behind_headings_are_read_exactly() {
    let recording = read(PROC.as_bytes());
    assert_eq!((&recording.unrecognised, &recording.problems), (&vec![], &vec![]));
    let value = |field: Field, subject: &Subject| {
        let series = recording.hosts[0].series(field, subject);
        series.and_then(|series| series.points.last()).map(|point| point.value)
    };
    let machine = |field: Field| value(field, &Subject::Machine);
    assert_eq!(machine(Field::MemTotal), Some(24_684_092.0 * 1024.0));
    assert_eq!(machine(Field::Inactive), Some(351_132.0 * 1024.0));
    assert_eq!(machine(Field::TcpRetransmitCount), Some(8.0));
    assert_eq!(machine(Field::TcpOutSegmentCount), Some(1_419_809.0));
    assert_eq!(machine(Field::TcpListenOverflowCount), Some(0.0));
    assert_eq!(machine(Field::PsiMemoryFull), Some(0.0));
    // Of zones DMA32 and Normal: blocks of order 9 and twice those of order 10.
    assert_eq!(machine(Field::FreeHugeBlocks), Some(f64::from(2 + 2 * 752 + 95 + 2 * 281)));
    let vector = |name: &str, cpu| Subject::Vector { name: name.to_owned(), cpu: Some(cpu) };
    assert_eq!(value(Field::SoftirqCount, &vector("NET_RX", 1)), Some(1_780_749.0));
    assert_eq!(value(Field::IrqCount, &vector("36", 1)), Some(425_430.0));
    let kinds: Vec<SourceKind> = recording.sources.iter().map(|source| source.kind).collect();
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

#[test]
fn every_real_text_of_atop_is_read_whole() {
    const TEXTS: [&str; 30] = [
        include_str!("recordings/real/bigheap.atop"),
        include_str!("recordings/real/brk.atop"),
        include_str!("recordings/real/cache.atop"),
        include_str!("recordings/real/cpu.atop"),
        include_str!("recordings/real/dentry.atop"),
        include_str!("recordings/real/fault.atop"),
        include_str!("recordings/real/fork.atop"),
        include_str!("recordings/real/futex.atop"),
        include_str!("recordings/real/getdent.atop"),
        include_str!("recordings/real/hdd.atop"),
        include_str!("recordings/real/hddrnd.atop"),
        include_str!("recordings/real/hundred.atop"),
        include_str!("recordings/real/idle.atop"),
        include_str!("recordings/real/io.atop"),
        include_str!("recordings/real/iomix.atop"),
        include_str!("recordings/real/key.atop"),
        include_str!("recordings/real/malloc.atop"),
        include_str!("recordings/real/mmap.atop"),
        include_str!("recordings/real/mremap.atop"),
        include_str!("recordings/real/onecpu.atop"),
        include_str!("recordings/real/pipe.atop"),
        include_str!("recordings/real/seccomp.atop"),
        include_str!("recordings/real/sem.atop"),
        include_str!("recordings/real/sock.atop"),
        include_str!("recordings/real/switch.atop"),
        include_str!("recordings/real/timer.atop"),
        include_str!("recordings/real/udp.atop"),
        include_str!("recordings/real/urandom.atop"),
        include_str!("recordings/real/vm.atop"),
        include_str!("recordings/real/yield.atop"),
    ];
    for text in TEXTS {
        let recording = read(text.as_bytes());
        assert_eq!((recording.unrecognised, recording.problems), (vec![], vec![]));
        let host = &recording.hosts[0];
        let shares = |field: Field| {
            let series = host.series(field, &Subject::Machine);
            series.map_or(0, |series| series.points.len())
        };
        // Six samples each, the first since boot.
        assert_eq!((shares(Field::CpuSystem), shares(Field::MemFree)), (5, 6));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        check(&bytes)?;
    }

    #[test]
    fn spoiled_texts_are_survived(
        which in any::<Index>(),
        harms in proptest::collection::vec(harm(), 1..30),
    ) {
        let samples = samples();
        check(&spoil(&samples[which.index(samples.len())], &harms))?;
    }

    #[test]
    fn lines_of_all_formats_in_any_order_are_survived(
        seeds in proptest::collection::vec(any::<Index>(), 1..80),
    ) {
        let samples = [TOP, NETWORK, MEMORY, GC].join("\n");
        let lines: Vec<&str> = samples.lines().collect();
        let chosen: Vec<&str> = seeds.iter().map(|seed| lines[seed.index(lines.len())]).collect();
        check(chosen.join("\n").as_bytes())?;
    }
}
