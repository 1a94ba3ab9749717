//! What a node of the tree says: yes, no or unknown, and from what it knows.

use serde::Serialize;

use super::interval::{INTERVALS_MAX, Interval, disjoint, fewer};
use super::remedy::Remedy;
use crate::recording::{Field, SourceId};

/// The answer to a node's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is so, at least for a time.
    Yes,
    /// It was examined and is not so.
    No,
    /// No source says.
    Unknown,
}

/// How a piece of evidence is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    /// The value stands in a source.
    Observed,
    /// Computed from values that do.
    Derived,
    /// Taken to be so; could be otherwise.
    Assumed,
}

/// A quoted observation, or what follows from some.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// How it is known.
    pub ground: Ground,
    /// The sentence, values and times included.
    pub text: String,
    /// Where it stands: index into the diagnosis's sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceId>,
    /// What it is about, where that is one quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Field>,
    /// Whose quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The value in the field's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Interval>,
}

impl Evidence {
    /// Something that follows from values quoted beside it.
    pub(crate) fn derived(text: impl Into<String>) -> Self {
        Self::plain(Ground::Derived, text.into())
    }

    /// Something that is taken to be so.
    pub(crate) fn assumed(text: impl Into<String>) -> Self {
        Self::plain(Ground::Assumed, text.into())
    }

    /// A sentence without a single value.
    pub(crate) const fn plain(ground: Ground, text: String) -> Self {
        Self { ground, text, source: None, field: None, subject: None, value: None, at: None }
    }
}

/// What no source said, and how to get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Missing {
    /// What is not known.
    pub what: &'static str,
    /// The command that records it.
    pub command: &'static str,
}

/// The answer of one node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Yes, no or unknown.
    pub verdict: Verdict,
    /// From what it is known: for a yes what speaks for it, for a no what speaks against.
    pub evidence: Vec<Evidence>,
    /// When it was so; empty where the sources have no times or it is no matter of time.
    pub intervals: Vec<Interval>,
    /// Times of the question for which no source has values.
    pub blind: Vec<Interval>,
    /// What was not observed.
    pub missing: Vec<Missing>,
    /// How much it matters, 0 to 1: for a yes the share of a CPU, a disk or memory concerned.
    pub weight: f64,
    /// For a yes: nothing suffers from it now, as far as the sources tell. It is a note then.
    #[serde(skip)]
    pub mild: bool,
    /// For a yes: steps that mend just this, in place of those of its ladder that change something.
    #[serde(skip)]
    pub mended_by: Vec<Remedy>,
    /// For a no: too near to the limit, or from too little, to rule anything out.
    pub close: bool,
}

impl Answer {
    fn new(verdict: Verdict, evidence: Vec<Evidence>) -> Self {
        let (intervals, blind, missing) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            verdict,
            evidence,
            intervals,
            blind,
            missing,
            weight: 0.0,
            mild: false,
            mended_by: Vec::new(),
            close: false,
        }
    }

    /// It is so.
    pub(crate) fn yes(weight: f64, evidence: Vec<Evidence>) -> Self {
        let weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 0.0 };
        Self { weight, ..Self::new(Verdict::Yes, evidence) }
    }

    /// Yes of this weight where it is so, else no.
    pub(crate) fn when(so: bool, weight: f64, evidence: Vec<Evidence>) -> Self {
        if so { Self::yes(weight, evidence) } else { Self::no(evidence) }
    }

    /// More evidence where it says yes.
    pub(crate) fn backed(self, more: impl IntoIterator<Item = Evidence>) -> Self {
        if self.is_yes() { self.and(more) } else { self }
    }

    /// Close where it says no.
    pub(crate) fn or_close(self, close: bool) -> Self {
        let no = matches!(self.verdict, Verdict::No);
        if no { self.if_close(close) } else { self }
    }

    /// It is not so.
    pub(crate) fn no(evidence: Vec<Evidence>) -> Self {
        Self::new(Verdict::No, evidence)
    }

    /// No source says.
    pub(crate) fn unknown(missing: &[Missing]) -> Self {
        Self { missing: missing.to_vec(), ..Self::new(Verdict::Unknown, Vec::new()) }
    }

    /// With the times in which it was so.
    pub(crate) fn during(mut self, intervals: Vec<Interval>) -> Self {
        let all = disjoint(intervals);
        if all.len() > INTERVALS_MAX {
            self.evidence.push(Evidence::derived(format!(
                "in {} stretches of time: told as {INTERVALS_MAX}, the nearest ones as one",
                all.len()
            )));
        }
        self.intervals = fewer(all);
        self
    }

    /// With what else was not observed.
    pub(crate) fn lacking(mut self, missing: &[Missing]) -> Self {
        self.missing.extend_from_slice(missing);
        self
    }

    /// As it is, but ruling nothing out where `close`.
    pub(crate) const fn if_close(mut self, close: bool) -> Self {
        self.close = close;
        self
    }

    /// As it is, but no more than a note where `mild`.
    pub(crate) const fn mild(mut self, mild: bool) -> Self {
        self.mild = mild;
        self
    }

    /// With the steps that mend just this.
    pub(crate) fn mended_by(mut self, steps: Vec<Remedy>) -> Self {
        self.mended_by = steps;
        self
    }

    /// Whether it is measured not to be so, with a margin.
    pub(crate) const fn rules_out(&self) -> bool {
        matches!(self.verdict, Verdict::No) && !self.close
    }

    /// With one more piece of evidence, if there is one.
    pub(crate) fn and(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Whether it is so.
    pub const fn is_yes(&self) -> bool {
        matches!(self.verdict, Verdict::Yes)
    }
}
