//! The tables of sysstat's tools: which column means what, in text and in JSON.
//!
//! Column names are the ones of `sar(1)`, `mpstat(1)`, `iostat(1)` and `pidstat(1)`, versions 9 to
//! 12.7; they are not translated.

use crate::recording::Field::{self, *};

/// kB of sysstat are 1024 bytes.
const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * 1024.0;
/// Sectors, and the "blocks" of `sar -b` and `iostat`: 512 bytes.
const SECTOR: f64 = 512.0;
/// `sar -W` counts base pages and does not say their size: taken to be 4096 bytes.
const PAGE: f64 = 4096.0;
const ONE: f64 = 1.0;

/// What the rows of a table are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The machine: no column says it.
    Machine,
    /// CPUs, or `all`.
    Cpu,
    /// Block devices.
    Disk,
    /// Network interfaces.
    Interface,
    /// Interrupt vectors, or `sum`.
    Vector,
    /// Processes.
    Process,
}

/// A column that has a field.
pub(super) struct Column {
    /// Its header in text.
    pub(super) text: &'static str,
    /// Its key in JSON; empty where it has none.
    pub(super) json: &'static str,
    /// What it is.
    pub(super) field: Field,
    /// Times this it is in the field's unit.
    pub(super) factor: f64,
}

/// A field that is the sum of columns, all of which must be there.
pub(super) struct Sum {
    /// Header in text and key in JSON of each.
    pub(super) parts: &'static [(&'static str, &'static str)],
    /// What the sum is.
    pub(super) field: Field,
    /// Times this it is in the field's unit.
    pub(super) factor: f64,
}

/// A whole, where a column has a part of it and another one how many percent of it that part is.
pub(super) struct Whole {
    /// Header in text and key in JSON of the part.
    pub(super) part: (&'static str, &'static str),
    /// The same of its percentage.
    pub(super) percent: (&'static str, &'static str),
    /// What the whole is.
    pub(super) field: Field,
    /// Times this the part is in the field's unit.
    pub(super) factor: f64,
}

/// The whole of a part that is so many percent of it; `None` where the percentage is too small to
/// tell: it has two decimals.
pub(super) fn whole(part: f64, percent: f64) -> Option<f64> {
    (percent >= 1.0).then(|| part / percent * 100.0)
}

/// A table. Where two columns have the same field, the first one counts.
pub(super) struct Table {
    /// What its rows are about.
    pub(super) kind: Kind,
    /// Words that its header has, each of them.
    pub(super) marks: &'static [&'static str],
    /// Names of the section in JSON.
    pub(super) sections: &'static [&'static str],
    /// Its columns.
    pub(super) columns: &'static [Column],
    /// Its sums.
    pub(super) sums: &'static [Sum],
    /// A whole that its columns tell.
    pub(super) whole: Option<Whole>,
}

/// A table without sums and wholes.
const fn table(
    kind: Kind,
    marks: &'static [&'static str],
    sections: &'static [&'static str],
    columns: &'static [Column],
) -> Table {
    Table { kind, marks, sections, columns, sums: &[], whole: None }
}

const fn c(text: &'static str, json: &'static str, field: Field, factor: f64) -> Column {
    Column { text, json, field, factor }
}

const CPU: Table = table(
    Kind::Cpu,
    &["%idle"],
    &["cpu-load", "cpu-load-all", "avg-cpu"],
    &[
        c("%user", "user", CpuUser, ONE),
        c("%usr", "usr", CpuUser, ONE),
        c("%nice", "nice", CpuNice, ONE),
        // `%sys` is without interrupts, `%system` with them.
        c("%system", "system", CpuKernel, ONE),
        c("%sys", "sys", CpuSystem, ONE),
        c("%iowait", "iowait", CpuIowait, ONE),
        c("%irq", "irq", CpuIrq, ONE),
        c("%soft", "soft", CpuSoftirq, ONE),
        c("%steal", "steal", CpuSteal, ONE),
        c("%guest", "guest", CpuGuest, ONE),
        c("%idle", "idle", CpuIdle, ONE),
        // mpstat up to 9.0.
        c("intr/s", "", Interrupts, ONE),
    ],
);

const CPU_INTERRUPTS: Table =
    table(Kind::Cpu, &["CPU", "intr/s"], &[], &[c("intr/s", "", Interrupts, ONE)]);

const SOFTNET: Table = table(
    Kind::Cpu,
    &["squeezd/s"],
    &["softnet"],
    &[
        c("total/s", "total", SoftnetPackets, ONE),
        c("dropd/s", "dropd", SoftnetDropped, ONE),
        c("squeezd/s", "squeezd", SoftnetSqueezed, ONE),
    ],
);

