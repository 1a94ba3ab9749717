//! What was seen of a machine, as far as HugeTLB pools need it. `None` is unknown, never 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_base::units::Bytes;

/// All of it. [`Default`] knows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Where they come from, for people: `this machine`, a directory, a file.
    pub source: String,
    /// Memory of the machine.
    pub memory: Memory,
    /// Page size of `vm.nr_hugepages` (`Hugepagesize` of `/proc/meminfo`).
    pub default_page: Option<Bytes>,
    /// One a page size, ascending.
    pub pools: Vec<Pool>,
    /// Memory that is, or could be, on HugeTLB pages.
    pub objects: Vec<Object>,
    /// Java programs.
    pub java: Vec<Java>,
    /// Processes that have memory of their own, by pid: those of `objects` and `java` are among
    /// them.
    pub processes: BTreeMap<u32, Process>,
    /// The kernel's limits for shared memory.
    pub limits: Limits,
    /// Mounted hugetlbfs.
    pub mounts: Vec<Mount>,
    /// Parameters of the kernel and lines of sysctl's configuration that set a pool's size or its
    /// group, in the order in which they are applied: the last one wins.
    pub configured: Vec<ConfiguredLine>,
    /// A kubelet on this host.
    pub kubelet: Option<Kubelet>,
    /// Files that should have been there, with the reason for which they could not be read;
    /// processes that could not be read are one entry.
    pub missing: Vec<Missing>,
}

/// Memory of the machine (`/proc/meminfo`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// `MemTotal`.
    pub total: Option<Bytes>,
    /// `MemAvailable`.
    pub available: Option<Bytes>,
    /// `MemFree`.
    pub free: Option<Bytes>,
    /// `PageTables`.
    pub page_tables: Option<Bytes>,
    /// `SwapTotal`.
    pub swap_total: Option<Bytes>,
    /// `SwapFree`.
    pub swap_free: Option<Bytes>,
}

/// The pool of one page size, in pages (`/sys/kernel/mm/hugepages/hugepages-<size>kB`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Size of its pages.
    pub page: Bytes,
    /// `nr_hugepages`: all pages, surplus ones included.
    pub total: u64,
    /// `free_hugepages`: not handed out; promised (reserved) ones are among them.
    pub free: u64,
    /// `resv_hugepages`: promised to mappings that have not touched them yet. Pasted texts may
    /// lack it.
    pub reserved: Option<u64>,
    /// `surplus_hugepages`: above the pool's size, and gone when they are given back. Pasted texts
    /// may lack it.
    pub surplus: Option<u64>,
    /// `nr_overcommit_hugepages`: as many surplus pages may be taken.
    pub overcommit: Option<u64>,
    /// Its share of each NUMA node, ascending.
    pub nodes: Vec<NodePool>,
}

impl Pool {
    /// Pages that a new mapping can have: `free - reserved`; the most that can be, where the
    /// reserved ones are unknown.
    pub fn available(&self) -> u64 {
        self.free.saturating_sub(self.reserved.unwrap_or(0))
    }

    /// Pages of its own, without surplus ones: what `vm.nr_hugepages` says.
    pub fn own(&self) -> u64 {
        self.total.saturating_sub(self.surplus.unwrap_or(0))
    }

    /// Pages that are spoken for: `(total - free) + reserved`; the least that can be, where the
    /// reserved ones are unknown.
    pub fn held(&self) -> u64 {
        self.total.saturating_sub(self.free).saturating_add(self.reserved.unwrap_or(0))
    }
}

/// A pool's share of a NUMA node, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePool {
    /// Number of the node.
    pub node: u32,
    /// `nr_hugepages`.
    pub total: u64,
    /// `free_hugepages`.
    pub free: u64,
    /// `surplus_hugepages`.
    pub surplus: Option<u64>,
    /// Free memory of the node (`MemFree` of its `meminfo`).
    pub memory_free: Option<Bytes>,
}

/// What kind of memory an [`Object`] is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A System V segment (`shmget`), by its number.
    SysV(u32),
    /// A POSIX segment or another file below `/dev/shm`: tmpfs, which has no HugeTLB pages.
    Posix,
    /// `memfd_create` without or with `MFD_HUGETLB`.
    Memfd,
    /// Shared anonymous memory (`mmap` with `MAP_SHARED`), such as PostgreSQL's.
    SharedAnonymous,
    /// A file on a hugetlbfs mount.
    HugetlbFile,
    /// Private memory on HugeTLB pages (`MAP_PRIVATE | MAP_HUGETLB`), of one process; its
    /// mappings are added up.
    PrivateHuge,
}

