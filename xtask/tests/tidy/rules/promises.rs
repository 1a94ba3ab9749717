//! Documents that must stay true: promises name their tests, decisions have a number and a title.

use super::{Problem, TextFile};

/// Where experiments are that a promise may name.
const EXPERIMENTS: &str = "crates/lab/experiments/";

/// A table row of SPEC.md: what its last cell names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) line: usize,
    /// Tests, each as `file.rs::name`.
    pub(crate) tests: Vec<(String, String)>,
    /// Files of experiments.
    pub(crate) experiments: Vec<String>,
}

/// The promise rows of a document: every table row except heads and rulers.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let head = lines.get(i + 1).is_some_and(|next| is_ruler(next));
        if line.starts_with('|') && !is_ruler(line) && !head {
            let last = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
            let (tests, experiments) = (named_tests(last), named_experiments(last));
            found.push(Row { line: i + 1, tests, experiments });
        }
    }
    found
}

fn is_ruler(line: &str) -> bool {
    line.starts_with('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

pub(crate) fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn named_experiments(cell: &str) -> Vec<String> {
    let is_one = |q: &&str| q.starts_with(EXPERIMENTS) && q.ends_with(".toml");
    quoted(cell).filter(is_one).map(str::to_owned).collect()
}

fn named_tests(cell: &str) -> Vec<(String, String)> {
    quoted(cell)
        .filter_map(|q| {
            let at = q.find(".rs::")? + 3;
            Some((q[..at].to_string(), q[at + 2..].to_string()))
        })
        .collect()
}

/// Checks each row; `read` gives the text of a file by its path from the top folder.
pub(crate) fn promises(spec: &TextFile, read: impl Fn(&str) -> Option<String>) -> Vec<Problem> {
    let mut found = Vec::new();
    for row in rows(&spec.text) {
        let mut said = wrong(&row, &read);
        if row.tests.is_empty() && row.experiments.is_empty() {
            said.push(format!(
                "a promise without a test: name one in the last cell as `file.rs::name`, or an \
                 experiment as `{EXPERIMENTS}NAME.toml`"
            ));
        }
        found.extend(said.into_iter().map(|what| Problem::new(&spec.path, row.line, what)));
    }
    found
}

/// What a row names and is not there.
pub(crate) fn wrong(row: &Row, read: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    for file in &row.experiments {
        match read(file) {
            None => found.push(format!("no experiment '{file}': write it or correct this")),
            Some(text) if !is_experiment(file, &text) => {
                found.push(format!("{file} does not say the name of its file as its own"));
            }
            Some(_) => {}
        }
    }
    for (file, name) in &row.tests {
        match read(file) {
            None => found.push(format!("no file '{file}': write the path from the top folder")),
            Some(text) if !has_test(&text, name) => {
                found
                    .push(format!("no test or trial '{name}' in {file}: write it or correct this"));
            }
            Some(_) => {}
        }
    }
    found
}

/// Whether a file says to be the experiment that its name says.
fn is_experiment(file: &str, text: &str) -> bool {
    let stem = file.strip_prefix(EXPERIMENTS).and_then(|name| name.strip_suffix(".toml"));
    stem.is_some_and(|stem| text.lines().any(|line| line == format!("name = \"{stem}\"")))
}

/// A function of that name (its module path is not looked at), or a trial named by a literal.
fn has_test(text: &str, name: &str) -> bool {
    let function = name.rsplit("::").next().unwrap_or(name);
    text.contains(&format!("fn {function}(")) || text.contains(&format!("\"{name}\""))
}

/// One file of `docs/adr`: named `NNNN-title.md`, first line a title.
pub(crate) fn decision(file: &TextFile) -> Vec<Problem> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let numbered = name.len() > 8
        && name.chars().take(4).all(|c| c.is_ascii_digit())
        && name.chars().nth(4) == Some('-')
        && name.ends_with(".md");
    let mut found = Vec::new();
    if !numbered {
        found.push(Problem::new(&file.path, 1, "name it NNNN-title.md, numbered from 0001 on"));
    }
    if !file.text.starts_with("# ") {
        found.push(Problem::new(&file.path, 1, "start it with its title: '# ...'"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(row: &str) -> Vec<String> {
        let text = format!("# S\n\n| promise | shown by |\n|---|---|\n{row}\n");
        let spec = TextFile { path: "SPEC.md".into(), text };
        let read = |path: &str| match path {
            "a/t.rs" => Some("fn one() {}\nTrial::test(\"two\", f)".to_string()),
            "crates/lab/experiments/e.toml" => Some("name = \"e\"\n[workload]\n".into()),
            "crates/lab/experiments/f.toml" => Some("name = \"e\"\n".into()),
            _ => None,
        };
        promises(&spec, read).into_iter().map(|p| p.to_string()).collect()
    }

    #[test]
    fn existing_tests_and_trials_are_accepted() {
        assert_eq!(check("| p | `a/t.rs::one`, `a/t.rs::two` |"), Vec::<String>::new());
        assert_eq!(check("| p | `a/t.rs::module::one` |"), Vec::<String>::new());
    }

    #[test]
    fn a_promise_needs_a_test_that_exists() {
        assert!(check("| p | soon |")[0].starts_with("SPEC.md:5: a promise without a test"));
        assert!(check("| p | `a/t.rs::three` |")[0].contains("no test or trial 'three'"));
        assert!(check("| p | `b.rs::one` |")[0].contains("no file 'b.rs'"));
    }

    #[test]
    fn an_experiment_is_a_proof_when_it_is_there() {
        assert_eq!(check("| p | `crates/lab/experiments/e.toml` |"), Vec::<String>::new());
        let other = check("| p | `a/t.rs::one` `crates/lab/experiments/f.toml` |");
        assert!(other[0].contains("does not say the name"), "{other:?}");
        let absent = check("| p | `crates/lab/experiments/g.toml` |");
        assert!(absent[0].contains("no experiment"), "{absent:?}");
        assert!(check("| p | `e.toml` |")[0].contains("a promise without a test"));
    }

    #[test]
    fn decisions_are_numbered_and_titled() {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        assert_eq!(decision(&file("docs/adr/0001-four-crates.md", "# Four crates\n")), []);
        assert_eq!(decision(&file(concat!("docs/adr/", "notes.md"), "text\n")).len(), 2);
    }
}
