//! The same numbers as SciPy and statsmodels: `vectors.py` writes `vectors.json`, which names their
//! versions.

use hugewise_base::stats::mann_whitney::{self, Method, Test};
use hugewise_base::stats::outlier::{Outliers, THRESHOLD};
use hugewise_base::stats::shift::Pairs;
use hugewise_base::stats::spread::{deviation, mad};
use hugewise_base::stats::{Interval, adjust, normal, quantile};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Relative; where 0 is wanted, absolute.
const TOLERANCE: f64 = 1e-9;

#[derive(Deserialize)]
struct Vectors {
    versions: BTreeMap<String, String>,
    alpha: f64,
    numbers: Numbers,
    families: Vec<Family>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Numbers {
    normal_cdf: Vec<(f64, f64)>,
    normal_quantile: Vec<(f64, f64)>,
    student_quantile: Vec<(f64, usize, f64)>,
}

#[derive(Deserialize)]
struct Family {
    p: Vec<f64>,
    holm: Vec<f64>,
    benjamini_hochberg: Vec<f64>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    one: Vec<f64>,
    two: Vec<f64>,
    spread: [Scatter; 2],
    rank_test: RankTest,
    hodges_lehmann: HodgesLehmann,
}

#[derive(Deserialize)]
struct Scatter {
    mad: f64,
    deviation: f64,
    quantiles: Vec<(f64, f64)>,
    modified_z: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct RankTest {
    exact: Option<Rank>,
    normal: Rank,
}

#[derive(Deserialize)]
struct Rank {
    u: f64,
    p: f64,
}

#[derive(Deserialize)]
struct HodgesLehmann {
    shift: Estimate,
    ratio: Option<Estimate>,
}

#[derive(Deserialize)]
struct Estimate {
    estimate: f64,
    interval: Option<(f64, f64)>,
}

fn vectors() -> Vectors {
    let vectors: Vectors =
        serde_json::from_str(include_str!("vectors.json")).expect("vectors.py wrote it");
    let named = |program| vectors.versions.get(program).is_some_and(|version| !version.is_empty());
    assert!(named("scipy") && named("statsmodels"), "the source is not named");
    vectors
}

#[track_caller]
fn close(what: &str, got: f64, want: f64) {
    let scale = if want == 0.0 { 1.0 } else { want.abs() };
    assert!((got - want).abs() <= TOLERANCE * scale, "{what}: {got}, not {want}");
}

#[track_caller]
fn same_interval(what: &str, got: Option<Interval>, want: Option<(f64, f64)>) {
    match (got, want) {
        (Some(got), Some((low, high))) => {
            close(what, got.low, low);
            close(what, got.high, high);
        }
        (None, None) => {}
        (got, want) => panic!("{what}: {got:?}, not {want:?}"),
    }
}

/// Looks at each case and requires that enough of them had something to compare.
fn each_case(at_least: usize, mut look: impl FnMut(&Case, f64) -> bool) {
    let vectors = vectors();
    let compared = vectors.cases.iter().filter(|case| look(case, vectors.alpha)).count();
    assert!(compared >= at_least, "only {compared} cases were compared");
}

#[test]
fn normal_and_student() {
    let Numbers { normal_cdf, normal_quantile, student_quantile } = vectors().numbers;
    assert!(normal_cdf.len() >= 10 && normal_quantile.len() >= 10 && student_quantile.len() >= 50);
    for (x, want) in normal_cdf {
        close(&format!("cdf({x})"), normal::cdf(x), want);
        // Near the middle the absolute error is the stricter one.
        assert!((normal::cdf(x) - want).abs() <= 1e-12, "cdf({x})");
    }
    for (p, want) in normal_quantile {
        let got = normal::quantile(p).expect("inside 0 to 1");
        assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "quantile({p}): {got}");
    }
    for (p, degrees, want) in student_quantile {
        let got = normal::student_quantile(p, degrees).expect("inside 0 to 1");
        close(&format!("t({p}, {degrees})"), got, want);
    }
}

#[test]
fn holm_and_benjamini_hochberg() {
    let families = vectors().families;
    assert!(families.len() >= 5);
    for Family { p, holm, benjamini_hochberg } in families {
        let pairs =
            [(adjust::holm(&p), holm), (adjust::benjamini_hochberg(&p), benjamini_hochberg)];
        for (got, want) in pairs {
            let got = got.expect("all are probabilities");
            assert_eq!(got.len(), want.len());
            got.iter().zip(want).for_each(|(got, want)| close(&format!("{p:?}"), *got, want));
        }
    }
}

#[test]
fn spread_quantiles_and_outliers() {
    each_case(12, |case, _| {
        for (values, want) in [&case.one, &case.two].into_iter().zip(&case.spread) {
            close(&case.name, mad(values).expect("finite values"), want.mad);
            close(&case.name, deviation(values).expect("finite values"), want.deviation);
            for (q, value) in &want.quantiles {
                close(&format!("{} {q}", case.name), quantile(values, *q).expect("values"), *value);
            }
            match (Outliers::of(values).expect("values"), &want.modified_z) {
                (Outliers::Found(found), Some(scores)) => {
                    let far = |index: &usize| scores[*index] > THRESHOLD;
                    assert_eq!(found, (0..scores.len()).filter(far).collect::<Vec<_>>());
                }
                (Outliers::NoScale(_), None) => {}
                (got, _) => panic!("{}: {got:?}", case.name),
            }
        }
        true
    });
}

fn same_rank_test(what: &str, got: Option<Test>, want: &Rank) {
    let got = got.unwrap_or_else(|| panic!("{what}: no test"));
    close(what, got.u, want.u);
    close(what, got.p, want.p);
}

#[test]
fn mann_whitney_u() {
    each_case(10, |case, _| {
        let RankTest { exact, normal } = &case.rank_test;
        let approximate = mann_whitney::normal_approximation(&case.one, &case.two);
        same_rank_test(&case.name, approximate, normal);
        let got = mann_whitney::test(&case.one, &case.two);
        let Some(exact) = exact else {
            assert_eq!(got.map(|test| test.method), Some(Method::Normal), "{}", case.name);
            assert_eq!(mann_whitney::exact(&case.one, &case.two), None);
            return false;
        };
        same_rank_test(&case.name, got, exact);
        let pairs = Pairs::differences(&case.one, &case.two).expect("finite");
        close(&case.name, pairs.p(), exact.p);
        true
    });
}

#[test]
fn hodges_lehmann_estimates_and_intervals() {
    each_case(11, |case, alpha| {
        let of = |pairs: Option<Pairs>, want: &Estimate| {
            let pairs = pairs.expect("finite");
            close(&case.name, pairs.estimate(), want.estimate);
            same_interval(&case.name, pairs.interval(alpha), want.interval);
        };
        of(Pairs::differences(&case.one, &case.two), &case.hodges_lehmann.shift);
        let ratios = Pairs::ratios(&case.one, &case.two);
        let Some(want) = &case.hodges_lehmann.ratio else {
            assert_eq!(ratios, None);
            return false;
        };
        of(ratios, want);
        true
    });
}
