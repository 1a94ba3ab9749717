//! Numbers as people read them: amounts, shares, times, and how many decimals tell them apart.

use hugewise_base::units::Bytes;

/// An amount in at most five columns: `640B`, `12K`, `1.5G`, `1023M`.
pub fn short(bytes: Bytes) -> String {
    const UNITS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];
    if bytes.0 < 1024 {
        return format!("{}B", bytes.0);
    }
    let mut value = bytes.0 as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$}{}", UNITS[unit])
}

/// Whole percents; a little is not nothing, and almost all is not all.
pub fn percent(x: f64) -> String {
    if x > 0.0 && x < 1.0 {
        return "<1%".to_owned();
    }
    if x > 99.0 && x < 100.0 {
        return ">99%".to_owned();
    }
    format!("{x:.0}%")
}

/// A time to wait, in the largest unit that fits: `8 s`, `4 min`, `3 h`.
pub fn wait(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

/// A latency in nanoseconds, to a tenth at most: `150 ns`, `1.5 us`, `2 ms`.
pub fn latency(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let places = decimals((value * 10.0).round() / 10.0);
    format!("{value:.places$} {unit}")
}

/// What numbers up to `size` are counted in where six digits have no room, and its name.
pub fn large(size: f64) -> (f64, &'static str) {
    match size {
        size if size >= 1e9 => (1e9, "billions"),
        size if size >= 1e6 => (1e6, "millions"),
        size if size >= 1e5 => (1e3, "thousands"),
        _ => (1.0, ""),
    }
}

/// Decimals with which multiples of `step` can be told from each other.
pub fn decimals(step: f64) -> usize {
    let round = |places: &usize| {
        let scaled = step * 10f64.powi(i32::try_from(*places).unwrap_or(0));
        (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1e-9)
    };
    (0..=6).find(round).unwrap_or(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_amounts_fit_five_columns() {
        let shown = |n| short(Bytes(n));
        assert_eq!(shown(0), "0B");
        assert_eq!(shown(1023), "1023B");
        assert_eq!(shown(1536), "1.5K");
        assert_eq!(shown(1023 << 20), "1023M");
        assert_eq!(shown((1 << 30) - 1), "1.0G");
        assert!((0..63).all(|bit| shown(1 << bit).len() <= 5 && shown((1 << bit) - 1).len() <= 5));
    }

    #[test]
    fn waits_have_two_digits() {
        let shown = [0.4, 99.0, 100.0, 5_900.0, 7_200.0].map(wait);
        assert_eq!(shown, ["0 s", "99 s", "2 min", "98 min", "2 h"]);
    }

    #[test]
    fn almost_is_not_quite() {
        assert_eq!(percent(0.0), "0%");
        assert_eq!(percent(0.4), "<1%");
        assert_eq!(percent(99.9), ">99%");
        assert_eq!(percent(100.0), "100%");
    }

    #[test]
    fn latencies_are_short() {
        let texts = [1.0, 150.0, 1500.0, 3e4, 2e6, 1e9].map(latency);
        assert_eq!(texts, ["1 ns", "150 ns", "1.5 us", "30 us", "2 ms", "1 s"]);
    }

    #[test]
    fn decimals_tell_steps_apart() {
        assert_eq!([decimals(0.25), decimals(20.0), decimals(2.5)], [2, 0, 1]);
        assert_eq!(large(436_064.0), (1e3, "thousands"));
        assert_eq!(large(99_999.0), (1.0, ""));
    }
}
