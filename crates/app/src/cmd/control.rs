//! `hugewise pause` and `hugewise resume`.

use crate::cli::{DaemonArgs, Global};
pub(crate) use crate::control::Verb;
use crate::{control, exit};

/// Runs the command.
pub(crate) fn run(global: &Global, args: &DaemonArgs, verb: Verb) -> anyhow::Result<u8> {
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
        println!("{}", reply_json(verb, reply));
        return Ok(exit::OK);
    }
    match verb {
        Verb::Pause => {
            println!("paused: the manager observes, and promotes nothing until 'resume'");
        }
        Verb::Resume => println!("resumed: the manager promotes again"),
        Verb::Status => println!("{reply}"),
    }
    Ok(exit::OK)
}

/// What `--json` prints: with a version, as every command does.
fn reply_json(verb: Verb, reply: serde_json::Value) -> serde_json::Value {
    match verb {
        Verb::Status => reply,
        Verb::Pause | Verb::Resume => {
            serde_json::json!({ "schema": hugewise_core::status::SCHEMA, "done": verb.key() })
        }
    }
}
