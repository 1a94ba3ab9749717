//! Recording and replaying: the same loop over what another run saw.
//!
//! [`Recorder`] wraps any world and hands every answer to a callback; [`Replay`] is a world that
//! gives those answers again. An action that the new decisions share with the recording gets its
//! recorded outcome; any other is withheld, because nobody knows what would have happened.

use crate::compaction::{Compact, CompactReport};
use crate::config::Mode;
use crate::decision::{Decision, Outcome};
use crate::engine::{Wake, World};
use crate::snapshot::{Ask, CgroupSample, Observation};
use hugewise_base::units::{Addr, Geometry, Ns, ProcId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// One answer of a world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The recording began: budgets fill from here on.
    Began {
        /// When.
        at: Ns,
        /// With `manage --once`, which puts another configuration in force.
        #[serde(default)]
        once: bool,
        /// The manager's mode; unknown in older recordings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
    },
    /// `hugewise manage pause`, or `resume`.
    Paused {
        /// When.
        at: Ns,
        /// False: promoting goes on.
        paused: bool,
    },
    /// An observation.
    Observed {
        /// What was asked.
        ask: Box<Ask>,
        /// What was seen.
        seen: Box<Observation>,
        /// When it was asked for; unknown in older recordings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        began: Option<Ns>,
    },
    /// An action.
    Acted {
        /// What was decided.
        decision: Decision,
        /// What became of it.
        outcome: Outcome,
        /// When it was over.
        at: Ns,
    },
}

/// Latest time in a recording: no machine has been up for 100 years.
pub const TIME_MAX: Ns = Ns(100 * 365 * 86_400 * 1_000_000_000);

/// Longest time between the last observation of a recording and its last action. A replay gets
/// there tick by tick; the recorded run acted within moments of what it saw.
pub const TAIL_MAX: Ns = Ns(3600 * 1_000_000_000);

/// Why events are no recording of any run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEvent {
    /// A time that no run can have come to.
    #[error("at {} s, more than 100 years after the machine started", .0.0 / 1_000_000_000)]
    TooLate(Ns),
    /// The run would have gone on without looking.
    #[error(
        "an action {} s after the last observation, of which a run makes one a second",
        .0.0 / 1_000_000_000
    )]
    Unseen(Ns),
    /// Sizes of pages that no kernel has.
    #[error("huge pages of {} bytes in base pages of {}", .0.huge.0, .0.base.0)]
    Geometry(Geometry),
}

/// Checks that a replay of these events ends: with the number, from 1, of the one that is wrong.
///
/// # Errors
/// See [`BadEvent`].
pub fn check(events: &[Event]) -> Result<(), (usize, BadEvent)> {
    let mut last_seen: Option<Ns> = None;
    for (event, number) in events.iter().zip(1..) {
        let at = match event {
            Event::Began { at, .. } | Event::Paused { at, .. } | Event::Acted { at, .. } => *at,
            Event::Observed { seen, .. } => seen.at,
        };
        if at > TIME_MAX {
            return Err((number, BadEvent::TooLate(at)));
        }
        match event {
            Event::Began { .. } => {
                last_seen = last_seen.or(Some(at));
            }
            Event::Observed { seen, .. } => {
                let geometry = seen.machine.as_ref().map(|machine| machine.geometry);
                if let Some(geometry) = geometry.filter(|geometry| !geometry.is_real()) {
                    return Err((number, BadEvent::Geometry(geometry)));
                }
                last_seen = last_seen.max(Some(at));
            }
            Event::Paused { .. } | Event::Acted { .. } => {
                let unseen = at.since(last_seen.unwrap_or(at));
                if unseen > TAIL_MAX {
                    return Err((number, BadEvent::Unseen(unseen)));
                }
            }
        }
    }
    Ok(())
}

/// A world whose answers are recorded.
#[derive(Debug)]
pub struct Recorder<W, F> {
    world: W,
    write: F,
}

impl<W: World, F: FnMut(&Event)> Recorder<W, F> {
    /// Records `world` through `write`; `once` and `mode` as in [`Event::Began`].
    pub fn new(mut world: W, once: bool, mode: Mode, mut write: F) -> Self {
        write(&Event::Began { at: world.now(), once, mode: Some(mode) });
        Self { world, write }
    }

    fn woken(&mut self, wake: Wake) -> Wake {
        if matches!(wake, Wake::Pause | Wake::Resume) {
            let at = self.world.now();
            (self.write)(&Event::Paused { at, paused: wake == Wake::Pause });
        }
        wake
    }
}

impl<W: World, F: FnMut(&Event)> World for Recorder<W, F> {
    fn observe(&mut self, ask: &Ask) -> Observation {
        let began = Some(self.world.now());
        let seen = self.world.observe(ask);
        let (ask, shown) = (Box::new(ask.clone()), Box::new(seen.clone()));
        (self.write)(&Event::Observed { ask, seen: shown, began });
        seen
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        let outcome = self.world.act(decision);
        let at = self.world.now();
        (self.write)(&Event::Acted { decision: *decision, outcome, at });
        outcome
    }

    /// What becomes of it is observed, and recorded as such.
    fn compact(&mut self, order: &Compact) {
        self.world.compact(order);
    }

    /// A replay asks for nothing after the last observation.
    fn end(&mut self) -> Option<CompactReport> {
        self.world.end()
    }

