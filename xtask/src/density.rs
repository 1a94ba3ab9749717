//! How dense the code is, and how native its language: the figures that `xtask density` prints
//! and that a house rule bounds for each crate.
//!
//! Code is what is neither test, comment nor blank; a line of code may be a literal. Closures and
//! combinators are counted where comments and literals are blanked. Characters include literals.

use crate::source::{mask, without_comments, without_tests, words};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// Methods of iterators, `Option` and `Result` that form a link of a chain. With these, commit
/// ea86da4 has 57 in 1,000 lines, as a reviewer counted when the bar was set.
const COMBINATORS: [&str; 14] = [
    "all",
    "and_then",
    "any",
    "filter",
    "filter_map",
    "find",
    "find_map",
    "flat_map",
    "fold",
    "map",
    "map_or",
    "map_or_else",
    "or_else",
    "unwrap_or_else",
];

/// Words and phrases that comments and documents do without, and what replaces them.
pub const BANNED: [(&str, &str); 11] = [
    ("whoever", "name the process, user or client"),
    ("whom", "name the process, user or client"),
    ("so many", "'this many', or name the number"),
    ("told", "'reported', 'shown' or 'passed'"),
    ("goes on", "'continues' or 'keeps running'"),
    ("go on", "'continue' or 'keep running'"),
    ("lies in", "'is in'"),
    ("lie in", "'are in'"),
    ("a look", "name it: a sample, a reading, a scan"),
    ("the look", "name it: the sample, the reading, the scan"),
    ("nobody said", "say what is missing: 'not reported', 'not set'"),
];

/// What was counted in some files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Lines of code, without tests.
    pub lines: usize,
    /// Characters of these lines that are not white space.
    pub characters: usize,
    /// Characters of these lines without indentation.
    pub trimmed: usize,
    /// Closures with parameters.
    pub closures: usize,
    /// Closures that a `let` gives a name.
    pub named: usize,
    /// Calls of [`COMBINATORS`].
    pub combinators: usize,
    /// Lines with a comment, also of tests.
    pub comments: usize,
    /// [`BANNED`] words in comments.
    pub banned: usize,
}

impl Count {
    /// Counts one file of Rust.
    pub fn of_file(path: &str, text: &str) -> Self {
        let mut count = Self::default();
        for (_, comment) in comments(text) {
            count.comments += 1;
            count.banned += banned_words(comment).count();
        }
        if is_test(path) {
            return count;
        }
        let masked = mask(text);
        let code = without_tests(&masked);
        for (line, whole) in code_lines(&masked, &code, &without_comments(text)) {
            debug_assert!(line.len() <= whole.len(), "a mask only takes away");
            count.lines += 1;
            count.trimmed += whole.chars().count();
            count.characters += whole.chars().filter(|c| !c.is_whitespace()).count();
        }
        (count.closures, count.named) = closures(&code);
        count.combinators = COMBINATORS.iter().map(|name| calls(&code, name)).sum();
        count
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.characters += other.characters;
        self.trimmed += other.trimmed;
        self.closures += other.closures;
        self.named += other.named;
        self.combinators += other.combinators;
        self.comments += other.comments;
        self.banned += other.banned;
    }

    /// Closures, named closures, combinators (each per 1,000 lines of code), characters a line,
    /// and banned words per 10,000 lines with a comment, in the order of [`FIGURES`].
    pub fn figures(&self) -> [f64; 5] {
        [
            ratio(1_000 * self.closures, self.lines),
            ratio(1_000 * self.named, self.lines),
            ratio(1_000 * self.combinators, self.lines),
            ratio(self.trimmed, self.lines),
            ratio(10_000 * self.banned, self.comments),
        ]
    }
}

/// What [`Count::figures`] gives, with the bar for all crates together.
pub const FIGURES: [(&str, f64); 5] = [
    ("closures/1k", 40.0),
    ("named/1k", 2.0),
    ("combinators/1k", 35.0),
    ("characters/line", 31.0),
    ("banned/10k", 0.0),
];

#[expect(clippy::cast_precision_loss, reason = "counts of a source tree are small")]
fn ratio(of: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

/// Counts every crate below `root`, by the name of its folder.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn measure(root: &Path) -> io::Result<BTreeMap<String, Count>> {
    let mut counts = BTreeMap::new();
    let mut folders = vec![(root.join("xtask"), "xtask".to_owned())];
    for entry in fs::read_dir(root.join("crates"))? {
        let entry = entry?;
        folders.push((entry.path(), entry.file_name().to_string_lossy().into_owned()));
    }
    for (folder, name) in folders {
        for (path, text) in rust_files(&folder)? {
            let count = Count::of_file(&path, &text);
            counts.entry(name.clone()).or_insert_with(Count::default).add(&count);
        }
    }
    Ok(counts)
}

fn rust_files(top: &Path) -> io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let relative = path.strip_prefix(top).unwrap_or(&path);
                files.push((relative.to_string_lossy().into_owned(), fs::read_to_string(&path)?));
            }
        }
    }
    Ok(files)
}

/// The figures of each crate and of all, as a table.
pub fn table(counts: &BTreeMap<String, Count>) -> String {
    let mut out = format!("{:<12}{:>8}{:>12}", "crate", "lines", "characters");
    for (name, _) in FIGURES {
        let _ = write!(out, "{name:>16}");
    }
    out.push('\n');
    let mut all = Count::default();
    for (name, count) in counts {
        push_row(&mut out, name, count);
        all.add(count);
    }
    push_row(&mut out, "all", &all);
    let _ = write!(out, "{:<12}{:>8}{:>12}", "bar", "", CHARACTERS_BAR);
    for (_, bar) in FIGURES {
        let _ = write!(out, "{bar:>16.1}");
    }
    out.push('\n');
    out
}

