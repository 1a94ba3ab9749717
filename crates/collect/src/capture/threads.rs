//! Which processes' threads are worth a look: a list of all threads of a machine would cost more
//! than all else.

use std::collections::BTreeMap;

use hugewise_base::parse::pid_stat::PidStat;

/// CPU of a process from which on it is asked which of its threads use it, percent of one CPU: one
/// thread that is never idle has at least half of a CPU, also beside others.
const BUSY_PERCENT: u64 = 50;
/// Most threads of a process, and of a sample.
pub(super) const OF_PROCESS_MAX: usize = 256;
pub(super) const OF_SAMPLE_MAX: usize = 1024;

/// CPU time of processes at the sample before, and now.
#[derive(Debug, Default)]
pub(super) struct Busy {
    before: BTreeMap<u32, Used>,
    now: BTreeMap<u32, Used>,
    at_ns: u64,
    passed_ns: u64,
}

/// Of one process, which its start tells from another with the same id.
#[derive(Clone, Copy, Debug)]
struct Used {
    start_ticks: u64,
    cpu_ticks: u64,
}

impl Busy {
    /// A sample begins.
    pub(super) fn begin(&mut self, at_ns: u64) {
        self.before = std::mem::take(&mut self.now);
        self.passed_ns = at_ns.saturating_sub(self.at_ns);
        self.at_ns = at_ns;
    }

    /// Whether the threads of this process are to be told apart.
    pub(super) fn is(&mut self, stat: &PidStat, ticks_per_s: u64) -> bool {
        let cpu_ticks = stat.utime.saturating_add(stat.stime);
        let used = Used { start_ticks: stat.starttime, cpu_ticks };
        self.now.insert(stat.pid, used);
        let before = self.before.get(&stat.pid);
        let before = before.filter(|before| before.start_ticks == used.start_ticks);
        let Some(grown) = before.and_then(|before| cpu_ticks.checked_sub(before.cpu_ticks)) else {
            return false;
        };
        let wanted =
            u128::from(BUSY_PERCENT) * u128::from(ticks_per_s) * u128::from(self.passed_ns);
        stat.num_threads > 1 && u128::from(grown) * 100 * 1_000_000_000 >= wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, threads: u64, ticks: u64, start: u64) -> PidStat {
        let text = format!(
            "{pid} (a) R 0 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 {threads} 0 {start} 0 0 0 0 0 0 0 \
             0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
        );
        hugewise_base::parse::pid_stat::parse(text.as_bytes()).expect("a line")
    }

    #[test]
    fn only_busy_processes_of_several_threads_are_looked_into() {
        let mut busy = Busy::default();
        busy.begin(1_000_000_000);
        for pid in 1..=4 {
            assert!(!busy.is(&stat(pid, 8, 1000, 5), 100), "nothing is known yet");
        }
        busy.begin(3_000_000_000);
        assert!(busy.is(&stat(1, 8, 1100, 5), 100), "half of two seconds");
        assert!(!busy.is(&stat(2, 8, 1099, 5), 100), "a little less");
        assert!(!busy.is(&stat(3, 1, 1200, 5), 100), "one thread is the process");
        assert!(!busy.is(&stat(4, 8, 1200, 6), 100), "another process");
    }
}
