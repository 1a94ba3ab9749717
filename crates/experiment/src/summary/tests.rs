use super::*;
use crate::check::check;
use crate::compare::Judgement;
use crate::record::tests::record;
use crate::record::{Outcome, Resumed, SCHEMA, Series};
use crate::spec::{Advise, MetricSpec};
use std::collections::BTreeMap;

const BOTH: [&str; 2] = ["never", "always"];

/// An experiment that one metric decides; the second variant's memory is what `deciding` adds.
fn checked(variants: &[&str], repetitions: u32) -> Checked {
    let variants: Vec<_> =
        variants.iter().map(|name| serde_json::json!({ "name": name })).collect();
    let experiment = serde_json::json!({
        "name": "sample",
        "question": "Does it matter?",
        "workload": { "kind": "gups", "mib": 64 },
        "variant": variants,
        "metric": [{ "key": "deleted.rss_mib", "equal_within_percent": 3 }],
        "stop": { "repetitions": repetitions },
    });
    let experiment = serde_json::from_value(experiment).expect("an experiment");
    check(experiment, false).expect("no faults")
}

fn plan() -> RunPlan {
    RunPlan {
        schema: SCHEMA,
        text: "name = 'sample'".into(),
        quick: false,
        seed: 7,
        repetitions: None,
        without: BTreeMap::new(),
        environment: serde_json::Value::Null,
        began: None,
        resumed: Vec::new(),
    }
}

/// A run on a quiet machine.
fn quiet(repetition: u32, variant: &str, value: f64) -> Record {
    let mut one = record(repetition, variant, "deleted.rss_mib", value);
    one.conditions.settled_s = Some(1.0);
    one
}

/// Six repetitions: 600 MiB, and so many times that.
fn records(times: f64) -> Vec<Record> {
    let run = |index: u32| {
        let (repetition, wobble) = (index / 2, f64::from(index / 2));
        match index % 2 {
            0 => quiet(repetition, "never", 600.0 + wobble),
            _ => quiet(repetition, "always", (600.0 + wobble) * times + 0.3),
        }
    };
    (0..12).map(run).collect()
}

fn summary(records: &[Record]) -> Summary {
    Summary::of(&checked(&BOTH, 6), &plan(), records)
}

fn warning(summary: &Summary, concern: Concern) -> Option<&str> {
    let found = summary.warnings.iter().find(|warning| warning.concern == concern);
    found.map(|warning| warning.text.as_str())
}

fn judgement(summary: &Summary) -> Option<Judgement> {
    summary.rows[0].cells[1].against.as_ref()?.judgement
}

#[test]
fn a_clear_difference_is_the_headline() {
    let summary = summary(&records(1.85));
    let text = "Resident memory of the workload (deleted), against never: always 1.85 x, worse.";
    assert_eq!(summary.headline, text);
    assert_eq!(summary.warnings, []);
    let found = &summary.found[0];
    assert!(found.contains("always 1115 MiB against 602 MiB: 1.85 x ("), "{found}");
    let looks = "worse (p 0.002).";
    assert!(found.contains(&format!(") of never: {looks}")), "{found}");
    let sensitivity = &summary.sensitivity[0];
    assert!(sensitivity.ends_with("% is seen in four of five such experiments."), "{sensitivity}");
    assert_eq!(summary.rows[0].cells[0].against, None);
    assert_eq!((summary.runs.done, summary.runs.planned), (12, 12));
}

#[test]
fn what_is_the_same_and_what_is_not_seen_are_told_apart() {
    let same = summary(&records(1.001));
    let text = "Resident memory of the workload (deleted), against never: always the same within \
                3 %.";
    assert_eq!(same.headline, text);
    let mut scattered = records(1.0);
    for (index, one) in (0u32..).zip(&mut scattered) {
        let values = one.measured.values.values_mut();
        values.for_each(|value| *value *= 1.0 + 0.1 * f64::from(index * 7 % 5));
    }
    let unseen = summary(&scattered);
    assert!(unseen.headline.ends_with("no difference seen for always."), "{}", unseen.headline);
    assert!(unseen.found[0].contains("% or more would have been"), "{}", unseen.found[0]);
}

#[test]
fn many_variants_have_their_ratios_as_a_range() {
    let names = ["never", "a", "b", "c"];
    let mut all = Vec::new();
    for repetition in 0..8u32 {
        for (name, times) in names.iter().zip([1.0, 1.2, 1.5, 1.3]) {
            all.push(quiet(repetition, name, 600.0 * times + f64::from(repetition)));
        }
    }
    let summary = Summary::of(&checked(&names, 8), &plan(), &all);
    assert!(
        summary.headline.ends_with("a, b and c 1.20 to 1.50 x, worse."),
        "{}",
        summary.headline
    );
}

