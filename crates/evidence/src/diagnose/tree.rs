//! Walks the tree: asks, and remembers what was asked, answered and left out.

use std::collections::BTreeMap;

use serde::Serialize;

use super::answer::{Answer, Verdict};
use super::context::Context;
use super::interval::{Interval, apart};
use super::node::Node;
use super::questions::{ALL, find};

/// A question that was asked, or why not.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// The node's name.
    pub id: &'static str,
    /// The node above it.
    pub parent: Option<&'static str>,
    /// The question.
    pub question: &'static str,
    /// Steps from the top.
    pub depth: usize,
    /// The answer; `None`: not asked, because the question above was answered no.
    pub answer: Option<Answer>,
}

impl Asked {
    /// Whether it was answered yes.
    pub fn is_yes(&self) -> bool {
        self.answer.as_ref().is_some_and(Answer::is_yes)
    }

    /// Whether it was asked and answered with this.
    pub fn is(&self, verdict: Verdict) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.verdict == verdict)
    }

    /// The node.
    pub fn node(&self) -> Option<&'static Node> {
        find(self.id)
    }
}

/// Asks every question that the answers lead to, about one machine.
pub(super) fn walk(cx: &Context<'_>) -> Vec<Asked> {
    let mut asked: Vec<Asked> = Vec::with_capacity(ALL.len());
    // The times in question below each node: its own where it names some, else those it got.
    let mut times: BTreeMap<&str, Vec<Interval>> = BTreeMap::new();
    for node in ALL.iter() {
        let above = node.parent.and_then(|parent| asked.iter().find(|asked| asked.id == parent));
        let depth = above.map_or(0, |above| above.depth + 1);
        let leads_here = above.is_none_or(|above| {
            // An unknown does not end the search: what is below may still be seen.
            above.is(Verdict::Yes) || above.is(Verdict::Unknown)
        });
        let inherited = node.parent.and_then(|parent| times.get(parent)).cloned();
        let inherited = inherited.unwrap_or_default();
        let answer = leads_here.then(|| (node.test)(&Context { times: &inherited, ..*cx }));
        let own = answer.iter().flat_map(|a| a.intervals.iter().chain(&a.blind)).copied();
        let own: Vec<Interval> = apart(own.collect());
        times.insert(node.id, if own.is_empty() { inherited } else { own });
        asked.push(Asked {
            id: node.id,
            parent: node.parent,
            question: node.question,
            depth,
            answer,
        });
    }
    asked
}
