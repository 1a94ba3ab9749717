//! How much waste may be caused, and from where on it is taken back.

use crate::base::units::Bytes;
use crate::manager::config::Config;
use crate::manager::snapshot::MachineSample;

/// Above so much waste in huge regions it is taken back: `bloat_budget_percent` of the managed
/// footprint. Not scaled by FMFI: splits leave small holes, which raise FMFI, which would ask for
/// more splits.
#[must_use]
pub fn bound(config: &Config, footprint: Bytes) -> Bytes {
    footprint.percent(config.promote.bloat_budget_percent)
}

/// Waste that promotions below the threshold may cause in all, right now.
///
/// `bloat_budget_percent` of the managed footprint, shrinking linearly with FMFI down to nothing
/// at `watermark.fmfi_high`: where free huge pages are scarce, none is left half empty.
/// An unknown FMFI gives no budget.
#[must_use]
pub fn budget(config: &Config, machine: &MachineSample, footprint: Bytes) -> Bytes {
    let Some(fmfi) = machine.fmfi else {
        return Bytes(0);
    };
    let high = config.watermark.fmfi_high;
    let room = if fmfi < high { 1.0 - fmfi / high } else { 0.0 };
    footprint.percent(config.promote.bloat_budget_percent * room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_shrinks_with_fragmentation() {
        let config = Config::default();
        let mut machine = MachineSample::example();
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