#[test]
fn no_records_and_only_failures_claim_nothing() {
    let nothing = summary(&[]);
    assert_eq!(nothing.headline, "Nothing has been run yet.");
    assert_eq!(warning(&nothing, Concern::Incomplete).map(|text| &text[..9]), Some("Only 0 of"));
    let mut failed = records(2.0);
    for one in &mut failed {
        one.outcome = Outcome::Failed { error: "killed".into() };
    }
    let failed = summary(&failed);
    assert_eq!(failed.headline, "No run went through: all 12 failed.");
    assert_eq!(failed.rows[0].cells[1], Cell::default());
    let text = warning(&failed, Concern::Failed).expect("a warning");
    assert!(text.starts_with("12 of 12 runs failed"), "{text}");
    assert!(text.contains("killed (12 times). By variant: never 6, always 6."), "{text}");
}

#[test]
fn a_variant_alone_is_compared_with_nothing() {
    let all: Vec<_> = (0..6).map(|at| quiet(at, "never", 600.0)).collect();
    let summary = Summary::of(&checked(&["never"], 6), &plan(), &all);
    let text = "Only never was run: there is nothing to compare it with.";
    assert_eq!(summary.headline, text);
    assert_eq!(summary.rows[0].cells[0].spread.map(|spread| spread.median), Some(600.0));
}

#[test]
fn noise_is_said_first_and_where_it_was() {
    let mut all = records(1.85);
    for one in all.iter_mut().take(5) {
        one.conditions.noisy.push("others took 30 % of the CPU time".into());
    }
    let noisy = summary(&all);
    assert_eq!(noisy.verdicts[0], "Preliminary: 5 of 12 runs on a noisy machine.");
    assert_eq!(noisy.warnings[0].concern, Concern::Noisy);
    let text = &noisy.warnings[0].text;
    assert!(
        text.starts_with("5 of 12 runs were on a machine that was not quiet: others"),
        "{text}"
    );
    assert!(text.contains("(5 times). By variant: never 3, always 2."), "{text}");
    assert!(noisy.rows[0].cells[0].values[0].noisy);
    // Reasons that differ in figures alone are one, and the worst stands for it.
    all[0].conditions.noisy[0] = "others took 4.5 % of the CPU time".into();
    all[1].conditions.noisy[0] = "others took 45 % of the CPU time".into();
    let varied = summary(&all);
    let text = &varied.warnings[0].text;
    assert!(text.contains("quiet: others took 45 % of the CPU time (the most of 5). By"), "{text}");
    // One of many is a warning, but not the headline.
    all.iter_mut().skip(1).for_each(|one| one.conditions.noisy.clear());
    let one = summary(&all);
    assert!(!one.headline.contains("noisy") && warning(&one, Concern::Noisy).is_some());
}

#[test]
fn an_interrupted_experiment_says_so() {
    let part = summary(&records(1.85)[..7]);
    assert!(
        part.headline.starts_with("Preliminary: only 7 of 12 runs so far."),
        "{}",
        part.headline
    );
    let text = warning(&part, Concern::Incomplete).expect("a warning");
    assert!(text.starts_with("Only 7 of 12 planned runs took place"), "{text}");
    let mut plan = plan();
    plan.repetitions = Some(3);
    let fewer = Summary::of(&checked(&BOTH, 6), &plan, &records(1.85)[..6]);
    assert_eq!(warning(&fewer, Concern::Incomplete), None);
}

#[test]
fn too_few_repetitions_say_how_many_are_needed() {
    let few = summary(&records(1.85)[..6]);
    assert_eq!(judgement(&few), Some(Judgement::TooFew { needed: 4 }));
    let wanted = "against never: always 1.85 x as measured, too few runs to judge.";
    assert!(few.headline.ends_with(wanted), "{}", few.headline);
    let mixed = summary(&records(1.0)[..6]).headline;
    assert!(
        mixed.ends_with("1.00 x as measured, too few runs to judge; runs overlap for always."),
        "{mixed}"
    );
    let text = warning(&few, Concern::TooFew).expect("a warning");
    assert!(text.starts_with("3 values of a variant are too few"), "{text}");
    assert!(text.ends_with("At least 4 are needed."), "{text}");
    assert!(few.sensitivity.is_empty(), "what cannot be seen is not promised");
}

