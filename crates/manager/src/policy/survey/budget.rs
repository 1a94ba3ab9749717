//! How much waste may be caused, and from where on it is taken back.

use crate::config::Config;
use crate::snapshot::MachineSample;
use hugewise_base::units::Bytes;

/// From so much available memory on the budget is as large as it may be.
const PLENTY_PERCENT: f64 = 50.0;

/// Above so much waste in huge regions it is taken back: the budget of the managed footprint while
/// memory is not fragmented. Not scaled by FMFI: splits leave small holes, which raise FMFI, which
/// would ask for more splits.
pub fn bound(config: &Config, machine: Option<&MachineSample>, footprint: Bytes) -> Bytes {
    let least = config.promote.bloat_budget_percent;
    footprint.percent(machine.map_or(least, |machine| percent(config, machine)))
}

/// Waste that promotions below the threshold may cause in all, right now.
///
/// `bloat_budget_percent` of the managed footprint, shrinking linearly with FMFI down to nothing
/// at `watermark.fmfi_high`: where free huge pages are scarce, none is left half empty.
/// An unknown FMFI gives no budget.
pub fn budget(config: &Config, machine: &MachineSample, footprint: Bytes) -> Bytes {
    let Some(fmfi) = machine.fmfi else {
        return Bytes(0);
    };
    let high = config.watermark.fmfi_high;
    let room = if fmfi < high { 1.0 - fmfi / high } else { 0.0 };
    footprint.percent(percent(config, machine) * room)
}

/// The budget where memory is not fragmented: it grows from `bloat_budget_percent` to
/// `bloat_budget_most_percent` as the machine's available memory goes from the high watermark to
/// half of all. Unknown memory lets nothing grow.
fn percent(config: &Config, machine: &MachineSample) -> f64 {
    let least = config.promote.bloat_budget_percent;
    let most = config.promote.bloat_budget_most_percent.max(least);
    let share = |(available, total): (Bytes, Bytes)| {
        let high = config.watermark.mem_available_high_percent;
        let available = 100.0 * available.0 as f64 / (total.0 as f64).max(1.0);
        ((available - high) / (PLENTY_PERCENT - high).max(1.0)).clamp(0.0, 1.0)
    };
    let free = machine.mem_available.zip(machine.mem_total).map_or(0.0, share);
    least + (most - least) * free
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

    #[test]
    fn the_budget_grows_with_free_memory_as_far_as_it_may() {
        let mut config = Config::default();
        config.promote.bloat_budget_most_percent = 10.0;
        let mut machine = MachineSample::example();
        let total = machine.mem_total.unwrap_or_default();
        let mut at = |percent: f64, fmfi| {
            machine.mem_available = Some(total.percent(percent));
            machine.fmfi = Some(fmfi);
            let footprint = Bytes(1_000_000);
            (budget(&config, &machine, footprint).0, bound(&config, Some(&machine), footprint).0)
        };
        assert_eq!(at(8.0, 0.0), (30_000, 30_000));
        assert_eq!(at(29.0, 0.0), (64_999, 64_999), "rounded down");
        assert_eq!(at(50.0, 0.0), (100_000, 100_000));
        assert_eq!(at(90.0, 0.25), (50_000, 100_000), "fragmented: nothing new, nothing back");
    }
}
