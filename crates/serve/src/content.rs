//! What is asked, and what is answered.

use serde::{Deserialize, Serialize};

/// Where answers come from. It is asked for one thing at a time, in a thread of its own.
pub trait Content: Send + 'static {
    /// The answer. It may take some seconds; whoever waits longer is told to come again.
    fn answer(&mut self, question: &Question) -> Reply;
}

/// What can be asked. Nothing else of a request reaches the content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// Machine, manager and programs.
    Status(Wanted),
    /// The address space of a process, as it is now.
    Map {
        /// Its id.
        pid: u32,
    },
    /// The moments that were recorded.
    History,
    /// Why the machine was slow before a moment that was recorded.
    Findings {
        /// The moment, in milliseconds since 1970-01-01 UTC.
        at_ms: i64,
    },
    /// Where the CPU time went before a moment that was recorded, by chain of calls.
    Flame {
        /// The moment, in milliseconds since 1970-01-01 UTC.
        at_ms: i64,
    },
    /// What a manager wrote down.
    Journal(Search),
    /// Metrics.
    Metrics {
        /// In OpenMetrics, not in the text of Prometheus.
        open: bool,
    },
}

/// Which moment, and which of its programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The moment that was recorded, in milliseconds since 1970-01-01 UTC; `None`: now.
    pub at_ms: Option<i64>,
    /// The field that they are sorted by.
    pub sort: Option<String>,
    /// What they must be, as `hugewise status --filter` takes it.
    pub filter: Option<String>,
}

/// Which records of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// Those of this process; `None`: all.
    pub pid: Option<u32>,
    /// Those with this text, in small or capital letters.
    pub text: Option<String>,
    /// Those before this moment, in milliseconds since 1970-01-01 UTC; `None`: until now.
    pub at_ms: Option<i64>,
}

/// How an answer is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// JSON.
    Json,
    /// Plain text, for people.
    Text,
    /// The text that Prometheus reads, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// This is the answer.
    Done,
    /// There is no such process, or no such moment.
    Absent,
    /// The question makes no sense.
    Wrong,
    /// It cannot be answered now.
    Unavailable,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What became of the question.
    pub verdict: Verdict,
    /// How to read the body.
    pub kind: Kind,
    /// The answer, or why there is none.
    pub body: String,
}

impl Reply {
    /// The answer as JSON.
    pub fn json(body: String) -> Self {
        Self { verdict: Verdict::Done, kind: Kind::Json, body }
    }

    /// Why there is none, a sentence.
    pub fn none(verdict: Verdict, why: &str) -> Self {
        Self { verdict, kind: Kind::Text, body: format!("{why}\n") }
    }
}
