use super::*;
use hugewise_base::parse::proc_stat::CpuTimes;
use hugewise_base::units::Ns;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const BOUND: Ns = Ns::ms(300);
const OWN: u32 = 7;

fn late(cpu: u32, due_ms: u64, woke_ms: u64) -> Late {
    let (due, woke) = (Ns::ms(due_ms), Ns::ms(woke_ms));
    Late { cpu, due, woke, ready: Some(woke.since(due)) }
}

/// The only freeze of these delays.
fn frozen(all: &[Late]) -> Freeze {
    let mut detector = Detector::new(BOUND);
    all.iter().for_each(|late| detector.late(*late));
    let mut found = detector.end();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn ran(at_ms: u64, cpu: u32, pid: u32, chain: &[&str]) -> Ran {
    let chain = chain.iter().map(|name| (*name).to_owned()).collect();
    Ran { at: Ns::ms(at_ms), cpu, pid, tid: pid, chain }
}

fn program(name: &str, policy: u32) -> Program {
    let name = name.to_owned();
    Program { name, policy: Some(policy), rt_priority: 50, kernel_thread: Some(false) }
}

/// Two CPUs, a sample each 100 ms, and three programs.
fn facts(ran: Vec<Ran>) -> Facts {
    let programs = [(10, program("hog", 1)), (11, program("shop", 0)), (12, program("db", 0))];
    Facts {
        own_pid: OWN,
        watched: BTreeSet::from([0, 1]),
        samples_hz: Some(10),
        ran,
        programs: BTreeMap::from(programs),
        ticks_per_s: 100,
        ..Facts::default()
    }
}

/// A second on CPU 1, in which a sample of these was taken every 100 ms.
fn second(samples: &[(u32, &[&str])]) -> (Freeze, Facts) {
    let each = (0..10).map(|at| (at, samples[at % samples.len()]));
    let all = each.map(|(at, (pid, chain))| ran(1000 + at as u64 * 100, 1, pid, chain));
    (frozen(&[late(1, 1000, 2000)]), facts(all.collect()))
}

#[test]
fn delays_below_the_bound_are_none() {
    let mut detector = Detector::new(BOUND);
    detector.late(late(0, 1000, 1299));
    assert_eq!(detector.over(Ns::s(9), false), []);
    assert_eq!(detector.end(), []);
}

#[test]
fn the_pieces_of_one_freeze_are_one() {
    // A real-time task leaves 50 ms of each second to others.
    let one = frozen(&[late(0, 0, 950), late(0, 1050, 1950), late(1, 2000, 2900)]);
    assert_eq!((one.began, one.ended, one.lasts), (Ns(0), Ns::ms(2900), false));
    assert_eq!(one.what, What::Cpu { cpus: BTreeSet::from([0, 1]) });
    let mut detector = Detector::new(BOUND);
    detector.late(late(0, 0, 400));
    detector.late(late(0, 1000, 1160));
    detector.late(late(0, 1700, 1800));
    detector.late(late(0, 2400, 2700));
    let found = detector.end();
    let times = found.iter().map(|one| (one.began, one.ended)).collect::<Vec<_>>();
    // One continues with a delay of half of the bound, and no shorter one.
    assert_eq!(times, [(Ns(0), Ns::ms(1160)), (Ns::ms(2400), Ns::ms(2700))]);
}

#[test]
fn a_freeze_is_told_when_it_is_over_or_lasts() {
    let mut detector = Detector::new(BOUND);
    detector.late(late(0, 0, 400));
    assert_eq!(detector.over(Ns::ms(1500), false), [], "another piece may follow");
    assert_eq!(detector.over(Ns::ms(1600), true), [], "a probe is late");
    assert_eq!(detector.over(Ns::ms(1600), false).len(), 1);
    // One that continues is reported once.
    for second in 20..40 {
        detector.late(late(1, 20_000, second * 1000 + 999));
    }
    let told = detector.over(Ns::s(40), true);
    assert!(told.len() == 1 && told[0].lasts, "{told:?}");
    detector.late(late(1, 20_000, 45_000));
    assert_eq!(detector.over(Ns::s(50), false), []);
}

#[test]
fn waiting_for_memory_counts_while_it_goes_on_without_a_break() {
    let told = |pieces: &[u64]| {
        let mut detector = Detector::new(BOUND);
        let mut total = 0;
        detector.waited(Ns(0), Ns(0));
        for (at, piece) in pieces.iter().enumerate() {
            total += piece;
            detector.waited(Ns::ms(100 * (at as u64 + 1)), Ns::ms(total));
        }
        detector.end()
    };
    let one = told(&[0, 60, 100, 100, 100, 30, 0]);
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].what, What::Memory { stalled_ns: Ns::ms(390).0 });
    assert_eq!((one[0].began, one[0].ended), (Ns::ms(100), Ns::ms(600)));
    assert_eq!(told(&[40; 50]), [], "four tenths of the time, for long: no freeze");
    assert_eq!(told(&[100, 100]), [], "too short");
    // Looked at less often: what is in the first and the last piece may be all in one.
    let mut detector = Detector::new(BOUND);
    for (at, total) in [(0, 0), (2000, 200), (2100, 300), (2200, 320), (3400, 320)] {
        detector.waited(Ns::ms(at), Ns::ms(total));
    }
    assert_eq!(detector.over(Ns::s(4), false).len(), 1);
    let mut detector = Detector::new(BOUND);
    for (at, total) in [(0, 0), (2000, 400), (2100, 400), (3400, 400)] {
        detector.waited(Ns::ms(at), Ns::ms(total));
    }
    assert_eq!(detector.over(Ns::s(4), false), [], "a fifth of two seconds");
}

