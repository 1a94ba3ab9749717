//! A cgroup for a workload alone, so that memory that RSS does not show is counted too.

use hugewise_base::parse::cgroup;
use hugewise_base::units::Bytes;
use hugewise_linux::root::Root;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the memory controllers are, version 2 and 1.
const UNIFIED: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const LEGACY: &str = "/sys/fs/cgroup/memory";
/// The usage of a group of version 2.
const CURRENT: &str = "memory.current";
/// The limit of memory and swap together, of version 1.
const WITH_SWAP: &str = "memory.memsw.limit_in_bytes";

/// A cgroup of hugewise's own; removed on drop, once its processes are gone.
#[derive(Debug)]
pub struct Group {
    directory: PathBuf,
    usage: &'static str,
}

impl Group {
    /// Makes an empty one; `None` where that is not possible.
    pub fn new(name: &str) -> Option<Self> {
        places().into_iter().find_map(|(parent, usage)| Self::below(&parent, usage, name))
    }

    /// Where one may stand, also one that a killed run has left.
    pub fn parents() -> impl Iterator<Item = PathBuf> {
        places().into_iter().map(|(parent, _)| parent)
    }

    fn below(parent: &Path, usage: &'static str, name: &str) -> Option<Self> {
        let directory = parent.join(name);
        // One that a killed run left behind is empty, and no other can have its name.
        let _ = std::fs::remove_dir(&directory);
        std::fs::create_dir(&directory).ok()?;
        // From here on the drop removes it, whatever fails.
        let group = Self { directory, usage };
        group.usage()?;
        Some(group)
    }

    /// The file that lists its processes, and takes further ones.
    pub fn procs(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }

    /// Its name as processes have it, below the root of its hierarchy.
    pub fn path(&self) -> Option<String> {
        // The longer one first: the one lies below the other.
        let roots = [LEGACY, UNIFIED[1], UNIFIED[0]];
        let path = roots.iter().find_map(|root| self.directory.strip_prefix(root).ok())?;
        Some(format!("/{}", path.to_str()?))
    }

    /// Its processes.
    pub fn pids(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(self.procs()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Bounds the memory that can be charged to it, and lets nothing of it be swapped out. Whether
    /// the latter could be had: not every kernel counts swap by groups.
    pub fn limit(&self, bytes: Bytes) -> std::io::Result<bool> {
        let limit = bytes.0.to_string();
        // In version 1 the second file counts memory and swap together, and comes second.
        let (file, swap, most) = match self.usage {
            CURRENT => ("memory.max", "memory.swap.max", "0"),
            _ => ("memory.limit_in_bytes", WITH_SWAP, limit.as_str()),
        };
        std::fs::write(self.directory.join(file), &limit)?;
        Ok(std::fs::write(self.directory.join(swap), most).is_ok())
    }

    /// Takes the bound away.
    pub fn unlimit(&self) -> std::io::Result<()> {
        let (file, swap, none) = match self.usage {
            CURRENT => ("memory.max", "memory.swap.max", "max"),
            _ => ("memory.limit_in_bytes", WITH_SWAP, "-1"),
        };
        // Of version 1 first, as memory alone may not exceed both together.
        let _ = std::fs::write(self.directory.join(swap), none);
        std::fs::write(self.directory.join(file), none)
    }

    /// How many of its processes the kernel has killed for want of memory.
    pub fn oom_kills(&self) -> Option<u64> {
        let file = if self.usage == CURRENT { "memory.events" } else { "memory.oom_control" };
        let text = std::fs::read_to_string(self.directory.join(file)).ok()?;
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count?.trim().parse().ok()
    }

    /// Its anonymous memory in huge pages.
    pub fn huge(&self) -> Option<Bytes> {
        let name = if self.usage == CURRENT { "anon_thp " } else { "total_rss_huge " };
        let text = std::fs::read_to_string(self.directory.join("memory.stat")).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().parse().ok().map(Bytes)
    }

    /// Memory charged to it.
    pub fn usage(&self) -> Option<Bytes> {
        self.bytes(self.usage)
    }

    /// Most memory that was charged to it; of version 2 from kernel 5.19 on.
    pub fn peak(&self) -> Option<Bytes> {
        let is_new = self.usage == CURRENT;
        self.bytes(if is_new { "memory.peak" } else { "memory.max_usage_in_bytes" })
    }

    fn bytes(&self, file: &str) -> Option<Bytes> {
        let text = std::fs::read_to_string(self.directory.join(file)).ok()?;
        text.trim().parse().ok().map(Bytes)
    }
}

/// Groups below which one may be made, the best first, and their files of usage.
fn places() -> Vec<(PathBuf, &'static str)> {
    let Ok(text) = Root::live().read("proc/self/cgroup") else { return Vec::new() };
    let own = cgroup::parse(&text).value;
    let legacy = own.v1_paths.get("memory").map(|path| (LEGACY, path, "memory.usage_in_bytes"));
    let unified = own.v2_path.iter();
    let unified = unified.flat_map(|path| UNIFIED.map(|root| (root, path, CURRENT)));
    let mut all = Vec::new();
    for (root, path, usage) in legacy.into_iter().chain(unified) {
        let own = Path::new(root).join(path.trim_start_matches('/'));
        // Version 2 allows no group with memory control below one that has processes, so ours may
        // have to stand higher up.
        let parents = own.ancestors().take_while(|parent| parent.starts_with(root));
        all.extend(parents.map(|parent| (parent.to_owned(), usage)));
    }
    all
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that was just killed may keep its group busy for a moment.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
