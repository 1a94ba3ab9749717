//! Which CPU this thread runs on, and how much CPU time was used.

use std::io;
use std::marker::PhantomData;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The CPU this thread was running on a moment ago. It may have moved since, unless pinned.
pub fn current_cpu() -> u32 {
    u32::try_from(sched_getcpu()).unwrap_or(u32::MAX)
}

/// Keeps one thread on one CPU; dropping it restores the CPUs the thread was allowed before.
///
/// Not `Send`: affinity belongs to the thread that asked for it.
pub struct CpuPin {
    before: CpuSet,
    not_send: PhantomData<*const ()>,
}

impl std::fmt::Debug for CpuPin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CpuPin").field("cpus_before", &self.before.count()).finish_non_exhaustive()
    }
}

/// Keeps the calling thread on `cpu` until the returned guard is dropped.
///
/// # Errors
/// `InvalidInput` for a CPU number of 1024 or more (the limit of the fixed-size set); `EINVAL`
/// when the CPU is offline or outside the cpuset of the process, or when the kernel was booted
/// for more than 1024 CPUs.
pub fn pin_current_thread(cpu: u32) -> io::Result<CpuPin> {
    let cpu = usize::try_from(cpu).unwrap_or(usize::MAX);
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "CPU number above 1023"));
    }
    let before = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only)?;
    Ok(CpuPin { before, not_send: PhantomData })
}

impl Drop for CpuPin {
    fn drop(&mut self) {
        // This can only fail when the CPUs allowed before were all taken away meanwhile, and the
        // kernel has moved the thread then already. A destructor cannot report errors.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Scheduling policy of a thread, `SCHED_*` of `include/uapi/linux/sched.h`, without the flag
/// `SCHED_RESET_ON_FORK`. `None` when it ended.
pub fn scheduling_policy(tid: u32) -> Option<u32> {
    let tid = libc::pid_t::try_from(tid).ok()?;
    // SAFETY: takes and returns plain numbers.
    let policy = unsafe { libc::sched_getscheduler(tid) };
    u32::try_from(policy & !libc::SCHED_RESET_ON_FORK).ok().filter(|_| policy >= 0)
}

/// Puts the calling thread into the scheduling class `SCHED_IDLE`: it then runs when nobody else of
/// its control group wants the CPU. Needs no privilege (sched(7)).
///
/// # Errors
/// As the kernel says; a sandbox may forbid the call.
pub fn enter_idle_class() -> io::Result<()> {
    // SAFETY: a plain C struct of integers, for which all zeros is valid: priority 0 is the only
    // one that SCHED_IDLE has.
    // WHY UNSAFE: some C libraries have more fields than the priority.
    let priority: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: thread 0 is the caller; the kernel only reads the parameter, which outlives the call.
    // WHY UNSAFE: rustix has no such call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// CPUs that a thread may run on; `None` when it ended.
pub fn allowed_cpus(tid: u32) -> Option<Vec<u32>> {
    let tid = rustix::process::Pid::from_raw(i32::try_from(tid).ok()?)?;
    let set = sched_getaffinity(Some(tid)).ok()?;
    let all = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    Some(all.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// CPU time used by the calling thread so far, in nanoseconds.
pub fn thread_cpu_time_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time used by all threads of this process so far, in nanoseconds.
pub fn process_cpu_time_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU time used by all threads of process `pid` so far, in nanoseconds; `None` when it ended. What
/// a running thread used since its CPU's last timer tick, up to 10 ms, is not in it
/// (`__thread_group_cputime()` in `kernel/sched/cputime.c` of Linux 6.18).
pub fn process_cpu_time_of_ns(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is to a live number, which the call fills in.
    // WHY UNSAFE: neither std nor rustix knows the CPU clocks of other processes.
    if unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above; a clock of a process that ended is an error.
    // WHY UNSAFE: as above.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let time = Timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec };
    (answer == 0).then(|| nanoseconds(time))
}

/// CPU clocks start at zero, so neither part is ever negative.
fn nanoseconds(time: Timespec) -> u64 {
    let whole = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    whole.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_and_restores() -> io::Result<()> {
        let before = sched_getaffinity(None)?;
        let target = (0..CpuSet::MAX_CPU).rev().find(|cpu| before.is_set(*cpu));
        let target = u32::try_from(target.unwrap_or(0)).unwrap_or(0);
        {
            let pin = pin_current_thread(target)?;
            assert_eq!(current_cpu(), target);
            assert_eq!(sched_getaffinity(None)?.count(), 1);
            assert!(format!("{pin:?}").contains("cpus_before"));
        }
        assert_eq!(sched_getaffinity(None)?, before);
        Ok(())
    }

    #[test]
    fn a_thread_can_enter_the_idle_class() -> io::Result<()> {
        let policy = || scheduling_policy(0).and_then(|policy| i32::try_from(policy).ok());
        let entered = std::thread::spawn(move || enter_idle_class().map(|()| policy()));
        assert_eq!(entered.join().expect("no panic")?, Some(libc::SCHED_IDLE));
        assert_eq!(policy(), Some(libc::SCHED_OTHER), "others stay as they are");
        Ok(())
    }

    #[test]
    fn refuses_a_cpu_that_cannot_exist() {
        assert!(pin_current_thread(1024).is_err());
        assert!(pin_current_thread(u32::MAX).is_err());
    }

    #[test]
    fn cpu_time_grows_with_work() {
        // The process first: what is used between the two readings counts for it alone.
        let process = process_cpu_time_ns();
        let thread = thread_cpu_time_ns();
        let others_see = || process_cpu_time_of_ns(std::process::id());
        assert!(others_see().is_some_and(|seen| seen > 0));
        assert_eq!(process_cpu_time_of_ns(u32::MAX), None);
        let mut sum = 0_u64;
        while thread_cpu_time_ns() - thread < 1_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(process_cpu_time_ns() - process >= 1_000_000);
    }
}
