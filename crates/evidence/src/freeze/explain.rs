//! Who held the CPU or the memory while something was frozen.

use super::detector::{Freeze, Signal, What};
use super::work::Work;
use hugewise_base::named;
use hugewise_base::parse::proc_stat::CpuTimes;
use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Of fewer of the samples that a CPU was to have, it ran nothing most of the time.
const RAN_SHARE: f64 = 0.25;
/// Who has at least so much of what a CPU ran held it.
const HELD_SHARE: f64 = 0.5;
/// From this share of the time on, the hypervisor had the CPU.
const STEAL_SHARE: f64 = 0.5;
/// Most holders that are reported.
const HOLDERS_MAX: usize = 3;
/// A CPU that counted less time than passed, by so much of the freeze, stood still.
const LOST_SHARE: f64 = 0.5;
/// Who was ready to run for less of its delay was held by something else than the CPU.
const READY_SHARE: f64 = 0.5;
/// `SCHED_FIFO`, `SCHED_RR` and `SCHED_DEADLINE` of `include/uapi/linux/sched.h`.
const REAL_TIME: [u32; 3] = [1, 2, 6];

named! {
    /// Why something froze.
    Cause,
    RealTimeTask = "real_time_task":
        "a real-time task held the CPU: nobody of ordinary priority runs while it wants it",
        "give it ordinary priority (chrt -o), a CPU of its own, or pauses; \
         kernel.sched_rt_runtime_us bounds what all real-time tasks get";
    KernelWork = "kernel_work":
        "the kernel worked for a program without a break, and let nobody else onto the CPU",
        "see what it did for the program, below; on Linux 5.12 and later \
         'preempt=full' (kernel command line) lets others in between";
    Interrupts = "interrupts":
        "interrupts held the CPU",
        "spread them over more CPUs (RPS, irqbalance); 'hugewise diagnose' on the capture says \
         which they are";
    Program = "program":
        "a program held the CPU, and the recorder waited behind it",
        "a cgroup with a higher CPU weight, or a small share of its own, keeps others waiting";
    Crowded = "crowded":
        "more programs wanted the CPU than it can serve in time",
        "see 'hugewise diagnose' on the capture for who uses the CPU";
    Hypervisor = "hypervisor":
        "the hypervisor gave the CPU to somebody else (steal)",
        "ask whoever runs the host: it has more virtual CPUs than it can serve";
    NoInterrupts = "no_interrupts":
        "the CPU counted no time and took no interrupts: they were switched off there, or the \
         hypervisor had stopped it",
        "see the kernel's log for hard lockups and stalls (dmesg)";
    Paused = "paused":
        "nothing ran on any CPU: the machine was paused from outside, or only the recorder was \
         stopped, as by a frozen cgroup",
        "see the log of the hypervisor for a snapshot or a migration at that time";
    RecorderStopped = "recorder_stopped":
        "a signal stopped the recorder itself: what others felt is not known",
        "";
    RecorderWaited = "recorder_waited":
        "the CPU was free, and only the recorder did not run: a CPU quota or a frozen cgroup held \
         it",
        "run it outside of that cgroup";
    Compaction = "compaction":
        "programs made blocks of free memory for huge pages themselves (direct compaction)",
        "set 'defrag' to madvise or defer+madvise, or have 'hugewise manage' promote in the \
         background instead";
    Reclaim = "reclaim":
        "programs took memory back themselves (direct reclaim): free memory came too slowly",
        "free memory, or have kswapd begin earlier (vm.watermark_scale_factor)";
    MemoryWait = "memory_wait":
        "programs waited for memory: pages that come back from disk, or a cgroup at its limit",
        "see 'hugewise diagnose' on the capture, and memory.events of the cgroups";
    Stopped = "stopped":
        "a signal stopped the program (SIGSTOP): it did not run until it was told to go on",
        "ask whoever owns the program that sent the signal";
    Unknown = "unknown":
        "what ran meanwhile was not recorded",
        "run it as root, so that the CPUs can be sampled";
}

/// What a CPU ran at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// When.
    pub at: Ns,
    /// Which CPU.
    pub cpu: u32,
    /// The process.
    pub pid: u32,
    /// Its thread.
    pub tid: u32,
    /// The kernel's functions, the innermost first; none: the program ran its own code.
    pub chain: Vec<String>,
}

