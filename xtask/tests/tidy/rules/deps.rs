//! What the project is built from: one version of each crate, under a licence that users can take.

use super::{Problem, TextFile};
use serde_json::Value;
use std::collections::BTreeMap;

/// Crates of which two versions are accepted, because our dependencies do not agree yet.
///
/// ahash, of the validator of JSON Schemas in tests, wants an earlier getrandom (and r-efi) than
/// jobserver does; syn 2 stands in the lock file for zerocopy, and is not compiled.
const SEVERAL_VERSIONS: [&str; 3] = ["getrandom", "r-efi", "syn"];

/// CDDL-1.0 is of inferno, which is linked as it is: only changes to its own files would have to be
/// published.
const LICENCES: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDDL-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that are in the lock file in more than one version.
pub(crate) fn several_versions(lock: &TextFile) -> Vec<Problem> {
    let mut versions: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    let lines: Vec<&str> = lock.text.lines().collect();
    for (i, pair) in lines.windows(2).enumerate() {
        let (name, version) = (value(pair[0], "name"), value(pair[1], "version"));
        if let (Some(name), Some(version)) = (name, version) {
            versions.entry(name).or_default().push((i + 1, version));
        }
    }
    let mut found = Vec::new();
    for (name, seen) in versions {
        if seen.len() > 1 && !SEVERAL_VERSIONS.contains(&name) {
            let list: Vec<&str> = seen.iter().map(|&(_, version)| version).collect();
            let what = format!(
                "{name} in versions {}: find out with `cargo tree -d --target all` who asks for \
                 them and agree on one (or accept it in xtask/tests/tidy/rules/deps.rs)",
                list.join(" and ")
            );
            found.push(Problem::new(&lock.path, seen[1].0, what));
        }
    }
    found
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
}

/// Packages of `cargo metadata` whose licence is missing or not accepted.
pub(crate) fn licences(metadata: &Value) -> Vec<Problem> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or("?");
        let licence = package["license"].as_str().unwrap_or_default();
        if !accepted(licence) {
            let what = format!(
                "{name} is under '{licence}', which is not in the list of \
                 xtask/tests/tidy/rules/deps.rs: use another crate, or read the licence and add it"
            );
            found.push(Problem::new("Cargo.lock", 1, what));
        }
    }
    found
}

/// Evaluates a licence expression: one side of an OR is enough, an AND needs both.
fn accepted(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any_of(&tokens, &mut at) && at == tokens.len()
}

fn any_of(tokens: &[&str], at: &mut usize) -> bool {
    let mut good = all_of(tokens, at);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        good |= all_of(tokens, at);
    }
    good
}

fn all_of(tokens: &[&str], at: &mut usize) -> bool {
    let mut good = single(tokens, at);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        good &= single(tokens, at);
    }
    good
}

fn single(tokens: &[&str], at: &mut usize) -> bool {
    let Some(&token) = tokens.get(*at) else {
        return false;
    };
    *at += 1;
    if token == "(" {
        let good = any_of(tokens, at);
        *at += 1;
        return good;
    }
    if tokens.get(*at) == Some(&"WITH") && *at + 1 < tokens.len() {
        *at += 2;
        return LICENCES.contains(&format!("{token} WITH {}", tokens[*at - 1]).as_str());
    }
    LICENCES.contains(&token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_expressions() {
        assert!(accepted("MIT OR Apache-2.0"));
        assert!(accepted("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(accepted("Apache-2.0 WITH LLVM-exception OR GPL-3.0"));
        assert!(accepted("Unlicense/MIT"));
        assert!(!accepted("GPL-3.0-only"));
        assert!(!accepted("MIT AND GPL-3.0-only"));
        assert!(!accepted(""));
    }

    #[test]
    fn two_versions_are_reported_at_the_second() {
        let text = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        let found = several_versions(&TextFile { path: "Cargo.lock".into(), text: text.into() });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 6);
        assert!(found[0].what.starts_with("a in versions 1.0.0 and 2.0.0"));
    }
}