const QUEUE: Table = table(
    Kind::Machine,
    &["runq-sz"],
    &["queue"],
    &[
        c("runq-sz", "runq-sz", RunQueue, ONE),
        c("plist-sz", "plist-sz", Tasks, ONE),
        c("ldavg-1", "ldavg-1", Load1, ONE),
        c("ldavg-5", "ldavg-5", Load5, ONE),
        c("ldavg-15", "ldavg-15", Load15, ONE),
        c("blocked", "blocked", Blocked, ONE),
    ],
);

const PSI_CPU: Table = table(
    Kind::Machine,
    &["%scpu-10"],
    &["psi-cpu"],
    &[c("%scpu", "some_avg", PsiCpuSome, ONE), c("%scpu-10", "some_avg10", PsiCpuSome, ONE)],
);

const PSI_IO: Table = table(
    Kind::Machine,
    &["%sio-10"],
    &["psi-io"],
    &[
        c("%sio", "some_avg", PsiIoSome, ONE),
        c("%fio", "full_avg", PsiIoFull, ONE),
        c("%sio-10", "some_avg10", PsiIoSome, ONE),
        c("%fio-10", "full_avg10", PsiIoFull, ONE),
    ],
);

const PSI_MEMORY: Table = table(
    Kind::Machine,
    &["%smem-10"],
    &["psi-mem"],
    &[
        // Of the interval; the others are moving averages, which lag behind.
        c("%smem", "some_avg", PsiMemorySome, ONE),
        c("%fmem", "full_avg", PsiMemoryFull, ONE),
        c("%smem-10", "some_avg10", PsiMemorySome, ONE),
        c("%fmem-10", "full_avg10", PsiMemoryFull, ONE),
    ],
);

const TASKS: Table = table(
    Kind::Machine,
    &["proc/s"],
    &["process-and-context-switch"],
    &[c("proc/s", "proc", Forks, ONE), c("cswch/s", "cswch", ContextSwitches, ONE)],
);

// `sar -w` up to version 8.
const SWITCHES: Table =
    table(Kind::Machine, &["cswch/s"], &[], &[c("cswch/s", "", ContextSwitches, ONE)]);

const VECTORS: Table = table(Kind::Vector, &["INTR"], &[], &[]);

const SWAPPING: Table = table(
    Kind::Machine,
    &["pswpin/s"],
    &["swap-pages"],
    &[c("pswpin/s", "pswpin", SwapIn, PAGE), c("pswpout/s", "pswpout", SwapOut, PAGE)],
);

const PAGING: Table = table(
    Kind::Machine,
    &["pgpgin/s"],
    &["paging"],
    &[
        c("pgpgin/s", "pgpgin", PageIn, KB),
        c("pgpgout/s", "pgpgout", PageOut, KB),
        c("fault/s", "fault", Faults, ONE),
        c("majflt/s", "majflt", MajorFaults, ONE),
        c("pgfree/s", "pgfree", PagesFreed, ONE),
        c("pgscank/s", "pgscank", ScanKswapd, ONE),
        c("pgscand/s", "pgscand", ScanDirect, ONE),
        c("pgsteal/s", "pgsteal", Steal, ONE),
        c("%vmeff", "vmeff-percent", ReclaimEfficiency, ONE),
    ],
);

const TRANSFERS: Table = table(
    Kind::Machine,
    &["rtps", "wtps"],
    &["io"],
    &[
        c("tps", "tps", DiskTransfers, ONE),
        c("rtps", "rtps", DiskReads, ONE),
        c("wtps", "wtps", DiskWrites, ONE),
        c("bread/s", "bread", DiskReadBytes, SECTOR),
        c("bwrtn/s", "bwrtn", DiskWriteBytes, SECTOR),
    ],
);

