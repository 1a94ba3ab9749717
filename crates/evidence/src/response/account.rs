//! What the logs say in the end: how long requests took, where their time passed, when it was slow.

use serde::Serialize;

use super::episode::{Baseline, Episode, episode};
use super::keys::{Key, Keys};
use super::part::{Hop, Part, Parts};
use super::sketch::Sketch;
use super::slow::{Pace, REQUESTS_MIN, Search, WINDOWS_MIN, stretches};
use super::tally::{Counts, Input, LogClock, Tally};
use super::times::Times;
use super::window::{Timeline, Window};
use crate::recording::Stamp;

/// Version of the JSON form of an [`Account`].
pub const SCHEMA: u32 = 1;

/// Most names in a list.
const NAMES_MAX: usize = 20;

/// Lines that may be left out before the answer is called partial, as a share: programs write other
/// lines into their logs, too.
const LEFT_OUT: f64 = 0.02;

/// A part of the time of all requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PartShare {
    /// Which part.
    pub part: Part,
    /// In words.
    pub name: &'static str,
    /// Where it passes.
    pub hop: Hop,
    /// Its mean in a request, in microseconds.
    pub mean_us: f64,
    /// Its share of the time of all requests, 0 to 1.
    pub share: f64,
    /// Requests whose line tells it; of `rest`, that is none.
    pub told: u64,
}

/// A row of the table over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// When it begins.
    pub from: String,
    /// When it ends.
    pub to: String,
    /// How long requests took that ended in it.
    pub times: Times,
    /// Requests that ended in a second.
    pub rate_per_s: f64,
    /// Of them with an error of the server.
    pub errors: u64,
    /// Of them given up by the client.
    pub given_up: u64,
    /// Mean number of requests under way.
    pub in_flight: f64,
    /// Whether a slow stretch reaches into it.
    pub slow: bool,
}

/// Requests with something in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Named {
    /// What.
    pub name: String,
    /// How many.
    pub requests: u64,
    /// Of them with an error of the server.
    pub errors: u64,
    /// How long they took.
    pub times: Times,
    /// Their share of the time of all requests, 0 to 1.
    pub share: f64,
}

/// Why the logs cannot say whether something was slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Untold {
    /// No request has a response time.
    NoTimes,
    /// Too few requests, or too short a time, to tell slow from calm.
    TooFew,
}

/// Whether requests were as fast as somebody wants them, whatever is usual for them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// How long a request may take, microseconds.
    pub goal_us: u64,
    /// Requests that took longer.
    pub above: u64,
    /// Whether 99 of 100 took no longer.
    pub met: bool,
    /// Where most of the time of all requests passes; `None`: the logs tell nothing but the whole.
    pub main: Option<PartShare>,
}

/// Everything that the logs say.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    /// Version of this form.
    pub schema: u32,
    /// What was read.
    pub inputs: Vec<Input>,
    /// Requests counted.
    pub counts: Counts,
    /// The first end of a request.
    pub from: Option<String>,
    /// The last one.
    pub to: Option<String>,
    /// Requests that ended in a second.
    pub rate_per_s: Option<f64>,
    /// How long requests took.
    pub times: Times,
    /// Where their time passed.
    pub parts: Vec<PartShare>,
    /// Over time.
    pub rows: Vec<Row>,
    /// By service: an upstream, a backend or a virtual host.
    pub services: Vec<Named>,
    /// By server of a service.
    pub servers: Vec<Named>,
    /// By class of status.
    pub classes: Vec<Named>,
    /// By endpoint.
    pub endpoints: Vec<Named>,
    /// Length of the windows in which slow ones were looked for, in seconds; `None`: they were not.
    pub window_s: Option<f64>,
    /// How long requests took in calm windows; `None`: not looked for.
    pub calm: Option<Times>,
    /// When it was slow.
    pub episodes: Vec<Episode>,
    /// Why that is not known; `None`: it is known.
    pub untold: Option<Untold>,
    /// What was asked of them; `None`: nothing, or no request has a response time.
    pub goal: Option<Goal>,
    /// What the logs do not say, with the directive that makes them say it.
    pub lacks: Vec<String>,
    /// What was taken for granted, or does not fit.
    pub notes: Vec<String>,
    /// Whether a part of the input is missing.
    pub partial: bool,
    /// The clock of the logs.
    #[serde(skip)]
    pub(super) clock: LogClock,
    /// Windows with their pace, for what is compared with them.
    #[serde(skip)]
    pub(super) windows: Vec<(Window, Pace)>,
}

/// How an account is made.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Length of rows and windows in milliseconds; `None`: what fits.
    pub every_ms: Option<i64>,
    /// From how many times the calm level on it is slow.
    pub margin: f64,
    /// How long a request may take, microseconds; `None`: nobody says.
    pub goal_us: Option<u64>,
}

