//! A judgement in words.

use super::{Better, Estimate, Judged, Judgement};
use hugewise_base::stats::Interval;

/// Decimals are added until both ends of an interval look different from no difference and from
/// each other; more than these help nobody.
const MOST_DECIMALS: usize = 6;

impl<K> Judged<K> {
    /// One sentence without a full stop: the estimate against the baseline of this name, and what
    /// follows. `unit` is the metric's, for values without a ratio; it may be empty.
    pub fn sentence(&self, baseline: &str, unit: &str) -> String {
        match self.judgement {
            Judgement::Better => format!("{}: better", self.estimate(baseline, unit)),
            Judgement::Worse => format!("{}: worse", self.estimate(baseline, unit)),
            Judgement::Different => format!("{}: different", self.estimate(baseline, unit)),
            Judgement::Same => {
                let within = self.rule.equal_within_percent.unwrap_or_default();
                format!("{}: the same within {within} %", self.estimate(baseline, unit))
            }
            Judgement::NoDifferenceSeen { could_have_seen_percent } => {
                unseen(could_have_seen_percent)
            }
            Judgement::TooFew { needed } => self.too_few(needed),
            Judgement::Unknown(reason) => format!("unknown: {}", reason.text()),
        }
    }

    /// "1.84 x (1.80 to 1.89) of never", or "+3.2 MiB (1.1 to 5.0) against never".
    fn estimate(&self, baseline: &str, unit: &str) -> String {
        let space = if unit.is_empty() { "" } else { " " };
        match (self.ratio, self.shift) {
            (Some(Estimate { value, interval }), _) => {
                let places = decimals(value, interval, 1.0);
                let range = range(interval, places);
                format!("{value:.places$} x{range} of {baseline}")
            }
            (None, Some(Estimate { value, interval })) => {
                let places = decimals(value, interval, 0.0);
                let range = range(interval, places);
                format!("{value:+.places$}{space}{unit}{range} against {baseline}")
            }
            (None, None) => format!("no estimate against {baseline}"),
        }
    }

    fn too_few(&self, needed: usize) -> String {
        let (n, m) = (self.comparison.baseline.n, self.comparison.other.n);
        let have = if n == m { n.to_string() } else { format!("{n} and {m}") };
        let verb = if self.rule.better == Better::Neither { "differ" } else { "be judged" };
        format!("too few runs ({have}) to {verb}: {needed} of each are needed")
    }
}

fn range(interval: Option<Interval>, places: usize) -> String {
    let text = |Interval { low, high }: Interval| format!(" ({low:.places$} to {high:.places$})");
    interval.map_or(String::new(), text)
}

fn unseen(could_have_seen_percent: Option<f64>) -> String {
    match could_have_seen_percent {
        Some(0.0) => "no difference seen; any would have been".to_owned(),
        Some(percent) => {
            let percent = two_digits_up(percent);
            format!("no difference seen; a difference of {percent} % or more would have been")
        }
        None => "no difference seen; what could have been seen is unknown".to_owned(),
    }
}

/// Two significant digits, rounded up: a smaller number would promise too much.
pub(crate) fn two_digits_up(value: f64) -> String {
    let places = if value >= 10.0 { 0 } else { small_decimals(value) + 1 };
    let places = places.min(MOST_DECIMALS);
    let scale = 10f64.powf(places as f64);
    // What is a hair above a round number through rounding stays there.
    let up = (value * scale - 1e-9).ceil() / scale;
    format!("{up:.places$}")
}

/// How many zeros follow the point before the first digit of a number below 10, plus one below 1.
fn small_decimals(value: f64) -> usize {
    (0..MOST_DECIMALS).find(|places| value * 10f64.powf(*places as f64) >= 1.0).unwrap_or(0)
}

/// So many decimals that the ends of an interval differ from `neutral` and from each other, if they
/// do; at least as many as give a number below 100 three digits.
pub(crate) fn decimals(value: f64, interval: Option<Interval>, neutral: f64) -> usize {
    let size = value.abs();
    let usual = match size {
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 || size == 0.0 => 2,
        _ => small_decimals(size) + 1,
    };
    let Some(Interval { low, high }) = interval else { return usual };
    let shown = |value: f64, places: usize| format!("{value:.places$}");
    let clear = |places: &usize| {
        let differ = |a: f64, b: f64| a == b || shown(a, *places) != shown(b, *places);
        differ(low, neutral) && differ(high, neutral) && differ(low, high)
    };
    (usual..MOST_DECIMALS).find(clear).unwrap_or(MOST_DECIMALS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_decimals_as_it_takes() {
        let at = |low, high| Interval::new(low, high);
        assert_eq!(decimals(1.84, at(1.80, 1.89), 1.0), 2);
        assert_eq!(decimals(1.003, at(1.0021, 1.0043), 1.0), 3);
        assert_eq!(decimals(184.2, at(180.1, 188.9), 1.0), 0);
        assert_eq!(decimals(0.0123, at(0.012, 0.0131), 1.0), 3);
        assert_eq!(decimals(1.0, at(1.0, 1.0), 1.0), 2);
        assert_eq!(decimals(0.5, None, 0.0), 2);
    }

    #[test]
    fn percentages_round_up() {
        let shown = [12.0, 12.1, 1.23, 0.051, 0.0123, 123.4].map(two_digits_up);
        assert_eq!(shown, ["12", "13", "1.3", "0.051", "0.013", "124"]);
        assert_eq!(unseen(Some(0.0)), "no difference seen; any would have been");
    }
}
