//! The cgroup that this program runs in. A promotion is charged to the *target's* cgroup; this
//! one tells which version the machine uses, and bounds what a probe or a workload may use.

use super::finding::{Finding, absent, named};
use crate::root::Root;
use hugewise_base::parse::cgroup;
use serde::Serialize;
use std::path::Path;

const MOUNT: &str = "sys/fs/cgroup";
/// Version 1 writes "no limit" as the largest multiple of a page that fits a `long`; anything
/// above an exbibyte is no limit on any machine.
const V1_UNLIMITED: u64 = 1 << 60;

/// Which hierarchy keeps account of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupVersion {
    /// Version 1 only.
    V1,
    /// The unified hierarchy only.
    V2,
    /// Memory in version 1, and a unified hierarchy beside it.
    Hybrid,
}

/// A memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryLimit {
    /// None on the way up that can be seen from here.
    Unlimited,
    /// The tightest, in bytes.
    Bytes(u64),
}

/// Where this program is accounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OwnCgroup {
    /// Version; `None`: no cgroups, or not mounted.
    pub version: Option<CgroupVersion>,
    /// Limit; `None`: unknown.
    pub memory_limit: Option<MemoryLimit>,
}

pub(super) fn own(root: &Root) -> OwnCgroup {
    let version = version(root);
    OwnCgroup { version, memory_limit: version.and_then(|version| limit(root, version)) }
}

fn version(root: &Root) -> Option<CgroupVersion> {
    if root.has(format!("{MOUNT}/cgroup.controllers")) {
        return Some(CgroupVersion::V2);
    }
    if !root.has(format!("{MOUNT}/memory")) {
        return None;
    }
    let unified = root.has(format!("{MOUNT}/unified/cgroup.controllers"));
    Some(if unified { CgroupVersion::Hybrid } else { CgroupVersion::V1 })
}

fn limit(root: &Root, version: CgroupVersion) -> Option<MemoryLimit> {
    let groups = cgroup::parse(&root.read("proc/self/cgroup").ok()?).value;
    let (mount, own, file) = match version {
        CgroupVersion::V2 => (MOUNT.to_owned(), groups.v2_path?, "memory.max"),
        CgroupVersion::V1 | CgroupVersion::Hybrid => {
            let path = groups.v1_paths.get("memory")?.clone();
            (format!("{MOUNT}/memory"), path, "memory.limit_in_bytes")
        }
    };
    let own = own.trim_start_matches('/');
    // Inside a container the path may name a place that is not mounted here: unknown, then.
    if own.split('/').any(|part| part == "..") || !root.has(Path::new(&mount).join(own)) {
        return None;
    }
    let mut tightest = MemoryLimit::Unlimited;
    for directory in Path::new(own).ancestors() {
        let Ok(text) = root.read_line(Path::new(&mount).join(directory).join(file)) else {
            // The root of the unified hierarchy has no such file.
            continue;
        };
        let bytes = text.parse::<u64>().ok().filter(|bytes| *bytes < V1_UNLIMITED);
        tightest = match (tightest, bytes) {
            (MemoryLimit::Bytes(known), Some(bytes)) => MemoryLimit::Bytes(known.min(bytes)),
            (MemoryLimit::Unlimited, Some(bytes)) => MemoryLimit::Bytes(bytes),
            (tightest, None) => tightest,
        };
    }
    Some(tightest)
}

/// Whether memory is accounted by cgroup.
pub(super) fn memcg(root: &Root) -> Finding {
    match version(root) {
        None => absent(root, MOUNT, "no memory cgroup is mounted"),
        Some(CgroupVersion::V1) => Finding::with("version 1"),
        Some(CgroupVersion::Hybrid) => Finding::with("version 1 for memory (hybrid)"),
        Some(CgroupVersion::V2) => {
            let controllers = root.read_line(format!("{MOUNT}/cgroup.controllers"));
            let memory = |text: String| text.split(' ').any(|word| word == "memory");
            match controllers.map(memory) {
                Ok(true) => Finding::with("version 2"),
                Ok(false) => Finding::absent("version 2 without the memory controller"),
                Err(error) => Finding::unknown(named(&error)),
            }
        }
    }
}
