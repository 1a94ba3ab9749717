//! What the numbers of a recording count, and what they say about time.

use serde::Serialize;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 0 to 100; of one CPU for processes, so that more than 100 is possible there.
    Percent,
    /// Events in a second.
    PerSecond,
    /// An amount of memory or storage.
    Bytes,
    /// Bytes in a second.
    BytesPerSecond,
    /// A duration.
    Milliseconds,
    /// A number of things.
    Count,
    /// 0 to 1.
    Index,
}

/// What a value says about time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// Mean over the time since the sample before.
    Average,
    /// State at the sample's time.
    Instant,
    /// A count since the machine, or the thing counted, started.
    SinceBoot,
    /// One event, at its time.
    Event,
}

/// What is said about a [`Field`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct About {
    /// Its name in JSON and documents.
    pub key: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// What its values say about time.
    pub span: Span,
    /// Its name in a sentence.
    pub name: &'static str,
}

/// The quantities, each with its name, unit, meaning in time and words.
macro_rules! fields {
    ($($variant:ident $key:literal $unit:ident $span:ident $name:literal;)*) => {
        /// A quantity. What it is about is the [`super::Subject`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Field {
            $(#[doc = $name] $variant,)*
        }

        impl Field {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// What is said about it.
            pub const fn about(self) -> About {
                match self {
                    $(Self::$variant => About {
                        key: $key,
                        unit: Unit::$unit,
                        span: Span::$span,
                        name: $name,
                    },)*
                }
            }
        }
    };
}
pub(super) use fields;
