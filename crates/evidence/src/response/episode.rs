//! A slow stretch of time: what was added to each request, where, in whose requests, and how that
//! goes with the load.

use serde::Serialize;

use super::cells::{Cell, Loads};
use super::keys::Keys;
use super::part::{Hop, Part, Parts};
use super::slow::Pace;
use super::tally::{LogClock, Tally};
use super::times::Times;
use super::window::Window;

/// A name counts as the one where time was added from this share on.
pub const MAIN_SHARE: f64 = 0.5;

/// What changes by less than this, as a factor, is about the same.
const SAME: f64 = 1.25;

/// What changes by more than this, as a factor, has changed.
const CHANGED: f64 = 1.5;

/// Most names of an episode.
const NAMES_MAX: usize = 5;

/// What was added in one part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Added {
    /// Which part.
    pub part: Part,
    /// In words.
    pub name: &'static str,
    /// Where it passes.
    pub hop: Hop,
    /// What is likely where time is added in it, and what it does not tell apart.
    pub means: &'static str,
    /// Its mean in calm windows, in microseconds.
    pub calm_us: f64,
    /// Its mean in the episode, in microseconds.
    pub slow_us: f64,
    /// Its share of all that was added, 0 to 1; parts that became shorter have none.
    pub share: f64,
}

/// Requests with something in common, and their part in what was added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AddedTo {
    /// What they have in common.
    pub name: String,
    /// Requests in the episode.
    pub requests: u64,
    /// Their share of all requests, 0 to 1.
    pub requests_share: f64,
    /// Their mean in calm windows, in microseconds; `None`: there were none.
    pub calm_us: Option<f64>,
    /// Their mean in the episode, in microseconds.
    pub slow_us: f64,
    /// Their share of all that was added, 0 to 1.
    pub share: f64,
}

/// What passed through in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Requests with a time that came in a second; observed.
    pub came_per_s: f64,
    /// Requests that ended in a second; observed.
    pub ended_per_s: f64,
    /// Mean number of requests under way, from their starts and ends; observed.
    pub in_flight: f64,
    /// The same by Little's law, ended a second times mean time: derived. It is lower while
    /// requests pile up, and higher while they are worked off.
    pub in_flight_little: f64,
    /// Share of requests that ended with an error of the server, 0 to 1.
    pub errors: f64,
}

/// How time and load go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// More requests came than in calm times.
    MoreLoad,
    /// More are under way while no more are done in a second: they wait for each other, or each
    /// takes longer and nothing slows their coming.
    PilesUp,
    /// Fewer are done in a second by as many under way: each takes longer.
    Slower,
    /// Hardly any were done.
    Stalled,
    /// Load and number under way are about as before.
    SameLoad,
}

impl Shape {
    /// What it says, and what it does not.
    pub const fn text(self) -> &'static str {
        match self {
            Self::MoreLoad => {
                "more requests came than in calm times: compare how the service copes with load"
            }
            Self::PilesUp => {
                "more requests were under way while no more were done in a second: so a queue in \
                 front of something full looks, and so does a slower service whose clients do \
                 not wait for each other"
            }
            Self::Slower => {
                "about as many were under way and fewer were done in a second: each took longer, \
                 and nothing suggests a queue in front of it"
            }
            Self::Stalled => "hardly any request was done while they went on to come",
            Self::SameLoad => "as many came and were under way as in calm times",
        }
    }
}

/// A slow stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Episode {
    /// When its first window begins.
    pub from: String,
    /// When its last window ends.
    pub to: String,
    /// How long that is, in seconds.
    pub length_s: f64,
    /// How long requests took that ended in it.
    pub times: Times,
    /// What each request took longer than in calm windows, on average, in microseconds.
    pub added_us: f64,
    /// In which parts, the largest first.
    pub parts: Vec<Added>,
    /// In requests of which service, the largest first.
    pub services: Vec<AddedTo>,
    /// In requests of which server.
    pub servers: Vec<AddedTo>,
    /// In requests for which endpoint.
    pub endpoints: Vec<AddedTo>,
    /// Share of what was added that other endpoints than in calm windows explain, 0 to 1: more
    /// requests for what always takes long.
    pub mix_share: f64,
    /// Whether, in most windows, even the fastest twentieth took as long as half of all do in calm
    /// ones: then nearly all requests were held up.
    pub all_held_up: bool,
    /// The load in calm windows.
    pub calm_traffic: Traffic,
    /// The load in it.
    pub traffic: Traffic,
    /// How time and load go together.
    pub shape: Shape,
    /// In words.
    pub shape_text: &'static str,
    /// First and last window, for comparisons.
    #[serde(skip)]
    pub(super) span_ms: (i64, i64),
}

