//! How much waste is known, and how much more may be caused.

use crate::config::Config;
use crate::snapshot::MachineSample;
use crate::state::State;
use crate::units::Bytes;

/// Waste that promotions below the threshold may cause in all, right now.
///
/// `bloat_budget_percent` of the managed footprint, shrinking linearly with FMFI down to nothing
/// at `watermark.fmfi_high`: in fragmented memory a huge page is too dear to be filled with air.
/// An unknown FMFI, or memory below its watermark, gives no budget.
#[must_use]
pub fn budget(config: &Config, machine: &MachineSample, footprint: Bytes) -> Bytes {
    let Some(fmfi) = machine.fmfi else {
        return Bytes(0);
    };
    let high = config.watermark.fmfi_high;
    let room = if fmfi < high { 1.0 - fmfi / high } else { 0.0 };
    footprint.percent(config.promote.bloat_budget_percent * room)
}

/// Waste of all regions that hugewise promoted and that are still huge: exact when they were
/// promoted, an upper bound since (the program may have filled them).
#[must_use]
pub fn known(state: &State) -> Bytes {
    let pages = state.targets.values().map(|t| t.known_bloat_pages(state.geometry)).sum();
    state.geometry.bytes(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine_sample;

    #[test]
    fn the_budget_shrinks_with_fragmentation() {
        let config = Config::default();
        let mut machine = machine_sample();
        let at = |machine: &MachineSample| budget(&config, machine, Bytes(1_000_000)).0;
        machine.fmfi = Some(0.0);
        assert_eq!(at(&machine), 30_000);
        machine.fmfi = Some(0.25);
        assert_eq!(at(&machine), 15_000);
        machine.fmfi = Some(0.9);
        assert_eq!(at(&machine), 0);
        machine.fmfi = None;
        assert_eq!(at(&machine), 0);
    }
}
