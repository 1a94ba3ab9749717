//! Pasted `/proc/diskstats`, once or several times, also with a time before each look
//! (`Documentation/admin-guide/iostats.rst`).

use std::collections::BTreeSet;

use super::prelude::*;
use super::sysstat::moment;
use hugewise_base::parse::diskstats::{Disk, SECTOR_BYTES, is_partition, parse};

/// Devices that are no disks of their own.
const LEFT_OUT: [&str; 2] = ["loop", "ram"];

/// A row of `vmstat -d`: ten counts behind a name, and perhaps a date and a time. The time of all
/// requests is that of reads and writes (`diskstats_show` in `block/genhd.c`, Linux 5.0).
fn disk_of_vmstat(line: &str) -> Option<Disk> {
    let words = words(line);
    let name = words.first().filter(|name| !name.starts_with(|c: char| c.is_ascii_digit()))?;
    let counts: Option<Vec<u64>> = words.get(1..11)?.iter().map(|word| count(word)).collect();
    let counts = counts?;
    let dated = matches!(words.get(11..), Some([] | [_, _]));
    let [reads, read_merges, read_sectors, read_ms, rest @ ..] = counts.as_slice() else {
        return None;
    };
    let [writes, write_merges, write_sectors, write_ms, _, busy_s] = rest else { return None };
    dated.then(|| Disk {
        name: (*name).to_owned(),
        reads: *reads,
        read_merges: *read_merges,
        read_sectors: *read_sectors,
        read_ms: *read_ms,
        writes: *writes,
        write_merges: *write_merges,
        write_sectors: *write_sectors,
        write_ms: *write_ms,
        busy_ms: busy_s.saturating_mul(1000),
        queue_ms: read_ms.saturating_add(*write_ms),
        ..Disk::default()
    })
}

/// The first line above the rows of `vmstat -d`.
fn is_heading_of_vmstat(line: &str) -> bool {
    line.starts_with("disk- ---")
}

/// The device of a line.
fn disk(line: &str) -> Option<Disk> {
    // Fifteen words at least: other tables of numbers are narrower or have no name.
    let mut start = line.split_whitespace();
    let numbers = start.by_ref().take(2).all(|word| count(word).is_some());
    let named = start.next().is_some_and(|name| name.starts_with(|c: char| !c.is_ascii_digit()));
    if !numbers || !named {
        return None;
    }
    parse(line).value.pop()
}

/// Whether a line is a partition as kernels before 2.6.25 list it, with four counts.
fn is_old_partition(line: &str) -> bool {
    let words = words(line);
    let counts = words.iter().enumerate().filter(|(at, _)| *at != 2);
    words.len() == 7 && counts.clone().all(|(_, word)| count(word).is_some())
}

/// The time of a line that has nothing else, and the same in seconds with their fraction: seconds
/// since 1970, or a date and a time.
fn time(line: &str) -> Option<(Stamp, f64)> {
    const WORDS_MAX: usize = 4;
    let words: Vec<&str> = line.split_whitespace().take(WORDS_MAX + 1).collect();
    if words.len() > WORDS_MAX {
        return None;
    }
    let epoch = |word: &&str| {
        let seconds = number(word).filter(|s| (1e9..4e9).contains(s))?;
        Some((Stamp(word.split(['.', ',']).next()?.parse().ok()?), seconds))
    };
    let dated = |pair: &[&str]| moment(&pair.join(" "), false).map(|at| (at, at.0 as f64));
    words.iter().find_map(epoch).or_else(|| words.windows(2).find_map(dated))
}

/// Begins at a device, or at a time with one below.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let of_vmstat = is_heading_of_vmstat(line);
    let timed = time(line).is_some() && disk(lines.ahead(1)).is_some();
    if !timed && !of_vmstat {
        disk(line)?;
    }
    let reader = Diskstats { of_vmstat, ..Diskstats::default() };
    Some(lines.resume(SourceKind::Diskstats, reader, out))
}

#[derive(Default)]
struct Diskstats {
    /// Whether its rows are those of `vmstat -d`.
    of_vmstat: bool,
    /// When the sample that is read now was taken.
    time: Option<(Stamp, f64)>,
    /// Its devices.
    look: Vec<Disk>,
}

impl Diskstats {
    /// One look is complete.
    fn put(&mut self, out: &mut Builder) {
        let look = std::mem::take(&mut self.look);
        let names: BTreeSet<&str> = look.iter().map(|disk| disk.name.as_str()).collect();
        for disk in &look {
            let plain = !LEFT_OUT.iter().any(|start| disk.name.starts_with(start));
            let used = disk.reads > 0 || disk.writes > 0;
            if plain && used && !is_partition(&disk.name, &names) {
                self.disk(disk, out);
            }
        }
    }

