//! What the simulated kernel answers when it is asked to promote or to split.

use super::{BASE, HUGE, PAGES, Sim, Trap};
use crate::decision::{Action, Call, Decision, FailureClass, Motive, Outcome};
use crate::reason::SkipReason;
use hugewise_base::errno;
use hugewise_base::units::Ns;

impl Sim {
    /// Carries out a decision as the live actuator would: look again, call, look what it did.
    pub(super) fn carry_out(&mut self, decision: &Decision) -> Outcome {
        let warm = decision.warm.then(|| Ns::us(200));
        match self.recheck(decision) {
            Err(reason) => Outcome::Skipped { reason, warm: None, cpu: Ns::us(30) },
            Ok((pid, index)) if decision.action == Action::Promote => {
                self.collapse(pid, index, warm)
            }
            Ok((pid, index)) => self.split(pid, index, decision.motive),
        }
    }

    /// What the real actuator's re-check would say.
    fn recheck(&self, decision: &Decision) -> Result<(u32, usize), SkipReason> {
        let pid = decision.target.pid;
        let process = self.processes.get(&pid).ok_or(SkipReason::Gone)?;
        if process.execed || process.sample.id != decision.target {
            return Err(SkipReason::AddressSpaceChanged);
        }
        let index = usize::try_from((decision.region.0 - BASE) / HUGE).unwrap_or(usize::MAX);
        let region = process.regions.get(index).ok_or(SkipReason::Shrunk)?;
        if region.shared {
            return Err(SkipReason::SharedPages);
        }
        match (decision.action, decision.motive) {
            (Action::Promote, _) if region.huge => return Err(SkipReason::AlreadyHuge),
            (Action::Promote, _) => {}
            (_, Motive::Unwritten) if region.huge => return Err(SkipReason::AlreadyHuge),
            (_, Motive::Unwritten) if region.unwritten == 0 => return Err(SkipReason::NothingHeld),
            (_, Motive::PartiallyMapped) if !region.block => return Err(SkipReason::NothingHeld),
            (_, Motive::PartiallyMapped | Motive::Unwritten) => return Ok((pid, index)),
            (..) if !region.huge => return Err(SkipReason::NoLongerHuge),
            (..) => return Ok((pid, index)),
        }
        match region.trap {
            Some(Trap::MixedNodes) => return Err(SkipReason::MixedNodes),
            Some(Trap::FullNode) => return Err(SkipReason::NoFreeHugePageOnNode),
            Some(Trap::NodeInPieces) if decision.motive == Motive::BloatBudget => {
                return Err(SkipReason::NodeInPieces);
            }
            Some(Trap::Pinned | Trap::BusyHole | Trap::NodeInPieces) | None => {}
        }
        if region.used + region.unwritten < decision.min_populated {
            return Err(SkipReason::Shrunk);
        }
        if decision.sample && region.used < decision.min_populated {
            return Err(SkipReason::Unwritten);
        }
        if self.free_huge == 0 {
            return Err(SkipReason::NoFreeHugePage);
        }
        Ok((pid, index))
    }

    fn collapse(&mut self, pid: u32, index: usize, warm: Option<Ns>) -> Outcome {
        // 0.65 ms, one in fifty ten times that (docs/measurements.md#remote-collapse).
        let slow = if self.rng.percent(2) && self.mishaps { 10 } else { 1 };
        let call = Ns::us((600 + self.rng.below(200)) * slow);
        let cpu = call + warm.unwrap_or_default();
        let call = Call { took: call, asleep: self.rng.percent(20) };
        let lottery = self.rng.below(100) + if self.mishaps { 0 } else { 100 };
        self.cpu += cpu;
        self.now += cpu;
        let failed = |class, errno| Outcome::Failed {
            class,
            reason: class.reason(),
            errno: Some(errno),
            warm,
            call,
            cpu,
        };
        let Some(process) = self.processes.get_mut(&pid) else {
            return failed(FailureClass::Other, errno::ESRCH);
        };
        let full = process.sample.cgroup.as_ref().is_some_and(|c| self.full_cgroups.contains(c));
        let Some(region) = process.regions.get_mut(index) else {
            return failed(FailureClass::Refused, errno::EINVAL);
        };
        match lottery {
            _ if region.trap == Some(Trap::Pinned) => {
                failed(FailureClass::Transient, errno::EAGAIN)
            }
            _ if region.trap == Some(Trap::BusyHole) => failed(FailureClass::Cgroup, errno::EBUSY),
            _ if region.refusing => failed(FailureClass::Refused, errno::EINVAL),
            _ if full => failed(FailureClass::Cgroup, errno::EBUSY),
            0 => failed(FailureClass::Allocation, errno::ENOMEM),
            1 | 2 => failed(FailureClass::Transient, errno::EAGAIN),
            _ => {
                let populated = region.used;
                region.huge = true;
                region.block = false;
                (region.zero_page, region.unwritten) = (0, 0);
                region.promoted_from = Some(populated);
                self.free_huge -= 1;
                Outcome::Promoted { populated, warm, call, cpu }
            }
        }
    }

    /// 0.26 to 0.75 ms; the last for 511 zero pages, each freed
    /// (`docs/measurements.md#splitting-a-huge-page`). One in twenty reports success and does
    /// nothing: a page was pinned or locked.
    fn split(&mut self, pid: u32, index: usize, motive: Motive) -> Outcome {
        let frees = self.frees_zeros;
        let pinned = self.rng.percent(5) && self.mishaps;
        let call = Ns::us(260 + self.rng.below(490));
        self.cpu += call;
        self.now += call;
        let cpu = call;
        let call = Call { took: call, asleep: self.rng.percent(20) };
        let region = self.processes.get_mut(&pid).and_then(|p| p.regions.get_mut(index));
        let Some(region) = region.filter(|_| !pinned) else {
            let (class, reason) = (FailureClass::Transient, SkipReason::NotSplit);
            return Outcome::Failed { class, reason, errno: None, warm: None, call, cpu };
        };
        if motive == Motive::Unwritten {
            let freed = std::mem::take(&mut region.unwritten);
            region.zero_page += freed;
            return Outcome::Demoted { freed, call, cpu };
        }
        let wasted = PAGES - region.used - region.unwritten;
        let freed = if region.block || frees { wasted } else { 0 };
        match (region.huge, frees) {
            (true, true) => region.zero_page = wasted,
            // Zero pages stay populated.
            (true, false) => region.used = PAGES,
            (false, _) => {}
        }
        (region.huge, region.block, region.promoted_from) = (false, false, None);
        Outcome::Demoted { freed, call, cpu }
    }
}