impl LogClock {
    /// A time as it is shown, on the clock of the logs.
    pub const fn stamp(&self, ms: i64) -> Stamp {
        let zone_s = match self.zone_s {
            Some(zone_s) if self.utc => zone_s,
            _ => 0,
        };
        Stamp(ms.div_euclid(1000) + zone_s)
    }

    /// A time with its date and zone.
    pub fn text(&self, ms: i64) -> String {
        let text = self.stamp(ms).to_string().replace(' ', "T");
        text + &self.zone()
    }

    /// Its zone, as `+01:00`; nothing where it is not known.
    pub fn zone(&self) -> String {
        match self.zone_s {
            Some(0) => "Z".to_owned(),
            Some(zone_s) => {
                let sign = if zone_s < 0 { '-' } else { '+' };
                let minutes = zone_s.abs() / 60;
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            None if self.utc => "Z".to_owned(),
            None => String::new(),
        }
    }
}

/// What was counted, as an answer.
pub fn account(mut tally: Tally, how: How) -> Account {
    tally.end();
    let clock = tally.clock.unwrap_or_default();
    let (start_ms, width_ms) = (tally.cells.start_ms(), tally.cells.width_ms());
    let cells = tally.cells.finish().to_vec();
    let range_ms = tally.range_ms.unwrap_or((0, 0));
    let line = Timeline { cells: &cells, start_ms, width_ms, range_ms };
    let every = how.every_ms;
    let windows = line.windows(every.unwrap_or_else(|| line.window_ms()));
    let search = Search { margin: how.margin, resolution_us: tally.resolution_us };
    let paces = search.paces(&windows);
    let untold = untold(&tally, &paces);
    let facts = Baseline::new(&windows, &paces, &tally, clock);
    let slow = stretches(&paces);
    let episodes: Vec<Episode> = slow.iter().map(|run| episode(&facts, *run)).collect();
    let spans: Vec<(i64, i64)> = slow.iter().filter_map(|run| span(&windows, *run)).collect();
    let rows = line.windows(every.unwrap_or_else(|| line.row_ms()));
    let rows = rows.iter().map(|window| row(window, &spans, clock)).collect();
    let calm = untold.is_none().then(|| facts.calm_times());
    let window_s = windows
        .iter()
        .map(Window::length_s)
        .fold(None, |most: Option<f64>, length| Some(most.map_or(length, |most| most.max(length))));
    let shown = tally.range_ms.map(|(from, to)| (clock.text(from), clock.text(to)));
    let span_s = ((range_ms.1 - range_ms.0) as f64 / 1000.0).max(0.001);
    let (lacks, notes) = (lacks(&tally), notes(&tally, &how));
    Account {
        schema: SCHEMA,
        counts: tally.counts,
        from: shown.as_ref().map(|(from, _)| from.clone()),
        to: shown.map(|(_, to)| to),
        rate_per_s: (range_ms.1 > range_ms.0).then(|| tally.counts.requests as f64 / span_s),
        times: Times::of(&tally.times),
        goal: how.goal_us.and_then(|goal_us| goal(&tally, goal_us)),
        parts: parts(&tally.parts, tally.times.count(), &tally),
        rows,
        services: names(&tally.services, &tally.times),
        servers: names(&tally.servers, &tally.times),
        classes: classes(&tally),
        endpoints: names(&tally.endpoints, &tally.times),
        window_s: window_s.filter(|_| untold.is_none()),
        calm,
        episodes,
        untold,
        lacks,
        notes,
        partial: is_partial(&tally),
        clock,
        windows: windows.into_iter().zip(paces).collect(),
        inputs: tally.inputs,
    }
}

fn goal(tally: &Tally, goal_us: u64) -> Option<Goal> {
    let count = tally.times.count();
    let above = tally.times.above(goal_us);
    let shares = parts(&tally.parts, count, tally).into_iter();
    let told = shares.filter(|part| part.told > 0);
    let main = told.max_by(|a, b| a.share.total_cmp(&b.share));
    (count > 0).then(|| Goal { goal_us, above, met: above.saturating_mul(100) <= count, main })
}

fn span(windows: &[Window], (first, last): (usize, usize)) -> Option<(i64, i64)> {
    Some((windows.get(first)?.start_ms, windows.get(last)?.end_ms))
}

fn untold(tally: &Tally, paces: &[Pace]) -> Option<Untold> {
    let known = paces.iter().filter(|pace| **pace != Pace::Unknown).count();
    match tally.times.count() {
        0 => Some(Untold::NoTimes),
        _ => (known < WINDOWS_MIN).then_some(Untold::TooFew),
    }
}

fn row(window: &Window, slow: &[(i64, i64)], clock: LogClock) -> Row {
    let meets = |(from, to): &(i64, i64)| *from < window.end_ms && window.start_ms < *to;
    Row {
        from: clock.text(window.start_ms),
        to: clock.text(window.end_ms),
        times: Times::of(&window.cell.times),
        rate_per_s: window.rate(),
        errors: window.cell.errors,
        given_up: window.cell.given_up,
        in_flight: window.in_flight(),
        slow: slow.iter().any(meets),
    }
}

fn parts(all: &Parts, requests: u64, tally: &Tally) -> Vec<PartShare> {
    let whole = all.sum().max(1) as f64;
    let told = |part: Part| tally.told.get(part as usize).copied().unwrap_or(0);
    let shares = Part::ALL.map(|part| PartShare {
        part,
        name: part.name(),
        hop: part.hop(),
        mean_us: all.get(part) as f64 / requests.max(1) as f64,
        share: all.get(part) as f64 / whole,
        told: told(part),
    });
    let there = |share: &PartShare| share.told > 0 || share.mean_us > 0.0;
    shares.into_iter().filter(there).collect()
}

/// The names that took most of the time first.
fn names(keys: &Keys, all: &Sketch) -> Vec<Named> {
    let whole = all.sum().max(1) as f64;
    let named = |key: &Key| Named {
        name: key.name.clone(),
        requests: key.requests,
        errors: key.errors,
        times: Times::of(&key.times),
        share: key.times.sum() as f64 / whole,
    };
    let real = keys.all().iter().filter(|key| key.requests > 0);
    let mut named: Vec<Named> = real.map(named).collect();
    named.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.requests.cmp(&a.requests)));
    named.truncate(NAMES_MAX);
    named
}

