//! Neighbours of a managed program: other users, who may do with their own processes whatever an
//! unprivileged user may do.

use super::{PAGES, Sim, SimProcess, SimRegion, Trap};
use crate::snapshot::{MachineSample, ProcessSample};
use hugewise_base::units::{Bytes, Ns};

/// What a hostile user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Neighbour {
    /// Three programs whose mappings take 0.4 s to read, and hold nothing.
    Mappings,
    /// Three programs with one page in each of 40,000 regions.
    Sparse,
    /// A program of 500 MiB and 299 forks that share all of it.
    Forks,
    /// 20 programs with pinned pages.
    Pinned,
    /// 20 programs with holes under userfaultfd, each in a cgroup of its own.
    Holes,
    /// 20 programs whose regions lie on several NUMA nodes each.
    Mixed,
    /// 20 programs on a NUMA node without a free block.
    FullNode,
    /// 20 programs that are filled to 78 %, on a NUMA node whose free memory is in pieces.
    NodeInPieces,
    /// So many processes that listing them takes 0.4 s.
    Crowd,
}

impl Neighbour {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Mappings,
        Self::Sparse,
        Self::Forks,
        Self::Pinned,
        Self::Holes,
        Self::Mixed,
        Self::FullNode,
        Self::NodeInPieces,
        Self::Crowd,
    ];
}

/// The pid of the victim.
pub const VICTIM: u32 = 50_000;
/// The pid of a program of another user, whose huge pages are mostly empty.
pub const WASTER: u32 = 50_001;
/// The uid of all hostile neighbours.
const HOSTILE: u32 = 6_666;

impl Sim {
    /// A machine where [`VICTIM`], 200 MiB and all of it in use, and [`WASTER`], 100 MiB, live
    /// beside `neighbours`. They have the highest pids and the least memory.
    pub fn among(neighbours: &[Neighbour], seed: u64, end: Ns) -> Self {
        let mut sim = Self { events_per_s: 0, free_huge: 4_000, ..Self::new(seed, end) };
        sim.processes.clear();
        for neighbour in neighbours {
            sim.settle(*neighbour);
        }
        let victim = SimRegion { used: PAGES, ..SimRegion::default() };
        sim.add(VICTIM, 1000, "/victim", vec![victim; 100]);
        let wasted = SimRegion { used: 100, huge: true, ..SimRegion::default() };
        sim.add(WASTER, 1001, "/waster", vec![wasted; 50]);
        sim
    }

    fn settle(&mut self, neighbour: Neighbour) {
        let dense = SimRegion { used: PAGES, ..SimRegion::default() };
        let trapped = |trap| vec![SimRegion { trap: Some(trap), ..dense }; 250];
        let full = MachineSample::example().mem_total.unwrap_or_default();
        let (count, regions) = match neighbour {
            Neighbour::Mappings => {
                let mut regions = vec![SimRegion::default(); 40_000];
                regions.extend(vec![dense; 150]);
                (3, regions)
            }
            Neighbour::Sparse => {
                let sparse = SimRegion { used: 1, ..SimRegion::default() };
                (3, vec![sparse; 40_000])
            }
            Neighbour::Forks => (300, vec![SimRegion { shared: true, ..dense }; 250]),
            Neighbour::Pinned => (20, trapped(Trap::Pinned)),
            Neighbour::Holes => (20, trapped(Trap::BusyHole)),
            Neighbour::Mixed => (20, trapped(Trap::MixedNodes)),
            Neighbour::FullNode => (20, trapped(Trap::FullNode)),
            Neighbour::NodeInPieces => {
                let trap = Some(Trap::NodeInPieces);
                (20, vec![SimRegion { used: 400, trap, ..dense }; 250])
            }
            Neighbour::Crowd => {
                self.list_cost = Ns::ms(400);
                return;
            }
        };
        self.others = self.others.min(full.percent(50.0));
        for number in 0..count {
            let pid = self.next_pid;
            self.next_pid += 1;
            let cgroup = match neighbour {
                Neighbour::Holes => format!("/hostile/{number}"),
                _ => "/hostile".to_owned(),
            };
            self.add(pid, HOSTILE, &cgroup, regions.clone());
        }
    }

    fn add(&mut self, pid: u32, uid: u32, cgroup: &str, regions: Vec<SimRegion>) {
        let sample = ProcessSample::example(pid, Bytes(0));
        let (uid, cgroup) = (Some(uid), Some(cgroup.to_owned()));
        let sample = ProcessSample { uid, cgroup, ..sample };
        self.processes.insert(pid, SimProcess::new(sample, regions));
    }

    /// Huge regions of a process.
    pub fn huge_of(&self, pid: u32) -> usize {
        let process = self.processes.get(&pid);
        process.map_or(0, |process| process.regions.iter().filter(|region| region.huge).count())
    }

    /// CPU time that the manager has used.
    pub const fn manager_cpu(&self) -> Ns {
        self.cpu
    }

    /// From now on memory is short for everybody.
    pub fn memory_falls_short(&mut self) {
        let total = MachineSample::example().mem_total.unwrap_or_default();
        self.others = total.percent(96.0);
    }
}
