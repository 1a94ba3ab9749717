//! What trials of `hugewise hugetlb` share.

use crate::hold::Hold;
use crate::kit::{Said, Scratch, hugewise, skip, wait_for};
use crate::machine::POOLS;
use anyhow::{Context, ensure};
use hugewise_workloads::protocol::Request;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The pool that trials size.
const POOL: &str = "hugepages-2048kB";
/// Where configuration files of a plan can be.
const CONFIGURATION: [&str; 4] =
    ["/etc/sysctl.d", "/etc/security/limits.d", "/etc/tmpfiles.d", "/etc/systemd/system"];

/// Numbers of the pool of 2 MiB pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pool {
    pub(crate) total: u64,
    pub(crate) free: u64,
    pub(crate) reserved: u64,
}

impl Pool {
    pub(crate) fn now() -> anyhow::Result<Self> {
        let read = |name: &str| -> anyhow::Result<u64> {
            let path = format!("{POOLS}/{POOL}/{name}");
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
            Ok(text.trim().parse()?)
        };
        let (total, free) = (read("nr_hugepages")?, read("free_hugepages")?);
        Ok(Self { total, free, reserved: read("resv_hugepages")? })
    }

    /// Somebody else's hand.
    pub(crate) fn write(pages: u64) -> anyhow::Result<()> {
        let path = format!("{POOLS}/{POOL}/nr_hugepages");
        fs::write(&path, pages.to_string()).with_context(|| format!("cannot write {path}"))
    }
}

/// `hugewise hugetlb` with a state directory of one trial. What was applied is reverted at its
/// end, whatever happened.
#[derive(Debug)]
pub(crate) struct Hugetlb<'a> {
    _scratch: &'a Scratch,
    state: String,
}

impl<'a> Hugetlb<'a> {
    /// Skips where pools cannot be sized, are in use, or `mib` of memory are not available.
    pub(crate) fn new(scratch: &'a Scratch, mib: u64) -> anyhow::Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Err(skip("pools are sized by root"));
        }
        if !Path::new(&format!("{POOLS}/{POOL}")).exists() {
            return Err(skip("this kernel has no HugeTLB pages of 2 MiB"));
        }
        if Pool::now()?.total > 0 {
            return Err(skip("somebody uses HugeTLB pages here: trials count from 0"));
        }
        let available = meminfo_kib("MemAvailable")? >> 10;
        if available < mib {
            return Err(skip(format!("{mib} MiB of memory are needed, {available} available")));
        }
        let state = scratch.join("state");
        let state = state.to_str().context("a plain path")?.to_owned();
        Ok(Self { _scratch: scratch, state })
    }

    /// The arguments of one command, with the state directory.
    pub(crate) fn args(&self, args: &str) -> Vec<String> {
        let (command, rest) = args.split_once(' ').unwrap_or((args, ""));
        let mut all: Vec<String> = ["--color", "never", "hugetlb", command].map(Into::into).into();
        if command != "plan" {
            all.extend(["--state-dir".into(), self.state.clone()]);
        }
        all.extend(rest.split_whitespace().map(str::to_owned));
        all
    }

    /// Runs one command, as on the command line.
    pub(crate) fn run(&self, args: &str) -> anyhow::Result<Said> {
        hugewise(self.args(args))
    }

    /// The same with one more argument, which may hold blanks.
    pub(crate) fn run_with(&self, args: &str, more: &str) -> anyhow::Result<Said> {
        hugewise(self.args(args).into_iter().chain([more.to_owned()]))
    }

    /// The JSON of a plan.
    pub(crate) fn plan(&self, args: &str) -> anyhow::Result<Value> {
        self.run(&format!("plan --json {args}"))?.expect(0)?.json()
    }

    /// Nothing is held, nothing is kept.
    pub(crate) fn revert(&self) -> anyhow::Result<()> {
        self.run("revert")?.expect(0)?;
        let pool = Pool::now()?;
        ensure!(pool.total == 0, "after revert: {pool:?}");
        for name in ["hugetlb.jsonl", "hugetlb-files.jsonl", "hugetlb-plan.json"] {
            let path = Path::new(&self.state).join(name);
            ensure!(!path.exists(), "{} is left", path.display());
        }
        Ok(())
    }
}

impl Drop for Hugetlb<'_> {
    fn drop(&mut self) {
        let _ = self.run("revert");
    }
}

/// The pool of 2 MiB pages in the JSON of a plan.
pub(crate) fn pool_of(plan: &Value) -> anyhow::Result<&Value> {
    let pools = plan["pools"].as_array().context("pools")?;
    let small = pools.iter().find(|pool| pool["page_bytes"] == 2 << 20);
    small.with_context(|| format!("no pool of 2 MiB in {plan}"))
}

/// A value of `/proc/meminfo`.
pub(crate) fn meminfo_kib(name: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let line = line.with_context(|| format!("the kernel tells no {name}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// A file or folder as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    bytes: Option<Vec<u8>>,
    mode: u32,
    owner: (u32, u32),
}

/// All configuration files where plans put some.
pub(crate) fn configuration() -> anyhow::Result<BTreeMap<PathBuf, Entry>> {
    let mut all = BTreeMap::new();
    for folder in CONFIGURATION {
        collect(Path::new(folder), &mut all)?;
    }
    Ok(all)
}

fn collect(path: &Path, all: &mut BTreeMap<PathBuf, Entry>) -> anyhow::Result<()> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(()) };
    let bytes = meta.is_file().then(|| fs::read(path)).transpose()?;
    let owner = (meta.uid(), meta.gid());
    all.insert(path.into(), Entry { bytes, mode: meta.mode(), owner });
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), all)?;
        }
    }
    Ok(())
}

/// Names that differ between two looks at the configuration.
pub(crate) fn changed(
    before: &BTreeMap<PathBuf, Entry>,
    now: &BTreeMap<PathBuf, Entry>,
) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = before.keys().chain(now.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| before.get(name) != now.get(name));
    names
}

/// Arguments of `lab workload lab` for processes that share a System V segment.
pub(crate) fn segment(mib: u64, processes: usize, pages: &str) -> String {
    let params = serde_json::json!({"mib": mib, "processes": processes, "pages": pages});
    format!("shared-segment --params {params}")
}

/// Processes that share a System V segment.
pub(crate) struct Sharers {
    hold: Hold,
    pub(crate) pids: Vec<u32>,
}

impl Sharers {
    /// `pages` are `base` or `hugetlb`.
    pub(crate) fn start(mib: u64, processes: usize, pages: &str) -> anyhow::Result<Self> {
        let hold = Hold::start_kind("lab", &segment(mib, processes, pages))?;
        let pid = hold.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let children = children.split_whitespace().map(str::parse);
        let pids = std::iter::once(Ok(pid)).chain(children).collect::<Result<Vec<u32>, _>>()?;
        ensure!(pids.len() == processes, "{processes} processes expected: {pids:?}");
        Ok(Self { hold, pids })
    }

    /// Their ids, as the command line wants them.
    pub(crate) fn list(&self) -> String {
        self.pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    }

    /// Ends all of them.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        self.hold.tell(Request::Exit)?;
        for pid in &self.pids {
            // The first one stays a zombie until it is dropped.
            wait_for("the end of the sharers", || {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                Ok(stat.is_empty() || stat.contains(") Z "))
            })?;
        }
        Ok(())
    }
}
