use super::feature::FEATURES;
use super::file::{Pair, SCHEMA};
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Of two CPUs, in the features that are given.
fn signatures(all: &[(&str, &[(&str, f64)])]) -> Signatures {
    let of = |rates: &[(&str, f64)]| -> BTreeMap<String, f64> {
        let zero = FEATURES.iter().map(|feature| (feature.key.to_owned(), 0.0));
        zero.chain(rates.iter().map(|(key, rate)| ((*key).to_owned(), *rate))).collect()
    };
    let one = |(name, rates): &(&str, &[(&str, f64)])| Signature {
        name: (*name).to_owned(),
        watched_s: 10.0,
        rates: of(rates),
        halves_distance: None,
    };
    Signatures {
        schema: SCHEMA,
        hugewise: "0".into(),
        began: None,
        kernel: None,
        cpus: 2,
        noisy: Vec::new(),
        rest: of(&[]),
        signatures: all.iter().map(one).collect(),
        skipped: Vec::new(),
        pairs: vec![Pair { names: ["cpu".into(), "io".into()], distance: 1.0 }],
    }
}

const CPU: (&str, &[(&str, f64)]) = ("cpu", &[("cpu.user_cpus", 2.0)]);
const FORK: (&str, &[(&str, f64)]) = (
    "fork",
    &[
        ("cpu.user_cpus", 0.3),
        ("cpu.kernel_cpus", 1.7),
        ("tasks.created_per_s", 4000.0),
        ("tasks.switches_per_s", 12_000.0),
        ("paging.faults_per_s", 180_000.0),
        ("paging.freed_per_s", 200_000.0),
    ],
);
const IO: (&str, &[(&str, f64)]) = (
    "io",
    &[
        ("cpu.kernel_cpus", 0.3),
        ("paging.out_bytes_per_s", 4e7),
        ("disk.writes_per_s", 900.0),
        ("tasks.switches_per_s", 5000.0),
    ],
);

fn mixed(of: &Signatures, times: &[f64]) -> Vector {
    let mut sum = BTreeMap::<String, f64>::new();
    for (one, times) in of.signatures.iter().zip(times) {
        for (key, rate) in &one.rates {
            *sum.entry(key.clone()).or_default() += rate * times;
        }
    }
    Vector::of_rates(&sum)
}

fn names(told: &Resemblance) -> Vec<&str> {
    told.parts.iter().map(|part| part.name.as_str()).collect()
}

#[test]
fn what_nobody_does_resembles_none_and_says_what_does_not_fit() {
    let all = signatures(&[CPU, IO, FORK]);
    let rates = BTreeMap::from([
        ("cpu.user_cpus".to_owned(), 0.3),
        ("cpu.kernel_cpus".to_owned(), 1.0),
        ("tasks.switches_per_s".to_owned(), 400_000.0),
    ]);
    let zero = mixed(&all, &[0.0; 3]).rates();
    let vector = Vector::of_rates(&zero.into_iter().chain(rates).collect());
    let told = judge(&vector, 2.0, &all);
    assert_eq!(told.verdict, Verdict::None, "{told:#?}");
    assert_eq!(told.misfits[0].feature, "tasks.switches_per_s");
    assert!(told.misfits[0].text.contains("context switches: 400,000/s, "), "{told:#?}");
    assert!(told.misfits[0].text.ends_with("/s more than these would make"), "{told:#?}");
}

#[test]
fn a_machine_at_rest_and_too_few_counters_are_said() {
    let all = signatures(&[CPU, IO, FORK]);
    let told = judge(&mixed(&all, &[0.01; 3]), 2.0, &all);
    assert_eq!((told.verdict, told.distance), (Verdict::AtRest, None));
    let few = BTreeMap::from([("cpu.user_cpus".to_owned(), 2.0)]);
    let told = judge(&Vector::of_rates(&few), 2.0, &all);
    assert_eq!(told.verdict, Verdict::TooLittle);
    assert!(told.missing.contains(&"tasks.created_per_s"), "{:?}", told.missing);
}

#[test]
fn signatures_that_cannot_be_told_apart_stand_for_each_other() {
    let twin = ("twin", FORK.1);
    let all = signatures(&[CPU, FORK, twin]);
    let told = judge(&mixed(&all, &[0.0, 1.0, 0.0]), 2.0, &all);
    assert_eq!(names(&told), ["fork"]);
    assert_eq!(told.parts[0].or, ["twin"]);
    assert!(told.distance.is_some_and(|distance| distance < 1e-6), "{told:#?}");
}

