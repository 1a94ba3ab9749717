//! House rules that neither the compiler nor clippy knows.
//!
//! Every rule is a pure function from file text to [`Problem`]s, so that it is tested on small
//! texts here; `xtask/tests/tidy.rs` applies the rules to the working copy.

pub(crate) mod circles;
pub(crate) mod citations;
pub(crate) mod density;
pub(crate) mod deps;
pub(crate) mod english;
pub(crate) mod imports;
pub(crate) mod limits;
pub(crate) mod promises;
pub(crate) mod seeds;
pub(crate) mod targets;
pub(crate) mod walls;

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

/// A breach of a house rule: where it is and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Problem {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_string(), line, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// A file of the working copy, its path relative to the top folder.
#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// All files below `root` with one of the given endings, in path order; build output left out.
pub(crate) fn collect(root: &Path, endings: &[&str]) -> io::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            let kind = fs::symlink_metadata(&path)?;
            if kind.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if kind.is_file() && endings.iter().any(|e| name.ends_with(e)) {
                let relative = path.strip_prefix(root).unwrap_or(&path);
                files.push(TextFile {
                    path: relative.to_string_lossy().into_owned(),
                    text: fs::read_to_string(&path)?,
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
