//! `/proc/interrupts` and `/proc/softirqs`: a column for each CPU, a line for each vector.

use serde::{Deserialize, Serialize};

use super::cpulist::CPUS_MAX;
use super::{ParseError, Parsed, decimal, numbered_lines};

/// Most counts that are kept; 512 CPUs with 1,500 vectors have 768,000.
const PAIRS_MAX: usize = 1 << 21;

/// One vector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vector {
    /// Its name, such as `24`, `LOC` or `NET_RX`.
    pub name: String,
    /// Events since boot by CPU.
    pub counts: Vec<(u32, u64)>,
}

/// Reads the file. Lines with one number for the whole machine (`ERR`, `MIS`) are left out.
pub fn parse(text: &str) -> Parsed<Vec<Vector>> {
    let mut parsed = Parsed::<Vec<Vector>>::empty();
    let mut lines = numbered_lines(text.as_bytes());
    let Some((number, head)) = lines.next() else { return parsed };
    let head = std::str::from_utf8(head).unwrap_or_default();
    let cpus: Option<Vec<u32>> = head.split_ascii_whitespace().map(cpu).collect();
    let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) else {
        parsed.note(ParseError::new("interrupts", number, head, "CPU0, CPU1, ..."));
        return parsed;
    };
    if cpus.len() > CPUS_MAX as usize {
        parsed.note(ParseError::new("interrupts", number, head, "no more than 8192 CPUs"));
        return parsed;
    }
    let mut pairs = 0;
    for (number, line) in lines {
        let line = std::str::from_utf8(line).unwrap_or_default();
        match vector(line, &cpus) {
            Ok(Some(vector)) if pairs + vector.counts.len() <= PAIRS_MAX => {
                pairs += vector.counts.len();
                parsed.value.push(vector);
            }
            Ok(Some(_)) => {
                let wanted = "no more than 2097152 counts of vectors by CPU; the rest is left out";
                parsed.full("interrupts", number, line, wanted);
            }
            Ok(None) => {}
            Err(wanted) => parsed.note(ParseError::new("interrupts", number, line, wanted)),
        }
    }
    parsed
}

fn cpu(word: &str) -> Option<u32> {
    decimal(word.strip_prefix("CPU")?).filter(|cpu| *cpu < CPUS_MAX)
}

fn vector(line: &str, cpus: &[u32]) -> Result<Option<Vector>, &'static str> {
    let (name, rest) = line.split_once(':').ok_or("'VECTOR: counts'")?;
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err("'VECTOR: counts'");
    }
    // After the counts of an interrupt stand its controller and its devices.
    let numbers = rest.split_ascii_whitespace().map_while(decimal::<u64>);
    let counts: Vec<(u32, u64)> = cpus.iter().copied().zip(numbers).collect();
    if counts.len() < cpus.len() {
        // `ERR` and `MIS` have one number, without a CPU.
        return if counts.len() == 1 { Ok(None) } else { Err("a count for each CPU") };
    }
    Ok(Some(Vector { name: name.to_owned(), counts }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_files() {
        let text = "            CPU0       CPU2\n  24:         1         20   PCI-MSI 16384-edge  \
                    4 virtio\n LOC:     30    4   Local timer interrupts\n ERR:          0\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.value.len(), 2);
        assert_eq!(parsed.value[0].counts, [(0, 1), (2, 20)]);
        let soft = parse("      CPU0   CPU1\n NET_RX:   7  9\n").value;
        assert_eq!((soft[0].name.as_str(), soft[0].counts[1]), ("NET_RX", (1, 9)));
    }

    #[test]
    fn counts_beyond_number_are_left_out_and_told() {
        let head: String = (0..CPUS_MAX).map(|cpu| format!("CPU{cpu} ")).collect();
        let row = |number: u32| format!("{number}: {}\n", "1 ".repeat(CPUS_MAX as usize));
        let text: String = (0..260).map(row).collect();
        let parsed = parse(&format!("{head}\n{text}"));
        assert_eq!(parsed.value.iter().map(|v| v.counts.len()).sum::<usize>(), PAIRS_MAX);
        let [problem] = &parsed.problems[..] else { panic!("{:?}", parsed.problems) };
        assert_eq!((problem.line, problem.wanted.contains("left out")), (258, true));
        assert_eq!(parse(&format!("{head} CPU0\n{text}")).value, []);
    }

    #[test]
    fn odd_lines_are_told() {
        assert_eq!(parse("nonsense\n 1: 2\n").problems.len(), 1);
        assert_eq!(parse("CPU0 CPU1 CPU2\n NET_RX: 1 2\nx\n").problems.len(), 2);
    }
}
