//! When something froze, and for how long.

use hugewise_base::units::Ns;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Pieces that are no further apart are one freeze: a real-time task that never ends leaves 50 ms
/// of each second to others (`sched_rt_runtime_us`, and the fair server of Linux 6.8), in which a
/// probe may have woken just in time; a stall for memory pauses where memory is found.
const GAP: Ns = Ns::ms(1200);
/// A freeze that lasts is reported after this time, once.
const LONG: Ns = Ns::s(10);
/// From this share of waiting on programs wait for memory without a break. Fewer waits are the
/// price of reclaim, which no user feels as a freeze.
const STALLED_SHARE: f64 = 0.6;
/// A stall continues while this share of the time is waited: of the first and the last piece it is
/// only a part.
const RUN_SHARE: f64 = 0.1;
/// A program that was stopped for so long is reported as stopped; a program that waits in a shell's
/// background is stopped by another signal.
const STOPPED_LONG: Ns = LONG;

/// A probe that woke too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// The CPU to which it is bound.
    pub cpu: u32,
    /// When it was to wake.
    pub due: Ns,
    /// When it did, or until when it had not.
    pub woke: Ns,
    /// How long it was ready to run meanwhile, and waited for the CPU; `None` where the kernel does
    /// not say. What is stopped is not ready, and neither is who sleeps until a late timer.
    pub ready: Option<Ns>,
}

/// A signal that stops a program, or lets it continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// When it was sent.
    pub at: Ns,
    /// The process that got it.
    pub to: u32,
    /// The process that sent it.
    pub from: u32,
    /// Whether it stops: `SIGSTOP`, and not `SIGCONT` or `SIGKILL`.
    pub stops: bool,
}

/// What froze.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// CPUs did not run what was ready to run.
    Cpu {
        /// Which.
        cpus: BTreeSet<u32>,
    },
    /// Programs waited for memory.
    Memory {
        /// Time in which at least one waited.
        stalled_ns: u64,
    },
    /// A program was stopped by a signal.
    Stopped {
        /// The program.
        pid: u32,
        /// Who stopped it.
        by: u32,
    },
}

/// A freeze.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Freeze {
    /// What froze.
    #[serde(flatten)]
    pub what: What,
    /// When it began, on the monotonic clock.
    #[serde(skip)]
    pub began: Ns,
    /// When it ended; of one that lasts, when it was last seen.
    #[serde(skip)]
    pub ended: Ns,
    /// Whether it continues.
    pub lasts: bool,
    /// The probes that woke late, by CPU and by when they were to wake.
    #[serde(skip)]
    pub late: BTreeMap<(u32, Ns), Late>,
}

impl Freeze {
    /// How long it lasted.
    pub fn length(&self) -> Ns {
        self.ended.since(self.began)
    }

    /// The share of their delays in which its probes were ready to run, 0 to 1; `None` where the
    /// kernel does not say.
    pub fn ready_share(&self) -> Option<f64> {
        let known = self.late.values().filter_map(|late| Some((late, late.ready?)));
        let (mut ready, mut all) = (0.0, 0.0);
        for (late, queued) in known {
            ready += queued.as_s();
            all += late.woke.since(late.due).as_s();
        }
        (all > 0.0).then(|| ready / all)
    }
}

/// A stall for memory that has not ended.
#[derive(Debug, Clone, Copy, Default)]
struct Stall {
    began: Ns,
    /// When programs last waited.
    seen: Ns,
    stalled: Ns,
    /// Its pieces: how many, how long in all, and of the first and the last the part in which
    /// nobody waited.
    pieces: usize,
    passed: Ns,
    first_idle: Ns,
    last_idle: Ns,
    told: bool,
}

impl Stall {
    fn new(began: Ns) -> Self {
        Self { began, seen: began, ..Self::default() }
    }

    fn add(&mut self, at: Ns, passed: Ns, waited: Ns) {
        let idle = passed.since(waited);
        if self.pieces == 0 {
            self.first_idle = idle;
        }
        self.pieces += 1;
        self.last_idle = idle;
        self.seen = at;
        self.passed += passed;
        self.stalled += waited;
    }

    /// Whether programs waited most of the time, from when they began to when they ended: of the
    /// first and the last piece that is only a part, where there are others.
    fn is_dense(&self) -> bool {
        let edges = match self.pieces {
            0 | 1 => Ns(0),
            _ => self.first_idle + self.last_idle,
        };
        self.stalled.as_s() >= self.passed.since(edges).as_s() * STALLED_SHARE
    }

    fn freeze(&self, lasts: bool) -> Freeze {
        let what = What::Memory { stalled_ns: self.stalled.0 };
        Freeze { what, began: self.began, ended: self.seen, lasts, late: BTreeMap::new() }
    }
}

/// Tells freezes from what comes in; see the module.
#[derive(Debug)]
pub struct Detector {
    bound: Ns,
    cpu: Option<Freeze>,
    /// A freeze of CPUs that lasts was reported, and its end is not.
    told: bool,
    waited: Option<(Ns, Ns)>,
    stall: Option<Stall>,
    stops: BTreeMap<u32, (Signal, bool)>,
    over: Vec<Freeze>,
}

