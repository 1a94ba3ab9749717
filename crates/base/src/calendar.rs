//! The Gregorian calendar, as days since 1970-01-01.

/// Seconds in a day.
pub const DAY_S: i64 = 86_400;
/// Days in 400 years, after which the calendar repeats.
const DAYS_400_YEARS: i64 = 146_097;
/// Days from 1 March of year 0 to 1970-01-01.
const TO_1970: i64 = 719_468;

/// Year, month and day of a number of days since 1970-01-01.
///
/// Counts from 1 March: a leap day is then the last day of its year, and the months before it have
/// lengths that repeat every 5 months, which are 153 days.
pub const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + TO_1970;
    let (era, of_era) = (days.div_euclid(DAYS_400_YEARS), days.rem_euclid(DAYS_400_YEARS));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    // From March as 0 to January as 1.
    (400 * era + year + month / 10, (month + 2) % 12 + 1, day)
}

/// Days since 1970-01-01 of a date: [`date`] the other way round. A day too many counts into the
/// next month; months are from 1 to 12.
pub const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + of_year - TO_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(-1), (1969, 12, 31));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(11_017), (2000, 3, 1));
        assert_eq!(date(20_513), (2026, 3, 1));
        // Every day of 800 years follows the day before it.
        let leap = |y: i64| (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
        let (mut y, mut m, mut d) = (1970, 1, 1);
        for days in 0..292_194 {
            assert_eq!(date(days), (y, m, d));
            assert_eq!(super::days(y, m, d), days);
            let length = match m {
                2 => 28 + i64::from(leap(y)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            d += 1;
            if d > length {
                (m, d) = (m + 1, 1);
            }
            if m > 12 {
                (y, m) = (y + 1, 1);
            }
        }
    }
}
