//! Values that are no finite numbers, and too few of them, are unknown and never a panic.

use hugewise_base::stats::spread::{deviation, mad, pooled_deviation};
use hugewise_base::stats::{
    Histogram, Summary, adjust, mann_whitney, median, normal, outlier::Outliers, quantile,
    shift::Pairs, visible,
};
use proptest::prelude::*;

fn any_value() -> impl Strategy<Value = f64> {
    let edges = prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        Just(0.0),
        Just(-0.0),
    ];
    prop_oneof![2 => any::<f64>(), 2 => -10.0..10.0f64, 1 => edges]
}

fn any_values() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(any_value(), 0..7)
}

/// At least two, all finite.
fn usable(values: &[f64]) -> bool {
    values.len() >= 2 && values.iter().all(|value| value.is_finite())
}

proptest! {
    #[test]
    fn one_sample(values in any_values(), share in any_value()) {
        let known = [
            mad(&values).is_some(),
            deviation(&values).is_some(),
            Outliers::of(&values).is_some(),
        ];
        prop_assert!(usable(&values) || known == [false; 3], "{:?}: {:?}", values, known);
        // Those skip what is no number, as they always did.
        let numbers = values.iter().any(|value| !value.is_nan());
        prop_assert_eq!(Summary::of(&values).is_some(), numbers);
        prop_assert_eq!(median(&values).is_some(), numbers);
        prop_assert_eq!(quantile(&values, share).is_some(), numbers);
        let probabilities = values.iter().all(|p| (0.0..=1.0).contains(p));
        prop_assert_eq!(adjust::holm(&values).is_some(), probabilities);
        prop_assert_eq!(adjust::benjamini_hochberg(&values).is_some(), probabilities);
    }

    #[test]
    fn two_samples(one in any_values(), two in any_values(), alpha in any_value()) {
        let pairs = [Pairs::differences(&one, &two), Pairs::ratios(&one, &two)];
        let known = [
            mann_whitney::test(&one, &two).is_some(),
            mann_whitney::exact(&one, &two).is_some(),
            pooled_deviation(&one, &two).is_some(),
            pairs[0].is_some(),
            pairs[1].is_some(),
        ];
        prop_assert!(usable(&one) && usable(&two) || known == [false; 5], "{:?}", known);
        for pairs in pairs.into_iter().flatten() {
            prop_assert!((0.0..=1.0).contains(&pairs.p()) && pairs.estimate().is_finite());
            let interval = pairs.interval(alpha);
            prop_assert!(interval.is_none_or(|at| at.low <= at.high));
            prop_assert!(alpha >= 1.0 || interval.is_none_or(|at| at.contains(pairs.estimate())));
        }
        for test in [mann_whitney::exact(&one, &two), mann_whitney::test(&one, &two)] {
            prop_assert!(test.is_none_or(|test| (0.0..=1.0).contains(&test.p)));
        }
    }

    #[test]
    fn numbers(p in any_value(), degrees in 0..700usize, n in 0..80usize, m in 0..80usize) {
        let inside = p > 0.0 && p < 1.0;
        prop_assert_eq!(normal::quantile(p).is_some_and(f64::is_finite), inside);
        let student = normal::student_quantile(p, degrees).is_some_and(f64::is_finite);
        prop_assert_eq!(student, inside && p.min(1.0 - p) >= 1e-9 && degrees > 0);
        let shift = visible::shift_in_deviations(n, m, p, 0.8);
        prop_assert!(shift.is_none_or(|shift| shift.is_finite() && shift > 0.0));
        prop_assert!(mann_whitney::values_needed(p).is_none_or(|needed| needed > 0));
    }

    #[test]
    fn histograms_from_any_file(
        buckets in prop::collection::vec((any::<u64>(), any::<u64>()), 0..6),
        sum: u64,
        range: Option<(u64, u64)>,
        q in any_value(),
    ) {
        let text = serde_json::json!({ "buckets": buckets, "sum": sum, "range": range });
        let read: Histogram = serde_json::from_value(text).expect("well-formed");
        let mut all = read.clone();
        all.merge(&read);
        all.record(sum);
        let value = all.quantile(q);
        prop_assert!(all.count() > 0 && all.min() <= value && value <= all.max());
        prop_assert!(all.cumulative().all(|(_, share)| (0.0..=1.0).contains(&share)));
        let back = serde_json::to_string(&all).expect("plain data");
        prop_assert_eq!(serde_json::from_str::<Histogram>(&back).expect("own output"), all);
    }
}
