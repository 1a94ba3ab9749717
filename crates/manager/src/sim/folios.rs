//! Simulated faults that hand out several pages at a time.

use hugewise_base::units::{Bytes, Geometry};

/// What faults of a simulated machine hand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folios {
    /// Base pages that a fault hands out: 1, or 4 to 32.
    pub pages: u16,
    /// Of a hundred stretches that a program touches it writes so many sparsely: a page of each
    /// folio.
    pub sparse_percent: u64,
}

impl Folios {
    /// Base pages of a folio of `size`.
    pub fn of(size: Option<Bytes>, sparse_percent: u64) -> Self {
        let pages = size.map_or(1, |size| size.0 / Geometry::X86_64.base.0);
        Self { pages: u16::try_from(pages).unwrap_or(1), sparse_percent }
    }
}
