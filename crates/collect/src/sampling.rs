//! How often CPUs are sampled, and how much memory keeps what was seen until it is read.

use hugewise_base::parse::cpulist;
use hugewise_linux::root::Root;
use std::collections::BTreeSet;
use std::time::Duration;

/// What sampling may cost at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// Samples a second of one CPU, ...
    pub(crate) of_cpu_hz: u64,
    /// ... and of all CPUs together.
    pub(crate) of_all_hz: u64,
    /// Memory for records of one CPU, in bytes, ...
    pub(crate) of_cpu_bytes: usize,
    /// ... and of all.
    pub(crate) of_all_bytes: usize,
    /// What one record takes, in bytes.
    pub(crate) record_bytes: u64,
}

impl Most {
    /// Samples a second and CPU, and pages of room for their records, for looks `every` so often.
    pub(crate) fn rates(&self, cpus: usize, every: Duration, page_bytes: usize) -> (u64, usize) {
        let (cpus, least) = (cpus.max(1), 4 * page_bytes);
        let room = (self.of_all_bytes / cpus).clamp(least, self.of_cpu_bytes.max(least));
        let pages = 1_usize << (room / page_bytes).ilog2();
        let fitting = (pages * page_bytes) as u64 / self.record_bytes;
        let hz = (self.of_all_hz / cpus as u64).min(fitting / every.as_secs().max(1));
        (hz.clamp(1, self.of_cpu_hz), pages)
    }
}

/// CPUs that are online.
///
/// # Errors
/// A list that cannot be understood, in words.
pub(crate) fn online(root: &Root) -> Result<BTreeSet<u32>, String> {
    let online = root.read_line("sys/devices/system/cpu/online").unwrap_or_default();
    cpulist::parse(&online).map_err(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_fits_and_costs_little() {
        let most = Most {
            of_cpu_hz: 97,
            of_all_hz: 2_000,
            of_cpu_bytes: 256 << 10,
            of_all_bytes: 8 << 20,
            record_bytes: 280,
        };
        let second = Duration::from_secs(1);
        for cpus in [0, 1, 2, 64, 512, 8192] {
            for every in [second / 10, second, 60 * second, 86_400 * second] {
                let (hz, pages) = most.rates(cpus, every, 4096);
                assert!(pages.is_power_of_two() && pages >= 4, "{cpus}");
                assert!((1..=most.of_cpu_hz).contains(&hz), "{cpus}");
                let records = hz * every.as_secs() * most.record_bytes;
                assert!(hz == 1 || records <= (pages * 4096) as u64, "{cpus} {every:?}");
                assert!(hz == 1 || hz * cpus as u64 <= most.of_all_hz, "{cpus}");
            }
        }
        assert_eq!(most.rates(2, second, 4096), (97, 64));
    }
}