/// 15 % below the 3,097,404 of commit ea86da4, which [`measure`] counted in the same way.
pub const CHARACTERS_BAR: usize = 2_632_793;

fn push_row(out: &mut String, name: &str, count: &Count) {
    let _ = write!(out, "{name:<12}{:>8}{:>12}", count.lines, count.characters);
    for figure in count.figures() {
        let _ = write!(out, "{figure:>16.1}");
    }
    out.push('\n');
}

/// Whether a file below the folder of its crate is nothing but tests.
fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folders = ["tests/", "benches/", "examples/"];
    let in_folder = folders.iter().any(|f| path.starts_with(f) || path.contains(&format!("/{f}")));
    in_folder || name == "tests.rs" || name.ends_with("_tests.rs")
}

/// Each line of code, masked and as it stands without comments, without indentation.
fn code_lines<'a>(
    masked: &'a str,
    code: &'a str,
    text: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let lines = masked.lines().zip(code.lines()).zip(text.lines());
    lines.filter_map(|((masked, code), text)| {
        // A test is blank in `code` and is not in `masked`; a literal is blank in both.
        let is_test = code.trim().is_empty() && !masked.trim().is_empty();
        let text = text.trim();
        (!is_test && !text.is_empty()).then_some((code.trim(), text))
    })
}

/// The text of each comment, with the number of its line.
pub fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let at = line.find("//")?;
        // Not in a literal, such as an address: none stands before it, or it was closed.
        let is_comment = line[..at].matches('"').count() % 2 == 0;
        is_comment.then(|| (number, line[at..].trim_start_matches('/')))
    })
}

/// The [`BANNED`] words of a text, and what is said instead.
pub fn banned_words(text: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let text = text.to_lowercase();
    BANNED.into_iter().filter(move |(word, _)| !words(&text, word).is_empty())
}

/// How often the method `name` is called.
fn calls(code: &str, name: &str) -> usize {
    let mut count = 0;
    for at in words(code, name) {
        let after = &code[at + name.len()..];
        let is_called = after.starts_with('(') || after.starts_with("::<");
        count += usize::from(is_called && code[..at].ends_with('.'));
    }
    count
}

/// Closures with parameters of masked code, and how many of them a `let` names.
fn closures(code: &str) -> (usize, usize) {
    let (mut all, mut named) = (0, 0);
    let mut from = 0;
    while let Some(at) = code[from..].find('|').map(|at| from + at) {
        let before = code[..at].trim_end();
        from = at + 1;
        if code[from..].starts_with('|') || !begins_closure(before) {
            // `||` is an operator, or a closure without parameters.
            from += code[from..].chars().take_while(|&c| c == '|').count();
            continue;
        }
        all += 1;
        named += usize::from(is_named(before));
        from += code[from..].find('|').map_or(0, |end| end + 1);
    }
    (all, named)
}

/// Whether a `|` behind this code begins the parameters of a closure: an operand cannot end here.
fn begins_closure(before: &str) -> bool {
    let operators = ['(', ',', '=', '{', '}', ';', '>', '&', '[', ':'];
    let keyword = ["move", "mut", "return", "else"].iter().any(|word| before.ends_with(word));
    keyword || before.ends_with(operators)
}

/// Whether the closure behind this code is all that a `let` binds.
fn is_named(before: &str) -> bool {
    let statement = before.rfind([';', '{', '}']).map_or(before, |at| &before[at + 1..]);
    let value = statement.trim_end_matches("move").trim_end().trim_end_matches("mut");
    let target = value.trim_end_matches(['&', ' ']).strip_suffix('=');
    statement.trim_start().starts_with("let ") && target.is_some_and(|name| !name.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "//! Told so.\n\
        fn f(a: &[u8]) -> bool {\n\
        \x20   let big = |x: u8| x > 2 || x == 0; // whom\n\
        \x20   let all = a.iter().map(|&x| x | 1).filter(|_| true).count();\n\
        \n\
        \x20   all > 1 || a.iter().any(move |&x| big(x))\n\
        }\n\
        const TEXT: &str = \"a | b // whoever\n    second\";\n\
        #[cfg(test)]\n\
        mod tests {\n\
        \x20   fn g() { (|| 1)(); }\n\
        }\n";

    #[test]
    fn counts_code_without_tests_and_comments() {
        let count = Count::of_file("src/a.rs", CODE);
        assert_eq!(count.lines, 7, "{count:?}");
        assert_eq!((count.closures, count.named, count.combinators), (4, 1, 3), "{count:?}");
        assert_eq!((count.comments, count.banned), (2, 2), "{count:?}");
    }

    #[test]
    fn a_file_of_tests_has_comments_only() {
        let count = Count::of_file("src/a_tests.rs", CODE);
        assert_eq!(count, Count { comments: 2, banned: 2, ..Count::default() });
        assert!(is_test("tests/host.rs") && is_test("src/a/tests.rs") && !is_test("src/test.rs"));
    }

    #[test]
    fn operators_and_patterns_are_no_closures() {
        assert_eq!(closures("let a = b | c || d; match e { A | B => || 1, C => 2 }"), (0, 0));
        assert_eq!(closures("let f = &mut |_: u8| (); let g: &dyn Fn(u8) = &|x| x;"), (2, 2));
    }

    #[test]
    fn figures_are_per_line() {
        let count = Count { lines: 500, closures: 10, trimmed: 15_000, ..Count::default() };
        assert_eq!(count.figures(), [20.0, 0.0, 0.0, 30.0, 0.0]);
    }
}
