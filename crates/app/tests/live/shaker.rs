//! Promotes and splits regions of programs at random, by the actuator that the manager has: what
//! it does must never show in their data.

use anyhow::Context;
use hugewise_base::rng::Rng;
use hugewise_base::units::{Addr, Geometry, Ns, ProcId};
use hugewise_linux::actuator::{Actuator, ActuatorConfig, Reach};
use hugewise_linux::pages::PageReader;
use hugewise_linux::process::Lister;
use hugewise_linux::root::Root;
use hugewise_linux::target::Target;
use hugewise_linux::{machine, process};
use hugewise_manager::decision::{Action, Decision, Motive, Outcome};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::{ListAsk, RegionSample, ScanAsk, ScanEnd};
use std::collections::{BTreeMap, BTreeSet};

/// What was done.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Shaken {
    pub(crate) promoted: u64,
    /// Verified: a look afterwards showed it.
    pub(crate) split: u64,
    /// ... of which blocks that were held for their rest only.
    pub(crate) partial: u64,
    pub(crate) freed_pages: u64,
    /// Refused by the re-check or the kernel, by name.
    pub(crate) refused: BTreeMap<SkipReason, u64>,
}

pub(crate) struct Shaker {
    root: Root,
    geometry: Geometry,
    pages: PageReader,
    actuator: Actuator,
    rng: Rng,
    /// Mappings that their program keeps from huge pages: once refused, not asked for again.
    kept_away: BTreeSet<(ProcId, Addr)>,
    pub(crate) done: Shaken,
}

impl Shaker {
    pub(crate) fn new(seed: u64) -> anyhow::Result<Self> {
        let root = Root::live();
        let geometry = machine::geometry(&root);
        let pages = PageReader::new(geometry).context("pages cannot be counted here")?;
        let actuator = Actuator::new(&root, Reach::Act, geometry, ActuatorConfig::default());
        let done = Shaken::default();
        let (rng, kept_away) = (Rng::new(seed), BTreeSet::new());
        Ok(Self { root, geometry, pages, actuator, rng, kept_away, done })
    }

    /// One round over a process: each region is promoted, split or left alone by lot. A process
    /// that ends meanwhile is no error.
    pub(crate) fn shake(&mut self, pid: u32) {
        let Some(stat) = process::stat(&self.root, pid) else { return };
        let id = ProcId { pid, start_ticks: stat.starttime };
        let Ok(mut target) = Target::open(&self.root, id) else { return };
        let budget = Ns::s(60);
        let ask = ScanAsk {
            target: id,
            from: Addr(0),
            budget,
            detail: true,
            shared_memory: false,
            text: false,
        };
        let report = target.scan(&self.root, &mut self.pages, &ask, self.geometry);
        if report.end != ScanEnd::Complete {
            return;
        }
        for region in &report.regions {
            let Some(decision) = self.decide(id, region) else { continue };
            let outcome = self.actuator.act(&self.root, &mut self.pages, &mut target, &decision);
            self.note(&decision, &outcome);
        }
    }

    /// One round over every process of a user.
    pub(crate) fn shake_user(&mut self, uid: u32) {
        let all = Lister::new(&self.root)
            .list(&self.root, self.geometry, &ListAsk::default())
            .unwrap_or_default();
        for process in all.iter().filter(|process| process.uid == Some(uid)) {
            self.shake(process.id.pid);
        }
    }

    fn decide(&mut self, target: ProcId, region: &RegionSample) -> Option<Decision> {
        if self.kept_away.contains(&(target, region.mapping)) {
            return None;
        }
        let (action, motive) = match (self.rng.percent(60), region.huge) {
            (false, _) => return None,
            (true, true) => (Action::Demote, Motive::OverBloatBudget),
            (true, false) if region.held > Some(0) && self.rng.percent(50) => {
                (Action::Demote, Motive::PartiallyMapped)
            }
            (true, false) => (Action::Promote, Motive::Utilization),
        };
        Some(Decision {
            target,
            region: region.at,
            mapping: region.mapping,
            action,
            motive,
            populated: region.populated,
            waste: 0,
            min_populated: 1,
            warm: false,
            sample: false,
            another: false,
            unhurried: false,
            shared_memory: false,
            outlook: None,
        })
    }

    fn note(&mut self, decision: &Decision, outcome: &Outcome) {
        match outcome {
            Outcome::Promoted { .. } => self.done.promoted += 1,
            Outcome::Demoted { freed, .. } => {
                self.done.split += 1;
                self.done.partial += u64::from(decision.motive == Motive::PartiallyMapped);
                self.done.freed_pages += u64::from(*freed);
            }
            Outcome::Skipped { reason, .. } | Outcome::Failed { reason, .. } => {
                *self.done.refused.entry(*reason).or_default() += 1;
                if *reason == SkipReason::AdvisedAgainst {
                    self.kept_away.insert((decision.target, decision.mapping));
                }
            }
            Outcome::Withheld { .. } => {}
        }
    }
}
