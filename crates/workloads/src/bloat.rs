//! `hugewise lab workload bloat`: programs that use little of what they have touched, so that huge
//! pages make them grow at once.
//!
//! Three kinds that are found in the wild: allocators with an arena for each thread, tables that
//! were allocated as zeros, allocators that gave most of a heap back.

use crate::kit::{Advise, MIB, allow_huge_pages, huge, pattern, say, say_verdict, serve};
use crate::pattern::mix;
use crate::protocol::{Event, Report, Request};
use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use hugewise_base::rng::Rng;
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_linux::prctl;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Insertions into a table end when this share of its base pages is in use.
const TABLE_PERCENT: usize = 10;
/// Share of its pieces that `purge` gives back.
const PURGE_PERCENT: u64 = 55;
/// Bytes of such a piece: four base pages, as of an allocator's smaller extents.
const PIECE: usize = 16 << 10;
/// Bytes of a key and its value in a table.
const SLOT: usize = 16;
/// Look-ups between two looks at the clock.
const BATCH: u64 = 1024;

/// Arguments of `hugewise lab workload bloat`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    #[arg(long, value_enum)]
    kind: Kind,
    /// Size, MiB; whole huge pages
    #[arg(long)]
    mib: usize,
    /// Said of all memory before the first touch; otherwise the machine's setting decides
    #[arg(long, value_enum)]
    advise: Option<Advise>,
    /// Huge pages stay switched off for this program
    #[arg(long, conflicts_with = "advise")]
    thp_disable: bool,
    /// They are until all is filled: then a manager may promote, and khugepaged what is advised
    #[arg(long, conflicts_with = "thp_disable")]
    later: bool,
    /// Pages in use at the start of each arena
    #[arg(long, default_value_t = 64)]
    pages: usize,
    /// What is random is the same for the same seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Arenas of a huge page, each used at its start only.
    Arena,
    /// A hash table that was allocated as zeros and holds few keys.
    Table,
    /// A heap that was full, and of which random pieces were given back.
    Purge,
}

/// Runs the command.
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    // First of all: without its parent nobody would give its memory back.
    prctl::set_parent_death_signal().context("cannot ask to end with the parent")?;
    let bloat = Bloat::fill(&Args::try_parse_from(args)?)?;
    say(&Event::Ready(Report::default()))?;
    serve("bloat", |asked| match asked {
        Request::Verify => say_verdict(bloat.used.len(), bloat.wrong_at()).map(Some),
        Request::Measure(seconds) => {
            let worked = bloat.work(Duration::from_secs_f64(seconds));
            say(&worked)?;
            Ok(Some(!matches!(worked, Event::Mismatch { .. })))
        }
        _ => Ok(None),
    })
}

/// The memory, and what of it is in use.
struct Bloat {
    kind: Kind,
    arena: Arena,
    page: usize,
    /// Numbers of the pages in use, ascending.
    used: Vec<usize>,
    /// Keys in a table; the other kinds have none.
    keys: u64,
    seed: u64,
}

impl Bloat {
    fn fill(args: &Args) -> anyhow::Result<Self> {
        let (len, page) = (args.mib * MIB, rustix::param::page_size());
        let even = len > 0 && len.is_multiple_of(huge());
        ensure!(even, "--mib {} is no multiple of {}", args.mib, huge() / MIB);
        let whole = huge() / page;
        ensure!((1..=whole).contains(&args.pages), "--pages {} is not 1 to {whole}", args.pages);
        let mut arena = Arena::new(len, huge()).context("cannot map memory")?;
        if args.advise == Some(Advise::Huge) {
            arena.advise(0..len, LocalAdvice::HugePage).context("cannot ask for huge pages")?;
        }
        if args.thp_disable || args.later {
            prctl::set_thp_disable(true).context("cannot switch huge pages off")?;
        }
        let (kind, seed) = (args.kind, args.seed);
        let mut bloat = Self { kind, arena, page, used: Vec::new(), keys: 0, seed };
        match kind {
            Kind::Arena => (0..len / page)
                .filter(|number| number % whole < args.pages)
                .for_each(|number| bloat.write(number)),
            Kind::Table => bloat.insert_keys(),
            Kind::Purge => bloat.purge()?,
        }
        if args.later {
            allow_huge_pages(args.advise == Some(Advise::Huge))?;
        }
        Ok(bloat)
    }

    fn write(&mut self, number: usize) {
        let (first, start) = (number * self.page, self.arena.addr());
        let words = self.arena.as_mut_slice()[first..first + self.page].chunks_exact_mut(8);
        for (word, at) in words.zip((start + first as u64..).step_by(8)) {
            word.copy_from_slice(&pattern(at));
        }
        self.used.push(number);
    }

