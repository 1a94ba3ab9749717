//! Where a value comes from.

use serde::Serialize;

/// Index of a [`Source`] in its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SourceId(pub u32);

/// Whose clock a source's times are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The recorded machine's local time.
    #[default]
    Local,
    /// UTC, the default of `sadf`.
    Utc,
    /// Seconds since the program or the machine started.
    Uptime,
}

macro_rules! kinds {
    ($($variant:ident $label:literal;)*) => {
        /// A tool or file whose text is understood.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum SourceKind {
            $(#[doc = $label] $variant,)*
        }

        impl SourceKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in sentences and JSON.
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)*
                }
            }
        }
    };
}

impl SourceKind {
    /// Whether it is what `sar` recorded, in whatever form.
    pub(super) const fn is_sar(self) -> bool {
        matches!(self, Self::SarText | Self::SadfJson | Self::SadfText | Self::SadfXml)
    }
}

kinds! {
    Capture "hugewise record";
    SarText "sar";
    SadfJson "sadf -j";
    SadfText "sadf -d and -p";
    SadfXml "sadf -x";
    AtopText "atop -P";
    AtopJson "atop -J";
    AtopScreen "atop";
    Atopsar "atopsar";
    Dstat "dstat";
    Top "top";
    Vmstat "vmstat";
    Mpstat "mpstat";
    Iostat "iostat";
    Pidstat "pidstat";
    Iotop "iotop";
    Iftop "iftop";
    Netstat "netstat";
    Ss "ss";
    Free "free";
    Meminfo "/proc/meminfo";
    Smaps "/proc/PID/smaps_rollup";
    ProcVmstat "/proc/vmstat";
    Interrupts "/proc/interrupts";
    Softirqs "/proc/softirqs";
    AcpiEvents "/sys/firmware/acpi/interrupts";
    Softnet "/proc/net/softnet_stat";
    Syscalls "strace -c and perf trace -s";
    Buddyinfo "/proc/buddyinfo";
    ThpSettings "THP settings";
    Pressure "/proc/pressure";
    Settings "kernel settings";
    TcpCounters "/proc/net/snmp and netstat";
    KernelLog "kernel log";
    ProgramLog "logs of programs";
    OtherLog "log of a program";
    Kubectl "kubectl";
    Docker "docker inspect and events";
    DockerSpace "docker system df";
    Limits "/proc/PID/limits";
    Auditctl "auditctl -s";
    Ps "ps";
    Lsof "lsof";
    Uptime "uptime";
    Mounts "mounts";
    Df "df";
    Ethtool "ethtool";
    Lscpu "lscpu";
    Cpuinfo "/proc/cpuinfo and cpupower";
    Turbostat "turbostat";
    Numa "numactl -H and numastat";
    Mdstat "/proc/mdstat";
    Swapon "swapon";
    ZpoolIostat "zpool iostat";
    Multipath "multipath -ll";
    Nfsiostat "nfsiostat";
    Jstat "jstat";
    Controller "a disk controller's tool";
    Zoneinfo "/proc/zoneinfo";
    TaskStacks "/proc/PID/stack";
    Slabtop "slabtop";
    Slabinfo "/proc/slabinfo";
    Ipcs "ipcs";
    Cgroups "files of cgroups and processes";
    GcLog "GC log";
    RuntimeGc "GC log of Go or V8";
    PerfReport "perf report";
    Stacks "stacks of a profile";
    RedisInfo "INFO of Redis";
    RedisSlowLog "SLOWLOG of Redis";
    RedisLatency "LATENCY of Redis";
    Psql "views of PostgreSQL";
    QueryLog "slow statements of a database's log";
    StubStatus "stub_status of nginx";
    FpmStatus "status of php-fpm";
    ThreadDump "thread dump";
    Schedstat "/proc/schedstat";
    Containers "container stats";
    KubectlTop "kubectl top";
    SockStat "sockstat";
    Smart "smartctl";
    Htop "htop";
    BusyBox "BusyBox";
    Interfaces "interfaces";
    Conntrack "conntrack";
    Bcc "bcc and bpftrace";
    PerfStat "perf stat";
    Strace "strace";
    NodeExporter "node_exporter";
    Mysql "MySQL";
    Diskstats "/proc/diskstats";
}

impl Serialize for SourceKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

/// A block of one input in one format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The input's name: a file as the user named it.
    pub input: String,
    /// The format.
    pub kind: SourceKind,
    /// Where the block begins, from 1.
    pub line: usize,
    /// Index of its machine in the recording.
    pub host: usize,
    /// Whose clock its times are on.
    pub clock: Clock,
}
