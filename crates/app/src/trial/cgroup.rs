//! A cgroup for the workload alone, so that memory that RSS does not show is counted too.

use hugewise_core::parse::cgroup;
use hugewise_core::units::Bytes;
use hugewise_linux::root::Root;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the memory controllers are, version 2 and 1.
const UNIFIED: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const LEGACY: &str = "/sys/fs/cgroup/memory";

/// A cgroup with one process in it; removed on drop, once that process is gone.
#[derive(Debug)]
pub(crate) struct Group {
    directory: PathBuf,
    usage: &'static str,
}

impl Group {
    /// Makes one and puts `pid` into it; `None` where that is not possible.
    pub(crate) fn around(pid: u32) -> Option<Self> {
        let own = cgroup::parse(&Root::live().read("proc/self/cgroup").ok()?).value;
        let legacy = own.v1_paths.get("memory").map(|path| (LEGACY, path, "memory.usage_in_bytes"));
        let unified = own.v2_path.iter();
        let unified = unified.flat_map(|path| UNIFIED.map(|root| (root, path, "memory.current")));
        let places = legacy.into_iter().chain(unified);
        places.into_iter().find_map(|(root, path, usage)| {
            let own = Path::new(root).join(path.trim_start_matches('/'));
            // Version 2 allows no group with memory control below one that has processes, so
            // ours may have to stand higher up.
            let parents = own.ancestors().take_while(|parent| parent.starts_with(root));
            parents.into_iter().find_map(|parent| Self::below(parent, usage, pid))
        })
    }

    fn below(parent: &Path, usage: &'static str, pid: u32) -> Option<Self> {
        let directory = parent.join(format!("hugewise-try-{pid}"));
        std::fs::create_dir(&directory).ok()?;
        // From here on the drop removes it, whatever fails.
        let group = Self { directory, usage };
        std::fs::write(group.directory.join("cgroup.procs"), pid.to_string()).ok()?;
        group.usage()?;
        Some(group)
    }

    /// Memory charged to it.
    pub(crate) fn usage(&self) -> Option<Bytes> {
        let text = std::fs::read_to_string(self.directory.join(self.usage)).ok()?;
        text.trim().parse().ok().map(Bytes)
    }
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
