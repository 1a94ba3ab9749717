//! A thread on each CPU that sleeps, and notes when it wakes too late. One of them, as it is awake
//! anyway, notes when programs waited for memory.

use super::message::{Message, PRESSURE, now, waited_of};
use crate::sampling;
use hugewise_base::units::Ns;
use hugewise_evidence::freeze::Late;
use hugewise_linux::root::Root;
use hugewise_sys::cpu;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SendError, Sender};
use std::thread;

/// Time between two wake-ups of a CPU, unless freezes that are hardly longer are asked for, ...
const EVERY: Ns = Ns::ms(200);
/// ... and at least so much for each CPU, which makes 400 wake-ups a second in all
/// (`docs/measurements.md#freezes`).
const EVERY_OF_CPU: Ns = Ns::us(2_500);
/// Programs wait for memory from this share of the time on.
const GROWN_SHARE: f64 = 0.1;
/// How long a thread has waited for its CPU in all is asked after so many wake-ups.
const WAKES: u32 = 16;

/// Probes that run; they end on drop.
#[derive(Debug)]
pub(super) struct Probes {
    ends: Arc<AtomicBool>,
    due: Due,
    /// Delays from here on count.
    told: Ns,
    /// CPUs that this process may not use.
    out_of_reach: usize,
}

/// When the probe of each CPU is to wake next, in nanoseconds.
type Due = Arc<BTreeMap<u32, AtomicU64>>;

impl Probes {
    /// Starts one on each CPU that this process may use, which tells delays of half of `bound` on.
    ///
    /// # Errors
    /// Where there is no thread to be had, or the CPUs are not known.
    pub(super) fn start(root: &Root, bound: Ns, send: &Sender<Message>) -> Result<Self, String> {
        let online = sampling::online(root)?;
        let allowed = cpu::allowed_cpus(std::process::id()).unwrap_or_default();
        let allowed: BTreeSet<u32> = allowed.into_iter().collect();
        let out_of_reach = online.difference(&allowed).count();
        let cpus = online.intersection(&allowed);
        let told = Ns(bound.0 / 2);
        let due: Due = Arc::new(cpus.map(|cpu| (*cpu, AtomicU64::new(u64::MAX))).collect());
        let every = every(bound, due.len());
        let ends = Arc::new(AtomicBool::new(false));
        let mut pressure = File::open(root.path(PRESSURE)).ok();
        for cpu in due.keys() {
            let probe = Probe {
                cpu: *cpu,
                told,
                every,
                due: Arc::clone(&due),
                ends: Arc::clone(&ends),
                send: send.clone(),
                stalls: pressure.take().map(Stalls::new),
            };
            let started = thread::Builder::new().name(format!("probe-{cpu}"));
            started.spawn(move || probe.run()).map_err(|error| error.to_string())?;
        }
        Ok(Self { ends, due, told, out_of_reach })
    }

    /// CPUs that have a probe.
    pub(super) fn cpus(&self) -> BTreeSet<u32> {
        self.due.keys().copied().collect()
    }

    /// How many CPUs have none, because this process may not use them.
    pub(super) const fn out_of_reach(&self) -> usize {
        self.out_of_reach
    }

