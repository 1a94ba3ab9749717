//! Watches for freezes: probes that sleep on each CPU, samples of what the CPUs run, the time that
//! programs wait for memory, and signals that stop programs. What they mean is decided in
//! `hugewise_evidence::freeze`.

mod message;
mod probe;
mod signals;

pub use message::now;

use crate::clocks::Clocks;
use crate::sampling::Most;
use hugewise_base::parse::{self, pid_stat, vmstat};
use hugewise_base::units::Ns;
use hugewise_evidence::freeze::{Counted, Detector, Facts, Freeze, Late, Program, Ran, Signal};
use hugewise_linux::root::Root;
use hugewise_sys::perf::Record;
use message::{Message, waited};
use probe::Probes;
use signals::Signals;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// What the CPUs run is sampled so often that a freeze of half a second has some samples; see
/// [`Most`]. A CPU's memory holds those of [`FETCHED`], in which nobody fetches them.
const MOST: Most = Most {
    of_cpu_hz: 9,
    of_all_hz: 200,
    of_cpu_bytes: 64 << 10,
    of_all_bytes: 8 << 20,
    record_bytes: 288,
};
const FETCHED: Duration = Duration::from_secs(10);
/// Samples and signals are kept for so long: a freeze is told after at most 10 s.
const KEPT: Ns = Ns::s(30);
/// Counters are read so often at most, and kept as long.
const COUNTED_EVERY: Ns = Ns::ms(900);
/// After something happened it is looked again so soon, ...
const HURRY: Duration = Duration::from_millis(100);
/// ... for so long.
const HURRIED: Ns = Ns::s(2);
/// Who a process is, is asked again after so long.
const KNOWN: Ns = Ns::s(2);
/// Most processes that are remembered.
const PROGRAMS_MAX: usize = 10_000;

/// A sample of a CPU, with addresses for names.
#[derive(Debug)]
struct Seen {
    at: Ns,
    cpu: u32,
    pid: u32,
    tid: u32,
    kernel: Vec<u64>,
}

/// Counters at one moment, as the kernel wrote them: few of them are ever looked at.
#[derive(Debug)]
struct Counters {
    at: Ns,
    stat: String,
    vmstat: String,
}

/// Watches; see the module.
#[derive(Debug)]
pub struct Recorder {
    root: Root,
    detector: Detector,
    probes: Probes,
    messages: Receiver<Message>,
    send: Sender<Message>,
    late: Vec<Late>,
    /// Until then it is looked often.
    hurried: Ns,
    clocks: Option<Clocks>,
    signals: Option<Signals>,
    seen: VecDeque<Seen>,
    sent: VecDeque<Signal>,
    programs: BTreeMap<u32, (Ns, Program)>,
    counters: VecDeque<Counters>,
    missing: Vec<String>,
}

impl Recorder {
    /// Begins to watch for freezes of at least `bound`.
    ///
    /// # Errors
    /// Where not even the CPUs can be watched, in words.
    pub fn start(root: &Root, bound: Ns) -> Result<Self, String> {
        let mut missing = Vec::new();
        let mut kept = |what: &str, why: String| missing.push(format!("{what}: {why}"));
        let clocks = Clocks::start(root, &MOST, FETCHED);
        let clocks = clocks.map_err(|why| kept("samples of what the CPUs run", why)).ok();
        let signals = Signals::start(root);
        let signals = signals.map_err(|why| kept("signals that stop programs", why)).ok();
        if waited(root).is_none() {
            kept("waiting for memory", "this kernel has no PSI (boot with psi=1)".into());
        }
        let (send, messages) = mpsc::channel();
        let probes = Probes::start(root, bound, &send)?;
        match probes.out_of_reach() {
            0 => {}
            cpus => kept("CPUs", format!("this process may not use {cpus} of them")),
        }
        Ok(Self {
            root: root.clone(),
            detector: Detector::new(bound),
            probes,
            messages,
            send,
            late: Vec::new(),
            hurried: Ns(0),
            clocks,
            signals,
            seen: VecDeque::new(),
            sent: VecDeque::new(),
            programs: BTreeMap::new(),
            counters: VecDeque::new(),
            missing,
        })
    }

