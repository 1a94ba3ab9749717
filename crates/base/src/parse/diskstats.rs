//! `/proc/diskstats` (`Documentation/admin-guide/iostats.rst`).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// The unit of sectors in this file, whatever the disk's own, in bytes.
pub const SECTOR_BYTES: u64 = 512;

/// What one block device did since boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Its name, such as `sda`.
    pub name: String,
    /// Reads that were completed.
    pub reads: u64,
    /// Reads merged with a neighbour.
    pub read_merges: u64,
    /// Sectors read.
    pub read_sectors: u64,
    /// Time that reads took, waiting included, added up.
    pub read_ms: u64,
    /// Writes that were completed.
    pub writes: u64,
    /// Writes merged with a neighbour.
    pub write_merges: u64,
    /// Sectors written.
    pub write_sectors: u64,
    /// Time that writes took.
    pub write_ms: u64,
    /// Time with at least one request.
    pub busy_ms: u64,
    /// Time of all requests in the queue, added up.
    pub queue_ms: u64,
    /// Discards that were completed (Linux 4.18; else 0, as none was counted).
    pub discards: u64,
    /// Sectors discarded.
    pub discard_sectors: u64,
    /// Time that discards took.
    pub discard_ms: u64,
}

/// Reads the file: all devices, partitions included.
pub fn parse(text: &str) -> Parsed<Vec<Disk>> {
    let mut parsed = Parsed::<Vec<Disk>>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        match disk(line) {
            Some(disk) => parsed.keep(disk, "diskstats", number, line),
            None => {
                let wanted = "device numbers, a name and at least eleven counts";
                parsed.note(ParseError::new("diskstats", number, line, wanted));
            }
        }
    }
    parsed
}

fn disk(line: &str) -> Option<Disk> {
    let mut words = line.split_ascii_whitespace();
    decimal::<u32>(words.next()?)?;
    decimal::<u32>(words.next()?)?;
    let name = words.next()?.to_owned();
    let counts: Vec<u64> = words.map(decimal).collect::<Option<_>>()?;
    let (&[reads, read_merges, read_sectors, read_ms], rest) = counts.split_first_chunk()?;
    let (&[writes, write_merges, write_sectors, write_ms], rest) = rest.split_first_chunk()?;
    let (&[_in_flight, busy_ms, queue_ms], rest) = rest.split_first_chunk()?;
    let (discards, discard_sectors, discard_ms) = match *rest {
        [discards, _merges, sectors, ms, ..] => (discards, sectors, ms),
        [] => (0, 0, 0),
        _ => return None,
    };
    Some(Disk {
        name,
        reads,
        read_merges,
        read_sectors,
        read_ms,
        writes,
        write_merges,
        write_sectors,
        write_ms,
        busy_ms,
        queue_ms,
        discards,
        discard_sectors,
        discard_ms,
    })
}

/// Whether `name` is a partition of a disk in `all`: the disk's name and a number, with a `p`
/// between them where the disk's name ends in a digit (`disk_name` of `block/genhd.c`).
pub fn is_partition(name: &str, all: &BTreeSet<&str>) -> bool {
    let digit = |c: char| c.is_ascii_digit();
    let start = name.trim_end_matches(digit);
    if start.len() == name.len() {
        return false;
    }
    let numbered = start.strip_suffix('p').filter(|disk| disk.ends_with(digit));
    all.contains(start) || numbered.is_some_and(|disk| all.contains(disk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_old_and_new_lines() {
        let text = " 254 0 vda 183939 16375 17852386 160789 492567 166236 16583643 116066 0 87312 \
                    308209 90648 85 9353352 15053 162652 16298\n\
                    8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        let [vda, sda] = &parsed.value[..] else { panic!("two disks") };
        assert_eq!((vda.reads, vda.write_ms, vda.busy_ms), (183_939, 116_066, 87_312));
        assert_eq!((vda.queue_ms, vda.discards, vda.discard_ms), (308_209, 90_648, 15_053));
        assert_eq!((sda.name.as_str(), sda.queue_ms, sda.discards), ("sda", 11, 0));
        assert_eq!(parse("8 0 sda 1 2 3\n8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12\n").problems.len(), 2);
    }

    #[test]
    fn partitions_are_known_by_their_disks() {
        let all = BTreeSet::from(["sda", "nvme0n1", "dm-1", "mmcblk0", "sdaa"]);
        for part in ["sda1", "nvme0n1p2", "mmcblk0p12"] {
            assert!(is_partition(part, &all), "{part}");
        }
        for disk in ["sda", "sdaa", "dm-10", "nvme0n1", "nvme0n11", "nvme0n1p", "sdb1"] {
            assert!(!is_partition(disk, &all), "{disk}");
        }
    }
}
