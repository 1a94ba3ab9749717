//! What faults that hand out several pages do to a region, and what the kernel counts of them.

use super::folios::Folios;
use super::{PAGES, Sim, SimRegion};
use crate::limits::fault_size;
use crate::snapshot::{SizeSample, ThpMode};
use hugewise_base::units::{Bytes, Geometry};

impl SimRegion {
    /// Takes `touched` pages that were written for the first time.
    pub(super) fn faulted(&mut self, touched: u16, folios: Folios, sparse: bool) {
        // Of what a program writes in a row a folio is not complete at either end, on average.
        let more = folios.pages - 1;
        let spread = if sparse { touched.saturating_mul(more) } else { more.div_ceil(4) };
        // Neighbours of what was written before are written first.
        let written = touched.min(if sparse { 0 } else { self.unwritten });
        self.unwritten = (self.unwritten - written).saturating_add(spread);
        self.unwritten = self.unwritten.min(PAGES - self.used);
    }
}

impl Sim {
    /// What the kernel counts of each size.
    pub(super) fn sizes(&self) -> Vec<SizeSample> {
        let Some(folios) = self.folios else { return Vec::new() };
        let regions = self.processes.values().flat_map(|process| &process.regions);
        let small = regions.filter(|region| !region.huge && region.unwritten > 0);
        let held: u64 = small.map(|region| u64::from(region.used + region.unwritten)).sum();
        let sizes = fault_size::sizes(Geometry::X86_64.base);
        let sample = |size: Bytes| {
            let pages = size.0 / Geometry::X86_64.base.0;
            let is_given = pages == u64::from(folios.pages);
            // Those that an earlier size left count as of the smallest.
            let here = if size == sizes[0] { held.div_ceil(pages) } else { 0 };
            SizeSample {
                size,
                mode: if is_given { ThpMode::Always } else { ThpMode::Never },
                folios: Some(here),
                partially_mapped: Some(0),
                faults: Some(0),
                fallbacks: Some(0),
                splits: Some(0),
                fmfi: Some(0.0),
                collapses: None,
            }
        };
        sizes.map(sample).to_vec()
    }
}
