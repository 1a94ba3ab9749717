//! Lists of CPUs or NUMA nodes such as `0-3,7`.

use std::collections::BTreeSet;

use super::{ParseError, decimal};

/// CPU numbers read at most: 8192 is the largest `CONFIG_NR_CPUS` of any architecture.
pub const CPUS_MAX: u32 = 8192;

/// Reads a list; an empty one has no CPUs.
///
/// # Errors
/// When a part is no number or range, a range runs backwards, or a number is [`CPUS_MAX`] or more.
pub fn parse(text: &str) -> Result<BTreeSet<u32>, ParseError> {
    let text = text.trim_ascii();
    let mut cpus = BTreeSet::new();
    if text.is_empty() {
        return Ok(cpus);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let error = |wanted| ParseError::new("cpulist", 1, part, wanted);
        let wanted = "a CPU number or a range";
        let first: u32 = decimal(first).ok_or_else(|| error(wanted))?;
        let last: u32 = decimal(last).ok_or_else(|| error(wanted))?;
        if first > last {
            return Err(error("a range that runs upwards"));
        }
        if last >= CPUS_MAX {
            return Err(error("a CPU number below 8192"));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// Writes a list the way the kernel does: ascending, neighbours joined to ranges.
pub fn format(cpus: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus.iter().copied() {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let written = ranges.iter().map(|(first, last)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_and_ranges() {
        assert_eq!(parse("0-3,7\n"), Ok(BTreeSet::from([0, 1, 2, 3, 7])));
        assert_eq!(parse("\n"), Ok(BTreeSet::new()));
        assert_eq!(parse("8191").map(|cpus| cpus.len()), Ok(1));
        assert_eq!(format(&BTreeSet::from([0, 1, 2, 3, 7, 9, 10])), "0-3,7,9-10");
        assert_eq!(format(&BTreeSet::from([u32::MAX])), "4294967295");
    }

    #[test]
    fn refuses_what_it_cannot_mean() {
        for wrong in ["3-1", "8192", "0-4294967295", "a", "1,,2", "1-", "-1", "0-8:2/4", "1 2"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
