//! What a kind of workload is: its parameters, its metrics and the programs that it needs.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A kind of workload. All of them stand in [`super::kinds`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Its name in experiment files.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What can be set, and the defaults.
    pub params: &'static [Param],
    /// What it measures, as keys of [`super::metric`].
    pub metrics: &'static [&'static str],
    /// Programs that it starts, without which it is skipped.
    pub programs: &'static [Program],
}

/// A program that is not part of hugewise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Name of its file.
    pub name: &'static str,
    /// Debian's package.
    pub package: &'static str,
}

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// Name, units last.
    pub name: &'static str,
    /// Its default, which also says what values there are.
    pub default: Default,
    /// What it means.
    pub help: &'static str,
}

/// A default value with what else is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// A whole number: default, least, most.
    Count(u64, u64, u64),
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
    /// Any text.
    Text(&'static str),
    /// Yes or no.
    Flag(bool),
    /// A list of texts, empty by default.
    Texts,
}

/// A value as an experiment file gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// Any other number.
    Number(f64),
    /// A word or any text.
    Text(String),
    /// Several.
    Texts(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Texts(texts) => f.write_str(&texts.join(" ")),
        }
    }
}

/// Why a parameter is not accepted: which one, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParamError(pub String);

/// All parameters of a workload: those given, and the defaults of the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(BTreeMap<String, Value>);

impl Params {
    /// A whole number; 0 where the kind knows no such parameter.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        match self.0.get(name) {
            Some(Value::Count(count)) => *count,
            _ => 0,
        }
    }

    /// A whole number as a size in memory or a number of things there.
    #[must_use]
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.count(name)).unwrap_or(usize::MAX)
    }

    /// A text; empty where the kind knows no such parameter.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// Texts; none where the kind knows no such parameter.
    #[must_use]
    pub fn texts(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// Yes or no; no where the kind knows no such parameter.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Value::Flag(true)))
    }

    /// All of them by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl Param {
    /// What is allowed, in words.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self.default {
            Default::Count(_, least, most) => format!("a whole number from {least} to {most}"),
            Default::Word(words) => format!("one of {}", words.join(", ")),
            Default::Text(_) => "a text in quotes".into(),
            Default::Flag(_) => "true or false".into(),
            Default::Texts => "a list of texts in quotes".into(),
        }
    }

    fn default(&self) -> Value {
        match self.default {
            Default::Count(count, ..) => Value::Count(count),
            Default::Word(words) => Value::Text(words.first().copied().unwrap_or("").into()),
            Default::Text(text) => Value::Text(text.into()),
            Default::Flag(flag) => Value::Flag(flag),
            Default::Texts => Value::Texts(Vec::new()),
        }
    }

    fn accepts(&self, value: &Value) -> bool {
        match (self.default, value) {
            (Default::Count(_, least, most), Value::Count(count)) => (least..=most).contains(count),
            (Default::Word(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Default::Text(_), Value::Text(_))
            | (Default::Flag(_), Value::Flag(_))
            | (Default::Texts, Value::Texts(_)) => true,
            _ => false,
        }
    }
}

impl Kind {
    /// The parameters with the defaults of those not given.
    ///
    /// # Errors
    /// When a name is unknown or a value not allowed: which, and what is allowed.
    pub fn params(&self, given: &BTreeMap<String, Value>) -> Result<Params, ParamError> {
        for (name, value) in given {
            let Some(param) = self.params.iter().find(|param| param.name == name) else {
                let known: Vec<_> = self.params.iter().map(|param| param.name).collect();
                return Err(ParamError(format!(
                    "the workload '{}' has no parameter '{name}'; it has {}",
                    self.name,
                    known.join(", ")
                )));
            };
            if !param.accepts(value) {
                return Err(ParamError(format!(
                    "'{name}' of the workload '{}' is '{value}' and must be {}",
                    self.name,
                    param.allowed()
                )));
            }
        }
        let all = self.params.iter().map(|param| {
            let value = given.get(param.name).cloned().unwrap_or_else(|| param.default());
            (param.name.to_owned(), value)
        });
        Ok(Params(all.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        name: "sample",
        about: "Nothing.",
        params: &[
            Param { name: "mib", default: Default::Count(64, 2, 100), help: "Size." },
            Param { name: "order", default: Default::Word(&["up", "down"]), help: "Order." },
            Param { name: "verify", default: Default::Flag(true), help: "Look again." },
        ],
        metrics: &[],
        programs: &[],
    };

    fn given(name: &str, value: Value) -> BTreeMap<String, Value> {
        BTreeMap::from([(name.to_owned(), value)])
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let params = KIND.params(&given("mib", Value::Count(2))).expect("allowed");
        assert_eq!((params.count("mib"), params.text("order")), (2, "up"));
        assert!(params.flag("verify"));
        assert_eq!(params.iter().count(), 3);
    }

    #[test]
    fn nonsense_says_what_is_allowed() {
        let said = |given| KIND.params(&given).expect_err("not allowed").to_string();
        let unknown = said(given("gib", Value::Count(1)));
        assert!(unknown.contains("no parameter 'gib'; it has mib, order, verify"), "{unknown}");
        let large = said(given("mib", Value::Count(101)));
        assert!(large.contains("is '101' and must be a whole number from 2 to 100"), "{large}");
        let word = said(given("order", Value::Text("left".into())));
        assert!(word.contains("must be one of up, down"), "{word}");
        assert!(said(given("verify", Value::Count(1))).contains("must be true or false"));
    }
}
