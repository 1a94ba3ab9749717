//! What a configuration is read from, and how mistakes in it are named.

use anyhow::Context;
use hugewise_console::words::plain;
use hugewise_linux::trust;
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A larger file is refused.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// Longer keys are neither compared with the known ones nor printed in full.
const MAX_KEY: usize = 64;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Built in.
    Default,
    /// A file and the line in it, counted from 1.
    #[serde(serialize_with = "file_and_line")]
    File(PathBuf, usize),
    /// `--set`.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Flag => f.write_str("--set"),
        }
    }
}

/// For JSON: fields with names.
fn file_and_line<S: serde::Serializer>(
    path: &Path,
    line: &usize,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Place {
        // As text: a name that is not UTF-8 must not make the whole view fail.
        path: String,
        line: usize,
    }
    Place { path: path.display().to_string(), line: *line }.serialize(to)
}

pub(super) fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A file's text, and how to name places in it.
#[derive(Debug)]
pub struct Text<'a> {
    path: &'a Path,
    pub(super) text: String,
    /// Where lines end: a file of a thousand rules asks for a thousand places.
    ends: Vec<usize>,
}

impl<'a> Text<'a> {
    /// `None` where the file is missing.
    pub(super) fn read(path: &'a Path) -> anyhow::Result<Option<Self>> {
        let shown = path.display();
        // NONBLOCK: opening a FIFO must not hang.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(error) if is_missing(&error.into()) => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        };
        let meta = file.metadata()?;
        anyhow::ensure!(meta.is_file(), "{shown} is not a regular file: give the path of one");
        trust::check("configuration file", path, &meta)?;
        // Who can change the directory can replace the file; a link's target has another one.
        for path in [path.to_path_buf(), fs::canonicalize(path)?] {
            let parent = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            trust::check("the configuration's directory", parent, &fs::metadata(parent)?)?;
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot read {shown}"))?;
        anyhow::ensure!(bytes.len() <= MAX_BYTES, "{shown} is larger than 1 MiB: is it the one?");
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(Self::new(path, text))),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
                Err(Self::new(path, text).error(valid, "not UTF-8 text"))
            }
        }
    }

    pub fn new(path: &'a Path, text: String) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { path, text, ends }
    }

    /// Line of a byte, counted from 1.
    fn line(&self, offset: usize) -> usize {
        self.ends.partition_point(|end| *end < offset) + 1
    }

    /// Line and column of a byte, counted from 1, the column in characters.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.line(offset);
        let start = line.checked_sub(2).and_then(|above| self.ends.get(above));
        let before = self.text.get(start.map_or(0, |end| end + 1)..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    pub(super) fn origin(&self, offset: usize) -> Origin {
        Origin::File(self.path.to_path_buf(), self.line(offset))
    }

    pub fn error(&self, offset: usize, message: impl fmt::Display) -> anyhow::Error {
        let (line, column) = self.place(offset);
        anyhow::anyhow!("{}:{line}:{column}: {message}", self.path.display())
    }

    /// What is no TOML: one fault of a line, as one brings others behind it.
    pub fn syntax(&self, errors: &[toml::de::Error]) -> Vec<String> {
        let offset = |error: &toml::de::Error| error.span().map_or(self.text.len(), |s| s.start);
        let mut errors: Vec<_> = errors.iter().map(|error| (offset(error), error)).collect();
        errors.sort_by_key(|(offset, _)| *offset);
        errors.dedup_by_key(|(offset, _)| self.line(*offset));
        let said = errors.into_iter().map(|(at, error)| self.error(at, words(error)).to_string());
        said.collect()
    }
}

/// What an error of the parser says, for users.
pub fn words(error: &toml::de::Error) -> String {
    plain(&one_line(error.message()))
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ")
}

pub(super) fn unknown<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> String {
    let shown: String = key.escape_debug().take(MAX_KEY).collect();
    match nearest(key, known) {
        Some(near) => format!("unknown key '{shown}': did you mean '{near}'?"),
        None => format!("unknown key '{shown}': 'hugewise manage config show' lists all keys"),
    }
}

/// The known key that is most alike, if one is alike at all. A right name in a wrong table counts.
pub fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if key.chars().count() > MAX_KEY {
        return None;
    }
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let best = known.map(|k| {
        let name = distance(&last(key), &last(k));
        (distance(key, k).min(name + 1), k)
    });
    let (far, near) = best.min()?;
    (far <= 3 && far * 2 < key.chars().count()).then_some(near)
}

/// Letters to insert, delete or replace to get from one word to the other.
pub(super) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replace = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = replace.min(corner + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}