const MEMORY: Table = Table {
    kind: Kind::Machine,
    marks: &["kbmemfree"],
    sections: &["memory"],
    columns: &[
        c("kbmemfree", "memfree", MemFree, KB),
        c("kbavail", "avail", MemAvailable, KB),
        c("kbbuffers", "buffers", Buffers, KB),
        c("kbcached", "cached", Cached, KB),
        c("kbcommit", "commit", Committed, KB),
        c("kbactive", "active", Active, KB),
        c("kbinact", "inactive", Inactive, KB),
        c("kbdirty", "dirty", Dirty, KB),
        c("kbanonpg", "anonpg", Anon, KB),
        c("kbslab", "slab", Slab, KB),
        c("kbkstack", "kstack", KernelStacks, KB),
        c("kbpgtbl", "pgtbl", PageTables, KB),
        // Beside the others up to version 8.
        c("kbswpfree", "", SwapFree, KB),
    ],
    sums: &[Sum { parts: &[("kbswpfree", ""), ("kbswpused", "")], field: SwapTotal, factor: KB }],
    // What counts as used differs between versions (11.6.4, 12.7.8); the share is always of all.
    whole: Some(Whole {
        part: ("kbmemused", "memused"),
        percent: ("%memused", "memused-percent"),
        field: MemTotal,
        factor: KB,
    }),
};

const SWAP_SPACE: Table = Table {
    kind: Kind::Machine,
    marks: &["kbswpfree"],
    sections: &["memory"],
    columns: &[c("kbswpfree", "swpfree", SwapFree, KB)],
    // sysstat computes the used space as the total less the free space.
    sums: &[Sum {
        parts: &[("kbswpfree", "swpfree"), ("kbswpused", "swpused")],
        field: SwapTotal,
        factor: KB,
    }],
    whole: None,
};

const HUGE: Table = Table {
    kind: Kind::Machine,
    marks: &["kbhugfree"],
    sections: &["hugepages"],
    columns: &[
        c("kbhugfree", "hugfree", HugetlbFree, KB),
        c("kbhugrsvd", "hugrsvd", HugetlbReserved, KB),
        c("kbhugsurp", "hugsurp", HugetlbSurplus, KB),
    ],
    // As with swap space.
    sums: &[Sum {
        parts: &[("kbhugfree", "hugfree"), ("kbhugused", "hugused")],
        field: HugetlbTotal,
        factor: KB,
    }],
    whole: None,
};

// `sar -d` and `iostat`. Mean request sizes: `avgrq-sz` in sectors, `areq-sz` in kB.
const DISKS: Table = table(
    Kind::Disk,
    &[],
    &["disk"],
    &[
        c("tps", "tps", DiskTransfers, ONE),
        c("r/s", "", DiskReads, ONE),
        c("w/s", "", DiskWrites, ONE),
        c("rkB/s", "rkB", DiskReadBytes, KB),
        c("wkB/s", "wkB", DiskWriteBytes, KB),
        c("rMB/s", "", DiskReadBytes, MB),
        c("wMB/s", "", DiskWriteBytes, MB),
        c("kB_read/s", "", DiskReadBytes, KB),
        c("kB_wrtn/s", "", DiskWriteBytes, KB),
        c("MB_read/s", "", DiskReadBytes, MB),
        c("MB_wrtn/s", "", DiskWriteBytes, MB),
        c("Blk_read/s", "", DiskReadBytes, SECTOR),
        c("Blk_wrtn/s", "", DiskWriteBytes, SECTOR),
        c("rd_sec/s", "rd_sec", DiskReadBytes, SECTOR),
        c("wr_sec/s", "wr_sec", DiskWriteBytes, SECTOR),
        c("rsec/s", "", DiskReadBytes, SECTOR),
        c("wsec/s", "", DiskWriteBytes, SECTOR),
        c("areq-sz", "areq-sz", DiskRequestBytes, KB),
        c("avgrq-sz", "avgrq-sz", DiskRequestBytes, SECTOR),
        c("rareq-sz", "", DiskReadRequestBytes, KB),
        c("wareq-sz", "", DiskWriteRequestBytes, KB),
        c("rrqm/s", "", DiskReadMerges, ONE),
        c("wrqm/s", "", DiskWriteMerges, ONE),
        c("aqu-sz", "aqu-sz", DiskQueue, ONE),
        c("avgqu-sz", "avgqu-sz", DiskQueue, ONE),
        c("await", "await", DiskAwait, ONE),
        c("r_await", "", DiskReadAwait, ONE),
        c("w_await", "", DiskWriteAwait, ONE),
        c("f/s", "", DiskFlushes, ONE),
        c("f_await", "", DiskFlushAwait, ONE),
        c("%util", "util-percent", DiskBusy, ONE),
    ],
);

const INTERFACES: Table = table(
    Kind::Interface,
    &["rxpck/s"],
    &["net-dev"],
    &[
        c("rxpck/s", "rxpck", NetRxPackets, ONE),
        c("txpck/s", "txpck", NetTxPackets, ONE),
        c("rxkB/s", "rxkB", NetRxBytes, KB),
        c("txkB/s", "txkB", NetTxBytes, KB),
        c("rxbyt/s", "rxbyt", NetRxBytes, ONE),
        c("txbyt/s", "txbyt", NetTxBytes, ONE),
        c("%ifutil", "ifutil-percent", NetBusy, ONE),
    ],
);

