//! Numbers and times of these views.

/// A time in a few digits.
pub(super) fn time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{:.2} ms", us / 1e3),
        us if us < 1e4 => format!("{:.1} ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        us if us < 1e8 => format!("{:.1} s", us / 1e6),
        us => format!("{:.0} s", us / 1e6),
    }
}

/// A rate or a number of requests under way.
pub(super) fn few(value: f64) -> String {
    match value {
        value if value >= 99.5 => format!("{value:.0}"),
        value if value >= 9.95 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// A share as percent.
pub(super) fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent > 0.0 && percent < 1.0 => "<1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// `2026-11-26 12:00:00` of a time of the account.
pub(super) fn shown(stamp: &str) -> String {
    stamp.get(..19).unwrap_or(stamp).replace('T', " ")
}

/// The date of a time of the account.
pub(super) fn day(stamp: &str) -> &str {
    stamp.get(..10).unwrap_or(stamp)
}

/// Its time of day.
pub(super) fn clock(stamp: &str) -> String {
    stamp.get(11..19).unwrap_or(stamp).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        let times = [0.0, 300.0, 1500.0, 41_300.0, 999_600.0, 3_140_000.0, 120e6].map(time);
        assert_eq!(times, ["0.00 ms", "0.30 ms", "1.5 ms", "41 ms", "1.0 s", "3.1 s", "120 s"]);
        assert_eq!([0.0, 0.004, 0.5, 1.0].map(percent), ["0 %", "<1 %", "50 %", "100 %"]);
        assert_eq!([0.123, 12.34, 123.4].map(few), ["0.12", "12.3", "123"]);
        assert_eq!(clock("2026-11-26T12:00:07+01:00"), "12:00:07");
    }
}
