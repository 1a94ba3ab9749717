use super::*;
use hugewise_experiment::kind::{Kind, More};
use hugewise_experiment::kinds::{AFTER, PARENT_METRICS};
use hugewise_scratch::Scratch;
use kit::Verdict;
use std::collections::BTreeSet;
use std::time::Instant;

const MOMENT: Duration = Duration::from_millis(10);
/// Who has found no damage by then finds none.
const PATIENCE: Duration = Duration::from_secs(10);

/// Parameters that make a kind small. Other programs that this one starts would be this test.
fn tiny(kind: &str) -> &'static str {
    match kind {
        "fault-latency" => r#"{"mib":4,"threads":2,"order":"random"}"#,
        "graph" => r#"{"scale":8}"#,
        "gups" => r#"{"mib":4,"hot_percent":50,"updates":"pages","beside":"base_pages"}"#,
        "hash-join" => r#"{"mib":4}"#,
        "allocator-churn" => r#"{"live_mib":1}"#,
        "shared-segment" => r#"{"mib":2,"processes":1}"#,
        "merge" => r#"{"mib":4}"#,
        "prefork" => r#"{"mib":2,"workers":2}"#,
        "stress-cpu" | "stress-net" | "stress-switch" => "{}",
        "stress-fork" => r#"{"pages":2}"#,
        "stress-io" | "stress-read" => r#"{"file_kib":4}"#,
        "fragment-holes" | "fragment-page-cache" => {
            r#"{"max_mib":16,"fmfi_percent":0,"leave_mib":64}"#
        }
        _ => r#"{"mib":2}"#,
    }
}

fn start(kind: &Kind, given: &str, scratch: &Scratch) -> anyhow::Result<Box<dyn Workload>> {
    let params = Params::new(kind, &serde_json::from_str(given)?)?;
    let scratch = Some(scratch.path().to_owned());
    make(&params, &Setup { seed: 1, advise: false, scratch, root: "/".into() })
}

fn filled(kind: &Kind, scratch: &Scratch) -> anyhow::Result<(Box<dyn Workload>, Measured)> {
    let mut workload = start(kind, tiny(kind.name), scratch)?;
    let ready = workload.fill(&mut Progress::silent())?;
    assert_eq!(ready.wrong, 0, "{}", kind.name);
    Ok((workload, ready))
}

fn right(workload: &mut dyn Workload, name: &str) -> anyhow::Result<Verdict> {
    let verdict = workload.verify(&mut Progress::silent())?;
    assert_eq!(verdict.wrong, 0, "{name}");
    assert!(verdict.checked > 0, "{name} compared nothing");
    Ok(verdict)
}

#[test]
fn every_kind_measures_what_it_declares_and_its_data_is_right() -> anyhow::Result<()> {
    let scratch = Scratch::new();
    for kind in kinds::builtin() {
        let (mut workload, ready) = filled(kind, &scratch)?;
        right(workload.as_mut(), kind.name)?;
        // Twice: the second time goes on where the first one ended.
        let mut said: BTreeSet<String> = ready.report.values.into_keys().collect();
        for _ in 0..2 {
            let measured = workload.measure(MOMENT, &mut Progress::silent())?;
            assert_eq!(measured.wrong, 0, "{}", kind.name);
            said.extend(measured.report.values.into_keys());
            right(workload.as_mut(), kind.name)?;
        }
        // The time of the fill is taken for all kinds at one place.
        said.insert("fill_s".into());
        let declared = kind.metrics.iter().filter(|metric| !PARENT_METRICS.contains(metric));
        // What is said after a change is the same, under names of its phase.
        let declared = declared.filter(|metric| !metric.starts_with(AFTER));
        let declared: BTreeSet<String> = declared.map(ToString::to_string).collect();
        assert_eq!(said, declared, "{}", kind.name);
    }
    Ok(())
}

#[test]
fn damage_of_every_kind_is_found() -> anyhow::Result<()> {
    let scratch = Scratch::new();
    for kind in kinds::builtin() {
        let (mut workload, _) = filled(kind, &scratch)?;
        workload.measure(MOMENT, &mut Progress::silent())?;
        right(workload.as_mut(), kind.name)?;
        workload.corrupt();
        let verdict = workload.verify(&mut Progress::silent())?;
        assert!(verdict.wrong > 0, "{}: {verdict:?}", kind.name);
    }
    Ok(())
}