/// What all episodes are compared with.
pub(super) struct Baseline<'a> {
    windows: &'a [Window],
    tally: &'a Tally,
    clock: LogClock,
    calm: Cell,
    calm_traffic: Traffic,
}

impl<'a> Baseline<'a> {
    /// The calm windows, as one.
    pub(super) fn new(
        windows: &'a [Window],
        paces: &[Pace],
        tally: &'a Tally,
        clock: LogClock,
    ) -> Self {
        let calm: Vec<&Window> = windows
            .iter()
            .zip(paces)
            .filter(|(_, pace)| **pace == Pace::Calm)
            .map(|(window, _)| window)
            .collect();
        let cell = merged(&calm);
        let calm_traffic = traffic(&calm, &cell);
        Self { windows, tally, clock, calm: cell, calm_traffic }
    }

    /// How long requests took in calm windows.
    pub(super) fn calm_times(&self) -> Times {
        Times::of(&self.calm.times)
    }
}

fn merged(windows: &[&Window]) -> Cell {
    let mut cell = Cell::default();
    windows.iter().for_each(|window| cell.merge(&window.cell));
    cell
}

fn traffic(windows: &[&Window], cell: &Cell) -> Traffic {
    let length_s: f64 = windows.iter().map(|window| window.length_s()).sum();
    let length_s = length_s.max(0.001);
    let busy: f64 = windows.iter().map(|window| window.in_flight() * window.length_s()).sum();
    let timed_per_s = cell.times.count() as f64 / length_s;
    Traffic {
        came_per_s: cell.came as f64 / length_s,
        ended_per_s: cell.ended as f64 / length_s,
        in_flight: busy / length_s,
        in_flight_little: timed_per_s * cell.times.mean().unwrap_or(0.0) / 1e6,
        errors: cell.errors as f64 / cell.ended.max(1) as f64,
    }
}

/// What is said of one stretch, from its first to its last window.
pub(super) fn episode(facts: &Baseline<'_>, (first, last): (usize, usize)) -> Episode {
    let windows: Vec<&Window> =
        facts.windows.get(first..=last).unwrap_or_default().iter().collect();
    let cell = merged(&windows);
    let span_ms = (
        windows.first().map_or(0, |window| window.start_ms),
        windows.last().map_or(0, |window| window.end_ms),
    );
    let calm = &facts.calm;
    let mean = |cell: &Cell| cell.times.mean().unwrap_or(0.0);
    let own = traffic(&windows, &cell);
    let shape = shape(&facts.calm_traffic, &own);
    let by = |of: fn(&Cell) -> &Loads, keys: &Keys| added_to(of(&cell), of(calm), keys, &cell);
    Episode {
        from: facts.clock.text(span_ms.0),
        to: facts.clock.text(span_ms.1),
        length_s: (span_ms.1 - span_ms.0) as f64 / 1000.0,
        times: Times::of(&cell.times),
        added_us: mean(&cell) - mean(calm),
        parts: added(calm, &cell),
        services: by(|cell| &cell.services, &facts.tally.services),
        servers: by(|cell| &cell.servers, &facts.tally.servers),
        endpoints: by(|cell| &cell.endpoints, &facts.tally.endpoints),
        mix_share: mix_share(calm, &cell),
        all_held_up: held_up(calm, &windows),
        calm_traffic: facts.calm_traffic,
        traffic: own,
        shape,
        shape_text: shape.text(),
        span_ms,
    }
}

fn part_mean(parts: &Parts, part: Part, requests: u64) -> f64 {
    parts.get(part) as f64 / requests.max(1) as f64
}

fn added(calm: &Cell, slow: &Cell) -> Vec<Added> {
    let each = Part::ALL.map(|part| {
        let calm_us = part_mean(&calm.parts, part, calm.times.count());
        let slow_us = part_mean(&slow.parts, part, slow.times.count());
        Added {
            part,
            name: part.name(),
            hop: part.hop(),
            means: part.means(),
            calm_us,
            slow_us,
            share: 0.0,
        }
    });
    let more = |added: &Added| (added.slow_us - added.calm_us).max(0.0);
    let all: f64 = each.iter().map(more).sum();
    let share = |added: Added| Added { share: more(&added) / all.max(f64::MIN_POSITIVE), ..added };
    let there = |added: &Added| added.calm_us > 0.0 || added.slow_us > 0.0;
    let mut each: Vec<Added> = each.into_iter().filter(there).map(share).collect();
    each.sort_by(|a, b| b.share.total_cmp(&a.share));
    each
}

