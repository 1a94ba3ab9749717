//! Where output goes that nobody takes: a reader that has gone ends a command quietly, a full disk
//! is an error that says so, and neither cuts short what a manager does.

use hugewise_scratch::Scratch;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Every way to what a command says: text and JSON, findings, an explanation, a list, the help.
const COMMANDS: [&[&str]; 13] = [
    &["--help"],
    &["--version"],
    &["diagnose", "--rules"],
    &["doctor"],
    &["doctor", "--json"],
    &["status", "--json"],
    &["manage", "config", "show"],
    &["manage", "config", "check"],
    &["lab", "list"],
    &["lab", "setup", "gups", "--json"],
    &["diagnose", "RECORDING"],
    &["diagnose", "--json", "RECORDING"],
    &["diagnose", "--explain", "kernel"],
];

fn hugewise(arguments: &[&str]) -> Command {
    let recording =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../evidence/tests/recordings/made/003.txt");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    for argument in arguments {
        match *argument {
            "RECORDING" => command.arg(&recording),
            other => command.arg(other),
        };
    }
    command.stdin(Stdio::null());
    command
}

/// The writing end of a pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn full() -> Stdio {
    std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full").into()
}

fn said(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn a_reader_that_has_gone_ends_a_command_quietly() {
    for arguments in COMMANDS {
        let wanted = hugewise(arguments).output().expect("it runs");
        assert!(!wanted.stdout.is_empty(), "{arguments:?} says nothing");
        let done = hugewise(arguments).stdout(closed()).output().expect("it runs");
        assert_eq!(done.status.code(), wanted.status.code(), "{arguments:?}: {}", said(&done));
        assert_eq!(said(&done), said(&wanted), "{arguments:?}");
    }
}

/// Everything fits a narrow terminal but commands, which are there to be copied.
#[test]
fn a_narrow_terminal_is_filled_and_not_exceeded() {
    let pid = std::process::id().to_string();
    for arguments in [
        &["doctor"][..],
        &["status"],
        &["status", "--map", &pid],
        &["hugetlb", "plan", "--sga", "100M", "--java", "-Xmx100m"],
        &["diagnose", "--full", "RECORDING"],
        &["diagnose", "--explain", "kernel"],
        &["lab", "setup", "gups", "--quick"],
    ] {
        for colour in ["never", "always"] {
            let mut command = hugewise(arguments);
            let done = command.env("COLUMNS", "60").args(["--color", colour]).output();
            let text = String::from_utf8(done.expect("it runs").stdout).expect("text");
            assert!(!text.is_empty(), "{arguments:?} says nothing");
            for line in text.lines() {
                let mut bare = String::new();
                let mut rest = line;
                while let Some((before, painted)) = rest.split_once("\x1b[") {
                    bare.push_str(before);
                    rest = painted.split_once('m').map_or("", |(_, after)| after);
                }
                bare.push_str(rest);
                let words = bare.trim_start().trim_start_matches("$ ");
                let is_command = bare.starts_with(' ')
                    && (bare.trim_start().starts_with('$') || words.starts_with("hugewise "));
                let wide = bare.chars().count();
                // The path of a file stays in one piece.
                let is_word = !bare.trim_start().contains(' ');
                assert!(
                    wide <= 60 || is_command || is_word,
                    "{arguments:?}: {wide} columns: {bare}"
                );
            }
        }
    }
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    for arguments in COMMANDS {
        let done = hugewise(arguments).stdout(full()).output().expect("it runs");
        let wanted = "hugewise: cannot write to standard output: No space left on device\n";
        assert_eq!(said(&done), wanted, "{arguments:?}");
        assert_eq!(done.status.code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn nobody_who_reads_errors_changes_no_exit_code() {
    for (arguments, code) in
        [(&["manage", "replay", "/nowhere"][..], 1), (&["lab", "list", "nothing"], 2)]
    {
        for stderr in [closed(), full()] {
            let done = hugewise(arguments).stderr(stderr).output().expect("it runs");
            assert_eq!(done.status.code(), Some(code), "{arguments:?}");
        }
    }
}

/// Runs a manager for a second, and returns how it ended with what its journal says last.
fn managed(stdout: Stdio, stderr: Stdio) -> (Option<i32>, String) {
    let scratch = Scratch::new();
    let folder = scratch.display().to_string();
    let pid = std::process::id().to_string();
    let arguments = ["manage", "--mode", "observe", "--for", "1s", "--pid", &pid];
    let mut command = hugewise(&arguments);
    command.args(["--state-dir", &folder, "--run-dir", &folder]);
    let status = command.stdout(stdout).stderr(stderr).status().expect("it runs");
    let journal = std::fs::read_to_string(scratch.join("journal.jsonl")).expect("a journal");
    (status.code(), journal.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn a_manager_goes_on_to_its_end_whoever_reads() {
    for (name, stdout, stderr, code) in [
        ("read", Stdio::piped(), Stdio::piped(), 0),
        ("closed", closed(), closed(), 0),
        ("full", full(), full(), 1),
    ] {
        let (found, last) = managed(stdout, stderr);
        assert_eq!(found, Some(code), "{name}: {last}");
        assert!(last.contains("the time is over"), "{name}: {last}");
    }
}
