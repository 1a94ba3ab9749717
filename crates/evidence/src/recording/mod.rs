//! What was recorded about machines, whatever the tool: one typed form for everything that
//! `diagnose` looks at.
//!
//! A [`Recording`] has one [`Host`] a machine; a host has [`Series`] by [`Field`] and
//! [`Subject`], each value with its time and source, and what is no number: settings and sockets.
//! [`Builder`] makes one out of texts: [`scan`] finds out what a text is and hands its lines to
//! the [`readers`].

mod base_page;
mod build;
pub mod cgroup_file;
mod count_samples;
mod counted;
mod expected;
mod field;
mod finish;
mod log;
mod normalise;
mod programs;
pub mod readers;
mod refused;
mod scan;
mod source;
mod stacks;
mod stamp;
mod subject;
mod unit;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use hugewise_base::parse::FOUND_CHARS_MAX;
use hugewise_base::stats::mean;
use hugewise_base::units::Bytes;
use serde::Serialize;

pub use base_page::ASSUMED;
pub use build::{Builder, POINTS_MAX, SERIES_MAX, SeriesId};
pub use expected::Met;
pub use field::Field;
pub use log::{LogSummary, Observation, Observed, Topic, sorted_by_template};
use normalise::lead;
pub use scan::{Foreign, LONG_BYTES, foreign, is_whole, normalised};
pub use source::{Clock, Source, SourceId, SourceKind};
pub use stacks::Stacks;
pub use stamp::Stamp;
pub use subject::{Mechanism, Shortage, Subject};
pub use unit::{About, Span, Unit};

/// A value at a time; `at` is `None` where the source gave no time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// When: for an average the end of its interval.
    pub at: Option<Stamp>,
    /// The value in its field's unit; always finite.
    pub value: f64,
}

/// The values of one field about one subject from one source, in order of time: those without a
/// time first, those of one time in the source's order.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Where they come from.
    pub source: SourceId,
    /// Where later ones come from: from this time on, in order of time. Recordings of the same
    /// tool and machine, such as one file a day, are one series.
    pub later: Vec<(Stamp, SourceId)>,
    /// The values.
    pub points: Vec<Point>,
}

impl Series {
    /// The value of the same row as another series' point: at its index, else at its time.
    pub fn beside(&self, index: usize, at: Option<Stamp>) -> Option<f64> {
        let same = self.points.get(index).filter(|point| point.at == at);
        let by_time = || {
            let stamp = at?;
            let found = self.points.partition_point(|point| point.at.is_some_and(|at| at < stamp));
            self.points.get(found).filter(|point| point.at == Some(stamp))
        };
        same.or_else(by_time).map(|point| point.value)
    }

    /// The mean of its values; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        let values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        mean(&values)
    }

    /// All its sources.
    pub fn sources(&self) -> BTreeSet<SourceId> {
        self.later.iter().map(|(_, id)| *id).chain([self.source]).collect()
    }

    /// Whether it has values of one of these sources.
    pub fn is_of(&self, sources: &BTreeSet<SourceId>) -> bool {
        let mut own = self.later.iter().map(|(_, id)| id).chain([&self.source]);
        own.any(|id| sources.contains(id))
    }

    /// The source of a time, of one that is followed by later ones, each from its time on.
    pub(crate) fn source_at(
        first: SourceId,
        later: &[(Stamp, SourceId)],
        at: Option<Stamp>,
    ) -> SourceId {
        let since = at.map_or(0, |at| later.partition_point(|(from, _)| *from <= at));
        since.checked_sub(1).and_then(|last| later.get(last)).map_or(first, |(_, id)| *id)
    }

    /// The times of the first and the last value, where both have one.
    fn span(&self) -> Option<(Stamp, Stamp)> {
        Some((self.points.first()?.at?, self.points.last()?.at?))
    }
}

/// A text as it was found, with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// Where it comes from.
    pub source: SourceId,
    /// The text, trimmed.
    pub text: String,
}

/// What a socket speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// A stream: what is not read holds the sender back.
    Tcp,
    /// Datagrams: what finds no room is lost.
    Udp,
    /// Within the machine (`AF_UNIX`), of connections.
    Unix,
}

/// State of a socket, as far as the diagnosis needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketState {
    /// Connected.
    Established,
    /// A peer wants to connect, and its answer to ours has not come: half open.
    SynReceived,
    /// This side wants to connect, and no answer has come.
    SynSent,
    /// Waits for connections: its queue is of connections, not bytes.
    Listen,
    /// The peer has closed, the program has not.
    CloseWait,
    /// Closed by this side; its port stays taken for a minute.
    TimeWait,
    /// Without a peer, as UDP has it.
    Unconnected,
    /// Any other state, or one that the listing does not show.
    Other,
}

