use super::*;
use crate::probe::privileges;
use crate::root::Root;
use crate::sampling;
use crate::track::counters::may_be_used;
use hugewise_sys::perf::Event;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use std::collections::BTreeSet;

const PID: u32 = 7;

fn seen(touches: &[Touch], all_operations: bool) -> Seen {
    let pages = BTreeMap::from([(PID, Pages::new()), (9, Pages::new())]);
    let mut seen = Seen { pages, ..Seen::default() };
    touches.iter().for_each(|touch| seen.add(*touch, all_operations));
    seen
}

fn touch(pid: u32, address: u64, missed: Option<bool>) -> Touch {
    Touch::Sample { pid, address, user: true, missed }
}

#[test]
fn only_what_the_program_itself_accessed_counts_and_everything_costs() {
    let kernel = Touch::Sample { pid: PID, address: 0x5000, user: false, missed: None };
    let all = [
        touch(PID, 0x1234, None),
        touch(PID, 0x1ff8, None),
        touch(PID, 0x2000, None),
        touch(8, 0x3000, None),
        touch(9, 0x4000, None),
        kernel,
        Touch::Lost(10),
    ];
    let found = seen(&all, false);
    let own = BTreeMap::from([(0x1000, 2), (0x2000, 1)]);
    assert_eq!(counts(&own, 0x1000, 0x1000), [2]);
    assert_eq!(found.pages, BTreeMap::from([(PID, own), (9, BTreeMap::from([(0x4000, 1)]))]));
    assert_eq!((found.taken, found.is_mute()), (16, false));
}

#[test]
fn of_all_operations_those_count_that_missed() {
    let all =
        [touch(PID, 0x1000, Some(true)), touch(PID, 0x2000, Some(false)), touch(PID, 0x3000, None)];
    assert_eq!(seen(&all, true).pages[&PID], BTreeMap::from([(0x1000, 1)]));
}

/// As IBS before Linux 6.1: address 0, and not a word of how it was translated.
#[test]
fn counters_that_never_say_what_missed_are_known_as_such() {
    let mute = vec![touch(PID, 0, None); 256];
    assert!(seen(&mute, true).is_mute() && !seen(&mute[1..], true).is_mute());
    assert!(!seen(&mute, false).is_mute(), "an event that counts misses needs not say so");
    let one = [&mute[..], &[touch(8, 0x1000, Some(false))]].concat();
    assert!(!seen(&one, true).is_mute(), "another program's shows it as well");
}

#[test]
fn looks_share_the_samples_and_the_last_one_ends_them() {
    let Some(first) = begin_with_page_faults(PID) else { return };
    let mut cost = Cost::new();
    let second = join(Rc::clone(&first.session), 9, &mut cost);
    let running = Rc::downgrade(&first.session);
    first.session.borrow_mut().seen.add(touch(9, 0x1000, None), false);
    drop(first);
    let seen = || running.upgrade().map(|session| session.borrow().seen.pages.clone());
    assert_eq!(seen(), Some(BTreeMap::from([(9, BTreeMap::from([(0x1000, 1)]))])));
    // A new look at the same program starts with nothing.
    let third = join(Rc::clone(&second.session), 9, &mut cost);
    assert_eq!(seen(), Some(BTreeMap::from([(9, Pages::new())])));
    drop((second, third));
    assert_eq!(seen(), None);
}

#[test]
fn errors_of_counters_have_names() {
    for (errno, reason) in [
        (Errno::NOENT, SkipReason::NoMechanism),
        (Errno::INVAL, SkipReason::NoMechanism),
        (Errno::OPNOTSUPP, SkipReason::NoMechanism),
        (Errno::NOSYS, SkipReason::NoMechanism),
        (Errno::ACCES, SkipReason::NoPermission),
        (Errno::PERM, SkipReason::NoPermission),
        (Errno::BUSY, SkipReason::TrackerBusy),
        (Errno::MFILE, SkipReason::TrackingTooExpensive),
        (Errno::NOMEM, SkipReason::RetryLater),
    ] {
        assert_eq!(reason_of_counter(errno), reason, "{errno}");
    }
}

/// Why this process may not sample, as its files and capabilities tell.
fn barred() -> Option<SkipReason> {
    let root = Root::live();
    may_be_used(&root, &privileges(&root).caps).err().map(|(reason, _)| reason)
}

#[test]
fn an_event_that_no_cpu_has_is_refused_and_so_are_cpus_that_are_off() {
    // No such number is given out.
    let event = Event { kind: 4_000_000, config: 0, precise: 0, user_only: true };
    for cpu in [0, 8_000] {
        let counter = Counter { event, cpus: BTreeSet::from([cpu]), all_operations: false };
        let refused = start(&[counter], Ns::ms(50), 1_999).err();
        assert_eq!(refused, barred().or(Some(SkipReason::NoMechanism)), "CPU {cpu}");
    }
}

#[test]
fn who_lacks_the_right_to_sample_gets_its_name() {
    // Capabilities are a thread's: the others keep theirs.
    let without = std::thread::spawn(|| {
        let held = capabilities(None).expect("has capabilities");
        let lost = CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
        let effective = held.effective - lost;
        set_capabilities(None, CapabilitySets { effective, ..held }).expect("gives them up");
        start(&[page_faults()], Ns::ms(50), 1_999).err()
    });
    let refused = without.join().expect("ends");
    let mut caps = privileges(&Root::live()).caps;
    caps.iter_mut().for_each(|cap| cap.held = Some(false));
    let expected = may_be_used(&Root::live(), &caps).err();
    // Only where everybody may (kernel.perf_event_paranoid below 1) nothing is refused.
    assert_eq!(refused, expected.map(|(reason, _)| reason));
}

/// Page faults of all CPUs (`PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_PAGE_FAULTS`): each kernel counts
/// them, with the address.
fn page_faults() -> Counter {
    let event = Event { kind: 1, config: 2, precise: 0, user_only: true };
    let cpus = sampling::online(&Root::live()).expect("CPUs are online");
    Counter { event, cpus, all_operations: false }
}

/// A look that begins with them; `None`: this user may not, by the name that was told before.
pub(in crate::track) fn begin_with_page_faults(pid: u32) -> Option<Begun> {
    let session = start(&[page_faults()], Ns::ms(50), 1_999);
    assert_eq!(session.as_ref().err().copied(), barred());
    let session = Rc::new(RefCell::new(session.ok()?));
    Some(join(session, pid, &mut Cost::new()))
}
