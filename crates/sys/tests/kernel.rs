//! The wrappers against the running kernel. What it lacks, or this user may not do, is reported
//! as skipped with the reason.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures of a run, for a reader")]
#![deny(unsafe_code)]

#[path = "kernel/child.rs"]
mod child;

use child::Child;
use hugewise_sys::madvise::{
    MADV_COLD, MADV_COLLAPSE, RemoteAdvice, advice_accepted, collapse_known_locally,
    process_madvise, syscall_present,
};
use hugewise_sys::memory::{Arena, LocalAdvice};
use hugewise_sys::pagemap::{self, MAX_REGIONS, PageRegion, ScanQuery, category, scan};
use hugewise_sys::perf::{CpuClock, Record};
use hugewise_sys::pidfd::PidFd;
use hugewise_sys::prctl::{
    ThpDisable, get_thp_disable, set_parent_death_signal, set_thp_disable,
    set_thp_disable_except_advised,
};
use hugewise_sys::{Errno, Presence};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

type Verdict = Result<Completion, Failed>;

const PAGE: usize = 4096;
/// Huge page size of x86-64.
const HUGE: u64 = 2 << 20;
const HUGE_LEN: usize = 2 << 20;

fn main() -> ExitCode {
    if let Some(role) = Child::role() {
        return match play(&role) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                println!("failed: {error:?}");
                ExitCode::FAILURE
            }
        };
    }
    let trials = vec![
        Trial::ignorable_test("probes_of_this_kernel", probes_of_this_kernel),
        Trial::ignorable_test("promotes_and_demotes_a_child", promotes_and_demotes_a_child),
        Trial::ignorable_test("probes_known_and_unknown_categories", probes_categories),
        Trial::ignorable_test("finds_exactly_the_touched_pages", finds_the_touched_pages),
        Trial::ignorable_test("resumes_where_a_full_buffer_stopped", resumes),
        Trial::ignorable_test("a_clock_sees_who_is_in_the_kernel", a_clock_sees),
        Trial::test("thp_disable_round_trip", || ends_with("thp_disable", "done")),
        Trial::test("child_dies_with_the_thread_that_started_it", child_dies_with_its_thread),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn skip(reason: impl ToString) -> Verdict {
    Ok(Completion::ignored_with(reason))
}

fn done() -> Verdict {
    Ok(Completion::Completed)
}

fn probes_of_this_kernel() -> Verdict {
    assert_eq!(syscall_present(), Presence::Present);
    let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
    let pidfd = PidFd::open(child.id())?;
    let cold = advice_accepted(pidfd.as_fd(), MADV_COLD);
    let collapse = advice_accepted(pidfd.as_fd(), MADV_COLLAPSE);
    let dont_need = advice_accepted(pidfd.as_fd(), libc::MADV_DONTNEED);
    child.kill()?;
    child.wait()?;
    assert_eq!(advice_accepted(pidfd.as_fd(), MADV_COLD), Err(Errno(libc::ESRCH)));
    // Destructive advice is not on the kernel's list for other processes.
    assert_eq!(dont_need, Err(Errno(libc::EINVAL)));
    if cold == Err(Errno(libc::EPERM)) {
        return skip("CAP_SYS_NICE is missing");
    }
    assert_eq!(cold, Ok(()));
    assert_eq!(collapse.is_ok(), collapse_known_locally());
    done()
}

fn promotes_and_demotes_a_child() -> Verdict {
    if own_pagemap()?.is_none() {
        return skip(NO_SCAN);
    }
    let mut child = Child::start("holds_memory");
    let addr: u64 = child.line().parse().map_err(|_| "the child prints an address")?;
    let pidfd = PidFd::open(child.id())?;
    let map = File::open(format!("/proc/{}/pagemap", child.id()))?;
    let huge_bytes = || {
        let query = ScanQuery {
            start: addr,
            end: addr + HUGE,
            any_of: category::HUGE,
            returned: category::HUGE,
            max_pages: 0,
        };
        let mut found = [PageRegion::default(); 8];
        let scanned = pagemap::scan(map.as_fd(), &query, &mut found)?;
        let sum = found[..scanned.regions].iter().map(|r| r.end - r.start).sum::<u64>();
        Ok::<_, Errno>(sum)
    };
    assert_eq!(huge_bytes(), Ok(0), "filled with base pages");
    match process_madvise(pidfd.as_fd(), addr, HUGE, RemoteAdvice::Collapse) {
        Ok(bytes) => assert_eq!(bytes, HUGE),
        Err(errno @ Errno(libc::EPERM | libc::ENOMEM | libc::EAGAIN | libc::EBUSY)) => {
            return skip(format!("rights or free huge pages are missing: {errno}"));
        }
        Err(errno) => return Err(format!("remote collapse: {errno}").into()),
    }
    assert_eq!(huge_bytes(), Ok(HUGE));
    // The kernel splits no page of which something else holds a reference, and reports no error.
    for _ in 0..100 {
        let one_page = process_madvise(pidfd.as_fd(), addr, 4096, RemoteAdvice::Cold);
        assert_eq!(one_page, Ok(4096));
        if huge_bytes() == Ok(0) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(huge_bytes(), Ok(0), "one cold page splits its huge page");
    // The child compares its own bytes before it answers.
    assert_eq!(child.finish(), "intact");
    done()
}

/// This process calls the kernel all the time, and finds itself in the samples.
fn a_clock_sees() -> Verdict {
    let cpus = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let last: u32 = cpus.trim().rsplit(['-', ',']).next().unwrap_or_default().parse()?;
    let mut clocks = Vec::new();
    for cpu in 0..=last {
        match CpuClock::open(cpu, 997, 64) {
            Ok(clock) => clocks.push(clock),
            Err(Errno::NODEV) => {}
            Err(errno) => return skip(format!("no samples of the CPUs' clocks: {errno}")),
        }
    }
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        let _ = std::fs::metadata("/proc/self/stat");
    }
    let (mut ours, mut deepest) = (0, 0);
    for clock in &mut clocks {
        clock.drain(|record| {
            if let Record::Sample { pid, kernel, .. } = record
                && pid == std::process::id()
            {
                ours += 1;
                deepest = deepest.max(kernel.len());
            }
        });
    }
    assert!(ours >= 50, "{ours} samples in a busy second");
    assert!(deepest >= 4, "a path is looked up some calls deep, not {deepest}");
    let again = clocks.iter_mut().map(|clock| {
        let mut all = 0;
        clock.drain(|record| all += usize::from(matches!(record, Record::Sample { .. })));
        all
    });
    assert!(again.sum::<usize>() < ours, "what was read is not read again");
    done()
}

const NO_SCAN: &str = "no PAGEMAP_SCAN before Linux 6.7";

/// This process's pagemap, or `None` where the kernel cannot scan.
fn own_pagemap() -> Result<Option<File>, Failed> {
    let file = File::open("/proc/self/pagemap")?;
    let answer = pagemap::scan_supported(file.as_fd(), category::PRESENT);
    Ok((answer != Err(Errno(libc::ENOTTY))).then_some(file))
}

fn probes_categories() -> Verdict {
    let Some(file) = own_pagemap()? else { return skip(NO_SCAN) };
    assert_eq!(pagemap::scan_supported(file.as_fd(), category::HUGE), Ok(()));
    let unknown = pagemap::scan_supported(file.as_fd(), 1 << 63);
    assert_eq!(unknown, Err(Errno(libc::EINVAL)));
    let not_a_pagemap = File::open("/proc/self/stat")?;
    let answer = pagemap::scan_supported(not_a_pagemap.as_fd(), 0);
    assert_eq!(answer, Err(Errno(libc::ENOTTY)));
    done()
}

fn finds_the_touched_pages() -> Verdict {
    let Some(file) = own_pagemap()? else { return skip(NO_SCAN) };
    let mut arena = Arena::new(1024 * PAGE, HUGE_LEN)?;
    arena.advise(0..1024 * PAGE, LocalAdvice::NoHugePage)?;
    for page in [3, 4, 700] {
        arena.touch(page * PAGE);
    }
    let at = |page: u64| arena.addr() + page * PAGE as u64;
    let query = ScanQuery {
        start: at(0),
        end: at(1024),
        any_of: category::PRESENT,
        returned: category::PRESENT | category::HUGE,
        max_pages: 0,
    };
    let mut buf = [PageRegion::default(); MAX_REGIONS];
    let scanned = scan(file.as_fd(), &query, &mut buf)?;
    let expected = [
        PageRegion { start: at(3), end: at(5), categories: category::PRESENT },
        PageRegion { start: at(700), end: at(701), categories: category::PRESENT },
    ];
    assert_eq!(&buf[..scanned.regions], &expected);
    assert_eq!(scanned.walk_end, at(1024));
    done()
}

/// Every other page touched: 1024 regions, twice what one call may return.
fn resumes() -> Verdict {
    let Some(file) = own_pagemap()? else { return skip(NO_SCAN) };
    let mut arena = Arena::new(2048 * PAGE, HUGE_LEN)?;
    arena.advise(0..2048 * PAGE, LocalAdvice::NoHugePage)?;
    for page in (0..2048).step_by(2) {
        arena.touch(page * PAGE);
    }
    let end = arena.addr() + arena.len() as u64;
    let any_of = category::PRESENT;
    let mut buf = [PageRegion::default(); MAX_REGIONS];
    let (mut start, mut found, mut calls) = (arena.addr(), 0, 0);
    while start < end {
        let query = ScanQuery { start, end, any_of, returned: any_of, max_pages: 0 };
        let scanned = scan(file.as_fd(), &query, &mut buf)?;
        assert!(scanned.walk_end > start, "a scan must make progress");
        (start, found, calls) = (scanned.walk_end, found + scanned.regions, calls + 1);
    }
    assert_eq!(found, 1024);
    assert!(calls <= 3);
    done()
}

/// The settings are process-wide: changed here, they would spoil tests that collapse memory in
/// other threads. So a child changes its own.
fn ends_with(role: &str, word: &str) -> Result<(), Failed> {
    assert_eq!(Child::start(role).finish(), word);
    Ok(())
}

/// The signal follows the thread that spawned the child: a short-lived thread must take its child
/// with it.
fn child_dies_with_its_thread() -> Result<(), Failed> {
    let child = std::thread::spawn(|| {
        let mut child = Child::start("waits_for_death");
        // Only after this word has the child asked for the signal.
        assert_eq!(child.line(), "ready");
        child
    });
    let child = child.join().map_err(|_| "the starting thread does not panic")?;
    assert!(child.was_killed());
    Ok(())
}

/// What children do.
fn play(role: &str) -> Result<(), Failed> {
    match role {
        "holds_memory" => holds_memory(),
        "thp_disable" => changes_thp_disable(),
        "waits_for_death" => {
            set_parent_death_signal()?;
            println!("ready");
            Child::wait_for_end_of_input();
            Ok(())
        }
        other => Err(format!("no role '{other}'").into()),
    }
}

fn holds_memory() -> Result<(), Failed> {
    let mut arena = Arena::new(HUGE_LEN, HUGE_LEN)?;
    // Filled as base pages in every mode. No advice: an advised process has khugepaged collapse it,
    // at once where it is the only one that has advised.
    set_thp_disable(true)?;
    for (at, byte) in arena.as_mut_slice().iter_mut().enumerate() {
        *byte = u8::try_from(at % 251).unwrap_or(0);
    }
    set_thp_disable(false)?;
    println!("{}", arena.addr());
    Child::wait_for_end_of_input();
    let intact = arena.as_slice().iter().enumerate().all(|(at, b)| usize::from(*b) == at % 251);
    println!("{}", if intact { "intact" } else { "damaged" });
    Ok(())
}

fn changes_thp_disable() -> Result<(), Failed> {
    set_thp_disable(true)?;
    assert_eq!(get_thp_disable()?, ThpDisable::Disabled);
    set_thp_disable(false)?;
    assert_eq!(get_thp_disable()?, ThpDisable::NotDisabled);
    match set_thp_disable_except_advised() {
        Ok(()) => assert_eq!(get_thp_disable()?, ThpDisable::ExceptAdvised),
        // Kernels before 6.18 do not know the flag, and must then have changed nothing.
        Err(errno) => {
            assert_eq!(errno, Errno(libc::EINVAL));
            assert_eq!(get_thp_disable()?, ThpDisable::NotDisabled);
        }
    }
    println!("done");
    Ok(())
}
