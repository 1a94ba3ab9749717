//! The tree as documentation: one question for `--explain`, all of them for `docs/rules.md`.

use hugewise_core::evidence::diagnose::nodes::{ALL, Node};
use hugewise_core::evidence::diagnose::{Threshold, Thresholds};
use std::fmt::Write;

/// The page of all questions and thresholds.
pub(crate) fn page() -> String {
    let mut out = String::from(
        "# Rules of `hugewise diagnose`\n\nMade from the program; do not edit (`hugewise rules`). \
         Each question is asked when the one above\nit was answered yes, or could not be answered. \
         A yes leads to a finding unless a question below\nit says it better.\n\n## Questions\n",
    );
    for node in ALL {
        push_node(&mut out, node, &Thresholds::default());
    }
    out.push_str(
        "\n## Thresholds\n\n`--set KEY=VALUE` changes one.\n\n| key | value | decides | where it \
         comes from |\n|---|---|---|---|\n",
    );
    for threshold in Threshold::ALL {
        let entry = threshold.entry();
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            entry.key, entry.default, entry.help, entry.source
        );
    }
    out
}

fn push_node(out: &mut String, node: &Node, thresholds: &Thresholds) {
    let _ = writeln!(out, "\n### `{}`\n\n**{}**", node.id, node.question);
    if let Some(parent) = node.parent {
        let _ = writeln!(out, "Asked after `{parent}`.");
    }
    let _ = writeln!(out, "\n{}", node.how);
    for limit in node.limits {
        let entry = limit.entry();
        let _ = writeln!(out, "\n- `{}` = {}: {}", entry.key, thresholds.get(*limit), entry.help);
    }
    let Some(cause) = node.cause else { return };
    let about = cause.about();
    let _ = writeln!(out, "\nYes means: {} (`{}`).", about.title, about.key);
    for remedy in about.remedies {
        let _ = writeln!(
            out,
            "\n- {}: {}\n  `{}`\n  Check: {}",
            remedy.reach.label(),
            remedy.what,
            remedy.command,
            remedy.verify
        );
    }
}

/// One question, or those whose name begins so.
pub(crate) fn explain(id: &str, thresholds: &Thresholds) -> Result<String, String> {
    let exact = ALL.iter().filter(|node| node.id == id);
    let below = ALL
        .iter()
        .filter(|node| node.id.strip_prefix(id).is_some_and(|rest| rest.starts_with('.')));
    let mut out = String::new();
    for node in exact.chain(below) {
        push_node(&mut out, node, thresholds);
    }
    if out.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|node| node.id).collect();
        return Err(format!("no question is called '{id}'; there are: {}", names.join(", ")));
    }
    Ok(out.trim_start().to_owned())
}
