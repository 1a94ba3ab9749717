//! What a kind of workload is: its parameters, its metrics and the programs that it needs.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A kind of workload. All of them stand in [`super::kinds`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Its name in experiment files.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// How it is started.
    pub start: Start,
    /// Who decides where its huge pages come from.
    pub huge_pages: Source,
    /// What it does beside being filled, measured and verified.
    pub more: More,
    /// What can be set, and the defaults.
    pub params: &'static [Param],
    /// What it measures, as keys of [`super::metric`].
    pub metrics: &'static [&'static str],
    /// Programs that it starts, without which it is skipped.
    pub programs: &'static [Program],
}

/// How a kind is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// As `hugewise lab workload lab KIND`: part of hugewise, needs nothing else, verifies its
    /// data.
    BuiltIn,
    /// A server of others, with its clients.
    Server,
    /// A program that works by itself, or when it is asked to.
    Executable,
    /// A measurement of what hugewise itself costs and gains.
    Measurement,
    /// Only beside a workload (`[[beside]]`).
    Beside,
}

/// Who decides where the huge pages of a kind come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The kind itself, by parameters of its own or not at all.
    Kind,
    /// The variant (`huge_pages`).
    Variant,
    /// The variant; the program can switch its huge pages on after its fill, too
    /// ([`super::spec::HugePages::Later`]).
    VariantOrLater,
}

/// What a kind does beside being filled, measured and verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Nothing.
    Nothing,
    /// It gives a part of its memory back, and is measured once more.
    Change,
    /// It holds something until it is asked to release it.
    Release,
}

/// A program that is not part of hugewise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Name of its file.
    pub name: &'static str,
    /// Debian's package.
    pub package: &'static str,
    /// A part of it that is a package of its own.
    pub part: Option<Part>,
}

/// A part of a program, as a module of an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Arguments with which the program succeeds only where the part is installed.
    pub tried_with: &'static [&'static str],
}

impl Program {
    /// A program of this package.
    pub const fn of(name: &'static str, package: &'static str) -> Self {
        Self { name, package, part: None }
    }
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
#[serde(untagged, expecting = "wanted true or false, a number, a text, or a list of texts")]
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

/// Values of parameters by name.
pub type Values = BTreeMap<String, Value>;

/// What a workload with the values of its parameters asks of the machine and of its experiment.
pub trait Demand {
    /// Memory that it takes, MiB, where that is not its parameter `mib`; `None` where it has none
    /// and nobody knows, as of any command, or where it takes no more than there is.
    fn memory_mib(&self) -> Option<u64> {
        None
    }

    /// Time that a run takes beside its preparations, seconds, as far as its parameters say.
    fn seconds(&self, times: Times) -> u64 {
        times.and(0)
    }

    /// What it needs of its experiment and has not got, which has this limit of memory.
    fn fault(&self, _memory_limit_mib: Option<u64>) -> Option<String> {
        None
    }

    /// Whether it is a server that gets the load of its experiment.
    fn takes_load(&self) -> bool {
        false
    }

    /// The program that it runs, where a parameter names it.
    fn program(&self) -> Option<Named<'_>> {
        None
    }
}

/// A program that parameters name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its name or file.
    pub program: &'a str,
    /// Its arguments, before anything is filled in.
    pub args: &'a [String],
    /// Programs that these name.
    pub needs: &'a [String],
    /// Who runs it.
    pub user: User,
}

/// Times of an experiment that a run consists of, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// What a manager has before something is measured.
    pub manage_s: u64,
    /// One measurement.
    pub measure_s: u64,
}

impl Times {
    /// All of them, and something more.
    pub(super) const fn and(self, more_s: u64) -> u64 {
        self.manage_s.saturating_add(self.measure_s).saturating_add(more_s)
    }
}

/// Parameters that ask for nothing but what their defaults say.
macro_rules! no_demands {
    ($($name:ident)*) => { $(impl $crate::kind::Demand for $name {})* };
}
pub(super) use no_demands;

/// A default value of a parameter of this type.
pub(super) struct Of<T>(Default, PhantomData<fn() -> T>);

impl<T> Of<T> {
    /// The default.
    pub(super) const fn default(&self) -> Default {
        self.0
    }
}

/// Types of whole numbers.
pub(super) trait Whole {}

impl Whole for u32 {}
impl Whole for u64 {}
impl Whole for usize {}

/// Types of which every value is a word.
pub(super) trait Word {
    /// All of them; the first is the default.
    const WORDS: &'static [&'static str];
}

