use super::*;
use hugewise_experiment::load::outcome::Done;
use hugewise_experiment::load::{Failure, Recorder};
use std::collections::BTreeMap;

fn profile(steps: &[&str]) -> Profile {
    let steps: Vec<String> = steps.iter().map(|step| (*step).to_owned()).collect();
    Profile::parse(&steps).expect("steps")
}

/// Every request of a second answered after 1 ms, but `lost` of them.
fn result(profile: &Profile, rates: &[u64], lost: u64) -> LoadResult {
    let mut recorder = Recorder::new(profile, Ns::s(1));
    for (second, rate) in rates.iter().enumerate() {
        for request in 0..*rate {
            let intended = Ns::s(second as u64) + Ns(request * 1_000_000_000 / rate);
            let answered = intended + Ns::ms(1);
            recorder.handed_over(intended, intended);
            if request < lost {
                recorder.failed(Failure::Timeout, answered, Some("gone"));
            } else {
                recorder.completed(Done { intended, sent: intended, answered });
            }
        }
    }
    recorder.finish()
}

#[test]
fn failures_are_in_the_quantiles() {
    let profile = profile(&["constant 100/s for 2 s"]);
    let all = |lost| values(&result(&profile, &[100, 100], lost)).into_iter().collect();
    let fine: BTreeMap<_, _> = all(0);
    assert_eq!((fine["offered_per_s"], fine["failed_share_percent"]), (Some(100.0), Some(0.0)));
    assert!(fine["p99_us"].is_some_and(|us| (900.0..1100.0).contains(&us)), "{fine:?}");
    assert!(fine["worst_us"].is_some());
    let bad: BTreeMap<_, _> = all(3);
    assert_eq!(bad["failed_share_percent"], Some(3.0));
    assert!(bad["p50_us"].is_some() && bad["p99_us"].is_none() && bad["worst_us"].is_none());
    let said = notes(&profile, &result(&profile, &[100, 100], 3)).join("\n");
    assert!(said.contains("p99 is not known") && said.contains("6 requests failed with 'gone'"));
}

#[test]
fn seconds_that_are_not_whole_are_no_points() {
    let profile = profile(&["constant 100/s for 1500 ms"]);
    let [_, (key, achieved), (_, p99), _] = series(&result(&profile, &[100, 50], 0));
    assert_eq!((key, achieved.len(), p99.len()), ("achieved_per_s", 1, 1));
    // The last answer of the first second comes within it: 1 ms after 990 ms.
    assert_eq!(achieved, [(0.0, 100.0)]);
}

#[test]
fn a_knee_is_of_stairs_and_one_that_is_not_found_is_told() {
    let flat = profile(&["constant 100/s for 2 s"]);
    assert_eq!(knee(&flat, &result(&flat, &[100, 100], 0)), None);
    let stairs = profile(&["stairs 100/s to 200/s in 2 steps of 1 s"]);
    let fine = result(&stairs, &[100, 200], 0);
    assert_eq!(knee(&stairs, &fine), Some(Knee::NotReached { highest_per_s: 200.0 }));
    assert!(notes(&stairs, &fine).concat().contains("all 200/s were served"));
    let bad = result(&stairs, &[100, 200], 50);
    assert_eq!(knee(&stairs, &bad), Some(Knee::BelowFirst { lowest_per_s: 100.0 }));
    assert!(notes(&stairs, &bad).concat().contains("below the first of the stairs, 100/s"));
    let mut tool = LoadResult::empty(Tool::Gatling, Ns::s(2));
    tool.completed = 5;
    let said = notes(&stairs, &tool).concat();
    assert!(said.contains("gatling count from the real sending"), "{said}");
    assert!(said.contains("no step of a constant rate"), "{said}");
}

#[test]
fn progress_says_what_is_known() {
    let mut progress = Progress::silent(Ns::s(3), Ns::s(10));
    assert_eq!(text(&progress), "under load: 3 of 10 s");
    (progress.intended, progress.completed) = (9, 7);
    assert_eq!(text(&progress), "under load: 3 of 10 s, 7 of 9 answered");
    progress.failed = 2;
    assert!(text(&progress).ends_with("7 of 9 answered, 2 failed"));
}