/// What is known of a process or a thread that ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Its name, as it calls itself.
    pub name: String,
    /// `SCHED_*`; `None` where it had ended.
    pub policy: Option<u32>,
    /// Real-time priority; 0 for ordinary scheduling.
    pub rt_priority: u32,
    /// Whether it is a thread of the kernel; `None` where it had ended.
    pub kernel_thread: Option<bool>,
}

/// What was recorded around a freeze.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The recorder's own process.
    pub own_pid: u32,
    /// CPUs that have a probe.
    pub watched: BTreeSet<u32>,
    /// Samples a second of each CPU that runs something; `None`: there are none.
    pub samples_hz: Option<u64>,
    /// Samples from shortly before its begin to its end.
    pub ran: Vec<Ran>,
    /// Who the processes are, and their threads.
    pub programs: BTreeMap<u32, Program>,
    /// Signals that were sent about then.
    pub signals: Vec<Signal>,
    /// Time of each CPU around the freeze, before and after, with when these were read; ticks.
    pub times: Option<(Counted, Counted)>,
    /// Clock ticks a second.
    pub ticks_per_s: u64,
    /// What the counters of `/proc/vmstat` grew by around it.
    pub grown: BTreeMap<String, u64>,
}

/// Time of each CPU, and when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// When.
    pub at: Ns,
    /// Of each CPU, in ticks since boot.
    pub cpus: BTreeMap<u32, CpuTimes>,
}

/// Who held what was missed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Its name: text of a stranger.
    pub name: String,
    /// Its share of what was seen, percent.
    pub percent: f64,
    /// What the kernel did for it most of the time.
    pub work: Work,
    /// The kernel's functions that were met most often, the innermost first.
    pub functions: Vec<String>,
    /// `SCHED_*` and the real-time priority, where it is a real-time task.
    pub real_time: Option<(u32, u32)>,
}

/// A freeze, explained.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Account {
    /// Why.
    pub cause: Cause,
    /// Who, the first most.
    pub holders: Vec<Holder>,
    /// What was seen, a sentence each.
    pub seen: Vec<String>,
    /// What could not be seen.
    pub missing: Vec<String>,
}

impl Account {
    const fn new(cause: Cause) -> Self {
        Self { cause, holders: Vec::new(), seen: Vec::new(), missing: Vec::new() }
    }
}

/// Why it froze, and who it was.
pub fn explain(freeze: &Freeze, facts: &Facts) -> Account {
    match &freeze.what {
        What::Cpu { cpus } => of_cpus(freeze, cpus, facts),
        What::Memory { stalled_ns } => of_memory(freeze, Ns(*stalled_ns), facts),
        What::Stopped { pid, by } => of_stop(*pid, *by, facts),
    }
}

fn of_stop(pid: u32, by: u32, facts: &Facts) -> Account {
    let who = |pid| facts.named(pid);
    let seen = vec![format!("{} sent SIGSTOP to {}", who(by), who(pid))];
    let name = facts.programs.get(&by).map(|program| program.name.clone()).unwrap_or_default();
    let holder = Holder { pid: by, name, percent: 100.0, ..Holder::default() };
    Account { holders: vec![holder], seen, ..Account::new(Cause::Stopped) }
}

fn of_cpus(freeze: &Freeze, cpus: &BTreeSet<u32>, facts: &Facts) -> Account {
    let mut account = Account::new(Cause::Unknown);
    let ready = freeze.ready_share();
    if let Some(share) = ready {
        let text = format!("the recorder was ready to run for {:.0} % of it", share * 100.0);
        account.seen.push(text);
    }
    if let Some(cause) = from_outside(freeze, cpus, facts, &mut account.seen) {
        account.cause = cause;
        return account;
    }
    let Some(hz) = facts.samples_hz else {
        account.missing.push("samples of what the CPUs ran".to_owned());
        return account;
    };
    let ran: Vec<&Ran> = facts.during(freeze).filter(|ran| cpus.contains(&ran.cpu)).collect();
    let wanted = freeze.length().as_s() * hz as f64 * cpus.len() as f64;
    account.seen.push(format!(
        "{} ran something in {} of about {:.0} samples",
        list(cpus),
        ran.len(),
        wanted.max(ran.len() as f64)
    ));
    let not_ready = ready.is_some_and(|share| share < READY_SHARE);
    if not_ready || (ran.len() as f64) < wanted * RAN_SHARE {
        // Nobody saw any CPU run anything, not even one that was on time.
        let nothing = facts.watched.is_subset(cpus) && facts.during(freeze).next().is_none();
        account.cause = if nothing { Cause::Paused } else { Cause::RecorderWaited };
        return account;
    }
    account.holders = holders(&ran, facts);
    account.cause = held_by(&account.holders, &ran);
    account
}

