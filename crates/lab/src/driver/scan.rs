//! What it costs to find out how well memory is used: hugewise's scan against reading pagemap and
//! smaps.

use super::filled_program::FilledProgram;
use crate::run::Run;
use anyhow::{Context, ensure};
use hugewise_base::stats::median;
use hugewise_base::units::Geometry;
use hugewise_experiment::kinds::{Fill, Method, Scan};
use hugewise_linux::cpu::thread_cpu_time_ns;
use hugewise_linux::pages::{Counts, PageReader};
use hugewise_linux::root::Root;
use hugewise_linux::space_text::mappings;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes of an entry of pagemap, and of a buffer full of them.
const ENTRY: u64 = 8;
const BUFFER: usize = 1 << 20;
const GIB: f64 = (1 << 30) as f64;

/// Runs it once: all passes of one method.
pub(super) fn drive(params: &Scan, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let fill: &[&str] = match params.fill {
        Fill::Sparse => &["--fill", "sparse:51"],
        Fill::Huge => &["--advise", "huge"],
        Fill::Dense => &[],
    };
    let mib = params.mib;
    let mut held = FilledProgram::hold(run, mib, fill)?;
    run.step("scanning")?;
    let mut eye = Eye::open(held.pid(), params.method)?;
    let size = (eye.range.end - eye.range.start) as f64 / GIB;
    let mut costs = Vec::new();
    for _ in 0..params.passes {
        run.beat()?;
        let began = thread_cpu_time_ns();
        let seen = eye.look()?;
        let cost = (thread_cpu_time_ns() - began) as f64 / 1e6;
        // A scan that sees nothing costs nothing, either.
        ensure!(seen > 0, "a look at the program's memory found none of it");
        costs.push(cost / size);
    }
    let cost = median(&costs).context("no pass was made")?;
    run.value("cpu_ms_per_gib", cost);
    run.memory("", held.pid());
    held.verify(run)?;
    held.finish()
}

/// A way to look at one program's largest mapping.
struct Eye {
    range: Range<u64>,
    way: Way,
}

enum Way {
    Scan(Box<PageReader>, File),
    Pagemap(File),
    Smaps(u32),
}

impl Eye {
    fn open(pid: u32, method: Method) -> anyhow::Result<Self> {
        let root = Root::live();
        let mappings = mappings(&root, pid)?;
        let ranges = mappings.iter().map(|mapping| mapping.span.aligned(Geometry::X86_64));
        let range = ranges.max_by_key(|range| range.end.saturating_sub(range.start));
        let range = range.filter(|range| !range.is_empty()).context("the program maps nothing")?;
        let pagemap = || File::open(root.path(format!("proc/{pid}/pagemap")));
        let way = match method {
            Method::Pagemap => Way::Pagemap(pagemap()?),
            Method::Smaps => Way::Smaps(pid),
            Method::Hugewise => {
                let reader = PageReader::new(Geometry::X86_64);
                let reader = reader.ok().context("this kernel shows no pages to hugewise")?;
                Way::Scan(Box::new(reader), pagemap()?)
            }
        };
        Ok(Self { range, way })
    }

    /// Looks once; pages or bytes seen.
    fn look(&mut self) -> anyhow::Result<u64> {
        match &mut self.way {
            Way::Scan(reader, pagemap) => {
                let mut populated = 0;
                let each = |_, counts: Counts| populated += u64::from(counts.populated());
                reader.count(pagemap, self.range.start, self.range.end, each, || false)?;
                Ok(populated)
            }
            Way::Pagemap(pagemap) => read_pagemap(pagemap, &self.range),
            Way::Smaps(pid) => {
                let mut text = Vec::new();
                let path = Root::live().path(format!("proc/{pid}/smaps"));
                Ok(File::open(path)?.read_to_end(&mut text)? as u64)
            }
        }
    }
}

/// Reads every entry and counts what is present, as a tool without a scan of the kernel has to.
fn read_pagemap(pagemap: &File, range: &Range<u64>) -> anyhow::Result<u64> {
    let page = Geometry::X86_64.base.0;
    let mut buffer = vec![0u8; BUFFER];
    let (mut at, end, mut present) = (range.start / page * ENTRY, range.end / page * ENTRY, 0);
    while at < end {
        let want = usize::try_from((end - at).min(BUFFER as u64))?;
        let read = pagemap.read_at(&mut buffer[..want], at)?;
        ensure!(read > 0, "pagemap ends within a mapping");
        let words = buffer[..read].as_chunks::<8>().0.iter();
        present += words.filter(|word| u64::from_ne_bytes(**word) >> 63 == 1).count() as u64;
        at += read as u64;
    }
    Ok(present)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_linux::memory::Arena;

    #[test]
    fn every_way_sees_memory_that_is_there() -> anyhow::Result<()> {
        let len = 64 << 20;
        let mut arena = Arena::new(len, 2 << 20)?;
        (0..len).step_by(4096).for_each(|offset| arena.set(offset, 1));
        for method in [Method::Pagemap, Method::Smaps] {
            let mut eye = Eye::open(std::process::id(), method)?;
            assert!(eye.look()? > 0, "{method:?}");
        }
        let range = arena.addr()..arena.addr() + len as u64;
        let pagemap = File::open("/proc/self/pagemap")?;
        assert_eq!(read_pagemap(&pagemap, &range)?, len as u64 / 4096);
        Ok(())
    }
}
