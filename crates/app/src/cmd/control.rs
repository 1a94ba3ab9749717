//! `hugewise pause` and `hugewise resume`.

use crate::cli::{DaemonArgs, Global};
pub(crate) use crate::control::Verb;
use crate::output::Output;
use crate::{control, exit};
use hugewise_core::manager::status::SCHEMA;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &DaemonArgs, verb: Verb) -> anyhow::Result<Output> {
    let Some(reply) = control::request(&args.run_dir, verb)? else {
        return Err(exit::coded(
            exit::ERROR,
            format!(
                "no manager is running (no socket in {}); start one with hugewise manage",
                args.run_dir.display()
            ),
        ));
    };
    if global.json {
        return Output::json(&reply_json(verb, reply), exit::OK);
    }
    let text = match verb {
        Verb::Pause => {
            "paused: the manager observes, and promotes nothing until 'resume'\n".to_owned()
        }
        Verb::Resume => "resumed: the manager promotes again\n".to_owned(),
        Verb::Status => format!("{reply}\n"),
    };
    Ok(Output::text(text, exit::OK))
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
