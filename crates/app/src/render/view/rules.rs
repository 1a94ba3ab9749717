//! The tree as documentation: one question or some for `--explain`, all of them as Markdown for
//! `--rules`.

use crate::render::colour::Paint;
use crate::render::text::wrap;
use hugewise_evidence::diagnose::{Cause, Threshold, Thresholds};
use hugewise_evidence::diagnose::{node::Node, questions::ALL};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// The page of all questions and thresholds.
pub(crate) fn page() -> String {
    let mut out = String::from(
        "# Rules of `hugewise diagnose`\n\nEach question is asked when the one above\nit was \
         answered yes, or could not be answered. A yes leads to a finding unless a question \
         below\nit says it better.\n\n## Questions\n",
    );
    for node in ALL.iter() {
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
    for limit in &node.limits {
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
///
/// Empty where none is called so.
pub(crate) fn named(id: &str) -> Vec<&'static Node> {
    let exact = ALL.iter().filter(|node| node.id == id);
    let below = ALL
        .iter()
        .filter(|node| node.id.strip_prefix(id).is_some_and(|rest| rest.starts_with('.')));
    exact.chain(below).collect()
}

/// The names of all questions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|node| node.id)
}

/// Questions for a terminal.
pub(crate) fn explain(nodes: &[&Node], thresholds: &Thresholds, paint: Paint) -> String {
    let all = nodes.iter().map(|node| explained(node, thresholds, paint));
    all.collect::<Vec<_>>().join("\n")
}

fn explained(node: &Node, thresholds: &Thresholds, paint: Paint) -> String {
    let mut out = wrap(&format!("{}: ", paint.bold(node.id)), node.question);
    if let Some(parent) = node.parent {
        out += &wrap("  asked after  ", parent);
    }
    out += &wrap("  how          ", node.how);
    for limit in &node.limits {
        let entry = limit.entry();
        let text = format!("{} = {}: {}", entry.key, thresholds.get(*limit), entry.help);
        out += &wrap("  threshold    ", &text);
    }
    let Some(cause) = node.cause else { return out };
    let about = cause.about();
    out += &wrap("  yes means    ", &format!("{} ({})", about.title, about.key));
    for remedy in about.remedies {
        out += &wrap("  do           ", &format!("{}: {}", remedy.reach.label(), remedy.what));
        // Never broken: it is there to be copied.
        let _ = writeln!(out, "               {} {}", paint.dim("$"), remedy.command);
        out += &wrap("               check: ", remedy.verify);
    }
    out
}

/// All questions for programs.
pub(crate) fn page_json() -> Json {
    json(&ALL.iter().collect::<Vec<_>>(), &Thresholds::default())
}

/// These questions, and all thresholds, for programs.
pub(crate) fn json(nodes: &[&Node], thresholds: &Thresholds) -> Json {
    let threshold = |threshold: &Threshold| {
        let mut all = threshold_json(*threshold, thresholds);
        all["source"] = threshold.entry().source.into();
        all
    };
    let all: Vec<Json> = Threshold::ALL.iter().map(threshold).collect();
    json!({ "schema": SCHEMA, "questions": questions(nodes, thresholds), "thresholds": all })
}

/// Questions for programs.
pub(crate) fn questions(nodes: &[&Node], thresholds: &Thresholds) -> Json {
    let one = |node: &&Node| {
        let limits = node.limits.iter().map(|limit| threshold_json(*limit, thresholds));
        let cause = node.cause.map(Cause::about);
        json!({
            "node": node.id,
            "parent": node.parent,
            "question": node.question,
            "how": node.how,
            "thresholds": limits.collect::<Vec<_>>(),
            "cause": cause,
        })
    };
    nodes.iter().map(one).collect()
}

fn threshold_json(threshold: Threshold, thresholds: &Thresholds) -> Json {
    let entry = threshold.entry();
    json!({ "key": entry.key, "value": thresholds.get(threshold), "help": entry.help })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_question_and_every_threshold() {
        let (page, json) = (page(), page_json());
        for node in ALL.iter() {
            assert!(page.contains(&format!("\n### `{}`\n", node.id)), "{} is missing", node.id);
            assert!(page.contains(node.question), "{}", node.id);
        }
        for threshold in Threshold::ALL {
            let key = threshold.entry().key;
            assert!(page.contains(&format!("\n| `{key}` |")), "{key} is missing");
        }
        let all = |list: &str| json[list].as_array().map_or(0, Vec::len);
        assert_eq!((all("questions"), all("thresholds")), (ALL.len(), Threshold::ALL.len()));
    }

    #[test]
    fn an_explanation_is_for_a_terminal() {
        let nodes = named("kernel");
        assert!(nodes.len() > 1);
        let text = explain(&nodes, &Thresholds::default(), Paint::plain());
        assert!(text.starts_with("kernel.reclaim: "), "{text}");
        assert!(!text.contains("**") && !text.contains("###"), "{text}");
        let prose = |line: &&str| !line.trim_start().starts_with('$');
        for line in text.lines().filter(prose) {
            assert!(crate::render::text::width(line) <= crate::render::text::WIDTH, "{line}");
            assert!(!line.contains('`'), "{line}");
        }
        assert!(named("kernel.nothing").is_empty());
    }
}
