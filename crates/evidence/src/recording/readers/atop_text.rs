//! `atop -P`: rows of a label, six common fields and the label's own.

use super::atop::{Disk, Sampler};
use super::prelude::*;

const LABELS: [&str; 27] = [
    "CPU", "cpu", "CPL", "GPU", "MEM", "SWP", "PAG", "PSI", "LVM", "MDD", "DSK", "NFM", "NFC",
    "NFS", "NET", "IFB", "LLC", "NUM", "NUC", "PRG", "PRC", "PRE", "PRM", "PRD", "PRN", "CGR",
    "CGP",
];

/// Longest name of a process: `TASK_COMM_LEN` without its end.
const NAME_BYTES_MAX: usize = 15;

/// A row; `rest` is what follows the interval.
struct AtopRow<'a> {
    label: &'a str,
    host: &'a str,
    at: crate::recording::Stamp,
    interval_s: f64,
    rest: &'a str,
}

/// The next word, and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (!word.is_empty()).then_some((word, rest))
}

fn row(line: &str) -> Option<AtopRow<'_>> {
    let (label, rest) = word(line.trim_end())?;
    if !LABELS.contains(&label) {
        return None;
    }
    let (host, rest) = word(rest)?;
    let (epoch, rest) = word(rest)?;
    let (day, rest) = word(rest)?;
    let (time, rest) = word(rest)?;
    let (interval, rest) = word(rest)?;
    count(epoch)?;
    let at = joined(date(day)?, time_of_day(time)?);
    Some(AtopRow { label, host, at, interval_s: count(interval)? as f64, rest })
}

/// Begins at a row, or at a word about samples with a row below.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let mark = matches!(lines.ahead(0).trim(), "RESET" | "SEP");
    let first = row(lines.ahead(usize::from(mark)))?;
    out.host(first.host);
    out.begin(SourceKind::AtopText, lines.number());
    let host = first.host.to_owned();
    Some(Box::new(AtopText { host, sampler: Sampler::default(), restarted: false }))
}

struct AtopText {
    host: String,
    sampler: Sampler,
    /// Whether the next row is the first after a restart within the recording.
    restarted: bool,
}

/// Numbers by their place behind the interval; words that are no numbers count as places.
struct Places<'a>(Vec<&'a str>);

impl<'a> Places<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.split_whitespace().collect())
    }

    /// The number at a place. Negative ones stand for unknown.
    fn get(&self, place: usize) -> Option<f64> {
        super::words::number(self.0.get(place)?)
    }

    fn text(&self, place: usize) -> Option<&'a str> {
        self.0.get(place).copied()
    }

    /// The pages at a place as bytes; the size of a page is at place 0.
    fn pages(&self, place: usize) -> Option<f64> {
        Some(self.get(place)? * self.get(0)?)
    }
}

impl AtopText {
    /// Puts a row's values; `None` when it has fewer or other fields than its label promises.
    fn machine_row(&mut self, row: &AtopRow<'_>, out: &mut Builder) -> Option<()> {
        let places = Places::of(row.rest);
        let sampler = &mut self.sampler;
        match row.label {
            "CPU" => {
                sampler.cpu_count(places.get(1)?, out);
                sampler.cpu(&Subject::Machine, ticks(&places)?, out);
            }
            "cpu" => {
                let cpu = u32::try_from(count(places.text(1)?)?).ok()?;
                sampler.cpu(&Subject::Cpu(cpu), ticks(&places)?, out);
            }
            "CPL" => {
                let loads = [places.get(1), places.get(2), places.get(3)];
                places.get(3)?;
                sampler.load(loads, places.get(4), places.get(5), out);
            }
            "MEM" => {
                places.pages(5)?;
                sampler.memory(&memory(&places), out);
            }
            "SWP" => {
                places.pages(2)?;
                let values = [
                    (Field::SwapTotal, places.pages(1)),
                    (Field::SwapFree, places.pages(2)),
                    (Field::Committed, places.pages(4)),
                ];
                sampler.memory(&values, out);
            }
            "PAG" => {
                places.get(0)?;
                sampler.counts(&paging(&places), out);
            }
            "PSI" if places.text(0) == Some("y") => {
                let averages = [1, 5, 9, 13, 17].map(|place| places.get(place));
                sampler.pressure(averages, out);
            }
            "DSK" => sampler.disk(places.text(0)?, &disk(&places)?, out),
            "NET" => network(sampler, &places, out)?,
            _ => {}
        }
        Some(())
    }

    fn process_row(&mut self, row: &AtopRow<'_>, out: &mut Builder) -> Option<()> {
        let (pid, rest) = word(row.rest)?;
        let pid = u32::try_from(count(pid)?).ok()?;
        let (name, rest) = process_name(rest)?;
        let places = Places::of(rest);
        let sampler = &mut self.sampler;
        let task = (pid, name);
        // Threads are listed too where atop was asked for them; they are part of their process.
        let thread = |place: usize| places.text(place) == Some("n");
        match row.label {
            "PRG" => {
                let state = places.text(0)?;
                // The command line comes later: only what stands before it is counted by place.
                let of_process = places.text(3)? == pid.to_string();
                if of_process {
                    sampler.process_state(task, state, places.get(4), out);
                }
            }
            "PRC" if !thread(11) => {
                let ticks = (places.get(2)?, places.get(3)?);
                sampler.process_cpu(task, ticks, places.get(1)?, out);
            }
            "PRM" if !thread(14) => {
                let resident = places.get(3)? * 1024.0;
                sampler.process_memory(task, resident, (places.get(7), places.get(8)), out);
            }
            "PRD" if !thread(10) && places.text(2) == Some("y") => {
                sampler.process_disk(task, (places.get(4)?, places.get(6)?), out);
            }
            _ => {}
        }
        Some(())
    }
}