#[test]
fn metrics_for_information_say_how_much_of_them_is_chance() {
    let mut all = records(1.85);
    // One that differs as clearly, and nine that do not.
    for one in &mut all {
        let level = if one.variant == "always" { 2.0 } else { 1.0 };
        let off = f64::from(one.repetition) / 1e3;
        one.measured.values.insert("ops_per_s".into(), level + off);
        for number in 0..9 {
            one.measured.values.insert(format!("part{number}.rss_mib"), 1.0 + off);
        }
    }
    let mut checked = checked(&BOTH, 6);
    checked
        .metrics
        .extend((0..9).map(|number| MetricSpec::shown(&format!("part{number}.rss_mib"))));
    let summary = super::Summary::of(&checked, &plan(), &all);
    let against = |key: &str| {
        let row = summary.rows.iter().find(|row| row.key == key).expect("a row");
        row.cells[1].against.clone().expect("a comparison")
    };
    let (one, other) = (against("ops_per_s"), against("part3.rss_mib"));
    // The smallest of ten is multiplied by ten; those without a difference stay at 1.
    let (p, q) = (one.p.expect("p"), one.q.expect("q"));
    assert!((q - 10.0 * p).abs() < 1e-12, "{p} {q}");
    assert_eq!((other.q, against("deleted.rss_mib").q), (Some(1.0), None));
}

#[test]
fn what_is_missing_has_a_warning() {
    let mut all = records(1.85);
    for one in all.iter_mut().filter(|one| one.variant == "always") {
        one.measured.values.clear();
    }
    let summary = summary(&all);
    let text = warning(&summary, Concern::Missing).expect("a warning");
    assert_eq!(text, "deleted.rss_mib was not measured in always.");
    assert!(summary.headline.ends_with("nothing to compare with never."), "{}", summary.headline);
    assert_eq!(warning(&summary, Concern::Unmeasured), None, "nobody asked for the others");
    let mut asked = checked(&BOTH, 6);
    asked.experiment.metrics.push(MetricSpec::shown("ops_per_s"));
    let text = super::Summary::of(&asked, &plan(), &all);
    let text = warning(&text, Concern::Unmeasured).expect("a warning");
    assert_eq!(text, "No run measured ops_per_s.");
    assert_eq!(summary.rows.len(), 1, "what nobody measured has no row unless it decides");
    let mut all = records(1.85);
    for one in all.iter_mut().filter(|one| one.variant == "never") {
        one.measured.values.clear();
    }
    let text = super::Summary::of(&checked(&BOTH, 6), &plan(), &all);
    let text = warning(&text, Concern::Baseline).expect("a warning");
    assert_eq!(text, "The baseline never has no values of deleted.rss_mib.");
}

#[test]
fn what_is_no_number_does_not_count() {
    let mut all = records(1.85);
    for (index, value) in [(0, f64::NAN), (1, f64::INFINITY), (3, f64::NEG_INFINITY)] {
        all[index].measured.values.insert("deleted.rss_mib".into(), value);
    }
    let summary = summary(&all);
    let counts: Vec<_> = summary.rows[0].cells.iter().map(|cell| cell.values.len()).collect();
    assert_eq!(counts, [5, 4]);
    let text = warning(&summary, Concern::NotANumber).expect("a warning");
    assert!(text.starts_with("3 values are no numbers and not counted: "), "{text}");
    assert!(text.contains("deleted.rss_mib of always (2 times)"), "{text}");
    assert_eq!(judgement(&summary), Some(Judgement::Worse));
    let json = serde_json::to_string(&summary).expect("plain data");
    assert!(json.contains("\"judgement\":\"worse\""), "{json}");
}

#[test]
fn unrest_foreign_records_and_the_quick_form_have_warnings() {
    let mut all = records(1.85);
    all[2].conditions.settled_s = None;
    all.push(quiet(0, "other", 1.0));
    let mut plan = plan();
    plan.quick = true;
    let summary = Summary::of(&checked(&BOTH, 6), &plan, &all);
    let text = warning(&summary, Concern::NotSettled).expect("a warning");
    assert!(text.starts_with("Before 1 run memory did not come to rest within 30 s."), "{text}");
    let text = warning(&summary, Concern::Foreign).expect("a warning");
    assert!(text.ends_with("belongs to no variant that is compared, and does not count: other."));
    assert!(warning(&summary, Concern::Quick).is_some());
    assert_eq!(summary.runs.taken, 12);
}