/// What held the recorder and is none of the CPU's programs.
fn from_outside(
    freeze: &Freeze,
    cpus: &BTreeSet<u32>,
    facts: &Facts,
    seen: &mut Vec<String>,
) -> Option<Cause> {
    if let Some(stop) = facts.own_stop(freeze) {
        seen.push(format!("{} sent SIGSTOP to the recorder", facts.named(stop.from)));
        return Some(Cause::RecorderStopped);
    }
    let ticks = facts.ticks(cpus)?;
    let most = freeze.length().as_s();
    if ticks.steal_s >= most * STEAL_SHARE {
        seen.push(format!("steal took {:.2} s of {} about then", ticks.steal_s, list(cpus)));
        return Some(Cause::Hypervisor);
    }
    // Who was ready was woken by an interrupt.
    let woken = freeze.ready_share().is_some_and(|share| share >= READY_SHARE);
    let lost = ticks.passed_s - ticks.counted_s;
    (!woken && lost >= most * LOST_SHARE).then(|| {
        seen.push(format!("{} counted {lost:.2} s less than passed about then", list(cpus)));
        Cause::NoInterrupts
    })
}

/// Why, by who ran most and what.
fn held_by(holders: &[Holder], ran: &[&Ran]) -> Cause {
    let interrupts = ran.iter().filter(|ran| Work::of(&ran.chain) == Work::Interrupts).count();
    if interrupts as f64 >= ran.len() as f64 * HELD_SHARE {
        return Cause::Interrupts;
    }
    // Several real-time tasks share a CPU among each other.
    let real_time = |holder: &&Holder| holder.real_time.is_some();
    let share: f64 = holders.iter().filter(real_time).map(|holder| holder.percent).sum();
    if share >= HELD_SHARE * 100.0 {
        return Cause::RealTimeTask;
    }
    let Some(first) = holders.first().filter(|first| first.percent >= HELD_SHARE * 100.0) else {
        return Cause::Crowded;
    };
    match first.work {
        Work::Own => Cause::Program,
        _ => Cause::KernelWork,
    }
}

/// The processes of samples, those with most of them first.
fn holders(ran: &[&Ran], facts: &Facts) -> Vec<Holder> {
    let mut of: BTreeMap<u32, Vec<&Ran>> = BTreeMap::new();
    for ran in ran {
        of.entry(ran.pid).or_default().push(ran);
    }
    let mut all: Vec<(u32, Vec<&Ran>)> = of.into_iter().collect();
    all.sort_by_key(|(pid, own)| (std::cmp::Reverse(own.len()), *pid));
    all.truncate(HOLDERS_MAX);
    let known = |id: u32| facts.programs.get(&id);
    let holder = |(pid, own): (u32, Vec<&Ran>)| {
        let thread = most(own.iter().map(|ran| ran.tid)).unwrap_or(pid);
        let name = known(pid).or_else(|| known(thread)).map(|program| program.name.clone());
        let real_time = known(thread)
            .and_then(|thread| Some((thread.policy?, thread.rt_priority)))
            .filter(|(policy, _)| REAL_TIME.contains(policy));
        let work = most(own.iter().map(|ran| Work::of(&ran.chain))).unwrap_or(Work::Own);
        let same = own.iter().filter(|ran| Work::of(&ran.chain) == work);
        let functions = most(same.map(|ran| ran.chain.clone())).unwrap_or_default();
        let percent = 100.0 * own.len() as f64 / ran.len().max(1) as f64;
        Holder { pid, name: name.unwrap_or_default(), percent, work, functions, real_time }
    };
    all.into_iter().map(holder).collect()
}

/// What is met most often, the first in order of equals.
fn most<T: Ord>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    let largest = counts.values().copied().max()?;
    counts.into_iter().find(|(_, count)| *count == largest).map(|(one, _)| one)
}

