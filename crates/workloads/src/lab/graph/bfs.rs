//! Breadth-first search, with the checks of Graph500.

use super::csr::Graph;
use crate::lab::kit::{Setup, Verdict, index};
use hugewise_linux::memory::Arena;

/// Not reached.
const NONE: u64 = u64::MAX;

/// Parent and level of each vertex, and the vertices in the order in which they were reached.
#[derive(Debug)]
pub(super) struct Search {
    vertices: usize,
    root: usize,
    state: Arena,
}

impl Search {
    /// Maps three words a vertex.
    pub(super) fn new(setup: &Setup, vertices: usize) -> anyhow::Result<Self> {
        Ok(Self { vertices, root: 0, state: setup.arena(vertices * 3 * 8)? })
    }

    /// Searches from `root`. Returns the edges it has looked at.
    pub(super) fn run(&mut self, graph: &Graph, root: usize) -> u64 {
        let (parents, rest) = self.state.words_mut().split_at_mut(self.vertices);
        let (levels, queue) = rest.split_at_mut(self.vertices);
        parents.fill(NONE);
        self.root = root;
        (parents[root], levels[root], queue[0]) = (root as u64, 0, root as u64);
        let (mut head, mut tail, mut edges) = (0, 1, 0);
        while head < tail {
            let vertex = index(queue[head]);
            head += 1;
            let neighbours = graph.neighbours(vertex);
            edges += neighbours.len() as u64;
            for other in neighbours {
                let place = index(*other);
                // A damaged number is found by the check, not by a panic here.
                if parents.get(place) == Some(&NONE) {
                    parents[place] = vertex as u64;
                    levels[place] = levels[vertex] + 1;
                    queue[tail] = *other;
                    tail += 1;
                }
            }
        }
        edges
    }

    /// The parents are a tree along edges, each a level above, and no edge leaves it or skips a
    /// level.
    pub(super) fn check(&self, graph: &Graph) -> Verdict {
        let words = self.state.words();
        let (parents, levels) = (&words[..self.vertices], &words[self.vertices..]);
        let mut verdict = Verdict::default();
        for vertex in 0..self.vertices {
            let reached = parents[vertex] != NONE;
            if vertex == self.root {
                verdict.count(parents[vertex] == vertex as u64 && levels[vertex] == 0);
            } else if reached {
                let parent = index(parents[vertex]);
                let above = parents.get(parent).is_some_and(|of| *of != NONE)
                    && levels[parent].checked_add(1) == Some(levels[vertex]);
                verdict.count(above);
            }
            let mut along = vertex == self.root || !reached;
            for other in graph.neighbours(vertex) {
                let place = index(*other);
                along |= *other == parents[vertex];
                let fits = parents.get(place).is_some_and(|of| (*of != NONE) == reached)
                    && (!reached || levels[place].abs_diff(levels[vertex]) <= 1);
                verdict.wrong += u64::from(!fits);
            }
            verdict.count(along);
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::kit::Progress;

    #[test]
    fn the_check_finds_a_wrong_parent_and_a_wrong_level() -> anyhow::Result<()> {
        let setup = Setup { seed: 5, advise: false, scratch: None, root: "/".into() };
        let mut graph = Graph::new(&setup, 256, 1024)?;
        graph.fill(&mut Progress::silent());
        let mut search = Search::new(&setup, 256)?;
        assert!(search.run(&graph, 0) > 1024);
        assert_eq!(search.check(&graph).wrong, 0);
        for at in [9, 256 + 9] {
            let before = search.state.words()[at];
            assert_ne!(search.state.words()[9], NONE, "vertex 9 is reached");
            search.state.words_mut()[at] = before ^ 64;
            assert!(search.check(&graph).wrong > 0, "word {at}");
            search.state.words_mut()[at] = before;
        }
        // A vertex that was reached and is said not to be.
        search.state.words_mut()[9] = NONE;
        assert!(search.check(&graph).wrong > 0);
        Ok(())
    }
}
