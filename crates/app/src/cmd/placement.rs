//! `hugewise placement`: which of several hosts is out of line, and what a move would give.

use super::diagnose;
use crate::cli::{Global, PlacementArgs};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::placement::{self, Answer};
use hugewise_evidence::placement::Placement;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &PlacementArgs) -> anyhow::Result<Output> {
    let recording = diagnose::read_of_many(&args.recordings)?;
    let placement = Placement::of(&recording);
    let problems = recording.problems.iter().map(|one| match one.line {
        Some(line) => format!("{}, line {line}: {}", one.input, one.text),
        None => format!("{}: {}", one.input, one.text),
    });
    let problems: Vec<String> = problems.collect();
    let partial = !problems.is_empty()
        || !placement.left_out.is_empty()
        || placement.middle_percent.is_none();
    let code = match placement.too_busy().next() {
        Some(_) => exit::WARNING,
        None if partial => exit::PARTIAL,
        None => exit::OK,
    };
    let answer = Answer { placement, problems };
    match global.json {
        true => Output::pretty_json(&answer.json()?, code),
        false => Ok(Output::text(placement::text(&answer, paint(global)), code)),
    }
}