const INTERFACE_ERRORS: Table = Table {
    kind: Kind::Interface,
    marks: &["rxerr/s"],
    sections: &["net-edev"],
    columns: &[
        c("rxdrop/s", "rxdrop", NetRxDrops, ONE),
        c("txdrop/s", "txdrop", NetTxDrops, ONE),
        c("rxfifo/s", "rxfifo", NetRxFifo, ONE),
    ],
    sums: &[Sum {
        parts: &[("rxerr/s", "rxerr"), ("txerr/s", "txerr")],
        field: NetErrors,
        factor: ONE,
    }],
    whole: None,
};

const TCP: Table = table(
    Kind::Machine,
    &["active/s", "passive/s"],
    &["net-tcp"],
    &[
        c("active/s", "active", TcpActiveOpens, ONE),
        c("passive/s", "passive", TcpPassiveOpens, ONE),
        c("iseg/s", "iseg", TcpInSegments, ONE),
        c("oseg/s", "oseg", TcpOutSegments, ONE),
    ],
);

const TCP_ERRORS: Table = table(
    Kind::Machine,
    &["atmptf/s", "retrans/s"],
    &["net-etcp"],
    &[c("retrans/s", "retrans", TcpRetransmits, ONE)],
);

// `pidstat`. `iodelay` is in ticks over an interval that it does not tell, and has no field.
const PROCESSES: Table = Table {
    kind: Kind::Process,
    marks: &["Command"],
    sections: &[],
    columns: &[
        c("%CPU", "", ProcCpu, ONE),
        c("%usr", "", ProcUser, ONE),
        c("%user", "", ProcUser, ONE),
        c("%system", "", ProcSystem, ONE),
        c("minflt/s", "", ProcMinorFaults, ONE),
        c("majflt/s", "", ProcMajorFaults, ONE),
        c("RSS", "", ProcRss, KB),
        c("kB_rd/s", "", ProcRead, KB),
        c("kB_wr/s", "", ProcWrite, KB),
        c("threads", "", ProcThreads, ONE),
    ],
    sums: &[Sum {
        parts: &[("cswch/s", ""), ("nvcswch/s", "")],
        field: ContextSwitches,
        factor: ONE,
    }],
    whole: None,
};

/// All of them, the more particular ones first.
pub(super) const TABLES: &[Table] = &[
    PROCESSES,
    CPU,
    CPU_INTERRUPTS,
    SOFTNET,
    QUEUE,
    PSI_CPU,
    PSI_IO,
    PSI_MEMORY,
    TASKS,
    SWITCHES,
    VECTORS,
    SWAPPING,
    PAGING,
    TRANSFERS,
    MEMORY,
    SWAP_SPACE,
    HUGE,
    DISKS,
    INTERFACES,
    INTERFACE_ERRORS,
    TCP,
    TCP_ERRORS,
];

/// Words by which a table is known to have nothing with a field; one of them is enough.
pub(super) const PASSED_OVER: &[&str] = &[
    // Nodes, terminals, sensors, buses, file systems, fibre channel, batteries, topology.
    "NODE",
    "TTY",
    "FAN",
    "TEMP",
    "IN",
    "BUS",
    "FILESYSTEM",
    "MOUNTPOINT",
    "FCHOST",
    "BAT",
    "CORE",
    "MHz",
    "wghMHz",
    "degC",
    "rpm",
    "inV",
    "idvendor",
    "%fsused",
    "%cap",
    "StkRef",
    "StkSize",
    // `sar -v`, `-R`, and -n NFS, NFSD, SOCK, IP, EIP, ICMP, EICMP, UDP, and the same for IPv6.
    "dentunusd",
    "frmpg/s",
    "call/s",
    "scall/s",
    "totsck",
    "irec/s",
    "ihdrerr/s",
    "imsg/s",
    "ierr/s",
    "idgm/s",
    "tcp6sck",
    "irec6/s",
    "ihdrer6/s",
    "imsg6/s",
    "ierr6/s",
    "idgm6/s",
    // `pidstat` per command since its start, and scheduling policies.
    "usr-ms",
    "prio",
    "policy",
];

/// What `mpstat -I SCPU` calls soft interrupts.
pub(super) const SOFT_VECTORS: &[&str] = &[
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "BLOCK_IOPOLL",
    "IRQ_POLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
];
