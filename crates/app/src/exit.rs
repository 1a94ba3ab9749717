//! Exit codes, for a program whose errors are `anyhow`'s.

pub(crate) use hugewise_core::base::exit::{
    CRITICAL, Coded, ERROR, OK, PARTIAL, REFUSED, USAGE, WARNING,
};

/// An error that ends the command with `code`.
pub(crate) fn coded(code: u8, message: impl Into<String>) -> anyhow::Error {
    Coded::new(code, message).into()
}

/// The code of an error: that of the innermost [`Coded`], or [`ERROR`].
pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    hugewise_core::base::exit::of(error.as_ref())
}
