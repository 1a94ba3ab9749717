use super::*;
use crate::record::Outcome;
use crate::record::tests::record;
use hugewise_base::rng::Rng;
use proptest::prelude::*;

const BARS: Bars = Bars { speed: 0.95, memory: 1.05, tail: 1.2 };
const OTHERS: [&str; 6] = ["always", "guard", "khugepaged", "madvise", "mthp-64k", "never"];

fn figure(kind: Kind, better: Better) -> Figure {
    Figure { phase: "steady", key: "ops_per_s".into(), kind, better, digits: 0 }
}

fn speed() -> Figure {
    figure(Kind::Speed, Better::Higher)
}

/// About 1, by so many percent: the sum of four even draws.
fn noise(rng: &mut Rng, percent: f64) -> f64 {
    let draws: u64 = (0..4).map(|_| rng.below(2001)).sum();
    1.0 + (draws as f64 - 4000.0) / 1155.0 * percent / 100.0
}

/// Rounds in which all others are equal and ours is `factor` as fast; each round has a pace of its
/// own.
fn rounds(seed: u64, count: u32, factor: f64, percent: f64) -> Values {
    let (mut rng, mut values) = (Rng::new(seed), Values::new());
    for round in 0..count {
        let pace = noise(&mut rng, percent / 2.0);
        for name in OTHERS.into_iter().chain(["ingens"]) {
            let level = if name == "ingens" { factor } else { 1.0 };
            let value = 1000.0 * pace * level * noise(&mut rng, percent);
            values.entry(name.to_owned()).or_default().insert(round, value);
        }
    }
    values
}

/// The share of seeds in which a verdict falls, percent.
fn share(verdict: Verdict, count: u32, factor: f64, percent: f64, bars: &Bars) -> f64 {
    let falls = |seed: &u64| {
        let values = rounds(*seed, count, factor, percent);
        judge("w", &speed(), "ingens", &values, bars).verdict == verdict
    };
    (0..500).filter(falls).count() as f64 / 5.0
}

#[test]
fn equals_are_beyond_no_bar_more_often_than_an_interval_misses() {
    // A bar without any margin: half of the intervals' 5 % lie on its bad side.
    let strict = Bars { speed: 1.0, ..BARS };
    for count in [ROUNDS_MIN, 8, 12] {
        let beyond = share(Verdict::Beyond, count, 1.0, 5.0, &strict);
        assert!(beyond <= 5.0, "{beyond} % of {count} rounds");
        assert!(share(Verdict::Beyond, count, 1.0, 5.0, &BARS) < 1.0);
    }
}

#[test]
fn a_loss_of_a_tenth_is_seen_with_enough_runs_and_none_is_made_up() {
    assert!(share(Verdict::Beyond, 12, 0.9, 2.0, &BARS) > 95.0);
    assert!(share(Verdict::Holds, 12, 1.0, 2.0, &BARS) > 90.0);
    assert_eq!(share(Verdict::Holds, 12, 0.9, 2.0, &BARS), 0.0);
}

/// What this is for: picked and compared by the same runs, the luckiest of equals is ahead.
#[test]
fn the_luck_of_the_chosen_does_not_count() {
    let (mut same, mut split) = (Vec::new(), Vec::new());
    for seed in 0..500 {
        let values = rounds(seed, 8, 1.0, 5.0);
        let middle = |name: &str| median(&values[name].values().copied().collect::<Vec<_>>());
        let best = OTHERS.into_iter().filter_map(middle).fold(0.0, f64::max);
        same.push(middle("ingens").expect("runs") / best);
        split.extend(judge("w", &speed(), "ingens", &values, &BARS).ratio);
    }
    let (same, split) = (median(&same).expect("all"), median(&split).expect("all"));
    assert!(same < 0.985 && (split - 1.0).abs() < 0.006, "{same} against {split}");
}

#[test]
fn few_rounds_decide_nothing_and_the_least_can() {
    let few = rounds(1, ROUNDS_MIN - 1, 0.2, 1.0);
    let row = judge("w", &speed(), "ingens", &few, &BARS);
    assert_eq!((row.verdict, row.interval), (Verdict::Inconclusive, None));
    assert!(row.ratio.is_some_and(|ratio| ratio < 0.3));
    let least = rounds(1, ROUNDS_MIN, 0.2, 1.0);
    assert_eq!(judge("w", &speed(), "ingens", &least, &BARS).verdict, Verdict::Beyond);
    let none = judge("w", &speed(), "ingens", &Values::new(), &BARS);
    assert_eq!((none.verdict, none.ours, none.best), (Verdict::Inconclusive, None, None));
}