impl ObjectKind {
    /// What people call it; `name` is its name in `/proc/PID/maps`.
    pub fn name(&self, name: &str) -> String {
        match self {
            Self::SysV(id) => format!("SysV segment {id}"),
            Self::Posix | Self::HugetlbFile => name.to_owned(),
            Self::Memfd => name.trim_start_matches('/').to_owned(),
            Self::SharedAnonymous => "shared memory".to_owned(),
            Self::PrivateHuge => "private memory".to_owned(),
        }
    }
}

/// A piece of memory with its users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name in `/proc/PID/maps`, without the ` (deleted)` behind it. Of private memory that of
    /// its first mapping.
    pub name: String,
    /// Its size: as asked for, not rounded, where the source says that; else the end of its
    /// furthest mapping, which is whole pages.
    pub bytes: Bytes,
    /// Size of its pages: the base page, or that of its HugeTLB pool; `None` where it could not
    /// be seen.
    pub page: Option<Bytes>,
    /// The user who made it; known of System V segments only.
    pub uid: Option<u32>,
    /// Processes that map it, ascending; empty where the source does not say who.
    pub pids: Vec<u32>,
    /// How many processes map it, also where it is not known which. Of a System V segment the
    /// kernel's count of attachments, and a process may have more than one.
    pub attached: u64,
    /// HugeTLB pages of it that a process has touched, the most of those whose smaps were read;
    /// `None` where none could be read, and of memory on base pages.
    pub touched: Option<Bytes>,
}

/// A Java program, whether or not its arguments ask for HugeTLB pages (`-XX:+UseLargePages`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Java {
    /// The process.
    pub pid: u32,
    /// Its arguments that size its memory, as given: `-Xmx4g`, `-XX:+UseLargePages` and their
    /// kind, and nothing else of its command line.
    pub flags: Vec<String>,
}

/// A process that uses such memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// `comm`.
    pub name: String,
    /// File name of the program (`/proc/PID/exe`), without its directory.
    pub program: Option<String>,
    /// Its effective user.
    pub uid: Option<u32>,
    /// That user's name.
    pub user: Option<String>,
    /// Groups it is in, its effective one first.
    pub groups: Vec<u32>,
    /// `VmPTE`: its page tables.
    pub page_tables: Option<Bytes>,
    /// Soft limit `RLIMIT_MEMLOCK`; `u64::MAX` is unlimited.
    pub memlock: Option<Bytes>,
    /// The systemd service of its cgroup, such as `postgresql@15-main.service`.
    pub unit: Option<String>,
    /// Data directory of a PostgreSQL server, where its arguments or working directory say.
    pub directory: Option<String>,
}

/// The kernel's limits for shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// `vm.hugetlb_shm_group`: members may use SysV segments of HugeTLB pages; 0 is root's group.
    pub shm_group: Option<u32>,
    /// `kernel.shmmax`: largest SysV segment.
    pub shmmax: Option<Bytes>,
    /// `kernel.shmall`: all SysV segments together, in base pages.
    pub shmall_pages: Option<u64>,
    /// `vm.overcommit_memory`: 2 keeps promises within `CommitLimit`.
    pub overcommit_memory: Option<u32>,
}

/// A mounted hugetlbfs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where.
    pub path: String,
    /// Size of its pages.
    pub page: Option<Bytes>,
    /// Most that its files may take; `None`: no limit.
    pub limit: Option<Bytes>,
}

/// A line of sysctl's configuration, or a parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfiguredLine {
    /// The file; `/proc/cmdline` of a parameter of the kernel.
    pub file: String,
    /// Number of the line, from 1.
    pub line: u64,
    /// The key, with dots; `hugepages`, `hugepagesz` or `default_hugepagesz` of a parameter.
    pub key: String,
    /// The value, as written.
    pub value: String,
}

/// A kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kubelet {
    /// It runs.
    Running,
    /// Its directory is there, and it does not run.
    Installed,
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// File or thing.
    pub what: String,
    /// Why.
    pub why: String,
}