#[test]
fn variants_that_were_left_out_are_named_and_nothing_else_of_them() {
    let mut plan = plan();
    plan.without.insert("always".into(), "the kernel lacks it".into());
    let only = Summary::of(&checked(&BOTH, 6), &plan, &records(1.85));
    assert_eq!(warning(&only, Concern::LeftOut), Some("Left out: always (the kernel lacks it)."));
    assert_eq!((only.variants.len(), only.runs.planned), (1, 6));
    plan.without = BTreeMap::from([("never".into(), "asked for".into())]);
    let rest = Summary::of(&checked(&BOTH, 6), &plan, &records(1.85));
    assert_eq!((rest.baseline.as_deref(), rest.rows[0].cells.len()), (None, 1));
    assert_eq!(rest.headline, "No verdict: the baseline was left out.");
    let text = warning(&rest, Concern::Baseline).expect("a warning");
    assert!(text.contains("never was left out"), "{text}");
}

#[test]
fn loud_warnings_stand_before_the_others() {
    let mut all = records(1.85);
    all[0].conditions.settled_s = None;
    all[3].conditions.noisy.push("busy".into());
    all[5].outcome = Outcome::Failed { error: "killed".into() };
    let summary = summary(&all[..9]);
    let loud: Vec<_> = summary.warnings.iter().map(|one| one.concern.is_loud()).collect();
    let first_calm = loud.iter().position(|loud| !loud).unwrap_or(loud.len());
    assert_eq!(first_calm, 3, "{:?}", summary.warnings);
    assert!(loud[first_calm..].iter().all(|loud| !loud), "{:?}", summary.warnings);
}

#[test]
fn settings_that_differ_come_first_and_runs_know_better_than_files() {
    let mut checked = checked(&BOTH, 6);
    let own = [("enabled".to_owned(), "always".to_owned())];
    checked.experiment.variants[1].settings = own.into();
    let mut all = records(1.85);
    for one in &mut all {
        let enabled = if one.variant == "never" { "never" } else { "always" };
        one.conditions.settings.insert("enabled".into(), enabled.into());
        one.conditions.settings.insert("defrag".into(), "madvise".into());
    }
    let summary = Summary::of(&checked, &plan(), &all);
    let first = &summary.settings[0];
    assert_eq!((first.name.as_str(), first.differs), ("enabled", true));
    assert_eq!(first.values, [Some("never".to_owned()), Some("always".to_owned())]);
    assert!(summary.settings.iter().any(|one| one.name == "defrag" && !one.differs));
    assert!(summary.settings.iter().any(|one| one.name == "workload: mib"));
}

#[test]
fn values_of_some_runs_only_are_warned_of() {
    let mut all = records(1.85);
    // The slow ones have not come to their end, and have no time of it.
    for one in all.iter_mut().filter(|one| one.variant == "always").take(5) {
        one.measured.values.clear();
        one.measured.notes.push(format!("not all was back after {} s.", one.repetition));
    }
    let one = summary(&all);
    let text = warning(&one, Concern::Partial).expect("a warning");
    assert!(text.ends_with("only 1 of 6 runs of always have deleted.rss_mib."), "{text}");
    assert!(one.warnings[0].concern == Concern::Partial && Concern::Partial.is_loud());
    let text = warning(&one, Concern::Noted).expect("a warning");
    assert_eq!(text, "Noted by runs: not all was back after 4 s (the most of 5).");
    let mut checked = checked(&BOTH, 6);
    checked.metrics[0].decides = false;
    let shown = Summary::of(&checked, &plan(), &all);
    assert_eq!(warning(&shown, Concern::Partial), None);
    let text = warning(&shown, Concern::Missing).expect("a warning");
    assert!(text.contains("only 1 of 6 runs of always have deleted.rss_mib"), "{text}");
}

#[test]
fn values_over_time_are_put_together_by_variant() {
    let mut all = records(1.85);
    for one in &mut all {
        let level = if one.variant == "never" { 10.0 } else { 20.0 };
        let points = (0..30).map(|at| (f64::from(at), level + f64::from(one.repetition)));
        let points = points.collect();
        one.measured.series.push(Series { key: "deleted.rss_mib".into(), points });
    }
    all[0].outcome = Outcome::Failed { error: "killed".into() };
    let summary = summary(&all);
    let [series] = summary.over_time.as_slice() else { panic!("{:?}", summary.over_time) };
    assert_eq!((series.unit.as_str(), series.curves.len()), ("MiB", 2));
    let first = series.curves[0].moments[0];
    assert_eq!(
        (first.low, first.median, first.high),
        (11.0, 13.0, 15.0),
        "the failed run is not in"
    );
}

