//! What the kernel's log says when something is wrong, by the words of its messages:
//! `data/kernel_log.tsv`.

use std::sync::LazyLock;

use crate::table::{Row, list, named_enum, table};

/// The kernel's log, as what its values are about. Time and date of all of it are of its last line.
pub const LOG: &str = "kernel log";

named_enum! {
    /// A kind of trouble that the kernel's log names.
    Trouble {
        /// A CPU that did not come back from the kernel, or stood still: `kernel/watchdog.c`, RCU.
        Lockup "lockups",
        /// A CPU that slows itself down because of heat: `therm_throt.c`.
        Throttled "heat",
        /// The processor's own clock was given up: `kernel/time/clocksource.c`.
        Clock "clock",
        /// Records of audit find no place: `kernel/audit.c`.
        Audit "audit",
        /// A device, or a path to it, is gone: SCSI, multipath, iSCSI, NVMe.
        PathLost "lost devices",
        /// A controller's write cache is off, for want of a battery: megaraid, smartpqi.
        WriteCache "write caches",
        /// A disk cannot read or write some of its blocks: it says so itself (sense key 3).
        BadMedia "bad media",
        /// Requests to a disk ended in errors.
        DiskError "disk errors",
        /// A file system found damage, or was made read-only.
        FileSystem "file system errors",
        /// No free block of several pages: `mm/page_alloc.c`.
        NoBlock "failed allocations of blocks",
        /// Not even one page was free for somebody who may not wait.
        NoPage "failed allocations of a page",
        /// The table of neighbours is full: `net/core/neighbour.c`.
        Neighbours "neighbours",
        /// A network card hangs: `net/sched/sch_generic.c`, drivers.
        CardHangs "network cards",
        /// A network card lost its link.
        LinkDown "lost links",
        /// TCP's own limit of memory: `net/ipv4/tcp.c`.
        TcpMemory "memory of TCP",
        /// Hardware errors that nobody could correct.
        Uncorrected "hardware errors",
        /// Hardware errors that were corrected.
        Corrected "corrected hardware errors",
        /// The kernel itself failed.
        Bug "kernel bugs",
        /// A check within the kernel failed, and it continued: known by its report, not by words.
        Warned "kernel warnings",
        /// As many files are open as the machine may have: `fs/file_table.c`.
        FileMax "open files",
        /// A program crashed.
        Crash "crashed programs",
        /// A request to storage was late, aborted or tried again.
        LateRequest "late requests to storage",
        /// Somebody drops the page cache: `fs/drop_caches.c`.
        CacheDropped "dropped caches",
        /// A cgroup has as many tasks as it may have.
        Tasks "task limits",
    }
}

pub(super) static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| table!("kernel_log.tsv").rows());

/// Words that a message of a kind has, all of them; the first row that fits counts.
static MESSAGES: LazyLock<Vec<(Trouble, Vec<String>)>> = LazyLock::new(|| {
    let mut messages = Vec::new();
    for row in ROWS.iter().filter(|row| row.section == "messages") {
        let kind = row.one_of(Trouble::ALL, Trouble::key, row.fields[0]);
        let words = row.fields[1..].iter().map(|word| word.replace("<space>", " "));
        messages.push((kind, words.collect()));
    }
    messages
});

/// What only looks like trouble.
static HARMLESS: LazyLock<Vec<&str>> = LazyLock::new(|| list(&ROWS, "harmless"));

/// The kind of trouble that a message is about.
pub(super) fn trouble(text: &str) -> Option<Trouble> {
    let text = text.to_ascii_lowercase();
    if HARMLESS.iter().any(|words| text.contains(words)) {
        return None;
    }
    let fits = |words: &[String]| words.iter().all(|word| text.contains(word));
    let found = MESSAGES.iter().find(|(_, words)| fits(words)).map(|(kind, _)| *kind)?;
    if found == Trouble::Corrected && is_uncorrected(&text) {
        return Some(Trouble::Uncorrected);
    }
    // Without a number it is not known to be more than one page.
    let single = ["order:0", "order: 0", " 0-order"].iter().any(|words| text.contains(words));
    Some(if found == Trouble::NoBlock && single { Trouble::NoPage } else { found })
}

/// Whether a machine check, `machine check: 0 bank 4: be00000000800400`, was not corrected:
/// `MCI_STATUS_UC` in `arch/x86/include/asm/mce.h`.
fn is_uncorrected(text: &str) -> bool {
    const UNCORRECTED: u64 = 1 << 61;
    let status = text.split_once("bank ").and_then(|(_, rest)| rest.split_once(": "));
    let status = status.and_then(|(_, rest)| rest.split_whitespace().next());
    let status = status.filter(|word| word.len() >= 15);
    let bits = status.and_then(|word| u64::from_str_radix(word, 16).ok());
    bits.is_some_and(|bits| bits & UNCORRECTED != 0)
}

/// How the kernel's messages begin, and whether a digit has to follow.
static HEADS: LazyLock<Vec<(String, bool)>> = LazyLock::new(|| {
    let head = |head: &str| {
        let numbered = head.ends_with("<digit>");
        (head.trim_end_matches("<digit>").replace("<space>", " "), numbered)
    };
    list(&ROWS, "heads").into_iter().map(head).collect()
});

