//! The form of an experiment's file, or a ledger's: what is no TOML, which keys are unknown or
//! missing, and which values are of the wrong type; all of it at once.
//!
//! The reader stops at the first fault. Each one is therefore taken out of the file, or filled in
//! where something is missing, and the rest is read again.

use crate::config::{Text, nearest, words};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue, Deserializer, Error};

/// Most faults that are told.
const MOST: usize = 50;
/// The place of what is filled in.
const NOWHERE: Range<usize> = usize::MAX..usize::MAX;

/// Reads a file; `name` is what it is called.
///
/// # Errors
/// All faults of its form, each with its line, its key, and what is allowed.
pub(in crate::cmd) fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Vec<String>> {
    let places = Text::new(Path::new(name), text.to_owned());
    let (mut table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(places.syntax(&errors));
    }
    let (mut faults, mut cut) = (Vec::new(), Vec::new());
    while faults.len() < MOST {
        let error = match T::deserialize(Deserializer::from(table.clone())) {
            Ok(read) if faults.is_empty() => return Ok(read),
            Ok(_) => break,
            Err(error) => error,
        };
        let span = error.span().unwrap_or(0..0);
        if span == NOWHERE {
            // What was filled in is wrong: no fault of the file.
            break;
        }
        let table = table.get_mut();
        let mended = mend(table, &error, &span, "").or_else(|| fill(table, &error, ""));
        let key = mended.as_deref().unwrap_or_default();
        let dot = if key.is_empty() { "" } else { "." };
        let lacks = missing(&error).map(|name| format!("{key}{dot}{name}"));
        if mended.is_some() && lacks.is_some_and(|key| cut.contains(&key)) {
            // It was there, and wrong.
            continue;
        }
        cut.extend(key.strip_prefix('\'').map(|key| key.trim_end_matches('\'').to_owned()));
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        let said = places.error(span.start, format!("{key}{}", told(&error))).to_string();
        faults.push((span.start, said));
        if mended.is_none() {
            break;
        }
    }
    faults.sort();
    Err(faults.into_iter().map(|(_, said)| said).collect())
}

/// What is wrong, in the words of this program.
fn told(error: &Error) -> String {
    let Some(rest) = error.message().strip_prefix("unknown field `") else { return words(error) };
    let names: Vec<_> = rest.split('`').step_by(2).collect();
    match names.split_first() {
        Some((wrong, known)) => match nearest(wrong, known.iter().copied()) {
            Some(near) => format!("unknown key '{wrong}': did you mean '{near}'?"),
            None => words(error),
        },
        None => words(error),
    }
}

