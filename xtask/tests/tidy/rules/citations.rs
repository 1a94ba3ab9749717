//! What documents, comments and messages point to exists: documents, their headings, files and
//! modules.

use super::{Problem, TextFile};
use xtask::source::{line_of, words};

/// Names that readers of this repository cannot look up. Spelt in parts, because this file is
/// checked too.
const UNKNOWN: [&str; 4] = [
    concat!("kernel", ".md"),
    concat!("papers", ".md"),
    concat!("peers", ".md"),
    concat!("codebases", ".md"),
];
/// The same, as a word.
const UNKNOWN_WORD: &str = concat!("DES", "IGN");
const INSTEAD: &str = "is no part of this repository: cite an entry of docs/measurements.md, a \
                       kernel file with its version, or a paper";

/// The working copy, as far as citations need it.
pub(crate) struct Tree<'a> {
    /// Whether there is a file or folder of that path.
    pub(crate) exists: &'a dyn Fn(&str) -> bool,
    /// The text of a file.
    pub(crate) read: &'a dyn Fn(&str) -> Option<String>,
}

/// A name of a Markdown file in a text.
#[derive(Debug, PartialEq, Eq)]
struct Citation<'a> {
    line: usize,
    path: &'a str,
    anchor: Option<&'a str>,
    /// Target of a Markdown link: relative to the document.
    link: bool,
}

/// Checks what a file cites: no unknown names; documents below `docs/`, and headings of any
/// document, must exist. Paths are from the top folder.
pub(crate) fn citations(file: &TextFile, tree: &Tree<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for at in words(&file.text, UNKNOWN_WORD) {
        let line = line_of(&file.text, at);
        found.push(Problem::new(&file.path, line, format!("'{UNKNOWN_WORD}' {INSTEAD}")));
    }
    for cited in cited(&file.text) {
        let name = cited.path.rsplit('/').next().unwrap_or_default();
        if UNKNOWN.contains(&name) {
            found.push(Problem::new(&file.path, cited.line, format!("'{name}' {INSTEAD}")));
        } else if !cited.link && (cited.path.starts_with("docs/") || cited.anchor.is_some()) {
            let missing = missing(cited.path, cited.anchor, tree);
            found.extend(missing.map(|what| Problem::new(&file.path, cited.line, what)));
        }
    }
    found
}

/// Checks the links of a Markdown document; those that leave the repository are not followed.
pub(crate) fn links(file: &TextFile, tree: &Tree<'_>) -> Vec<Problem> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    for (number, line) in unfenced(&file.text) {
        for rest in line.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) =
                target.split_once('#').map_or((target, None), |(p, a)| (p, Some(a)));
            let path = if path.is_empty() { file.path.clone() } else { join(folder, path) };
            let missing = missing(&path, anchor, tree);
            found.extend(missing.map(|what| Problem::new(&file.path, number, what)));
        }
    }
    found
}

/// Checks the files (`crates/base/src`, `base/src`) and modules (`base::parse`) that a Markdown
/// document names between backticks. Capital letters stand for something: `NAME.rs` is no file.
pub(crate) fn places(file: &TextFile, tree: &Tree<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for (number, line) in unfenced(&file.text) {
        for name in line.split('`').skip(1).step_by(2) {
            if place(name, tree) == Some(false) {
                let what = format!("there is no '{name}': name what took its place");
                found.push(Problem::new(&file.path, number, what));
            }
        }
    }
    found
}

/// Whether the place exists; `None` for what names no place.
fn place(name: &str, tree: &Tree<'_>) -> Option<bool> {
    let plain =
        |c: char| !c.is_ascii_uppercase() && (c.is_ascii_alphanumeric() || "_-./".contains(c));
    let crate_exists = |name: &str| !name.is_empty() && (tree.exists)(&format!("crates/{name}"));
    if let Some((krate, module)) = name.split_once("::") {
        return crate_exists(krate).then(|| module_exists(krate, module, tree));
    }
    if !name.chars().all(plain) {
        return None;
    }
    match name.split_once('/')? {
        ("crates" | "docs" | "xtask" | "dist" | "scripts" | "fuzz", _) => Some((tree.exists)(name)),
        (krate, _) => crate_exists(krate).then(|| (tree.exists)(&format!("crates/{name}"))),
    }
}

/// Whether a crate has such a module, or a module with an item of that name.
fn module_exists(krate: &str, module: &str, tree: &Tree<'_>) -> bool {
    let files = |module: &str| {
        let path = format!("crates/{krate}/src/{}", module.replace("::", "/"));
        [format!("{path}.rs"), format!("{path}/mod.rs"), path]
    };
    let (parent, item) = module.rsplit_once("::").unwrap_or(("lib", module));
    let named =
        |file: &String| (tree.read)(file).is_some_and(|text| !words(&text, item).is_empty());
    files(module).iter().any(|file| (tree.exists)(file)) || files(parent).iter().any(named)
}

/// What is wrong with the target of a citation.
fn missing(path: &str, anchor: Option<&str>, tree: &Tree<'_>) -> Option<String> {
    if !(tree.exists)(path) {
        return Some(format!("there is no '{path}': write it or correct this"));
    }
    let anchor = anchor?;
    let text = (tree.read)(path).unwrap_or_default();
    (!anchors(&text).iter().any(|known| known == anchor))
        .then(|| format!("no heading of {path} gives '#{anchor}': write it or correct this"))
}