#[test]
fn a_measuring_that_meets_damage_says_so() -> anyhow::Result<()> {
    // Kinds that soon look at all that they have; of others a short time may miss the place.
    let soon = [
        "fault-latency",
        "graph",
        "stress-cpu",
        "stress-vm",
        "stress-net",
        "stress-fork",
        "stress-switch",
        "stress-read",
        "stride",
        "shared-segment",
        "text",
    ];
    let scratch = Scratch::new();
    for name in soon {
        let kind = kinds::find(name).context(name)?;
        let (mut workload, _) = filled(kind, &scratch)?;
        workload.corrupt();
        let until = Instant::now() + PATIENCE;
        // On a busy machine a thread may have no CPU for all of a short time.
        while workload.measure(4 * MOMENT, &mut Progress::silent())?.wrong == 0 {
            assert!(Instant::now() < until, "{name}");
        }
    }
    Ok(())
}

#[test]
fn pagerank_is_a_graph_workload_too() -> anyhow::Result<()> {
    let kind = kinds::find("graph").context("graph")?;
    let given = r#"{"scale":8,"algorithm":"pagerank"}"#;
    let mut workload = start(kind, given, &Scratch::new())?;
    workload.fill(&mut Progress::silent())?;
    let measured = workload.measure(MOMENT, &mut Progress::silent())?;
    assert!(measured.report.values["edges_per_s"] > 0.0);
    assert_eq!(right(workload.as_mut(), "pagerank")?.checked, 3);
    workload.corrupt();
    assert!(workload.verify(&mut Progress::silent())?.wrong > 0);
    Ok(())
}

#[test]
fn gups_updates_words_with_nothing_beside() -> anyhow::Result<()> {
    let kind = kinds::find("gups").context("gups")?;
    let mut workload = start(kind, r#"{"mib":2}"#, &Scratch::new())?;
    workload.fill(&mut Progress::silent())?;
    let measured = workload.measure(MOMENT, &mut Progress::silent())?.report;
    assert!(measured.values["ops_per_s"] > 0.0);
    assert!(!measured.values.contains_key("times_base"));
    right(workload.as_mut(), "gups")?;
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_data() -> anyhow::Result<()> {
    let (scratch, kind) = (Scratch::new(), kinds::find("sparse-touch").context("sparse-touch")?);
    let change = || -> anyhow::Result<f64> {
        let (mut workload, _) = filled(kind, &scratch)?;
        let changed = workload.change()?.context("it has a second phase")?;
        right(workload.as_mut(), kind.name)?;
        Ok(changed.report.values["touched_mib"])
    };
    assert_eq!(change()?.to_bits(), change()?.to_bits());
    Ok(())
}

#[test]
fn second_phases_give_memory_back_and_keep_the_rest_right() -> anyhow::Result<()> {
    let scratch = Scratch::new();
    for kind in kinds::builtin() {
        let (mut workload, _) = filled(kind, &scratch)?;
        let before = workload.measure(MOMENT, &mut Progress::silent())?.report.values;
        let changed = workload.change()?;
        assert_eq!(changed.is_some(), kind.more == More::Change, "{}", kind.name);
        let Some(changed) = changed else { continue };
        let key = if kind.name == "sparse-touch" { "touched_mib" } else { "live_mib" };
        let share = changed.report.values[key] / before[key];
        assert!((0.2..0.8).contains(&share), "{}: {share} is left", kind.name);
        right(workload.as_mut(), kind.name)?;
        assert_eq!(workload.measure(MOMENT, &mut Progress::silent())?.wrong, 0, "{}", kind.name);
    }
    Ok(())
}

#[test]
fn what_is_held_is_released() -> anyhow::Result<()> {
    let scratch = Scratch::new();
    for kind in kinds::builtin() {
        let (mut workload, ready) = filled(kind, &scratch)?;
        let released = workload.release()?;
        assert_eq!(released.is_some(), kind.more == More::Release, "{}", kind.name);
        let Some(released) = released else { continue };
        // A tenth of 16 MiB, and then nothing.
        let (before, after) = (ready.report.values["held_mib"], released.report.values["held_mib"]);
        assert!((1.0..2.5).contains(&before), "{}: {before}", kind.name);
        assert!(after == 0.0 && released.report.values.contains_key("fmfi"), "{}", kind.name);
    }
    Ok(())
}

#[test]
fn mistakes_are_usage_errors_that_name_what_there_is() {
    let said = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let args = Args::try_parse_from(args).expect("syntax");
        let error = params(&args).expect_err("a mistake");
        assert_eq!(exit::of(error.as_ref()), exit::USAGE);
        error.to_string()
    };
    assert!(said(&["gup"]).contains("no kind 'gup'; there are fault-latency"));
    assert!(said(&["gups", "--params", "{"]).contains("--params"));
    assert!(said(&["gups", "--params", r#"{"gib":1}"#]).contains("no parameter 'gib'"));
}
