//! What is wrong with a configuration beyond what its types can say.

use super::{BYTES_PER_S_MAX, Config, Rule};
use crate::bounds::{Conditions, ConfigError, out_of_range};

/// Most targets: the daemon may open some files for each.
const TARGETS_MAX: usize = 65_536;

impl Config {
    /// Numbers with a fraction: key, value, least and most.
    fn percents(&self) -> [(&'static str, f64, f64, f64); 22] {
        let Self { policy, promote, demote, controller, watermark, scan, track, .. } = self;
        let (available_low, available_high) =
            (watermark.mem_available_low_percent, watermark.mem_available_high_percent);
        let (usage_high, usage_low) =
            (watermark.cgroup_usage_high_percent, watermark.cgroup_usage_low_percent);
        let (available_stalled, usage_stalled) =
            (watermark.mem_available_stalled_percent, watermark.cgroup_usage_stalled_percent);
        [
            ("promote.utilization_percent", promote.utilization_percent, 1.0, 100.0),
            ("promote.min_utilization_percent", promote.min_utilization_percent, 0.2, 100.0),
            ("promote.bloat_budget_percent", promote.bloat_budget_percent, 0.0, 100.0),
            ("promote.bloat_budget_most_percent", promote.bloat_budget_most_percent, 0.0, 100.0),
            ("policy.walk_percent", policy.walk_percent, 0.0, 100.0),
            ("controller.lock_share_percent", controller.lock_share_percent, 0.01, 100.0),
            ("controller.cpu_percent", controller.cpu_percent, 0.1, 100.0),
            ("controller.cpu_burst_s", controller.cpu_burst_s, 1.0, 3600.0),
            ("controller.warm_cpu_percent", controller.warm_cpu_percent, 0.0, 100.0),
            ("watermark.mem_available_low_percent", available_low, 0.0, 90.0),
            ("watermark.mem_available_high_percent", available_high, 0.0, 95.0),
            ("watermark.cgroup_usage_high_percent", usage_high, 1.0, 100.0),
            ("watermark.cgroup_usage_low_percent", usage_low, 0.0, 100.0),
            ("watermark.stall_percent", watermark.stall_percent, 0.1, 100.0),
            ("watermark.mem_available_stalled_percent", available_stalled, 0.0, 95.0),
            ("watermark.cgroup_usage_stalled_percent", usage_stalled, 0.0, 100.0),
            ("demote.utilization_percent", demote.utilization_percent, 0.2, 100.0),
            ("watermark.fmfi_high", watermark.fmfi_high, 0.0, 1.0),
            ("scan.cpu_percent", scan.cpu_percent, 0.01, 100.0),
            ("track.cpu_percent", track.cpu_percent, 0.01, 100.0),
            ("compact.cpu_percent", self.compact.cpu_percent, 0.01, 100.0),
            ("compact.reserve_percent", self.compact.reserve_percent, 0.0, 20.0),
        ]
    }

    /// Numbers: key, value, least and most.
    fn counts(&self) -> [(&'static str, u64, u64, u64); 16] {
        let Self { policy, promote, demote, scan, track, settings, .. } = self;
        let (guard, ingens) = (settings.guard_max_ptes_none, settings.max_ptes_none);
        let targets = u64::try_from(self.select.max_targets).unwrap_or(u64::MAX);
        [
            ("scan.interval_ms", scan.interval_ms, 100, 3_600_000),
            ("scan.idle_interval_ms", scan.idle_interval_ms, 100, 86_400_000),
            ("track.window_ms", track.window_ms, 10, 60_000),
            ("track.interval_ms", track.interval_ms, 10, 86_400_000),
            ("track.longest_lock_us", track.longest_lock_us, 0, 1_000_000),
            ("policy.waste_ns_per_s_per_mib", policy.waste_ns_per_s_per_mib, 0, 1_000_000_000),
            ("scan.list_interval_ms", scan.list_interval_ms, 100, 3_600_000),
            ("quota.bytes_per_s", self.quota.bytes_per_s.0, 1u64 << 20, BYTES_PER_S_MAX.0),
            ("journal.max_bytes", self.journal.max_bytes.0, 1u64 << 16, 1u64 << 40),
            ("promote.watch_ms", promote.watch_ms, 0, 60_000),
            ("promote.call_most_ms", promote.call_most_ms, 1, 60_000),
            ("demote.settle_ms", demote.settle_ms, 0, 3_600_000),
            ("demote.sample_interval_ms", demote.sample_interval_ms, 1_000, 86_400_000),
            ("select.max_targets", targets, 1, TARGETS_MAX as u64),
            ("settings.guard_max_ptes_none", u64::from(guard), 0, 511),
            ("settings.max_ptes_none", u64::from(ingens), 0, 511),
        ]
    }

    /// Pairs of keys with their values, of which the first must not be above the second.
    fn pairs(&self) -> [[(&'static str, f64); 2]; 5] {
        let Self { promote, watermark, scan, track, .. } = self;
        [
            [
                // Above the threshold it would be one of its own.
                ("promote.min_utilization_percent", promote.min_utilization_percent),
                ("promote.utilization_percent", promote.utilization_percent),
            ],
            [
                ("watermark.mem_available_low_percent", watermark.mem_available_low_percent),
                ("watermark.mem_available_high_percent", watermark.mem_available_high_percent),
            ],
            [
                ("watermark.cgroup_usage_low_percent", watermark.cgroup_usage_low_percent),
                ("watermark.cgroup_usage_high_percent", watermark.cgroup_usage_high_percent),
            ],
            [
                ("scan.interval_ms", scan.interval_ms as f64),
                ("scan.idle_interval_ms", scan.idle_interval_ms as f64),
            ],
            [
                ("track.window_ms", track.window_ms as f64),
                ("track.interval_ms", track.interval_ms as f64),
            ],
        ]
    }

    /// Everything that is wrong and types cannot express: ranges, keys that contradict each other,
    /// rules and hints that can never match. Each names its key and the value.
    pub fn faults(&self) -> Vec<ConfigError> {
        let counts =
            self.counts().map(|(k, value, low, high)| (k, value as f64, low as f64, high as f64));
        let ranges = self.percents().into_iter().chain(counts);
        let mut faults: Vec<_> = ranges
            .filter_map(|(key, value, low, high)| {
                Some(ConfigError::Key(key, out_of_range(value, low, high)?))
            })
            .collect();
        // A value that is out of its own range says enough.
        let known =
            |name: &str| faults.iter().any(|f| matches!(f, ConfigError::Key(k, _) if *k == name));
        let pairs = self
            .pairs()
            .into_iter()
            .filter(|[low, high]| low.1 > high.1 && !known(low.0) && !known(high.0));
        let pairs: Vec<_> = pairs.map(ConfigError::Order).collect();
        faults.extend(pairs);
        for (index, rule) in self.rules.iter().enumerate() {
            faults.extend(rule.faults().map(|why| ConfigError::Part("rule", index + 1, why)));
        }
        for (index, hint) in self.hints.iter().enumerate() {
            faults.extend(hint.faults().map(|why| ConfigError::Part("hint", index + 1, why)));
        }
        faults
    }
}

impl Rule {
    fn faults(&self) -> impl Iterator<Item = String> {
        let range = out_of_range(self.share, 0.001, 1000.0);
        let conditions = self.conditions();
        let none = conditions.are_absent().then(|| {
            "it has no condition: give at least one of exe, cgroup, unit, user (or set \
             select.default)"
                .to_owned()
        });
        let range = range.map(|why| format!("'share' {why}"));
        range.into_iter().chain(none).chain(conditions.faults())
    }

    /// Its conditions: all that are given must hold.
    pub(crate) fn conditions(&self) -> Conditions<'_> {
        Conditions {
            exe: self.exe.as_deref(),
            cgroup: self.cgroup.as_deref(),
            unit: self.unit.as_deref(),
            user: self.user.as_deref(),
        }
    }
}