/// Whether a line begins as messages of the kernel do, or has the words that only it writes.
pub(in super::super) fn is_headed(line: &str) -> bool {
    let first = line.as_bytes().first();
    let fits = |(head, numbered): &(String, bool)| {
        let begins = head.as_bytes().first() == first;
        let rest = Some(line).filter(|_| begins).and_then(|line| line.strip_prefix(head.as_str()));
        rest.is_some_and(|rest| !numbered || rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    HEADS.iter().any(fits) || line.contains(": page allocation failure")
}

/// Whether a message, with nothing before it that tells whose it is, names trouble.
pub(super) fn names_trouble(text: &str) -> bool {
    let hangs = text.starts_with("INFO: task ") && text.contains(" blocked for more than ");
    let floods = text.contains("ossible SYN flooding on port");
    let untracked = text.contains("conntrack") && text.contains("table full");
    let silent = text.starts_with("nfs: server ") && text.contains("not responding");
    hangs || floods || untracked || silent || trouble(text).is_some()
}

/// The number in a message that says how bad it is.
pub(super) fn amount(kind: Trouble, text: &str) -> Option<f64> {
    let mark = match kind {
        Trouble::Lockup => "stuck for ",
        Trouble::Throttled => "total events = ",
        Trouble::NoBlock => "order:",
        Trouble::Audit => "audit_lost=",
        Trouble::Corrected | Trouble::Uncorrected => ": ",
        _ => return None,
    };
    let rest = text.split_once(mark)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    // Longer ones are no counts.
    rest.get(..end).filter(|digits| digits.len() <= 12)?.parse().ok()
}

/// How many more of the line before a message stands for: `4120 callbacks suppressed`.
pub(super) fn suppressed(text: &str) -> Option<u64> {
    let before = text.split_once(" callbacks suppressed")?.0;
    before.rsplit([' ', ':']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let sections = ["messages", "heads", "harmless", "zones", "zone", "memory"];
        let reports = ["report lines", "report writers", "taints"];
        let known = |row: &Row| [&sections[..], &reports].concat().contains(&row.section);
        assert!(ROWS.iter().all(known));
        assert!(MESSAGES.iter().all(|(_, words)| !words.is_empty()) && !HARMLESS.is_empty());
        let all = |kind: &Trouble| MESSAGES.iter().any(|(of, _)| of == kind);
        let without: Vec<_> = Trouble::ALL.iter().filter(|kind| !all(kind)).collect();
        let told_otherwise = [&Trouble::NoPage, &Trouble::Warned];
        assert_eq!(without, told_otherwise, "a block of one page, and reports");
    }

    #[test]
    fn kinds_of_trouble() {
        use Trouble as T;
        for (text, kind) in [
            ("watchdog: BUG: soft lockup - CPU#3 stuck for 41s! [kworker/3:2:8120]", T::Lockup),
            ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 4", T::Lockup),
            ("rcu: INFO: rcu_sched self-detected stall on CPU", T::Lockup),
            ("INFO: rcu_preempt detected stalls on CPUs/tasks:", T::Lockup),
            (
                "mce: CPU12: Core temperature is above threshold, cpu clock is throttled (total \
                 events = 812044)",
                T::Throttled,
            ),
            (
                "CPU3: Package temperature above threshold, cpu clock throttled (total events = 7)",
                T::Throttled,
            ),
            ("tsc: Marking TSC unstable due to clocksource watchdog", T::Clock),
            ("audit: audit_backlog=8193 > audit_backlog_limit=8192", T::Audit),
            ("sd 8:0:3:12: rejecting I/O to offline device", T::PathLost),
            ("device-mapper: multipath: 253:12: Failing path 65:80.", T::PathLost),
            ("blk_update_request: I/O error, dev sda, sector 812044", T::DiskError),
            (
                "megaraid_sas 0000:18:00.0: BBU disabled; changing WB virtual disks to WT",
                T::WriteCache,
            ),
            ("ata1.00: failed command: READ FPDMA QUEUED", T::DiskError),
            ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2", T::FileSystem),
            ("XFS (sdb1): metadata I/O error in \"xfs_buf\" at daddr 0x1", T::FileSystem),
            ("vhost-2210: page allocation failure: order:4, mode:0x40cc0", T::NoBlock),
            ("swapper/3: page allocation failure: order:0, mode:0x20", T::NoPage),
            ("neighbour: arp_cache: neighbor table overflow!", T::Neighbours),
            ("NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out", T::CardHangs),
            ("TCP: out of memory -- consider tuning tcp_mem", T::TcpMemory),
            ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1", T::Corrected),
            ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0", T::Uncorrected),
            ("VFS: file-max limit 100000 reached", T::FileMax),
            ("memclean.sh (31120): drop_caches: 3", T::CacheDropped),
            ("php-fpm[812]: segfault at 0 ip 00007f", T::Crash),
        ] {
            assert_eq!(trouble(text), Some(kind), "{text}");
        }
        for text in [
            "EXT4-fs (sda2): mounted filesystem with ordered data mode. Quota mode: none.",
            "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
            "EDAC MC: Ver: 3.0.0",
            "blk_update_request: I/O error, dev fd0, sector 0",
            "ixgbe 0000:18:00.0 eno1: NIC Link is Up 10 Gbps",
            "audit: type=1400 audit(1700000000.1:5): apparmor=\"STATUS\"",
        ] {
            assert_eq!(trouble(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_in_messages() {
        assert_eq!(amount(Trouble::Lockup, "CPU#3 stuck for 41s! [x]"), Some(41.0));
        assert_eq!(amount(Trouble::NoBlock, "failure: order:4, mode"), Some(4.0));
        assert_eq!(amount(Trouble::Throttled, "(total events = 812044)"), Some(812_044.0));
        assert_eq!(amount(Trouble::Lockup, "stuck for ever"), None);
        assert_eq!(suppressed("audit_log_start: 4120 callbacks suppressed"), Some(4120));
        assert_eq!(suppressed("callbacks suppressed"), None);
    }
}
