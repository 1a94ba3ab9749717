//! `graph`: breadth-first search and PageRank on a generated graph.
//!
//! Edges are drawn as R-MAT does (Chakrabarti, Zhan, Faloutsos 2004) with the probabilities of
//! Graph500: each bit of the two vertices lies in one of four quarters. Both directions are kept.

mod bfs;
mod csr;
mod rank;

use super::kit::{Clock, Measured, Pace, Progress, Setup, Verdict, Workload};
use bfs::Search;
use csr::Graph;
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::{Algorithm as Asked, Graph as Params};
use rank::Ranks;
use std::time::{Duration, Instant};

#[derive(Debug)]
enum Algorithm {
    Search(Search),
    Ranks(Ranks),
}

/// The graph, and what is computed on it.
#[derive(Debug)]
pub(super) struct GraphWork {
    graph: Graph,
    algorithm: Algorithm,
    rng: Rng,
}

impl GraphWork {
    /// Maps memory for the graph and for what is known of its vertices.
    pub(super) fn new(params: &Params, setup: &Setup) -> anyhow::Result<Self> {
        let vertices = 1 << params.scale;
        let graph = Graph::new(setup, vertices, vertices * params.degree)?;
        let algorithm = match params.algorithm {
            Asked::Bfs => Algorithm::Search(Search::new(setup, vertices)?),
            Asked::PageRank => Algorithm::Ranks(Ranks::new(setup, vertices)?),
        };
        Ok(Self { graph, algorithm, rng: Rng::new(setup.seed) })
    }

    /// One search, or one round of ranks. Returns the edges it has looked at.
    fn turn(&mut self) -> u64 {
        match &mut self.algorithm {
            Algorithm::Search(search) => {
                let root = self.graph.random_vertex(&mut self.rng);
                search.run(&self.graph, root)
            }
            Algorithm::Ranks(ranks) => ranks.run(&self.graph),
        }
    }

    /// Whether the last turn's result is right.
    fn check(&self) -> Verdict {
        match &self.algorithm {
            Algorithm::Search(search) => search.check(&self.graph),
            Algorithm::Ranks(ranks) => ranks.check(),
        }
    }
}

impl Workload for GraphWork {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        self.graph.fill(progress);
        // Memory for the vertices is touched, too, before anything is measured.
        self.turn();
        Ok(Measured::default().with_wrong(self.check().wrong))
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, mut edges, mut spent, mut wrong) = (Clock::start(time), 0, 0.0, 0);
        let mut pace = Pace::start();
        loop {
            let begin = Instant::now();
            let walked = self.turn();
            // The check takes as long as the search, and is not what is measured.
            let took = begin.elapsed().as_secs_f64();
            pace.turn(walked, took);
            (edges, spent) = (edges + walked, spent + took);
            wrong += self.check().wrong;
            if !clock.runs_with(progress) {
                break;
            }
        }
        let rate = edges as f64 / f64::max(spent, 1e-9);
        let measured = Measured::default().with("edges_per_s", rate).with_wrong(wrong);
        Ok(measured.with_pace("edges_per_s", pace))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = self.check();
        verdict.count(self.graph.is_unchanged());
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        self.graph.corrupt();
    }
}
