//! Watches a service that runs already: after a change has settled, under its requests.

use super::load;
use crate::counters::Counters;
use crate::guard::Guarded;
use crate::load::Progress;
use crate::machine::Watch;
use crate::run::Run;
use hugewise_base::count::counted;
use hugewise_base::units::Ns;
use hugewise_experiment::kinds::Service;
use hugewise_experiment::load::LoadResult;
use std::time::{Duration, Instant};

/// Fewer answers say nothing of the slowest 1 %.
const ANSWERS_MIN: u64 = 100;
/// Fewer requests say nothing of the share that fails.
const REQUESTS_MIN: u64 = 20;

/// Runs it: settled, then measured.
pub(super) fn drive(params: &Service, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("settling")?;
    run.sleep(Duration::from_millis(params.settle_ms))?;
    let counters = Counters::start()?;
    if params.target.is_empty() {
        watch(run)?;
    } else {
        let spec = load::spec(run, &params.target)?;
        let access = run.access();
        let result =
            load::measure_within(run, &spec, &access, &mut |at| match broken(params, at) {
                None => Ok(()),
                Some(bound) => Err(Guarded { bound }.into()),
            })?;
        let timeout = Ns::ms(spec.timeout_ms);
        let unanswered = unanswered(&result, timeout);
        if !unanswered.is_empty() {
            let failed = counted(result.failures(), "request was", "requests were");
            let least = timeout.as_s();
            run.note(format!("{failed} not answered well: taken as {least:.1} s, the timeout"));
        }
        for (key, at_least) in unanswered {
            run.value(key, at_least.0 as f64 / 1e3);
        }
    }
    // By the names of recordings, which no metric of the load has.
    for (key, value) in counters.finish()? {
        run.value(&key, value);
    }
    Ok(())
}

/// Quantiles that fall on requests which nobody answered, by their keys: those waited for the
/// timeout at least. Without a value the worst trials of all would not count.
fn unanswered(result: &LoadResult, timeout: Ns) -> Vec<(&'static str, Ns)> {
    let keys = [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999), ("worst_us", 1.0)];
    let open = keys.into_iter().filter(|(_, q)| result.quantile(*q).is_none());
    open.filter(|_| result.failures() > 0).map(|(key, _)| (key, timeout)).collect()
}

/// Without requests: as long as a measurement takes.
fn watch(run: &mut Run<'_>) -> anyhow::Result<()> {
    run.measuring(true);
    let (mut watch, end) = (Watch::start(), Instant::now() + run.measure());
    run.step("watching")?;
    while Instant::now() < end {
        run.sleep(Duration::from_millis(100))?;
        watch.beat();
    }
    run.measuring(false);
    watch.note(run, "");
    Ok(())
}

/// The bound of the guard that does not hold, in words.
fn broken(params: &Service, progress: &Progress) -> Option<String> {
    let Progress { intended, completed, failed, at, .. } = *progress;
    let most = params.guard_failed_percent;
    if most > 0 && intended >= REQUESTS_MIN && 100 * failed > most * intended {
        let share = 100.0 * failed as f64 / intended as f64;
        return Some(format!("{share:.1} % of the requests failed (bound {most} %)"));
    }
    if params.guard_p99_ms == 0 {
        return None;
    }
    let bound = Ns::ms(params.guard_p99_ms);
    let p99 = progress.p99.filter(|_| completed >= ANSWERS_MIN);
    if let Some(p99) = p99.filter(|p99| *p99 > bound) {
        let (found, bound) = (p99.as_ms(), bound.as_ms());
        return Some(format!("1 % of the requests took {found:.0} ms or more (bound {bound:.0})"));
    }
    // Nobody is answered: by Little's law those that wait have waited longer than the bound.
    let waiting = intended.saturating_sub(completed.saturating_add(failed));
    let per_s = intended as f64 / at.as_s().max(0.001);
    let waits = waiting >= REQUESTS_MIN && waiting as f64 > per_s * bound.as_s();
    waits.then(|| {
        let bound = bound.as_ms();
        format!("{waiting} requests wait, longer than {bound:.0} ms on average")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::stats::Histogram;
    use hugewise_experiment::load::Tool;
    use hugewise_experiment::load::outcome::Failure;

    #[test]
    fn what_nobody_answers_has_waited_for_the_timeout() {
        let mut result = LoadResult::empty(Tool::Own, Ns::s(5));
        let timeout = Ns::s(30);
        assert_eq!(unanswered(&result, timeout), []);
        result.failed.insert(Failure::Timeout, 2);
        let all = ["p50_us", "p99_us", "p999_us", "worst_us"];
        assert_eq!(unanswered(&result, timeout), all.map(|key| (key, timeout)));
        let mut answered = Histogram::default();
        (0..98).for_each(|_| answered.record(1_000));
        result.latency = Some(answered);
        let keys: Vec<_> = unanswered(&result, timeout).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, all[1..]);
    }

    fn params(guard_p99_ms: u64, guard_failed_percent: u64) -> Service {
        Service { target: "x".into(), settle_ms: 0, guard_p99_ms, guard_failed_percent }
    }

    fn progress(completed: u64, failed: u64, waiting: u64, p99_ms: u64) -> Progress {
        let intended = completed + failed + waiting;
        let (at, time, p99) = (Ns::s(2), Ns::s(10), Some(Ns::ms(p99_ms)));
        Progress { at, time, intended, completed, failed, p99 }
    }

    #[test]
    fn a_bound_that_is_broken_is_named() {
        let said = |params: &Service, progress: &Progress| broken(params, progress);
        let calm = progress(200, 1, 3, 80);
        assert_eq!(said(&params(100, 5), &calm), None);
        let slow = said(&params(50, 5), &calm).expect("too slow");
        assert_eq!(slow, "1 % of the requests took 80 ms or more (bound 50)");
        assert_eq!(said(&params(0, 0), &progress(10, 90, 100, 9000)), None);
        let failing = said(&params(0, 5), &progress(80, 20, 0, 1)).expect("they fail");
        assert_eq!(failing, "20.0 % of the requests failed (bound 5 %)");
        let some = said(&params(0, 1), &progress(197, 3, 0, 1)).expect("they fail");
        assert_eq!(some, "1.5 % of the requests failed (bound 1 %)");
        // So few say nothing yet.
        assert_eq!(said(&params(50, 5), &progress(10, 2, 0, 900)), None);
    }

    #[test]
    fn requests_that_nobody_answers_break_the_bound_too() {
        // 100 a second: more than 50 that wait have waited half a second on average.
        let stuck = progress(100, 0, 100, 1);
        assert!(broken(&params(500, 0), &stuck).is_some_and(|said| said.starts_with("100 req")));
        assert_eq!(broken(&params(5000, 0), &stuck), None);
    }
}
