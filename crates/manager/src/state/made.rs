//! What was made huge although it was not full, for the manager that comes after this one: without
//! it the waste would be somebody else's, of unknown use, and never come back.

use super::State;
use super::region::Maker;
use super::target::Target;
use hugewise_base::units::{Addr, ProcId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Huge pages of one process that hugewise made of regions with empty pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The process.
    pub target: ProcId,
    /// Its regions, with the base pages that were populated before.
    pub regions: BTreeMap<Addr, u16>,
}

impl Target {
    fn made(&self, whole: u16) -> Option<Made> {
        let ours = self.regions.iter().filter_map(|(at, region)| {
            let before = region.before.filter(|before| region.huge && before.by == Maker::Us)?;
            (before.populated < whole).then_some((at, before.populated))
        });
        // Those of an earlier manager that were not seen again yet.
        let regions: BTreeMap<_, _> = self.earlier.clone().into_iter().chain(ours).collect();
        (!regions.is_empty()).then_some(Made { target: self.sample.id, regions })
    }
}

impl State {
    /// What the next manager has to know.
    pub fn made(&self) -> Vec<Made> {
        let whole = u16::try_from(self.machine.geometry.pages_per_huge()).unwrap_or(u16::MAX);
        let known = self.programs.targets.values().filter_map(|target| target.made(whole));
        let unseen = self.programs.earlier.iter();
        let unseen = unseen.map(|(id, all)| Made { target: *id, regions: all.clone() });
        known.chain(unseen).collect()
    }

    /// Takes what an earlier manager of this boot made.
    pub fn remember(&mut self, made: Vec<Made>) {
        self.programs.earlier.extend(made.into_iter().map(|made| (made.target, made.regions)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::select::Selected;
    use crate::snapshot::{ProcessSample, ScanReport};
    use hugewise_base::units::{Bytes, Ns};

    const AT: Addr = Addr(4 << 21);

    fn list(state: &mut State, sample: &ProcessSample) {
        let selected = Selected { sample: sample.clone(), share: Ok(1.0) };
        state.list(&Config::default(), vec![selected], Ns::s(1));
    }

    fn state() -> State {
        State::new(&Config::default(), hugewise_base::units::Geometry::X86_64, Ns(0))
    }

    #[test]
    fn what_an_earlier_manager_made_is_ours_again() {
        let sample = ProcessSample::example(7, Bytes::mib(64));
        let made = vec![Made { target: sample.id, regions: BTreeMap::from([(AT, 300)]) }];
        let mut state = state();
        state.remember(made.clone());
        assert_eq!(state.made(), made, "kept while its program was not seen");
        list(&mut state, &sample);
        assert_eq!(state.made(), made, "kept while its memory was not seen");
        state.scanned(&ScanReport::huge(sample.id, [AT]), Ns::s(2));
        assert_eq!(state.bloat().remembered, Bytes(212 * 4096));
        assert_eq!(state.made(), made, "handed on to the next");
    }

    #[test]
    fn what_is_not_there_any_more_is_forgotten() {
        let sample = ProcessSample::example(7, Bytes::mib(64));
        let mut state = state();
        state.remember(vec![Made { target: sample.id, regions: BTreeMap::from([(AT, 300)]) }]);
        list(&mut state, &sample);
        state.scanned(&ScanReport::huge(sample.id, [Addr(8 << 21)]), Ns::s(2));
        assert_eq!(state.made(), Vec::new(), "another region is somebody else's");
    }
}
