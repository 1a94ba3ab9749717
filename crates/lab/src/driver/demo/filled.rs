//! The program of `hugewise try`, filled, and what it finds when it is asked.

use super::super::builtin;
use crate::program::{MIB, Memory};
use crate::run::{Run, key};
use crate::talk::Talk;
use anyhow::Context;
use hugewise_base::parse::smaps;
use hugewise_base::stats::{Histogram, median};
use hugewise_linux::root::Root;
use hugewise_workloads::protocol::{Event, Report, Request};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

/// What the program found in slices of reads and of small mappings.
#[derive(Debug, Default)]
pub(super) struct Timed {
    /// Mean time of a read, a value a slice, nanoseconds.
    pub(super) reads: Vec<f64>,
    /// Latencies by what they are of.
    tails: BTreeMap<String, Histogram>,
}

impl Timed {
    pub(super) fn add(&mut self, report: Report) {
        self.reads.extend(report.values.get("access_ns"));
        for (name, part) in report.histograms {
            self.tails.entry(name).or_default().merge(&part);
        }
    }

    pub(super) fn note(self, run: &mut Run<'_>, phase: &str) {
        if let Some(ns) = median(&self.reads) {
            run.value(&key(phase, "access_ns"), ns);
        }
        for (name, all) in self.tails {
            run.latencies(&key(phase, &name), all);
        }
    }
}

/// The program, filled.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) talk: Talk,
    /// Where the parts of its memory are.
    parts: BTreeMap<String, Range<u64>>,
    began: Instant,
    /// What it held, MiB, and when, in seconds since it is watched.
    held: Vec<(f64, f64)>,
}

impl Filled {
    /// Starts it; what its fill took is noted.
    pub(super) fn start(run: &mut Run<'_>) -> anyhow::Result<Self> {
        let mut talk = builtin::start(run)?;
        let filled = talk.ready(&mut |said| builtin::progress(run, said))?;
        run.values(filled.values);
        for (name, all) in filled.histograms {
            run.latencies(&name, all);
        }
        Ok(Self { talk, parts: filled.parts, began: Instant::now(), held: Vec::new() })
    }

    pub(super) fn pid(&self) -> u32 {
        self.talk.program.pid()
    }

    /// Random reads for a number of seconds.
    pub(super) fn access(
        &mut self,
        run: &mut Run<'_>,
        s: f64,
        timed: &mut Timed,
    ) -> anyhow::Result<()> {
        self.talk.request(Request::Access(s))?;
        self.timed(run, timed)
    }

    /// Small mappings, touched and unmapped, for a number of seconds.
    pub(super) fn faults(
        &mut self,
        run: &mut Run<'_>,
        s: f64,
        timed: &mut Timed,
    ) -> anyhow::Result<()> {
        self.talk.request(Request::Faults(s))?;
        self.timed(run, timed)
    }

    pub(super) fn timed(&mut self, run: &mut Run<'_>, timed: &mut Timed) -> anyhow::Result<()> {
        timed.add(self.talk.measured(&mut |said| builtin::progress(run, said))?);
        Ok(())
    }

    /// Has every word compared with what was written; how many there are.
    pub(super) fn verify(&mut self, run: &mut Run<'_>) -> anyhow::Result<u64> {
        run.step("comparing every word")?;
        self.talk.request(Request::Verify)?;
        match self.talk.event(&mut |said| builtin::progress(run, said))? {
            Event::Verified { checked } => Ok(checked),
            other => Err(self.talk.unexpected(&other)),
        }
    }

    /// Gives a percentage of its memory back, in random pieces.
    pub(super) fn free(&mut self, run: &mut Run<'_>, percent: u8) -> anyhow::Result<()> {
        self.talk.request(Request::Free(percent))?;
        match self.talk.event(&mut |said| builtin::progress(run, said))? {
            Event::Changed(_) => Ok(()),
            other => Err(self.talk.unexpected(&other)),
        }
    }

