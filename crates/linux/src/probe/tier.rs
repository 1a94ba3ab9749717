//! The tier: what a kernel allows hugewise to do, in one letter. A pure rule.

use super::finding::State;
use hugewise_base::parse::kernel_release::KernelRelease;
use serde::Serialize;

/// What a kernel allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Tier {
    /// Everything (Linux 6.12 and later): promote, demote, zero pages go back to the kernel.
    A,
    /// Promote and demote (6.7 to 6.11), but a demoted huge page keeps its zero pages.
    B,
    /// Promote and demote (6.1 to 6.6); page tables are read entry by entry.
    C,
    /// No promotion from outside a process (before 6.1).
    D,
}

impl Tier {
    /// What it means, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::A => {
                "the full set: huge pages are made and split from outside, and a split gives \
                 memory that was never used back to the kernel"
            }
            Self::B => {
                "nearly full: huge pages are made and split from outside, but a split frees \
                 nothing: memory that was never used stays with the process"
            }
            Self::C => {
                "limited: huge pages are made and split from outside, at lower rates: page \
                 tables are read entry by entry, and splits free nothing"
            }
            Self::D => {
                "the lowest: no huge page can be made from outside a process; hugewise can \
                 only report, split, and steer the kernel's own khugepaged"
            }
        }
    }
}

/// A tier and how sure it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The tier; `None`: neither the probes nor the release show it.
    pub tier: Option<Tier>,
    /// Why it is not proven; empty when the kernel has just shown it on a child's memory.
    pub not_proven: Vec<String>,
}

/// What the tier is derived from.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Transparent huge pages at all.
    pub thp: &'a State,
    /// `MADV_COLLAPSE` of another process's memory made a huge page.
    pub collapse: &'a State,
    /// `PAGEMAP_SCAN` answered.
    pub scan: &'a State,
    /// A split gave zero pages back.
    pub zero_freeing: &'a State,
    /// The release, for what was not proven.
    pub release: Option<KernelRelease>,
}

/// First release with `MADV_COLLAPSE` for other processes.
const COLLAPSE_SINCE: (u32, u32) = (6, 1);
/// First release with `PAGEMAP_SCAN`.
const SCAN_SINCE: (u32, u32) = (6, 7);
/// First release whose splits give zero pages back.
const ZERO_FREEING_SINCE: (u32, u32) = (6, 12);

/// The tier: from what was shown where it was shown, else from the release.
pub fn verdict(facts: &Facts<'_>) -> Verdict {
    let mut not_proven = Vec::new();
    if matches!(facts.thp, State::Absent(_)) {
        return Verdict { tier: Some(Tier::D), not_proven };
    }
    let mut holds = |name: &str, state: &State, since: (u32, u32)| match state {
        State::Present => Some(true),
        State::Absent(_) => Some(false),
        State::Refused(why) | State::Unknown(why) => {
            not_proven.push(format!("{name}: {why}"));
            facts.release.map(|release| release.at_least(since.0, since.1))
        }
    };
    let steps = [
        ("promotion", facts.collapse, COLLAPSE_SINCE, Tier::D),
        ("PAGEMAP_SCAN", facts.scan, SCAN_SINCE, Tier::C),
        ("zero pages", facts.zero_freeing, ZERO_FREEING_SINCE, Tier::B),
    ];
    let mut tier = Some(Tier::A);
    for (name, state, since, tier_without) in steps {
        match holds(name, state, since) {
            Some(true) => {}
            Some(false) => {
                tier = Some(tier_without);
                break;
            }
            None => {
                tier = None;
                break;
            }
        }
    }
    Verdict { tier, not_proven }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Option<KernelRelease> {
        hugewise_base::parse::kernel_release::parse(text).ok()
    }

    fn no() -> State {
        State::Absent("EINVAL (22)".into())
    }

    fn unknown() -> State {
        State::Unknown("captured".into())
    }

    fn judge(states: [&State; 3], version: &str) -> (Option<Tier>, usize) {
        let [collapse, scan, zero_freeing] = states;
        let thp = &State::Present;
        let release = release(version);
        let verdict = verdict(&Facts { thp, collapse, scan, zero_freeing, release });
        (verdict.tier, verdict.not_proven.len())
    }

    #[test]
    fn what_was_shown_wins_over_the_version() {
        let yes = State::Present;
        assert_eq!(judge([&yes, &yes, &yes], "5.14.0-503.el9"), (Some(Tier::A), 0));
        assert_eq!(judge([&yes, &yes, &no()], "6.18.1"), (Some(Tier::B), 0));
        assert_eq!(judge([&yes, &no(), &no()], "6.18.1"), (Some(Tier::C), 0));
        assert_eq!(judge([&no(), &yes, &yes], "6.18.1"), (Some(Tier::D), 0));
    }

    #[test]
    fn the_version_decides_what_was_not_shown_and_this_is_said() {
        let u = unknown();
        assert_eq!(judge([&u, &u, &u], "6.12.0"), (Some(Tier::A), 3));
        assert_eq!(judge([&u, &u, &u], "6.11.9"), (Some(Tier::B), 3));
        assert_eq!(judge([&u, &u, &u], "6.6.57"), (Some(Tier::C), 2));
        assert_eq!(judge([&u, &u, &u], "5.10.223"), (Some(Tier::D), 1));
        assert_eq!(judge([&u, &u, &u], "not a release"), (None, 1));
        let refused = State::Refused("EPERM (1)".into());
        assert_eq!(judge([&refused, &State::Present, &refused], "6.18.44"), (Some(Tier::A), 2));
    }

    #[test]
    fn without_thp_there_is_nothing_to_promote() {
        let (thp, yes) = (no(), State::Present);
        let facts = Facts {
            thp: &thp,
            collapse: &yes,
            scan: &yes,
            zero_freeing: &yes,
            release: release("6.18.1"),
        };
        assert_eq!(verdict(&facts), Verdict { tier: Some(Tier::D), not_proven: vec![] });
    }
}
