//! No circle of imports: what needs each other belongs into one file, or has a shared part that
//! belongs into a file of its own below both. The same holds for rooms, the files and folders of a
//! crate's `src`.

use super::Problem;
use super::imports::Import;
use std::collections::{BTreeMap, BTreeSet};

/// One problem for each set of files of which every one imports every other one, directly or not.
pub(crate) fn of_files(imports: &[Import]) -> Vec<Problem> {
    circles(imports, |path| path)
}

/// The same for rooms.
pub(crate) fn of_rooms(imports: &[Import]) -> Vec<Problem> {
    circles(imports, room)
}

/// `crates/x/src/a` of `crates/x/src/a.rs` and of `crates/x/src/a/b.rs`.
fn room(path: &str) -> &str {
    let inside = path.find("/src/").map_or(0, |at| at + "/src/".len());
    path[inside..].find(['/', '.']).map_or(path, |end| &path[..inside + end])
}

/// Circles between what has the same name.
fn circles(imports: &[Import], name: fn(&str) -> &str) -> Vec<Problem> {
    let mut found = Vec::new();
    for circle in components(imports, name) {
        let is_within = |import: &&Import| {
            let (from, to) = (name(&import.from), name(&import.to));
            from != to && circle.contains(from) && circle.contains(to)
        };
        let within: Vec<&Import> = imports.iter().filter(is_within).collect();
        let names: Vec<&str> = circle.iter().copied().collect();
        let lines = within.iter().map(|import| {
            let Import { from, line, to, path } = import;
            format!("\n    {from}:{line}: {path} (of {to})")
        });
        let what = format!(
            "a circle of imports between {}: move what they share into a file of its own:{}",
            names.join(", "),
            lines.collect::<String>()
        );
        found.push(Problem::new(&within[0].from, within[0].line, what));
    }
    found
}

/// The strongly connected components of more than one name.
fn components(imports: &[Import], name: fn(&str) -> &str) -> Vec<BTreeSet<&str>> {
    let (mut onward, mut back) = (BTreeMap::new(), BTreeMap::new());
    for import in imports {
        let (from, to) = (name(&import.from), name(&import.to));
        onward.entry(from).or_insert_with(BTreeSet::new).insert(to);
        back.entry(to).or_insert_with(BTreeSet::new).insert(from);
    }
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for &one in onward.keys() {
        if found.iter().any(|circle| circle.contains(one)) {
            continue;
        }
        let (before, after) = (reached(&back, one), reached(&onward, one));
        let circle: BTreeSet<&str> = before.intersection(&after).copied().collect();
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found
}

/// The names to which a way leads, the first one included.
fn reached<'a>(ways: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::from([from]);
    let mut waiting = vec![from];
    while let Some(file) = waiting.pop() {
        for &next in ways.get(file).into_iter().flatten() {
            if seen.insert(next) {
                waiting.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::TextFile;
    use super::super::imports::imports;
    use super::*;

    fn said(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(name, text)| TextFile {
                path: format!("crates/x/src/{name}.rs"),
                text: (*text).to_string(),
            })
            .collect();
        of_files(&imports(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_told_with_each_of_its_imports() {
        let found = said(&[
            ("lib", "mod a;\nmod b;\nmod c;\n"),
            ("a", "use crate::{b::B, c::C};\npub struct A(B, C);\n"),
            ("b", "pub struct B;\nfn f() -> super::c::C {}\n"),
            ("c", "use crate::a;\npub struct C;\nfn f() -> a::A {}\n"),
        ]);
        assert_eq!(
            found,
            ["crates/x/src/a.rs:1: a circle of imports between crates/x/src/a.rs, \
              crates/x/src/b.rs, crates/x/src/c.rs: move what they share into a file of its own:\
              \n    crates/x/src/a.rs:1: crate::b::B (of crates/x/src/b.rs)\
              \n    crates/x/src/a.rs:1: crate::c::C (of crates/x/src/c.rs)\
              \n    crates/x/src/b.rs:2: super::c::C (of crates/x/src/c.rs)\
              \n    crates/x/src/c.rs:3: a::A (of crates/x/src/a.rs)"]
        );
    }

    #[test]
    fn a_parent_that_calls_its_child_must_not_be_needed_there() {
        let child = ("m/child", "use super::T;\npub fn f(t: T) {}\n");
        let root = ("lib", "pub mod m;\n");
        let calls = "mod child;\npub struct T;\nfn g() { child::f(T) }\n";
        assert_eq!(said(&[root, ("m/mod", calls), child]).len(), 1);
        // One that passes the child's names on does not import them.
        let passes = "mod child;\npub use child::f;\npub struct T;\n";
        assert_eq!(said(&[root, ("m", passes), child]), Vec::<String>::new());
        let uses = "mod child;\npub use child::f;\npub struct T;\nfn g() { f(T) }\n";
        assert_eq!(said(&[root, ("m", uses), child]).len(), 1);
    }

    #[test]
    fn a_name_passed_on_leads_to_where_it_is_defined() {
        let found = said(&[
            ("lib", "pub mod m;\npub mod n;\n"),
            ("m", "mod types;\npub use types::T;\nuse crate::n::f;\nfn g() { f() }\n"),
            ("m/types", "pub struct T;\n"),
            ("n", "use crate::m::T;\npub fn f() -> T {}\n"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn crates_and_tests() {
        let tests = "pub struct A;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n";
        let back = ("b", "pub struct B(crate::a::A);\n");
        assert_eq!(said(&[("lib", "mod a;\nmod b;\n"), ("a", tests), back]), Vec::<String>::new());
        let (a, b) = ("hugewise_b::B", "hugewise_a::A");
        let file = |name: &str, item: &str, import: &str| TextFile {
            path: format!("crates/{name}/src/lib.rs"),
            text: format!("use {import};\npub struct {item};\n"),
        };
        let found = of_files(&imports(&[file("a", "A", a), file("b", "B", b)]));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn rooms_make_no_circle_either() {
        let file = |path: &str, text: &str| TextFile {
            path: format!("crates/x/src/{path}.rs"),
            text: text.into(),
        };
        let files = [
            file("lib", "mod a;\nmod b;\n"),
            file("a/mod", "pub mod low;\nmod high;\n"),
            file("a/low", "pub struct Low;\n"),
            file("a/high", "use crate::b::B;\n"),
            file("b", "pub struct B(crate::a::low::Low);\n"),
        ];
        let imports = imports(&files);
        assert_eq!(of_files(&imports), []);
        let found = of_rooms(&imports);
        assert_eq!(found.len(), 1);
        let rooms = "between crates/x/src/a, crates/x/src/b: ";
        assert!(found[0].what.contains(rooms), "{}", found[0]);
    }
}
