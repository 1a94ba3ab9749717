//! The reference pages are made from the program and must be up to date.
//!
//! `HUGEWISE_UPDATE_GOLDEN=1 cargo test -p hugewise --test reference` writes them anew.

#![forbid(unsafe_code)]

#[path = "reference/config.rs"]
mod config;
#[path = "reference/lab.rs"]
mod lab;

use hugewise_evidence::hugetlb::demand::LeftOutReason;
use hugewise_evidence::hugetlb::warning::WarningKind;
use hugewise_manager::reason::{Limit, SkipReason};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const COMMANDS: [&str; 24] = [
    "doctor",
    "try",
    "status",
    "map",
    "manage",
    "pause",
    "resume",
    "revert",
    "replay",
    "diagnose",
    "hugetlb plan",
    "hugetlb apply",
    "hugetlb verify",
    "hugetlb revert",
    "lab list",
    "lab setup",
    "lab run",
    "lab report",
    "lab compare",
    "capture",
    "config show",
    "config check",
    "journal score",
    "workload",
];

fn check(file: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(file);
    if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, wanted).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/reference/{file} is out of date: run HUGEWISE_UPDATE_GOLDEN=1 cargo test -p \
         hugewise --test reference"
    );
}

fn output(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_hugewise"))
        .args(arguments)
        // The width of help must not follow the terminal of whoever runs the test.
        .env("COLUMNS", "90")
        .output()
        .expect("the program runs");
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("help is UTF-8");
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn commands() {
    let mut page = String::from(
        "# Commands\n\nMade from the program; do not edit. Exit codes: 0 nothing found or done, \
         1 error or unreadable\ninput, 2 usage, 3 findings of warning level, 4 critical findings, \
         5 partial (data or features\nmissing), 6 the whole command refused by a safety rule.\n\n\
         A reader that has gone (`| head`) ends no work and changes no exit code: `manage` and \
         `lab run` go on\nto their end and put their settings back. Output that cannot be written, \
         as on a full disk, is error 1.\n",
    );
    let all = std::iter::once("").chain(COMMANDS);
    for command in all {
        let mut words: Vec<&str> = command.split_whitespace().collect();
        words.push("--help");
        let title = format!("hugewise {command}");
        let _ = write!(page, "\n## {}\n\n```text\n{}\n```\n", title.trim(), output(&words).trim());
    }
    check("commands.md", &page);
}

#[test]
fn reasons() {
    let mut page = String::from(
        "# Reasons\n\nMade from the program; do not edit. Everything that is left small, left \
         alone or made to wait\ncarries one of these keys in the journal, in JSON and in \
         `hugewise status`.\n\n| key | meaning | what you can do |\n|---|---|---|\n",
    );
    for reason in SkipReason::ALL {
        let (means, remedy) = reason.text();
        let _ = writeln!(page, "| `{reason}` | {means} | {remedy} |");
    }
    page += "\n## Limits\n\nA program whose regions do become huge, but not all at once, shows \
             what paces it.\n\n| `status` | meaning | key that sets it |\n|---|---|---|\n";
    for limit in Limit::ALL {
        let key = limit.config_key();
        let short = key.rsplit('.').next().unwrap_or(key);
        let _ = writeln!(page, "| `{short}` | {} | `{key}` |", limit.text());
    }
    check("reasons.md", &page);
}

#[test]
fn hugetlb() {
    let mut page = String::from(
        "# Warnings and reasons of `hugewise hugetlb`\n\nMade from the program; do not edit. How \
         to use the command: [how-to](../how-to/hugetlb.md).\n\n## Warnings of a plan\n\n| key | \
         meaning | what you can do | `apply` |\n|---|---|---|---|\n",
    );
    for kind in WarningKind::ALL {
        let (key, (means, remedy)) = (kind.key(), kind.text());
        let apply = if kind.refuses() { "refuses" } else { "goes on" };
        let _ = writeln!(page, "| `{key}` | {means} | {remedy} | {apply} |");
    }
    page.push_str(
        "\n## Why memory is not planned for\n\n| key | meaning | what you can do |\n\
         |---|---|---|\n",
    );
    for reason in LeftOutReason::ALL {
        let (key, (means, remedy)) = (reason.key(), reason.text());
        let _ = writeln!(page, "| `{key}` | {means} | {remedy} |");
    }
    check("hugetlb.md", &page);
}

#[test]
fn lab() {
    let list = serde_json::from_str(&output(&["lab", "list", "--json"])).expect("JSON");
    check("lab.md", &lab::page(&list));
}

#[test]
fn defaults() {
    // A root without files: nothing but defaults. The explicit empty file keeps /etc out of it.
    let dir = Path::new("/root");
    let dir = if dir.is_dir() { dir.to_path_buf() } else { std::env::temp_dir() };
    let empty = dir.join(format!(".hugewise-empty-{}.toml", std::process::id()));
    std::fs::write(&empty, "").expect("a file can be written");
    let shown = output(&["manage", "config", "show", "--config", &empty.display().to_string()]);
    std::fs::remove_file(&empty).expect("and removed");
    check("config.md", &config::page(&shown));
}
