//! What faults hand out: chosen by the last plan's estimate of what that wastes.

use super::Manager;
use crate::config::{FaultSizes, Mode};
use crate::limits::fault_size::{SizeFacts, SizeReason};
use crate::limits::huge_faults::HugeFacts;
use crate::ownership::Momentary;
use crate::snapshot::{MachineSample, ThpMode};
use hugewise_base::units::{Bytes, Ns, saturating_u64};

/// Faults are everybody's, also of programs too small to be managed: so much of all memory may be
/// wasted by what they hand out however little is managed.
const LEAST_BOUND_PERCENT: f64 = 0.1;

impl Manager {
    /// Takes what the machine and the last plan say of it.
    pub(super) fn choose_faults(&mut self, now: Ns) {
        let Some(machine) = self.state.machine.sample.as_ref() else { return };
        let short = self.state.limits.pressure.on_machine().is_some();
        let least = machine.mem_total.unwrap_or_default().percent(LEAST_BOUND_PERCENT);
        let bound = self.plan.bloat_bound.unwrap_or_default().max(least);
        let fmfi_high = self.config.watermark.fmfi_high;
        let facts = SizeFacts {
            base: machine.geometry.base,
            offered: &machine.sizes,
            barred: self.barred(machine),
            unwritten: self.unwritten(machine),
            bound,
            short,
            fmfi_high,
        };
        self.state.limits.fault_size.step(&facts, now);
        if self.mode == Mode::Auto {
            let wasted = self.plan.wasted.unwrap_or_default();
            let facts = HugeFacts { fmfi: machine.fmfi, fmfi_high, short, wasted, bound };
            self.state.limits.huge_faults.step(&facts, now);
        }
    }

    /// Why no size may be chosen.
    fn barred(&self, machine: &MachineSample) -> Option<SizeReason> {
        let settings = &self.config.settings;
        let owns = settings.own && settings.fault_sizes != FaultSizes::Off;
        if !owns || matches!(self.mode, Mode::Guard | Mode::Observe) {
            return Some(SizeReason::Off);
        }
        if machine.thp == Some(ThpMode::Never) {
            return Some(SizeReason::Never);
        }
        (!self.config.demote.sample).then_some(SizeReason::NotSampled)
    }

    /// Pages that faults handed out and nobody wrote: zeros, as sampled, and no more than larger
    /// folios can hold.
    fn unwritten(&self, machine: &MachineSample) -> Option<Bytes> {
        let pages = saturating_u64(self.plan.unwritten?.pages);
        let estimate = self.state.machine.geometry.bytes(pages);
        let folios = machine.sizes.iter().map(|size| Some((size.folios?, size.size)));
        let held: Option<Bytes> =
            folios.map(|of| of.map(|(count, size)| Bytes(count.saturating_mul(size.0)))).sum();
        Some(held.map_or(estimate, |held| estimate.min(held)))
    }

    /// Settings that are wanted at this moment, besides those that the mode writes at its start.
    pub fn momentary(&self) -> Momentary {
        let (size, size_reason) = self.state.limits.fault_size.wanted();
        Momentary {
            short: self.state.limits.pressure.on_machine().is_some(),
            fault_size: size,
            size_reason,
            huge_faults: self.state.limits.huge_faults.wanted(),
        }
    }
}
