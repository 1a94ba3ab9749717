//! Whether faults hand out huge pages: mode `auto`.
//!
//! Ingens gives huge pages at once while memory is whole, and by utilization after that. A fault
//! that finds a free block costs less than the faults and the collapse that it saves; one that has
//! to wait for a block, or fills memory that nobody uses, costs more.

use super::ladder::{Ladder, Verdict};
use hugewise_base::named;
use hugewise_base::units::{Bytes, Ns};
use serde::{Deserialize, Serialize};

/// They begin again below this part of the FMFI at which they end: free memory moves to and fro.
const BEGIN_PART: f64 = 0.8;

named! {
    /// Why faults hand out huge pages, or do not.
    HugeFaults,
    Plentiful = "plentiful": "memory is whole, and there is enough of it", "";
    Fragmented = "fragmented": "free memory is in pieces", "";
    Pressure = "pressure": "memory is short", "";
    Waste = "waste": "what huge pages waste is above the bloat budget", "";
    Unknown = "unknown": "how whole memory is cannot be read", "";
}

/// What that is judged by.
#[derive(Debug, Clone, Copy)]
pub struct HugeFacts {
    /// FMFI at huge-page order; `None`: unknown.
    pub fmfi: Option<f64>,
    /// `watermark.fmfi_high`.
    pub fmfi_high: f64,
    /// Memory is short for everybody.
    pub short: bool,
    /// Waste that is known.
    pub wasted: Bytes,
    /// So much is allowed.
    pub bound: Bytes,
}

/// Whether faults hand out huge pages.
#[derive(Debug, Clone, Default)]
pub struct HugeFaultControl(Option<(Ladder, HugeFaults)>);

impl HugeFaultControl {
    /// Why they do, or do not; `None`: nothing is known yet, or the mode does not ask.
    pub fn wanted(&self) -> Option<(bool, HugeFaults)> {
        self.0.as_ref().map(|(ladder, reason)| (ladder.level() > 0, *reason))
    }

    /// How often that changed.
    pub fn changes(&self) -> u64 {
        self.0.as_ref().map_or(0, |(ladder, _)| ladder.steps())
    }

    /// Takes what is known at `now`.
    pub fn step(&mut self, facts: &HugeFacts, now: Ns) {
        let (ladder, reason) =
            self.0.get_or_insert_with(|| (Ladder::new(1, 1, now), HugeFaults::Plentiful));
        let (verdict, why) = judge(facts);
        if ladder.step(verdict, now) {
            *reason = why;
        } else if ladder.level() == 0 && verdict != Verdict::Up {
            // Of several causes the last one: it has to end first.
            *reason = why;
        }
    }
}

fn judge(facts: &HugeFacts) -> (Verdict, HugeFaults) {
    let Some(fmfi) = facts.fmfi else { return (Verdict::Drop, HugeFaults::Unknown) };
    if facts.short {
        return (Verdict::Drop, HugeFaults::Pressure);
    }
    if fmfi >= facts.fmfi_high {
        return (Verdict::Down, HugeFaults::Fragmented);
    }
    if facts.wasted > facts.bound {
        return (Verdict::Down, HugeFaults::Waste);
    }
    if fmfi >= BEGIN_PART * facts.fmfi_high {
        return (Verdict::Hold, HugeFaults::Fragmented);
    }
    if Bytes(2 * facts.wasted.0) > facts.bound {
        return (Verdict::Hold, HugeFaults::Waste);
    }
    (Verdict::Up, HugeFaults::Plentiful)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: HugeFacts = HugeFacts {
        fmfi: Some(0.1),
        fmfi_high: 0.5,
        short: false,
        wasted: Bytes(0),
        bound: Bytes::mib(30),
    };

    #[test]
    fn it_begins_plentiful_and_comes_back_with_hysteresis() {
        let mut control = HugeFaultControl::default();
        assert_eq!(control.wanted(), None);
        control.step(&WHOLE, Ns(0));
        assert_eq!(control.wanted(), Some((true, HugeFaults::Plentiful)));
        let at = |fmfi| HugeFacts { fmfi: Some(fmfi), ..WHOLE };
        control.step(&at(0.45), Ns::s(1));
        assert_eq!(control.wanted(), Some((true, HugeFaults::Plentiful)));
        control.step(&at(0.5), Ns::s(2));
        assert_eq!(control.wanted(), Some((false, HugeFaults::Fragmented)));
        (3..1_000).for_each(|second| control.step(&at(0.45), Ns::s(second)));
        assert_eq!(control.wanted(), Some((false, HugeFaults::Fragmented)), "not well again");
        (1_000..1_200).for_each(|second| control.step(&at(0.3), Ns::s(second)));
        assert_eq!(control.wanted(), Some((true, HugeFaults::Plentiful)));
        assert_eq!(control.changes(), 2);
    }

    #[test]
    fn waste_pressure_and_ignorance_end_it() {
        for (facts, reason) in [
            (HugeFacts { short: true, ..WHOLE }, HugeFaults::Pressure),
            (HugeFacts { wasted: Bytes::mib(31), ..WHOLE }, HugeFaults::Waste),
            (HugeFacts { fmfi: None, ..WHOLE }, HugeFaults::Unknown),
        ] {
            let mut control = HugeFaultControl::default();
            control.step(&facts, Ns(0));
            assert_eq!(control.wanted(), Some((false, reason)));
        }
    }
}
