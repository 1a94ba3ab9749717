//! Words that documents, help texts and comments do without: what a kernel engineer would not say
//! aloud.

use super::{Problem, TextFile};
use xtask::density::{banned_words, comments};

/// Words that no document and no help text has.
const OF_DOCUMENTS: [&str; 8] =
    ["whoever", "whom", "so many", "told", "goes on", "go on", "lies in", "lie in"];

/// Crates whose comments have none of [`xtask::density::BANNED`] any more.
const CLEAN: [&str; 2] = ["crates/evidence/", "crates/lab/"];

/// What users read. `docs/score.md` repeats what strangers wrote.
fn is_for_users(path: &str) -> bool {
    let documents = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let is_document = path.starts_with("docs/") && path.ends_with(".md") && path != "docs/score.md";
    is_document || documents.contains(&path) || path.starts_with("crates/cli/src/")
}

pub(crate) fn odd_words(file: &TextFile) -> Vec<Problem> {
    let mut found = Vec::new();
    if is_for_users(&file.path) {
        for (number, line) in (1..).zip(file.text.lines()) {
            for (word, instead) in banned_words(line) {
                if OF_DOCUMENTS.contains(&word) {
                    found.push(Problem::new(&file.path, number, format!("'{word}': {instead}")));
                }
            }
        }
    }
    let is_clean = CLEAN.iter().any(|crate_folder| file.path.starts_with(crate_folder));
    if is_clean && file.path.ends_with(".rs") {
        for (number, comment) in comments(&file.text) {
            for (word, instead) in banned_words(comment) {
                found.push(Problem::new(&file.path, number, format!("'{word}': {instead}")));
            }
        }
    }
    found
}

/// Words of this project and of papers that a reader cannot know.
const JARGON: [&str; 3] = ["FMFI", "`ingens`", "`worth`"];

/// A document for users that uses one has a link to where it is explained.
pub(crate) fn unexplained_words(file: &TextFile) -> Vec<Problem> {
    let is_how_to = file.path == "README.md" || file.path.starts_with("docs/how-to/");
    if !is_how_to || file.text.contains("glossary.md") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        for word in JARGON.iter().filter(|word| line.contains(**word)) {
            let text = format!("'{word}' without a link to docs/glossary.md in this file");
            found.push(Problem::new(&file.path, number, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jargon_has_a_link_to_the_glossary() {
        let file = |text: &str| TextFile { path: "docs/how-to/top.md".into(), text: text.into() };
        assert_eq!(unexplained_words(&file("a\nFMFI 0.2 in `ingens`\n")).len(), 2);
        assert!(unexplained_words(&file("FMFI ([terms](../glossary.md))")).is_empty());
    }

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

    #[test]
    fn comments_of_clean_crates_have_no_banned_word() {
        let text = "/// So many pages.\nfn told() {} // not told\n".to_owned();
        let file = |path: &str| TextFile { path: path.into(), text: text.clone() };
        assert_eq!(odd_words(&file("crates/lab/src/lib.rs")).len(), 2);
        assert!(odd_words(&file("crates/base/src/lib.rs")).is_empty());
    }
}
