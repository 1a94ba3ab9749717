//! `hugewise lab workload probe HUGE_BYTES`: lends memory to `hugewise doctor`, which proves on it
//! what the kernel does. It speaks the few words of `hugewise_linux::probe` and not
//! [`crate::protocol`]: the crate that asks lies below this one.

#![expect(clippy::disallowed_methods, reason = "a program of its own, which answers its starter")]

use anyhow::{Context, ensure};
use hugewise_linux::memory::Arena;
use hugewise_linux::prctl;
use hugewise_linux::probe::SPARSE_PAGES;
use std::io::{BufRead, Write};

/// Two regions: the first full of data, the second with [`SPARSE_PAGES`] pages of data, the others
/// never touched.
struct Lent {
    arena: Arena,
    huge: usize,
    page: usize,
}

/// Runs the command.
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    // The asker may be killed; without it nobody would end this process.
    prctl::set_parent_death_signal().context("asking to end with the parent")?;
    let huge = args.first().context("workload probe: the huge page size in bytes is missing")?;
    let mut lent = Lent::fill(huge.parse().context("workload probe: not a size in bytes")?)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready {:x}", lent.arena.addr())?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        let answer = match line?.as_str() {
            "verify" => lent.verify(),
            "except-advised" => match prctl::set_thp_disable_except_advised() {
                Ok(()) => "ok".to_owned(),
                Err(errno) => errno.to_string(),
            },
            other => format!("unknown word '{}'", other.escape_debug()),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(hugewise_base::exit::OK)
}

impl Lent {
    fn fill(huge: usize) -> anyhow::Result<Self> {
        let page = rustix::param::page_size();
        ensure!(huge.is_power_of_two() && huge > page, "no huge page has {huge} bytes");
        let arena = Arena::new(2 * huge, huge).context("mapping memory to lend")?;
        let mut lent = Self { arena, huge, page };
        for start in lent.data_pages() {
            let bytes = &mut lent.arena.as_mut_slice()[start..start + page];
            bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(start + at));
        }
        Ok(lent)
    }

    /// Offsets of the pages that hold data: all of the first region, and of the second one every
    /// 32nd (on x86-64), the last page never: that is where a split is asked for.
    fn data_pages(&self) -> Vec<usize> {
        let step = self.huge / SPARSE_PAGES;
        let dense = (0..self.huge).step_by(self.page);
        dense.chain((self.huge..2 * self.huge).step_by(step)).collect()
    }

    /// `intact`, or where the first wrong byte is.
    fn verify(&mut self) -> String {
        let data = self.data_pages();
        let bytes = self.arena.as_slice();
        for start in (0..bytes.len()).step_by(self.page) {
            let holds_data = data.binary_search(&start).is_ok();
            for (at, byte) in bytes.iter().enumerate().skip(start).take(self.page) {
                let wanted = if holds_data { pattern(at) } else { 0 };
                if *byte != wanted {
                    return format!("byte {at} is {byte}, not {wanted}");
                }
            }
        }
        "intact".to_owned()
    }
}

/// Differs between neighbouring bytes and pages, and is never 0: lost data cannot look right.
fn pattern(at: usize) -> u8 {
    u8::try_from(at % 251).unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_seen() -> anyhow::Result<()> {
        let mut lent = Lent::fill(2 << 20)?;
        assert_eq!(lent.verify(), "intact");
        let last = lent.arena.len() - 1;
        lent.arena.as_mut_slice()[last] = 7;
        assert_eq!(lent.verify(), format!("byte {last} is 7, not 0"));
        lent.arena.as_mut_slice()[5] = 0;
        assert_eq!(lent.verify(), "byte 5 is 0, not 6");
        Ok(())
    }

    #[test]
    fn the_page_that_is_advised_holds_no_data_in_the_sparse_region() -> anyhow::Result<()> {
        let lent = Lent::fill(2 << 20)?;
        let data = lent.data_pages();
        assert_eq!(data.len(), 512 + SPARSE_PAGES);
        assert!(!data.contains(&(lent.arena.len() - lent.page)));
        Ok(())
    }
}
