use super::*;

fn recorder(lines: &[&str], timeout: Ns) -> Recorder {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    Recorder::new(&Profile::parse(&lines).expect("steps"), timeout)
}

fn answer(all: &mut Recorder, intended: Ns, sent: Ns, answered: Ns) {
    all.handed_over(intended, intended + Ns::us(20));
    all.completed(Done { intended, sent, answered });
}

#[test]
fn a_stall_is_seen_by_everybody_who_wanted_something() {
    let mut all = recorder(&["constant 100/s for 2 s"], Ns::s(5));
    // One connection; the server stalls from 0.5 s to 1 s, and then answers at once.
    for index in 0..200u64 {
        let intended = Ns::ms(index * 10);
        let stalled = (Ns::ms(500)..Ns::s(1)).contains(&intended);
        // The first one was sent into the stall, the others wait for the connection.
        let sent = if stalled && index > 50 { Ns::s(1) } else { intended };
        let answered = if stalled { Ns::s(1) } else { intended };
        answer(&mut all, intended, sent, answered + Ns::us(100));
    }
    let result = all.finish();
    let over = |histogram: &Option<Histogram>, share: f64| {
        histogram.as_ref().and_then(|all| all.quantile(share)).map(Ns)
    };
    // A quarter of the requests felt the stall, half of those for 250 ms or more.
    assert!(over(&result.latency, 0.90) > Some(Ns::ms(250)), "{:?}", result.latency);
    assert!(over(&result.service, 0.99) < Some(Ns::ms(1)), "one request in two hundred");
    assert_eq!((result.intended, result.sent, result.completed), (Some(200), Some(200), 200));
    assert_eq!((result.offered_per_s, result.achieved_per_s), (Some(100.0), Some(100.0)));
    let seconds: Vec<(u64, u64)> =
        result.seconds.iter().map(|second| (second.offered, second.achieved)).collect();
    assert_eq!(seconds, [(100, 50), (100, 150)]);
    assert!(result.seconds[0].max > Some(Ns::ms(495)) && result.seconds[1].max < Some(Ns::ms(1)));
    assert!(result.notes.is_empty(), "{:?}", result.notes);
}

#[test]
fn failures_are_named_and_never_make_a_quantile_better() {
    let mut all = recorder(&["constant 10/s for 1 s"], Ns::s(1));
    for index in 0..8u64 {
        answer(&mut all, Ns::ms(index), Ns::ms(index), Ns::ms(index + 1));
    }
    for (kind, quote) in [(Failure::QueueFull, None), (Failure::Status, Some("503\x1b[31m"))] {
        all.handed_over(Ns::ms(900), Ns::ms(900));
        all.failed(kind, Ns::ms(950), quote);
    }
    all.got(true);
    all.got(false);
    all.cut_user();
    let result = all.finish();
    assert_eq!((result.intended, result.sent, result.failures()), (Some(10), Some(9), 2));
    assert_eq!(result.errors.keys().collect::<Vec<_>>(), ["503[31m"]);
    assert!(result.quantile(0.8).is_some_and(|latency| latency < Ns::ms(2)));
    assert_eq!(result.quantile(0.81), None, "one in five was never answered");
    assert_eq!((result.misses, result.notes.len()), (Some(1), 3));
    assert_eq!(result.seconds[0].failed, 2);
}

#[test]
fn a_late_generator_says_so() {
    let mut all = recorder(&["peak 2 at once", "constant 1/s for 1 s"], Ns::s(1));
    all.handed_over(Ns(0), Ns::ms(3));
    let result = all.finish();
    assert_eq!(result.late_start.map(|late| late.max), Some(Ns::ms(3)));
    assert!(result.notes[0].contains("bottleneck"), "{:?}", result.notes);
}

#[test]
fn old_seconds_are_summed_up_and_memory_stays_bounded() {
    let mut all = recorder(&["constant 1/s for 1 h"], Ns::s(2));
    for second in 0..3600 {
        let at = Ns::s(second);
        answer(&mut all, at, at, at + Ns::ms(5));
        assert!(all.seconds.open() <= 7, "{}", all.seconds.open());
    }
    let result = all.finish();
    assert_eq!(result.seconds.len(), 3600);
    assert!(result.seconds.iter().all(|second| second.offered == 1 && second.p50.is_some()));
}

#[test]
fn a_step_that_nobody_was_answered_in_is_saturated() {
    use super::super::knee::{Limits, by_limits};
    let mut all = recorder(&["stairs 10/s to 20/s in 2 steps of 1 s"], Ns::s(1));
    for index in 0..10 {
        let at = Ns::ms(index * 100);
        answer(&mut all, at, at, at + Ns::ms(1));
    }
    for index in 0..20 {
        all.handed_over(Ns::ms(1000 + index * 50), Ns::ms(1000 + index * 50));
        all.failed(Failure::Timeout, Ns::ms(2000 + index * 50), None);
    }
    let knee = by_limits(&all.finish().stairs(), Limits::default());
    assert_eq!(knee.served_per_s(), Some(10.0));
}

#[test]
fn stairs_become_points() {
    let mut all = recorder(&["stairs 10/s to 20/s in 2 steps of 1 s", "nothing for 1 s"], Ns::s(1));
    for index in 0..10 {
        answer(&mut all, Ns::ms(index * 100), Ns::ms(index * 100), Ns::ms(index * 100 + 1));
    }
    for index in 0..20 {
        // Half of them are answered after the step.
        let at = Ns::ms(1000 + index * 50);
        answer(&mut all, at, at, at + Ns::ms(500));
    }
    let result = all.finish();
    let points = result.stairs();
    let rates: Vec<_> = points.iter().map(|p| (p.offered_per_s, p.achieved_per_s)).collect();
    assert_eq!(rates, [(10.0, 10.0), (20.0, 10.0)]);
    let text = serde_json::to_string(&result).expect("plain data");
    assert_eq!(serde_json::from_str::<LoadResult>(&text).expect("own output"), result);
}
