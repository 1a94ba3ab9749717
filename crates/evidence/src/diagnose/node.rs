//! What a question is.

use super::answer::Answer;
use super::cause::Cause;
use super::context::Context;
use super::threshold::Threshold as T;

/// What answers a question.
pub(super) type Test = fn(&Context<'_>) -> Answer;

/// A question of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name: for `--explain`, JSON and documents.
    pub id: &'static str,
    /// The node whose yes, or unknown, leads here; `None`: asked always.
    pub parent: Option<&'static str>,
    /// The question, in words.
    pub question: &'static str,
    /// How it is answered.
    pub how: &'static str,
    /// The thresholds that decide.
    pub limits: Vec<T>,
    /// What a yes means, unless a question below says it better.
    pub cause: Option<Cause>,
    /// Answers it.
    pub test: Test,
}