/// Takes out what the error is about, or fills it in; gives the name of the key, empty for one that
/// the message names. `None` where it is not in this table.
fn mend(table: &mut DeTable<'_>, error: &Error, at: &Range<usize>, inside: &str) -> Option<String> {
    let mut out = None;
    for (key, value) in table.iter_mut() {
        let name = key.get_ref().as_ref();
        if key.span() == *at {
            out = Some((name.to_owned(), false));
            break;
        }
        let path = if inside.is_empty() { name.to_owned() } else { format!("{inside}.{name}") };
        let is_it = value.span() == *at;
        let found = match value.get_mut() {
            DeValue::Table(inner) if is_it && missing(error).is_some() => {
                return fill(inner, error, &path);
            }
            DeValue::Table(inner) => mend(inner, error, at, &path),
            DeValue::Array(items) => element(items, error, at, &path),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        if is_it {
            out = Some((name.to_owned(), true));
            break;
        }
    }
    let (name, is_value) = out?;
    table.remove(name.as_str());
    // An unknown key is named by the message.
    let of = if inside.is_empty() { String::new() } else { format!("{inside}.") };
    if is_value { Some(format!("'{of}{name}'")) } else { Some(inside.to_owned()) }
}

/// As [`mend`], in a list.
fn element(
    items: &mut DeArray<'_>,
    error: &Error,
    at: &Range<usize>,
    path: &str,
) -> Option<String> {
    let mut out = None;
    for (index, item) in items.iter_mut().enumerate() {
        let path = format!("{path} {}", index + 1);
        let is_it = item.span() == *at;
        if let DeValue::Table(inner) = item.get_mut() {
            if is_it && missing(error).is_some() {
                return fill(inner, error, &path);
            }
            if let Some(found) = mend(inner, error, at, &path) {
                return Some(found);
            }
        }
        if is_it {
            out = Some((index, path));
            break;
        }
    }
    let (index, path) = out?;
    let mut rest = DeArray::new();
    let others = items.iter().enumerate().filter(|(at, _)| *at != index);
    others.for_each(|(_, item)| rest.push(item.clone()));
    *items = rest;
    Some(format!("'{path}'"))
}

/// The key that is missing, if that is the error.
fn missing(error: &Error) -> Option<&str> {
    error.message().strip_prefix("missing field `")?.split('`').next()
}

/// Gives the missing key a value of its type.
fn fill(table: &mut DeTable<'_>, error: &Error, path: &str) -> Option<String> {
    let name = missing(error)?;
    let text = || DeValue::String(Cow::Borrowed("x"));
    let value = match name {
        "variant" | "steps" | "hypothesis" => DeValue::Array(DeArray::new()),
        "goal" => {
            let mut goal = DeTable::new();
            goal.insert(placed(Cow::Borrowed("metric")), placed(text()));
            DeValue::Table(goal)
        }
        "workload" => {
            let mut workload = DeTable::new();
            workload.insert(placed(Cow::Borrowed("kind")), placed(text()));
            DeValue::Table(workload)
        }
        "accessed_percent" | "gain_percent" => DeValue::parse("1").ok()?.into_inner(),
        _ => text(),
    };
    let key: DeString<'_> = Cow::Owned(name.to_owned());
    table.insert(placed(key), placed(value)).is_none().then(|| path.to_owned())
}

fn placed<T>(value: T) -> Spanned<T> {
    Spanned::new(NOWHERE, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::ledger::Ledger;
    use hugewise_experiment::spec::Experiment;

    #[test]
    fn faults_of_a_ledger_are_told_with_their_lines() {
        let text = "name = \"n\"\nquestion = \"q\"\n[[hypothesis]]\nname = \"a\"\nbecause = 1\n\
                    moves = { p99_us = \"50\" }\n";
        let said = read::<Ledger>("x.toml", text).expect_err("faults");
        for start in [
            "x.toml:1:1: the key 'goal' is missing",
            "x.toml:3:1: hypothesis 1: the key 'gain_percent' is missing",
            "x.toml:5:11: 'hypothesis 1.because': found the number 1, wanted a text",
            "x.toml:6:20: 'hypothesis 1.moves.p99_us': '50' is no change: write one such as",
        ] {
            assert!(said.iter().any(|fault| fault.starts_with(start)), "{start} in {said:#?}");
        }
    }

    fn faults(text: &str) -> Vec<String> {
        read::<Experiment>("x.toml", text).expect_err("faults")
    }

    const GOOD: &str = "name = \"n\"\nquestion = \"q\"\n[workload]\nkind = \"btree\"\n\
                        [[variant]]\nname = \"a\"\n";

    #[test]
    fn all_faults_of_form_are_told_with_their_lines() {
        let said = faults(
            "name = 3\nmeasure_s = \"5\"\nbogus = 1\nmetrik = 2\n[workload]\nkind = \"btree\"\n\
             mib = { a = 1 }\n[[variant]]\nname = \"a\"\nhuge_pages = \"sometimes\"\n[[variant]]\n\
             settings = { enabled = true }\n[stop]\nrepetitions = \"many\"\n",
        );
        for start in [
            "x.toml:1:8: 'name': found the number 3, wanted a text in quotation marks",
            "x.toml:2:13: 'measure_s': found the text \"5\", wanted a whole number, 0 or more",
            "x.toml:3:1: unknown key 'bogus': it is one of name, question",
            "x.toml:4:1: unknown key 'metrik': did you mean 'metric'?",
            "x.toml:7:7: 'workload.mib': wanted true or false, a number, a text",
            "x.toml:10:14: 'variant 1.huge_pages': unknown word 'sometimes': it is one of inherit",
            "x.toml:11:1: variant 2: the key 'name' is missing",
            "x.toml:12:24: 'variant 2.settings.enabled': found true, wanted a text",
            "x.toml:14:15: 'stop.repetitions': found the text \"many\", wanted a whole number",
            "x.toml:1:1: the key 'question' is missing",
        ] {
            assert!(said.iter().any(|fault| fault.starts_with(start)), "{start} in {said:#?}");
        }
        assert_eq!(said.len(), 10, "{said:#?}");
    }

    #[test]
    fn what_is_no_toml_has_a_line_and_no_picture() {
        let said = faults("name = \n[workload\nkind = 1\n");
        assert!(said[0].starts_with("x.toml:1:8: "), "{said:#?}");
        assert!(said[1].starts_with("x.toml:2:"), "{said:#?}");
        assert!(said.iter().all(|fault| fault.lines().count() == 1), "{said:#?}");
    }

    #[test]
    fn an_empty_file_lacks_everything() {
        let said = faults("");
        for key in ["name", "question", "workload", "variant"] {
            let wanted = format!("x.toml:1:1: the key '{key}' is missing");
            assert!(said.contains(&wanted), "{wanted} in {said:#?}");
        }
        assert!(read::<Experiment>("x.toml", GOOD).is_ok());
        let kind = faults(&GOOD.replace("kind = \"btree\"", "mib = 1"));
        assert_eq!(kind, ["x.toml:3:1: workload: the key 'kind' is missing"]);
    }
}
