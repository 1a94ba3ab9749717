//! What somebody says about programs that do not run yet.

use serde::{Deserialize, Serialize};

use hugewise_base::units::Bytes;

/// The options of `hugewise hugetlb plan`. [`Default`] says nothing: everything is taken from the
/// machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// Shared memory segments that a database will make (`--sga`).
    pub segments: Vec<Bytes>,
    /// Java heaps with `-XX:+UseLargePages` (`--java`): flags of each.
    pub java: Vec<Vec<String>>,
    /// Answers of stopped PostgreSQL servers (`--postgres`).
    pub postgres: Vec<PostgresAnswer>,
    /// Pages for what is to come (`--headroom`).
    pub headroom: Bytes,
    /// Processes that will attach each segment (`--processes`).
    pub processes: Option<u64>,
    /// Page size (`--page-size`); `None`: the machine's default.
    pub page: Option<Bytes>,
    /// Who needs the right to lock memory (`--user`).
    pub user: Option<String>,
    /// systemd units that need it (`--unit`).
    pub units: Vec<String>,
    /// `vm.hugetlb_shm_group` (`--shm-group`).
    pub shm_group: Option<u32>,
    /// Memory that must remain outside of the pools (`--leave`).
    pub leave: Option<Bytes>,
    /// Only these processes, and all of their shared memory (`--pid`).
    pub pids: Vec<u32>,
    /// Only on these NUMA nodes (`--node`).
    pub nodes: Vec<u32>,
    /// Give back what nobody needs (`--shrink`).
    pub shrink: bool,
}

impl Inputs {
    /// Whether programs are described: then the machine is not searched for some.
    pub fn describe_programs(&self) -> bool {
        !(self.segments.is_empty() && self.java.is_empty() && self.postgres.is_empty())
    }
}

/// What `postgres -C shared_memory_size_in_huge_pages` said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostgresAnswer {
    /// The data directory.
    pub directory: String,
    /// Pages of the size that it would use.
    pub pages: u64,
    /// That size: `huge_page_size`, where it is set.
    pub page: Option<Bytes>,
    /// Largest number of its backends (`max_connections`), where it said so.
    pub connections: Option<u64>,
    /// The user who owns the directory.
    pub user: Option<String>,
}
