//! On which NUMA node the pages of a region lie.
//!
//! The kernel puts the huge page on the node of most of the region's base pages
//! (`hpage_collapse_find_target_node`, `mm/khugepaged.c`, 6.18). Whoever used the others then
//! reads remote memory, all of it, where page by page most was local (Gaud et al., USENIX ATC'14).

/// A region is mixed from this share of pages on other nodes than most are, percent: what a
/// scheduler that moved a thread for a moment leaves behind is less.
const MIXED_FROM_PERCENT: usize = 10;

/// Where the pages of a region lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Of none of them it is known.
    Unknown,
    /// On one node, as good as all.
    On(u32),
    /// On several; most are on this one.
    Mixed(u32),
}

/// From the nodes of some of its pages; `None` for those that are not populated.
pub fn placement(pages: &[Option<u32>]) -> Placement {
    let mut known: Vec<u32> = pages.iter().flatten().copied().collect();
    known.sort_unstable();
    let most = known.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).max();
    match most {
        None => Placement::Unknown,
        Some((count, node)) if (known.len() - count) * 100 >= known.len() * MIXED_FROM_PERCENT => {
            Placement::Mixed(node)
        }
        Some((_, node)) => Placement::On(node),
    }
}

impl Placement {
    /// The node on which the kernel would make the huge page; `None`: not known.
    pub const fn node(self) -> Option<u32> {
        match self {
            Self::Unknown => None,
            Self::On(node) | Self::Mixed(node) => Some(node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: [usize; 3], unknown: usize) -> Placement {
        let of = |node: u32, count| std::iter::repeat_n(Some(node), count);
        let [a, b, c] = counts;
        let pages: Vec<_> = of(0, a).chain(of(1, b)).chain(of(5, c)).collect();
        placement(&[vec![None; unknown], pages].concat())
    }

    #[test]
    fn a_few_strays_do_not_mix_a_region() {
        assert_eq!(of([0, 0, 0], 64), Placement::Unknown);
        assert_eq!(of([0, 0, 7], 57), Placement::On(5));
        assert_eq!(of([1, 0, 19], 0), Placement::On(5));
        assert_eq!(of([2, 0, 18], 0), Placement::Mixed(5));
        assert_eq!(of([32, 32, 0], 0).node().map(|node| node <= 1), Some(true));
        assert!(matches!(of([20, 22, 22], 0), Placement::Mixed(_)));
        assert_eq!(of([0, 1, 0], 0), Placement::On(1));
    }
}
