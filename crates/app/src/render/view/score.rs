//! `hugewise journal score` as text.

use crate::render::text;
use hugewise_base::count::counted;
use hugewise_manager::config::PolicyKind;
use hugewise_manager::score::Score;
use std::collections::BTreeMap;

/// The scores as text.
pub(crate) fn render(scores: &BTreeMap<PolicyKind, Score>) -> String {
    if scores.is_empty() {
        return text::wrap(
            "",
            "No policy ran in shadow, or none has been scored yet: that needs policy.shadow in the \
             configuration, a tracker or hints that say how memory is used, and some minutes.",
        );
    }
    scores.iter().map(|(kind, score)| one(*kind, score)).collect::<Vec<_>>().join("\n")
}

fn one(kind: PolicyKind, score: &Score) -> String {
    let all = score.both + score.differ;
    let cases = |count| counted(count, "case", "cases");
    let percent = |share: Option<f64>| share.map_or("?".to_owned(), |p| format!("{p:.0} %"));
    let mut out = text::wrap(
        "",
        &format!(
            "{}, in shadow: it agreed on {} of {}, in {}.",
            kind.key(),
            score.both,
            counted(all, "region", "regions"),
            cases(score.cases)
        ),
    );
    let accessed = format!(
        "of what only the active policy chose, {} of the pages turned out to be accessed; of what \
         only {} chose, {}",
        percent(score.active_accessed_percent),
        kind.key(),
        percent(score.shadow_accessed_percent)
    );
    out.push_str(&text::wrap("  accessed  ", &accessed));
    let better = format!(
        "the active policy in {}, {} in {}",
        cases(score.active_better),
        kind.key(),
        score.shadow_better
    );
    out.push_str(&text::wrap("  better    ", &better));
    out
}
