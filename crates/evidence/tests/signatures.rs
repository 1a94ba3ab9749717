//! Signatures, and loads that ran later on the same machine: all measured by `hugewise lab
//! signatures` and its `--check` on a quiet virtual machine of two CPUs (`signatures/`).

use hugewise_evidence::diagnose::{Thresholds, diagnose};
use hugewise_evidence::recording::Builder;
use hugewise_evidence::signature::{
    Baseline, Resemblance, Signatures, Vector, Verdict, judge, resembled,
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A stressor that runs alone is found again at this distance or less.
const ALONE_MAX: f64 = 0.1;

/// Loads that ran side by side, and what the machine did above its rest.
#[derive(Debug, Deserialize)]
struct Seen {
    ran: Vec<String>,
    foreign: bool,
    rates: BTreeMap<String, f64>,
}

fn signatures() -> Signatures {
    Signatures::parse(include_str!("signatures/vm.json")).expect("as it was written")
}

fn seen() -> Vec<Seen> {
    serde_json::from_str(include_str!("signatures/seen.json")).expect("as it was written")
}

fn named(told: &Resemblance) -> BTreeSet<&str> {
    told.parts.iter().map(|part| part.name.as_str()).collect()
}

#[test]
fn what_was_measured_is_found_again() {
    let (all, signatures) = (seen(), signatures());
    let kinds = |count: usize| all.iter().filter(move |one| !one.foreign && one.ran.len() == count);
    assert!(kinds(1).count() >= 6 && kinds(2).count() >= 15);
    assert!(all.iter().filter(|one| one.foreign).count() >= 2);
    for one in &all {
        let told = judge(&Vector::of_rates(&one.rates), 2.0, &signatures);
        let ran: BTreeSet<&str> = one.ran.iter().map(String::as_str).collect();
        let distance = told.distance.expect("none is at rest");
        if one.foreign {
            assert_eq!(told.verdict, Verdict::None, "{ran:?}: {told:#?}");
            continue;
        }
        assert_eq!(told.verdict, Verdict::Resembles, "{ran:?}: {told:#?}");
        assert_eq!(named(&told), ran, "{told:#?}");
        assert!(ran.len() > 1 || distance <= ALONE_MAX, "{ran:?}: {distance}");
    }
}

#[test]
fn what_marks_a_load_and_is_not_in_a_recording_is_said() {
    let signatures = signatures();
    let thresholds = Thresholds::default();
    let mut builder = Builder::new();
    // Sixteen CPUs, of which the kernel takes half; no counters of packets, tasks or huge pages.
    builder.read("reclaim.sar", include_bytes!("recordings/made/reclaim.sar")).expect("a text");
    let recording = builder.finish();
    let found = diagnose(&recording, &thresholds);
    let told = resembled(&recording, &found, &thresholds, &signatures);
    let [told] = &told[..] else { panic!("one machine: {told:#?}") };
    assert!(told.not_compared.contains(&"network".to_owned()), "{told:#?}");
    assert!(told.verdict != Verdict::Resembles, "{told:#?}");
    assert!(told.missing.contains(&"net.rx_packets_per_s"), "{told:#?}");
    assert!(told.caveats.iter().any(|text| text.contains("another number of CPUs")), "{told:#?}");
}

#[test]
fn seconds_between_bad_ones_are_no_baseline() {
    let signatures = signatures();
    let fork =
        &signatures.signatures.iter().find(|one| one.name == "fork").expect("it is there").rates;
    // Ten seconds of one load, in some of which the CPU time in the kernel is below a threshold.
    let rows = |values: &dyn Fn(i32) -> String| -> String {
        (1..=10).map(|second| format!("10:00:{second:02} {}\n", values(second))).collect()
    };
    let (faults, forks) = (fork["paging.faults_per_s"], fork["tasks.created_per_s"]);
    let (freed, switches) = (fork["paging.freed_per_s"], fork["tasks.switches_per_s"]);
    let cpu = rows(&|second| match second % 5 {
        0 => "all 10.00 0.00 85.00 0.00 0.00 5.00".to_owned(),
        _ => "all 6.00 0.00 27.00 0.00 0.00 67.00".to_owned(),
    });
    let paging = rows(&|_| format!("0.00 0.00 {faults:.2} 0.00 {freed:.2} 0.00 0.00 0.00 0.00"));
    let text = format!(
        "Linux 6.18.44 (shop) 11/26/2026 _x86_64_ (2 CPU)\n\n\
         10:00:00 CPU %user %nice %system %iowait %steal %idle\n{cpu}\n\
         10:00:00 pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s \
         %vmeff\n{paging}\n10:00:00 proc/s cswch/s\n{}\n10:00:00 pswpin/s pswpout/s\n{}",
        rows(&|_| format!("{forks:.2} {switches:.2}")),
        rows(&|_| "0.00 0.00".to_owned()),
    );
    let mut builder = Builder::new();
    builder.read("sar", text.as_bytes()).expect("a text");
    let (recording, thresholds) = (builder.finish(), Thresholds::default());
    let found = diagnose(&recording, &thresholds);
    let told = resembled(&recording, &found, &thresholds, &signatures);
    assert!(!told[0].times.is_empty(), "{told:#?}");
    assert_eq!((told[0].baseline, told[0].verdict), (Baseline::Rest, Verdict::Resembles));
    assert_eq!(named(&told[0]), ["fork"].into());
}

/// An hour of `vmstat -t`-like values as `sar` has them: calm, ten bad minutes, calm.
fn hour(bad: [f64; 4]) -> String {
    let table = |head: &str, calm: &str, bad: &str| {
        let row = |minute: i32| {
            let values = if (20..30).contains(&minute) { bad } else { calm };
            format!("10:{minute:02}:00 {values}\n")
        };
        let rows: String = (1..50).map(row).collect();
        format!("10:00:00 {head}\n{rows}\n")
    };
    let [user, system, faults, forks] = bad;
    let idle = 100.0 - user - system;
    let mut text = "Linux 6.18.44 (shop) 11/26/2026 _x86_64_ (2 CPU)\n\n".to_owned();
    text += &table(
        "CPU %user %nice %system %iowait %steal %idle",
        "all 5.00 0.00 1.00 0.00 0.00 94.00",
        &format!("all {user:.2} 0.00 {system:.2} 0.00 0.00 {idle:.2}"),
    );
    text += &table(
        "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff",
        "0.00 10.00 500.00 0.00 500.00 0.00 0.00 0.00 0.00",
        &format!("0.00 10.00 {faults:.2} 0.00 {faults:.2} 0.00 0.00 0.00 0.00"),
    );
    text +=
        &table("proc/s cswch/s", "5.00 900.00", &format!("{forks:.2} {:.2}", 900.0 + 3.0 * forks));
    text += &table("pswpin/s pswpout/s", "0.00 0.00", "0.00 0.00");
    text
}

#[test]
fn a_bad_time_is_compared_above_the_calm_rest_of_its_recording() {
    let signatures = signatures();
    let fork = signatures.signatures.iter().find(|one| one.name == "fork").expect("it is there");
    let rate = |key: &str| fork.rates.get(key).copied().unwrap_or(0.0);
    // Half as much as the stressor, on top of what there always is.
    let share = |key: &str| 100.0 * rate(key) / 2.0 / 2.0;
    let user = 5.0 + share("cpu.user_cpus");
    let system = 1.0 + share("cpu.kernel_cpus");
    let faults = 500.0 + rate("paging.faults_per_s") / 2.0;
    let forks = 5.0 + rate("tasks.created_per_s") / 2.0;
    let text = hour([user, system, faults, forks]);
    let mut builder = Builder::new();
    builder.read("sar", text.as_bytes()).expect("a text");
    let (recording, thresholds) = (builder.finish(), Thresholds::default());
    let found = diagnose(&recording, &thresholds);
    assert!(!found.findings.is_empty());
    let told = resembled(&recording, &found, &thresholds, &signatures);
    assert_eq!(told[0].baseline, Baseline::Calm, "{told:#?}");
    assert_eq!(told[0].times.len(), 1, "{told:#?}");
    assert_eq!((told[0].verdict, named(&told[0])), (Verdict::Resembles, ["fork"].into()));
    let calm = told[0].rates["tasks.created_per_s"] - (forks - 5.0);
    assert!(calm.abs() < 1.0, "{told:#?}");
}