fn classes(tally: &Tally) -> Vec<Named> {
    const NAMES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "no status"];
    let whole = tally.times.sum().max(1) as f64;
    let named = NAMES.iter().zip(&tally.classes).filter(|(_, class)| class.requests > 0);
    let named = named.map(|(name, class)| Named {
        name: (*name).to_owned(),
        requests: class.requests,
        errors: if *name == "5xx" { class.requests } else { 0 },
        times: Times::of(&class.times),
        share: class.times.sum() as f64 / whole,
    });
    named.collect()
}

fn left_out(tally: &Tally) -> (u64, u64) {
    let sum = |count: fn(&Input) -> u64| tally.inputs.iter().map(count).sum::<u64>();
    (sum(|input| input.left_out) + tally.counts.without_date, sum(|input| input.lines))
}

fn is_partial(tally: &Tally) -> bool {
    let (left_out, lines) = left_out(tally);
    let timed = tally.times.count();
    let much = |count: u64, all: u64| count as f64 > LEFT_OUT * all as f64;
    much(left_out, lines)
        || much(tally.counts.without_time, tally.counts.requests)
        || timed < REQUESTS_MIN
}

/// What each program's log does not say.
fn lacks(tally: &Tally) -> Vec<String> {
    let upstream = [Part::Connect, Part::FirstByte, Part::Upstream, Part::Server];
    let told = |part: &Part| tally.told.get(*part as usize).is_some_and(|told| *told > 0);
    let has_upstream = upstream.iter().any(told);
    let has_total = tally.times.count() > 0;
    let all = tally.writers.iter().filter_map(|writer| writer.lacks(has_total, has_upstream));
    let mut lacks: Vec<String> = all.map(str::to_owned).collect();
    lacks.dedup();
    lacks
}

/// What does not fit, counted.
fn notes(tally: &Tally, how: &How) -> Vec<String> {
    let mut notes = tally.notes.clone();
    let counts = &tally.counts;
    let mut note = |count: u64, text: &str| {
        if count > 0 {
            notes.push(format!("{count} {text}"));
        }
    };
    note(counts.without_date, "requests have no time of day, or one far from the others: left out");
    note(counts.without_time, "requests have no response time");
    note(counts.upgraded, "connections were no requests of HTTP: their times are left out");
    note(counts.contradicting, "requests have parts longer than the whole: the longest is cut");
    note(counts.early, "requests were logged before they were done ('option logasap')");
    let haproxy = tally.inputs.iter().filter_map(|input| input.format.as_deref());
    if haproxy.clone().any(|format| format == "HAProxy httplog") {
        notes.push(
            "HAProxy's times are read as TR/Tw/Tc/Tr/Ta of 1.7 and later; before, the first one \
             also has the time that a connection was idle"
                .to_owned(),
        );
    }
    if tally.clock.is_some_and(|clock| clock.mixed) {
        notes.push(
            "some times have a zone and others have none, which are taken for UTC: '--zone' says \
             otherwise"
                .to_owned(),
        );
    }
    let width_ms = tally.cells.width_ms();
    if how.every_ms.is_some_and(|every| every % width_ms != 0) {
        notes.push(format!(
            "the log is so long that windows are multiples of {} s",
            width_ms / 1000
        ));
    }
    notes
}
