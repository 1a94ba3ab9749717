//! What a load found: counted while it runs, and kept.

mod series;

use super::knee::Point;
use super::profile::Profile;
use super::spec::Tool;
use hugewise_base::count::counted;
use hugewise_base::stats::Histogram;
use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};
pub use series::{PhaseResult, Second};
use series::{Phases, Seconds};
use std::collections::BTreeMap;
use std::fmt;

/// From here on the generator's own lateness is said: it distorts latencies of about that size.
/// Ours: a request over loopback takes tens of microseconds.
pub const LATE_P99: Ns = Ns::ms(1);
/// From this share of GETs that found nothing on, in percent, it is said. Ours.
const MISSES_PERCENT: u64 = 1;
/// How many different errors are quoted; the others are counted by kind only.
const MOST_QUOTES: usize = 20;

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// `max_waiting` requests were waiting already.
    QueueFull,
    /// The timeout passed before a connection was free.
    QueueTimeout,
    /// The timeout passed before the answer was complete.
    Timeout,
    /// Nobody listens at the target.
    Refused,
    /// No connection for another reason.
    Connect,
    /// The server closed the connection.
    Closed,
    /// An answer that is no answer.
    Protocol,
    /// An HTTP status other than 2xx.
    Status,
    /// An error that Redis answered with.
    Server,
    /// Anything else while sending or receiving.
    Io,
}

impl Failure {
    /// Words for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::QueueFull => "queue full",
            Self::QueueTimeout => "timeout before a connection was free",
            Self::Timeout => "timeout",
            Self::Refused => "connection refused",
            Self::Connect => "cannot connect",
            Self::Closed => "closed by the server",
            Self::Protocol => "not the protocol",
            Self::Status => "HTTP status other than 2xx",
            Self::Server => "error from the server",
            Self::Io => "cannot send or receive",
        }
    }

    /// Whether the request was sent before it failed.
    pub const fn was_sent(self) -> bool {
        !matches!(self, Self::QueueFull | Self::QueueTimeout | Self::Refused | Self::Connect)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// What a load found. `None` is what a tool does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Who sent.
    pub tool: Tool,
    /// Whether latencies count from the intended start; otherwise a stall hides its victims.
    pub from_intended_start: bool,
    /// Duration of the profile. Answers that came later are counted, but not as achieved.
    pub time: Ns,
    /// Requests whose time came.
    pub intended: Option<u64>,
    /// Requests that were sent.
    pub sent: Option<u64>,
    /// Requests that were answered well.
    pub completed: u64,
    /// Requests that were not, by reason.
    pub failed: BTreeMap<Failure, u64>,
    /// The tool does not tell which failed: they are among the completed ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failures_untold: bool,
    /// What was said about failures, with its number; the most frequent kinds only.
    pub errors: BTreeMap<String, u64>,
    /// GETs that found no key.
    pub misses: Option<u64>,
    /// Intended requests per second.
    pub offered_per_s: Option<f64>,
    /// Requests answered well within the profile's time, per second.
    pub achieved_per_s: Option<f64>,
    /// How late the generator itself was: no wait for a connection is in it.
    pub late_start: Option<Late>,
    /// Nanoseconds from the intended start to the answer, of completed requests.
    pub latency: Option<Histogram>,
    /// Nanoseconds from the real sending to the answer, of completed requests.
    pub service: Option<Histogram>,
    /// A line a second, by intended start.
    pub seconds: Vec<Second>,
    /// A line a step, stairs each.
    pub phases: Vec<PhaseResult>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// How late requests were handed over by the generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// The largest lateness.
    pub max: Ns,
    /// 99 % were at most that late.
    pub p99: Ns,
}

impl LoadResult {
    /// One that knows nothing yet.
    pub fn empty(tool: Tool, time: Ns) -> Self {
        Self { tool, time, ..Self::default() }
    }

    /// All failures.
    pub fn failures(&self) -> u64 {
        self.failed.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The latency within which a share `q` (0 to 1) of all requests was answered. Failed ones
    /// count as answered never: `None` when so many failed, or when nothing is known.
    pub fn quantile(&self, q: f64) -> Option<Ns> {
        let latency = self.latency.as_ref()?;
        let all = latency.count().saturating_add(self.failures()) as f64;
        let share = q.clamp(0.0, 1.0) * all / latency.count().max(1) as f64;
        if share > 1.0 { None } else { latency.quantile(share).map(Ns) }
    }

    /// The steps of constant rate as points for [`super::knee`]. A step whose requests were never
    /// answered has the longest latency there is: left out, it would hide the knee before it.
    pub fn stairs(&self) -> Vec<Point> {
        let constant = self.phases.iter().filter(|phase| phase.constant_per_s.is_some());
        let point = |phase: &PhaseResult| {
            let seconds = phase.time.as_s();
            Point {
                offered_per_s: phase.offered as f64 / seconds,
                achieved_per_s: phase.achieved as f64 / seconds,
                p99: Ns(phase.latency.quantile(0.99).unwrap_or(u64::MAX)),
            }
        };
        constant.map(point).collect()
    }
}

/// When a request was intended, sent and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Its intended start.
    pub intended: Ns,
    /// When it was really sent.
    pub sent: Ns,
    /// When its answer was complete.
    pub answered: Ns,
}

