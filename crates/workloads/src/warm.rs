//! Touches memory and gives it back, so that a host that backs a virtual machine lazily has
//! backed the free blocks before something else is timed on them.

use anyhow::{Context, bail};
use hugewise_base::units::Geometry;
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_linux::prctl;

const BASE: usize = 4096;
const HUGE: usize = 2 << 20;

/// `hugewise lab workload warm BYTES`.
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    prctl::set_parent_death_signal()?;
    let [bytes] = args else { bail!("usage: lab workload warm BYTES") };
    let bytes: usize = bytes.parse().context("BYTES is a number")?;
    let len = bytes.next_multiple_of(HUGE).max(HUGE);
    let mut arena = Arena::new(len, HUGE).context("cannot map the memory to warm")?;
    // Huge blocks come back whole. Where the kernel has none, base pages do as well.
    let _ = arena.advise(0..len, LocalAdvice::HugePage);
    let step = usize::try_from(Geometry::X86_64.base.0).unwrap_or(BASE);
    (0..len).step_by(step).for_each(|offset| arena.set(offset, 1));
    Ok(hugewise_base::exit::OK)
}
