//! The files of a sample, with what was wrong in them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use hugewise_base::parse::{ParseError, Parsed};

/// The files of one sample by path. Reading one that is broken leaves a problem behind.
pub(super) struct Files<'a> {
    all: BTreeMap<&'a str, &'a [u8]>,
    /// Kinds of files of which something was said already: each sample would say the same.
    said: &'a mut BTreeSet<&'static str>,
    /// What is to be said.
    pub(super) problems: Vec<ParseError>,
}

impl<'a> Files<'a> {
    pub(super) fn new(
        all: BTreeMap<&'a str, &'a [u8]>,
        said: &'a mut BTreeSet<&'static str>,
    ) -> Self {
        Self { all, said, problems: Vec::new() }
    }

    /// A file's bytes; `None` when the sample does not have it.
    pub(super) fn bytes(&self, path: &str) -> Option<&'a [u8]> {
        self.all.get(path).copied()
    }

    /// A file's text, empty when the sample does not have it.
    pub(super) fn text(&self, path: &str) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes(path).unwrap_or_default())
    }

    /// A file of many lines; `None` when the sample does not have it.
    pub(super) fn lines<T>(&mut self, path: &str, parse: fn(&str) -> Parsed<T>) -> Option<T> {
        let parsed = parse(&String::from_utf8_lossy(self.bytes(path)?));
        for problem in parsed.problems {
            self.note(problem);
        }
        Some(parsed.value)
    }

    /// A file with one meaning; `None` when it is not there or has none.
    pub(super) fn whole<T>(
        &mut self,
        path: &str,
        parse: fn(&str) -> Result<T, ParseError>,
    ) -> Option<T> {
        let parsed = parse(&String::from_utf8_lossy(self.bytes(path)?));
        parsed.map_err(|problem| self.note(problem)).ok()
    }

    /// Says what is wrong, once for each kind of file.
    pub(super) fn note(&mut self, problem: ParseError) {
        if self.said.insert(problem.source) {
            self.problems.push(problem);
        }
    }

    /// The files whose paths begin so, in the order of their paths, with the rest of the path.
    pub(super) fn below(&self, prefix: &str) -> Vec<(&'a str, &'a [u8])> {
        let from = self.all.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let below = from.map_while(|(path, bytes)| Some((path.strip_prefix(prefix)?, *bytes)));
        below.collect()
    }
}
