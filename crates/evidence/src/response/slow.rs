//! Which windows are slow: against the log's own calm ones, with a margin.
//!
//! For each percentile the calm level is the quarter of windows that are fastest, and the noise is
//! how much one window differs from the next. A window is slow where a percentile lies above the
//! calm level by the margin, by six times the noise, and by what the log's clock can tell.

use super::cells::Cell;
use super::times::REQUESTS_P99;
use super::window::Window;

/// The margin: a percentile of a slow window is at least this many times that of a calm one.
/// Response times of a service rise by a third and fall again within a usual day.
pub const MARGIN: f64 = 1.5;

/// How many standard deviations of noise a slow window lies above the calm level: with 240 windows
/// and three percentiles, chance reaches 6 once in a million logs of normal noise.
const NOISES: f64 = 6.0;

/// Steps of the log's clock by which a slow window is longer: one is rounding.
const STEPS: u64 = 3;

/// Requests that must be slow in a slow window: one slow request is no slow time.
const SLOW_MIN: u64 = 5;

/// Requests from which on a window says something at all.
pub(super) const REQUESTS_MIN: u64 = 10;

/// Windows from which on slow ones can be distinguished from calm ones.
pub(super) const WINDOWS_MIN: usize = 8;

/// The median of |x - y| of two normal values, in standard deviations of one: 0.6745 * sqrt(2).
const DIFFERENCE: f64 = 0.9539;
/// From the first quartile to the median of normal values, in standard deviations.
const QUARTILE: f64 = 0.6745;

/// Percentiles that are looked at.
pub(super) const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// What a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As most.
    Calm,
    /// Slow.
    Slow,
    /// Too few requests ended in it.
    Unknown,
}

/// The margins of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Search {
    /// See [`MARGIN`].
    pub(super) margin: f64,
    /// The step of the log's clock, in microseconds.
    pub(super) resolution_us: u64,
}

/// What a percentile is in calm windows, on the scale of [`Search::scaled`].
#[derive(Clone, Copy, Debug)]
struct Level {
    q: f64,
    calm: f64,
    /// The standard deviation from one window to the next, ...
    noise: f64,
    /// ... with this many requests.
    requests: f64,
}

/// The value of a percentile in a window, where it has enough requests for it.
fn value(cell: &Cell, q: f64) -> Option<u64> {
    let enough = if q > 0.95 { REQUESTS_P99 } else { REQUESTS_MIN };
    (cell.times.count() >= enough).then(|| cell.times.quantile(q)).flatten()
}

impl Search {
    /// On a scale on which noise is alike for short and long times.
    fn scaled(self, us: u64) -> f64 {
        (us.saturating_add(self.resolution_us) as f64).ln()
    }

    /// What calm windows have; `None`: too few windows to tell.
    fn level(self, windows: &[Window], q: f64) -> Option<Level> {
        let with_value = windows.iter().filter_map(|window| {
            Some((self.scaled(value(&window.cell, q)?), window.cell.times.count() as f64))
        });
        let (values, counts): (Vec<f64>, Vec<f64>) = with_value.unzip();
        if values.len() < WINDOWS_MIN {
            return None;
        }
        let middle = |mut values: Vec<f64>, share: usize| {
            values.sort_by(f64::total_cmp);
            values.get(values.len() * share / 4).copied()
        };
        let steps = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let noise = middle(steps, 2)? / DIFFERENCE;
        let calm = middle(values, 1)? + QUARTILE * noise;
        Some(Level { q, calm, noise, requests: middle(counts, 2)? })
    }

    /// Above which value a percentile of a number of requests is slow.
    fn limit_us(self, level: Level, requests: u64) -> u64 {
        // Fewer requests scatter more.
        let noise = level.noise * (level.requests / requests.max(1) as f64).max(1.0).sqrt();
        let limit = (level.calm + (NOISES * noise).max(self.margin.ln())).exp();
        let limit = hugewise_base::units::saturating_u64(limit);
        let step = hugewise_base::units::saturating_u64(level.calm.exp())
            .saturating_add(STEPS.saturating_mul(self.resolution_us));
        limit.max(step).saturating_sub(self.resolution_us)
    }

    /// What each window is; all unknown where there are too few.
    pub(super) fn paces(self, windows: &[Window]) -> Vec<Pace> {
        let levels: Vec<Level> = QUANTILES.iter().filter_map(|q| self.level(windows, *q)).collect();
        let pace = |window: &Window| {
            let cell = &window.cell;
            let requests = cell.times.count();
            if requests < REQUESTS_MIN || levels.is_empty() {
                return Pace::Unknown;
            }
            let slow = levels.iter().any(|level| {
                let limit = self.limit_us(*level, requests);
                value(cell, level.q).is_some_and(|us| us > limit)
                    && cell.times.above(limit) >= SLOW_MIN
            });
            if slow { Pace::Slow } else { Pace::Calm }
        };
        let mut paces: Vec<Pace> = windows.iter().map(pace).collect();
        join(&mut paces);
        stalled(windows, &mut paces);
        paces
    }
}

