//! Lines that are always the same but for their numbers.

use std::sync::LazyLock;

use super::listed;
use super::measure::Measure;
use super::table::{fields, source};
use crate::recording::readers::glance::{Glance, bits};
use crate::recording::readers::prelude::*;
use crate::table::Row;

/// A line: `@` stands for a value, `...` for whatever follows.
struct Template {
    source: SourceKind,
    subject: Subject,
    words: Vec<&'static str>,
    /// The letters of its words.
    letters: u128,
    /// What its values are; none: they are passed over.
    values: Vec<(Option<Field>, Measure)>,
}

static TEMPLATES: LazyLock<Vec<Template>> =
    LazyLock::new(|| listed("lines").map(template).collect());

fn template(row: &Row) -> Template {
    let [label, service, text, keys @ .., measures] = row.fields.as_slice() else {
        row.refuse("a source, a server, words, fields and how they are written")
    };
    let words: Vec<&str> = text.split(' ').map(bare).collect();
    let plain = words.iter().filter(|word| !matches!(**word, "@" | "..."));
    let letters = plain.fold(0, |all, word| all | bits(word));
    let measures: Vec<&str> = measures.split(' ').collect();
    let keys = if keys == ["-"] { &[] } else { keys };
    let keys = keys.iter().flat_map(|keys| fields(row, keys));
    let measure = |at: usize| row.word(measures.get(at).or(measures.last()).unwrap_or(&"one"));
    let values: Vec<_> = keys.enumerate().map(|(at, field)| (field, measure(at))).collect();
    let places = words.iter().filter(|word| **word == "@").count();
    if !values.is_empty() && values.len() != places {
        row.refuse(&format!("{} fields for {places} values", values.len()));
    }
    let subject = match (*service, service.split_once(": ")) {
        ("-", _) => Subject::Machine,
        (_, Some((service, part))) => Subject::part(service, part),
        (name, None) => Subject::Service(name.to_owned()),
    };
    Template { source: source(row, label), subject, words, letters, values }
}

/// A word without what sets it apart from the next.
fn bare(word: &str) -> &str {
    word.trim_end_matches([',', ';'])
}

impl Template {
    /// The words in the places of values, where this is the line.
    fn places<'a>(&self, words: &[&'a str]) -> Option<Vec<&'a str>> {
        // Most lines differ in the first word that is fixed.
        let fixed = |word: &&str| !matches!(*word, "@" | "...");
        let at = self.words.iter().position(fixed)?;
        if words.get(at).is_none_or(|word| bare(word) != self.words[at]) {
            return None;
        }
        let mut places = Vec::new();
        let mut rest = words.iter();
        for wanted in &self.words {
            if *wanted == "..." {
                return Some(places);
            }
            let word = bare(rest.next()?);
            match *wanted {
                "@" => places.push(word),
                wanted if wanted == word => {}
                _ => return None,
            }
        }
        rest.next().is_none().then_some(places)
    }

    /// Its values, where this is the line.
    fn read(&self, words: &[&str]) -> Option<Vec<(Field, f64)>> {
        let mut all = Vec::new();
        for (word, (field, measure)) in self.places(words)?.iter().zip(&self.values) {
            let value = measure.read(&[word])?.first().copied().flatten();
            all.extend(field.zip(value));
        }
        Some(all)
    }
}

/// Whether such a line may stand here.
pub(in super::super) fn may_line(line: &Glance<'_>) -> bool {
    line.words_min(2) && TEMPLATES.iter().any(|template| line.has_bits(template.letters))
}

fn find(line: &str) -> Option<(&'static Template, Vec<(Field, f64)>)> {
    let words = words(line);
    TEMPLATES.iter().find_map(|template| Some((template, template.read(&words)?)))
}

/// Puts the values of such a line; nothing where it is none.
pub(in super::super) fn put_line(line: &str, out: &mut Builder) {
    if let Some((template, values)) = find(line) {
        for (field, value) in values {
            out.put(field, &template.subject, None, value);
        }
    }
}

/// Begins at such a line.
pub(in super::super) fn begins_line(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let (template, _) = find(lines.ahead(0))?;
    Some(lines.resume(template.source, Same { source: template.source }, out))
}

/// Lines of one source.
struct Same {
    source: SourceKind,
}

impl Reader for Same {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        // Such lines stand above a table of the same command, apart from it.
        if line.trim().is_empty() {
            return Taken::Yes;
        }
        let found = find(line).filter(|(template, _)| template.source == self.source);
        if found.is_none() {
            return Taken::No;
        }
        put_line(line, out);
        Taken::Yes
    }
}
