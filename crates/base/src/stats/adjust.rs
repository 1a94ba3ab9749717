//! Correction for many comparisons at once.

/// The order of p-values, smallest first; `None` when one of them is no probability.
fn order(p: &[f64]) -> Option<Vec<usize>> {
    if p.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return None;
    }
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    Some(order)
}

/// Holm's step-down adjustment (1979): who calls every comparison with an adjusted p at or below
/// alpha a difference is wrong anywhere in the family with a chance of at most alpha. `None` when
/// one of them is no probability.
pub fn holm(p: &[f64]) -> Option<Vec<f64>> {
    let (mut adjusted, mut largest) = (vec![0.0; p.len()], 0.0f64);
    for (step, index) in order(p)?.into_iter().enumerate() {
        largest = largest.max(p[index] * (p.len() - step) as f64).min(1.0);
        adjusted[index] = largest;
    }
    Some(adjusted)
}

/// The step-up adjustment of Benjamini and Hochberg (1995): of all comparisons with an adjusted p
/// at or below alpha a share of at most alpha is expected to be wrong. For looking through many
/// metrics, not for verdicts. `None` when one of them is no probability.
pub fn benjamini_hochberg(p: &[f64]) -> Option<Vec<f64>> {
    let (mut adjusted, mut smallest) = (vec![0.0; p.len()], 1.0f64);
    for (step, index) in order(p)?.into_iter().enumerate().rev() {
        smallest = smallest.min(p[index] * p.len() as f64 / (step + 1) as f64);
        adjusted[index] = smallest;
    }
    Some(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_comparison_stays_as_it_is() {
        assert_eq!(
            (holm(&[0.03]), benjamini_hochberg(&[0.03])),
            (Some(vec![0.03]), Some(vec![0.03]))
        );
        assert_eq!((holm(&[]), benjamini_hochberg(&[])), (Some(vec![]), Some(vec![])));
    }

    #[test]
    fn what_is_no_probability_is_unknown() {
        for bad in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            assert_eq!((holm(&[0.5, bad]), benjamini_hochberg(&[bad])), (None, None), "{bad}");
        }
    }
}
