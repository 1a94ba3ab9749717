//! What a plan is expected to give and to cost, in units that can be held against each other.

use super::contiguity::Wanted;
use super::view::View;
use crate::decision::{Action, Outlook, Queues};
use hugewise_base::units::{Bytes, Ns};

/// Expected gain and cost of a plan, if all of it is carried out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Populated memory that will be mapped huge.
    pub covered: Bytes,
    /// Populated memory that will not be mapped huge any more.
    pub uncovered: Bytes,
    /// Memory that promotions take although it is not populated.
    pub wasted: Bytes,
    /// Waste that splits free.
    pub freed: Bytes,
    /// Time in which mm locks are held for writing: the mean duration of recent calls on each
    /// target, for each action.
    pub lock: Ns,
    /// Own CPU time: these calls, and for each promotion with warming the mean warm-up so far.
    /// Re-checks and scans are not in it.
    pub cpu: Ns,
    /// CPU time of compaction that makes the blocks which are wanted: so much as each took so far,
    /// or nothing while none was made.
    pub compaction: Ns,
    /// What promotions are expected to give and to cost, as far as the policy asks.
    pub outlook: Outlook,
}

impl Ledger {
    /// What the state has learnt so far, applied to these queues.
    pub fn expected(view: &View<'_>, queues: &Queues, wanted: Option<Wanted>) -> Self {
        let each = view.totals.compaction.cpu.0.checked_div(view.totals.compaction.won);
        let blocks = wanted.map_or(0, |wanted| wanted.blocks);
        let compaction = Ns(each.unwrap_or(0).saturating_mul(blocks));
        let mut ledger = Self { compaction, ..Self::default() };
        let warm_up = match view.totals.warm_ups {
            0 => Ns(0),
            n => Ns(view.totals.warm_ns.0 / n),
        };
        for (id, queue) in queues {
            let call = view.targets.get(id).map_or(Ns(0), |target| target.call);
            for decision in queue {
                let waste = view.geometry.bytes(decision.waste.into());
                let populated = view.geometry.bytes(decision.populated.into());
                ledger.lock += call;
                ledger.cpu += call;
                let Outlook { gain_ns_per_s, cost_ns_per_s } = decision.outlook.unwrap_or_default();
                ledger.outlook.gain_ns_per_s += gain_ns_per_s;
                ledger.outlook.cost_ns_per_s += cost_ns_per_s;
                match (decision.action, decision.motive) {
                    (Action::Promote, _) => {
                        ledger.covered += populated;
                        ledger.wasted += waste;
                        ledger.cpu += if view.warming { warm_up } else { Ns(0) };
                    }
                    (Action::Demote, motive) => {
                        ledger.freed += waste;
                        if motive.loses_a_huge_page() {
                            ledger.uncovered += populated.saturating_sub(waste);
                        }
                    }
                }
            }
        }
        ledger
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::{CompactAsk, CompactEnd, CompactReport};
    use crate::config::{Config, Warm};
    use crate::decision::{Decision, Motive, Outcome};
    use crate::select::Selected;
    use crate::snapshot::ProcessSample;
    use crate::state::State;
    use hugewise_base::units::{Addr, Geometry};

    #[test]
    fn gain_and_cost_follow_what_calls_took() {
        let mut config = Config::default();
        config.promote.warm = Warm::Always;
        let mut state = State::new(&config, Geometry::X86_64, Ns(0));
        let sample = ProcessSample::example(7, Bytes::mib(64));
        let target = sample.id;
        state.list(&config, vec![Selected { sample, share: Ok(1.0) }], Ns(0));
        let decision = |action, motive, populated, waste| Decision {
            target,
            region: Addr(0x20_0000),
            mapping: Addr(0),
            action,
            motive,
            populated,
            waste,
            min_populated: 0,
            warm: false,
            sample: false,
            another: false,
            unhurried: false,
            shared_memory: false,
            outlook: None,
        };
        let promotion = decision(Action::Promote, Motive::BloatBudget, 500, 12);
        let (call, cpu) = (Ns::us(8_700).into(), Ns::ms(13));
        let done = Outcome::Promoted { populated: 500, warm: Some(Ns::ms(4)), call, cpu };
        state.applied(&promotion, &done, Ns(1));
        let splits = [
            decision(Action::Demote, Motive::OverBloatBudget, 512, 400),
            decision(Action::Demote, Motive::PartiallyMapped, 100, 412),
        ];
        let queue = [promotion].into_iter().chain(splits).collect();
        let (took, cpu) = (Ns::ms(120), Ns::ms(100));
        let run = CompactReport {
            took,
            cpu,
            free_before: Some(10),
            free_after: Some(60),
            ..CompactReport::not_begun(&CompactAsk::EXAMPLE, CompactEnd::Complete, None)
        };
        state.compacted(&run, Ns(1));
        let wanted = Wanted { node: None, blocks: 30 };
        let view = View::new(&config, &state, false, Ns(1));
        let ledger = Ledger::expected(&view, &Queues::from([(target, queue)]), Some(wanted));
        // An eighth of the way from 0.7 ms to 8.7 ms, three times.
        let lock = Ns::us(3 * 1_700);
        let pages = |n| Geometry::X86_64.bytes(n);
        let expected = Ledger {
            covered: pages(500),
            uncovered: pages(112),
            wasted: pages(12),
            freed: pages(812),
            lock,
            cpu: lock + Ns::ms(4),
            // 2 ms a block.
            compaction: Ns::ms(60),
            outlook: Outlook::default(),
        };
        assert_eq!(ledger, expected);
    }
}