    /// What is not watched here, each with the reason.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// CPUs that are watched.
    pub fn cpus(&self) -> BTreeSet<u32> {
        self.probes.cpus()
    }

    /// What ends [`Recorder::wait`], now or at the next call, from any thread.
    pub fn waker(&self) -> impl FnOnce() + Send + use<> {
        let send = self.send.clone();
        // A recorder that is gone waits for nothing.
        move || drop(send.send(Message::Wake))
    }

    /// Waits for something to happen, for at most `rest`.
    pub fn wait(&mut self, rest: Duration) {
        let rest = if now() < self.hurried { HURRY.min(rest) } else { rest };
        let first = self.messages.recv_timeout(rest).ok();
        // What happened may be one of many: the rest of it comes within that time.
        if first.is_some() && now() < self.hurried {
            std::thread::sleep(HURRY);
        }
        for message in first.into_iter().chain(self.messages.try_iter().collect::<Vec<_>>()) {
            match message {
                Message::Late(late) => self.late.push(late),
                Message::Waited(at, total) => self.detector.waited(at, total),
                Message::Hurry => {}
                Message::Wake => continue,
            }
            self.hurried = now() + HURRIED;
        }
    }

    /// Whether something happened lately.
    pub fn hurries(&self) -> bool {
        now() < self.hurried
    }

    /// Takes what came since the last call; freezes that are over, or last.
    pub fn look(&mut self) -> Vec<Freeze> {
        let now = now();
        self.count(now);
        self.take_samples(now);
        self.take_signals(now);
        if self.hurries()
            && let Some(total) = waited(&self.root)
        {
            self.detector.waited(now, total);
        }
        self.take_delays(now)
    }

    /// What has not ended counts as it is.
    pub fn end(&mut self) -> Vec<Freeze> {
        let mut all = self.look();
        all.extend(self.detector.end());
        all
    }

    fn take_delays(&mut self, now: Ns) -> Vec<Freeze> {
        let overdue: Vec<Late> = self.probes.overdue(now).collect();
        let late = !overdue.is_empty();
        for one in self.late.drain(..).chain(overdue) {
            self.detector.late(one);
        }
        self.detector.over(now, late)
    }

    fn take_samples(&mut self, now: Ns) {
        let Some(clocks) = &mut self.clocks else { return };
        let (seen, mut tasks) = (&mut self.seen, BTreeSet::new());
        let mut names = Vec::new();
        clocks.drain(|cpu, record| match record {
            Record::Sample { pid, tid, at_ns, kernel } => {
                tasks.extend([pid, tid]);
                seen.push_back(Seen { at: Ns(at_ns), cpu, pid, tid, kernel });
            }
            Record::Name { tid, name, .. } => names.push((tid, name)),
            Record::Lost(_) => {}
        });
        // Of a process that ends before anybody asks it is all that is known.
        for (tid, name) in names {
            let name = String::from_utf8_lossy(&name).into_owned();
            self.programs.entry(tid).or_default().1.name = name;
        }
        forget(&mut self.seen, now, |one| one.at);
        // Whoever holds a CPU just now may have become a real-time task a moment ago.
        let known = if self.probes.overdue(now).next().is_none() { KNOWN } else { Ns(0) };
        for task in tasks {
            self.ask(task, now, known);
        }
    }