/// One window that is calm or unknown between two slow ones belongs to them.
fn join(paces: &mut [Pace]) {
    for at in 1..paces.len().saturating_sub(1) {
        if paces[at - 1] == Pace::Slow && paces[at + 1] == Pace::Slow {
            paces[at] = Pace::Slow;
        }
    }
}

/// Windows before a slow one in which hardly anything ended, while more requests were under way
/// than in calm times: the log has them where they ended.
fn stalled(windows: &[Window], paces: &mut [Pace]) {
    let calm = windows.iter().zip(paces.iter()).filter(|(_, pace)| **pace == Pace::Calm);
    let most = calm.map(|(window, _)| window.in_flight()).fold(f64::NAN, f64::max);
    for at in (0..paces.len().saturating_sub(1)).rev() {
        let waits = windows.get(at).is_some_and(|window| window.in_flight() > most);
        if paces[at] == Pace::Unknown && paces[at + 1] == Pace::Slow && waits {
            paces[at] = Pace::Slow;
        }
    }
}

/// The first and the last window of each slow stretch.
pub(super) fn stretches(paces: &[Pace]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, _) in paces.iter().enumerate().filter(|(_, pace)| **pace == Pace::Slow) {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => found.push((at, at)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::rng::Rng;

    const SEARCH: Search = Search { margin: MARGIN, resolution_us: 1000 };

    /// A window in which requests take about so long: exponential, as many services do.
    fn window(at: i64, mean_us: f64, requests: u64, rng: &mut Rng) -> Window {
        let mut cell = Cell::default();
        cell.ended = requests;
        for _ in 0..requests {
            let uniform = (rng.below(1 << 30) as f64 + 0.5) / (1_u64 << 30) as f64;
            let us = hugewise_base::units::saturating_u64(-mean_us * uniform.ln());
            cell.times.record(us / 1000 * 1000);
        }
        Window { start_ms: at * 1000, end_ms: (at + 1) * 1000, cell }
    }

    #[test]
    fn calm_logs_are_calm() {
        let mut alarms = 0;
        for seed in 0..150 {
            let mut rng = Rng::new(seed);
            let requests = 20 + rng.below(300);
            let mean = 1000.0 * (2 + rng.below(200)) as f64;
            let windows: Vec<Window> =
                (0..120).map(|at| window(at, mean, requests, &mut rng)).collect();
            alarms += usize::from(SEARCH.paces(&windows).contains(&Pace::Slow));
        }
        assert!(alarms <= 1, "{alarms} of 150");
    }

    #[test]
    fn a_slow_stretch_is_found_even_where_it_is_long() {
        for (seed, slow) in [(1, 3), (2, 20), (3, 70)] {
            let mut rng = Rng::new(seed);
            let mean = |at: i64| if (20..20 + slow).contains(&at) { 60_000.0 } else { 20_000.0 };
            let windows: Vec<Window> =
                (0..120).map(|at| window(at, mean(at), 100, &mut rng)).collect();
            let last = usize::try_from(19 + slow).expect("few");
            assert_eq!(stretches(&SEARCH.paces(&windows)), [(20, last)], "{slow}");
        }
    }

    #[test]
    fn a_daily_swing_is_no_slow_time() {
        let mut rng = Rng::new(7);
        let mean = |at: i64| 20_000.0 * (1.15 + 0.15 * (at as f64 / 20.0).sin());
        let windows: Vec<Window> = (0..120).map(|at| window(at, mean(at), 200, &mut rng)).collect();
        assert_eq!(stretches(&SEARCH.paces(&windows)), []);
    }

    #[test]
    fn one_step_of_the_clock_and_one_slow_request_are_nothing() {
        let mut rng = Rng::new(9);
        let mut windows: Vec<Window> = (0..60).map(|at| window(at, 600.0, 100, &mut rng)).collect();
        let mut cell = Cell::default();
        cell.ended = 100;
        (0..100).for_each(|_| cell.times.record(2000));
        windows[30].cell = cell;
        windows[40].cell.times.record(60_000_000);
        assert_eq!(stretches(&SEARCH.paces(&windows)), []);
    }

    #[test]
    fn a_pause_without_requests_is_no_part_of_a_slow_time() {
        let mut rng = Rng::new(11);
        let mut windows: Vec<Window> =
            (0..60).map(|at| window(at, 20_000.0, 100, &mut rng)).collect();
        windows[30..34].iter_mut().for_each(|window| window.cell = Cell::default());
        windows[34] = window(34, 3_000_000.0, 400, &mut rng);
        assert_eq!(stretches(&SEARCH.paces(&windows)), [(34, 34)]);
    }
}
