//! All questions: those of `data/questions.tsv`, and the explanations, which have theirs beside
//! their tests; and what is said about each cause.

use std::sync::LazyLock;

use super::cause::{About, Cause};
use super::explain;
use super::explanation::Explanation;
use super::node::Node;
use super::nodes::TESTS;
use super::remedy;
use super::threshold::Threshold as T;
use crate::table::{Row, table};

/// All questions: parents before their children, in the order in which they are asked.
pub static ALL: LazyLock<Vec<Node>> = LazyLock::new(|| {
    let mut all = table!("questions.tsv").about(
        TESTS,
        |(id, _)| id,
        |row, (id, test)| {
            let [_, parent, cause, question, how, limits] = row.fields();
            let limit = |key: &str| row.one_of(T::ALL, T::key, key);
            Node {
                id,
                parent: (parent != "-").then_some(parent),
                question,
                how,
                limits: limits.split(' ').filter(|key| *key != "-").map(limit).collect(),
                cause: (cause != "-").then(|| row.one_of(Cause::ALL, Cause::key, cause)),
                test,
            }
        },
    );
    all.extend(explain::all::ALL.iter().map(|explanation| explanation.node()));
    all
});

/// The question of that name.
pub fn find(id: &str) -> Option<&'static Node> {
    ALL.iter().find(|node| node.id == id)
}

static ABOUT: LazyLock<Vec<About>> = LazyLock::new(|| {
    let listed: Vec<Cause> =
        Cause::ALL.iter().copied().filter(|cause| explanation(*cause).is_none()).collect();
    let mut rows = table!("causes.tsv").about(&listed, Cause::key, about).into_iter();
    let said = |cause: &Cause| match explanation(*cause) {
        Some(explanation) => Some(explanation.about()),
        None => rows.next(),
    };
    Cause::ALL.iter().filter_map(said).collect()
});

fn explanation(cause: Cause) -> Option<&'static Explanation> {
    explain::all::ALL.iter().copied().find(|explanation| explanation.cause == cause)
}

fn about(row: &Row, _: Cause) -> About {
    let [key, severity, ladder, title] = row.fields();
    let remedies = remedy::ladder(ladder);
    let remedies = remedies.unwrap_or_else(|| row.refuse("no such ladder of remedies"));
    About { key, severity: row.word(severity), title, remedies }
}

impl Cause {
    /// What is said about it.
    pub fn about(self) -> About {
        ABOUT[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_somebodys_and_has_remedies() {
        for cause in Cause::ALL {
            let about = cause.about();
            assert_eq!(about.key, cause.key());
            assert!(ALL.iter().any(|node| node.cause == Some(*cause)), "{}", about.key);
            assert!(!about.remedies.is_empty(), "{}", about.key);
            let reaches: Vec<_> = about.remedies.iter().map(|remedy| remedy.reach).collect();
            assert!(reaches.is_sorted(), "{}: the smallest reach comes first", about.key);
        }
        let mut keys: Vec<&str> = Cause::ALL.iter().map(|cause| cause.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), Cause::ALL.len());
    }

    #[test]
    fn every_ladder_is_one_of_a_cause() {
        for (name, ladder) in remedy::ladders() {
            let used = |cause: &Cause| std::ptr::eq(cause.about().remedies, ladder);
            assert!(Cause::ALL.iter().any(used), "{name}");
        }
    }

    #[test]
    fn the_table_is_a_tree() {
        for (index, node) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.id != node.id), "{} twice", node.id);
            let parent_before = node
                .parent
                .is_none_or(|parent| ALL[..index].iter().any(|other| other.id == parent));
            assert!(parent_before, "{}: its parent comes later or not at all", node.id);
            assert!(node.question.ends_with('?'), "{}", node.id);
        }
    }

    #[test]
    fn every_threshold_is_of_a_question() {
        let listed = |limit: &&T| ALL.iter().any(|node| node.limits.contains(limit));
        let alone: Vec<&T> = T::ALL.iter().filter(|limit| !listed(limit)).collect();
        // These decide how bad a finding is, what is ruled out and what starts a capture, not
        // whether it is one.
        assert_eq!(alone, [&T::CloseShare, &T::KernelCritical, &T::WatchJump]);
    }
}
