//! `hugewise rules`.

use crate::exit;
use crate::output::Output;
use crate::render::view::rules;

/// Runs the command.
pub(crate) fn run() -> Output {
    Output::text(rules::page(), exit::OK)
}
