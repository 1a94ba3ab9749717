//! The house rules, applied to the working copy.

#[path = "tidy/commit_hook.rs"]
mod commit_hook;
#[path = "tidy/rules/mod.rs"]
mod rules;

use rules::citations::{self, Tree};
use rules::imports::Import;
use rules::{
    Problem, TextFile, circles, collect, density, deps, english, imports, limits, promises, seeds,
    targets, walls,
};
use std::fs;
use std::process::Command;
use xtask::density::measure;
use xtask::{guests, workspace_root};

fn report(problems: impl IntoIterator<Item = Problem>) {
    let list: Vec<String> = problems.into_iter().map(|p| p.to_string()).collect();
    assert!(list.is_empty(), "{} house rules broken:\n{}\n", list.len(), list.join("\n"));
}

fn check(endings: &[&str], rule: fn(&TextFile) -> Vec<Problem>) {
    let files = collect(&workspace_root(), endings).expect("the working copy is readable");
    assert!(!files.is_empty(), "no files with endings {endings:?} found: the walk is broken");
    report(files.iter().flat_map(rule));
}

fn read(path: &str) -> Option<TextFile> {
    let text = fs::read_to_string(workspace_root().join(path)).ok()?;
    Some(TextFile { path: path.into(), text })
}

#[test]
fn functions_are_short() {
    check(&[".rs"], limits::long_functions);
}

#[test]
fn files_are_short() {
    check(&[".rs"], limits::long_file);
}

#[test]
fn lines_are_narrow() {
    check(&[".rs"], limits::wide_lines);
}

/// `HUGEWISE_UPDATE_GOLDEN=1` lowers the bounds to the figures of today.
#[test]
fn density_does_not_rise() {
    let counts = measure(&workspace_root()).expect("the working copy is readable");
    let table = read(density::BOUNDS).map_or_else(String::new, |file| file.text);
    let bounds = density::bounds(&table);
    if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
        let path = workspace_root().join(density::BOUNDS);
        fs::write(path, density::lowered(&counts, &bounds)).expect("the bounds can be written");
        return;
    }
    report(density::denser(&counts, &bounds));
}

#[test]
fn documents_and_help_are_plain() {
    check(&[".md", ".rs"], english::odd_words);
}

#[test]
fn jargon_has_a_link() {
    check(&[".md"], english::unexplained_words);
}

#[test]
fn nothing_is_unfinished() {
    let endings = [".rs", ".sh", ".toml", "Makefile"];
    check(&endings, limits::unfinished);
}

#[test]
fn no_test_is_ignored() {
    check(&[".rs"], limits::ignored_tests);
}

fn working_copy() -> Vec<TextFile> {
    collect(&workspace_root(), &[".rs"]).expect("the working copy is readable")
}

fn all_imports(files: &[TextFile]) -> Vec<Import> {
    let found = imports::imports(files);
    assert!(found.len() > 500, "only {} imports found: the reading is broken", found.len());
    found
}

#[test]
fn imports_make_no_circle() {
    let imports = all_imports(&working_copy());
    report(circles::of_files(&imports));
    report(circles::of_rooms(&imports));
}

/// README's table of kernels is that of the guests. `HUGEWISE_UPDATE_GOLDEN=1` writes it.
#[test]
fn readme_lists_the_guests() {
    let readme = read("README.md").expect("README.md is there");
    let (begin, end) = ("<!-- made: guests -->\n", "<!-- end -->");
    let (before, rest) = readme.text.split_once(begin).expect("README.md has the table");
    let (made, after) = rest.split_once(end).expect("its end is marked");
    let table = guests::table();
    if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
        let text = format!("{before}{begin}{table}{end}{after}");
        fs::write(workspace_root().join("README.md"), text).expect("README.md can be written");
        return;
    }
    assert_eq!(made, table, "HUGEWISE_UPDATE_GOLDEN=1 cargo test -p xtask --test tidy writes it");
}

/// Words of README, as `wc -w` counts them: it is read to its end.
const README_WORDS: usize = 1_500;

#[test]
fn readme_is_short() {
    let readme = read("README.md").expect("README.md is there");
    let words = readme.text.split_whitespace().count();
    assert!(words <= README_WORDS, "{words} words, {README_WORDS} are allowed");
}

#[test]
fn promises_name_existing_tests() {
    let spec = read("SPEC.md").expect("SPEC.md lists every promise with its test: write it");
    assert!(!promises::rows(&spec.text).is_empty(), "SPEC.md:1: no table row: list the promises");
    report(promises::promises(&spec, |path| read(path).map(|file| file.text)));
}

#[test]
fn statements_of_the_seeds_are_accounted_for() {
    let document = read("docs/seeds.md").expect("docs/seeds.md");
    report(seeds::seeds(&document, |path| read(path).map(|file| file.text)));
}

/// Applies a rule about what texts point to.
fn check_targets(endings: &[&str], rule: fn(&TextFile, &Tree<'_>) -> Vec<Problem>) {
    let exists = |path: &str| workspace_root().join(path).exists();
    let read = |path: &str| read(path).map(|file| file.text);
    let tree = Tree { exists: &exists, read: &read };
    let files = collect(&workspace_root(), endings).expect("the working copy is readable");
    // What is told of earlier versions may name what is gone.
    let files = files.iter().filter(|file| file.path != "CHANGELOG.md");
    report(files.flat_map(|file| rule(file, &tree)));
}

#[test]
fn citations_resolve() {
    let endings =
        [".rs", ".tsv", ".toml", ".md", ".sh", ".js", ".py", ".java", ".service", "Makefile"];
    check_targets(&endings, citations::citations);
}

#[test]
fn links_of_documents_resolve() {
    check_targets(&[".md"], citations::links);
}

#[test]
fn places_that_documents_name_exist() {
    check_targets(&[".md"], citations::places);
}

#[test]
fn decisions_are_numbered_and_titled() {
    let folder = workspace_root().join("docs/adr");
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let name = entry.expect("docs/adr is readable").file_name();
        let path = format!("docs/adr/{}", name.to_string_lossy());
        report(promises::decision(&read(&path).expect("a decision is a text file")));
    }
}

#[test]
fn dependencies_have_one_version() {
    report(deps::several_versions(&read("Cargo.lock").expect("Cargo.lock is committed")));
}

#[test]
fn dependencies_have_accepted_licences() {
    report(deps::licences(&metadata()));
}

#[test]
fn packages_keep_their_walls() {
    report(walls::breaches(&metadata()));
}

#[test]
fn every_test_file_runs() {
    let script = read("scripts/test.sh").expect("scripts/test.sh runs the tests");
    report(targets::not_run(&metadata(), &script));
    report(targets::forgotten(&working_copy(), &metadata()));
}

fn metadata() -> serde_json::Value {
    let host = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let host = String::from_utf8_lossy(&host.stdout).into_owned();
    let host = host.lines().find_map(|l| l.strip_prefix("host: ")).expect("rustc names its host");
    // Only this platform's packages: the others need not have been downloaded.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1", "--filter-platform", host])
        .current_dir(workspace_root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}
