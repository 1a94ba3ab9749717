//! Enums whose every value has a name, a meaning and a remedy, out of one table each: reasons,
//! warnings.

/// Makes such an enum. A row is `Variant = "key": "what it means", "what can be done about it";`.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])* $name:ident,
        $($(#[$doc:meta])* $variant:ident = $key:literal: $means:literal, $remedy:literal;)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[doc = $means] #[serde(rename = $key)] $variant,)*
        }

        impl $name {
            /// All of them, in the order in which views list them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The key used in journal, JSON and metrics.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)* }
            }

            /// What it means, and what can be done about it (empty: nothing needed).
            pub const fn text(self) -> (&'static str, &'static str) {
                match self { $(Self::$variant => ($means, $remedy),)* }
            }
        }
    };
}