/// A row of `netstat` or `ss`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Socket {
    /// Where it comes from.
    pub source: SourceId,
    /// What it speaks, where the listing shows it.
    pub protocol: Option<Protocol>,
    /// Its state.
    pub state: SocketState,
    /// Bytes that arrived and were not read; in `Listen` connections not accepted.
    pub receive_queue: u64,
    /// Bytes sent and not acknowledged; in `Listen` the most connections that wait to be accepted,
    /// 0 where the listing does not show it (`netstat`).
    pub send_queue: u64,
    /// This machine's address and port, as written.
    pub local: String,
    /// The peer's, as written.
    pub remote: String,
    /// The program, as written, such as `1/java`.
    pub program: Option<String>,
}

/// What happened at a time and is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Restart {
    /// When the machine, or its recorder, was started again.
    pub at: Option<Stamp>,
}

/// All that is known of one machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    /// Its name, where a source gave one.
    pub name: Option<String>,
    /// Its values.
    #[serde(skip)]
    pub series: BTreeMap<Field, BTreeMap<Subject, Vec<Series>>>,
    /// Files and other settings by path or name, such as
    /// `/sys/kernel/mm/transparent_hugepage/enabled`.
    pub settings: BTreeMap<String, Quote>,
    /// Its sockets.
    #[serde(skip)]
    pub sockets: Vec<Socket>,
    /// Chains of calls of its profiles, one of each event.
    #[serde(skip)]
    pub stacks: Vec<Stacks>,
    /// Restarts within the recording.
    pub restarts: Vec<Restart>,
    /// The size of a base page, and where it was read.
    #[serde(skip)]
    pub(crate) base_page: Option<(base_page::SizeSource, Bytes)>,
    /// Settings in KiB that were counted in base pages.
    #[serde(skip)]
    pub(crate) settings_in_pages: BTreeMap<String, u64>,
    /// Whether machines of its kind have base pages of several sizes.
    #[serde(skip)]
    pub(crate) several_page_sizes: bool,
}

impl Host {
    /// The series of `field` about each subject.
    pub fn subjects(&self, field: Field) -> impl Iterator<Item = (&Subject, &[Series])> {
        let all = self.series.get(&field).into_iter().flatten();
        all.map(|(subject, series)| (subject, series.as_slice()))
    }

    /// The best series of `field` about `subject`: the one with most values.
    pub fn series(&self, field: Field, subject: &Subject) -> Option<&Series> {
        let all = self.series.get(&field)?.get(subject)?;
        // `max_by_key` would give the last of equals; the first source named wins.
        all.iter().rev().max_by_key(|series| series.points.len())
    }

    /// The latest value of `field` about `subject`, with its time; negative ones are none.
    pub fn latest(&self, field: Field, subject: &Subject) -> Option<Point> {
        let point = self.series(field, subject)?.points.last()?;
        (point.value >= 0.0).then_some(*point)
    }

    /// The subjects of a field with their values, as of the last reading: of a long recording those
    /// that ended before it are left out.
    pub fn present(&self, field: Field) -> BTreeMap<&Subject, f64> {
        let subjects = self.subjects(field).map(|(subject, _)| subject);
        let all = subjects.filter_map(|subject| Some((subject, self.latest(field, subject)?)));
        let all: Vec<_> = all.collect();
        let last = all.iter().map(|(_, point)| point.at).max().flatten();
        let there = all.into_iter().filter(|(_, point)| point.at == last);
        there.map(|(subject, point)| (subject, point.value)).collect()
    }

    /// Whether nothing is known of it.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty() && self.settings.is_empty() && self.sockets.is_empty()
    }
}

/// A stretch of a text that no reader knew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unrecognised {
    /// The input's name.
    pub input: String,
    /// Its first line, from 1.
    pub first_line: usize,
    /// Its last line.
    pub last_line: usize,
    /// The first word of its first line: no more, because a line that nobody knows may contain a
    /// secret.
    pub start: String,
}

impl Unrecognised {
    /// A single line. A ticket may contain a password: of a line that no reader knows only its
    /// first word is kept, up to where a value could begin.
    fn of_line(input: &str, line: usize, text: &str) -> Self {
        // Ornaments tell nothing: `==> memory.pressure <==`.
        let mut words = text.split_whitespace();
        let word = words.find(|word| word.contains(char::is_alphanumeric));
        let word = word.unwrap_or_default().trim_start_matches(['=', ':', '[', '.']);
        let word = word.split(['=', ':']).next().unwrap_or_default();
        let start = word.chars().take(FOUND_CHARS_MAX).collect();
        Self { input: input.to_owned(), first_line: line, last_line: line, start }
    }
}

/// Something about an input that the user should know: a truncated file, a line that made no
/// sense, a limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The input's name.
    pub input: String,
    /// The line, from 1, where it is about one.
    pub line: Option<usize>,
    /// What is wrong, and what was wanted.
    pub text: String,
}

/// Everything that was handed in, typed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Recording {
    /// The machines, in the order in which they were met.
    pub hosts: Vec<Host>,
    /// Where values come from.
    pub sources: Vec<Source>,
    /// Logs in no format of their own.
    pub logs: Vec<LogSummary>,
    /// Lines that nobody understood.
    pub unrecognised: Vec<Unrecognised>,
    /// What went wrong.
    pub problems: Vec<Problem>,
}

impl Recording {
    /// The source of a value. Ids of this recording only.
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)
    }
}
