//! The graph: for each vertex, the vertices at the other ends of its edges.

use crate::lab::kit::{Progress, Setup, checksum, index, place};
use hugewise_base::rng::Rng;
use hugewise_linux::memory::Arena;

/// Shares of the quarters, of 100; the fourth has the rest (Graph500 specification 1.2).
const QUARTERS: [u64; 3] = [57, 57 + 19, 57 + 19 + 19];

/// Neighbours of all vertices in one array, and where those of each begin.
#[derive(Debug)]
pub(super) struct Graph {
    vertices: usize,
    edges: usize,
    seed: u64,
    /// Where the neighbours of each vertex begin, and where those of the last one end.
    offsets: Arena,
    neighbours: Arena,
    checksums: (u64, u64),
}

impl Graph {
    /// Maps memory for so many edges in both directions.
    pub(super) fn new(setup: &Setup, vertices: usize, edges: usize) -> anyhow::Result<Self> {
        let offsets = setup.arena((vertices + 1) * 8)?;
        let neighbours = setup.arena(edges * 2 * 8)?;
        Ok(Self { vertices, edges, seed: setup.seed, offsets, neighbours, checksums: (0, 0) })
    }

    /// Draws the edges twice: first to count them, then to put them where they belong.
    pub(super) fn fill(&mut self, progress: &mut Progress) {
        let (bits, all) = (self.vertices.trailing_zeros(), self.edges);
        let offsets = self.offsets.words_mut();
        let mut rng = Rng::new(self.seed);
        for edge in 0..all {
            let (from, to) = draw(&mut rng, bits);
            offsets[from] += 1;
            offsets[to] += 1;
            progress_step(progress, edge, 2 * all);
        }
        // Where each vertex's neighbours end; filling them in moves it to where they begin.
        let mut end = 0;
        for offset in &mut offsets[..=self.vertices] {
            end += *offset;
            *offset = end;
        }
        let neighbours = self.neighbours.words_mut();
        let mut rng = Rng::new(self.seed);
        for edge in 0..all {
            let (from, to) = draw(&mut rng, bits);
            for (vertex, other) in [(from, to), (to, from)] {
                offsets[vertex] -= 1;
                neighbours[index(offsets[vertex])] = other as u64;
            }
            progress_step(progress, all + edge, 2 * all);
        }
        self.checksums = self.sums();
    }

    /// The vertices at the other ends of a vertex's edges; none where memory is damaged.
    pub(super) fn neighbours(&self, vertex: usize) -> &[u64] {
        let offsets = self.offsets.words();
        let (begin, end) = (index(offsets[vertex]), index(offsets[vertex + 1]));
        self.neighbours.words().get(begin..end).unwrap_or_default()
    }

    /// A vertex that has edges.
    pub(super) fn random_vertex(&self, rng: &mut Rng) -> usize {
        // One of the edges' ends: there are edges, so this ends with a vertex that has some.
        let end = place(rng.next(), self.edges * 2);
        index(self.neighbours.words()[end]).min(self.vertices - 1)
    }

    fn sums(&self) -> (u64, u64) {
        (checksum(self.offsets.words()), checksum(self.neighbours.words()))
    }

    /// Whether it is what was built.
    pub(super) fn is_unchanged(&self) -> bool {
        self.sums() == self.checksums
    }

    /// Changes an edge.
    pub(super) fn corrupt(&mut self) {
        self.neighbours.words_mut()[self.edges] ^= 1;
    }
}

fn progress_step(progress: &mut Progress, done: usize, all: usize) {
    if done.is_multiple_of(1 << 14) {
        progress.step(done, all, "building the graph");
    }
}

fn draw(rng: &mut Rng, bits: u32) -> (usize, usize) {
    let (mut from, mut to) = (0, 0);
    for _ in 0..bits {
        let quarter = rng.below(100);
        let quarter = QUARTERS.iter().filter(|end| quarter >= **end).count();
        from = from << 1 | quarter >> 1;
        to = to << 1 | quarter & 1;
    }
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_is_kept_in_both_directions_and_degrees_are_skewed() -> anyhow::Result<()> {
        let setup = Setup { seed: 3, advise: false, scratch: None, root: "/".into() };
        let mut graph = Graph::new(&setup, 256, 2048)?;
        graph.fill(&mut Progress::silent());
        let all: Vec<(usize, usize)> = (0..256)
            .flat_map(|v| graph.neighbours(v).iter().map(move |other| (v, index(*other))))
            .collect();
        assert_eq!(all.len(), 4096);
        let mut turned: Vec<_> = all.iter().map(|(from, to)| (*to, *from)).collect();
        let mut sorted = all;
        turned.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(sorted, turned);
        // The first vertex lies in the largest quarter with each of its bits.
        let most = (0..256).map(|v| graph.neighbours(v).len()).max();
        assert_eq!(most, Some(graph.neighbours(0).len()));
        Ok(())
    }
}
