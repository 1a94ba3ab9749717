//! What a field of a view is, and how its value is written.

use crate::render::number;
use hugewise_base::units::Bytes;

/// What a value is, and so how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name.
    Text,
    /// A number of things.
    Count,
    /// An amount of memory.
    Bytes,
    /// 0 to 100.
    Percent,
    /// 0 to 1.
    Index,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Good {
    /// The more the better.
    High,
    /// The less the better.
    Low,
    /// Neither.
    Neither,
}

/// A value; `None` is unknown and shown as `?`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Text that is safe to print.
    Text(Option<String>),
    /// A whole number: a count, or bytes.
    Number(Option<u64>),
    /// Percent or index.
    Float(Option<f64>),
}

/// One field of a `T`.
#[derive(Debug)]
pub(crate) struct Field<T> {
    /// Its name in JSON, journal and metrics.
    pub(crate) key: &'static str,
    /// Its name in a text table.
    pub(crate) heading: &'static str,
    /// Columns in a text table; 0: not shown there.
    pub(crate) columns: usize,
    /// What it is.
    pub(crate) kind: Kind,
    /// Which way is better.
    pub(crate) good: Good,
    /// What it says.
    pub(crate) help: &'static str,
    /// Its value.
    pub(crate) get: fn(&T) -> Value,
}

impl<T> Field<T> {
    /// Columns where it is shown in any case.
    pub(crate) fn width(&self) -> usize {
        if self.columns > 0 { self.columns } else { self.heading.len().max(9) }
    }

    /// The value in few columns.
    pub(crate) fn short(&self, of: &T) -> String {
        self.written(of, number::short)
    }

    /// The value as a sentence would say it.
    pub(crate) fn long(&self, of: &T) -> String {
        self.written(of, |bytes| bytes.to_string())
    }

    fn written(&self, of: &T, bytes: fn(Bytes) -> String) -> String {
        let known = match ((self.get)(of), self.kind) {
            (Value::Text(text), _) => text,
            (Value::Number(n), Kind::Bytes) => n.map(|n| bytes(Bytes(n))),
            (Value::Number(n), _) => n.map(|n| n.to_string()),
            (Value::Float(x), Kind::Index) => x.map(|x| format!("{x:.2}")),
            (Value::Float(x), _) => x.map(number::percent),
        };
        known.unwrap_or_else(|| "?".to_owned())
    }

    /// Unit in JSON.
    pub(super) const fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Text => "text",
            Kind::Count => "count",
            Kind::Bytes => "bytes",
            Kind::Percent => "percent",
            Kind::Index => "0 to 1",
        }
    }
}