    fn now(&mut self) -> Ns {
        self.world.now()
    }

    fn wait_until(&mut self, at: Ns) -> Wake {
        let wake = self.world.wait_until(at);
        self.woken(wake)
    }

    fn wait_for_tick(&mut self, at: Ns, end: Ns) -> Wake {
        let wake = self.world.wait_for_tick(at, end);
        self.woken(wake)
    }
}

/// How a replay compares with its recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Decisions that both made.
    pub same: u64,
    /// Decisions that only the replay made.
    pub new: u64,
    /// Decisions that only the recording made.
    pub missing: u64,
}

/// A recording as a world.
#[derive(Debug, Default)]
pub struct Replay {
    /// With the times at which they were asked for, where those are known.
    observations: VecDeque<(Observation, Option<Ns>)>,
    /// As last seen: the recorded run may have asked less often.
    cgroups: BTreeMap<String, CgroupSample>,
    outcomes: BTreeMap<(ProcId, Addr), VecDeque<(Outcome, Ns)>>,
    /// When promoting was paused, and went on.
    pauses: VecDeque<(Ns, bool)>,
    once: bool,
    mode: Option<Mode>,
    now: Ns,
    end: Ns,
    same: u64,
    new: u64,
}

impl Replay {
    /// A world from recorded events, in their order.
    pub fn new(events: impl IntoIterator<Item = Event>) -> Self {
        let mut replay = Self::default();
        let (mut began, mut cgroups) = (None, BTreeMap::new());
        for event in events {
            match event {
                Event::Began { at, once, mode } => {
                    began = began.or(Some(at));
                    replay.mode = replay.mode.or(mode);
                    replay.once |= once;
                }
                Event::Paused { at, paused } => replay.pauses.push_back((at, paused)),
                Event::Observed { ask, mut seen, began } => {
                    replay.end = replay.end.max(seen.at);
                    if ask.cgroups.is_empty() {
                        seen.cgroups.clone_from(&cgroups);
                    } else {
                        cgroups.clone_from(&seen.cgroups);
                    }
                    replay.observations.push_back((*seen, began));
                }
                Event::Acted { decision, outcome, at } => {
                    replay.end = replay.end.max(at);
                    let key = (decision.target, decision.region);
                    replay.outcomes.entry(key).or_default().push_back((outcome, at));
                }
            }
        }
        let first = replay.observations.front().map(|(seen, _)| seen.at);
        replay.now = began.or(first).unwrap_or_default();
        replay
    }

    /// Whether `manage --once` was recorded.
    pub const fn once(&self) -> bool {
        self.once
    }

    /// The mode of the manager that was recorded; `None` in older recordings.
    pub const fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// How it went.
    pub fn comparison(&self) -> Comparison {
        let missing = self.outcomes.values().map(|left| left.len() as u64).sum();
        Comparison { same: self.same, new: self.new, missing }
    }
}

impl World for Replay {
    /// The next recorded observation that answers this kind of ask: one with a machine sample if
    /// one is asked for, else one without. When the recording is over, an empty one.
    fn observe(&mut self, ask: &Ask) -> Observation {
        while let Some((next, _)) = self.observations.front() {
            if next.machine.is_some() != ask.machine {
                // The recorded run scanned where this one does not, or the other way round.
                if ask.machine {
                    self.observations.pop_front();
                    continue;
                }
                break;
            }
            let (seen, _) = self.observations.pop_front().unwrap_or_default();
            self.now = self.now.max(seen.at);
            self.cgroups.clone_from(&seen.cgroups);
            return seen;
        }
        let cgroups = self.cgroups.clone();
        Observation { at: self.now, cgroups, ..Observation::default() }
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        let recorded = self.outcomes.get_mut(&(decision.target, decision.region));
        if let Some((outcome, at)) = recorded.and_then(|left| left.pop_front()) {
            self.same += 1;
            self.now = self.now.max(at);
            return outcome;
        }
        self.new += 1;
        Outcome::Withheld { populated: decision.populated }
    }

    /// Nobody knows what would have become of it; what did is in the observations.
    fn compact(&mut self, _order: &Compact) {}

    fn now(&mut self) -> Ns {
        self.now
    }

    fn wait_until(&mut self, at: Ns) -> Wake {
        if let Some((when, paused)) = self.pauses.front().copied().filter(|(when, _)| *when <= at) {
            self.pauses.pop_front();
            self.now = self.now.max(when);
            return if paused { Wake::Pause } else { Wake::Resume };
        }
        // After the last observation the recorded run still acted, up to its last outcome.
        // At the end of all times nothing is later.
        if self.observations.is_empty() && (at > self.end || at == Ns(u64::MAX)) {
            return Wake::Stop;
        }
        // Recorded times rule: the next observation or outcome moves the clock itself. Only a
        // wait inside a tick moves it here, or pacing would never let a turn come.
        self.now = self.now.max(at);
        Wake::Reached
    }

    /// Early only where the recorded run was: what it saw next it asked for before the end of a
    /// tick.
    fn wait_for_tick(&mut self, at: Ns, end: Ns) -> Wake {
        let Some((seen, began)) = self.observations.front() else {
            // A tick begins with looking: this was the last one.
            return Wake::Stop;
        };
        let early = began.unwrap_or(seen.at) < end;
        self.wait_until(if early { at } else { end })
    }
}
