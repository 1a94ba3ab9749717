//! What kernels do by themselves: for comparisons.

use super::{PAGES, Sim, SimRegion};
use hugewise_base::units::Ns;

/// Regions that khugepaged examines in one pass, and the time between two passes, s
/// (`docs/measurements.md#khugepaged-defaults`).
const PASS: usize = 8;
const PASS_S: u64 = 10;
/// CPU time of a collapse (`docs/measurements.md#remote-collapse`).
const COLLAPSE: Ns = Ns::us(700);

/// A kernel's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// Linux, `always`: what is touched is huge at once while there are free blocks, and khugepaged
    /// fills the rest at its default pace, be it as empty as it may.
    LinuxAlways,
    /// Linux without huge pages in faults: khugepaged at its default pace, by address.
    Khugepaged,
    /// FreeBSD's reservations: memory is filled page by page, and huge once none is missing. What
    /// never fills up takes no block from others: it is preempted.
    FreeBsd,
}

/// A kernel at work.
#[derive(Debug, Clone)]
pub struct Running {
    kernel: Kernel,
    /// Regions made huge.
    pub promoted: u64,
    /// CPU time of khugepaged.
    pub cpu: Ns,
    /// Regions that khugepaged has passed by.
    cursor: usize,
}

impl Running {
    /// A kernel that has done nothing yet.
    pub const fn new(kernel: Kernel) -> Self {
        Self { kernel, promoted: 0, cpu: Ns(0), cursor: 0 }
    }

    /// One region is filled for the first time.
    pub fn fill(&mut self, region: &mut SimRegion, free_huge: &mut u64) {
        let huge = *free_huge > 0
            && match self.kernel {
                Kernel::LinuxAlways => region.used > 0,
                Kernel::Khugepaged => false,
                Kernel::FreeBsd => region.used == PAGES,
            };
        if huge {
            region.huge = true;
            *free_huge -= 1;
            self.promoted += 1;
        }
    }

    /// A program has dropped all but `used` pages of a region. Linux holds the block until memory
    /// is short; FreeBSD frees each page.
    pub fn drop_pages(&self, region: &mut SimRegion, used: u16) {
        let linux = self.kernel != Kernel::FreeBsd;
        region.block = linux && region.huge && used > 0;
        (region.huge, region.used) = (false, used);
    }

    /// What happens in one second, the `second`th.
    pub fn second(&mut self, sim: &mut Sim, second: u64) {
        if self.kernel == Kernel::FreeBsd || !second.is_multiple_of(PASS_S) {
            return;
        }
        let regions = sim.processes.values_mut().flat_map(|process| &mut process.regions);
        let mut small: Vec<_> = regions.enumerate().filter(|(_, region)| !region.huge).collect();
        // From the cursor to the end, or from the beginning again.
        let first = small.partition_point(|(index, _)| *index < self.cursor);
        let first = if first < small.len() { first } else { 0 };
        self.cursor = 0;
        for (index, region) in small.iter_mut().skip(first).take(PASS) {
            self.cursor = *index + 1;
            let blocks = sim.free_huge + u64::from(region.block);
            if region.used > 0 && blocks > 0 {
                sim.free_huge = blocks - 1;
                (region.huge, region.block) = (true, false);
                self.promoted += 1;
                self.cpu += COLLAPSE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn khugepaged_makes_eight_regions_huge_in_ten_seconds_by_address() {
        let region = SimRegion { used: 1, ..SimRegion::default() };
        let mut sim = Sim::with_regions(vec![region; 20], Ns::s(1));
        let mut kernel = Running::new(Kernel::Khugepaged);
        for second in 1..=20 {
            kernel.second(&mut sim, second);
        }
        let huge: Vec<_> = sim.processes[&100].regions.iter().map(|region| region.huge).collect();
        assert_eq!(huge, [vec![true; 16], vec![false; 4]].concat());
        assert_eq!(kernel.promoted, 16);
    }

    #[test]
    fn faults_give_huge_pages_by_the_kernels_rule() {
        let filled = |kernel, used, mut free| {
            let mut region = SimRegion { used, ..SimRegion::default() };
            Running::new(kernel).fill(&mut region, &mut free);
            region.huge
        };
        assert!(filled(Kernel::LinuxAlways, 1, 1) && !filled(Kernel::LinuxAlways, 512, 0));
        assert!(filled(Kernel::FreeBsd, 512, 1) && !filled(Kernel::FreeBsd, 511, 1));
        assert!(!filled(Kernel::Khugepaged, 512, 1));
    }

    #[test]
    fn linux_holds_what_was_dropped_and_freebsd_does_not() {
        for (kernel, held) in [(Kernel::LinuxAlways, 512), (Kernel::FreeBsd, 100)] {
            let mut region = SimRegion { used: 512, huge: true, ..SimRegion::default() };
            Running::new(kernel).drop_pages(&mut region, 100);
            assert_eq!((region.physical(), region.huge), (held, false));
        }
    }
}
