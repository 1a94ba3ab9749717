//! What a huge page is worth: time that the program saves, against memory and time that it costs,
//! all in ns a second.
//!
//! * **Gain**: the CPU time that a program uses, the share of it that goes into walks of page
//!   tables (`policy.walk_percent`), and of that the part of what it accesses. Nothing is gained
//!   while all that it accesses fits into the TLB.
//! * **Cost**: the call, once, spread over the time that a huge page is expected to last; and
//!   memory that is held for nothing, at a price that rises as memory gets short or fragmented.

use crate::config::Config;
use crate::snapshot::MachineSample;
use crate::state::heat::Use;
use hugewise_base::units::{Bytes, Geometry, Ns, saturating_u64};

/// Memory that the second-level TLB covers with base pages: 1,536 entries of 4 KiB
/// (`docs/measurements.md#value-of-huge-pages`).
const TLB_REACH: Bytes = Bytes::mib(6);
/// How long a huge page is expected to last (`docs/measurements.md#defaults-by-choice`).
const LASTS: Ns = Ns::s(60);
/// The price of memory is at most so many times the one of plenty.
const DEAREST: f64 = 100.0;

/// Base pages of a region that its program is expected to access, against memory of which nothing
/// is known: that counts as much as is populated, so that the fullest region is worth most, and
/// memory that is accessed for sure counts twice. `whole`: base pages of a region. What is accessed
/// is populated, so a region that is half full and accessed to a half is accessed as a whole.
pub fn accessed_pages(populated: u16, whole: u16, used: Option<Use>) -> f64 {
    let Use { least, most, .. } = used.unwrap_or(Use::UNKNOWN);
    let pages = |share: f64| (share * f64::from(whole)).min(f64::from(populated));
    pages(least).midpoint(pages(most)) / Use::UNKNOWN.coverage()
}

/// What one target saves if all that it accesses is huge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    whole_ns_per_s: f64,
    accessed: f64,
}

impl Value {
    /// From the CPU time that it uses, in cores (unknown: one), and `accessed`, the sum of
    /// [`accessed_pages`] over its regions.
    pub fn of(config: &Config, cpu_share: Option<f64>, accessed: f64, geometry: Geometry) -> Self {
        let bytes = accessed * Use::UNKNOWN.coverage() * geometry.base.0 as f64;
        let missed = (1.0 - TLB_REACH.0 as f64 / bytes.max(1.0)).max(0.0);
        let cores = cpu_share.unwrap_or(1.0);
        Self { whole_ns_per_s: cores * 1e7 * config.policy.walk_percent * missed, accessed }
    }

    /// The part of it that `accessed` pages are good for, in ns a second.
    pub fn gain_ns_per_s(&self, accessed: f64) -> u64 {
        saturating_u64(self.whole_ns_per_s * accessed / self.accessed.max(1.0))
    }
}

/// What costs are, for everybody.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Of one base page that is held for nothing, in ns a second.
    page_ns_per_s: f64,
    /// What finding a free block costs, as a multiple of the call.
    contiguity: f64,
}

impl Prices {
    /// Prices as the machine's memory stands. Memory costs more the less of it is left above the
    /// low watermark; a call costs more as free blocks get rare, for then memory is compacted.
    pub fn of(config: &Config, machine: Option<&MachineSample>, geometry: Geometry) -> Self {
        let available = machine.and_then(|m| {
            let (available, total) = (m.mem_available?, m.mem_total?);
            Some(100.0 * available.0 as f64 / (total.0 as f64).max(1.0))
        });
        let low = config.watermark.mem_available_low_percent;
        let plenty = 50.0_f64.max(low + 1.0);
        // Unknown is in the middle.
        let left = (available.unwrap_or(plenty / 2.0) - low) / (plenty - low);
        let scarce = if left > 0.0 { (1.0 / left).clamp(1.0, DEAREST) } else { DEAREST };
        let mib = geometry.base.0 as f64 / f64::from(1 << 20);
        let fmfi = machine.and_then(|m| m.fmfi).unwrap_or(0.5).clamp(0.0, 0.99);
        let page_ns_per_s = config.policy.waste_ns_per_s_per_mib as f64 * mib * scarce;
        Self { page_ns_per_s, contiguity: 1.0 / (1.0 - fmfi) }
    }

    /// What promoting costs: own CPU time and the program's lock for one call, and `waste` pages.
    pub fn cost_ns_per_s(&self, call: Ns, waste: u16) -> u64 {
        let once = 2.0 * call.0 as f64 * self.contiguity / LASTS.as_s();
        saturating_u64(once + f64::from(waste) * self.page_ns_per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prices(available: u64, fmfi: f64) -> Prices {
        let mut machine = MachineSample::example();
        machine.mem_available = Some(Bytes::mib(available));
        machine.fmfi = Some(fmfi);
        Prices::of(&Config::default(), Some(&machine), Geometry::X86_64)
    }

    #[test]
    fn memory_costs_more_as_it_gets_short() {
        let cost = |available| prices(available, 0.0).cost_ns_per_s(Ns(0), 256);
        assert_eq!(cost(16_000), 5_000, "one MiB for nothing, with plenty of it");
        assert!(cost(4_000) > 2 * cost(8_192) && cost(800) > 50 * cost(8_192));
        assert!(prices(8_192, 0.9).cost_ns_per_s(Ns::ms(1), 0) > 300_000, "blocks are rare");
    }

    #[test]
    fn what_nobody_looked_at_is_worth_its_pages() {
        let known = |least, most| Some(Use { temperature: 1.0, least, most });
        let pages = |populated, used| accessed_pages(populated, 512, used);
        assert!((pages(300, None) - 300.0).abs() < 1e-9);
        assert!(pages(512, known(0.0, 0.0)) < 1e-9);
        assert!((pages(300, known(1.0, 1.0)) - 600.0).abs() < 1e-9);
        assert!((pages(300, known(0.0, 1.0)) - 300.0).abs() < 1e-9, "as if unknown");
        assert!((pages(256, known(0.5, 0.5)) - 512.0).abs() < 1e-9, "all that is there");
    }

    proptest! {
        #[test]
        fn more_waste_and_longer_calls_never_cost_less(
            available in 0..16_384_u64, fmfi in 0.0..1.0_f64, call in 0..10_000_000_u64,
            waste in 0..512_u16,
        ) {
            let prices = prices(available, fmfi);
            let cost = prices.cost_ns_per_s(Ns(call), waste);
            prop_assert!(prices.cost_ns_per_s(Ns(call), waste + 1) >= cost);
            prop_assert!(prices.cost_ns_per_s(Ns(call + 1_000), waste) >= cost);
        }
    }
}
