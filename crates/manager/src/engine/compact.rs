//! Has the machine compacted while promotions wait for free blocks, or few are left. No tick waits
//! for it: what became of a run comes with a later observation.

use super::{Manager, World};
use crate::compaction::CompactReport;
use crate::limits::compaction::{Lack, Situation};
use crate::record::Record;
use hugewise_base::units::Ns;

impl Manager {
    /// Begins what the plan wants and limits allow, or ends what is under way.
    pub(super) fn compact(&mut self, world: &mut impl World, now: Ns) {
        let wanted = self.plan.compaction;
        let machine = self.state.machine.sample.as_ref();
        let total = machine.and_then(|machine| machine.mem_total);
        let nodes = machine.map_or(&[][..], |machine| &machine.nodes);
        let (limits, geometry) = (&self.state.limits.compaction, self.state.machine.geometry);
        let best = total.and_then(|total| limits.best(nodes, total, now));
        let lack = total.and_then(|total| limits.lack(nodes, total, geometry, now));
        let situation = Situation {
            starved: wanted.map_or(0, |wanted| wanted.blocks),
            reserve: lack.map_or_else(Lack::default, |(_, lack)| lack),
            // Who waits comes before who may come.
            node: match wanted {
                Some(wanted) => best.or(wanted.node),
                None => lack.map(|(node, _)| node),
            },
            total,
            geometry,
            scheduled: self.plan.waiting() > 0,
            short: self.state.limits.pressure.on_machine().is_some(),
            paused: self.state.limits.paused,
        };
        let (order, held_back) = self.state.limits.compaction.step(&situation, now);
        if let Some(reason) = held_back {
            *self.state.account.totals.compaction.reasons.entry(reason).or_default() += 1;
        }
        if let Some(order) = order {
            world.compact(&order);
        }
    }

    /// Ends what is under way in a world of which nothing more is asked; what to write down of it.
    pub fn end(&mut self, world: &mut impl World, now: Ns) -> Option<Record> {
        self.compacted(world.end()?, now);
        self.compacted.take().map(Record::Compaction)
    }

    /// Takes what became of a run; it is written down when the observation is complete.
    pub(super) fn compacted(&mut self, report: CompactReport, now: Ns) {
        let reason = self.state.compacted(&report, now);
        self.compacted = Some(CompactReport { reason, ..report });
    }
}
