//! Through which program each object of shared memory is made huge: one is enough.

use crate::snapshot::{ObjectId, ScanEnd, ScanReport};
use hugewise_base::units::ProcId;
use std::collections::{BTreeMap, BTreeSet};

/// Objects by the program through which they are made huge, and its pass that saw them last.
#[derive(Debug, Clone, Default)]
pub(super) struct Objects(BTreeMap<ObjectId, (ProcId, u8)>);

impl Objects {
    /// Has the program of this report, a part of this `pass`, make those objects huge that no other
    /// one does. Returns the rest, which it maps as they are.
    pub(super) fn claim(&mut self, report: &ScanReport, pass: u8) -> BTreeSet<ObjectId> {
        let mut elsewhere = BTreeSet::new();
        for object in report.regions.iter().filter_map(|region| region.object) {
            let (through, seen) = self.0.entry(object).or_insert((report.target, pass));
            if *through == report.target {
                *seen = pass;
            } else {
                elsewhere.insert(object);
            }
        }
        if !matches!(report.end, ScanEnd::Partial(_)) {
            // What it does not map any more is another one's.
            self.0.retain(|_, (through, seen)| *through != report.target || *seen == pass);
        }
        elsewhere
    }

    /// Forgets programs that are not managed any more.
    pub(super) fn retain(&mut self, is_managed: impl Fn(&ProcId) -> bool) {
        self.0.retain(|_, (through, _)| is_managed(through));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::reason::SkipReason;
    use crate::select::Selected;
    use crate::snapshot::ProcessSample;
    use crate::state::State;
    use hugewise_base::units::{Addr, Bytes, Geometry, Ns};

    const AT: Addr = Addr(4 << 21);

    /// Backends of a database map the same buffers.
    #[test]
    fn shared_memory_is_made_huge_through_one_program() {
        let samples = [7, 8].map(|pid| ProcessSample::example(pid, Bytes::mib(64)));
        let mut state = State::new(&Config::default(), Geometry::X86_64, Ns(0));
        let list = |state: &mut State, alive: &[ProcessSample]| {
            let all = alive.iter().cloned();
            let selected = all.map(|sample| Selected { sample, share: Ok(1.0) }).collect();
            state.list(&Config::default(), selected, Ns::s(1));
        };
        list(&mut state, &samples);
        let report = |sample: &ProcessSample, inode| {
            let mut report = ScanReport::huge(sample.id, [AT]);
            for region in &mut report.regions {
                region.huge = false;
                region.object = Some(ObjectId { device: (0, 1), inode });
            }
            report
        };
        let elsewhere = |state: &State, sample: &ProcessSample| {
            let target = state.targets().get(&sample.id).expect("managed");
            let of_others = target.excluded.get(&SkipReason::SharedElsewhere).copied();
            (target.regions.len(), of_others.unwrap_or(0))
        };
        for sample in &samples {
            state.scanned(&report(sample, 1), Ns::s(2));
        }
        assert_eq!(samples.each_ref().map(|one| elsewhere(&state, one)), [(1, 0), (0, 1)]);
        // Another object is the second program's own; it stays so when the first finds it, too.
        state.scanned(&report(&samples[1], 2), Ns::s(3));
        state.scanned(&report(&samples[0], 2), Ns::s(4));
        assert_eq!(samples.each_ref().map(|one| elsewhere(&state, one)), [(0, 1), (1, 0)]);
        // What one does not map any more, and what one leaves behind, is the other's.
        state.scanned(&report(&samples[1], 1), Ns::s(5));
        assert_eq!(elsewhere(&state, &samples[1]), (1, 0));
        list(&mut state, &samples[..1]);
        state.scanned(&report(&samples[0], 1), Ns::s(6));
        assert_eq!(elsewhere(&state, &samples[0]), (1, 0));
        // Nothing in it is waste that could be split off, whatever it was before.
        assert_eq!(state.bloat().known(), Bytes(0));
    }
}
