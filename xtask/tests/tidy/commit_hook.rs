//! The hook that checks commit messages (`make hooks`).

use hugewise_scratch::Scratch;
use std::fs;
use std::process::{Command, Output};
use xtask::workspace_root;

fn run(message: &str) -> Output {
    let folder = Scratch::new();
    let file = folder.path().join("COMMIT_EDITMSG");
    fs::write(&file, message).expect("written");
    let mut hook = Command::new(workspace_root().join(".githooks/commit-msg"));
    hook.arg(file).output().expect("the hook is executable, and sh runs")
}

#[test]
fn good_messages_pass() {
    let longest = "x".repeat(72);
    let letters = "é".repeat(72);
    for message in [
        "Say why a region stays small",
        "Say why a region stays small\n\nThe key alone did not help.\n",
        "# a comment\n\nSay why a region stays small\n# another\n\nA reason.\n",
        "Read v1.2 files\n\n# --- >8 ---\nno empty line here.\nnor here",
        &longest,
        &letters,
        &format!("fixup! {longest}"),
    ] {
        let done = run(message);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.is_empty(), "{message:?}: {said}");
    }
}

#[test]
fn bad_messages_are_refused() {
    let long = "x".repeat(73);
    let letters = "é".repeat(73);
    for (message, fault) in [
        (long.as_str(), "the subject has 73 characters: 72 at most"),
        (&letters, "the subject has 73 characters: 72 at most"),
        ("Say why.", "ends with a full stop"),
        ("Say why. \n\nA reason.", "ends with a full stop"),
        ("Say why\nA reason.", "the second line is not empty"),
        ("# only a comment\n\n", "it is empty"),
        ("", "it is empty"),
    ] {
        let done = run(message);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(!done.status.success() && said.contains(fault), "{message:?}: {said}");
    }
    let all = run(&format!("{long}.\nA reason."));
    assert_eq!(String::from_utf8_lossy(&all.stderr).lines().count(), 3, "every fault at once");
}