    fn take_signals(&mut self, now: Ns) {
        let root = &self.root;
        let leader = |tid: u32| {
            let status = root.read_text(format!("proc/{tid}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
            line.and_then(|pid| pid.trim().parse().ok()).unwrap_or(tid)
        };
        let Some(signals) = &mut self.signals else { return };
        let own = std::process::id();
        for signal in signals.drain(leader) {
            // What stops the recorder is part of what it did not see.
            if signal.to != own {
                self.detector.signal(signal);
            }
            self.sent.push_back(signal);
            self.ask(signal.to, now, KNOWN);
            self.ask(signal.from, now, KNOWN);
        }
        forget(&mut self.sent, now, |one| one.at);
        for pid in self.detector.stopped() {
            if !self.root.has(format!("proc/{pid}/stat")) {
                self.detector.gone(pid);
            }
        }
    }

    /// Finds out who a task is, unless that was asked within the last `known`; what is known of
    /// one that ended stays.
    fn ask(&mut self, task: u32, now: Ns, known: Ns) {
        let asked = self.programs.get(&task).map(|(asked, _)| *asked);
        if asked.is_some_and(|asked| now.since(asked) < known) {
            return;
        }
        let Ok(text) = self.root.read(format!("proc/{task}/stat")) else { return };
        let Ok(stat) = pid_stat::parse(&text) else { return };
        let program = Program {
            kernel_thread: Some(stat.is_kernel_thread()),
            name: stat.comm,
            policy: Some(stat.policy),
            rt_priority: stat.rt_priority,
        };
        if self.programs.len() >= PROGRAMS_MAX {
            self.programs.retain(|_, (asked, _)| now.since(*asked) < KEPT);
        }
        self.programs.insert(task, (now, program));
    }

    fn count(&mut self, now: Ns) {
        let due = self.counters.back().is_none_or(|last| now.since(last.at) >= COUNTED_EVERY);
        if !due {
            return;
        }
        let read = |file| self.root.read_text(file).unwrap_or_default();
        let (stat, vmstat) = (read("proc/stat"), read("proc/vmstat"));
        self.counters.push_back(Counters { at: now, stat, vmstat });
        forget(&mut self.counters, now, |one| one.at);
    }

    /// What was recorded around a freeze.
    pub fn facts(&self, freeze: &Freeze) -> Facts {
        let began = self.counters.iter().rev().find(|one| one.at <= freeze.began);
        let ended = self.counters.iter().find(|one| one.at >= freeze.ended);
        let around = began.or(self.counters.front()).zip(ended.or(self.counters.back()));
        let grown = around.map(|(before, after)| grown(&before.waits(), &after.waits()));
        let within = |seen: &&Seen| seen.at >= freeze.began && seen.at <= freeze.ended;
        let ran: Vec<Ran> = self.seen.iter().filter(within).map(|seen| self.ran(seen)).collect();
        let mut ids: BTreeSet<u32> = ran.iter().flat_map(|ran| [ran.pid, ran.tid]).collect();
        ids.extend(self.sent.iter().flat_map(|signal| [signal.to, signal.from]));
        let known = |id| Some((id, self.programs.get(&id)?.1.clone()));
        Facts {
            own_pid: std::process::id(),
            watched: self.probes.cpus(),
            samples_hz: self.clocks.as_ref().map(Clocks::frequency_hz),
            ran,
            programs: ids.into_iter().filter_map(known).collect(),
            signals: self.sent.iter().copied().collect(),
            times: around.map(|(before, after)| (before.times(), after.times())),
            ticks_per_s: rustix::param::clock_ticks_per_second(),
            grown: grown.unwrap_or_default(),
        }
    }

    fn ran(&self, seen: &Seen) -> Ran {
        let name = |address: &u64| {
            let clocks = self.clocks.as_ref();
            clocks.map_or_else(String::new, |clocks| clocks.function(*address).to_owned())
        };
        let chain = seen.kernel.iter().map(name).collect();
        Ran { at: seen.at, cpu: seen.cpu, pid: seen.pid, tid: seen.tid, chain }
    }
}

impl Counters {
    fn times(&self) -> Counted {
        let cpus = parse::proc_stat::parse(&self.stat).value.cpus;
        Counted { at: self.at, cpus: cpus.into_iter().collect() }
    }

    /// How often programs had to make room for themselves.
    fn waits(&self) -> BTreeMap<String, u64> {
        let mut all = vmstat::parse(&self.vmstat).value.0;
        all.retain(|name, _| name.starts_with("compact_stall") || name.starts_with("allocstall"));
        all
    }
}

/// Drops what is older than [`KEPT`].
fn forget<T>(all: &mut VecDeque<T>, now: Ns, at: impl Fn(&T) -> Ns) {
    while all.front().is_some_and(|first| at(first) + KEPT < now) {
        all.pop_front();
    }
}

fn grown(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let by =
        |(name, now): (&String, &u64)| Some((name.clone(), now.saturating_sub(*before.get(name)?)));
    after.iter().filter_map(by).filter(|(_, by)| *by > 0).collect()
}
