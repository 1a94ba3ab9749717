//! When a rate that grows has most of what it gains.

/// Share of the gain that counts as most of it: the goal of the experiment `hot-end`.
const SHARE: f64 = 0.8;
/// A smaller gain, of the rate at the begin, is the noise of a virtual machine.
const GAIN_MIN: f64 = 0.05;
/// Fewer points say neither how fast it was first nor how fast it became.
const POINTS_MIN: usize = 12;

/// When it was there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Seconds since the begin.
    pub seconds: f64,
    /// What was huge by then, of what was huge in the end, percent.
    pub huge_percent: f64,
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// When most of the gain was there, of rates and of memory in huge pages over time, both as
/// (seconds, value). `None` where nothing was gained, or nothing became huge.
pub fn reached(rates: &[(f64, f64)], huge: &[(f64, f64)]) -> Option<Reached> {
    if rates.len() < POINTS_MIN {
        return None;
    }
    let all_huge = huge.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    // Before anything is huge; the first step always counts, however soon that is.
    let start = huge.iter().find(|(_, value)| *value > all_huge * 0.02)?.0;
    let early = rates.iter().enumerate().filter(|(at, (time, _))| *at == 0 || *time <= start);
    let first = median(early.map(|(_, (_, rate))| *rate))?;
    let last = median(rates[rates.len() * 3 / 4..].iter().map(|(_, rate)| *rate))?;
    if last < first * (1.0 + GAIN_MIN) {
        return None;
    }
    let wanted = first + SHARE * (last - first);
    // Of three steps two: a single fast one may be chance.
    let fast = rates
        .windows(3)
        .find(|three| three.iter().filter(|(_, rate)| *rate >= wanted).count() >= 2)?;
    let seconds = fast.iter().find(|(_, rate)| *rate >= wanted)?.0;
    let by_then = huge.iter().take_while(|(time, _)| *time <= seconds).last();
    let by_then = by_then.map_or(0.0, |(_, value)| *value);
    Some(Reached { seconds, huge_percent: by_then / all_huge * 100.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(of: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (1..=40).map(|step| f64::from(step) * 0.5).map(|time| (time, of(time))).collect()
    }

    #[test]
    fn most_of_the_gain() {
        let huge = line(|time| (time * 10.0).min(100.0));
        // What is used becomes huge last.
        let late = line(|time| if time < 9.0 { 100.0 } else { 150.0 });
        let found = reached(&late, &huge).expect("it gained");
        assert_eq!((found.seconds, found.huge_percent), (9.0, 90.0));
        // And first.
        let soon = line(|time| if time < 2.0 { 100.0 } else { 150.0 });
        assert_eq!(reached(&soon, &huge).expect("it gained").huge_percent, 20.0);
    }

    #[test]
    fn without_a_gain_nothing_is_reached() {
        let huge = line(|time| time);
        assert_eq!(reached(&line(|_| 100.0), &huge), None);
        assert_eq!(reached(&line(|time| time), &line(|_| 0.0)), None);
        assert_eq!(reached(&[(1.0, 5.0)], &huge), None);
    }
}
