//! The machine: its kernel, its settings, and whose turn it is to manage it.

use crate::baseline::Baseline;
use crate::init;
use crate::kit::skip;
use anyhow::Context;
use hugewise_base::units::Geometry;
use hugewise_linux::instance::{Role, held_by};
use hugewise_linux::root::Root;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(crate) const THP: &str = "/sys/kernel/mm/transparent_hugepage";
pub(crate) const MIN_FREE: &str = "/proc/sys/vm/min_free_kbytes";

/// Folder of the HugeTLB pools.
pub(crate) const POOLS: &str = "/sys/kernel/mm/hugepages";
/// Limits of shared memory.
const LIMITS: [&str; 4] = [
    "/proc/sys/vm/hugetlb_shm_group",
    "/proc/sys/vm/nr_overcommit_hugepages",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/kernel/shmall",
];

/// Managers of somebody else are given this time to end.
const COURTESY: Duration = Duration::from_secs(60);

/// Sizes of this machine's pages.
pub(crate) fn geometry() -> Geometry {
    static GEOMETRY: OnceLock<Geometry> = OnceLock::new();
    *GEOMETRY.get_or_init(|| hugewise_linux::machine::geometry(&Root::live()))
}

/// Whether khugepaged makes folios of multi-size THP, too (Linux 7.3): only there they count it.
pub(crate) fn collapses_to_sizes() -> bool {
    let sizes = fs::read_dir(THP).into_iter().flatten().flatten();
    sizes.map(|size| size.path()).any(|size| size.join("stats/collapse_alloc").exists())
}

/// What trials reckon with. Each says its sizes as of x86-64, where a huge page has 2 MiB and 512
/// base pages; here are those of as many huge pages, or of the same part of one, on this machine.
/// Programs are started and asked in the same terms ([`crate::hold`]).
pub(crate) mod here {
    use super::geometry;
    use hugewise_base::units::{Bytes, Geometry};

    /// The size of as many huge pages.
    pub(crate) fn size(of_x86: Bytes) -> Bytes {
        Bytes(of_x86.0 * geometry().huge.0 / Geometry::X86_64.huge.0)
    }

    /// The same, MiB.
    pub(crate) fn mib(of_x86: u64) -> u64 {
        size(Bytes::mib(of_x86)).0 >> 20
    }

    /// So many of 512 base pages of a huge page.
    pub(crate) fn pages(of_512: u64) -> u64 {
        let whole = |geometry: Geometry| u64::from(geometry.pages_per_huge());
        of_512 * whole(geometry()) / whole(Geometry::X86_64)
    }

    /// A value of `max_ptes_none`; 511 means all but one.
    pub(crate) fn none(of_512: u64) -> String {
        let none = if of_512 == 511 { pages(512) - 1 } else { pages(of_512) };
        none.to_string()
    }

    /// What modes that promote themselves set it to by default. Collapses to smaller sizes accept
    /// only 0 for it.
    pub(crate) fn bound() -> String {
        none(if super::collapses_to_sizes() { 0 } else { 51 })
    }

    /// KiB of a huge page.
    pub(crate) fn huge_kib() -> u64 {
        geometry().huge.0 >> 10
    }

    /// Bytes of a base page.
    pub(crate) fn base() -> u64 {
        geometry().base.0
    }
}

/// Major and minor version of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kernel(pub(crate) u32, pub(crate) u32);

impl Kernel {
    /// The running one.
    pub(crate) fn running() -> anyhow::Result<Self> {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            anyhow::bail!("no kernel release: '{}'", release.trim());
        };
        Ok(Self(major, minor))
    }

    /// The tier that `doctor` must name (`docs/measurements.md#kernel-tiers`).
    pub(crate) fn tier(self) -> &'static str {
        match self {
            k if k >= Self(6, 12) => "A",
            k if k >= Self(6, 7) => "B",
            k if k >= Self(6, 1) => "C",
            _ => "D",
        }
    }
}

/// Proof that nobody else manages this machine, that no other trial that might is running, and
/// that there is something to change.
#[derive(Debug)]
pub(crate) struct Turn {
    // Dropped first: while it is still this trial's turn.
    _baseline: Baseline,
    _trials: MutexGuard<'static, ()>,
    _runs: File,
}

