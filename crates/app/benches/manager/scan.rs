//! What it costs to find out how well used 1 GiB is: ours against reading pagemap and smaps.

use super::{Done, number, spread, target};
use hugewise_core::stats::median;
use hugewise_core::units::{Bytes, Geometry};
use hugewise_linux::pages::PageReader;
use hugewise_linux::process;
use hugewise_linux::root::Root;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

const KINDS: [(&str, &[&str]); 3] = [
    ("dense", &["--fill", "dense"]),
    ("sparse (51 of 512 pages)", &["--fill", "sparse:51"]),
    ("huge", &["--fill", "dense", "--advise", "huge"]),
];

pub(crate) fn run() -> Done {
    let rounds = number("HUGEWISE_BENCH_ROUNDS", 5);
    println!(
        "Own CPU, ms per GiB, {rounds} interleaved rounds: median [min..max]; ratio to ours.\n"
    );
    println!("| memory | hugewise | pagemap | smaps | pagemap / ours | smaps / ours |");
    println!("|---|---|---|---|---|---|");
    for (name, arguments) in KINDS {
        let target = target::hold(Bytes::mib(1024), arguments)?;
        let pid = target.0.id();
        let mappings = process::mappings(&Root::live(), pid)?;
        let range = mappings
            .iter()
            .map(|mapping| mapping.aligned(Geometry::X86_64))
            .max_by_key(|range| range.end - range.start)
            .ok_or("the workload has a mapping")?;
        let mut pages = PageReader::new(Geometry::X86_64)?;
        let pagemap = File::open(format!("/proc/{pid}/pagemap"))?;
        let mut costs = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..rounds {
            costs[0].push(cost_ms(|| ours(&mut pages, &pagemap, &range))?);
            costs[1].push(cost_ms(|| read_pagemap(&pagemap, &range))?);
            costs[2].push(cost_ms(|| read_smaps(pid))?);
        }
        let base = median(&costs[0]).unwrap_or(f64::NAN);
        let ratio = |values: &[f64]| median(values).unwrap_or(f64::NAN) / base;
        println!(
            "| {name} | {} | {} | {} | {:.1} | {:.1} |",
            spread(&costs[0], 2),
            spread(&costs[1], 2),
            spread(&costs[2], 2),
            ratio(&costs[1]),
            ratio(&costs[2])
        );
    }
    Ok(())
}

fn cost_ms(work: impl FnOnce() -> Done) -> Result<f64, Box<dyn std::error::Error>> {
    let began = hugewise_linux::cpu::thread_cpu_time_ns();
    work()?;
    Ok((hugewise_linux::cpu::thread_cpu_time_ns() - began) as f64 / 1e6)
}

fn ours(pages: &mut PageReader, pagemap: &File, range: &std::ops::Range<u64>) -> Done {
    let mut populated = 0u64;
    let each =
        |_, counts: hugewise_linux::pages::Counts| populated += u64::from(counts.populated());
    pages.count(pagemap, range.start, range.end, each, || false)?;
    if populated == 0 { Err("nothing is populated".into()) } else { Ok(()) }
}

fn read_pagemap(pagemap: &File, range: &std::ops::Range<u64>) -> Done {
    let mut buffer = vec![0u8; 1 << 20];
    let (mut at, end, mut present) = (range.start / 4096 * 8, range.end / 4096 * 8, 0u64);
    while at < end {
        let want = usize::try_from((end - at).min(1 << 20))?;
        let read = pagemap.read_at(&mut buffer[..want], at)?;
        let words = buffer[..read].chunks_exact(8);
        let words = words.map(|b| b.try_into().map_or(0, u64::from_ne_bytes));
        present += words.filter(|word| word >> 63 == 1).count() as u64;
        at += read as u64;
    }
    if present == 0 { Err("nothing is present".into()) } else { Ok(()) }
}

fn read_smaps(pid: u32) -> Done {
    let mut text = Vec::new();
    File::open(format!("/proc/{pid}/smaps"))?.read_to_end(&mut text)?;
    if text.is_empty() { Err("smaps is empty".into()) } else { Ok(()) }
}
