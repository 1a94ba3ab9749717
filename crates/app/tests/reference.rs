//! Tables of the reference pages are made from the program and must be up to date. Each stands in
//! its page between `<!-- made: NAME -->` and `<!-- end -->`; all around it is written by hand.
//!
//! `HUGEWISE_UPDATE_GOLDEN=1 cargo test -p hugewise --test host reference` writes them anew.

#[path = "reference/config.rs"]
mod config;
#[path = "reference/lab.rs"]
mod lab;

use hugewise_evidence::advice::book::Book;
use hugewise_evidence::hugetlb::demand::LeftOutReason;
use hugewise_evidence::hugetlb::warning::WarningKind;
use hugewise_manager::reason::{Limit, SkipReason};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A table's name in its page, and its lines.
type Made = (String, String);

fn check(file: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
    if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, wanted).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/{file} is out of date: run HUGEWISE_UPDATE_GOLDEN=1 cargo test -p \
         hugewise --test host reference"
    );
}

/// Compares the tables of a page; it has no others.
fn check_tables(file: &str, tables: &[Made]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
    let mut page = std::fs::read_to_string(path).expect("the page is readable");
    let name =
        |line: &'_ str| Some(line.strip_prefix("<!-- made: ")?.strip_suffix(" -->")?.to_owned());
    let marked: BTreeSet<String> = page.lines().filter_map(name).collect();
    let made: BTreeSet<String> = tables.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(marked, made, "marks of docs/{file}, and what is made for it");
    for (name, lines) in tables {
        let mark = format!("<!-- made: {name} -->\n");
        let start = page.find(&mark).expect("a mark") + mark.len();
        let length = page[start..].find("<!-- end -->").expect("its end");
        page.replace_range(start..start + length, &format!("\n{lines}\n"));
    }
    check(file, &page);
}

/// The first two lines of a table.
fn head(titles: &str) -> String {
    format!("| {titles} |\n|{}\n", "---|".repeat(titles.split(" | ").count()))
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

/// The attacks that `attacks.rs` of the live tests makes, as its table has them.
#[test]
fn attacks() {
    let mut attacks = head("attack | what a user does | what stops it");
    let rows = include_str!("live/attacks.tsv").lines().skip(1);
    for row in rows {
        let _ = writeln!(attacks, "| {} |", row.replace('\t', " | "));
    }
    check_tables("security.md", &[("attacks".into(), attacks)]);
}

#[test]
fn reasons() {
    let mut reasons = head("key | meaning | what you can do");
    for reason in SkipReason::ALL {
        let (means, remedy) = reason.text();
        let _ = writeln!(reasons, "| `{reason}` | {means} | {remedy} |");
    }
    let mut limits = head("`status` | meaning | key that sets it");
    for limit in Limit::ALL {
        let key = limit.config_key();
        let short = key.rsplit('.').next().unwrap_or(key);
        let _ = writeln!(limits, "| `{short}` | {} | `{key}` |", limit.text());
    }
    check_tables("reference/reasons.md", &[("reasons".into(), reasons), ("limits".into(), limits)]);
}

#[test]
fn hugetlb() {
    let mut warnings = head("key | meaning | what you can do | `apply`");
    for kind in WarningKind::ALL {
        let (key, (means, remedy)) = (kind.key(), kind.text());
        let apply = if kind.refuses() { "refuses" } else { "continues" };
        let _ = writeln!(warnings, "| `{key}` | {means} | {remedy} | {apply} |");
    }
    let mut left_out = head("key | meaning | what you can do");
    for reason in LeftOutReason::ALL {
        let (key, (means, remedy)) = (reason.key(), reason.text());
        let _ = writeln!(left_out, "| `{key}` | {means} | {remedy} |");
    }
    check_tables(
        "reference/hugetlb.md",
        &[("warnings".into(), warnings), ("left out".into(), left_out)],
    );
}

/// All rules of the program, and products whose vendors say nothing.
#[test]
fn rules() {
    let book = Book::built_in();
    let mut rules = head("rule | versions | setting | accepted | level | source");
    for (product, rule) in book.rules() {
        let versions =
            if rule.versions.is_all() { "all".into() } else { rule.versions.to_string() };
        let level = format!("{:?}", rule.level).to_lowercase();
        let _ = writeln!(
            rules,
            "| `{}` ({}) | {versions} | `{}` | {} | {level} | [{}]({}) |",
            rule.id,
            product.name,
            rule.setting,
            rule.accept.join(", "),
            rule.read_on,
            rule.source
        );
    }
    let mut silent = head("product | why there is no rule");
    for product in book.products() {
        if let Some(why) = &product.silent {
            let _ = writeln!(silent, "| {} | {why} |", product.name);
        }
    }
    check_tables("reference/rules.md", &[("rules".into(), rules), ("silent".into(), silent)]);
}

#[test]
fn lab() {
    check_tables("reference/lab.md", &lab::tables());
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
    check_tables("reference/config.md", &config::tables(&shown));
}

/// Commands that the table of the seeds names are understood, up to what they would do.
#[test]
fn commands_of_the_seeds_parse() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/seeds.md");
    let text = std::fs::read_to_string(page).expect("docs/seeds.md");
    let quoted = text.lines().filter(|line| line.starts_with('|'));
    let quoted = quoted.flat_map(|line| line.split('`').skip(1).step_by(2));
    let commands: Vec<&str> = quoted.filter_map(|one| one.strip_prefix("hugewise ")).collect();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        // Behind '--' stands another program.
        let own = command.split(" -- ").next().unwrap_or_default();
        let mut program = Command::new(env!("CARGO_BIN_EXE_hugewise"));
        let done = program.args(own.split(' ')).arg("--help").output().expect("the program runs");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "hugewise {command}: {said}");
    }
}
