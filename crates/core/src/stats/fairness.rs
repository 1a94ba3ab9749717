//! How evenly something is shared.

use super::finite;

/// Jain's index of fairness (Jain, Chiu, Hawe 1984) of shares: 1 when all are equal, 1/n when one
/// has everything. `None` unless there are at least two finite shares, none negative, not all 0.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let shares = finite(shares, 2)?;
    let most = shares.iter().copied().reduce(f64::max)?;
    if most <= 0.0 || shares.iter().any(|share| *share < 0.0) {
        return None;
    }
    // Scaled, so that no square overflows.
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| {
        let share = share / most;
        (sum + share, squares + share * share)
    });
    Some(sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_one_for_all_to_one_for_everybody() {
        assert_eq!(jain(&[3.0; 4]), Some(1.0));
        assert_eq!(jain(&[0.0, 0.0, 5.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 2.0]), Some(0.9));
        let unknown: [&[f64]; 4] = [&[1.0], &[0.0; 2], &[1.0, -1.0], &[1.0, f64::NAN]];
        assert!(unknown.iter().all(|shares| jain(shares).is_none()));
    }
}