    /// The program's mappings. Only while it waits for a request, for reading takes its lock.
    pub(super) fn mappings(&self) -> anyhow::Result<Vec<smaps::SmapsEntry>> {
        let text = Root::live().read(format!("proc/{}/smaps", self.pid()));
        Ok(smaps::parse(&text.context("cannot read the program's smaps")?).value)
    }

    /// What the program holds now; resident is that of its parts, without the program's own file,
    /// which no cgroup is charged for. With it physical memory, MiB: the cgroup's, else resident.
    fn holds(&mut self, run: &Run<'_>) -> anyhow::Result<(Memory, f64)> {
        let mut memory = run.holds(self.pid());
        let entries = self.mappings()?;
        let parts = self.parts.values().flat_map(|part| inside(&entries, part));
        let resident: Vec<u64> = parts.filter_map(|entry| entry.rss_bytes).collect();
        let sum = resident.iter().sum::<u64>() as f64 / MIB;
        memory.rss = (!resident.is_empty()).then_some(sum);
        let mib = memory.group.or(memory.rss);
        let mib = mib.context("the kernel does not say what the program holds")?;
        self.held.push((self.began.elapsed().as_secs_f64(), mib));
        Ok((memory, mib))
    }

    /// The same, noted.
    pub(super) fn memory(&mut self, run: &mut Run<'_>, phase: &str) -> anyhow::Result<f64> {
        let (memory, mib) = self.holds(run)?;
        run.note_memory(phase, memory);
        Ok(mib)
    }

    /// Watches from now on what it holds.
    pub(super) fn watch(&mut self, run: &Run<'_>) -> anyhow::Result<()> {
        (self.began, self.held) = (Instant::now(), Vec::new());
        self.holds(run).map(drop)
    }

    /// Notes physical memory over time, since it is watched.
    pub(super) fn note_held(&mut self, run: &mut Run<'_>) {
        let is_group = run.charged().is_some();
        let key = if is_group { "freed.cgroup_mib" } else { "freed.rss_mib" };
        run.series(key, std::mem::take(&mut self.held));
    }

    /// Share of each part that is huge, percent.
    pub(super) fn huge_percent(&self) -> anyhow::Result<BTreeMap<&str, f64>> {
        let entries = self.mappings()?;
        let share = |(name, part): (&'_ String, &Range<u64>)| {
            share(&entries, part).with_context(|| format!("smaps does not show the {name} part"))
        };
        self.parts.iter().map(|part| Ok((part.0.as_str(), share(part)?))).collect()
    }
}

/// The mappings of a part.
fn inside<'a>(
    entries: &'a [smaps::SmapsEntry],
    part: &'a Range<u64>,
) -> impl Iterator<Item = &'a smaps::SmapsEntry> {
    entries.iter().filter(|e| part.contains(&e.map.start) && e.map.end <= part.end)
}

/// Share of a part that is huge, percent; `None` where the part is not found: unknown, not none.
fn share(entries: &[smaps::SmapsEntry], part: &Range<u64>) -> Option<f64> {
    entries.iter().find(|entry| entry.map.start == part.start)?;
    let huge = inside(entries, part).filter_map(|entry| entry.anon_huge_pages_bytes);
    Some(100.0 * huge.sum::<u64>() as f64 / (part.end - part.start).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_part_is_of_its_own_mappings() {
        let mapping = |range: &str, huge: u32| {
            format!("{range} rw-p 00000000 00:00 0\nRss: 4096 kB\nAnonHugePages: {huge} kB\n")
        };
        let text = [
            mapping("00600000-00800000", 2048),
            mapping("00800000-00c00000", 2048),
            mapping("00c00000-01000000", 0),
        ];
        let entries = smaps::parse(text.concat().as_bytes()).value;
        assert_eq!(share(&entries, &(0x80_0000..0x100_0000)), Some(25.0));
        assert_eq!(share(&entries, &(0x20_0000..0x60_0000)), None);
    }
}
