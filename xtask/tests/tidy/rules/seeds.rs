//! The table of what the project's first documents say, and what does it: `docs/seeds.md`.

use super::promises::{self, Row};
use super::{Problem, TextFile};

/// Statements of each document: the audit that numbered them left none out.
const STATEMENTS: [(&str, usize); 5] =
    [("000", 44), ("001", 33), ("002", 38), ("003", 24), ("004", 14)];

/// Most statements that are not wholly done: those that are today. Never more; 8 are wanted.
const OPEN_MAX: usize = 8;

/// Checks the rows: each has a number, a state, and what shows it. Documents and headings that it
/// names are checked as everywhere, commands by the tests of the program.
pub(crate) fn seeds(document: &TextFile, read: impl Fn(&str) -> Option<String>) -> Vec<Problem> {
    let problem = |line, what: String| Problem::new(&document.path, line, what);
    let mut found = Vec::new();
    let (mut numbers, mut open) = (Vec::new(), 0);
    for row in promises::rows(&document.text) {
        let text = document.text.lines().nth(row.line - 1).unwrap_or_default();
        let cells: Vec<&str> = text.trim_matches('|').split('|').map(str::trim).collect();
        let [number, _, state, shown] = cells[..] else {
            found.push(problem(
                row.line,
                "wanted 4 cells: number, statement, state, shown by".into(),
            ));
            continue;
        };
        numbers.push(number.to_owned());
        open += usize::from(state != "works");
        let said = promises::wrong(&row, &read).into_iter().chain(unproved(&row, state, shown));
        found.extend(said.map(|what| problem(row.line, what)));
    }
    let wanted = STATEMENTS
        .iter()
        .flat_map(|(seed, count)| (1..=*count).map(move |number| format!("{seed}-{number}")));
    if !wanted.clone().eq(numbers.iter().cloned()) {
        let absent: Vec<String> = wanted.filter(|number| !numbers.contains(number)).collect();
        let what = format!("rows are not 000-1, 000-2, ... in this order; absent: {absent:?}");
        found.push(problem(1, what));
    }
    if open > OPEN_MAX {
        let what = format!("{open} statements are not wholly done: no more than {OPEN_MAX} may be");
        found.push(problem(1, what));
    }
    found
}

/// What a row lacks: a state that is known, its reason, something that shows it.
fn unproved(row: &Row, state: &str, shown: &str) -> Option<String> {
    let reason = |word: &str| {
        state
            .strip_prefix(word)
            .and_then(|rest| rest.strip_prefix(": "))
            .is_some_and(|r| r.len() > 8)
    };
    let names = promises::quoted(shown).any(|name| {
        name.starts_with("hugewise ") || name.starts_with("docs/") || name == "README.md"
    });
    let shows = names || !row.tests.is_empty() || !row.experiments.is_empty();
    if state != "works" && !reason("partly") && !reason("missing") {
        return Some("its state is 'works', 'partly: REASON' or 'missing: REASON'".into());
    }
    if !shows && !state.starts_with("missing") {
        let what = "nothing shows it: name a test as `file.rs::name`, a command as `hugewise ...`, \
                    or a document as `docs/...`";
        return Some(what.into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl Fn(usize, &str) -> String) -> Vec<String> {
        let numbers = STATEMENTS
            .iter()
            .flat_map(|(seed, count)| (1..=*count).map(move |number| format!("{seed}-{number}")));
        let rows = numbers.enumerate().map(|(at, number)| change(at, &number));
        let head = "| # | statement | state | shown by |\n|---|---|---|---|".to_owned();
        let text = std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n");
        let document = TextFile { path: "s.md".into(), text };
        let read = |path: &str| (path == "a/t.rs").then(|| "fn one() {}".to_owned());
        seeds(&document, read).into_iter().map(|p| p.to_string()).collect()
    }

    fn row(number: &str, state: &str, shown: &str) -> String {
        format!("| {number} | s | {state} | {shown} |")
    }

    #[test]
    fn rows_need_a_number_a_state_and_what_shows_them() {
        let good = ["`a/t.rs::one`", "`hugewise thp show`", "`README.md`"];
        assert_eq!(check(|at, n| row(n, "works", good[at % 3])), Vec::<String>::new());
        let first = |state: &'static str, shown: &'static str| {
            check(|at, n| {
                row(n, if at == 0 { state } else { "works" }, if at == 0 { shown } else { good[0] })
            })
        };
        assert!(first("works", "soon")[0].contains("nothing shows it"));
        assert!(first("works", "`a/t.rs::two`")[0].contains("no test or trial 'two'"));
        assert!(first("partly", "`hugewise top`")[0].contains("its state is"));
        assert_eq!(first("missing: needs a network", ""), Vec::<String>::new());
        let moved = check(|_, n| row(&n.replace("003-24", "003-25"), "works", good[0]));
        assert!(moved[0].contains("absent: [\"003-24\"]"), "{moved:?}");
    }

    #[test]
    fn no_more_than_a_few_may_be_open() {
        let open = |most: usize| {
            check(|at, n| {
                row(n, if at < most { "partly: for a reason" } else { "works" }, "`hugewise top`")
            })
        };
        assert_eq!(open(OPEN_MAX), Vec::<String>::new());
        assert!(open(OPEN_MAX + 1)[0].contains("not wholly done"));
    }
}