/// Counts while a load runs. All times are from its begin. Memory is bounded by the timeout and
/// the number of seconds, whatever the rate.
#[derive(Debug, Default)]
pub struct Recorder {
    time: Ns,
    intended: u64,
    sent: u64,
    failed: BTreeMap<Failure, u64>,
    errors: BTreeMap<String, u64>,
    gets: u64,
    misses: u64,
    late: Histogram,
    latency: Histogram,
    service: Histogram,
    seconds: Seconds,
    phases: Phases,
    cut_users: u64,
    lost_users: u64,
}

impl Recorder {
    /// For a profile whose requests fail after `timeout`.
    pub fn new(profile: &Profile, timeout: Ns) -> Self {
        Self {
            time: profile.time(),
            seconds: Seconds::new(timeout),
            phases: Phases::new(profile),
            ..Self::default()
        }
    }

    /// The generator handed a request over.
    pub fn handed_over(&mut self, intended: Ns, now: Ns) {
        self.intended += 1;
        self.late.record(now.since(intended).0);
        self.seconds.offered(intended, now);
        self.phases.offered(intended);
    }

    /// A request was answered well.
    pub fn completed(&mut self, done: Done) {
        self.sent += 1;
        let latency = done.answered.since(done.intended);
        self.latency.record(latency.0);
        self.service.record(done.answered.since(done.sent).0);
        self.seconds.completed(done.intended, done.answered, latency);
        self.phases.completed(done.intended, done.answered, latency);
    }

    /// A GET was answered.
    pub fn got(&mut self, found: bool) {
        self.gets += 1;
        self.misses += u64::from(!found);
    }

    /// A request failed; `quote` is what was said about it.
    pub fn failed(&mut self, kind: Failure, now: Ns, quote: Option<&str>) {
        self.sent += u64::from(kind.was_sent());
        *self.failed.entry(kind).or_default() += 1;
        self.seconds.failed(now);
        let Some(quote) = quote else { return };
        let quote: String = quote.chars().filter(|c| !c.is_control()).take(120).collect();
        if self.errors.len() < MOST_QUOTES || self.errors.contains_key(&quote) {
            *self.errors.entry(quote).or_default() += 1;
        }
    }

    /// The profile ended before a user had made every request.
    pub fn cut_user(&mut self) {
        self.cut_users += 1;
    }

    /// A user went away after a failure, before every request was made.
    pub fn lost_user(&mut self) {
        self.lost_users += 1;
    }

    /// The latency that 1 % of the answered requests exceed so far.
    pub fn p99_so_far(&self) -> Option<Ns> {
        self.latency.quantile(0.99).map(Ns)
    }

    /// Requests whose time came, answers and failures so far.
    pub fn so_far(&self) -> (u64, u64, u64) {
        (self.intended, self.latency.count(), self.failed.values().sum())
    }

    /// The result.
    pub fn finish(self) -> LoadResult {
        let notes = self.notes();
        let in_time = self.phases.achieved();
        let per_s = |count: u64| (self.time > Ns(0)).then(|| count as f64 / self.time.as_s());
        let late = self.late.max().zip(self.late.quantile(0.99));
        LoadResult {
            from_intended_start: true,
            intended: Some(self.intended),
            sent: Some(self.sent),
            completed: self.latency.count(),
            misses: (self.gets > 0).then_some(self.misses),
            offered_per_s: per_s(self.intended),
            achieved_per_s: per_s(in_time),
            late_start: late.map(|(max, p99)| Late { max: Ns(max), p99: Ns(p99) }),
            failed: self.failed,
            errors: self.errors,
            latency: Some(self.latency),
            service: Some(self.service),
            seconds: self.seconds.finish(),
            phases: self.phases.finish(),
            notes,
            ..LoadResult::empty(Tool::Own, self.time)
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(p99) = self.late.quantile(0.99).map(Ns).filter(|p99| *p99 >= LATE_P99) {
            notes.push(format!(
                "the generator was a bottleneck: 1 % of the requests were handed over {:.1} ms or \
                 more after their time; latencies contain it, so lower the rate or free a CPU",
                p99.as_ms()
            ));
        }
        let failed: u64 = self.failed.values().sum();
        if failed > 0 {
            notes.push(format!(
                "{failed} of {} failed: they are in no histogram, so read quantiles that count \
                 them as never answered",
                counted(self.intended, "request", "requests")
            ));
        }
        if self.misses > 0 && self.misses.saturating_mul(100) >= self.gets * MISSES_PERCENT {
            notes.push(format!(
                "{} of {} GETs found no key: 'preload = true' sets every key first",
                self.misses, self.gets
            ));
        }
        if self.cut_users > 0 {
            let users = counted(self.cut_users, "user was", "users were");
            notes.push(format!("{users} not done when the time was over"));
        }
        if self.lost_users > 0 {
            let users = counted(self.lost_users, "user", "users");
            notes.push(format!("{users} went away after a failure"));
        }
        notes
    }
}

#[cfg(test)]
mod tests;
