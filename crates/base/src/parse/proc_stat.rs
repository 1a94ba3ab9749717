//! `/proc/stat` (proc_stat(5), `fs/proc/stat.c`).

use serde::{Deserialize, Serialize};

use super::cpulist::CPUS_MAX;
use super::{ParseError, Parsed, decimal, numbered_lines};

/// Time of a CPU, or of all, since boot, in clock ticks (`sysconf(_SC_CLK_TCK)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// In programs, guests included.
    pub user: u64,
    /// In niced programs, niced guests included.
    pub nice: u64,
    /// In the kernel, without interrupts.
    pub system: u64,
    /// Idle. May go back a little (proc_stat(5)).
    pub idle: u64,
    /// Idle while a disk request was pending. May go back a little, too.
    pub iowait: u64,
    /// In hardware interrupts.
    pub irq: u64,
    /// In soft interrupts.
    pub softirq: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// Running guests: a part of `user`.
    pub guest: u64,
    /// Running niced guests: a part of `nice`.
    pub guest_nice: u64,
}

impl CpuTimes {
    /// Ticks spent in the kernel, interrupts included.
    pub fn kernel(&self) -> u64 {
        self.system + self.irq + self.softirq
    }

    /// Ticks spent in programs, niced ones and guests included.
    pub fn programs(&self) -> u64 {
        self.user + self.nice
    }

    /// Ticks in which a CPU had nothing to do.
    pub fn unused(&self) -> u64 {
        self.idle + self.iowait
    }

    /// Share of the time since an earlier reading that was spent on a part, percent of all CPUs;
    /// `None` when no time has passed.
    pub fn percent_since(&self, before: &Self, part: fn(&Self) -> u64) -> Option<f64> {
        // Each part by itself: idle time may go back a little.
        let since = |of: fn(&Self) -> u64| of(self).saturating_sub(of(before)) as f64;
        let all = since(Self::kernel) + since(Self::programs) + since(Self::unused);
        let all = all + since(|times| times.steal);
        (all > 0.0).then(|| 100.0 * since(part) / all)
    }
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcStat {
    /// `cpu`: all CPUs together.
    pub all: Option<CpuTimes>,
    /// `cpuN`: each CPU that is online.
    pub cpus: Vec<(u32, CpuTimes)>,
    /// `intr`: interrupts since boot.
    pub interrupts: Option<u64>,
    /// `ctxt`: context switches since boot.
    pub switches: Option<u64>,
    /// `processes`: tasks created since boot.
    pub forks: Option<u64>,
    /// `procs_running`: tasks that run or wait for a CPU, the one that reads the file included.
    pub running: Option<u64>,
    /// `procs_blocked`: tasks that wait for I/O.
    pub blocked: Option<u64>,
}

/// Reads the file. Lines this program has no use for are passed over in silence.
pub fn parse(text: &str) -> Parsed<ProcStat> {
    let mut parsed = Parsed::<ProcStat>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        if let Err(wanted) = store(&mut parsed.value, line) {
            parsed.note(ParseError::new("stat", number, line, wanted));
        }
    }
    parsed
}

fn store(stat: &mut ProcStat, line: &str) -> Result<(), &'static str> {
    let mut words = line.split_ascii_whitespace();
    let key = words.next().unwrap_or_default();
    if let Some(cpu) = key.strip_prefix("cpu") {
        let times = times(words).ok_or("ten numbers of clock ticks")?;
        if cpu.is_empty() {
            stat.all = Some(times);
        } else {
            let cpu: Option<u32> = decimal(cpu).filter(|cpu| *cpu < CPUS_MAX);
            let cpu = cpu.ok_or("a CPU number below 8192")?;
            if stat.cpus.len() >= CPUS_MAX as usize {
                return Err("no more than 8192 CPUs; the rest is left out");
            }
            stat.cpus.push((cpu, times));
        }
        return Ok(());
    }
    let slot = match key {
        "intr" => &mut stat.interrupts,
        "ctxt" => &mut stat.switches,
        "processes" => &mut stat.forks,
        "procs_running" => &mut stat.running,
        "procs_blocked" => &mut stat.blocked,
        _ => return Ok(()),
    };
    *slot = Some(words.next().and_then(decimal).ok_or("a number")?);
    Ok(())
}

fn times<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<CpuTimes> {
    let mut next = || words.next().and_then(decimal::<u64>);
    Some(CpuTimes {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
        steal: next()?,
        guest: next()?,
        guest_nice: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
cpu  99764 1 64277 407627 6404 0 3230 6585 3 4
cpu0 47067 0 30077 209801 2768 0 1085 3337 0 0
cpu1 52696 0 34199 197825 3636 0 2144 3247 3 4
intr 2711591 0 15 0
ctxt 36137206
btime 1795300000
processes 4711
procs_running 3
procs_blocked 1
softirq 5 1 1 1
";

    #[test]
    fn reads_cpus_and_counts() {
        let parsed = parse(TEXT);
        assert_eq!(parsed.problems, []);
        let stat = parsed.value;
        assert_eq!(stat.all.map(|all| (all.user, all.guest_nice)), Some((99764, 4)));
        assert_eq!(stat.cpus.len(), 2);
        assert_eq!((stat.cpus[1].0, stat.cpus[1].1.softirq), (1, 2144));
        assert_eq!((stat.interrupts, stat.switches), (Some(2_711_591), Some(36_137_206)));
        assert_eq!((stat.forks, stat.running, stat.blocked), (Some(4711), Some(3), Some(1)));
    }

    #[test]
    fn the_share_of_the_kernel_is_that_of_the_time_between() {
        let before = CpuTimes { user: 50, system: 500, idle: 7, ..CpuTimes::default() };
        let mut now = CpuTimes { user: 80, system: 510, idle: 57, ..before };
        (now.irq, now.softirq) = (4, 6);
        assert_eq!(now.percent_since(&before, CpuTimes::kernel), Some(20.0));
        assert_eq!(now.percent_since(&now, CpuTimes::kernel), None);
    }

    #[test]
    fn odd_lines_are_told() {
        let parsed = parse("cpu 1 2 3\ncpu9999 1 1 1 1 1 1 1 1 1 1\nctxt x\nintr\n");
        assert_eq!(parsed.problems.len(), 4);
        assert_eq!(parsed.value, ProcStat::default());
    }
}