    fn purge(&mut self) -> anyhow::Result<()> {
        (0..self.arena.len() / self.page).for_each(|number| self.write(number));
        let (mut rng, piece) = (Rng::new(self.seed), PIECE.max(self.page));
        let mut kept = vec![true; self.arena.len() / piece];
        for (number, kept) in kept.iter_mut().enumerate() {
            if rng.percent(PURGE_PERCENT) {
                let range = number * piece..(number + 1) * piece;
                self.arena.advise(range, LocalAdvice::DontNeed).context("cannot drop pages")?;
                *kept = false;
            }
        }
        self.used.retain(|number| kept[number * self.page / piece]);
        Ok(())
    }

    fn insert_keys(&mut self) {
        let mut used = vec![false; self.arena.len() / self.page];
        let mut count = 0;
        while count * 100 < used.len() * TABLE_PERCENT {
            let key = self.key(self.keys);
            let mut slot = self.home(key);
            // What lies in an unused page is known, and reading it would map the zero page there.
            while used[slot * SLOT / self.page] && self.slot(slot).0 != 0 {
                slot = self.next(slot);
            }
            let bytes = &mut self.arena.as_mut_slice()[slot * SLOT..(slot + 1) * SLOT];
            bytes[..8].copy_from_slice(&key.to_ne_bytes());
            bytes[8..].copy_from_slice(&mix(key).to_ne_bytes());
            self.keys += 1;
            count += usize::from(!std::mem::replace(&mut used[slot * SLOT / self.page], true));
        }
        self.used = (0..used.len()).filter(|number| used[*number]).collect();
    }

    /// The key inserted as number `index`; never 0, which marks a free slot.
    fn key(&self, index: u64) -> u64 {
        mix(self.seed.wrapping_add(index)) | 1
    }

    /// Where a key belongs in an empty table.
    fn home(&self, key: u64) -> usize {
        below(mix(key), (self.arena.len() / SLOT) as u64)
    }

    /// Where to look next when a slot is taken.
    fn next(&self, slot: usize) -> usize {
        if (slot + 1) * SLOT < self.arena.len() { slot + 1 } else { 0 }
    }

    fn slot(&self, slot: usize) -> (u64, u64) {
        (self.word(slot * SLOT), self.word(slot * SLOT + 8))
    }

    fn word(&self, at: usize) -> u64 {
        let bytes = self.arena.as_slice()[at..at + 8].first_chunk::<8>();
        u64::from_ne_bytes(*bytes.unwrap_or(&[0; 8]))
    }

    /// A key's value; `None` when it is not found where it must be.
    fn value(&self, key: u64) -> Option<u64> {
        let mut slot = self.home(key);
        loop {
            match self.slot(slot) {
                (found, value) if found == key => return Some(value),
                (0, _) => return None,
                _ => slot = self.next(slot),
            }
        }
    }

    /// Checks every word of every page in use; the others are not even read. The address of the
    /// first that is wrong.
    fn wrong_at(&self) -> Option<u64> {
        let wrong = match self.kind {
            Kind::Table => self.wrong_in_table(),
            Kind::Arena | Kind::Purge => self.words().find(|at| !self.is_intact(*at)),
        };
        wrong.map(|at| self.arena.addr() + at as u64)
    }

    /// Offsets of all words of the pages in use.
    fn words(&self) -> impl Iterator<Item = usize> {
        let pages = self.used.iter().map(|number| number * self.page);
        pages.flat_map(|first| (first..first + self.page).step_by(8))
    }

    fn is_intact(&self, at: usize) -> bool {
        self.word(at).to_ne_bytes() == pattern(self.arena.addr() + at as u64)
    }

    /// Every slot in use holds a key with its value, there are as many as were inserted, and each
    /// key is found: then nothing else fits.
    fn wrong_in_table(&self) -> Option<usize> {
        let mut found = 0;
        for at in self.words().step_by(SLOT / 8) {
            match self.slot(at / SLOT) {
                (0, 0) => {}
                (key, value) if key != 0 && value == mix(key) => found += 1,
                _ => return Some(at),
            }
        }
        let lost = (0..self.keys).map(|index| self.key(index)).find(|key| {
            // Only an intact table is sure to have the free slot at which a search ends.
            found != self.keys || self.value(*key) != Some(mix(*key))
        });
        lost.map(|key| self.home(key) * SLOT)
    }