#[test]
fn a_stop_counts_when_it_ends_or_lasts() {
    let signal = |ms, stops| Signal { at: Ns::ms(ms), to: 11, from: 12, stops };
    let mut detector = Detector::new(BOUND);
    detector.signal(signal(0, true));
    detector.signal(signal(200, false));
    assert_eq!(detector.over(Ns::s(1), false), [], "too short");
    detector.signal(signal(1000, true));
    detector.signal(signal(1500, true));
    detector.signal(signal(2000, false));
    let told = detector.over(Ns::s(3), false);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].began, told[0].length()), (Ns::s(1), Ns::s(1)));
    let account = explain(&told[0], &facts(Vec::new()));
    assert_eq!(account.cause, Cause::Stopped);
    assert_eq!(account.seen, ["'db' (pid 12) sent SIGSTOP to 'shop' (pid 11)"]);
    // One that never continues is reported once, and one that ended is not.
    detector.signal(signal(10_000, true));
    assert!(detector.over(Ns::s(21), false)[0].lasts);
    assert_eq!(detector.over(Ns::s(90), false), []);
    detector.signal(Signal { to: 12, ..signal(10_000, true) });
    detector.gone(12);
    assert_eq!(detector.over(Ns::s(90), false), []);
}

#[test]
fn whoever_ran_held_the_cpu() {
    let cause = |samples: &[(u32, &[&str])]| {
        let (freeze, facts) = second(samples);
        let account = explain(&freeze, &facts);
        (account.cause, account.holders.first().map(|holder| (holder.pid, holder.work)))
    };
    assert_eq!(cause(&[(10, &[])]), (Cause::RealTimeTask, Some((10, Work::Own))));
    assert_eq!(cause(&[(11, &[])]), (Cause::Program, Some((11, Work::Own))));
    let fork: &[&str] = &["copy_pte_range", "copy_page_range", "dup_mmap"];
    assert_eq!(cause(&[(11, fork)]), (Cause::KernelWork, Some((11, Work::Fork))));
    let packets: &[&str] = &["net_rx_action", "handle_softirqs"];
    let (cause_of, _) = cause(&[(11, packets), (12, packets), (11, &[])]);
    assert_eq!(cause_of, Cause::Interrupts);
    let many: Vec<(u32, &[&str])> = (20..30).map(|pid| (pid, &[][..])).collect();
    assert_eq!(cause(&many).0, Cause::Crowded);
}

#[test]
fn samples_of_other_cpus_and_times_say_nothing() {
    let (freeze, mut facts) = second(&[(11, &[])]);
    facts.ran.extend((0..90).map(|at| ran(1000 + at * 10, 0, 12, &[])));
    facts.ran.extend((0..90).map(|at| ran(3000 + at * 10, 1, 12, &[])));
    let account = explain(&freeze, &facts);
    assert_eq!((account.cause, account.holders[0].pid), (Cause::Program, 11));
    assert_eq!(account.holders.len(), 1);
}

#[test]
fn whoever_was_not_ready_was_not_kept_from_the_cpu() {
    let (mut freeze, mut facts) = second(&[(11, &[])]);
    freeze.late.values_mut().for_each(|late| late.ready = Some(Ns(0)));
    assert_eq!(explain(&freeze, &facts).cause, Cause::RecorderWaited);
    facts.signals.push(Signal { at: Ns::ms(950), to: OWN, from: 12, stops: true });
    let account = explain(&freeze, &facts);
    assert_eq!(account.cause, Cause::RecorderStopped);
    assert!(account.seen.iter().any(|seen| seen.contains("'db' (pid 12)")), "{account:?}");
    // A stop of long before is none of this one.
    facts.signals[0].at = Ns(0);
    let freeze = Freeze { began: Ns::s(5), ended: Ns::s(6), ..freeze };
    assert_ne!(explain(&freeze, &facts).cause, Cause::RecorderStopped);
}

