//! What a question is, and how the table of them is written down.

use crate::diagnose::answer::Answer;
use crate::diagnose::cause::Cause;
use crate::diagnose::look::Look;
use crate::diagnose::threshold::Threshold as T;

/// A question of the tree.
#[derive(Clone, Copy, Debug)]
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
    pub limits: &'static [T],
    /// What a yes means, unless a question below says it better.
    pub cause: Option<Cause>,
    /// Answers it.
    pub test: fn(&Look<'_>) -> Answer,
}

macro_rules! nodes {
    ($($id:literal < $parent:expr, $question:literal, $how:literal, [$($limit:ident)*],
        $cause:expr, $test:path;)*) => {
        /// All questions: parents before their children, in the order in which they are asked.
        pub const ALL: &[Node] = &[$(Node {
            id: $id,
            parent: $parent,
            question: $question,
            how: $how,
            limits: &[$(T::$limit,)*],
            cause: $cause,
            test: $test,
        },)*];
    };
}
