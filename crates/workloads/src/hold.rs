//! `hugewise lab workload hold`: memory with known contents, kept and changed on request.
//!
//! Tests and experiments look at it from outside. It answers requests
//! ([`crate::protocol`]), and ends with its parent or its input.

use crate::kit::{MIB, huge, pattern, say, say_verdict, serve};
use crate::protocol::{Event, Report, Request, Span};
use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use hugewise_linux::fork::{PausingChild, pausing_child};
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_linux::numa::{self, Turns};
use hugewise_linux::prctl;
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

/// Arguments of `hugewise lab workload hold`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    /// Size, MiB; whole huge pages
    #[arg(long)]
    mib: usize,
    /// `dense`, `sparse:K`: the first K pages of every huge page, or `every:K`: one page of each K
    #[arg(long, default_value = "dense", value_parser = fill)]
    fill: Fill,
    /// `huge` faults in huge pages where the machine gives them, `none` what it gives without
    /// advice; otherwise the fill takes base pages
    #[arg(long, value_enum)]
    advise: Option<Advise>,
    /// Huge pages stay switched off for this program
    #[arg(long)]
    thp_disable: bool,
    /// A thread works for a millisecond of every five, as in a program that serves somebody
    #[arg(long)]
    awake: bool,
    /// A second mapping of so many MiB, of which a thread reads every page again and again
    #[arg(long, default_value_t = 0)]
    hot: usize,
    /// Its memory is shared: a child maps the same pages, and what is dropped is a hole for both
    #[arg(long)]
    shared: bool,
    /// All pages have the same contents, and may be merged (KSM)
    #[arg(long)]
    mergeable: bool,
    /// NUMA nodes from which pages come in turn; otherwise from wherever the kernel likes
    #[arg(long, value_delimiter = ',')]
    nodes: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Advise {
    Huge,
    Nohuge,
    None,
    /// `huge`, but said after the fill: base pages that khugepaged may collapse.
    Later,
}

/// Which pages of each huge page are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fill {
    /// So many of them, from the first on ...
    pages: usize,
    /// ... each so many pages after the one before.
    step: usize,
}

fn fill(text: &str) -> Result<Fill, String> {
    let whole = huge() / rustix::param::page_size();
    let number = |text: &str| text.parse().ok().filter(|n| (1..=whole).contains(n));
    let fill = match text.split_once(':') {
        None if text == "dense" => Some(Fill { pages: whole, step: 1 }),
        Some(("sparse", text)) => number(text).map(|pages| Fill { pages, step: 1 }),
        Some(("every", text)) => number(text).map(|step| Fill { pages: whole / step, step }),
        _ => None,
    };
    fill.ok_or_else(|| {
        format!("'{text}' is neither 'dense' nor 'sparse:K' or 'every:K' with K from 1 to {whole}")
    })
}

/// Runs the command.
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    // First of all: without its parent nobody would give its memory back.
    prctl::set_parent_death_signal().context("cannot ask to end with the parent")?;
    let parsed = Args::try_parse_from(args)?;
    let mut held = HeldMemory::fill(&parsed)?;
    if parsed.awake {
        std::thread::Builder::new().name("awake".into()).spawn(stay_awake)?;
    }
    let mut parts = BTreeMap::from([("cold".to_owned(), range_of(&held.arena))]);
    if parsed.hot > 0 {
        parts.insert("hot".to_owned(), keep_hot(&parsed)?);
    }
    say(&Event::Ready(Report { parts, ..Report::default() }))?;
    serve("hold", |asked| {
        match asked {
            Request::Exec => return Err(exec(args).into()),
            Request::Verify => {
                return say_verdict(held.written_pages(), held.wrong_at()).map(Some);
            }
            Request::Fork => {
                let child = pausing_child().context("cannot fork")?;
                let pid = child.id();
                held.child = Some(child);
                say(&Event::Forked { pid })?;
            }
            Request::EndChild => say(&Event::ChildEnded { existed: held.child.take().is_some() })?,
            Request::Drop(span) => say(&Event::Dropped { pages: held.drop_pages(span)? })?,
            Request::Touch(span) => say(&Event::Touched { pages: held.touch(span)? })?,
            _ => return Ok(None),
        }
        Ok(Some(true))
    })
}

/// Works a little, for ever.
fn stay_awake() {
    loop {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(1) {
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_millis(4));
    }
}

