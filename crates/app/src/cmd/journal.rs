//! `hugewise manage journal`: the last records of a manager's journal.

use super::serve::tail;
use crate::cli::{Global, JournalArgs, pids};
use crate::exit;
use crate::journal::JOURNAL;
use crate::output::Output;
use crate::render::view::journal;
use crate::say::note;
use anyhow::Context;
use hugewise_manager::record::SCHEMA;
use serde_json::{Map, Value};

/// Runs the command.
pub(crate) fn run(global: &Global, args: &JournalArgs) -> anyhow::Result<Output> {
    let file = args.file.clone().unwrap_or_else(|| args.state_dir.join(JOURNAL));
    let text = tail(&file).context("cannot read a journal of 'hugewise manage'")?;
    let (mut chosen, mut records) = (Vec::new(), 0_u64);
    let mut schema = None;
    let pids = pids(&args.pid);
    for line in text.lines().rev() {
        // What is not JSON is the end of a line that was cut off when its writer ended.
        let Ok(record) = serde_json::from_str::<Map<String, Value>>(line) else { continue };
        let Some(kind) = record.get("record").and_then(Value::as_str) else { continue };
        records += 1;
        // The lines behind it are of its version.
        if kind == "start" {
            schema = record.get("schema").and_then(Value::as_u64);
        }
        if chosen.len() == args.last {
            if schema.is_some() {
                break;
            }
            continue;
        }
        let pid = record.get("target").and_then(|target| target["pid"].as_u64());
        let is_of_pid = pids.is_empty() || pids.iter().any(|&wanted| pid == Some(wanted.into()));
        let is_of_kind = args.record.is_empty() || args.record.iter().any(|wanted| wanted == kind);
        if is_of_pid && is_of_kind {
            chosen.push(if global.json { format!("{line}\n") } else { journal::text(&record) });
        }
    }
    let shown = file.display();
    anyhow::ensure!(records > 0, "{shown}: no line of it is a record of a journal of 'manage'");
    if chosen.is_empty() {
        note(&format!("{shown}: no record near its end is of these processes and kinds"));
    }
    if let Some(later) = schema.filter(|schema| *schema > SCHEMA.into()) {
        note(&format!(
            "{shown} is of version {later} of the journal, and this hugewise knows {SCHEMA}: what \
             is new in it is shown by its name only"
        ));
    }
    chosen.reverse();
    Ok(Output::text(chosen.concat(), exit::OK))
}
