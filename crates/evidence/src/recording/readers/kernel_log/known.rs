//! What the kernel's log says when something is wrong, by the words of its messages.

/// A kind of trouble that the kernel's log names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// A CPU that did not come back from the kernel, or stood still: `kernel/watchdog.c`, RCU.
    Lockup,
    /// A CPU that slows itself down because of heat: `therm_throt.c`.
    Throttled,
    /// The processor's own clock was given up: `kernel/time/clocksource.c`.
    Clock,
    /// Records of audit find no place: `kernel/audit.c`.
    Audit,
    /// A device, or a path to it, is gone: SCSI, multipath, iSCSI, NVMe.
    PathLost,
    /// A controller's write cache is off, for want of a battery: megaraid, smartpqi.
    WriteCache,
    /// Requests to a disk ended in errors.
    DiskError,
    /// A file system found damage, or was made read-only.
    FileSystem,
    /// No free block of several pages: `mm/page_alloc.c`.
    NoBlock,
    /// Not even one page was free for somebody who may not wait.
    NoPage,
    /// The table of neighbours is full: `net/core/neighbour.c`.
    Neighbours,
    /// A network card hangs: `net/sched/sch_generic.c`, drivers.
    CardHangs,
    /// A network card lost its link.
    LinkDown,
    /// TCP's own limit of memory: `net/ipv4/tcp.c`.
    TcpMemory,
    /// Hardware errors that nobody could correct.
    Uncorrected,
    /// Hardware errors that were corrected.
    Corrected,
    /// The kernel itself failed.
    Bug,
    /// As many files are open as the machine may have: `fs/file_table.c`.
    FileMax,
    /// A program crashed.
    Crash,
    /// A request to storage was late, aborted or tried again.
    LateRequest,
    /// Somebody drops the page cache: `fs/drop_caches.c`.
    CacheDropped,
    /// A cgroup has as many tasks as it may have.
    Tasks,
}

impl Trouble {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Lockup,
        Self::Throttled,
        Self::Clock,
        Self::Audit,
        Self::PathLost,
        Self::WriteCache,
        Self::DiskError,
        Self::FileSystem,
        Self::NoBlock,
        Self::NoPage,
        Self::Neighbours,
        Self::CardHangs,
        Self::LinkDown,
        Self::TcpMemory,
        Self::Uncorrected,
        Self::Corrected,
        Self::Bug,
        Self::FileMax,
        Self::Crash,
        Self::LateRequest,
        Self::CacheDropped,
        Self::Tasks,
    ];

    /// Its name, in values and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lockup => "lockups",
            Self::Throttled => "heat",
            Self::Clock => "clock",
            Self::Audit => "audit",
            Self::PathLost => "lost devices",
            Self::WriteCache => "write caches",
            Self::DiskError => "disk errors",
            Self::FileSystem => "file system errors",
            Self::NoBlock => "failed allocations of blocks",
            Self::NoPage => "failed allocations of a page",
            Self::Neighbours => "neighbours",
            Self::CardHangs => "network cards",
            Self::LinkDown => "lost links",
            Self::TcpMemory => "memory of TCP",
            Self::Uncorrected => "hardware errors",
            Self::Corrected => "corrected hardware errors",
            Self::Bug => "kernel bugs",
            Self::FileMax => "open files",
            Self::Crash => "crashed programs",
            Self::LateRequest => "late requests to storage",
            Self::CacheDropped => "dropped caches",
            Self::Tasks => "task limits",
        }
    }
}

