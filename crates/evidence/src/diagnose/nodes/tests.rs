//! Whether the table of questions is a tree, and whole.

use super::*;

#[test]
fn the_table_is_a_tree() {
    for (index, node) in ALL.iter().enumerate() {
        assert!(ALL[..index].iter().all(|other| other.id != node.id), "{} twice", node.id);
        let parent_before =
            node.parent.is_none_or(|parent| ALL[..index].iter().any(|other| other.id == parent));
        assert!(parent_before, "{}: its parent comes later or not at all", node.id);
        assert!(node.question.ends_with('?'), "{}", node.id);
    }
}

#[test]
fn every_threshold_is_of_a_question() {
    let listed = |limit: &&T| ALL.iter().any(|node| node.limits.contains(limit));
    let alone: Vec<&T> = T::ALL.iter().filter(|limit| !listed(limit)).collect();
    // These decide how bad a finding is, what is ruled out and what begins a look, not
    // whether it is one.
    assert_eq!(alone, [&T::CloseShare, &T::KernelCritical, &T::WatchJump]);
}