impl Turn {
    /// Waits for the turn.
    pub(crate) fn take() -> anyhow::Result<Self> {
        static TRIALS: Mutex<()> = Mutex::new(());
        // A trial that panicked gave its turn back all the same.
        let trials = TRIALS.lock().unwrap_or_else(PoisonError::into_inner);
        // Other runs of these tests wait here, for as long as it takes: they end.
        let path = std::env::temp_dir().join("hugewise-live-tests.lock");
        let runs = OpenOptions::new().create(true).read(true).append(true).open(&path);
        let runs = runs.with_context(|| format!("cannot open {}", path.display()))?;
        rustix::io::retry_on_intr(|| flock(&runs, FlockOperation::LockExclusive))?;
        wait_for_strangers()?;
        let baseline = Baseline::establish(&runs).with_context(|| format!("{}", path.display()))?;
        Ok(Self { _baseline: baseline, _trials: trials, _runs: runs })
    }
}

/// Waits until the locks that every manager and every experiment take are free; a trial that finds
/// one taken all the time is skipped.
fn wait_for_strangers() -> anyhow::Result<()> {
    if !Path::new(THP).join("enabled").exists() {
        return Err(skip(format!("this kernel has no transparent huge pages ({THP})")));
    }
    for (role, who) in [(Role::Manager, "manager"), (Role::Lab, "experiment")] {
        let began = Instant::now();
        while let Some(holder) = held_by(role) {
            if began.elapsed() > COURTESY {
                let seconds = COURTESY.as_secs();
                let why = format!("somebody else's {who} ({holder}) has run for {seconds} s");
                return Err(skip(why));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

/// Every setting that a manager or `hugetlb` might touch, and its neighbours: files below the
/// directory of transparent huge pages that can be written, `vm.min_free_kbytes`, the HugeTLB
/// pools, and limits of shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings(BTreeMap<PathBuf, String>);

impl Settings {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut all = BTreeMap::new();
        collect(Path::new(THP), &mut all)?;
        all.insert(MIN_FREE.into(), fs::read_to_string(MIN_FREE)?);
        if Path::new(POOLS).exists() {
            collect(Path::new(POOLS), &mut all)?;
        }
        let limits = LIMITS.iter().filter_map(|file| Some((file, fs::read_to_string(file).ok()?)));
        all.extend(limits.map(|(file, text)| (PathBuf::from(file), text)));
        Ok(Self(all))
    }

    /// What is different now: file, then, now.
    pub(crate) fn differences(&self) -> Vec<(PathBuf, String, String)> {
        let now = |path: &Path| fs::read_to_string(path).unwrap_or_else(|e| e.to_string());
        let all = self.0.iter().map(|(path, then)| (path.clone(), then.clone(), now(path)));
        all.filter(|(_, then, now)| then != now).collect()
    }

    /// Puts back what is different: a trial that failed must not spoil the next.
    pub(crate) fn write_back(&self) {
        for (path, then, _) in self.differences() {
            let _ = fs::write(&path, selected(&then));
        }
        // Switches of huge pages raise this one: last.
        for (path, then, _) in self.differences() {
            let _ = fs::write(&path, selected(&then));
        }
    }
}

fn collect(folder: &Path, all: &mut BTreeMap<PathBuf, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        if meta.is_dir() {
            collect(&entry.path(), all)?;
        } else if meta.permissions().mode() & 0o200 != 0 && meta.permissions().mode() & 0o400 != 0 {
            all.insert(entry.path(), fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}

/// The word in force of a choice (`always [madvise] never`), or the whole line.
pub(crate) fn selected(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text.trim(), |(word, _)| word).to_owned()
}

/// The value in force of a setting below the directory of transparent huge pages.
pub(crate) fn thp(file: &str) -> anyhow::Result<String> {
    let path = format!("{THP}/{file}");
    Ok(selected(&fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?))
}

/// Changes a setting of a virtual machine.
pub(crate) fn set_in_guest(path: &str, value: &str) -> anyhow::Result<()> {
    anyhow::ensure!(init::is_guest(), "settings are changed in virtual machines only");
    fs::write(path, value).with_context(|| format!("cannot write '{value}' to {path}"))
}

/// A counter of `/proc/vmstat`.
pub(crate) fn vmstat(name: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/vmstat")?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(value.with_context(|| format!("the kernel counts no {name}"))?.parse()?)
}

/// Memory of a process, KiB, from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) rss: u64,
    /// Of its anonymous pages; each that others map, too, counts in part.
    pub(crate) pss: u64,
    /// Without pages of files, of which more are mapped as the program runs.
    pub(crate) anon: u64,
    pub(crate) huge: u64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let kib = |name: &str| -> anyhow::Result<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let line = line.with_context(|| format!("no {name} in {path}: {text}"))?;
            Ok(line.trim().trim_end_matches(" kB").parse()?)
        };
        let (rss, pss) = (kib("Rss")?, kib("Pss_Anon")?);
        Ok(Self { rss, pss, anon: kib("Anonymous")?, huge: kib("AnonHugePages")? })
    }
}
