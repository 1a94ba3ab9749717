//! `hugewise manage pause` and `hugewise manage resume`.

use crate::cli::{DaemonArgs, Global, STATE_DIR};
pub(crate) use crate::control::Verb;
use crate::output::Output;
use crate::render::view::status::NONE_RUNS;
use crate::{abandoned, control, exit};
use hugewise_linux::root::Root;
use hugewise_manager::status::SCHEMA;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &DaemonArgs, verb: Verb) -> anyhow::Result<Output> {
    let Some(reply) = control::request(&args.run_dir, verb)? else {
        return Err(exit::coded(exit::ERROR, absent(global, args)));
    };
    if global.json {
        return Output::json(&reply_json(verb, reply), exit::OK);
    }
    let text = match verb {
        Verb::Pause => {
            "paused: the manager observes, and promotes nothing until 'manage resume'\n".to_owned()
        }
        Verb::Resume => "resumed: the manager promotes again\n".to_owned(),
        Verb::Status => format!("{reply}\n"),
    };
    Ok(Output::text(text, exit::OK))
}

/// Said where no manager answers.
fn absent(global: &Global, args: &DaemonArgs) -> String {
    let left = abandoned::sentence(&Root::at(&global.root), Path::new(STATE_DIR));
    let next = left.unwrap_or_else(|| NONE_RUNS.to_owned());
    format!("no manager is running (none answers in {}); {next}", args.run_dir.display())
}

/// What `--json` prints: with a version, as every command does.
fn reply_json(verb: Verb, reply: serde_json::Value) -> serde_json::Value {
    match verb {
        Verb::Status => reply,
        Verb::Pause | Verb::Resume => {
            serde_json::json!({ "schema": SCHEMA, "done": verb.key() })
        }
    }
}
