//! Processes and their mappings.

use crate::root::Root;
use hugewise_core::parse::maps::{MapEntry, MapName};
use hugewise_core::parse::passwd::User;
use hugewise_core::parse::{self, pid_stat::PidStat};
use hugewise_core::reason::SkipReason;
use hugewise_core::snapshot::ProcessSample;
use hugewise_core::units::{Addr, Bytes, Geometry, ProcId};
use std::collections::{BTreeMap, BTreeSet};
use std::{fs, io};

/// Below this, the dear files of a process (owner, executable, cgroup) are not read: nothing this
/// small is managed unless it is named, and then only its identity matters.
const SMALL: Bytes = Bytes::mib(1);

/// Lists processes; keeps what does not change from list to list.
#[derive(Debug)]
pub struct Lister {
    users: BTreeMap<u32, String>,
    isolated: BTreeSet<u32>,
    own_pid: Option<u32>,
}

impl Lister {
    /// Reads user names and isolated CPUs of the root.
    #[must_use]
    pub fn new(root: &Root) -> Self {
        let isolated = root.read_line("sys/devices/system/cpu/isolated").unwrap_or_default();
        Self {
            users: users(root),
            isolated: parse::cpulist::parse(&isolated).unwrap_or_default(),
            own_pid: root.is_live().then(std::process::id),
        }
    }

    /// All processes that can be seen. Those that end while they are read are left out.
    ///
    /// # Errors
    /// When `/proc` itself cannot be listed.
    pub fn list(&self, root: &Root, geometry: Geometry) -> io::Result<Vec<ProcessSample>> {
        let pids = pids(root)?.into_iter();
        let mut all: Vec<_> = pids.filter_map(|pid| self.sample(root, geometry, pid)).collect();
        all.sort_by_key(|sample| sample.id);
        Ok(all)
    }

    /// One process; `None` when it ended, or its files make no sense.
    #[must_use]
    pub fn sample(&self, root: &Root, geometry: Geometry, pid: u32) -> Option<ProcessSample> {
        let stat = stat(root, pid)?;
        let statm = root.read_line(format!("proc/{pid}/statm")).ok()?;
        let statm = parse::statm::parse(&statm).ok()?;
        let pages = |pages: u64| geometry.bytes(pages);
        let anon = pages(statm.resident.saturating_sub(statm.shared));
        let mut sample = ProcessSample {
            id: ProcId { pid, start_ticks: stat.starttime },
            kernel_thread: stat.is_kernel_thread(),
            // SCHED_FIFO, SCHED_RR, SCHED_DEADLINE: include/uapi/linux/sched.h.
            real_time: matches!(stat.policy, 1 | 2 | 6),
            faults: stat.minflt.saturating_add(stat.majflt),
            name: stat.comm,
            rss: pages(statm.resident),
            anon,
            exe: None,
            uid: None,
            user: None,
            cgroup: None,
            unit: None,
            isolated: false,
            thp_disabled: None,
            is_self: self.own_pid == Some(pid),
        };
        if anon >= SMALL {
            self.details(root, pid, &mut sample);
        }
        Some(sample)
    }

    fn details(&self, root: &Root, pid: u32, sample: &mut ProcessSample) {
        let status = root.read(format!("proc/{pid}/status")).unwrap_or_default();
        let status = parse::pid_status::parse(&status).value;
        sample.thp_disabled = status.thp_enabled.map(|enabled| !enabled);
        sample.uid = status.uid;
        sample.user = status.uid.and_then(|uid| self.users.get(&uid).cloned());
        let allowed = status.cpus_allowed_list.and_then(|l| parse::cpulist::parse(&l).ok());
        sample.isolated =
            !self.isolated.is_empty() && allowed.is_some_and(|cpus| cpus.is_subset(&self.isolated));
        let exe = fs::read_link(root.path(format!("proc/{pid}/exe"))).ok();
        // An upgraded program runs on from a deleted file, and is still the same to rules.
        let path = |path: std::path::PathBuf| {
            let path = path.to_string_lossy().into_owned();
            path.strip_suffix(" (deleted)").map_or(path.clone(), ToOwned::to_owned)
        };
        sample.exe = exe.map(path);
        if let Ok(text) = root.read(format!("proc/{pid}/cgroup")) {
            let cgroup = parse::cgroup::parse(&text).value;
            sample.unit = cgroup.unit().map(ToOwned::to_owned);
            // On a hybrid host the memory controller is the version 1 one, and it has the limit.
            sample.cgroup = cgroup.v1_paths.get("memory").cloned().or(cgroup.v2_path);
        }
    }
}