    /// Probes that are late by now.
    pub(super) fn overdue(&self, now: Ns) -> impl Iterator<Item = Late> {
        let due = self.due.iter().map(|(cpu, due)| (*cpu, Ns(due.load(Ordering::Relaxed))));
        let late = due.filter(move |(_, due)| now.since(*due) >= self.told);
        late.map(move |(cpu, due)| Late { cpu, due, woke: now, ready: None })
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// What one thread has.
struct Probe {
    cpu: u32,
    /// Delays from here on are told.
    told: Ns,
    every: Ns,
    due: Due,
    ends: Arc<AtomicBool>,
    send: Sender<Message>,
    stalls: Option<Stalls>,
}

/// Waiting for memory, of which only growth is told.
struct Stalls {
    file: File,
    last: Option<(Ns, Ns)>,
    told: bool,
}

impl Stalls {
    const fn new(file: File) -> Self {
        Self { file, last: None, told: false }
    }

    fn look(&mut self, send: &Sender<Message>) -> Result<(), SendError<Message>> {
        let mut text = [0; 256];
        let length = self.file.read_at(&mut text, 0).unwrap_or(0);
        let text = std::str::from_utf8(text.get(..length).unwrap_or_default()).unwrap_or_default();
        let Some(total) = waited_of(text) else { return Ok(()) };
        let at = now();
        let Some((before, earlier)) = self.last.replace((at, total)) else { return Ok(()) };
        let grown = total.since(earlier).as_s() >= at.since(before).as_s() * GROWN_SHARE;
        // The look before is where it began, and the one after is where it ended.
        if grown && !self.told {
            send.send(Message::Waited(before, earlier))?;
        }
        let tell = grown || self.told;
        self.told = grown;
        if tell { send.send(Message::Waited(at, total)) } else { Ok(()) }
    }
}

impl Probe {
    fn run(mut self) {
        let Ok(_pin) = cpu::pin_current_thread(self.cpu) else { return };
        let all_due = Arc::clone(&self.due);
        let Some(own_due) = all_due.get(&self.cpu) else { return };
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        let waited = || schedstat.as_ref().and_then(waited_for_cpu);
        let (mut wakes, mut ready_before) = (0_u32, waited());
        while !self.ends.load(Ordering::Relaxed) {
            let due = now() + self.every;
            own_due.store(due.0, Ordering::Relaxed);
            sleep_until(due);
            let woke = now();
            let mut told = Ok(());
            if woke.since(due) >= self.told {
                // Since it was last asked it waited some milliseconds beside this.
                let ready_now = waited();
                let ready = ready_now.zip(ready_before).map(|(now, before)| now.since(before));
                ready_before = ready_now;
                told = self.send.send(Message::Late(Late { cpu: self.cpu, due, woke, ready }));
            } else if self.is_another_late(woke) {
                told = self.send.send(Message::Hurry);
            }
            let looked = self.stalls.as_mut().map_or(Ok(()), |stalls| stalls.look(&self.send));
            if told.and(looked).is_err() {
                break;
            }
            wakes = wakes.wrapping_add(1);
            if wakes % WAKES == 0 {
                ready_before = waited();
            }
        }
        own_due.store(u64::MAX, Ordering::Relaxed);
    }

    /// Whether some CPU is frozen while this one is not: whoever holds it can be asked for now.
    fn is_another_late(&self, now: Ns) -> bool {
        let late = |due: &AtomicU64| now.since(Ns(due.load(Ordering::Relaxed))) >= self.told;
        self.due.values().any(late)
    }
}

/// How long a probe sleeps: less than a freeze of `bound` lasts, so that two wake-ups say how dense
/// a stall is.
fn every(bound: Ns, cpus: usize) -> Ns {
    let least = Ns(EVERY_OF_CPU.0.saturating_mul(cpus as u64));
    EVERY.min(Ns(bound.0 / 3 * 2)).max(least)
}

fn sleep_until(at: Ns) {
    let seconds = i64::try_from(at.0 / 1_000_000_000).unwrap_or(i64::MAX);
    let rest = i64::try_from(at.0 % 1_000_000_000).unwrap_or(0);
    let at = Timespec { tv_sec: seconds, tv_nsec: rest };
    // A signal that interrupts it makes it early by chance, which hurts nobody.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
}

/// For how long the thread of this file was ready to run and did not (`sched_info`'s `run_delay`,
/// the second number of its `schedstat`); `None` without `CONFIG_SCHED_INFO`.
fn waited_for_cpu(schedstat: &File) -> Option<Ns> {
    let mut text = [0; 64];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_wake_within_the_shortest_freeze_that_is_asked_for() {
        assert_eq!(every(Ns::s(1), 2), EVERY);
        assert_eq!(every(Ns::ms(30), 2), Ns::ms(20));
        // No more than 400 times a second in all.
        assert_eq!(every(Ns::ms(30), 64), Ns::ms(160));
        assert_eq!(every(Ns::s(1), 400), Ns::s(1));
    }
}
