//! A memory cgroup of one trial: it counts what a program holds, mapped or not.

use crate::init;
use crate::kit::{skip, wait_for};
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ROOT: &str = "/sys/fs/cgroup";
const LEGACY: &str = "/sys/fs/cgroup/memory";

/// Removed with the trial, once its processes are gone.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    home: PathBuf,
    usage: &'static str,
    limit: &'static str,
}

impl Group {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let legacy = own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|c| c == "memory").then(|| path.to_owned())
        });
        let (home, usage, limit) = match legacy {
            Some(path) => {
                let home = Path::new(LEGACY).join(path.trim_start_matches('/'));
                (home, "memory.usage_in_bytes", "memory.limit_in_bytes")
            }
            // Only where this test is init: version 2 wants the parent to have no processes.
            None if init::is_guest() => {
                let delegated = fs::write(format!("{ROOT}/cgroup.subtree_control"), "+memory");
                delegated.map_err(|error| skip(format!("no memory cgroups here: {error}")))?;
                (ROOT.into(), "memory.current", "memory.max")
            }
            None => return Err(skip("no version 1 memory cgroup to make a child of")),
        };
        let folder = home.join(format!("hugewise-live-{}", std::process::id()));
        fs::create_dir(&folder)
            .map_err(|error| skip(format!("cannot make {}: {error}", folder.display())))?;
        let group = Self { folder, home, usage, limit };
        ensure!(group.folder.join(usage).exists(), "no {usage} in {}", group.folder.display());
        Ok(group)
    }

    /// Runs `start` as a member, so that whatever it starts is one.
    pub(crate) fn inside<T>(&self, start: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        join(&self.folder)?;
        let started = start();
        join(&self.home)?;
        started
    }

    /// Moves a member to where this trial is.
    pub(crate) fn leave(&self, pid: u32) -> anyhow::Result<()> {
        let file = self.home.join("cgroup.procs");
        fs::write(&file, pid.to_string()).with_context(|| format!("cannot join {file:?}"))
    }

    /// Removes it, once its last members are gone.
    pub(crate) fn remove(&self) -> anyhow::Result<()> {
        wait_for("the end of its members", || Ok(fs::remove_dir(&self.folder).is_ok()))
    }

    /// Memory charged to it, bytes.
    pub(crate) fn usage(&self) -> anyhow::Result<u64> {
        let text = fs::read_to_string(self.folder.join(self.usage))?;
        text.trim().parse().with_context(|| format!("'{}' is no usage", text.trim()))
    }

    pub(crate) fn limit(&self, bytes: u64) -> anyhow::Result<()> {
        let file = self.folder.join(self.limit);
        fs::write(&file, bytes.to_string()).with_context(|| format!("cannot write {file:?}"))
    }
}

fn join(folder: &Path) -> anyhow::Result<()> {
    let file = folder.join("cgroup.procs");
    fs::write(&file, std::process::id().to_string())
        .with_context(|| format!("cannot join {file:?}"))
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that was just killed keeps its group busy for a moment.
        for _ in 0..100 {
            if !self.folder.exists() || fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
