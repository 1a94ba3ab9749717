//! PageRank (Brin and Page 1998), by pulling.

use super::csr::Graph;
use crate::lab::kit::{Setup, Verdict, checksum, index};
use hugewise_linux::memory::Arena;

/// Chance to follow an edge, as everywhere.
const DAMPING: f64 = 0.85;
/// All ranks together are 1, but for rounding.
const TOLERANCE: f64 = 1e-9;

/// Rank of each vertex, and what it gives to each neighbour; both as bits.
#[derive(Debug)]
pub(super) struct Ranks {
    vertices: usize,
    state: Arena,
    started: bool,
    checksum: u64,
}

impl Ranks {
    /// Maps two words a vertex.
    pub(super) fn new(setup: &Setup, vertices: usize) -> anyhow::Result<Self> {
        let state = setup.arena(vertices * 2 * 8)?;
        Ok(Self { vertices, state, started: false, checksum: 0 })
    }

    /// One round for all vertices. Returns the edges it has looked at.
    pub(super) fn run(&mut self, graph: &Graph) -> u64 {
        let count = self.vertices as f64;
        let (ranks, rest) = self.state.words_mut().split_at_mut(self.vertices);
        let gifts = &mut rest[..self.vertices];
        if !self.started {
            ranks.fill((1.0 / count).to_bits());
            self.started = true;
        }
        // Vertices without edges give to all.
        let (mut lonely, mut edges) = (0.0, 0);
        for (vertex, gift) in gifts.iter_mut().enumerate() {
            let (rank, degree) = (f64::from_bits(ranks[vertex]), graph.neighbours(vertex).len());
            if degree == 0 {
                lonely += rank;
            }
            *gift = (rank / degree.max(1) as f64).to_bits();
        }
        let base = (1.0 - DAMPING + DAMPING * lonely) / count;
        for (vertex, rank) in ranks.iter_mut().enumerate() {
            let neighbours = graph.neighbours(vertex);
            edges += neighbours.len() as u64;
            let gift = |other: &u64| gifts.get(index(*other)).map_or(0.0, |g| f64::from_bits(*g));
            *rank = (base + DAMPING * neighbours.iter().map(gift).sum::<f64>()).to_bits();
        }
        self.checksum = checksum(self.state.words());
        edges
    }

    /// All ranks together are 1, and they are what the last round wrote.
    pub(super) fn check(&self) -> Verdict {
        let words = self.state.words();
        let sum: f64 = words[..self.vertices].iter().map(|rank| f64::from_bits(*rank)).sum();
        let mut verdict = Verdict::default();
        verdict.count((sum - 1.0).abs() <= TOLERANCE);
        verdict.count(checksum(words) == self.checksum);
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::kit::Progress;

    #[test]
    fn ranks_converge_and_damage_is_found() -> anyhow::Result<()> {
        let setup = Setup { seed: 7, advise: false, scratch: None, root: "/".into() };
        let mut graph = Graph::new(&setup, 128, 1024)?;
        graph.fill(&mut Progress::silent());
        let mut ranks = Ranks::new(&setup, 128)?;
        let mut rank = 0.0;
        for round in 0..60 {
            assert_eq!(ranks.run(&graph), 2048, "round {round}");
            assert_eq!(ranks.check().wrong, 0, "round {round}");
            let before = rank;
            rank = f64::from_bits(ranks.state.words()[0]);
            assert!(round < 50 || (rank - before).abs() < 1e-6, "round {round}: {rank}");
        }
        // The vertex with most edges ranks above the average.
        assert!(rank > 4.0 / 128.0, "{rank}");
        ranks.state.words_mut()[3] ^= 1;
        assert!(ranks.check().wrong > 0);
        Ok(())
    }
}