/// A process's name: in parentheses, which it may contain itself, or with `-Z` a word.
fn process_name(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let Some(inside) = text.strip_prefix('(') else { return word(text) };
    let ends = inside.match_indices(") ").map(|(at, _)| at);
    let end = ends.take_while(|at| *at <= NAME_BYTES_MAX).last()?;
    Some((inside.get(..end)?, inside.get(end + 1..)?))
}

fn ticks(places: &Places<'_>) -> Option<[f64; 9]> {
    let mut ticks = [0.0; 9];
    for (tick, place) in ticks.iter_mut().zip(2..10) {
        *tick = places.get(place)?;
    }
    ticks[8] = places.get(10).unwrap_or(0.0);
    Some(ticks)
}

fn memory(places: &Places<'_>) -> [(Field, Option<f64>); 10] {
    let huge = |place: usize| Some(places.get(place)? * places.get(12)?);
    [
        (Field::MemTotal, places.pages(1)),
        (Field::MemFree, places.pages(2)),
        (Field::Cached, places.pages(3)),
        (Field::Buffers, places.pages(4)),
        (Field::Slab, places.pages(5)),
        (Field::Dirty, places.pages(6)),
        (Field::Shmem, places.pages(9)),
        (Field::HugetlbTotal, huge(13)),
        (Field::HugetlbFree, huge(14)),
        // Since 2.7.
        (Field::PageTables, places.pages(20)),
    ]
}

fn paging(places: &Places<'_>) -> [(Field, Option<f64>); 9] {
    [
        (Field::Scan, places.get(1)),
        (Field::AllocStall, places.get(2)),
        (Field::SwapIn, places.pages(4)),
        (Field::SwapOut, places.pages(5)),
        (Field::OomKills, places.get(6)),
        (Field::CompactStall, places.get(7)),
        (Field::PagesMigrated, places.get(8)),
        (Field::PageIn, places.pages(10)),
        (Field::PageOut, places.pages(11)),
    ]
}

fn disk(places: &Places<'_>) -> Option<Disk> {
    let busy_ms = places.get(1)?;
    let (reads, writes) = (places.get(2)?, places.get(4)?);
    // The text has the mean queue while the disk was busy, and 0 for requests too short to be
    // counted as time.
    let counted = busy_ms > 0.0 || reads + writes == 0.0;
    let waited_ms = places.get(9).filter(|_| counted).map(|queue| queue * busy_ms);
    Some(Disk {
        busy_ms,
        reads,
        read_sectors: places.get(3)?,
        writes,
        written_sectors: places.get(5)?,
        waited_ms,
        discards: places.get(6).unwrap_or(0.0),
    })
}

fn network(sampler: &Sampler, places: &Places<'_>, out: &mut Builder) -> Option<()> {
    let name = places.text(0)?;
    if name == "upper" {
        let counts = [
            (Field::TcpInSegments, Some(places.get(1)?)),
            (Field::TcpOutSegments, Some(places.get(2)?)),
            (Field::TcpActiveOpens, places.get(11)),
            (Field::TcpPassiveOpens, places.get(12)),
            (Field::TcpRetransmits, places.get(14)),
        ];
        sampler.counts(&counts, out);
        return Some(());
    }
    let counts = [places.get(1)?, places.get(2)?, places.get(3)?, places.get(4)?];
    sampler.link(name, counts, places.get(5).unwrap_or(0.0), out);
    Some(())
}

impl Reader for AtopText {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        match line.trim() {
            "" => return Taken::Yes,
            "RESET" => {
                self.sampler.since_boot = true;
                self.restarted = self.sampler.at.is_some();
                return Taken::Yes;
            }
            "SEP" => {
                self.sampler.since_boot = false;
                return Taken::Yes;
            }
            _ => {}
        }
        let Some(row) = row(line) else {
            // A row that was torn is no other format's.
            let label = line.split_whitespace().next().is_some_and(|word| LABELS.contains(&word));
            if label && line.split_whitespace().nth(1) == Some(self.host.as_str()) {
                out.problem("a torn row of atop: left out");
                return Taken::Yes;
            }
            return Taken::No;
        };
        if row.host != self.host {
            return Taken::No;
        }
        self.sampler.at = Some(row.at);
        if std::mem::take(&mut self.restarted) {
            out.restart(Some(row.at));
        }
        self.sampler.interval_s = row.interval_s;
        let process = row.label.starts_with("PR");
        let done = if process { self.process_row(&row, out) } else { self.machine_row(&row, out) };
        if done.is_none() {
            out.problem(format!("a row {} of atop without its fields: left out", row.label));
        }
        Taken::Yes
    }
}

#[cfg(test)]
#[path = "atop_tests.rs"]
mod tests;