#[test]
fn a_file_reads_back_and_a_foreign_one_is_named() {
    let all = signatures(&[CPU, IO, FORK]);
    let text = serde_json::to_string(&all).expect("plain data");
    assert_eq!(Signatures::parse(&text).as_ref(), Ok(&all));
    let wrong = |text: &str| Signatures::parse(text).expect_err(text);
    assert!(wrong("").contains("cut off"));
    assert!(wrong(&text[..text.len() / 2]).contains("cut off"));
    assert!(wrong("MemTotal: 3").contains("no signatures of 'hugewise lab signatures'"));
    assert!(wrong("{}").contains("has no 'schema'"));
    assert!(wrong(r#"{"schema":7}"#).contains("version 7"));
    assert!(wrong(r#"{"schema":1,"findings":[]}"#).contains("missing field"));
    let changed = |change: fn(&mut Signatures)| {
        let mut all = all.clone();
        change(&mut all);
        wrong(&serde_json::to_string(&all).expect("plain data"))
    };
    assert!(changed(|all| all.signatures.clear()).contains("no signature"));
    assert!(changed(|all| all.cpus = 0).contains("0 CPUs"));
    assert!(changed(|all| all.signatures[1].name = "cpu".into()).contains("two signatures 'cpu'"));
    assert!(changed(|all| all.signatures[1].name = "\u{1b}[2J".into()).contains("small letters"));
    let negative = |all: &mut Signatures| _ = all.rest.insert("cpu.user_cpus".into(), -1.0);
    assert!(changed(negative).contains("'rest' is below 0"));
    let huge = |all: &mut Signatures| _ = all.signatures[0].rates.insert("x".into(), 1e300);
    assert!(changed(huge).contains("'cpu'"));
}

/// Anything that a text can say, and what no machine says.
fn hostile() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(1e308),
        Just(f64::MAX),
        Just(f64::INFINITY),
        Just(f64::NAN),
        Just(-1e308),
        Just(5e-324),
        0.0..1e6_f64
    ]
}

proptest! {
    #[test]
    fn a_multiple_of_one_is_that_one(which in 0..3_usize, times in 0.2..50.0_f64) {
        let all = signatures(&[CPU, IO, FORK]);
        let mut of = [0.0; 3];
        of[which] = times;
        let told = judge(&mixed(&all, &of), 2.0, &all);
        prop_assert_eq!(told.verdict, Verdict::Resembles);
        prop_assert_eq!(names(&told), [all.signatures[which].name.as_str()]);
        prop_assert!(told.distance.is_some_and(|distance| distance < 1e-6));
        prop_assert!((told.parts[0].times - times).abs() < 1e-6 * times);
        prop_assert!(told.misfits.is_empty());
    }

    #[test]
    fn a_mixture_of_two_names_both(
        out in 0..3_usize, a in 0.4..1.0_f64, b in 0.4..1.0_f64
    ) {
        let all = signatures(&[CPU, IO, FORK]);
        let mut of = [a, b, (a + b) / 2.0];
        of[out] = 0.0;
        let told = judge(&mixed(&all, &of), 2.0, &all);
        prop_assert_eq!(told.verdict, Verdict::Resembles);
        let mut found = names(&told);
        found.sort_unstable();
        let wanted = ["cpu", "io", "fork"].iter().enumerate().filter(|(index, _)| *index != out);
        let mut wanted: Vec<&str> = wanted.map(|(_, name)| *name).collect();
        wanted.sort_unstable();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn the_distance_of_two_is_the_same_both_ways_and_of_multiples_nothing(
        a in vec(0.0..1e6_f64, FEATURES.len()), b in vec(0.0..1e6_f64, FEATURES.len()),
        times in 0.1..10.0_f64
    ) {
        let of = |rates: &[f64]| {
            let named = FEATURES.iter().map(|feature| feature.key.to_owned());
            Vector::of_rates(&named.zip(rates.iter().copied()).collect())
        };
        let more: Vec<f64> = a.iter().map(|rate| rate * times).collect();
        let (a, b, more) = (of(&a), of(&b), of(&more));
        let all = [a.clone(), b.clone()];
        let there = between(&all, 2, &a, &b).expect("none is empty");
        let back = between(&all, 2, &b, &a).expect("none is empty");
        prop_assert!((there - back).abs() < 1e-9 && (0.0..=1.0).contains(&there));
        prop_assert!(between(&all, 2, &a, &more).is_some_and(|far| far < 1e-6));
    }

    #[test]
    fn nothing_makes_it_panic_or_say_what_is_no_number(
        rates in vec(vec(proptest::option::of(hostile()), FEATURES.len()), 2..6),
        cpus in hostile()
    ) {
        let mut all = signatures(&[CPU, IO, FORK]);
        let named = |rates: &[Option<f64>]| -> BTreeMap<String, f64> {
            let known = FEATURES.iter().zip(rates);
            known.filter_map(|(feature, rate)| Some((feature.key.to_owned(), (*rate)?))).collect()
        };
        let (vector, more) = rates.split_first().expect("at least two");
        for (one, rates) in all.signatures.iter_mut().zip(more) {
            one.rates = named(rates);
        }
        let told = judge(&Vector::of_rates(&named(vector)), cpus, &all);
        let is_share = |value: f64| (0.0..=1.0).contains(&value);
        prop_assert!(told.distance.is_none_or(is_share), "{:?}", told);
        prop_assert!(told.alone.iter().all(|one| is_share(one.distance)), "{:?}", told);
        for part in &told.parts {
            prop_assert!(part.times.is_finite() && part.times > 0.0, "{:?}", told);
            prop_assert!((0.0..=100.0).contains(&part.share_percent), "{:?}", told);
        }
        prop_assert!(told.misfits.iter().all(|m| m.is.is_finite() && m.would_be.is_finite()));
    }

    #[test]
    fn a_damaged_file_is_an_error_and_no_panic(cut in 0..4000_usize, byte: u8) {
        let all = signatures(&[CPU, IO, FORK]);
        let mut text = serde_json::to_string(&all).expect("plain data").into_bytes();
        let at = cut % text.len();
        text[at] = byte;
        let _ = Signatures::parse(&String::from_utf8_lossy(&text));
        text.truncate(at);
        prop_assert!(Signatures::parse(&String::from_utf8_lossy(&text)).is_err());
    }
}
