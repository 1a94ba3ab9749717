//! What people see: one room draws it, and one place each writes standard output and error.

use super::layers::forbidden;
use super::source::{line_of, mask, test_tail, words};
use super::{Problem, TextFile};

/// The two places that write.
const WRITERS: [&str; 2] = ["crates/app/src/output.rs", "crates/app/src/say.rs"];
/// Programs of their own, which speak to whoever started them.
const PROGRAMS: [&str; 2] = ["crates/app/src/cmd/workload/", "crates/workloads/"];

const BASICS_MUST_NOT_IMPORT: [(&str, &str); 1] =
    [("crate::render::view", "what all views share knows none of them: hand the value in")];

const VIEWS_MUST_NOT_IMPORT: [(&str, &str); 4] = [
    ("crate::cmd", "a view is handed plain values: define their type beside it"),
    ("crate::cli", "a view is handed plain values: let the command translate"),
    ("crate::output", "a view returns its text: let the command write it"),
    ("crate::say", "a view returns its text: let the command write it"),
];

/// Within `render`: basics below views, and both below what calls them.
pub fn order(file: &TextFile) -> Vec<Problem> {
    let Some(name) = file.path.strip_prefix("crates/app/src/render/") else { return Vec::new() };
    let mut found = forbidden(file, &VIEWS_MUST_NOT_IMPORT);
    if !name.starts_with("view/") {
        found.extend(forbidden(file, &BASICS_MUST_NOT_IMPORT));
    }
    found
}

/// Nobody prints but the two places that know what a closed pipe and a full disk mean.
pub fn prints(file: &TextFile) -> Vec<Problem> {
    let ours = file.path.starts_with("crates/") && file.path.contains("/src/");
    let may = WRITERS.contains(&file.path.as_str())
        || PROGRAMS.iter().any(|folder| file.path.starts_with(folder));
    if !ours || may {
        return Vec::new();
    }
    let masked = mask(&file.text);
    let end = test_tail(&masked).unwrap_or(usize::MAX);
    let ways = [
        ("print", "!"),
        ("println", "!"),
        ("eprint", "!"),
        ("eprintln", "!"),
        ("stdout", "()"),
        ("stderr", "()"),
    ];
    let hits = ways.iter().flat_map(|(word, after)| {
        let all = words(&masked, word).into_iter();
        all.filter(|at| masked[at + word.len()..].starts_with(after))
            .map(|at| (line_of(&masked, at), *word))
            .collect::<Vec<_>>()
    });
    hits.filter(|(line, _)| *line < end)
        .map(|(line, word)| {
            let what =
                format!("uses {word}: a command returns an `Output`; `say` has notes and progress");
            Problem::new(&file.path, line, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.into(), text: text.into() }
    }

    fn lines(problems: Vec<Problem>) -> Vec<usize> {
        problems.into_iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn basics_know_no_view_and_views_no_command() {
        let of = |path: &str, text: &str| lines(order(&file(path, text)));
        let (basic, view) = ("crates/app/src/render/axes.rs", "crates/app/src/render/view/a/b.rs");
        assert_eq!(of(basic, "\nuse crate::render::view::lab;\n"), [2]);
        assert_eq!(of(view, "use crate::render::{svg, view::lab};\n"), [0; 0]);
        assert_eq!(of(view, "use crate::{render, cmd::x};\n"), [1]);
        assert_eq!(of(basic, "use crate::cli::Color;\n"), [1]);
        assert_eq!(of("crates/app/src/cmd/a.rs", "use crate::cli::Color;\n"), [0; 0]);
    }

    #[test]
    fn only_two_places_print() {
        let of = |path: &str, text: &str| lines(prints(&file(path, text)));
        let app = "crates/app/src/cmd/a.rs";
        assert_eq!(of(app, "fn f() {\n    println!(\"a\");\n}\n"), [2]);
        assert_eq!(of(app, "let out = std::io::stderr().lock();\n"), [1]);
        assert_eq!(of(app, "command.stdout(full());\nlet a = child.stdout.take();\n"), [0; 0]);
        assert_eq!(of(app, "// print!\nfn f() { g(\"eprint!\") }\n"), [0; 0]);
        assert_eq!(of(app, "#[cfg(test)]\nmod tests {\n    fn f() { print!(); }\n}\n"), [0; 0]);
        assert_eq!(of("crates/app/src/output.rs", "stdout()\n"), [0; 0]);
        assert_eq!(of("crates/app/tests/a.rs", "println!()\n"), [0; 0]);
    }
}