#[test]
fn a_time_is_compared_as_speed_and_memory_and_tails_as_they_are() {
    let values = rounds(2, 8, 2.0, 1.0);
    let of = |kind, better| judge("w", &figure(kind, better), "ingens", &values, &BARS);
    for (kind, better, ratio, verdict) in [
        (Kind::Speed, Better::Higher, 2.0, Verdict::Holds),
        (Kind::Speed, Better::Lower, 0.5, Verdict::Beyond),
        (Kind::Memory, Better::Lower, 2.0, Verdict::Beyond),
        (Kind::Tail, Better::Lower, 2.0, Verdict::Beyond),
        (Kind::Reported, Better::Lower, 2.0, Verdict::Reported),
    ] {
        let row = of(kind, better);
        assert!(row.ratio.is_some_and(|found| (found / ratio - 1.0).abs() < 0.03), "{row:?}");
        assert_eq!(row.verdict, verdict, "{row:?}");
    }
    assert!(of(Kind::Speed, Better::Lower).shortfall() > 1.8);
}

#[test]
fn the_worst_row_comes_first_and_what_says_nothing_is_named() {
    let material = |workload: &str, factor: f64| {
        let mut records = Vec::new();
        for (variant, runs) in rounds(3, 8, factor, 1.0) {
            let runs = runs.into_iter();
            records.extend(runs.map(|(at, value)| record(at, &variant, "ops_per_s", value)));
        }
        let without = BTreeMap::from([("mthp-64k".to_owned(), "this kernel has no".to_owned())]);
        Material { workload: workload.into(), figures: vec![speed()], without, records }
    };
    let mut all = [material("good", 1.2), material("worst", 0.5), material("bad", 0.8)];
    all[0].records[0].outcome = Outcome::Failed { error: "no port".into() };
    let modes = modes(&["ingens", "mthp-64k"], &all, &BARS);
    let names: Vec<_> = modes[0].rows.iter().map(|row| row.workload.as_str()).collect();
    assert_eq!(names, ["worst", "bad", "good"]);
    assert_eq!((modes[0].count(Verdict::Beyond), modes[0].count(Verdict::Holds)), (2, 1));
    assert!(modes[1].rows.is_empty());
    let skipped = BTreeMap::from([("sqlite".to_owned(), "sqlite3 is not installed".to_owned())]);
    let absent = absent(&skipped, &all);
    assert_eq!(absent.len(), 1 + 3 + 1);
    assert_eq!((absent[0].variant.as_deref(), absent[0].failed), (None, 0));
    assert!(absent.iter().any(|one| one.failed == 1 && one.why == "no port"));
}

proptest! {
    #[test]
    fn no_value_makes_a_wrong_interval(
        own in prop::collection::vec(-1.0..1e6_f64, 0..9),
        other in prop::collection::vec(-1.0..1e6_f64, 0..9),
    ) {
        let side = |values: &[f64]| (0..).zip(values.iter().copied()).collect::<BTreeMap<_, _>>();
        let values = Values::from([("a".into(), side(&own)), ("b".into(), side(&other))]);
        let row = judge("w", &speed(), "a", &values, &BARS);
        if let Some((ratio, at)) = row.ratio.zip(row.interval) {
            prop_assert!(at.contains(ratio) && at.low > 0.0);
        } else {
            prop_assert_eq!(row.verdict, Verdict::Inconclusive);
        }
    }

    #[test]
    fn a_unit_changes_nothing(seed: u64, factor in 0.5..2.0_f64, unit in 0.001..1000.0_f64) {
        let values = rounds(seed, 6, factor, 5.0);
        let mut scaled = values.clone();
        scaled.values_mut().flat_map(BTreeMap::values_mut).for_each(|value| *value *= unit);
        let of = |values: &Values| judge("w", &speed(), "ingens", values, &BARS);
        let (one, two) = (of(&values), of(&scaled));
        prop_assert_eq!(one.best.map(|best| best.variant), two.best.map(|best| best.variant));
        let (one, two) = (one.ratio.expect("runs"), two.ratio.expect("runs"));
        prop_assert!((one / two - 1.0).abs() < 1e-9);
    }
}
