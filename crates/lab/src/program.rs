//! Programs of a workload: each ends with hugewise, and what they hold can be read.

use crate::group::Group;
use anyhow::Context;
use hugewise_base::parse::pid_stat::{self, PidStat};
use hugewise_base::parse::pid_status::{self, PidStatus};
use hugewise_base::parse::smaps::{self, SmapsEntry};
use hugewise_base::parse::taskstats::Delays;
use hugewise_linux::delays::{self, DelayReader};
use hugewise_linux::root::Root;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Bytes of a mebibyte.
pub const MIB: f64 = (1 << 20) as f64;

/// A running program; killed on drop.
#[derive(Debug)]
pub struct Program(pub Child);

impl Program {
    /// Starts it.
    pub fn start(command: &mut Command) -> anyhow::Result<Self> {
        let name = command.get_args().last().map(|name| name.display().to_string());
        let started = command.spawn();
        Ok(Self(started.with_context(|| format!("cannot start {}", name.unwrap_or_default()))?))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// An error when it has ended by itself.
    pub fn check(&mut self, name: &str) -> anyhow::Result<()> {
        match self.0.try_wait()? {
            Some(status) => anyhow::bail!("{name} ended by itself: {status}"),
            None => Ok(()),
        }
    }

    /// Asks it to end and waits for that; after `patience` it is killed.
    pub fn end(&mut self, patience: Duration) -> anyhow::Result<()> {
        self.end_in_time(patience).map(drop)
    }

    /// The same; `None` when it had to be killed.
    pub fn end_in_time(&mut self, patience: Duration) -> anyhow::Result<Option<ExitStatus>> {
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

/// What programs hold, MiB; `None` where the kernel does not say it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Memory {
    /// Resident; of several processes each shared page once.
    pub rss: Option<f64>,
    /// Of that, anonymous; what processes share counts for each.
    pub anon: Option<f64>,
    /// Charged to the cgroup: also what is held by huge pages that are mapped in part.
    pub group: Option<f64>,
    /// In huge pages.
    pub huge: Option<f64>,
    /// In `HugeTLB` pages; of those that processes share at least so much.
    pub hugetlb: Option<f64>,
    /// Page tables.
    pub page_tables: Option<f64>,
}

impl Memory {
    /// Of the processes in the group, or of this one where there is no group.
    pub fn read(group: Option<&Group>, pid: u32) -> Self {
        let mut pids = group.map(Group::pids).unwrap_or_default();
        if pids.is_empty() {
            pids.push(pid);
        }
        let usage = group.and_then(Group::usage).map(|usage| usage.0 as f64 / MIB);
        let root = Root::live();
        let held: Vec<ProcessMemory> =
            pids.iter().filter_map(|pid| ProcessMemory::read(&root, *pid)).collect();
        Self { group: usage, ..Self::sum(&held, pids.len() > 1) }
    }

    /// Of all these processes; where one does not say a value, the sum is unknown.
    fn sum(held: &[ProcessMemory], shared: bool) -> Self {
        let sum = |of: &dyn Fn(&ProcessMemory) -> Option<u64>| {
            let sum = held.iter().map(of).sum::<Option<u64>>();
            // A process that has ended cannot be asked any more.
            sum.filter(|_| !held.is_empty()).map(|bytes| bytes as f64 / MIB)
        };
        let rollup =
            |one: &ProcessMemory, of: fn(&SmapsEntry) -> Option<u64>| of(one.rollup.as_ref()?);
        let private = sum(&|one| rollup(one, |rollup| rollup.private_hugetlb_bytes));
        let shared_hugetlb =
            held.iter().map(|one| rollup(one, |rollup| rollup.shared_hugetlb_bytes));
        let largest = shared_hugetlb.flatten().max().map(|bytes| bytes as f64 / MIB);
        Self {
            group: None,
            rss: sum(&|one| {
                if shared { rollup(one, |rollup| rollup.pss_bytes) } else { one.rss() }
            }),
            anon: sum(&|one| one.status.rss_anon_bytes),
            huge: sum(&|one| rollup(one, |rollup| rollup.anon_huge_pages_bytes)),
            hugetlb: private.zip(largest).map(|(private, shared)| private + shared),
            page_tables: sum(&|one| one.status.vm_pte_bytes),
        }
    }
}

/// What the kernel says of one process.
#[derive(Debug)]
struct ProcessMemory {
    status: PidStatus,
    rollup: Option<SmapsEntry>,
}

impl ProcessMemory {
    /// `None` when the process has ended: it holds nothing.
    fn read(root: &Root, pid: u32) -> Option<Self> {
        let status = root.read(format!("proc/{pid}/status")).ok()?;
        let rollup = match root.read(format!("proc/{pid}/smaps_rollup")) {
            Ok(text) => smaps::parse(&text).value.into_iter().next(),
            // It ended in between.
            Err(_) if !root.path(format!("proc/{pid}")).exists() => return None,
            Err(_) => None,
        };
        Some(Self { status: pid_status::parse(&status).value, rollup })
    }

    fn rss(&self) -> Option<u64> {
        let status = &self.status;
        [status.rss_anon_bytes, status.rss_file_bytes, status.rss_shmem_bytes].into_iter().sum()
    }
}

/// Kills, when dropped, every process that is in a cgroup by then: what a program of a workload
/// has started and left behind.
#[derive(Debug)]
pub struct KillGroup(pub Option<PathBuf>);

impl Drop for KillGroup {
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
                // A process in the group was started there by the workload.
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// CPU time of these processes and of their children that have ended, in user mode and in the
/// kernel, seconds.
pub fn cpu_of_trees_s(pids: &[u32]) -> (f64, f64) {
    let (mut user_s, mut kernel_s) = (0.0, 0.0);
    for pid in pids {
        if let Some((user, kernel)) = cpu_of_tree_s(*pid) {
            user_s += user;
            kernel_s += kernel;
        }
    }
    (user_s, kernel_s)
}

/// CPU time of a process and of its children that have ended, in user mode and in the kernel,
/// seconds.
pub fn cpu_of_tree_s(pid: u32) -> Option<(f64, f64)> {
    Some(tree_cpu_s(&stat(pid)?))
}

/// What a process has used and waited for since it began.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// As [`cpu_s`] gives it.
    pub cpu_s: Option<(f64, f64)>,
    /// `None` where the kernel does not count it (`kernel.task_delayacct`), or not for this user.
    pub delays: Option<Delays>,
}

impl Used {
    /// Until now.
    pub fn of(pid: u32) -> Self {
        let mut delays = None;
        let switch = Root::live().read_line(delays::SWITCH);
        if switch.as_deref().ok() == Some("1")
            && let Ok(reader) = DelayReader::open()
        {
            delays = reader.read(pid).ok();
        }
        Self { cpu_s: cpu_s(pid), delays }
    }
}

/// CPU time of a process in user mode and in the kernel, seconds.
pub fn cpu_s(pid: u32) -> Option<(f64, f64)> {
    let stat = stat(pid)?;
    Some((seconds(stat.utime), seconds(stat.stime)))
}

fn stat(pid: u32) -> Option<PidStat> {
    pid_stat::parse(&Root::live().read(format!("proc/{pid}/stat")).ok()?).ok()
}

fn tree_cpu_s(stat: &PidStat) -> (f64, f64) {
    let with_children = |own: u64, children: u64| seconds(own.saturating_add(children));
    (with_children(stat.utime, stat.cutime), with_children(stat.stime, stat.cstime))
}

/// Clock ticks of this kernel (`sysconf(_SC_CLK_TCK)`) as seconds.
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / clock_ticks_per_second() as f64
}

/// `MemAvailable`, MiB.
pub fn available() -> Option<f64> {
    let text = Root::live().read_text("proc/meminfo").ok()?;
    let bytes = hugewise_base::parse::meminfo::parse(&text).value.mem_available_bytes?;
    Some(bytes as f64 / MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_process_does_not_say_is_unknown_of_all() {
        let rollup = "400000-7ffd0000 ---p 00000000 00:00 0 [rollup]\nAnonHugePages: 2048 kB\n";
        let says = ProcessMemory {
            status: PidStatus { vm_pte_bytes: Some(1 << 20), ..PidStatus::default() },
            rollup: smaps::parse(rollup.as_bytes()).value.into_iter().next(),
        };
        let alone = Memory::sum(std::slice::from_ref(&says), false);
        assert_eq!((alone.huge, alone.page_tables), (Some(2.0), Some(1.0)));
        assert_eq!((alone.rss, alone.hugetlb), (None, None));
        let silent = ProcessMemory { status: PidStatus::default(), rollup: None };
        assert_eq!(Memory::sum(&[says, silent], true), Memory::default());
        assert_eq!(Memory::sum(&[], false), Memory::default());
    }

    #[test]
    fn this_process_holds_memory_and_one_that_has_ended_none() {
        let own = Memory::read(None, std::process::id());
        assert!(own.rss > Some(0.0) && own.page_tables > Some(0.0), "{own:?}");
        let mut child = Command::new("true").spawn().expect("true");
        let pid = child.id();
        child.wait().expect("it ends");
        assert_eq!(Memory::read(None, pid), Memory::default());
    }

    #[test]
    fn a_program_that_ignores_sigterm_is_killed() {
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