/// The anchors of a document's headings, formed as on GitHub: lower case, spaces as hyphens,
/// punctuation left out, a number behind those that repeat.
fn anchors(text: &str) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for (_, line) in unfenced(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let keep = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        let plain: String = title.trim().to_lowercase().chars().filter(keep).collect();
        let plain = plain.replace(' ', "-");
        let same = |n: usize| if n == 0 { plain.clone() } else { format!("{plain}-{n}") };
        let free = (0..).map(same).find(|anchor| !known.contains(anchor));
        known.extend(free);
    }
    known
}

/// Lines outside of fenced blocks, with their numbers from 1 on.
fn unfenced(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        (!fence && !inside).then_some((index + 1, line))
    })
}

/// All names of Markdown files, in the order in which they stand.
fn cited(text: &str) -> Vec<Citation<'_>> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut found = Vec::new();
    for (at, ending) in text.match_indices(".md") {
        let after = &text[at + ending.len()..];
        if after.starts_with(word) {
            continue;
        }
        let before = text[..at].trim_end_matches(|c| word(c) || matches!(c, '.' | '/'));
        let anchor = after.strip_prefix('#');
        let anchor = anchor.map(|a| &a[..a.find(|c| !word(c)).unwrap_or(a.len())]);
        let path = &text[before.len()..at + ending.len()];
        // An address (`//`), a path that is put together (`{}/`), or nothing but the ending.
        if !path.starts_with("/") && path != ending {
            let link = before.ends_with("](");
            found.push(Citation { line: line_of(text, at), path, anchor, link });
        }
    }
    found
}

/// The path of `relative` seen from a folder.
fn join(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document with the headings `#one`, `#two-of-them` and `#one-1`, a folder and modules.
    const DOC: &str = concat!("docs/", "a.md");
    const TEXT: &str = "# One\n```\n# not this\n```\n## Two (of them)\n### One\n";

    fn check(
        path: &str,
        text: &str,
        rule: fn(&TextFile, &Tree<'_>) -> Vec<Problem>,
    ) -> Vec<String> {
        let there = ["docs", DOC, "crates/x", "crates/x/src/a", "crates/x/src/b.rs"];
        let exists = |path: &str| there.contains(&path);
        let read = |path: &str| match path {
            DOC => Some(TEXT.to_string()),
            "crates/x/src/b.rs" => Some("pub fn tick() {}".to_string()),
            _ => None,
        };
        let file = TextFile { path: path.into(), text: text.into() };
        let tree = Tree { exists: &exists, read: &read };
        rule(&file, &tree).into_iter().map(|p| p.to_string()).collect()
    }

    #[test]
    fn cited_documents_and_headings_exist() {
        let good = format!("// {DOC}, ({DOC}#one), {DOC}#two-of-them. {DOC}#one-1\n//! report.md");
        assert_eq!(check("a.rs", &good, citations), Vec::<String>::new());
        let absent = check("a.rs", concat!("\n// docs/", "b.md"), citations);
        assert_eq!(absent.len(), 1);
        assert!(absent[0].starts_with("a.rs:2: there is no 'docs/b"), "{absent:?}");
        let other = check("a.rs", concat!("// see B", ".md#one"), citations);
        assert!(other[0].contains("there is no 'B"), "{other:?}");
        for anchor in ["not-this", "two", ""] {
            let bad = check("a.toml", &format!("# {DOC}#{anchor} says"), citations);
            assert_eq!(bad.len(), 1, "{bad:?}");
            assert!(bad[0].contains(&format!("gives '#{anchor}'")), "{bad:?}");
        }
    }

    #[test]
    fn names_that_nobody_can_look_up_are_refused() {
        for name in UNKNOWN.iter().chain(&[UNKNOWN_WORD]) {
            let bad = check("a.rs", &format!("/// From {name} 2.1, reference/{name}."), citations);
            assert_eq!(bad.len(), 2, "{bad:?}");
            assert!(bad[0].contains("no part of this repository"), "{bad:?}");
        }
        let others = concat!("the design; my-kernel", ".md; DES", "IGNS");
        assert_eq!(check("a.rs", others, citations), Vec::<String>::new());
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let good = "[a](a.md) [b](../{DOC}#one) [c](#one) [d](https://x/y.md) [e](../docs)";
        let good = good.replace("{DOC}", DOC);
        let bad = |link: &str| check(DOC, &format!("\n[x]({link})"), links);
        assert_eq!(check(DOC, &good, links), Vec::<String>::new());
        assert!(bad("b.png")[0].contains("there is no 'docs/b.png'"));
        assert!(bad(&format!("../{DOC}#three"))[0].contains("gives '#three'"));
        assert!(bad("#three")[0].contains("gives '#three'"));
        assert!(bad(DOC)[0].contains(&format!("there is no 'docs/{DOC}'")));
        assert_eq!(check(DOC, "```\n[x](b.png)\n```", links), Vec::<String>::new());
    }

    #[test]
    fn named_places_exist() {
        let good = "`x::a` `x::b` `x::b::tick` `x/src/a` `a::b` `crates/x/src/b.rs` \
                    `x/src/NAME.rs` `docs` `a/b` `/proc/self`";
        assert_eq!(check(DOC, good, places), Vec::<String>::new());
        for name in ["x::c", "x/src/c.rs", "crates/c", "xtask/c", "x::a::c", "x::b::tock"] {
            let bad = check(DOC, &format!("in `{name}`"), places);
            assert!(bad[0].contains(&format!("there is no '{name}'")), "{bad:?}");
        }
    }
}
