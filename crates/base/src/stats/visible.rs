//! What an experiment could have seen.

use super::mann_whitney::Table;
use super::normal::student_quantile;

/// The chance with which a difference of the stated size is found: the usual four in five.
pub const POWER: f64 = 0.8;

/// The efficiency of the rank test against the t-test for normal values, 3 / pi (Lehmann,
/// "Nonparametrics", 1975).
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// The smallest shift, in standard deviations, that the rank test at `alpha` finds with a chance of
/// `power` in samples of `n` and `m` values; `None` where it can find none at all.
///
/// That of a t-test at the level which the rank test really has with so few values, divided by the
/// square root of the rank test's efficiency. For normal values the real chance at the stated shift
/// lies between 0.68 and 0.88 where 0.8 is asked for, lowest where only a full separation of both
/// samples is a difference (see the tests): the shift itself is off by up to a tenth.
pub fn shift_in_deviations(n: usize, m: usize, alpha: f64, power: f64) -> Option<f64> {
    if n < 2 || m < 2 {
        return None;
    }
    let table = Table::new(n, m);
    let real = table.p(table.rejected(alpha).checked_sub(1)?);
    let degrees = n.checked_add(m)? - 2;
    let sum = student_quantile(1.0 - 0.5 * real, degrees)? + student_quantile(power, degrees)?;
    let shift = sum * (1.0 / n as f64 + 1.0 / m as f64).sqrt() / EFFICIENCY.sqrt();
    (shift.is_finite() && shift > 0.0).then_some(shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::stats::normal;
    use crate::stats::shift::Pairs;

    fn normals(rng: &mut Rng, count: usize, middle: f64) -> Vec<f64> {
        let one = |rng: &mut Rng| ((rng.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let draw = |_| middle + normal::quantile(one(rng)).expect("inside 0 to 1");
        (0..count).map(draw).collect()
    }

    #[test]
    fn the_stated_shift_is_found_about_four_times_in_five() {
        let mut rng = Rng::new(17);
        for (n, m, alpha) in
            [(4, 4, 0.05), (5, 5, 0.0125), (5, 8, 0.05), (10, 10, 0.05), (20, 20, 0.01)]
        {
            let shift = shift_in_deviations(n, m, alpha, POWER).expect("enough values");
            let found = (0..1000).filter(|_| {
                let (a, b) = (normals(&mut rng, n, 0.0), normals(&mut rng, m, shift));
                Pairs::differences(&a, &b).is_some_and(|pairs| pairs.p() <= alpha)
            });
            let found = found.count();
            // 1,000 trials scatter by 13 around the real chance.
            assert!(
                (680..=880).contains(&found),
                "{n} {m} {alpha}: {shift} was found {found} times"
            );
        }
    }

    #[test]
    fn nothing_is_visible_where_no_p_is_small_enough() {
        assert_eq!(shift_in_deviations(3, 3, 0.05, POWER), None);
        assert_eq!(shift_in_deviations(1, 50, 0.05, POWER), None);
        assert_eq!(shift_in_deviations(5, 5, f64::NAN, POWER), None);
        let more = [5, 10, 20, 40].map(|n| shift_in_deviations(n, n, 0.05, POWER));
        assert!(more.is_sorted_by(|a, b| a > b), "{more:?}");
    }
}
