//! When to warm destinations (`docs/measurements.md#lazily-backed-memory`): a host that backs
//! guest memory lazily takes its fault inside the target's lock, unless the block was touched just
//! before.

use super::budgets::as_large;
use crate::config::Warm;
use hugewise_base::units::{Geometry, Ns};

/// Below this a warm-up only cleared 2 MiB that the host had backed already: 0.1 to 0.3 ms
/// against 3 to 12 ms for a host fault (`docs/measurements.md#lazily-backed-memory`).
const BACKED: Ns = Ns::us(1_000);
/// A call without warm-up that takes longer than this met unbacked memory or compaction: four
/// times the usual 0.7 ms (`docs/measurements.md#remote-collapse`).
const SLOW_CALL: Ns = Ns::us(3_000);
/// Cheap warm-ups in a row after which warming stops, at first and at most.
const PATIENCE: (u32, u32) = (16, 1024);

/// Closed loop behind `promote.warm = "auto"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarmControl {
    on: bool,
    cheap_in_a_row: u32,
    patience: u32,
}

impl Default for WarmControl {
    fn default() -> Self {
        Self { on: true, cheap_in_a_row: 0, patience: PATIENCE.0 }
    }
}

impl WarmControl {
    /// Whether the next destination should be warmed.
    pub const fn wanted(&self, config: Warm) -> bool {
        match config {
            Warm::Auto => self.on,
            Warm::Always => true,
            Warm::Never => false,
        }
    }

    /// Learns from one call for a huge page of this machine: what its warm-up took, if it had one,
    /// and the call itself.
    pub fn learn(&mut self, warm: Option<Ns>, call: Option<Ns>, geometry: Geometry) {
        match warm {
            Some(took) if took < as_large(BACKED, geometry) => {
                self.cheap_in_a_row += 1;
                self.on = self.cheap_in_a_row < self.patience;
            }
            Some(_) => self.cheap_in_a_row = 0,
            None if !self.on && call.is_some_and(|took| took > as_large(SLOW_CALL, geometry)) => {
                // Stopping was a mistake: be twice as patient next time.
                self.on = true;
                self.cheap_in_a_row = 0;
                self.patience = (self.patience * 2).min(PATIENCE.1);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Geometry = Geometry::X86_64;
    /// arm64 with pages of 16 KiB: 32 MiB, which take 16 times as long.
    const LARGE: Geometry = Geometry::of_base(hugewise_base::units::Bytes::kib(16));

    #[test]
    fn stops_on_backed_memory_and_starts_again_after_a_slow_call() {
        let mut control = WarmControl::default();
        for _ in 0..PATIENCE.0 {
            assert!(control.wanted(Warm::Auto));
            control.learn(Some(Ns::us(200)), Some(Ns::us(700)), SMALL);
        }
        assert!(!control.wanted(Warm::Auto));
        control.learn(None, Some(Ns::us(700)), SMALL);
        assert!(!control.wanted(Warm::Auto));
        control.learn(None, Some(Ns::ms(9)), SMALL);
        assert!(control.wanted(Warm::Auto));
    }

    #[test]
    fn what_is_slow_depends_on_the_size() {
        let mut control = WarmControl::default();
        for _ in 0..PATIENCE.0 {
            control.learn(Some(Ns::ms(3)), Some(Ns::ms(11)), LARGE);
        }
        assert!(!control.wanted(Warm::Auto), "32 MiB were cleared, and backed already");
        control.learn(None, Some(Ns::ms(11)), LARGE);
        assert!(!control.wanted(Warm::Auto), "a usual call");
        control.learn(None, Some(Ns::ms(60)), LARGE);
        assert!(control.wanted(Warm::Auto));
    }

    #[test]
    fn slow_warm_ups_keep_it_on() {
        let mut control = WarmControl::default();
        for _ in 0..100 {
            control.learn(Some(Ns::ms(4)), Some(Ns::us(700)), SMALL);
            assert!(control.wanted(Warm::Auto));
        }
        assert!(!control.wanted(Warm::Never));
    }
}
