//! Sizes and words: what keeps a file readable and finished.

use super::{Problem, TextFile};
use xtask::source::{functions, line_of, mask, test_tail, words};

pub(crate) const FUNCTION_LINES: usize = 70;
pub(crate) const FILE_LINES: usize = 600;
pub(crate) const COLUMNS: usize = 100;

/// A function that is nothing but a table of data says so with this comment.
const TABLE: &str = "// tidy: table";

/// Notes to self and unfinished code. Spelt in two parts, because this file is checked too.
const UNFINISHED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("todo", "!"),
    concat!("unimpl", "emented!"),
];

pub(crate) fn long_functions(file: &TextFile) -> Vec<Problem> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for f in functions(&mask(&file.text)) {
        let length = f.last - f.first + 1;
        let table = lines[f.first - 1..f.last].iter().any(|l| l.trim() == TABLE);
        if length > FUNCTION_LINES && !table {
            let what = format!(
                "fn {} has {length} lines, {FUNCTION_LINES} are allowed: split it (or, when it is \
                 nothing but data, put `{TABLE}` inside)",
                f.name
            );
            found.push(Problem::new(&file.path, f.first, what));
        }
    }
    found
}

pub(crate) fn long_file(file: &TextFile) -> Vec<Problem> {
    let all = file.text.lines().count();
    let lines = test_tail(&mask(&file.text)).map_or(all, |tail| tail - 1);
    if lines <= FILE_LINES {
        return Vec::new();
    }
    let what = format!(
        "{lines} lines without tests, {FILE_LINES} are allowed: move a part with a name of its own \
         into a module"
    );
    vec![Problem::new(&file.path, FILE_LINES + 1, what)]
}

pub(crate) fn wide_lines(file: &TextFile) -> Vec<Problem> {
    let mut found = Vec::new();
    for (i, line) in file.text.lines().enumerate() {
        let width = line.chars().count();
        if width > COLUMNS {
            let what = format!("{width} columns, {COLUMNS} are allowed: break the line");
            found.push(Problem::new(&file.path, i + 1, what));
        }
    }
    found
}

pub(crate) fn unfinished(file: &TextFile) -> Vec<Problem> {
    let mut found = Vec::new();
    for word in UNFINISHED {
        // The exclamation mark is no word character: look for the name and check what follows.
        for at in words(&file.text, word.trim_end_matches('!')) {
            if file.text[at..].starts_with(word) {
                let what = format!("'{word}': finish it, or open an issue and delete the note");
                found.push(Problem::new(&file.path, line_of(&file.text, at), what));
            }
        }
    }
    found
}

pub(crate) fn ignored_tests(file: &TextFile) -> Vec<Problem> {
    let masked = mask(&file.text);
    let mut found = Vec::new();
    for at in words(&masked, "ignore") {
        if masked[..at].trim_end().ends_with("#[") {
            let what = "an ignored test proves nothing: delete it, or let it skip itself with a \
                        reason (libtest-mimic's ignorable_test)";
            found.push(Problem::new(&file.path, line_of(&masked, at), what));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> TextFile {
        TextFile { path: "a.rs".into(), text: text.into() }
    }

    #[test]
    fn a_long_function_is_reported_at_its_first_line() {
        let body = "    x();\n".repeat(FUNCTION_LINES - 1);
        let found = long_functions(&file(&format!("// head\nfn f() {{\n{body}}}\n")));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert!(found[0].what.contains("fn f has 71 lines"), "{}", found[0]);
    }

    #[test]
    fn a_table_may_be_long_and_a_short_function_is_fine() {
        let body = "    x();\n".repeat(FUNCTION_LINES);
        let table = format!("fn f() {{\n    {TABLE}\n{body}}}\n");
        assert_eq!(long_functions(&file(&table)), []);
        assert_eq!(long_functions(&file("fn f() {}\n")), []);
    }

    #[test]
    fn tests_at_the_end_do_not_count_as_file_length() {
        let code = "fn f() {}\n".repeat(FILE_LINES);
        let with_tests = format!("{code}#[cfg(test)]\nmod tests {{\n    fn g() {{}}\n}}\n");
        assert_eq!(long_file(&file(&with_tests)), []);
        assert_eq!(long_file(&file(&format!("{code}fn g() {{}}\n"))).len(), 1);
    }

    #[test]
    fn columns_are_characters() {
        assert_eq!(wide_lines(&file(&"é".repeat(COLUMNS))), []);
        assert_eq!(wide_lines(&file(&"x".repeat(COLUMNS + 1))).len(), 1);
    }

    #[test]
    fn unfinished_work_is_found_in_comments_and_code() {
        for word in UNFINISHED {
            assert_eq!(unfinished(&file(&format!("a\n// {word} b\n"))).len(), 1, "{word}");
        }
        assert_eq!(unfinished(&file("let todos = todo(); // a method\n")), []);
    }

    #[test]
    fn ignored_tests_are_found() {
        assert_eq!(ignored_tests(&file("#[ignore = \"slow\"]\nfn f() {}\n")).len(), 1);
        assert_eq!(ignored_tests(&file("let ignore = a[ignore];\n")), []);
    }
}
