//! What the simulated kernel makes of free memory in small pieces.

use super::{HUGE, Sim};
use crate::compaction::{Compact, CompactAsk, CompactEnd, CompactReport};
use crate::reason::SkipReason;
use crate::snapshot::{MachineSample, NodeFree};
use hugewise_base::units::{Bytes, Ns, saturating_u64};

/// Free memory in small pieces, and how well blocks can be made of it.
#[derive(Debug, Clone)]
pub struct Pieces {
    /// Blocks that they are enough for.
    pub blocks: u64,
    /// Blocks that one second of CPU time makes (`docs/measurements.md#compaction`).
    pub blocks_per_s: u64,
    /// Share of the memory that cannot be moved, percent.
    pub unmovable_percent: f64,
    /// The run under way.
    run: Option<Run>,
    /// What became of the last one, until it is observed.
    done: Option<CompactReport>,
    /// CPU time of all runs.
    cpu: Ns,
}

impl Default for Pieces {
    fn default() -> Self {
        Self {
            blocks: 0,
            blocks_per_s: 350,
            unmovable_percent: 5.0,
            run: None,
            done: None,
            cpu: Ns(0),
        }
    }
}

/// A run under way.
#[derive(Debug, Clone)]
struct Run {
    ask: CompactAsk,
    began: Ns,
    free_before: u64,
    pieces_before: u64,
    made: u64,
}

impl Sim {
    /// Whether a run is under way.
    pub fn compacts(&self) -> bool {
        self.pieces.run.is_some()
    }

    /// CPU time of all runs that are over.
    pub fn compaction_cpu(&self) -> Ns {
        self.pieces.cpu
    }

    pub(super) fn node(&self) -> NodeFree {
        NodeFree { node: 0, free_huge: self.free_huge, pieces: Bytes(self.pieces.blocks * HUGE) }
    }

    /// Share of free memory in small pieces.
    pub(super) fn fmfi(&self) -> f64 {
        match self.pieces.blocks {
            0 if self.free_huge < 20 => 0.9,
            0 => 0.1,
            pieces => pieces as f64 / (pieces + self.free_huge) as f64,
        }
    }

    pub(super) fn order(&mut self, order: &Compact) {
        match order {
            Compact::Start(ask) if self.pieces.unmovable_percent > ask.most_unmovable_percent => {
                let reason = Some(SkipReason::UnmovableMemory);
                self.pieces.done = Some(CompactReport::not_begun(ask, CompactEnd::Refused, reason));
            }
            Compact::Start(ask) => {
                let (free_before, pieces_before) = (self.free_huge, self.pieces.blocks);
                let (ask, began, made) = (*ask, self.now, 0);
                self.pieces.run = Some(Run { ask, began, free_before, pieces_before, made });
            }
            Compact::Stop(reason) => {
                self.compaction_works(self.now);
                if self.pieces.run.is_some() {
                    self.end_run(self.now, CompactEnd::Stopped, Some(*reason));
                }
            }
        }
    }

    /// What it became by `to`.
    pub(super) fn compaction_works(&mut self, to: Ns) {
        let Some(run) = &mut self.pieces.run else { return };
        let per_s = self.pieces.blocks_per_s as f64;
        let time = to.since(run.began).min(run.ask.time);
        let most = run.pieces_before.min(run.ask.blocks);
        let made = saturating_u64(per_s * time.as_s()).min(most);
        let more = made - run.made;
        run.made = made;
        self.free_huge += more;
        self.pieces.blocks -= more;
        let whole = Ns::from_s(most as f64 / per_s.max(1e-9));
        let end = match (made == run.ask.blocks, made == run.pieces_before) {
            (true, _) => CompactEnd::Enough,
            (_, true) => CompactEnd::Complete,
            _ if time == run.ask.time => CompactEnd::TimeOver,
            _ => return,
        };
        let at = run.began + whole.min(run.ask.time);
        self.end_run(at.min(to), end, None);
    }

    fn end_run(&mut self, at: Ns, end: CompactEnd, reason: Option<SkipReason>) {
        let Some(run) = self.pieces.run.take() else { return };
        let cpu = at.since(run.began);
        self.pieces.cpu += cpu;
        let index = |pieces: u64, free: u64| {
            let all = pieces + free;
            (all > 0).then(|| pieces as f64 / all as f64)
        };
        // What promotions took is known; programs give nothing back here.
        let after = self.free_huge;
        self.pieces.done = Some(CompactReport {
            node: run.ask.node,
            end,
            reason,
            took: cpu,
            cpu,
            free_before: Some(run.free_before),
            free_after: Some(after),
            taken: Some((run.free_before + run.made).saturating_sub(after)),
            fmfi_before: index(run.pieces_before, run.free_before),
            fmfi_after: index(self.pieces.blocks, after),
            unmovable_percent: Some(self.pieces.unmovable_percent),
        });
    }

    pub(super) fn compaction_report(&mut self) -> Option<CompactReport> {
        self.pieces.done.take()
    }

    /// Since when memory has been short for everybody.
    pub(super) fn short_since(&self) -> Option<Ns> {
        self.short_since
    }

    /// Whether memory is short for everybody, by the default watermark.
    pub(super) fn is_short(&self) -> bool {
        let total = MachineSample::example().mem_total.unwrap_or_default();
        total.saturating_sub(self.others) < total.percent(5.0)
    }
}
