//! What an experiment and its built-in workloads tell each other: words in, JSON lines out.

use hugewise_core::stats::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a workload is asked to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Request {
    /// Work for so many seconds.
    Measure(f64),
    /// Compare all data with what was written.
    Verify,
    /// The second phase of a kind that has one.
    Change,
    /// Give everything back, and stay.
    Release,
    /// Flip one bit, so that a test sees `Verify` find it.
    Corrupt,
    /// End.
    Exit,
}

impl Request {
    /// As a line, without its end.
    pub(crate) fn line(self) -> String {
        match self {
            Self::Measure(seconds) => format!("measure {seconds}"),
            Self::Verify => "verify".into(),
            Self::Change => "change".into(),
            Self::Release => "release".into(),
            Self::Corrupt => "corrupt".into(),
            Self::Exit => "exit".into(),
        }
    }

    /// From a line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let request = match (words.next()?, words.next()) {
            ("measure", Some(word)) => {
                let seconds: f64 = word.parse().ok()?;
                // A day is more than any experiment asks for, and fits every clock.
                (0.0..=86_400.0).contains(&seconds).then_some(Self::Measure(seconds))
            }
            ("verify", None) => Some(Self::Verify),
            ("change", None) => Some(Self::Change),
            ("release", None) => Some(Self::Release),
            ("corrupt", None) => Some(Self::Corrupt),
            ("exit", None) => Some(Self::Exit),
            _ => None,
        };
        request.filter(|_| words.next().is_none())
    }
}

/// What a workload found: metrics by name (see `hugewise_core::lab::metric`), and more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Metrics; one that is unknown is not there.
    pub(crate) values: BTreeMap<String, f64>,
    /// Durations, nanoseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) histograms: BTreeMap<String, Histogram>,
    /// What a reader of the numbers has to know, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// What a workload says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub(crate) enum Event {
    /// Its memory is filled. Said once, unasked.
    Ready(Report),
    /// It is busy. Said now and then before any other event.
    Progress {
        /// Done, percent.
        percent: f64,
        /// With what.
        text: String,
    },
    /// The answer to [`Request::Measure`].
    Measured(Report),
    /// The answer to [`Request::Change`].
    Changed(Report),
    /// The answer to [`Request::Release`].
    Released(Report),
    /// The answer to [`Request::Verify`].
    Verified {
        /// Things compared: words, pages, rows or blocks, as the kind counts them.
        checked: u64,
    },
    /// Data is not what was written. The workload ends after this, with exit code 1.
    Mismatch {
        /// Things that are wrong, at least.
        wrong: u64,
        /// The request during which it showed.
        during: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_line() {
        let all = [
            Request::Measure(0.25),
            Request::Verify,
            Request::Change,
            Request::Release,
            Request::Corrupt,
            Request::Exit,
        ];
        for request in all {
            assert_eq!(Request::parse(&request.line()), Some(request));
        }
        for wrong in ["", "measure", "measure -1", "measure NaN", "measure 1 2", "verify now"] {
            assert_eq!(Request::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn events_survive_the_line() {
        let mut latency = Histogram::default();
        [90, 1_000, 70_000].iter().for_each(|value| latency.record(*value));
        let report = Report {
            values: BTreeMap::from([("ops_per_s".into(), 12.5)]),
            histograms: BTreeMap::from([("latency".into(), latency)]),
            notes: vec!["KSM is off.".into()],
        };
        let all = [
            Event::Ready(Report::default()),
            Event::Measured(report),
            Event::Progress { percent: 40.0, text: "filling".into() },
            Event::Verified { checked: 7 },
            Event::Mismatch { wrong: 1, during: "verify".into() },
        ];
        for event in all {
            let line = serde_json::to_string(&event).expect("events are plain values");
            let read: Event = serde_json::from_str(&line).expect("what was written");
            assert_eq!(read, event, "{line}");
        }
        let ready = serde_json::to_string(&Event::Ready(Report::default())).expect("plain");
        assert_eq!(ready, r#"{"event":"ready","values":{}}"#);
    }
}
