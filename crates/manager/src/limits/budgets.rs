//! Budgets that refill with time: those that all targets share, and the lock time of each.

use super::bucket::Bucket;
use crate::config::Config;
use crate::decision::Call;
use hugewise_base::units::{Geometry, Ns};

/// Expected duration of a collapse of 2 MiB before the first one was seen: 0.7 ms
/// (`docs/measurements.md#remote-collapse`).
const CALL_PRIOR: Ns = Ns::us(700);
/// The same for huge pages of any size.
pub fn call_prior(geometry: Geometry) -> Ns {
    as_large(CALL_PRIOR, geometry)
}

/// What takes `of_2_mib` for 2 MiB, for huge pages of any size: clearing or copying the memory
/// takes nearly all of the time.
pub fn as_large(of_2_mib: Ns, geometry: Geometry) -> Ns {
    let parts = u128::from(geometry.huge.0) * u128::from(of_2_mib.0);
    Ns(u64::try_from(parts / u128::from(Geometry::X86_64.huge.0)).unwrap_or(u64::MAX))
}

/// A call that its program slept through counts for this part of its lock time: nobody waited. Not
/// for nothing, as a program that shares the memory, or a reader of `/proc`, may wait all the same
/// (`docs/measurements.md#defaults-by-choice`).
const ASLEEP_PART: u64 = 8;
/// Lock time that one target may take in a burst: four calls for huge pages of 2 MiB.
const LOCK_BURST: Ns = Ns::us(2_800);
/// The same for huge pages of any size: one call at least, so that none overdraws a full budget.
pub fn lock_burst(geometry: Geometry) -> Ns {
    LOCK_BURST.max(call_prior(geometry))
}

/// Own CPU time for what is neither a scan nor an action (listing, planning, writing down), as a
/// part of `controller.cpu_percent` and on top of it: one percent of a core by default. When it is
/// spent, ticks come later (`docs/measurements.md#defaults-by-choice`).
const OVERHEAD_SHARE: f64 = 0.2;
/// The part of that which lists may take.
const LIST_SHARE: f64 = 0.5;
/// The part of the scan budget that inspections have for themselves.
const INSPECTION_SHARE: f64 = 0.25;

/// Budgets that all targets share. Debts of CPU time have an end: whatever others make it cost,
/// giving back goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Budgets {
    /// Own CPU time for scans, inspections and actions, ns.
    pub cpu: Bucket,
    /// The part of it that is kept for users on whom little was spent lately, at most, ns.
    pub reserve: f64,
    /// CPU time for scans, ns; part of `cpu`.
    pub scan_cpu: Bucket,
    /// CPU time for inspections, ns; part of `cpu`.
    pub inspect_cpu: Bucket,
    /// CPU time for looks at how memory is used, ns.
    pub track_cpu: Bucket,
    /// CPU time for everything else, ns.
    pub overhead: Bucket,
    /// CPU time for lists of processes, ns; part of `overhead`.
    pub lists: Bucket,
    /// Bytes promoted or split.
    pub bytes: Bucket,
}

impl Budgets {
    /// Full budgets.
    pub fn new(config: &Config, geometry: Geometry, now: Ns) -> Self {
        // Full: `configure` cuts them down to the configuration's bursts.
        let full = Bucket::new(0.0, f64::MAX, now);
        let cpu = full.clone().forgiving();
        let mut budgets = Self {
            cpu: cpu.clone(),
            reserve: 0.0,
            scan_cpu: cpu.clone(),
            inspect_cpu: cpu.clone(),
            track_cpu: cpu.clone(),
            overhead: cpu.clone(),
            lists: cpu,
            bytes: full,
        };
        budgets.configure(config, geometry, now);
        budgets
    }