#[test]
fn where_nothing_ran_the_counters_of_time_decide() {
    let times = |cpus: &[(u32, CpuTimes)], ms| Counted {
        at: Ns::ms(ms),
        cpus: cpus.iter().copied().collect(),
    };
    let ticks = |idle, steal| CpuTimes { idle, steal, ..CpuTimes::default() };
    let mut both = frozen(&[late(0, 1000, 2000), late(1, 1000, 2000)]);
    both.late.values_mut().for_each(|late| late.ready = Some(Ns(0)));
    let cause = |after: CpuTimes| {
        let before = times(&[(0, ticks(0, 0)), (1, ticks(0, 0))], 500);
        let after = times(&[(0, after), (1, after)], 2500);
        let facts = Facts { times: Some((before, after)), ..facts(Vec::new()) };
        explain(&both, &facts).cause
    };
    assert_eq!(cause(ticks(200, 0)), Cause::Paused);
    assert_eq!(cause(ticks(100, 100)), Cause::Hypervisor);
    assert_eq!(cause(ticks(90, 0)), Cause::NoInterrupts);
    both.late.values_mut().for_each(|late| late.ready = Some(Ns::s(1)));
    let before = times(&[(0, ticks(0, 0)), (1, ticks(0, 0))], 500);
    let after = times(&[(0, ticks(90, 0)), (1, ticks(90, 0))], 2500);
    let facts_of = Facts { times: Some((before, after)), ..facts(Vec::new()) };
    assert_ne!(explain(&both, &facts_of).cause, Cause::NoInterrupts, "an interrupt woke it");
    // The other CPU was on time, and idle: only the recorder's thread of this one was not run.
    let one = frozen(&[late(1, 1000, 2000)]);
    assert_eq!(explain(&one, &facts(Vec::new())).cause, Cause::RecorderWaited);
    let blind = Facts { samples_hz: None, ..facts(Vec::new()) };
    let account = explain(&one, &blind);
    assert_eq!((account.cause, account.missing.len()), (Cause::Unknown, 1));
}

#[test]
fn waiting_for_memory_has_the_cause_that_programs_worked_at() {
    let stall = |ran: Vec<Ran>, grown: &[(&str, u64)]| {
        let what = What::Memory { stalled_ns: Ns::ms(900).0 };
        let (began, ended) = (Ns::s(1), Ns::s(2));
        let freeze = Freeze { what, began, ended, lasts: false, late: BTreeMap::new() };
        let grown = grown.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect();
        let account = explain(&freeze, &Facts { grown, ..facts(ran) });
        (account.cause, account.holders.first().map(|holder| holder.pid))
    };
    let compacts = ran(1500, 0, 11, &["isolate_migratepages_block", "compact_zone"]);
    let reclaims = ran(1500, 0, 12, &["shrink_lruvec", "try_to_free_pages"]);
    assert_eq!(stall(vec![compacts.clone()], &[]), (Cause::Compaction, Some(11)));
    assert_eq!(stall(vec![reclaims.clone()], &[]), (Cause::Reclaim, Some(12)));
    let more = vec![compacts, reclaims.clone(), reclaims];
    assert_eq!(stall(more, &[]), (Cause::Reclaim, Some(12)));
    assert_eq!(stall(Vec::new(), &[("compact_stall", 9)]), (Cause::Compaction, None));
    assert_eq!(stall(Vec::new(), &[("allocstall_normal", 9)]), (Cause::Reclaim, None));
    assert_eq!(stall(Vec::new(), &[]), (Cause::MemoryWait, None));
}

#[test]
fn a_real_time_thread_of_an_ordinary_program_is_one() {
    let (freeze, mut facts) = second(&[(11, &[])]);
    facts.ran.iter_mut().for_each(|ran| ran.tid = 10);
    let account = explain(&freeze, &facts);
    assert_eq!(account.cause, Cause::RealTimeTask);
    assert_eq!((account.holders[0].name.as_str(), account.holders[0].pid), ("shop", 11));
}

proptest! {
    #[test]
    fn nothing_that_comes_in_is_too_odd(
        delays in prop::collection::vec((0..3_u32, any::<u64>(), any::<u64>()), 0..20),
        waits in prop::collection::vec((any::<u64>(), any::<u64>()), 0..20),
        signals in prop::collection::vec((any::<u64>(), 0..3_u32, any::<bool>()), 0..20),
        now in any::<u64>(),
    ) {
        let mut detector = Detector::new(BOUND);
        for (cpu, due, woke) in delays {
            detector.late(Late { cpu, due: Ns(due), woke: Ns(woke), ready: None });
        }
        for (at, total) in waits {
            detector.waited(Ns(at), Ns(total));
        }
        for (at, to, stops) in signals {
            detector.signal(Signal { at: Ns(at), to, from: 9, stops });
        }
        let mut all = detector.over(Ns(now), false);
        all.extend(detector.end());
        for freeze in all {
            prop_assert!(freeze.began <= freeze.ended);
            let _ = explain(&freeze, &facts(vec![ran(0, 0, 0, &[""])]));
        }
    }
}
