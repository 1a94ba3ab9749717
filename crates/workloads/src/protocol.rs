//! The protocol of workloads: whoever starts one writes words to its standard input, a request a
//! line, and it answers with lines of JSON. Experiments and tests speak it with all workloads but
//! two: `try` has one of its own ([`crate::demo::protocol`]), and `probe` that of the doctor.

use hugewise_base::stats::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// Arguments of hugewise before the name of a workload.
pub const COMMAND: [&str; 2] = ["lab", "workload"];

/// What a workload is asked to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Request {
    /// Work for so many seconds.
    Measure(f64),
    /// Only read memory at random, for so many seconds.
    Access(f64),
    /// Only map small pieces, touch and unmap them, for so many seconds.
    Faults(f64),
    /// Give back so many percent of the memory, in random pieces; nothing is read after that.
    Free(u8),
    /// Compare all data with what was written.
    Verify,
    /// The second phase of a kind that has one.
    Change,
    /// Give everything back, and stay.
    Release,
    /// Flip one bit, so that a test sees `Verify` find it.
    Corrupt,
    /// Drop pages (`MADV_DONTNEED`).
    Drop(Span),
    /// Write pages, as they were filled at first.
    Touch(Span),
    /// Fork a child that shares all memory and does nothing.
    Fork,
    /// End that child.
    EndChild,
    /// Become a fresh copy of this program in a new address space.
    Exec,
    /// End.
    Exit,
}

/// A part of a workload's memory, whole base pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where it begins, MiB from the begin of the memory.
    pub offset_mib: usize,
    /// Its length, KiB.
    pub len_kib: usize,
}

impl Request {
    /// As a line, without its end.
    pub fn line(self) -> String {
        match self {
            Self::Measure(seconds) => format!("measure {seconds}"),
            Self::Access(seconds) => format!("access {seconds}"),
            Self::Faults(seconds) => format!("faults {seconds}"),
            Self::Free(percent) => format!("free {percent}"),
            Self::Verify => "verify".into(),
            Self::Change => "change".into(),
            Self::Release => "release".into(),
            Self::Corrupt => "corrupt".into(),
            Self::Drop(span) => format!("drop {} {}", span.offset_mib, span.len_kib),
            Self::Touch(span) => format!("touch {} {}", span.offset_mib, span.len_kib),
            Self::Fork => "fork".into(),
            Self::EndChild => "end-child".into(),
            Self::Exec => "exec".into(),
            Self::Exit => "exit".into(),
        }
    }

    /// From a line.
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let span = |offset: &str, len: &str| {
            Some(Span { offset_mib: offset.parse().ok()?, len_kib: len.parse().ok()? })
        };
        match words[..] {
            ["measure", word] => seconds(word).map(Self::Measure),
            ["access", word] => seconds(word).map(Self::Access),
            ["faults", word] => seconds(word).map(Self::Faults),
            ["free", word] => word.parse().ok().filter(|percent| *percent <= 100).map(Self::Free),
            ["verify"] => Some(Self::Verify),
            ["change"] => Some(Self::Change),
            ["release"] => Some(Self::Release),
            ["corrupt"] => Some(Self::Corrupt),
            ["drop", offset, len] => span(offset, len).map(Self::Drop),
            ["touch", offset, len] => span(offset, len).map(Self::Touch),
            ["fork"] => Some(Self::Fork),
            ["end-child"] => Some(Self::EndChild),
            ["exec"] => Some(Self::Exec),
            ["exit"] => Some(Self::Exit),
            _ => None,
        }
    }
}

/// A time; a day is more than any experiment asks for, and fits every clock.
fn seconds(word: &str) -> Option<f64> {
    word.parse().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds))
}

/// What a workload found: metrics by name (see `hugewise_experiment::metric`), and more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Metrics; one that is unknown is not there.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
    /// Durations, nanoseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, Histogram>,
    /// Rates while it measured: seconds since the begin, and operations a second until then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<(f64, f64)>>,
    /// What a reader of the numbers has to know, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where the parts of its memory are, by name, for who looks at them from outside.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Range<u64>>,
}

/// What a workload says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// Its memory is filled. Said once, unasked.
    Ready(Report),
    /// It is busy. Said now and then before any other event.
    Progress {
        /// Done, percent.
        percent: f64,
        /// With what.
        text: String,
    },
    /// The answer to [`Request::Measure`], [`Request::Access`] and [`Request::Faults`].
    Measured(Report),
    /// The answer to [`Request::Change`] and [`Request::Free`].
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
        /// The request during which it showed, and where, if that is known.
        during: String,
    },
    /// The answer to [`Request::Drop`].
    Dropped {
        /// Base pages.
        pages: usize,
    },
    /// The answer to [`Request::Touch`].
    Touched {
        /// Base pages.
        pages: usize,
    },
    /// The answer to [`Request::Fork`].
    Forked {
        /// The child.
        pid: u32,
    },
    /// The answer to [`Request::EndChild`].
    ChildEnded {
        /// Whether there was one.
        existed: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_line() {
        let all = [
            Request::Measure(0.25),
            Request::Access(0.4),
            Request::Faults(1.0),
            Request::Free(70),
            Request::Verify,
            Request::Change,
            Request::Release,
            Request::Corrupt,
            Request::Drop(Span { offset_mib: 2, len_kib: 8 }),
            Request::Touch(Span { offset_mib: 0, len_kib: 4 }),
            Request::Fork,
            Request::EndChild,
            Request::Exec,
            Request::Exit,
        ];
        for request in all {
            assert_eq!(Request::parse(&request.line()), Some(request));
        }
        for wrong in [
            "",
            "measure",
            "measure -1",
            "measure NaN",
            "measure 1 2",
            "access",
            "faults x",
            "free 101",
            "verify now",
            "drop 1",
            "drop -1 4",
        ] {
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
            series: BTreeMap::default(),
            notes: vec!["KSM is off.".into()],
            parts: BTreeMap::from([("dense".into(), 4096..8192)]),
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
