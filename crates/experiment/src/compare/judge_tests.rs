//! Judgements, their words, and that decision and interval never disagree.

use super::super::compare;
use super::*;
use proptest::prelude::*;

const SLOWER: Rule = Rule { alpha: 0.05, equal_within_percent: None, better: Better::Lower };
const BASELINE: [f64; 6] = [100.0, 101.3, 99.2, 100.7, 98.8, 100.1];

fn alone(other: &[f64], rule: Rule) -> Judged<&'static str> {
    let comparison = compare(&BASELINE, other, &rule);
    judge(vec![("other", comparison, rule)]).remove(0)
}

#[test]
fn a_clear_difference_has_the_wanted_direction() {
    let twice = BASELINE.map(|value| value * 1.84 + 0.3);
    let judged = alone(&twice, SLOWER);
    assert_eq!(judged.judgement, Judgement::Worse);
    assert_eq!(judged.sentence("never", "us"), "1.84 x (1.82 to 1.87) of never: worse");
    let rule = |better| Rule { better, ..SLOWER };
    assert_eq!(alone(&twice, rule(Better::Higher)).judgement, Judgement::Better);
    assert_eq!(alone(&twice, rule(Better::Neither)).judgement, Judgement::Different);
    assert_eq!(alone(&twice.map(|v| v / 4.0), SLOWER).judgement, Judgement::Better);
}

#[test]
fn no_difference_says_what_could_have_been_seen() {
    let judged = alone(&[99.5, 101.0, 100.4, 98.9, 100.2, 99.8], SLOWER);
    let Judgement::NoDifferenceSeen { could_have_seen_percent: Some(percent) } = judged.judgement
    else {
        panic!("{:?}", judged.judgement)
    };
    assert!((1.0..3.0).contains(&percent), "{percent}");
    assert_eq!(judged.comparison.smallest_visible_percent, Some(percent));
    let sentence = judged.sentence("never", "us");
    let end = " % or more would have been";
    assert!(sentence.starts_with("no difference seen; ") && sentence.ends_with(end), "{sentence}");
}

#[test]
fn what_does_not_matter_is_the_same_even_if_seen() {
    let slightly = BASELINE.map(|value| value * 1.001);
    let rule = Rule { equal_within_percent: Some(3.0), ..SLOWER };
    let judged = alone(&slightly, rule);
    assert_eq!(judged.judgement, Judgement::Same, "{judged:?}");
    let sentence = judged.sentence("never", "");
    assert!(sentence.ends_with(" of never: the same within 3 %"), "{sentence}");
    let strict = Rule { equal_within_percent: Some(0.05), ..SLOWER };
    assert!(matches!(alone(&slightly, strict).judgement, Judgement::NoDifferenceSeen { .. }));
    // A difference that is seen but smaller than what matters.
    let exact = [100.0, 100.001, 100.002, 100.003, 100.004];
    let comparison = compare(&exact, &exact.map(|value| value + 0.1), &rule);
    assert!(comparison.p.is_some_and(|p| p < 0.05));
    assert_eq!(judge(vec![((), comparison, rule)])[0].judgement, Judgement::Same);
}

#[test]
fn too_few_runs_say_how_many_are_needed() {
    let few = |members: usize, n: usize| {
        let comparison = || compare(&BASELINE[..n], &BASELINE.map(|v| v * 9.0)[..n], &SLOWER);
        judge((0..members).map(|key| (key, comparison(), SLOWER)).collect())
    };
    // The smallest p are 1, 0.33, 0.1, 0.029, 0.0079, 0.0022 for 1 ... 6 values a side.
    for (members, n, needed) in [(1, 1, 4), (1, 3, 4), (4, 4, 5), (8, 5, 6), (8, 2, 6)] {
        let judged = few(members, n);
        let want = Judgement::TooFew { needed };
        assert!(judged.iter().all(|judged| judged.judgement == want), "{members} {n}");
        assert!(few(members, needed).iter().all(|judged| judged.judgement == Judgement::Worse));
    }
    let sentence = few(4, 4)[0].sentence("never", "us");
    assert_eq!(sentence, "too few runs (4) to be judged: 5 of each are needed");
}

#[test]
fn values_around_zero_are_compared_by_their_difference() {
    let baseline = [0.0, -1.0, 1.0, 0.5, -0.5];
    let other = baseline.map(|value| value + 7.25);
    let comparison = compare(&baseline, &other, &SLOWER);
    assert_eq!((comparison.ratio, comparison.smallest_visible_percent), (None, None));
    let judged = judge(vec![((), comparison, SLOWER)]).remove(0);
    let sentence = judged.sentence("never", "MiB");
    assert_eq!(sentence, "+7.25 MiB (5.75 to 8.75) against never: worse");
    // Always 0 in both: nothing scatters, and nothing differs.
    let rule = Rule { equal_within_percent: Some(1.0), ..SLOWER };
    let zeros = judge(vec![((), compare(&[0.0; 5], &[0.0; 5], &rule), rule)]);
    assert_eq!(zeros[0].judgement, Judgement::Same);
}

