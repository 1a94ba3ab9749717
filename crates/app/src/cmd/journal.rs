//! `hugewise journal`.

use crate::cli::{Global, JournalCommand, JournalScoreArgs};
use crate::exit;
use crate::output::Output;
use crate::render::view::score;
use anyhow::Context;
use hugewise_linux::regular;
use hugewise_manager::record;
use hugewise_manager::score::score as scored;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Version of what `--json` prints.
const SCHEMA: u32 = 1;
/// Largest journal that is read.
const BYTES_MAX: u64 = 1 << 30;
/// Longest line: a record of a program's reasons takes 2 KiB.
const LINE_MAX: u64 = 1 << 20;

/// Runs the command.
pub(crate) fn run(global: &Global, command: &JournalCommand) -> anyhow::Result<Output> {
    let JournalCommand::Score(args) = command;
    score(global, args)
}

fn score(global: &Global, args: &JournalScoreArgs) -> anyhow::Result<Output> {
    let (mut scores, mut records) = (BTreeMap::new(), 0_u64);
    each_line(&args.file, |lines| {
        let read = lines.flat_map(|line| record::read(&line).collect::<Vec<_>>());
        scores = scored(read.inspect(|_| records += 1));
    })?;
    let shown = args.file.display();
    anyhow::ensure!(records > 0, "{shown}: no line of it is a record of a journal of 'manage'");
    if global.json {
        let named = scores.iter().map(|(kind, score)| (kind.key(), score));
        let named: BTreeMap<_, _> = named.collect();
        let json = serde_json::json!({ "schema": SCHEMA, "shadows": named });
        return Output::pretty_json(&json, exit::OK);
    }
    Ok(Output::text(score::render(&scores), exit::OK))
}

/// Hands the lines of a journal on, one at a time.
fn each_line(
    path: &Path,
    read: impl FnOnce(&mut dyn Iterator<Item = String>),
) -> anyhow::Result<()> {
    let shown = path.display();
    let file = regular::open(path).with_context(|| {
        format!("cannot read {shown}: is there a journal of 'hugewise manage'?")
    })?;
    let mut reader = BufReader::new(file.take(BYTES_MAX));
    let mut failed = None;
    let mut lines = std::iter::from_fn(|| {
        let mut line = Vec::new();
        match reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) => Some(String::from_utf8_lossy(&line).into_owned()),
            Err(error) => {
                failed = Some(error);
                None
            }
        }
    });
    read(&mut lines);
    failed.map_or(Ok(()), |error| Err(error).with_context(|| format!("cannot read {shown}")))
}
