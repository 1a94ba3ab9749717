//! What a message says that did not work, in the words that programs have in common.

use super::level::LogLevel;
use super::summary::{Observed, Topic};
use super::token;

/// Words one after the other in a message, small letters, and what they say. A word that is also a
/// setting's name counts only where the line's level is a warning or an error.
// tidy: table
const WORDS: [(&[&str], Observed, bool); 21] = [
    (&["connection", "refused"], Observed::Refused, false),
    (&["refused"], Observed::Refused, true),
    (&["rejected"], Observed::Refused, true),
    (&["rejecting"], Observed::Refused, true),
    (&["unreachable"], Observed::Refused, true),
    (&["timed", "out"], Observed::TimedOut, false),
    (&["time", "out"], Observed::TimedOut, true),
    (&["timeout"], Observed::TimedOut, true),
    (&["timeouts"], Observed::TimedOut, true),
    (&["deadline", "exceeded"], Observed::TimedOut, false),
    (&["is", "full"], Observed::Full, false),
    (&["full"], Observed::Full, true),
    (&["exhausted"], Observed::Full, false),
    (&["no", "space"], Observed::Full, false),
    (&["too", "many"], Observed::Full, false),
    (&["out", "of", "memory"], Observed::Full, false),
    (&["not", "enough"], Observed::Full, true),
    (&["limit", "reached"], Observed::Full, false),
    (&["limit", "exceeded"], Observed::Full, false),
    (&["overflow"], Observed::Full, true),
    (&["overloaded"], Observed::Full, true),
];

/// What there can be too many of.
const COUNTED: [&str; 14] = [
    "open",
    "connections",
    "clients",
    "requests",
    "files",
    "processes",
    "sessions",
    "threads",
    "users",
    "concurrent",
    "messages",
    "jobs",
    "queries",
    "pending",
];

/// Words that say what a message is about.
// tidy: table
const TOPICS: [(&str, Topic); 22] = [
    ("disk", Topic::Storage),
    ("fsync", Topic::Storage),
    ("fdatasync", Topic::Storage),
    ("flush", Topic::Storage),
    ("write", Topic::Storage),
    ("writing", Topic::Storage),
    ("volume", Topic::Storage),
    ("device", Topic::Storage),
    ("checkpoint", Topic::Storage),
    ("commit", Topic::Storage),
    ("connect", Topic::Network),
    ("connection", Topic::Network),
    ("connections", Topic::Network),
    ("socket", Topic::Network),
    ("network", Topic::Network),
    ("peer", Topic::Network),
    ("host", Topic::Network),
    ("upstream", Topic::Network),
    ("memory", Topic::Memory),
    ("heap", Topic::Memory),
    ("allocation", Topic::Memory),
    ("allocate", Topic::Memory),
];

/// What a message is about, where its words agree.
pub(super) fn topic(template: &str) -> Option<Topic> {
    let lower = template.to_lowercase();
    let named = |(text, _): (&str, bool)| {
        TOPICS.iter().find(|(word, _)| *word == text).map(|(_, topic)| *topic)
    };
    let mut all: Vec<Topic> = token::tokens(&lower).into_iter().filter_map(named).collect();
    all.dedup();
    if let [one] = all[..] { Some(one) } else { None }
}

/// Words behind `full` that make it say something else.
const OTHER_FULL: [&str; 6] = ["gc", "scan", "backup", "sync", "resync", "name"];

/// What a message of this shape says, if anything.
pub(super) fn said(shape: &str, level: Option<LogLevel>) -> Option<Observed> {
    let bad = level.is_some_and(|level| level >= LogLevel::Warning);
    let harmless = level.is_some_and(|level| level < LogLevel::Warning);
    let lower = shape.to_lowercase();
    let words: Vec<&str> = token::tokens(&lower)
        .into_iter()
        .map(|(text, _)| text.trim_end_matches(['.', '!']))
        .filter(|text| text.contains(|c: char| c.is_alphanumeric()))
        .collect();
    for at in 0..words.len() {
        let rest = &words[at..];
        let [behind, third] = [1, 2].map(|at| rest.get(at).copied().unwrap_or_default());
        if rest[0] == "full" && OTHER_FULL.contains(&behind) {
            continue;
        }
        if rest.starts_with(&["too", "many"]) && !COUNTED.contains(&third) {
            continue;
        }
        let fits = |(wanted, _, only_bad): &&(&[&str], Observed, bool)| {
            rest.starts_with(wanted) && (bad || !(*only_bad || harmless))
        };
        if let Some((_, observed, _)) = WORDS.iter().find(fits) {
            return Some(*observed);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_messages_are_about() {
        for (template, wanted) in [
            ("flush of disk took \u{1}", Some(Topic::Storage)),
            ("Connection to peer \u{1} lost", Some(Topic::Network)),
            ("no memory for this connection", None),
            ("order \u{1} packed", None),
        ] {
            assert_eq!(topic(template), wanted, "{template}");
        }
    }

    #[test]
    fn what_did_not_work() {
        let (info, warning) = (Some(LogLevel::Info), Some(LogLevel::Warning));
        for (shape, level, wanted) in [
            ("connect to \u{1} failed: Connection refused", None, Some(Observed::Refused)),
            ("read timed out.", None, Some(Observed::TimedOut)),
            ("session timeout is \u{1}", info, None),
            ("session timeout is \u{1}", None, None),
            ("timeout waiting for \u{1}", warning, Some(Observed::TimedOut)),
            ("queue is full", None, Some(Observed::Full)),
            ("full gc took \u{1}", warning, None),
            ("Too many open files", None, Some(Observed::Full)),
            ("Too many authentication failures", None, None),
            ("retry if connection refused", info, None),
            ("all is well", warning, None),
        ] {
            assert_eq!(said(shape, level), wanted, "{shape}");
        }
    }
}
