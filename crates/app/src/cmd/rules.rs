//! `hugewise rules`.

use crate::exit;
use crate::view::rules;

/// Runs the command.
pub(crate) fn run() -> anyhow::Result<u8> {
    super::print(&rules::page())?;
    Ok(exit::OK)
}
