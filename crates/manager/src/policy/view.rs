//! What a policy may know.

use crate::config::Config;
use crate::gate::{self, ProgramFacts, Sight};
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
    /// Huge pages that can be had ([`State::obtainable`]).
    pub obtainable: Option<u64>,
    /// Managed processes and their regions.
    pub targets: &'a BTreeMap<ProcId, Target>,
    /// Promotion thresholds in force.
    pub thresholds: Thresholds,
    /// Whether memory is short, for everybody or for a cgroup.
    pub pressure: &'a Pressure,
    /// Why nothing at all is promoted now: the first closed gate of the machine.
    pub machine_gate: Option<SkipReason>,
    /// `hugewise manage pause` is in force: nothing is promoted or split.
    pub paused: bool,
    /// What inspections show.
    pub sight: Sight,
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
    pub fn new(config: &Config, state: &'a State, giving_back: bool, now: Ns) -> Self {
        Self {
            geometry: state.machine.geometry,
            machine: state.machine.sample.as_ref(),
            obtainable: state.obtainable(),
            targets: &state.programs.targets,
            thresholds: state.limits.thresholds,
            pressure: &state.limits.pressure,
            machine_gate: gate::closed_for_all(config, state, now),
            paused: state.limits.paused,
            sight: Sight::of(config, state),
            warming: state.limits.warm.wanted(config.promote.warm),
            totals: &state.account.totals,
            giving_back,
            inspections: &state.account.lately.inspections,
            backoffs: &state.limits.backoffs,
        }
    }

    /// Facts of this target as a whole.
    pub fn program(&self, target: &Target, now: Ns) -> ProgramFacts {
        ProgramFacts::of(target, self.backoffs, self.pressure, now)
    }
}
