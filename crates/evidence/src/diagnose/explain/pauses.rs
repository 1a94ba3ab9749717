//! What the pauses of Java were for, as the explanations of them share it.

use super::prelude::*;
use crate::diagnose::nodes::stood_still;

/// Names of causes, of troubles or of parts of pauses, in the words of the collectors.
pub(super) type Named = (Field, &'static [&'static str]);

/// Pauses, or parts of them, that have one reason.
pub(super) struct Reason {
    /// The longest of them.
    pub(super) longest: Seen,
    pub(super) count: usize,
    /// Their time, of that of all pauses, 0 to 1.
    pub(super) share: f64,
}

/// The name of a part.
pub(super) fn name(seen: &Seen) -> &str {
    if let Subject::Part { name, .. } = &seen.subject { name } else { "" }
}

/// The pauses with one of these names. One that has two of them counts once: its longest.
pub(super) fn with(look: &Look<'_>, named: &[Named]) -> Option<Reason> {
    let keep = |names: &[&str], subject: &Subject| match subject {
        Subject::Part { name, .. } => names.contains(&name.as_str()),
        _ => false,
    };
    let mut best: Option<(f64, Reason)> = None;
    for (field, names) in named {
        for line in look.lines(*field, |subject| keep(names, subject)) {
            let sum: f64 = line.points.iter().map(|point| point.value).sum();
            let Some(peak) = look.highest(&line) else { continue };
            let count = line.points.len();
            let Some((all, found)) = &mut best else {
                best = Some((sum, Reason { longest: peak, count, share: 1.0 }));
                continue;
            };
            *all = all.max(sum);
            found.count = found.count.max(count);
            if peak.value > found.longest.value {
                found.longest = peak;
            }
        }
    }
    let (sum, reason) = best?;
    let pauses = look.lines(Field::GcPause, |_| true);
    let all: f64 = pauses.iter().flat_map(|line| &line.points).map(|point| point.value).sum();
    Some(Reason { share: if all > 0.0 { (sum / all).min(1.0) } else { 1.0 }, ..reason })
}

/// Whether Java stops for long for one of these: one such pause is felt, or they are most of the
/// time in which it stood still, where that is much.
pub(super) fn judged(look: &Look<'_>, named: &[Named], felt_ms: f64, weight: f64) -> Answer {
    let known = [Field::GcPause, Field::GcTrouble, Field::GcPart];
    if known.into_iter().all(|field| look.top(field).is_none()) {
        return Answer::unknown(&[GC]);
    }
    let Some(reason) = with(look, named) else { return Answer::no(Vec::new()) };
    let much = stood_still(look)
        .is_some_and(|share| share * reason.share * 100.0 >= look.limit(T::GcShare) / 2.0);
    let text = format!(
        "{}: {}, {:.0} % of the time of all pauses, the longest {}",
        name(&reason.longest),
        write::counted(reason.count as f64, "time", "times"),
        reason.share * 100.0,
        write::milliseconds(reason.longest.value)
    );
    let evidence = vec![look.say(&reason.longest, &text)];
    Answer::when(much || reason.longest.value >= felt_ms, weight * reason.share, evidence)
}
