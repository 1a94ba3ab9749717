//! Programs of a workload: each ends with hugewise, and what they hold can be read.

use crate::group::Group;
use anyhow::Context;
use hugewise_core::parse::{pid_stat, pid_status, smaps};
use hugewise_linux::root::Root;
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Bytes of a mebibyte.
pub(crate) const MIB: f64 = (1 << 20) as f64;

/// A running program; killed on drop.
#[derive(Debug)]
pub(crate) struct Program(pub(crate) Child);

impl Program {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let name = command.get_args().last().map(|name| name.display().to_string());
        let started = command.spawn();
        Ok(Self(started.with_context(|| format!("cannot start {}", name.unwrap_or_default()))?))
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// An error when it has ended by itself.
    pub(crate) fn check(&mut self, name: &str) -> anyhow::Result<()> {
        match self.0.try_wait()? {
            Some(status) => anyhow::bail!("{name} ended by itself: {status}"),
            None => Ok(()),
        }
    }

    /// Asks it to end and waits for that; after `patience` it is killed.
    pub(crate) fn end(&mut self, patience: Duration) -> anyhow::Result<()> {
        self.end_in_time(patience).map(drop)
    }

    /// The same; `None` when it had to be killed.
    pub(crate) fn end_in_time(&mut self, patience: Duration) -> anyhow::Result<Option<ExitStatus>> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("no pid")?;
        let until = Instant::now() + patience;
        // One that has just ended is no error: it is reaped below.
        let _ = kill_process(pid, Signal::TERM);
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= until {
                self.0.kill()?;
                self.0.wait()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What programs hold, MiB.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Memory {
    /// Resident; of several processes each shared page once.
    pub(crate) rss: f64,
    /// Charged to the cgroup: also what is held by huge pages that are mapped in part.
    pub(crate) group: Option<f64>,
    /// In huge pages.
    pub(crate) huge: f64,
    /// In `HugeTLB` pages; of those that processes share at least so much.
    pub(crate) hugetlb: f64,
    /// Page tables.
    pub(crate) page_tables: f64,
}

impl Memory {
    /// Of the processes in the group, or of this one where there is no group.
    pub(crate) fn read(group: Option<&Group>, pid: u32) -> Self {
        let mut pids = group.map(Group::pids).unwrap_or_default();
        if pids.is_empty() {
            pids.push(pid);
        }
        let mut memory = Self {
            group: group.and_then(Group::usage).map(|usage| usage.0 as f64 / MIB),
            ..Self::default()
        };
        let mut shared_hugetlb = 0_f64;
        for each in &pids {
            // One that has just ended holds nothing.
            shared_hugetlb = shared_hugetlb.max(memory.add(*each, pids.len() > 1));
        }
        memory.hugetlb += shared_hugetlb;
        memory
    }

    /// Adds a process; what it shares in `HugeTLB` pages is returned.
    fn add(&mut self, pid: u32, shared: bool) -> f64 {
        let root = Root::live();
        if let Ok(status) = root.read(format!("proc/{pid}/status")) {
            let status = pid_status::parse(&status).value;
            let rss = [status.rss_anon_bytes, status.rss_file_bytes, status.rss_shmem_bytes];
            let rss: u64 = rss.into_iter().flatten().sum();
            self.rss += if shared { 0.0 } else { rss as f64 / MIB };
            self.page_tables += status.vm_pte_bytes.unwrap_or(0) as f64 / MIB;
        }
        let mut shared_hugetlb = 0.0;
        if let Ok(rollup) = root.read(format!("proc/{pid}/smaps_rollup")) {
            for entry in smaps::parse(&rollup).value {
                self.huge += entry.anon_huge_pages_bytes.unwrap_or(0) as f64 / MIB;
                let pss = entry.pss_bytes.unwrap_or(0) as f64 / MIB;
                self.rss += if shared { pss } else { 0.0 };
                self.hugetlb += entry.private_hugetlb_bytes.unwrap_or(0) as f64 / MIB;
                shared_hugetlb += entry.shared_hugetlb_bytes.unwrap_or(0) as f64 / MIB;
            }
        }
        shared_hugetlb
    }
}

/// Ends, when dropped, every process that is in a cgroup by then: what a program of a workload has
/// started and left behind.
#[derive(Debug)]
pub(crate) struct Leftovers(pub(crate) Option<PathBuf>);

impl Drop for Leftovers {
    fn drop(&mut self) {
        let Some(procs) = &self.0 else { return };
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            let text = std::fs::read_to_string(procs).unwrap_or_default();
            let pids = text.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw));
            let pids: Vec<Pid> = pids.collect();
            if pids.is_empty() || Instant::now() >= until {
                return;
            }
            for pid in pids {
                // Whoever is in the group was started there by the workload.
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// CPU time of these processes and of their children that have ended, in user mode and in the
/// kernel, seconds.
pub(crate) fn cpu_of_trees_s(pids: &[u32]) -> (f64, f64) {
    let stats = pids.iter().filter_map(|pid| {
        let text = Root::live().read(format!("proc/{pid}/stat")).ok()?;
        pid_stat::parse(&text).ok()
    });
    stats.fold((0.0, 0.0), |(user, kernel), stat| {
        let ticks = |own: u64, children: u64| own.saturating_add(children) as f64 / 100.0;
        (user + ticks(stat.utime, stat.cutime), kernel + ticks(stat.stime, stat.cstime))
    })
}

/// CPU time of a process in user mode and in the kernel, seconds, at 100 ticks a second.
pub(crate) fn cpu_s(pid: u32) -> Option<(f64, f64)> {
    let text = Root::live().read(format!("proc/{pid}/stat")).ok()?;
    let stat = pid_stat::parse(&text).ok()?;
    Some((stat.utime as f64 / 100.0, stat.stime as f64 / 100.0))
}

/// `MemAvailable`, MiB.
pub(crate) fn available() -> Option<f64> {
    let text = Root::live().read_text("proc/meminfo").ok()?;
    let bytes = hugewise_core::parse::meminfo::parse(&text).value.mem_available_bytes?;
    Some(bytes as f64 / MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_end_when_asked_is_killed_and_that_is_told() {
        let mut shell = Command::new("sh");
        // The shell sleeps in pieces, as it dies of the signal otherwise once its child has ended.
        shell.args(["-c", "trap '' TERM; echo; while :; do sleep 0.1; done"]);
        shell.stdout(std::process::Stdio::piped());
        let mut deaf = Program::start(&mut shell).expect("a shell");
        let mut said = [0];
        let mut out = deaf.0.stdout.take().expect("a pipe");
        std::io::Read::read_exact(&mut out, &mut said).expect("its trap stands");
        let ended = deaf.end_in_time(Duration::from_millis(50)).expect("a child");
        assert_eq!(ended, None);
        let mut sleep = Program::start(Command::new("sleep").arg("60")).expect("sleep");
        let ended = sleep.end_in_time(Duration::from_secs(60)).expect("a child");
        assert!(ended.is_some_and(|status| !status.success()), "{ended:?}");
    }
}
