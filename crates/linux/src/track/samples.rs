//! The CPUs' own counters: they note addresses of accesses whose translation was in no TLB, which
//! is what a huge page saves. They interrupt the CPU for each, a few thousand times in a look.
//!
//! Counters belong to CPUs, and sample whatever runs there: looks at several programs share them,
//! and what other programs access is dropped unread. On AMD's a guest's accesses are its
//! hypervisor's, by address; Intel's leave guests out.

use super::candidates::{Candidates, Region};
use super::counters::{self, Counter};
use super::look::{Cost, Look};
use crate::reason::reason_of_errno;
use crate::sampling::Most;
use hugewise_base::units::{Addr, Ns};
use hugewise_manager::access::Access;
use hugewise_manager::access::samples::{Sampled, accesses};
use hugewise_manager::reason::SkipReason;
use hugewise_sys::Errno;
use hugewise_sys::perf::{Addresses, Touch};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

/// A prime, so that it does not beat with what a program repeats; a record has an address and who
/// accessed it.
const MOST: Most = Most {
    of_cpu_hz: 1_999,
    of_all_hz: 8_000,
    of_cpu_bytes: 64 << 10,
    of_all_bytes: 8 << 20,
    record_bytes: 32,
};
/// A look takes a second by default. In a longer one records find no room, and are counted.
const WINDOW: Duration = Duration::from_secs(1);
/// CPU time that an interrupt takes, ns, at most. Estimated: no machine at hand has such counters
/// (`docs/measurements.md#cost-of-a-look`).
const SAMPLE_NS: u64 = 5_000;
/// Interrupts may take this part of the budget: one half.
const PART: u64 = 2;
/// With fewer samples a second of all CPUs nothing would be told; 0.5 ms of CPU for a look.
const LEAST_HZ: u64 = 100;
/// After so many operations one has accessed memory, and the kernel has said how, if it can.
const TELLING: u64 = 256;
/// Bits of an address within its base page. Larger ones (arm64) are sampled by nobody here.
const PAGE_MASK: u64 = 4095;
/// Time that reading the answer may take at the end, whatever is left: samples have been paid for.
const LEAST_BUDGET: Ns = Ns::ms(20);

/// Samples that are being taken, if any look has begun.
#[derive(Debug, Default)]
pub(super) struct Sampler(Weak<RefCell<Session>>);

/// A look that has begun; with the last one that is dropped the samples end.
#[derive(Debug)]
pub(super) struct Begun {
    session: Rc<RefCell<Session>>,
    pid: u32,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.session.borrow_mut().seen.pages.remove(&self.pid);
    }
}

/// Counters that run, and what they saw.
#[derive(Debug)]
struct Session {
    counters: Vec<Sampling>,
    seen: Seen,
}

/// One counter of one CPU.
#[derive(Debug)]
struct Sampling {
    addresses: Addresses,
    all_operations: bool,
}

/// Begins to sample all CPUs, unless they are sampled already.
pub(super) fn begin(look: &mut Look<'_>, sampler: &mut Sampler) -> Result<Begun, SkipReason> {
    let session = match sampler.0.upgrade() {
        Some(session) => session,
        None => {
            let counters = counters::of_this_machine(look.root)?;
            let session = start(&counters, look.ask.budget, highest_rate(look))?;
            Rc::new(RefCell::new(session))
        }
    };
    look.verify()?;
    sampler.0 = Rc::downgrade(&session);
    Ok(join(session, look.target.id.pid, look.cost))
}

/// From now on what this program accesses counts.
fn join(session: Rc<RefCell<Session>>, pid: u32, cost: &mut Cost) -> Begun {
    let mut running = session.borrow_mut();
    running.drain(cost);
    running.seen.pages.insert(pid, Pages::new());
    drop(running);
    Begun { session, pid }
}

/// The kernel lowers it where interrupts take too long.
fn highest_rate(look: &Look<'_>) -> u64 {
    let file = "proc/sys/kernel/perf_event_max_sample_rate";
    let rate = look.root.read_line(file).ok().and_then(|rate| rate.parse().ok());
    rate.unwrap_or(MOST.of_cpu_hz)
}

/// Begins to sample these counters within this CPU time, at most so often a second and CPU.
fn start(counters: &[Counter], budget: Ns, highest_hz: u64) -> Result<Session, SkipReason> {
    let of_all_hz = (budget.0 / PART / SAMPLE_NS).clamp(LEAST_HZ, MOST.of_all_hz);
    let cpus = counters.iter().map(|counter| counter.cpus.len()).sum();
    let most = Most { of_all_hz, of_cpu_hz: MOST.of_cpu_hz.min(highest_hz).max(1), ..MOST };
    let (hz, pages) = most.rates(cpus, WINDOW, rustix::param::page_size());
    let mut running = Vec::with_capacity(cpus);
    for counter in counters {
        for cpu in &counter.cpus {
            match Addresses::open(counter.event, *cpu, hz, pages) {
                Ok(addresses) => {
                    let all_operations = counter.all_operations;
                    running.push(Sampling { addresses, all_operations });
                }
                // It went offline meanwhile.
                Err(Errno::NODEV) => {}
                Err(errno) => return Err(reason_of_counter(errno)),
            }
        }
    }
    if running.is_empty() {
        return Err(SkipReason::NoMechanism);
    }
    Ok(Session { counters: running, seen: Seen::default() })
}

