//! Words that documents and help texts do without: what a kernel engineer would not say aloud.

use super::{Problem, TextFile};

/// Each with what is said instead.
const INSTEAD: [(&str, &str); 6] = [
    ("whoever", "name the process, user or client"),
    ("whom", "name the process, user or client"),
    ("goes on", "'continues' or 'keeps running'"),
    ("go on", "'continue' or 'keep running'"),
    ("lies in", "'is in'"),
    ("lie in", "'are in'"),
];

/// What users read. `docs/score.md` repeats what strangers wrote.
fn is_for_users(path: &str) -> bool {
    let documents = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let is_document = path.starts_with("docs/") && path.ends_with(".md") && path != "docs/score.md";
    is_document || documents.contains(&path) || path.starts_with("crates/cli/src/")
}

pub(crate) fn odd_words(file: &TextFile) -> Vec<Problem> {
    let mut found = Vec::new();
    if !is_for_users(&file.path) {
        return found;
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        let line = line.to_lowercase();
        for (word, instead) in INSTEAD {
            if has_word(&line, word) {
                found.push(Problem::new(&file.path, number, format!("'{word}': {instead}")));
            }
        }
    }
    found
}

fn has_word(line: &str, word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found_in_what_users_read() {
        let text = "A line.\nWhoever reads this goes on; nobody lies inside.\n".to_owned();
        let problems = |path: &str| odd_words(&TextFile { path: path.into(), text: text.clone() });
        let said: Vec<String> =
            problems("docs/security.md").iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("docs/security.md:2: 'whoever'"), "{said:?}");
        assert_eq!(problems("crates/cli/src/lib.rs").len(), 2);
        assert!(problems("crates/linux/src/lib.rs").is_empty());
    }
}
