//! What an explanation is: a cause with its question, what judges it, and what to do.

use super::cause::{About, Cause, Severity};
use super::node::{Node, Test};
use super::remedy::Remedy;
use super::threshold::Threshold as T;

/// A cause with everything about it.
pub(super) struct Explanation {
    /// What a yes means.
    pub(super) cause: Cause,
    /// How bad it is by itself.
    pub(super) severity: Severity,
    /// The cause in one sentence.
    pub(super) title: &'static str,
    /// The name of the question.
    pub(super) id: &'static str,
    /// The question, in words.
    pub(super) question: &'static str,
    /// How it is answered.
    pub(super) how: &'static str,
    /// The thresholds that decide.
    pub(super) limits: &'static [T],
    /// What follows from it where both are found on one machine.
    pub(super) leads_to: &'static [Cause],
    /// What to do, the smallest reach first.
    pub(super) remedies: &'static [Remedy],
    /// Answers the question.
    pub(super) judge: Test,
}

impl Explanation {
    /// Its question as one of the tree.
    pub(super) fn node(&self) -> Node {
        Node {
            id: self.id,
            parent: None,
            question: self.question,
            how: self.how,
            limits: self.limits.to_vec(),
            cause: Some(self.cause),
            test: self.judge,
        }
    }

    /// What is said about its cause.
    pub(super) fn about(&self) -> About {
        About {
            key: self.cause.key(),
            severity: self.severity,
            title: self.title,
            remedies: self.remedies,
        }
    }
}
