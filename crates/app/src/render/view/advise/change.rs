//! What `advise apply` changes, and what became of it.

use super::words::{setting, way};
use crate::render::text::wrap;
use hugewise_base::escape::printable;
use hugewise_evidence::advice::change::Changes;

/// What was changed, or would be.
pub(crate) fn applied(changes: &Changes, files: &[String], touched: &str, dry_run: bool) -> String {
    let mut out = String::new();
    for change in &changes.settings {
        let from = change.from.as_deref().unwrap_or("unknown");
        let text = format!(
            "{} -> {}, for {}",
            printable(from),
            printable(&change.to),
            change.rules.join(", ")
        );
        out += &wrap(&format!("{}: ", setting(&change.setting)), &text);
    }
    if !touched.is_empty() {
        out += &wrap("  ", &format!("It touches {touched}."));
    }
    for file in files {
        out += &wrap("", &format!("/{}: written", printable(file)));
    }
    for drop_in in &changes.drop_ins {
        let unit = printable(&drop_in.unit);
        let text = format!("{unit} has it after 'systemctl daemon-reload' and a restart");
        out += &wrap("  ", &text);
    }
    for one in &changes.by_hand {
        let text = format!("{}: by hand: {}", printable(&one.rule), way(&one.way));
        out += &wrap("", &text);
    }
    if changes.is_empty() && files.is_empty() {
        out += "No setting and no file has to change.\n";
    } else if dry_run {
        out += "Nothing was changed (--dry-run): that is what would happen.\n";
    } else {
        out += "'hugewise advise revert' puts the old values back.\n";
    }
    out
}

/// A setting or file that was changed, and what it is now.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Verified {
    /// Path.
    pub(crate) file: String,
    /// What was written; of a file, nothing.
    pub(crate) wanted: Option<String>,
    /// What is there; of a file, nothing.
    pub(crate) actual: Option<String>,
    /// Whether it is as it was written.
    pub(crate) is_right: bool,
}

/// What `advise verify` found.
pub(crate) fn verified(all: &[Verified]) -> String {
    if all.is_empty() {
        return "Nothing was applied, or it was put back.\n".to_owned();
    }
    let mut out = String::new();
    for one in all {
        let unknown = || "unknown".to_owned();
        let shown =
            |value: &Option<String>| value.as_ref().map_or_else(unknown, |value| printable(value));
        let text = match (one.is_right, &one.wanted) {
            (true, Some(_)) => format!("{}, as it was set", shown(&one.wanted)),
            (true, None) => "as it was written".to_owned(),
            (false, Some(_)) => format!("{}, NOT {}", shown(&one.actual), shown(&one.wanted)),
            (false, None) => "NOT as it was written".to_owned(),
        };
        out += &wrap(&format!("/{}: ", printable(&one.file)), &text);
    }
    out
}
