//! Exit codes, for a program whose errors are `anyhow`'s.

use hugewise_linux::save::SaveError;

pub use hugewise_base::exit::{CRITICAL, Coded, ERROR, OK, PARTIAL, REFUSED, USAGE, WARNING};

/// An error that ends the command with `code`.
pub fn coded(code: u8, message: impl Into<String>) -> anyhow::Error {
    Coded::new(code, message).into()
}

/// What to do about an error that root would not have had; nothing where the message says it.
pub fn remedy(error: &anyhow::Error) -> &'static str {
    let text = format!("{error:#}");
    // EACCES and EPERM: many errors carry what the system said as text only.
    let denied = ["(os error 13)", "(os error 1)"].iter().any(|code| text.contains(code));
    let root = rustix::process::geteuid().is_root();
    if denied && !root && !text.contains("root") {
        "; only root may do that: run it with sudo"
    } else {
        ""
    }
}

/// The error of a file that is not written, with its exit code.
pub fn refused(error: SaveError) -> anyhow::Error {
    if error.is_refusal() { coded(REFUSED, error.to_string()) } else { error.into() }
}

/// The code of an error: that of the innermost [`Coded`], or [`ERROR`].
pub fn of_error(error: &anyhow::Error) -> u8 {
    hugewise_base::exit::of(error.as_ref())
}
