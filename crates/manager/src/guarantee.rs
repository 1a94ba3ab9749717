//! `manage --guarantee`: so much of a program is to be huge, at once, or it is said why not.

use crate::config::{CompactMode, Config, MakeBlocks, PolicyKind};
use crate::engine::Manager;
use crate::monitors::GuestMemory;
use crate::reason::SkipReason;
use crate::status::ManagerStatus;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rule that is in force meanwhile: a machine that was just started is not watched first, and
/// blocks are made for it. What holds programs up stays as it is configured: the lock share, which
/// threads that sleep are charged little of, and the memory that must stay available.
pub fn rule(mut config: Config) -> Config {
    config.promote.make_blocks = MakeBlocks::Always;
    config.promote.watch_ms = 0;
    config.compact.mode = CompactMode::On;
    config.compact.cpu_percent = 100.0;
    // Nobody waits for a look at how it is used, nor at what it holds: all of it is wanted, also
    // the zeros of memory that was populated beforehand.
    config.demote.sample = false;
    config.policy.active = PolicyKind::Utilization;
    config.track.by = Vec::new();
    config
}

/// What became of a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// Share of the memory that was to be huge, percent.
    pub wanted_percent: f64,
    /// Share that is; `None`: unknown.
    pub coverage_percent: Option<f64>,
    /// It is as much as was wanted.
    pub reached: bool,
    /// Why not; `None`: reached, or time was up and nothing else held it back.
    pub reason: Option<SkipReason>,
}

impl Guarantee {
    /// As things stand.
    pub fn of(wanted_percent: f64, memory: &GuestMemory, status: &ManagerStatus) -> Self {
        let coverage_percent = memory.coverage_percent();
        let reached = coverage_percent >= Some(wanted_percent);
        let reason = if reached { None } else { hindrance(status, coverage_percent.is_some()) };
        Self { wanted_percent, coverage_percent, reached, reason }
    }
}

/// The guest memory of all programs that are managed: of virtual machines, and of others, whose
/// largest mappings count. `None`: not all of it was seen.
pub fn memory(manager: &Manager) -> Option<GuestMemory> {
    let geometry = manager.state().machine.geometry;
    let mut all = GuestMemory::default();
    for target in manager.state().targets().values() {
        target.pass_done?;
        let one = target.guest_memory(geometry)?;
        all.populated += one.populated;
        all.huge += one.huge;
    }
    (all.populated.0 > 0).then_some(all)
}

/// Why most of what is small is small: of regions that could be huge where most of the guest's
/// memory was `seen`, else of mappings that cannot be.
fn hindrance(status: &ManagerStatus, seen: bool) -> Option<SkipReason> {
    use SkipReason as R;
    let mut counted = BTreeMap::<SkipReason, u64>::new();
    for target in &status.targets {
        for (reason, regions) in &target.not_promoted {
            *counted.entry(*reason).or_default() += regions;
        }
    }
    // Neither says why memory of the guest is small.
    counted.retain(|reason, _| !matches!(reason, R::Empty | R::Scheduled | R::FileMapping));
    let is_mapping = |reason: SkipReason| {
        let unfit = matches!(reason, R::Misaligned | R::SharedHoles | R::ShmemDenied);
        unfit || matches!(reason, R::SharedMapping | R::NotWritable | R::SpecialMapping)
    };
    let most = counted.into_iter().max_by_key(|(reason, regions)| {
        (is_mapping(*reason) != seen, *regions, std::cmp::Reverse(*reason))
    });
    let refused = status.targets.iter().find_map(|target| target.refused);
    let left_alone = status.left_alone.iter().map(|one| one.reason).next();
    status.gate.or(refused).or(most.map(|(reason, _)| reason)).or(left_alone)
}