/// A whole number.
pub(super) const fn count<T: Whole>(default: u64, least: u64, most: u64) -> Of<T> {
    Of(Default::Count(default, least, most), PhantomData)
}

/// One of the words of the type.
pub(super) const fn word<T: Word>() -> Of<T> {
    Of(Default::Word(T::WORDS), PhantomData)
}

/// Any text.
pub(super) const fn text(default: &'static str) -> Of<String> {
    Of(Default::Text(default), PhantomData)
}

/// A list of texts.
pub(super) const fn texts() -> Of<Vec<String>> {
    Of(Default::Texts, PhantomData)
}

/// Yes or no.
pub(super) const fn flag(default: bool) -> Of<bool> {
    Of(Default::Flag(default), PhantomData)
}

/// The parameters of a kind as a struct. Each line is `name: type = default, "help";`.
macro_rules! params {
    ($(#[$about:meta])* $name:ident {
        $($field:ident: $type:ty = $default:expr, $help:literal;)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        pub struct $name {
            $(#[doc = $help] pub $field: $type,)*
        }

        impl $name {
            /// What can be set, and the defaults.
            pub const PARAMS: &'static [$crate::kind::Param] = &[$({
                const DEFAULT: $crate::kind::Of<$type> = $default;
                $crate::kind::Param {
                    name: stringify!($field),
                    default: DEFAULT.default(),
                    help: $help,
                }
            }),*];

            /// From the values of all parameters; `None` where one is missing or of another type.
            pub(crate) fn read(
                values: &$crate::kind::Values,
            ) -> Option<Self> {
                serde_json::from_value(serde_json::to_value(values).ok()?).ok()
            }
        }
    };
}
pub(super) use params;

/// A type of words. Each line is `Variant = "word"`; the first is the default.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
        pub enum $name {
            $(#[doc = $word] #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word in experiment files.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl $crate::kind::Word for $name {
            const WORDS: &'static [&'static str] = &[$($word),*];
        }
    };
}
pub(super) use words;

impl Param {
    /// What is allowed, in words.
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
    /// The values of all parameters: those given, and the defaults of the others.
    ///
    /// # Errors
    /// When a name is unknown or a value not allowed: which, and what is allowed.
    pub fn values(&self, given: &Values) -> Result<Values, ParamError> {
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
        Ok(all.collect())
    }
}

words! {
    /// Who runs a program of others, where hugewise runs as root.
    User { Own = "own", Root = "root" }
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macros make public types")]
mod tests {
    use super::*;

    words! {
        /// Words.
        Order { Up = "up", Down = "down" }
    }

    params! {
        /// Parameters.
        Sample {
            mib: usize = count(64, 2, 100), "Size.";
            order: Order = word(), "Order.";
            verify: bool = flag(true), "Look again.";
        }
    }

    const KIND: Kind = Kind {
        name: "sample",
        about: "Nothing.",
        start: Start::BuiltIn,
        huge_pages: Source::Variant,
        more: More::Nothing,
        params: Sample::PARAMS,
        metrics: &[],
        programs: &[],
    };

    fn given(name: &str, value: Value) -> BTreeMap<String, Value> {
        BTreeMap::from([(name.to_owned(), value)])
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let mut values = KIND.values(&given("mib", Value::Count(2))).expect("allowed");
        let sample = Sample::read(&values).expect("all are there");
        assert_eq!(sample, Sample { mib: 2, order: Order::Up, verify: true });
        assert_eq!(Order::Down.key(), "down");
        // What is not there, or of another type, is never read as nothing.
        values.insert("mib".into(), Value::Flag(false));
        assert_eq!(Sample::read(&values), None);
        values.remove("mib");
        assert_eq!(Sample::read(&values), None);
    }

    #[test]
    fn nonsense_says_what_is_allowed() {
        let said = |given| KIND.values(&given).expect_err("not allowed").to_string();
        let unknown = said(given("gib", Value::Count(1)));
        assert!(unknown.contains("no parameter 'gib'; it has mib, order, verify"), "{unknown}");
        let large = said(given("mib", Value::Count(101)));
        assert!(large.contains("is '101' and must be a whole number from 2 to 100"), "{large}");
        let word = said(given("order", Value::Text("left".into())));
        assert!(word.contains("must be one of up, down"), "{word}");
        assert!(said(given("verify", Value::Count(1))).contains("must be true or false"));
    }
}