/// An event that a CPU does not have is told by several numbers; of files there may be too few.
fn reason_of_counter(errno: Errno) -> SkipReason {
    match errno {
        Errno::NOENT | Errno::INVAL | Errno::OPNOTSUPP => SkipReason::NoMechanism,
        Errno::BUSY => SkipReason::TrackerBusy,
        Errno::MFILE | Errno::NFILE => SkipReason::TrackingTooExpensive,
        Errno::NOMEM => SkipReason::RetryLater,
        errno => reason_of_errno(errno),
    }
}

/// How often base pages of a program were sampled, by address.
type Pages = BTreeMap<u64, u32>;

/// What was sampled.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Of the programs that are looked at, by pid.
    pages: BTreeMap<u32, Pages>,
    /// Samples of everybody.
    taken: u64,
    /// Operations, and those of which the kernel said how they were translated.
    operations: u64,
    told: u64,
}

impl Seen {
    fn add(&mut self, touch: Touch, all_operations: bool) {
        let (pid, address, user, missed) = match touch {
            Touch::Sample { pid, address, user, missed } => (pid, address, user, missed),
            Touch::Lost(samples) => return self.taken = self.taken.saturating_add(samples),
        };
        self.taken = self.taken.saturating_add(1);
        self.operations += u64::from(all_operations);
        self.told += u64::from(all_operations && missed.is_some());
        let counts = user && (!all_operations || missed == Some(true));
        if let Some(pages) = self.pages.get_mut(&pid).filter(|_| counts) {
            let count = pages.entry(address & !PAGE_MASK).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Before Linux 6.1 IBS has no address and does not say how it was translated.
    fn is_mute(&self) -> bool {
        self.operations >= TELLING && self.told == 0
    }
}

impl Session {
    /// Reads what was sampled since the last time. Whoever does pays for the interrupts.
    fn drain(&mut self, cost: &mut Cost) {
        let Self { counters, seen } = self;
        let before = seen.taken;
        for Sampling { addresses, all_operations } in counters {
            addresses.drain(|touch| seen.add(touch, *all_operations));
        }
        cost.others += Ns((seen.taken - before).saturating_mul(SAMPLE_NS));
    }
}

/// How often each page of a region was sampled that was.
fn counts(pages: &Pages, at: u64, bytes: u64) -> Vec<u32> {
    pages.range(at..at.saturating_add(bytes)).map(|(_, count)| *count).collect()
}

/// Says which memory was accessed since, of what could be huge.
pub(super) fn end(begun: Begun, look: &mut Look<'_>) -> Result<Vec<Access>, SkipReason> {
    let mut spent = Cost::new();
    let mut session = begun.session.borrow_mut();
    session.drain(&mut spent);
    let mute = session.seen.is_mute();
    let pages = session.seen.pages.remove(&begun.pid).unwrap_or_default();
    drop(session);
    drop(begun);
    let regions = match pages.is_empty() {
        _ if mute => Err(SkipReason::NoMechanism),
        true => Err(SkipReason::TooFewSamples),
        false => sampled(&pages, look),
    };
    // Only now: it is spent, and what is left is for reading.
    look.cost.others += spent.others;
    accesses(&regions?, look.geometry).ok_or(SkipReason::TooFewSamples)
}

/// The program's regions with their samples, ascending. Of a program that is too large to be read
/// within the budget only those at the end that were sampled, for as long again.
fn sampled(pages: &Pages, look: &mut Look<'_>) -> Result<Vec<Sampled>, SkipReason> {
    let bound = look.ask.budget.max(LEAST_BUDGET);
    let candidates = Candidates::read(look, bound)?;
    let huge = look.geometry.huge.0;
    let one = |region: Region| Sampled {
        at: Addr(region.at),
        present: region.populated.into(),
        huge: region.huge,
        counts: counts(pages, region.at, huge),
    };
    let (mut found, mut whole) = (Vec::new(), true);
    candidates.regions(look, |look, region| {
        found.push(one(region));
        whole = look.fits(bound).is_ok();
        whole
    })?;
    if whole {
        return Ok(found);
    }
    let mut next = found.last().map_or(0, |last| last.at.0.saturating_add(huge));
    while let Some((page, _)) = pages.range(next..).next() {
        let at = page / huge * huge;
        next = at.saturating_add(huge);
        let inside = candidates.ranges.iter().any(|range| range.start <= at && next <= range.end);
        if !inside {
            continue;
        }
        if look.fits(Ns(bound.0.saturating_mul(2))).is_err() {
            break;
        }
        let there = look.pages.region(&look.target.pagemap, at).map_err(reason_of_errno)?;
        found.push(one(Region { at, populated: there.populated(), huge: there.huge }));
    }
    Ok(found)
}

#[cfg(test)]
pub(super) mod tests;
