//! What a policy may know.

use crate::config::Config;
use crate::limits;
use crate::limits::backoff::Backoffs;
use crate::limits::pressure::Pressure;
use crate::limits::shares::Shares;
use crate::limits::thresholds::Thresholds;
use crate::reason::SkipReason;
use crate::snapshot::MachineSample;
use crate::state::{State, Target, Totals};
use hugewise_base::units::{Geometry, Ns, ProcId};
use std::collections::BTreeMap;

/// The state, without what could change it and without what limits keep.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Page sizes.
    pub geometry: Geometry,
    /// Latest machine-wide values; `None` before the first observation.
    pub machine: Option<&'a MachineSample>,
    /// Managed processes and their regions.
    pub targets: &'a BTreeMap<ProcId, Target>,
    /// Promotion thresholds in force.
    pub thresholds: Thresholds,
    /// Whether memory is short, for everybody or for a cgroup.
    pub pressure: &'a Pressure,
    /// Why nothing at all is promoted now.
    pub promotion_barred: Option<SkipReason>,
    /// `hugewise manage pause` is in force: nothing is promoted or split.
    pub paused: bool,
    /// Page frames cannot be seen: inspections tell nothing of partially mapped blocks.
    pub frames_hidden: bool,
    /// Destinations of promotions are warmed first.
    pub warming: bool,
    /// What was done so far.
    pub totals: &'a Totals,
    /// `giving_back` of the plan before.
    pub giving_back: bool,
    /// CPU time of inspections lately, ns.
    pub inspections: &'a Shares,
    backoffs: &'a Backoffs,
}

impl<'a> View<'a> {
    /// The state as a policy may see it, `giving_back` being taken from the plan before.
    #[must_use]
    pub fn new(config: &Config, state: &'a State, giving_back: bool, now: Ns) -> Self {
        Self {
            geometry: state.geometry,
            machine: state.machine.as_ref(),
            targets: &state.targets,
            thresholds: state.thresholds,
            pressure: &state.pressure,
            promotion_barred: state.promotion_barred(config, now),
            paused: state.paused,
            frames_hidden: state.frames_hidden,
            warming: state.warm.wanted(config.promote.warm),
            totals: &state.totals,
            giving_back,
            inspections: &state.lately.inspections,
            backoffs: &state.backoffs,
        }
    }

    /// Why nothing of this target is promoted at `now`, whatever holds for others.
    #[must_use]
    pub fn target_barred(&self, target: &Target, now: Ns) -> Option<SkipReason> {
        let (cgroup, suspension) = (target.sample.cgroup_key(), &target.suspension);
        limits::target_barred(self.backoffs, self.pressure, suspension, &cgroup, now)
    }
}