#[test]
fn values_stand_over_the_rate_where_it_changed() {
    let mut all = records(1.85);
    for one in &mut all {
        // Three steps of ten seconds; what the kernel does grows with the square of the rate.
        let rate = |at: u32| f64::from(100 * (1 + at / 10));
        let rates = (0..30).map(|at| (f64::from(at), rate(at))).collect();
        let kernel = (0..30).map(|at| (f64::from(at) + 0.4, (rate(at) / 100.0).powi(2)));
        let kernel = kernel.collect();
        one.measured.series.push(Series { key: "offered_per_s".into(), points: rates });
        one.measured.series.push(Series { key: "kernel_cpu_percent".into(), points: kernel });
    }
    let of = |records: &[Record]| {
        let summary = summary(records);
        let over_rate = summary.over_time.into_iter().filter(|one| one.against == Abscissa::Rate);
        over_rate.collect::<Vec<_>>()
    };
    let over_rate = of(&all);
    let [kernel] = over_rate.as_slice() else { panic!("{over_rate:?}") };
    assert_eq!((kernel.key.as_str(), kernel.curves.len()), ("kernel_cpu_percent", 2));
    let moments = &kernel.curves[0].moments;
    let value = |at: f64| moments.iter().find(|one| (one.at - at).abs() < 6.0).map(|m| m.median);
    assert_eq!((value(100.0), value(200.0), value(300.0)), (Some(1.0), Some(4.0), Some(9.0)));
    for one in &mut all {
        for point in &mut one.measured.series[0].points {
            point.1 = 200.0;
        }
    }
    assert_eq!(of(&all), [], "a constant load has no course over its rate");
}

#[test]
fn figures_keep_their_second_digit_and_large_ones_are_short() {
    let texts = [0.034, 612.4, 9.6, 5.0, 0.0, -0.5, 8_077_672.0, 123e6, f64::NAN];
    let texts = texts.map(|value| words::number(value, 0));
    assert_eq!(texts, ["0.034", "612", "9.6", "5", "0", "-0.50", "8.078 M", "123.0 M", "-"]);
}

#[test]
fn later_starts_that_changed_something_are_told() {
    let resumed = |repetitions, changed: &[&str]| Resumed {
        began: None,
        runs: 6,
        repetitions,
        environment_changed: changed.iter().map(|text| (*text).to_owned()).collect(),
    };
    let said = |starts: Vec<Resumed>| {
        let plan = RunPlan { resumed: starts, ..plan() };
        let summary = Summary::of(&checked(&BOTH, 6), &plan, &records(2.0));
        warning(&summary, Concern::Resumed).map(str::to_owned)
    };
    assert_eq!(said(vec![resumed(None, &[])]), None);
    let both = said(vec![resumed(None, &[]), resumed(Some(9), &["kernel: 6.1 -> 6.12"])]);
    let both = both.expect("a warning");
    assert!(both.starts_with("The repetitions became 9 when 6 runs were known already"), "{both}");
    assert!(both.contains("another environment: kernel: 6.1 -> 6.12."), "{both}");
}

/// The time that the second variant saves becomes a value of the configuration, in a sentence.
#[test]
fn what_was_asked_for_is_advised() {
    let advise = |variant: &str, metric: &str| {
        let mut experiment = checked(&BOTH, 6).experiment;
        let key = "policy.walk_percent".to_owned();
        let (metric, variant) = (metric.to_owned(), variant.to_owned());
        experiment.advise = Some(Advise { key, metric, variant });
        check(experiment, false)
    };
    let checked = advise("always", "deleted.rss_mib").expect("no faults");
    let told = Summary::of(&checked, &plan(), &records(0.75));
    let advice = told.advice.expect("a value");
    assert!((advice.value - 25.0).abs() < 1.0, "{advice:?}");
    assert!(advice.low <= advice.value && advice.value <= advice.high, "{advice:?}");
    let said = told.verdicts.last().expect("a sentence");
    assert!(said.starts_with("For this machine: walk_percent = 25 in [policy] ("), "{said}");
    let few = Summary::of(&checked, &plan(), &records(0.75)[..4]);
    assert_eq!(few.advice, None, "two runs of each give no interval");
    let slower = Summary::of(&checked, &plan(), &records(1.25));
    assert_eq!(slower.advice, None, "nothing is saved");
    for (variant, metric) in
        [("never", "deleted.rss_mib"), ("other", "deleted.rss_mib"), ("always", "x")]
    {
        let faults = advise(variant, metric).expect_err("a fault");
        assert!(faults[0].starts_with("[advise] "), "{faults:?}");
    }
}
