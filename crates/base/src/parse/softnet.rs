//! `/proc/net/softnet_stat` (`softnet_seq_show` of `net/core/net-procfs.c`): receiving by CPU, in
//! hexadecimal. The counts have 32 bits and wrap.

use serde::{Deserialize, Serialize};

use super::cpulist::CPUS_MAX;
use super::{ParseError, Parsed, numbered_lines};

/// Column of the CPU's number, from 0; kernels before 5.10 do not have it.
const CPU_COLUMN: usize = 12;

/// One CPU's counts since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// The CPU; on kernels that do not say, the line's place among the CPUs that are online.
    pub cpu: u32,
    /// Packets.
    pub packets: u32,
    /// Packets dropped because the backlog was full.
    pub dropped: u32,
    /// Rounds that ended with packets left.
    pub squeezed: u32,
}

/// Reads the file.
pub fn parse(text: &str) -> Parsed<Vec<Backlog>> {
    let mut parsed = Parsed::<Vec<Backlog>>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        match row(line, number - 1) {
            Some(backlog) => parsed.keep(backlog, "softnet_stat", number, line),
            None => {
                let wanted = "at least three hexadecimal counts";
                parsed.note(ParseError::new("softnet_stat", number, line, wanted));
            }
        }
    }
    parsed
}

/// Reads a row; `place`, from 0, is the CPU where no column says it. `None` when it is none.
pub fn row(line: &str, place: usize) -> Option<Backlog> {
    let words: Option<Vec<u32>> = line.split_ascii_whitespace().map(hexadecimal).collect();
    let words = words?;
    let &[packets, dropped, squeezed, ..] = words.as_slice() else { return None };
    let place = u32::try_from(place).ok()?;
    let cpu = words.get(CPU_COLUMN).copied().unwrap_or(place);
    (cpu < CPUS_MAX).then_some(Backlog { cpu, packets, dropped, squeezed })
}

fn hexadecimal(word: &str) -> Option<u32> {
    let plain = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if plain { u32::from_str_radix(word, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_new_and_old_lines() {
        let new = "001f9718 00000001 00000004 0 0 0 0 0 0 0 0 0 00000003 0 0\n";
        let read = parse(new).value;
        assert_eq!(read, [Backlog { cpu: 3, packets: 0x1f_9718, dropped: 1, squeezed: 4 }]);
        let old = parse("1 0 0 0 0 0 0 0 0 0 0\n2 0 a 0 0 0 0 0 0 0 0\n").value;
        assert_eq!((old[1].cpu, old[1].packets, old[1].squeezed), (1, 2, 10));
        assert_eq!(parse("1 2\nx y z\n1 +2 3\n").problems.len(), 3);
    }
}