fn range_of(arena: &Arena) -> Range<u64> {
    arena.addr()..arena.addr() + arena.len() as u64
}

/// Maps and fills the second mapping, and has a thread read it for ever. Returns where it is.
fn keep_hot(args: &Args) -> anyhow::Result<Range<u64>> {
    let (len, huge) = (args.hot * MIB, huge());
    ensure!(len.is_multiple_of(huge), "--hot {} is no multiple of {}", args.hot, huge / MIB);
    // Fences: beside other memory of this kind it would be one mapping with that.
    let inside = huge..huge + len;
    let mut arena = Arena::new(len + 2 * huge, huge).context("cannot map memory")?;
    let page = rustix::param::page_size();
    let asked = args.advise == Some(Advise::Huge);
    if asked {
        arena.advise(inside.clone(), LocalAdvice::HugePage)?;
    }
    prctl::set_thp_disable(!asked).context("cannot switch huge pages off")?;
    let bytes = &mut arena.as_mut_slice()[inside.clone()];
    bytes.iter_mut().step_by(page).for_each(|byte| *byte = 1);
    prctl::set_thp_disable(args.thp_disable).context("cannot switch huge pages on")?;
    for fence in [0..huge, inside.end..arena.len()] {
        arena.protect_read_only(fence).context("cannot protect memory")?;
    }
    let (start, end) = (arena.addr() + huge as u64, arena.addr() + inside.end as u64);
    let read_on = move || {
        loop {
            for byte in arena.as_slice()[inside.clone()].iter().step_by(page) {
                std::hint::black_box(*byte);
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    };
    std::thread::Builder::new().name("hot".into()).spawn(read_on)?;
    Ok(start..end)
}

/// Becomes a fresh copy of this program in a new address space; returns only on failure.
fn exec(args: &[String]) -> std::io::Error {
    std::process::Command::new("/proc/self/exe")
        .args(crate::protocol::COMMAND)
        .arg("hold")
        .args(args)
        .exec()
}

/// What the word at `at` is made from: its address, or, where all pages are to be alike, its place
/// in its page.
const fn key(start: u64, at: usize, page: usize, mergeable: bool) -> u64 {
    if mergeable { (at % page) as u64 } else { start + at as u64 }
}

/// The memory, and which pages of it hold the pattern.
struct HeldMemory {
    arena: Arena,
    page: usize,
    shared: bool,
    mergeable: bool,
    written: Vec<bool>,
    child: Option<PausingChild>,
    /// For as long as it runs: memory of a program that names no nodes is moved by the kernel to
    /// those of the CPUs that it runs on (NUMA balancing).
    turns: Option<Turns>,
}

impl HeldMemory {
    fn fill(args: &Args) -> anyhow::Result<Self> {
        let (len, huge) = (args.mib * MIB, huge());
        let even = len > 0 && len.is_multiple_of(huge);
        ensure!(even, "--mib {} is no multiple of {}", args.mib, huge / MIB);
        let page = rustix::param::page_size();
        let map = if args.shared { Arena::shared } else { Arena::new };
        let arena = map(len, huge).context("cannot map memory")?;
        let written = vec![false; len / page];
        let (shared, mergeable) = (args.shared, args.mergeable);
        let (child, turns) = (None, None);
        let mut held = Self { arena, page, shared, mergeable, written, child, turns };
        match args.advise {
            Some(Advise::Huge) => held.arena.advise(0..len, LocalAdvice::HugePage)?,
            Some(Advise::Nohuge) => held.arena.advise(0..len, LocalAdvice::NoHugePage)?,
            Some(Advise::Later | Advise::None) | None => {}
        }
        // Base pages at first, even on a machine that gives huge ones to everybody.
        let given = matches!(args.advise, Some(Advise::Huge | Advise::None));
        let base_pages = args.thp_disable || !given;
        prctl::set_thp_disable(base_pages).context("cannot switch huge pages off")?;
        let turns = (!args.nodes.is_empty()).then(|| numa::take_turns(&args.nodes));
        held.turns = turns.transpose().context("cannot take memory from these nodes")?;
        for region in (0..len).step_by(huge) {
            let Fill { pages, step } = args.fill;
            match step {
                1 => held.write(region..region + pages * page),
                _ => (0..pages).map(|number| region + number * step * page).for_each(|at| {
                    held.write(at..at + page);
                }),
            }
        }
        prctl::set_thp_disable(args.thp_disable).context("cannot switch huge pages on")?;
        if args.mergeable {
            held.arena.advise(0..len, LocalAdvice::Mergeable)?;
        }
        if args.advise == Some(Advise::Later) {
            held.arena.advise(0..len, LocalAdvice::HugePage)?;
        }
        Ok(held)
    }

    fn write(&mut self, range: Range<usize>) {
        let (start, page, mergeable) = (self.arena.addr(), self.page, self.mergeable);
        let mut at = range.start;
        for word in self.arena.as_mut_slice()[range.clone()].chunks_exact_mut(8) {
            word.copy_from_slice(&pattern(key(start, at, page, mergeable)));
            at += 8;
        }
        self.written[range.start / page..range.end / page].fill(true);
    }

    fn written_pages(&self) -> usize {
        self.written.iter().filter(|written| **written).count()
    }

    /// Checks every word of every written page; the address of the first that is wrong.
    fn wrong_at(&self) -> Option<u64> {
        let (memory, start) = (self.arena.as_slice(), self.arena.addr());
        let written = self.written.iter().enumerate().filter(|(_, written)| **written);
        let firsts = written.map(|(index, _)| index * self.page);
        let mut words = firsts.flat_map(|first| (first..first + self.page).step_by(8));
        let expected = |at| pattern(key(start, at, self.page, self.mergeable));
        let wrong = words.find(|at| memory[*at..at + 8] != expected(*at));
        wrong.map(|at| start + at as u64)
    }

    fn range(&self, span: Span) -> anyhow::Result<Range<usize>> {
        let (start, len) = (span.offset_mib * MIB, span.len_kib * 1024);
        let end = start + len;
        let fits = end <= self.arena.len() && end.is_multiple_of(self.page) && start < end;
        ensure!(fits, "{span:?} is no range of pages of this memory");
        Ok(start..end)
    }

    /// Returns how many pages.
    fn drop_pages(&mut self, span: Span) -> anyhow::Result<usize> {
        let range = self.range(span)?;
        let advice = if self.shared { LocalAdvice::Remove } else { LocalAdvice::DontNeed };
        self.arena.advise(range.clone(), advice)?;
        self.written[range.start / self.page..range.end / self.page].fill(false);
        Ok(range.len() / self.page)
    }

    /// Returns how many pages.
    fn touch(&mut self, span: Span) -> anyhow::Result<usize> {
        let range = self.range(span)?;
        let pages = range.len() / self.page;
        self.write(range);
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(words: &[&str]) -> anyhow::Result<HeldMemory> {
        HeldMemory::fill(&Args::try_parse_from(words)?)
    }

    #[test]
    fn it_knows_what_it_wrote() -> anyhow::Result<()> {
        let mut held = held(&["--mib", "4", "--fill", "sparse:3", "--thp-disable"])?;
        assert_eq!((held.written_pages(), held.wrong_at()), (6, None));
        assert_eq!(held.drop_pages(Span { offset_mib: 2, len_kib: 8 })?, 2);
        assert_eq!((held.written_pages(), held.wrong_at()), (4, None));
        assert_eq!(held.touch(Span { offset_mib: 1, len_kib: 1024 })?, 256);
        assert_eq!((held.written_pages(), held.wrong_at()), (260, None));
        held.arena.as_mut_slice()[MIB + 9] ^= 1;
        assert_eq!(held.wrong_at(), Some(held.arena.addr() + MIB as u64 + 8));
        Ok(())
    }

    #[test]
    fn nonsense_is_refused() -> anyhow::Result<()> {
        assert!(held(&["--mib", "3"]).is_err());
        assert!(held(&["--mib", "4", "--fill", "sparse:513"]).is_err());
        assert!(held(&["--mib", "4", "--fill", "every:0"]).is_err());
        let every = held(&["--mib", "4", "--fill", "every:16"])?;
        assert_eq!((every.written_pages(), every.wrong_at()), (64, None));
        let held = held(&["--mib", "4", "--thp-disable"])?;
        for (offset_mib, len_kib) in [(3, 1025), (0, 3)] {
            assert!(held.range(Span { offset_mib, len_kib }).is_err());
        }
        Ok(())
    }
}