    /// Takes over rates from a new or reloaded configuration; levels and debts stay.
    pub fn configure(&mut self, config: &Config, geometry: Geometry, now: Ns) {
        let cpu = config.controller.cpu_percent * 1e7;
        self.cpu.set_rate(cpu, cpu * config.controller.cpu_burst_s, now);
        self.cpu.end_debt_at(cpu);
        self.reserve = ((self.cpu.burst() - cpu) / 2.0).max(0.0);
        let bytes = config.quota.bytes_per_s.0 as f64;
        self.bytes.set_rate(bytes, (bytes / 4.0).max(geometry.huge.0 as f64), now);
        // Burst: ten seconds' worth, so that the first scan of a large process is quick.
        let all = config.scan.cpu_percent * 1e7;
        let (scan, inspect) = (all * (1.0 - INSPECTION_SHARE), all * INSPECTION_SHARE);
        self.scan_cpu.set_rate(scan, scan * 10.0, now);
        self.inspect_cpu.set_rate(inspect, inspect * 10.0, now);
        // Burst: ten seconds' worth: looks come seldom, and one at a time.
        let track = config.track.cpu_percent * 1e7;
        self.track_cpu.set_rate(track, track * 10.0, now);
        // Burst: ten seconds' worth, so that the first list and plan delay nothing.
        let overhead = cpu * OVERHEAD_SHARE;
        self.overhead.set_rate(overhead, overhead * 10.0, now);
        // Burst and debt: a minute's worth. One list that is long because of thousands of new
        // processes delays the next little, and whoever starts now is seen after a minute at most.
        let lists = overhead * LIST_SHARE;
        self.lists.set_rate(lists, lists * 60.0, now);
    }

    /// When an action that takes about `cost`, ns, may begin for a user on whom `worked`, ns, was
    /// spent lately. What a user leaves to others grows with the square of that, up to half of the
    /// burst beyond one second's worth: one who comes new finds most of it, whatever others ask
    /// for.
    pub fn ready_for(&self, cost: f64, worked: f64, now: Ns) -> Ns {
        let left = match worked < self.reserve * 2.0 {
            true => worked * worked / (4.0 * self.reserve),
            false => self.reserve,
        };
        self.cpu.ready_at(cost + left, now)
    }

    /// Charges CPU time of a scan.
    pub fn take_scan(&mut self, cost: Ns, now: Ns) {
        self.scan_cpu.take(cost.0 as f64, now);
        self.cpu.take(cost.0 as f64, now);
    }

    /// Charges CPU time of a look at how memory is used: it has a budget of its own.
    pub fn take_tracking(&mut self, cost: Ns, now: Ns) {
        self.track_cpu.take(cost.0 as f64, now);
    }

    /// What inspections may take at `now`, CPU time in ns: their own part, and what `planned` scans
    /// leave of the rest.
    pub fn for_inspections(&self, planned: f64, now: Ns) -> f64 {
        let left = self.scan_cpu.level_at(now) - planned;
        self.inspect_cpu.level_at(now).max(0.0) + left.max(0.0)
    }

    /// Charges CPU time of an inspection: to the part of inspections while there is any.
    pub fn take_inspection(&mut self, cost: Ns, now: Ns) {
        let cost = cost.0 as f64;
        let own = self.inspect_cpu.level_at(now).clamp(0.0, cost);
        self.inspect_cpu.take(own, now);
        self.scan_cpu.take(cost - own, now);
        self.cpu.take(cost, now);
    }
}

/// The lock time of one target, ns: a full bucket.
pub fn lock(config: &Config, geometry: Geometry, now: Ns) -> Bucket {
    Bucket::new(lock_rate(config), lock_burst(geometry).0 as f64, now)
}

/// Lock time that a call counts for.
pub const fn lock_cost(call: Call) -> Ns {
    if call.asleep { Ns(call.took.0 / ASLEEP_PART) } else { call.took }
}

/// Takes over the rate of lock time from a reloaded configuration.
pub fn configure_lock(lock: &mut Bucket, config: &Config, geometry: Geometry, now: Ns) {
    lock.set_rate(lock_rate(config), lock_burst(geometry).0 as f64, now);
}

/// Lock time that one target's bucket gains per second, ns.
pub fn lock_rate(config: &Config) -> f64 {
    config.controller.lock_share_percent * 1e7
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::units::Bytes;

    #[test]
    fn a_larger_huge_page_takes_longer() {
        let prior = |kib| call_prior(Geometry::of_base(Bytes::kib(kib)));
        assert_eq!((prior(4), prior(16)), (Ns::us(700), Ns::us(11_200)));
        assert_eq!(prior(64), Ns::us(179_200));
        let burst = |kib| lock_burst(Geometry::of_base(Bytes::kib(kib)));
        assert_eq!((burst(4), burst(16)), (Ns::us(2_800), prior(16)));
    }
}
