//! `/proc/schedstat` and `/proc/PID/schedstat` (`Documentation/scheduler/sched-stats.rst`): how
//! long tasks waited for a CPU, from kernels that count it (`CONFIG_SCHEDSTATS`, for tasks
//! `CONFIG_SCHED_INFO`).

use super::{ParseError, Parsed, decimal, numbered_lines};

/// Numbers of a CPU's line at least. Version 14 has twelve, 15 to 17 have nine; the last three are
/// the same: time running, time waiting, timeslices.
const NUMBERS_MIN: usize = 9;

/// One CPU since the machine's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuDelay {
    /// Its number.
    pub cpu: u32,
    /// Time for which tasks waited in its run queue, in ns; of several tasks the sum.
    pub waited_ns: u64,
}

/// A line of `/proc/schedstat` about a CPU.
pub fn row(line: &str) -> Option<CpuDelay> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let cpu = decimal(words.next()?)?;
    let numbers: Option<Vec<u64>> = words.map(decimal).collect();
    let numbers = numbers.filter(|numbers| numbers.len() >= NUMBERS_MIN)?;
    let waited_ns = *numbers.get(numbers.len() - 2)?;
    Some(CpuDelay { cpu, waited_ns })
}

/// Reads `/proc/schedstat`: its CPUs. What it says of scheduling domains is left out.
pub fn parse(text: &str) -> Parsed<Vec<CpuDelay>> {
    let mut parsed = Parsed::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = String::from_utf8_lossy(line);
        if !line.starts_with("cpu") {
            continue;
        }
        match row(&line) {
            Some(cpu) => parsed.keep(cpu, "schedstat", number, &line),
            None => {
                let wanted = "'cpuN' and at least nine numbers";
                parsed.note(ParseError::new("schedstat", number, line.as_ref(), wanted));
            }
        }
    }
    parsed
}

/// Reads `/proc/PID/task/TID/schedstat`: how long the thread waited for a CPU, in ns. `None` where
/// the text is something else.
pub fn waited_ns(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(decimal::<u64>);
    numbers.next()??;
    numbers.next()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_all_versions() {
        let text = "version 15\ntimestamp 4295\n\
                    cpu0 0 0 1 2 3 4 5000 600 7\ndomain0 3 1 2 3\n\
                    cpu1 0 0 0 0 1 0 0 0 0 50 60 70\n";
        let parsed = parse(text);
        let wanted = [CpuDelay { cpu: 0, waited_ns: 600 }, CpuDelay { cpu: 1, waited_ns: 60 }];
        assert_eq!((parsed.value.as_slice(), parsed.problems.len()), (&wanted[..], 0));
        assert_eq!(parse("cpu0 1 2\ncpu1 a\n").problems.len(), 2);
    }

    #[test]
    fn threads() {
        assert_eq!(waited_ns(b"228154672 26675710 873\n"), Some(26_675_710));
        assert_eq!(waited_ns(b"0 0 0\n"), Some(0));
        for wrong in [&b""[..], b"5", b"a b c", b"\xff 5 5"] {
            assert_eq!(waited_ns(wrong), None);
        }
    }
}