    fn disk(&self, disk: &Disk, out: &mut Builder) {
        let subject = Subject::Disk(disk.name.clone());
        let (at, age_s) = self.time.unzip();
        let (read_ms, write_ms) = (disk.read_ms as f64, disk.write_ms as f64);
        let (reads, writes) = (disk.reads as f64, disk.writes as f64);
        // How much each grew, and in a second, where the time in between is known.
        let mut put = |field: Field, value: f64, rate: Option<(Field, f64)>| {
            out.put(field, &subject, at, value);
            let more = out.growth(field, &subject, value);
            if field.rate().is_none() || at.is_some() {
                let grown = out.grown(field, &subject, (value, age_s));
                if let (Some((rate, factor)), Some(grown)) = (rate, grown) {
                    out.put(rate, &subject, at, grown * factor);
                }
            }
            more.unwrap_or(0.0)
        };
        let own = |field: Field| field.rate().map(|rate| (rate, 1.0));
        let sector = SECTOR_BYTES as f64;
        let (read_bytes, write_bytes) =
            (disk.read_sectors as f64 * sector, disk.write_sectors as f64 * sector);
        let grown_reads = put(Field::DiskReadCount, reads, own(Field::DiskReadCount));
        let grown_writes = put(Field::DiskWriteCount, writes, own(Field::DiskWriteCount));
        let bytes = put(Field::DiskReadTotal, read_bytes, own(Field::DiskReadTotal))
            + put(Field::DiskWriteTotal, write_bytes, own(Field::DiskWriteTotal));
        let reading = put(Field::DiskReadTime, read_ms, None);
        let writing = put(Field::DiskWriteTime, write_ms, None);
        // Milliseconds in a second are tenths of a percent.
        put(Field::DiskBusyTime, disk.busy_ms as f64, Some((Field::DiskBusy, 0.1)));
        put(Field::DiskQueueTime, disk.queue_ms as f64, Some((Field::DiskQueue, 1e-3)));
        for (field, all, requests) in [
            (Field::DiskReadAwait, reading, grown_reads),
            (Field::DiskWriteAwait, writing, grown_writes),
            (Field::DiskAwait, reading + writing, grown_reads + grown_writes),
            (Field::DiskRequestBytes, bytes, grown_reads + grown_writes),
        ] {
            if requests > 0.0 {
                out.put(field, &subject, at, all / requests);
            }
        }
    }
}

impl Reader for Diskstats {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || elided(line) {
            return Taken::Yes;
        }
        if let Some(time) = time(line) {
            self.put(out);
            self.time = Some(time);
            return Taken::Yes;
        }
        let heading = is_heading_of_vmstat(line) || line.trim_start().starts_with("total merged");
        if self.of_vmstat && heading {
            return Taken::Yes;
        }
        let found = if self.of_vmstat { disk_of_vmstat(line) } else { disk(line) };
        let Some(disk) = found else {
            // What else is in such a listing: partitions had four counts before Linux 2.6.25.
            let part = !self.look.is_empty() && is_old_partition(line);
            return if part { Taken::Yes } else { Taken::No };
        };
        if self.look.iter().any(|seen| seen.name == disk.name) {
            self.put(out);
        }
        self.look.push(disk);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.put(out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    fn look(writes: u32, ms: u32, busy: u32) -> String {
        format!(
            "   8  16 sdb 9000 10 72000 4000 {writes} 0 {} {ms} 3 {busy} 90000 0 0 0 0\n   \
             8  17 sdb1 9000 10 72000 4000 {writes} 0 0 {ms} 0 {busy} 90000 0 0 0 0\n   \
             7   0 loop0 5 0 40 1 0 0 0 0 0 1 1\n",
            writes * 16
        )
    }

    #[test]
    fn two_looks_say_how_busy_a_disk_is_and_how_long_its_requests_take() {
        let (one, other) = (look(500, 1000, 7000), look(900, 21_000, 11_000));
        let cat = "cat /proc/diskstats";
        for text in [
            format!("$ {cat}; sleep 4; {cat}\n{one}{other}"),
            format!("1709629958.5\n{one}\n1709629962.5\n{other}"),
            format!("2024-03-05 09:12:38\n{one}2024-03-05 09:12:42\n{other}"),
        ] {
            let recording = read(&text);
            all_understood(&recording);
            let sdb = Subject::Disk("sdb".to_owned());
            for (field, value) in [
                (Field::DiskWrites, 100.0),
                (Field::DiskBusy, 100.0),
                (Field::DiskWriteAwait, 50.0),
                (Field::DiskRequestBytes, 8192.0),
            ] {
                assert_eq!(
                    values(&recording, field, &sdb).last(),
                    Some(&value),
                    "{field:?} {text}"
                );
            }
            assert!(values(&recording, Field::DiskReadAwait, &sdb).is_empty());
            let part = Subject::Disk("sdb1".to_owned());
            assert!(values(&recording, Field::DiskWriteCount, &part).is_empty());
        }
    }

    #[test]
    fn vmstat_has_the_same_counts_in_other_columns() {
        let text = "disk- ------------reads------------ ------------writes----------- -----IO---\n\
                    \x20      total merged sectors   ms  total merged sectors   ms    cur    sec\n\
                    sda     1000     10   80000 5000    400      6   32000 9000      2     12\n\
                    sr0        0      0       0    0      0      0       0    0      0      0\n";
        let recording = read(text);
        all_understood(&recording);
        let of = |field| values(&recording, field, &Subject::Disk("sda".to_owned()));
        assert_eq!(of(Field::DiskReadCount), [1000.0]);
        assert_eq!(of(Field::DiskWriteTotal), [32_000.0 * 512.0]);
        assert_eq!(of(Field::DiskBusyTime), [12_000.0]);
    }

    #[test]
    fn one_look_says_what_was_done_since_boot() {
        let recording = read(&look(500, 1000, 7000));
        let sdb = Subject::Disk("sdb".to_owned());
        assert_eq!(values(&recording, Field::DiskWriteTime, &sdb), [1000.0]);
        assert!(values(&recording, Field::DiskBusy, &sdb).is_empty());
        assert!(read("1 2 3 4 5 6 7 8 9 10 11 12 13 14\n").sources.is_empty());
    }
}