impl Detector {
    /// Freezes of at least `bound`.
    pub fn new(bound: Ns) -> Self {
        let stops = BTreeMap::new();
        Self { bound, cpu: None, told: false, waited: None, stall: None, stops, over: Vec::new() }
    }

    /// A probe woke late, or is late and has not woken yet.
    pub fn late(&mut self, late: Late) {
        if self.cpu.as_ref().is_some_and(|open| late.due > open.ended + GAP) {
            self.end_cpu();
        }
        // A shorter delay begins no freeze, but an open one continues with it.
        let least = if self.cpu.is_some() { Ns(self.bound.0 / 2) } else { self.bound };
        if late.woke.since(late.due) < least {
            return;
        }
        let fresh = || Freeze {
            what: What::Cpu { cpus: BTreeSet::new() },
            began: late.due,
            ended: late.woke,
            lasts: false,
            late: BTreeMap::new(),
        };
        let open = self.cpu.get_or_insert_with(fresh);
        open.began = open.began.min(late.due);
        open.ended = open.ended.max(late.woke);
        if let What::Cpu { cpus } = &mut open.what {
            cpus.insert(late.cpu);
        }
        // One that was reported needs no more detail, and it may last for hours.
        if !self.told {
            open.late.insert((late.cpu, late.due), late);
        }
    }

    /// The time in which some program waited for memory so far.
    pub fn waited(&mut self, at: Ns, total: Ns) {
        let before = self.waited.filter(|(before, _)| *before < at);
        let Some((before, earlier)) = before else {
            // Of two that came in another order than they were taken, the later one counts.
            self.waited = self.waited.or(Some((at, total)));
            return;
        };
        self.waited = Some((at, total));
        let passed = at.since(before);
        let waited = total.since(earlier).min(passed);
        if waited.as_s() >= passed.as_s() * RUN_SHARE {
            let stall = self.stall.get_or_insert_with(|| Stall::new(before));
            stall.add(at, passed, waited);
            if stall.stalled >= LONG && stall.is_dense() && !stall.told {
                stall.told = true;
                let freeze = stall.freeze(true);
                self.over.push(freeze);
            }
        } else if self.stall.as_ref().is_some_and(|stall| stall.seen + GAP <= at) {
            self.end_stall();
        }
    }

    /// A signal was sent.
    pub fn signal(&mut self, signal: Signal) {
        if signal.stops {
            self.stops.entry(signal.to).or_insert((signal, false));
        } else if let Some((stop, told)) = self.stops.remove(&signal.to)
            && !told
            && signal.at.since(stop.at) >= self.bound
        {
            self.over.push(stopped(&stop, signal.at, false));
        }
    }

    /// A process ended: nothing of it is stopped any more.
    pub fn gone(&mut self, pid: u32) {
        self.stops.remove(&pid);
    }

    /// Processes that are stopped, as far as that is known.
    pub fn stopped(&self) -> Vec<u32> {
        self.stops.keys().copied().collect()
    }

    /// Freezes that are over, or last long enough to be reported, the earliest first. `late`: a
    /// probe is late at this moment.
    pub fn over(&mut self, now: Ns, late: bool) -> Vec<Freeze> {
        let long = |freeze: &Freeze| now.since(freeze.began) >= LONG;
        if self.cpu.as_ref().is_some_and(|open| !late && open.ended + GAP <= now) {
            self.end_cpu();
        } else if let Some(open) = self.cpu.as_ref().filter(|open| !self.told && long(open)) {
            self.over.push(Freeze { lasts: true, ..open.clone() });
            self.told = true;
        }
        for (stop, told) in self.stops.values_mut().filter(|(_, told)| !told) {
            if now.since(stop.at) >= STOPPED_LONG {
                *told = true;
                self.over.push(stopped(stop, now, true));
            }
        }
        self.over.sort_by_key(|freeze| freeze.began);
        std::mem::take(&mut self.over)
    }

    /// Nothing more comes: what has not ended counts as it is.
    pub fn end(&mut self) -> Vec<Freeze> {
        self.end_cpu();
        self.end_stall();
        std::mem::take(&mut self.over)
    }

    fn end_cpu(&mut self) {
        let ended = self.cpu.take().filter(|_| !self.told);
        self.over.extend(ended);
        self.told = false;
    }

    fn end_stall(&mut self) {
        let counts = |stall: &Stall| stall.is_dense() && !stall.told && stall.stalled >= self.bound;
        let ended = self.stall.take().filter(counts);
        self.over.extend(ended.map(|stall| stall.freeze(false)));
    }
}

fn stopped(stop: &Signal, ended: Ns, lasts: bool) -> Freeze {
    let what = What::Stopped { pid: stop.to, by: stop.from };
    Freeze { what, began: stop.at, ended, lasts, late: BTreeMap::new() }
}