/// What was added to the requests of each name, against its own calm mean; against the mean of all
/// where it was not seen in calm windows.
fn added_to(slow: &Loads, calm: &Loads, keys: &Keys, cell: &Cell) -> Vec<AddedTo> {
    let (mut requests, mut sum_us) = (0, 0_u64);
    for (_, load) in calm.iter() {
        requests += load.requests;
        sum_us = sum_us.saturating_add(load.sum_us);
    }
    let overall = sum_us as f64 / requests.max(1) as f64;
    let mut named: Vec<AddedTo> = Vec::new();
    let mut all = 0.0;
    for (id, load) in slow.iter().filter(|(_, load)| load.requests > 0) {
        let before = calm.get(id);
        let calm_us = (before.requests > 0).then(|| before.sum_us as f64 / before.requests as f64);
        let slow_us = load.sum_us as f64 / load.requests as f64;
        let more = (slow_us - calm_us.unwrap_or(overall)).max(0.0) * load.requests as f64;
        all += more;
        named.push(AddedTo {
            name: keys.name(id).to_owned(),
            requests: load.requests,
            requests_share: load.requests as f64 / cell.times.count().max(1) as f64,
            calm_us,
            slow_us,
            share: more,
        });
    }
    named.iter_mut().for_each(|name| name.share /= f64::max(all, f64::MIN_POSITIVE));
    named.sort_by(|a, b| b.share.total_cmp(&a.share));
    named.truncate(NAMES_MAX);
    named
}

/// What the calm means of the episode's endpoints lie above the calm mean, as a share of what was
/// added.
fn mix_share(calm: &Cell, slow: &Cell) -> f64 {
    let (mut expected, mut requests) = (0.0, 0);
    for (id, load) in slow.endpoints.iter() {
        let before = calm.endpoints.get(id);
        if before.requests > 0 {
            let mean = before.sum_us as f64 / before.requests as f64;
            expected += mean * load.requests as f64;
            requests += load.requests;
        }
    }
    let calm_mean = calm.times.mean().unwrap_or(0.0);
    let added = slow.times.mean().unwrap_or(0.0) - calm_mean;
    if requests == 0 || added <= 0.0 {
        return 0.0;
    }
    ((expected / requests as f64 - calm_mean) / added).clamp(0.0, 1.0)
}

/// Whether nearly all requests took longer, in most windows. Where only some are slow the fastest
/// twentieth is of the others, and stays faster than half of all were before.
fn held_up(calm: &Cell, windows: &[&Window]) -> bool {
    let Some(median) = calm.times.quantile(0.5) else { return false };
    let fastest = |window: &&&Window| window.cell.times.quantile(0.05) >= Some(median);
    2 * windows.iter().filter(fastest).count() > windows.len()
}

fn shape(calm: &Traffic, slow: &Traffic) -> Shape {
    let ratio = |of: fn(&Traffic) -> f64| of(slow) / of(calm).max(f64::MIN_POSITIVE);
    let came = ratio(|traffic| traffic.came_per_s);
    let ended = ratio(|traffic| traffic.ended_per_s);
    let in_flight = ratio(|traffic| traffic.in_flight);
    if came >= CHANGED {
        Shape::MoreLoad
    } else if ended < 0.2 {
        Shape::Stalled
    } else if in_flight >= CHANGED {
        Shape::PilesUp
    } else if ended <= 1.0 / SAME {
        Shape::Slower
    } else {
        Shape::SameLoad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(came: f64, ended: f64, in_flight: f64) -> Traffic {
        Traffic { came_per_s: came, ended_per_s: ended, in_flight, ..Traffic::default() }
    }

    #[test]
    fn load_and_time_have_a_shape() {
        let calm = traffic(100.0, 100.0, 4.0);
        let shapes = [
            (traffic(300.0, 250.0, 60.0), Shape::MoreLoad),
            (traffic(100.0, 98.0, 60.0), Shape::PilesUp),
            (traffic(40.0, 40.0, 4.1), Shape::Slower),
            (traffic(90.0, 3.0, 200.0), Shape::Stalled),
            (traffic(105.0, 104.0, 5.0), Shape::SameLoad),
        ];
        for (slow, wanted) in shapes {
            assert_eq!(shape(&calm, &slow), wanted, "{slow:?}");
        }
    }
}
