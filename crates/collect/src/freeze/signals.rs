//! Signals that stop programs and let them go on, as the kernel's trace event tells them.

use crate::sampling;
use hugewise_base::parse::trace_format::{self, Place};
use hugewise_base::units::Ns;
use hugewise_evidence::freeze::Signal;
use hugewise_linux::root::Root;
use hugewise_sys::Errno;
use hugewise_sys::perf::{Trace, Tracepoint};

/// Where tracefs is mounted: as systemd does it, and as it was before.
const TRACEFS: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
const EVENT: &str = "events/signal/signal_generate";
/// `SIGSTOP`, and what ends a stop: `SIGCONT` and `SIGKILL` (x86-64, arm64).
const STOP: i32 = 19;
const FILTER: &std::ffi::CStr = c"sig==19||sig==18||sig==9";
/// `TRACE_SIGNAL_DELIVERED` of `include/trace/events/signal.h`.
const DELIVERED: i32 = 0;
/// Memory for records of one CPU, in pages: of 80 bytes each some 100.
const PAGES: usize = 2;

/// The event on each CPU.
#[derive(Debug)]
pub(super) struct Signals {
    events: Vec<Tracepoint>,
    sig: Place,
    pid: Place,
    result: Option<Place>,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    /// Why this machine, or this user, has no such events, in words.
    pub(super) fn start(root: &Root) -> Result<Self, String> {
        let there = |folder: &&&str| root.has(format!("{folder}/{EVENT}/id"));
        let missing = "no trace events: tracefs is not mounted, or only root may read it";
        let folder = TRACEFS.iter().find(there).ok_or(missing)?;
        let read = |file| root.read_text(format!("{folder}/{EVENT}/{file}"));
        let id = read("id").map_err(|error| error.to_string())?;
        let id: u64 = id.trim().parse().map_err(|_| "the event has no number")?;
        let fields = trace_format::parse(&read("format").map_err(|error| error.to_string())?);
        let place = |name| fields.get(name).copied();
        let (sig, pid) = place("sig").zip(place("pid")).ok_or("the event has other fields")?;
        let mut events = Vec::new();
        for cpu in sampling::online(root)? {
            match Tracepoint::open(id, FILTER, cpu, PAGES) {
                Ok(event) => events.push(event),
                Err(Errno::NODEV) => {}
                Err(errno) => return Err(errno.to_string()),
            }
        }
        Ok(Self { events, sig, pid, result: place("result") })
    }

    /// Signals since the last call, in the order in which they were sent. `leader` gives the
    /// process of a thread.
    pub(super) fn drain(&mut self, leader: impl Fn(u32) -> u32) -> Vec<Signal> {
        let mut traces = Vec::new();
        for event in &mut self.events {
            event.drain(|trace| traces.push(trace));
        }
        let mut all: Vec<Signal> =
            traces.iter().filter_map(|trace| self.signal(trace, &leader)).collect();
        all.sort_by_key(|signal| signal.at);
        all
    }

    fn signal(&self, trace: &Trace, leader: impl Fn(u32) -> u32) -> Option<Signal> {
        let number = |place: Place| place.number(&trace.raw);
        let to = u32::try_from(number(self.pid)?).ok()?;
        let stops = number(self.sig)? == STOP;
        // SIGCONT lets a program go on even where it ignores the signal, as most do.
        if stops && self.result.and_then(number).is_some_and(|result| result != DELIVERED) {
            return None;
        }
        Some(Signal { at: Ns(trace.at_ns), to: leader(to), from: trace.pid, stops })
    }
}
