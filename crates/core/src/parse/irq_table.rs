//! `/proc/interrupts` and `/proc/softirqs`: a column for each CPU, a line for each vector.

use serde::{Deserialize, Serialize};

use super::cpulist::CPUS_MAX;
use super::{ParseError, Parsed, decimal, numbered_lines};

/// One vector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vector {
    /// Its name, such as `24`, `LOC` or `NET_RX`.
    pub name: String,
    /// Events since boot by CPU.
    pub counts: Vec<(u32, u64)>,
}

/// Reads the file. Lines with one number for the whole machine (`ERR`, `MIS`) are left out.
#[must_use]
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
    for (number, line) in lines {
        let line = std::str::from_utf8(line).unwrap_or_default();
        match vector(line, &cpus) {
            Ok(vector) => parsed.value.extend(vector),
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
    fn odd_lines_are_told() {
        assert_eq!(parse("nonsense\n 1: 2\n").problems.len(), 1);
        assert_eq!(parse("CPU0 CPU1 CPU2\n NET_RX: 1 2\nx\n").problems.len(), 2);
    }
}
