//! Policies that ran in shadow, scored from the journal.

use crate::config::PolicyKind;
use crate::record::Record;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a policy in shadow compares with the one that was in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Score {
    /// Cases: each is one program between two looks at its memory.
    pub cases: u64,
    /// Regions that both chose.
    pub both: u64,
    /// Regions on which they did not agree.
    pub differ: u64,
    /// Of what only the active policy chose, the share of base pages that turned out to be
    /// accessed, percent; by region. `None`: nothing is known of any.
    pub active_accessed_percent: Option<f64>,
    /// The same of what only the shadow chose.
    pub shadow_accessed_percent: Option<f64>,
    /// Cases in which the shadow's choice was accessed more.
    pub shadow_better: u64,
    /// Cases in which the active policy's was.
    pub active_better: u64,
}

/// Sums by which means are made.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, percent: Option<f64>, weight: f64) {
        if let Some(percent) = percent {
            self.sum += percent * weight;
            self.weight += weight;
        }
    }

    fn get(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// Scores of all policies that a journal's records tell of.
pub fn score(records: impl Iterator<Item = Record>) -> BTreeMap<PolicyKind, Score> {
    let mut all = BTreeMap::<PolicyKind, (Score, Mean, Mean)>::new();
    for record in records {
        let Record::Shadow {
            policy,
            both,
            differ,
            active_accessed_percent: active,
            shadow_accessed_percent: shadow,
            ..
        } = record
        else {
            continue;
        };
        let (score, ours, theirs) = all.entry(policy).or_default();
        score.cases += 1;
        score.both = score.both.saturating_add(both);
        score.differ = score.differ.saturating_add(differ);
        ours.add(active, differ as f64);
        theirs.add(shadow, differ as f64);
        if let Some((active, shadow)) = active.zip(shadow) {
            score.shadow_better += u64::from(shadow > active);
            score.active_better += u64::from(active > shadow);
        }
    }
    let complete = |(kind, (score, ours, theirs)): (_, (Score, Mean, Mean))| {
        let (active_accessed_percent, shadow_accessed_percent) = (ours.get(), theirs.get());
        (kind, Score { active_accessed_percent, shadow_accessed_percent, ..score })
    };
    all.into_iter().map(complete).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::units::ProcId;

    #[test]
    fn who_chose_what_is_accessed_is_better() {
        let case = |differ, active, shadow| Record::Shadow {
            policy: PolicyKind::Utilization,
            target: ProcId { pid: 7, start_ticks: 1 },
            both: 2,
            differ,
            active_accessed_percent: active,
            shadow_accessed_percent: shadow,
        };
        let records = [
            case(30, Some(90.0), Some(10.0)),
            case(10, Some(50.0), Some(50.0)),
            case(5, None, Some(20.0)),
            Record::Reload { error: None },
        ];
        let scores = score(records.into_iter());
        let score = scores[&PolicyKind::Utilization];
        assert_eq!((score.cases, score.both, score.differ), (3, 6, 45));
        assert_eq!((score.active_better, score.shadow_better), (1, 0));
        assert!(score.active_accessed_percent.is_some_and(|p| (p - 80.0).abs() < 1e-9));
        assert!(score.shadow_accessed_percent.is_some_and(|p| (p - 20.0).abs() < 1e-9));
    }
}