#[test]
fn nothing_to_compare_is_unknown_and_no_member_of_the_family() {
    let rule = |alpha| Rule { alpha, ..SLOWER };
    let slower = BASELINE[..4].iter().map(|value| value * 2.0).collect::<Vec<_>>();
    let members: [(&[f64], f64, _); 6] = [
        (&slower, 0.05, Judgement::Worse),
        (&[], 0.05, Judgement::Unknown(Reason::NoValues)),
        (&[1.0, f64::NAN], 0.05, Judgement::Unknown(Reason::NotFinite)),
        (&[f64::INFINITY; 4], 0.05, Judgement::Unknown(Reason::NotFinite)),
        (&[-f64::MAX, f64::MAX], 0.05, Judgement::TooFew { needed: 4 }),
        (&slower, f64::NAN, Judgement::Unknown(Reason::NoAlpha)),
    ];
    for (other, alpha, want) in members {
        let comparison = compare(&BASELINE[..4], other, &rule(alpha));
        let family = vec![(0, comparison, rule(alpha)), (1, compare(&[], &[1.0], &SLOWER), SLOWER)];
        let judged = judge(family);
        assert_eq!(judged[0].judgement, want, "{other:?}");
        assert_eq!(judged[1].judgement, Judgement::Unknown(Reason::NoValues));
        assert!(judged[1].sentence("never", "").starts_with("unknown: "));
    }
    let huge = compare(&[f64::MAX; 4], &[-f64::MAX; 4], &SLOWER);
    let judged = judge(vec![((), huge, SLOWER)]);
    assert_eq!(judged[0].judgement, Judgement::Unknown(Reason::TooLarge));
    assert!(judge(Vec::<((), _, _)>::new()).is_empty());
}

#[test]
fn holm_gives_the_second_smallest_p_a_larger_share() {
    // 4 values a side can have p = 0.029: above 0.05 / 2, but below 0.05 once the other is decided.
    let six = compare(&BASELINE, &BASELINE.map(|value| value * 2.0), &SLOWER);
    let four = compare(&BASELINE[..4], &BASELINE.map(|value| value * 2.0)[..4], &SLOWER);
    let judged = judge(vec![("four", four, SLOWER), ("six", six, SLOWER)]);
    assert!(judged.iter().all(|judged| judged.judgement == Judgement::Worse), "{judged:?}");
    assert_eq!((judged[0].level, judged[1].level), (0.05, 0.025));
}

fn runs() -> impl Strategy<Value = Vec<f64>> {
    // Whole numbers, so that there are ties.
    prop::collection::vec((1u8..40).prop_map(f64::from), 1..10)
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), Just(f64::NAN), Just(0.0), Just(f64::MAX), Just(1.0)]
}

proptest! {
    #[test]
    fn decision_and_interval_agree_in_every_family(
        baseline in runs(),
        others in prop::collection::vec(runs(), 1..6),
        alpha in 0.001..0.4f64,
    ) {
        let rule = Rule { alpha, ..Rule::default() };
        let member = |(key, other): (usize, &Vec<f64>)| {
            (key, compare(&baseline, other, &rule), rule)
        };
        for judged in judge(others.iter().enumerate().map(member).collect()) {
            let differs = judged.judgement == Judgement::Different;
            let excludes = |estimate: Option<Estimate>, neutral| {
                let interval = estimate.and_then(|estimate| estimate.interval);
                interval.is_some_and(|interval| !interval.contains(neutral))
            };
            prop_assert_eq!(differs, excludes(judged.ratio, 1.0));
            prop_assert_eq!(differs, excludes(judged.shift, 0.0));
            let small = judged.p_adjusted.is_some_and(|p| p <= alpha * (1.0 - 1e-9));
            prop_assert!(differs || !small);
            let needed = matches!(judged.judgement, Judgement::TooFew { .. });
            let n = judged.comparison.baseline.n.min(judged.comparison.other.n);
            prop_assert!(!needed || n < 12);
        }
    }

    #[test]
    fn nothing_panics(
        baseline in prop::collection::vec(any_value(), 0..8),
        other in prop::collection::vec(any_value(), 0..8),
        alpha in any_value(),
        equal_within_percent in prop::option::of(any_value()),
    ) {
        let rule = Rule { alpha, equal_within_percent, better: Better::Higher };
        let comparison = compare(&baseline, &other, &rule);
        for judged in judge(vec![((), comparison, rule)]) {
            prop_assert!(!judged.sentence("never", "us").is_empty());
        }
    }
}