    /// Random look-ups for `time`; each place depends on what was found before, so that the
    /// processor cannot hide a TLB miss behind others.
    fn work(&self, time: Duration) -> Event {
        let (begin, mut cursor) = (Instant::now(), mix(self.seed));
        let (mut ops, mut wrong) = (0u64, 0u64);
        while begin.elapsed() < time {
            for _ in 0..BATCH {
                let (value, intact) = self.look_up(cursor);
                wrong += u64::from(!intact);
                cursor = mix(black_box(value ^ cursor));
            }
            ops += BATCH;
        }
        if wrong > 0 {
            return Event::Mismatch { wrong, during: "measure".into() };
        }
        let per_second = ops as f64 / begin.elapsed().as_secs_f64().max(1e-9);
        let values = BTreeMap::from([("ops_per_s".to_owned(), per_second)]);
        Event::Measured(Report { values, ..Report::default() })
    }

    /// One look-up: what was found, and whether it belongs there.
    fn look_up(&self, cursor: u64) -> (u64, bool) {
        if self.kind == Kind::Table {
            let key = self.key(below(cursor, self.keys) as u64);
            let value = self.value(key);
            return (value.unwrap_or_default(), value == Some(mix(key)));
        }
        let words = self.page / 8;
        let place = below(cursor, (self.used.len() * words) as u64);
        let at = self.used[place / words] * self.page + place % words * 8;
        (self.word(at), self.is_intact(at))
    }
}

/// A random number below `bound`: the high half of a product needs no division.
fn below(random: u64, bound: u64) -> usize {
    usize::try_from((u128::from(random) * u128::from(bound)) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bloat(kind: &str, more: &[&str]) -> anyhow::Result<Bloat> {
        let words = ["--kind", kind, "--mib", "8"];
        Bloat::fill(&Args::try_parse_from(words.iter().chain(more))?)
    }

    #[test]
    fn each_kind_knows_what_it_wrote() -> anyhow::Result<()> {
        for (kind, pages) in [("arena", 256..=256), ("table", 205..=205), ("purge", 820..=1024)] {
            for advise in [&[][..], &["--advise", "huge"]] {
                let mut bloat = bloat(kind, advise)?;
                assert!(pages.contains(&bloat.used.len()), "{kind}: {}", bloat.used.len());
                assert_eq!(bloat.wrong_at(), None, "{kind}");
                let work = bloat.work(Duration::from_millis(5));
                let Event::Measured(report) = work else { anyhow::bail!("{kind}: {work:?}") };
                assert!(report.values["ops_per_s"] > 0.0, "{kind}: {report:?}");
                // A word of a page in use that is not free.
                let at = bloat.words().find(|at| bloat.word(*at) != 0).context("no word in use")?;
                bloat.arena.as_mut_slice()[at + 3] ^= 1;
                assert!(bloat.wrong_at().is_some(), "{kind}");
                bloat.arena.as_mut_slice()[at + 3] ^= 1;
                assert_eq!(bloat.wrong_at(), None, "{kind}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_table_misses_lost_and_strange_keys() -> anyhow::Result<()> {
        let mut bloat = bloat("table", &[])?;
        let slot = (0..).find(|slot| bloat.used.contains(&(slot * SLOT / bloat.page)));
        let taken = |bloat: &Bloat, slot: usize| bloat.slot(slot).0 != 0;
        let lost = (slot.context("no page in use")?..).find(|slot| taken(&bloat, *slot));
        let at = lost.context("no slot in use")? * SLOT;
        let saved = bloat.arena.as_slice()[at..at + SLOT].to_vec();
        bloat.arena.as_mut_slice()[at..at + SLOT].fill(0);
        assert!(bloat.wrong_at().is_some(), "lost");
        bloat.arena.as_mut_slice()[at..at + 8].copy_from_slice(&4u64.to_ne_bytes());
        bloat.arena.as_mut_slice()[at + 8..at + SLOT].copy_from_slice(&mix(4).to_ne_bytes());
        assert!(bloat.wrong_at().is_some(), "a strange key in its place");
        bloat.arena.as_mut_slice()[at..at + SLOT].copy_from_slice(&saved);
        assert_eq!(bloat.wrong_at(), None);
        Ok(())
    }

    #[test]
    fn a_seed_repeats_and_nonsense_is_refused() -> anyhow::Result<()> {
        for kind in ["table", "purge"] {
            let used = |seed: &str| bloat(kind, &["--seed", seed]).map(|bloat| bloat.used);
            assert_eq!(used("3")?, used("3")?);
            assert_ne!(used("3")?, used("4")?);
        }
        assert!(bloat("arena", &["--pages", "0"]).is_err());
        assert!(bloat("arena", &["--pages", "513"]).is_err());
        assert!(bloat("heap", &[]).is_err());
        assert!(Bloat::fill(&Args::try_parse_from(["--kind", "arena", "--mib", "3"])?).is_err());
        Ok(())
    }
}