fn of_memory(freeze: &Freeze, stalled: Ns, facts: &Facts) -> Account {
    let mut seen = vec![format!(
        "programs waited for memory for {:.2} s of {:.2} s",
        stalled.as_s(),
        freeze.length().as_s()
    )];
    let own_work = |ran: &&Ran| !facts.is_kernel_thread(ran.pid);
    let doing = |work| {
        let is = move |ran: &&Ran| Work::of(&ran.chain) == work;
        facts.during(freeze).filter(own_work).filter(is).collect::<Vec<_>>()
    };
    let (compaction, reclaim) = (doing(Work::Compaction), doing(Work::Reclaim));
    let grown = |names: &[&str]| -> u64 {
        let starts = |name: &str| names.iter().any(|start| name.starts_with(start));
        facts.grown.iter().filter(|(name, _)| starts(name)).map(|(_, by)| by).sum()
    };
    let (compact_stall, alloc_stall) = (grown(&["compact_stall"]), grown(&["allocstall"]));
    for (name, by) in [("compact_stall", compact_stall), ("allocstall", alloc_stall)] {
        if by > 0 {
            seen.push(format!("{name} grew by {by} about then"));
        }
    }
    let (cause, ran) = match (compaction.len(), reclaim.len()) {
        (0, 0) if compact_stall > alloc_stall => (Cause::Compaction, compaction),
        (0, 0) if alloc_stall > 0 => (Cause::Reclaim, reclaim),
        (0, 0) => (Cause::MemoryWait, Vec::new()),
        (one, other) if one >= other => (Cause::Compaction, compaction),
        _ => (Cause::Reclaim, reclaim),
    };
    if !ran.is_empty() {
        let all = facts.during(freeze).count();
        seen.push(format!("{} of {all} samples of all CPUs lay in it", ran.len()));
    }
    let mut missing = Vec::new();
    if facts.samples_hz.is_none() {
        missing.push("samples of what the CPUs ran".to_owned());
    }
    Account { cause, holders: holders(&ran, facts), seen, missing }
}

impl Facts {
    /// Samples of its time.
    fn during<'a>(&'a self, freeze: &'a Freeze) -> impl Iterator<Item = &'a Ran> {
        let within = |ran: &&Ran| ran.at >= freeze.began && ran.at <= freeze.ended;
        self.ran.iter().filter(within).filter(|ran| ran.pid != self.own_pid)
    }

    /// A process by name and number.
    fn named(&self, pid: u32) -> String {
        match self.programs.get(&pid) {
            Some(program) => format!("'{}' (pid {pid})", program.name),
            None => format!("pid {pid}"),
        }
    }

    fn is_kernel_thread(&self, pid: u32) -> bool {
        let program = self.programs.get(&pid);
        program.and_then(|program| program.kernel_thread).unwrap_or(false)
    }

    /// The signal that stopped the recorder for most of its time.
    fn own_stop(&self, freeze: &Freeze) -> Option<Signal> {
        let mut own = self.signals.iter().filter(|signal| signal.to == self.own_pid);
        let early = Ns(freeze.began.0 + freeze.length().0 / 2);
        // It was late because of it: sent before half of its time had passed, and no earlier than
        // a moment before it began.
        let fits = |signal: &&Signal| {
            signal.stops && signal.at <= early && signal.at + Ns::s(1) >= freeze.began
        };
        own.rfind(|signal| fits(signal)).copied()
    }

    /// What these CPUs counted around it, each on average.
    fn ticks(&self, cpus: &BTreeSet<u32>) -> Option<Ticks> {
        let (before, after) = self.times.as_ref()?;
        let all = |t: &CpuTimes| t.programs() + t.kernel() + t.unused() + t.steal;
        let (mut steal, mut counted) = (0, 0);
        for cpu in cpus {
            let (before, after) = (before.cpus.get(cpu)?, after.cpus.get(cpu)?);
            steal += after.steal.saturating_sub(before.steal);
            counted += all(after).saturating_sub(all(before));
        }
        let seconds =
            |ticks: u64| ticks as f64 / self.ticks_per_s.max(1) as f64 / cpus.len().max(1) as f64;
        let passed_s = after.at.since(before.at).as_s();
        Some(Ticks { steal_s: seconds(steal), counted_s: seconds(counted), passed_s })
    }
}

/// Time of a CPU, in seconds.
struct Ticks {
    steal_s: f64,
    counted_s: f64,
    passed_s: f64,
}

/// CPUs in words.
fn list(cpus: &BTreeSet<u32>) -> String {
    let numbers: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    match numbers.len() {
        1 => format!("CPU {}", numbers[0]),
        2..=8 => format!("CPUs {}", numbers.join(", ")),
        count => format!("{count} CPUs"),
    }
}
