//! A key of the configuration that an experiment measured for this machine.

use super::answer::Summary;
use super::figures::Advice;
use super::words;
use crate::compare::{Estimate, Judgement};
use crate::metric::Better;
use crate::spec::Advise;
use hugewise_base::stats::Interval;

/// Time saved at a ratio of variant to baseline, percent; 0 where none is.
fn saved_percent(ratio: f64, better: Better) -> f64 {
    let time = if better == Better::Higher { 1.0 / ratio.max(f64::MIN_POSITIVE) } else { ratio };
    (100.0 * (1.0 - time)).clamp(0.0, 100.0)
}

/// `None` where nothing was asked for, or the experiment does not show that any time is saved.
pub(super) fn of(summary: &Summary, asked: Option<&Advise>) -> Option<Advice> {
    let Advise { key, metric, variant } = asked?;
    let row = summary.rows.iter().find(|row| row.key == *metric)?;
    let index = summary.variants.iter().position(|one| one.name == *variant)?;
    let against = row.cells.get(index)?.against.as_ref()?;
    let Estimate { value, interval } = against.ratio?;
    let (Interval { low, high }, Judgement::Better) = (interval?, against.judgement.as_ref()?)
    else {
        return None;
    };
    let of = |ratio| saved_percent(ratio, row.better);
    let (low, high) = (of(low).min(of(high)), of(low).max(of(high)));
    Some(Advice { key: key.clone(), value: of(value), low, high })
}

/// What to do with it.
pub(super) fn sentence(advice: &Advice) -> String {
    let Advice { key, value, low, high } = advice;
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    format!(
        "For this machine: {name} = {} in [{section}] ({} to {}).",
        words::number(*value, 0),
        words::number(*low, 0),
        words::number(*high, 0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_saved_in_either_direction() {
        assert!((saved_percent(1.25, Better::Higher) - 20.0).abs() < 1e-9);
        assert!((saved_percent(0.8, Better::Lower) - 20.0).abs() < 1e-9);
        assert!(saved_percent(0.9, Better::Higher) < 1e-9, "slower saves nothing");
        assert!((saved_percent(0.0, Better::Lower) - 100.0).abs() < 1e-9);
    }
}
