//! Wall-clock time as recordings have it: local to the machine, often without a date.

use std::fmt;

use serde::Serialize;

use hugewise_base::calendar::{self, DAY_S};

/// Days from which on a [`Stamp`] has a date. Recordings without one count their days from 0; no
/// recording is as old as 1971.
const FIRST_DATED_DAY: i64 = 365;

/// Seconds on the recorded machine's own wall clock: since 1970-01-01 where the date is known,
/// else since the midnight before the recording began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub i64);

impl Stamp {
    /// A time of day on day 0, the date being unknown. `None` where there is no such time.
    pub(crate) fn of_day(hour: u32, minute: u32, second: u32) -> Option<Self> {
        // 60 is a leap second.
        let real = hour < 24 && minute < 60 && second <= 60;
        real.then(|| Self(i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second)))
    }

    /// Midnight of a date. `None` where there is no such day, or none from 1971 to 9999.
    pub fn midnight(year: u32, month: u32, day: u32) -> Option<Self> {
        const DAYS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let most = *DAYS.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
        if !(1971..=9999).contains(&year) || day == 0 || day > most {
            return None;
        }
        let days = calendar::days(i64::from(year), i64::from(month), i64::from(day));
        Some(Self(days * DAY_S))
    }

    /// This stamp's day, from 1970-01-01 or from the recording's first day.
    pub const fn day(self) -> i64 {
        self.0.div_euclid(DAY_S)
    }

    /// Whether the date is known.
    pub const fn has_date(self) -> bool {
        self.day() >= FIRST_DATED_DAY
    }

    /// Seconds since this day's midnight.
    pub(crate) const fn second_of_day(self) -> i64 {
        self.0.rem_euclid(DAY_S)
    }

    /// This stamp a number of days later.
    pub(crate) const fn days_later(self, days: i64) -> Self {
        Self(self.0.saturating_add(days.saturating_mul(DAY_S)))
    }

    /// Year, month and day, where the date is known.
    pub fn date(self) -> Option<(i64, i64, i64)> {
        self.has_date().then(|| calendar::date(self.day()))
    }

    /// The time of day, `08:40:02`.
    pub fn clock(self) -> String {
        let second = self.second_of_day();
        format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((year, month, day)) = self.date() {
            write!(f, "{year:04}-{month:02}-{day:02} ")?;
        } else if self.day() != 0 {
            write!(f, "day {:+} ", self.day())?;
        }
        f.write_str(&self.clock())
    }
}

impl Serialize for Stamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_both_ways() {
        assert_eq!(Stamp::midnight(2026, 11, 22), Some(Stamp(1_795_305_600)));
        let mut stamp = Stamp::midnight(1971, 1, 1).expect("a date");
        while stamp < Stamp(4_200_000_000) {
            let (year, month, day) = stamp.date().expect("dated");
            let parts = [year, month, day].map(|n| u32::try_from(n).expect("small"));
            assert_eq!(Stamp::midnight(parts[0], parts[1], parts[2]), Some(stamp));
            stamp = stamp.days_later(1);
        }
        assert_eq!(Stamp::midnight(2026, 13, 1), None);
        assert_eq!(Stamp::midnight(2026, 0, 1), None);
    }

    #[test]
    fn a_time_without_a_date_says_so() {
        let stamp = Stamp::of_day(8, 40, 2).expect("a time");
        assert_eq!(stamp.to_string(), "08:40:02");
        assert_eq!(stamp.days_later(1).to_string(), "day +1 08:40:02");
        assert_eq!(Stamp::of_day(24, 0, 0), None);
        let dated = Stamp::midnight(2020, 12, 26).expect("a date");
        assert_eq!(Stamp(dated.0 + stamp.0).to_string(), "2020-12-26 08:40:02");
    }
}