/// Words that a message of a kind has, all of them, in small letters; the first row that fits
/// counts. A row is as special as it must be to leave out what is said at every start.
const MESSAGES: &[(Trouble, &[&str])] = {
    use Trouble as T;
    &[
        (T::Lockup, &["soft lockup", "stuck for"]),
        (T::Lockup, &["hard lockup"]),
        (T::Lockup, &["workqueue lockup"]),
        (T::Lockup, &["detected stall"]),
        (T::Lockup, &["kthread starved for"]),
        (T::Throttled, &["temperature", "above threshold"]),
        (T::Throttled, &["clock", "throttled", "total events"]),
        (T::Throttled, &["critical temperature reached"]),
        (T::Clock, &["tsc", "unstable"]),
        (T::Audit, &["audit", "backlog limit exceeded"]),
        (T::Audit, &["audit_backlog="]),
        (T::Audit, &["audit_lost="]),
        (T::Audit, &["kauditd", "queue overflow"]),
        (T::PathLost, &["rejecting i/o to offline device"]),
        (T::PathLost, &["rejecting i/o to dead device"]),
        (T::PathLost, &["multipath", "failing path"]),
        (T::PathLost, &["remaining active paths: 0"]),
        (T::PathLost, &["device offlined"]),
        (T::PathLost, &["fc remote port time out"]),
        (T::PathLost, &["detected conn error"]),
        (T::PathLost, &["session recovery timed out"]),
        (T::PathLost, &["nvme", "removing after probe failure"]),
        (T::PathLost, &["nvme", "controller is down"]),
        (T::WriteCache, &["battery has failed"]),
        (T::WriteCache, &["bbu disabled"]),
        (T::WriteCache, &["changing wb virtual disks to wt"]),
        (T::WriteCache, &["battery", "cannot support data retention"]),
        (T::WriteCache, &["cache", "disabled", "battery"]),
        (T::NoBlock, &["possible memory allocation deadlock"]),
        (T::FileSystem, &["ext4-fs error"]),
        (T::FileSystem, &["ext3-fs error"]),
        (T::FileSystem, &["ext2-fs error"]),
        (T::FileSystem, &["remounting filesystem read-only"]),
        (T::FileSystem, &["aborting journal"]),
        (T::FileSystem, &["detected aborted journal"]),
        (T::FileSystem, &["xfs", "corruption"]),
        (T::FileSystem, &["xfs", "internal error"]),
        (T::FileSystem, &["xfs", "i/o error"]),
        (T::FileSystem, &["xfs", "shutting down filesystem"]),
        (T::FileSystem, &["xfs", "filesystem has been shut down"]),
        (T::FileSystem, &["btrfs", "error"]),
        (T::DiskError, &["i/o error"]),
        (T::DiskError, &["critical medium error"]),
        (T::DiskError, &["critical target error"]),
        (T::DiskError, &["medium error"]),
        (T::DiskError, &["unrecovered read error"]),
        (T::DiskError, &["failed command:"]),
        (T::DiskError, &["exception emask"]),
        (T::DiskError, &["sense key", "hardware error"]),
        (T::DiskError, &["lost async page write"]),
        (T::DiskError, &["lost page write"]),
        (T::NoBlock, &["page allocation failure"]),
        (T::NoBlock, &["page allocation stalls"]),
        (T::Neighbours, &["neighbour", "table overflow"]),
        (T::Neighbours, &["neighbor", "table overflow"]),
        (T::CardHangs, &["netdev watchdog"]),
        (T::CardHangs, &["hardware unit hang"]),
        (T::CardHangs, &["transmit queue", "timed out"]),
        (T::CardHangs, &["tx unit hang"]),
        (T::CardHangs, &["tx timeout"]),
        (T::LinkDown, &["link is down"]),
        (T::TcpMemory, &["tcp", "out of memory"]),
        (T::TcpMemory, &["tcp", "orphaned sockets"]),
        (T::Uncorrected, &["edac", " ue "]),
        (T::Uncorrected, &["uncorrected error"]),
        (T::Uncorrected, &["uncorrectable error"]),
        (T::Uncorrected, &["memory failure:"]),
        (T::Uncorrected, &["hardware error", "fatal"]),
        (T::Corrected, &["edac", " ce "]),
        (T::Corrected, &["corrected error"]),
        (T::Corrected, &["machine check events logged"]),
        (T::Corrected, &["aer:", "corrected"]),
        (T::Corrected, &["hardware error"]),
        (T::Bug, &["bug: unable to handle"]),
        (T::Bug, &["kernel bug at"]),
        (T::Bug, &["general protection fault"]),
        (T::Bug, &["bug: scheduling while atomic"]),
        (T::Bug, &["bug: bad page"]),
        (T::Bug, &["kernel panic"]),
        (T::FileMax, &["file-max limit", "reached"]),
        (T::Crash, &["segfault at"]),
        (T::Crash, &["trap divide error"]),
        (T::Tasks, &["fork rejected by pids controller"]),
        (T::CacheDropped, &["): drop_caches: "]),
        (T::LateRequest, &["nvme", "timeout"]),
        (T::LateRequest, &["abort command issued"]),
        (T::LateRequest, &["attempting task abort"]),
        (T::LateRequest, &["hard resetting link"]),
    ]
};

/// What only looks like trouble: drives without a medium, limits said at the start, programs whose
/// own words come through the kernel's log.
const HARMLESS: &[&str] = &["dev fd0", "dev sr", "dev loop", "stall warnings", "systemd["];

/// The kind of trouble that a message is about.
pub(super) fn trouble(text: &str) -> Option<Trouble> {
    let text = text.to_ascii_lowercase();
    if HARMLESS.iter().any(|words| text.contains(words)) {
        return None;
    }
    let fits = |words: &[&str]| words.iter().all(|word| text.contains(word));
    let found = MESSAGES.iter().find(|(_, words)| fits(words)).map(|(kind, _)| *kind)?;
    // Without a number it is not known to be more than one page.
    let single = text.contains("order:0") || text.contains("order: 0");
    Some(if found == Trouble::NoBlock && single { Trouble::NoPage } else { found })
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