/// Ids of all processes that can be seen, ascending.
///
/// # Errors
/// When `/proc` itself cannot be listed.
pub fn pids(root: &Root) -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir(root.path("proc"))? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    pids.sort_unstable();
    Ok(pids)
}

/// Names of users by id, as far as `/etc/passwd` knows them.
#[must_use]
pub fn users(root: &Root) -> BTreeMap<u32, String> {
    passwd(root).into_iter().map(|(id, user)| (id, user.name)).collect()
}

/// Users by id, as far as `/etc/passwd` knows them.
pub(crate) fn passwd(root: &Root) -> BTreeMap<u32, User> {
    parse::passwd::parse(&root.read("etc/passwd").unwrap_or_default()).value
}

/// `/proc/PID/stat`; `None` when the process ended or the text makes no sense.
#[must_use]
pub fn stat(root: &Root, pid: u32) -> Option<PidStat> {
    parse::pid_stat::parse(&root.read(format!("proc/{pid}/stat")).ok()?).ok()
}

/// One mapping of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: Addr,
    /// Address after the last byte.
    pub end: Addr,
    /// Its name; untrusted text.
    pub label: String,
    /// Why it is no candidate, if it is none.
    pub excluded: Option<SkipReason>,
}

impl Mapping {
    /// The aligned addresses in it that whole regions can lie in; empty when none fits.
    #[must_use]
    pub fn aligned(&self, geometry: Geometry) -> std::ops::Range<u64> {
        let huge = geometry.huge.0;
        let start = self.start.0.div_ceil(huge).saturating_mul(huge);
        let end = self.end.0 / huge * huge;
        start..end.max(start)
    }

    /// Whole regions in it.
    #[must_use]
    pub fn regions(&self, geometry: Geometry) -> u64 {
        let range = self.aligned(geometry);
        (range.end - range.start) / geometry.huge.0
    }
}

/// A process's mappings, ascending. Address space that was only reserved (no access at all) is
/// left out.
///
/// # Errors
/// As the system says: `NotFound` when the process ended, `PermissionDenied`.
pub fn mappings(root: &Root, pid: u32) -> io::Result<Vec<Mapping>> {
    let text = root.read(format!("proc/{pid}/maps"))?;
    let entries = parse::maps::parse(&text).value;
    let used = entries.into_iter().filter(|e| e.perms.read || e.perms.write || e.perms.execute);
    let mut mappings: Vec<_> = used.map(mapping).collect();
    mappings.sort_by_key(|mapping| mapping.start);
    Ok(mappings)
}

fn mapping(entry: MapEntry) -> Mapping {
    let excluded = match &entry.name {
        _ if entry.perms.shared => Some(SkipReason::SharedMapping),
        MapName::AnonShmem(_) => Some(SkipReason::SharedMapping),
        MapName::File(_) => Some(SkipReason::FileMapping),
        MapName::Stack | MapName::Special(_) => Some(SkipReason::SpecialMapping),
        _ if !entry.perms.write => Some(SkipReason::NotWritable),
        MapName::Anonymous | MapName::Heap | MapName::AnonNamed(_) => None,
    };
    let label = match entry.name {
        MapName::Anonymous => "anonymous".to_owned(),
        MapName::Heap => "[heap]".to_owned(),
        MapName::Stack => "[stack]".to_owned(),
        MapName::AnonNamed(name) => format!("[anon:{name}]"),
        MapName::AnonShmem(name) => format!("[anon_shmem:{name}]"),
        MapName::Special(name) | MapName::File(name) => name,
    };
    Mapping { start: Addr(entry.start), end: Addr(entry.end), label, excluded }
}
