//! What is said of a log.

use serde::Serialize;

use crate::recording::{SourceId, Stamp};

/// What a summary says of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// Something was refused.
    Refused,
    /// Something was waited for in vain.
    TimedOut,
    /// Something is full or used up.
    Full,
    /// Lines whose level is an error.
    Errors,
    /// The longest duration that a message has.
    Slow,
    /// Nothing was written for long.
    Silence,
    /// Most of the lines of a message stand within a short time.
    Burst,
    /// A message that came all the time stops.
    Stops,
    /// A message comes all the time from some time on.
    Appears,
}

impl Observed {
    /// In a word or two.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed out",
            Self::Full => "full",
            Self::Errors => "errors",
            Self::Slow => "longest",
            Self::Silence => "silence",
            Self::Burst => "burst",
            Self::Stops => "stops",
            Self::Appears => "appears",
        }
    }

    /// Whether it says that something did not work.
    pub const fn is_trouble(self) -> bool {
        matches!(self, Self::Refused | Self::TimedOut | Self::Full | Self::Errors)
    }
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Disks and files.
    Storage,
    /// Connections.
    Network,
    /// Memory.
    Memory,
}

/// Something that stands out in a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// What it is.
    pub what: Observed,
    /// The message, `*` for what differs; `None` of a silence. What may be a secret is left out.
    pub message: Option<String>,
    /// How many lines have it.
    pub lines: u64,
    /// The first of them, from 1; of a silence the first line of the log.
    pub line: usize,
    /// When the first and the last one were written; of a burst about when it began and ended.
    pub first: Option<Stamp>,
    /// See `first`.
    pub last: Option<Stamp>,
    /// What it is about, where its words say so.
    pub topic: Option<Topic>,
    /// The longest duration, in milliseconds.
    pub longest_ms: Option<f64>,
    /// The address or path that the first of them names.
    pub object: Option<String>,
}

/// A log as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogSummary {
    /// Where it stands.
    pub source: SourceId,
    /// Its lines.
    pub lines: u64,
    /// How many different messages it has.
    pub messages: usize,
    /// The first time.
    pub first: Option<Stamp>,
    /// The last time.
    pub last: Option<Stamp>,
    /// What stands out, the most important first.
    pub observations: Vec<Observation>,
}
