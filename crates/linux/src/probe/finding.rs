//! What a probe can say of a mechanism, before it is joined with the table.

use crate::root::Root;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// Whether a mechanism is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "why", rename_all = "snake_case")]
pub enum State {
    /// It is there, and where a child could show it, it works.
    Present,
    /// This kernel does not have it; says how that was found.
    Absent(String),
    /// The kernel may have it, but we may not use it; says who refused.
    Refused(String),
    /// Could not be found out; says why.
    Unknown(String),
}

/// How much `hugewise manage` needs something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Its default mode cannot work without.
    Required,
    /// Works without, and less well.
    Useful,
    /// Seen and told for context only.
    Unused,
}

/// What one probe found out, before it is joined with the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) state: State,
    pub(super) detail: Option<String>,
}

impl Finding {
    pub(super) fn present() -> Self {
        Self { state: State::Present, detail: None }
    }

    pub(super) fn with(detail: impl Into<String>) -> Self {
        Self { state: State::Present, detail: Some(detail.into()) }
    }

    pub(super) fn absent(why: impl Into<String>) -> Self {
        Self { state: State::Absent(why.into()), detail: None }
    }

    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self { state: State::Refused(why.into()), detail: None }
    }

    pub(super) fn unknown(why: impl Into<String>) -> Self {
        Self { state: State::Unknown(why.into()), detail: None }
    }
}

pub(super) type Findings = BTreeMap<&'static str, Finding>;

/// An error as [`hugewise_sys::Errno`] shows it; in words where it has no number that we know.
pub(super) fn named(error: &io::Error) -> String {
    let errno = error.raw_os_error().map(hugewise_sys::Errno);
    match errno {
        Some(errno) if errno.name() != "E?" => errno.to_string(),
        _ => error.to_string(),
    }
}

/// A directory that must be there for the absence of something below it to mean anything.
pub(super) fn absent(root: &Root, witness: &str, why: &str) -> Finding {
    if root.has(witness) {
        Finding::absent(why)
    } else {
        Finding::unknown(format!("/{witness} is missing: not mounted, or not captured"))
    }
}
