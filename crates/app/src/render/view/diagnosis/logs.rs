//! What stands out in logs that have no format of their own.

use crate::render::colour::Paint;
use crate::render::text::wrap;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::{Diagnosis, written};
use hugewise_evidence::recording::{LogSummary, Observation, Stamp, Unit};

/// Most logs that are shown.
const LOGS_MAX: usize = 12;

/// Where a log stands.
fn place(found: &Diagnosis, log: &LogSummary) -> String {
    let source = found.sources.get(log.source.0 as usize);
    source.map_or_else(String::new, |at| format!("{}:{}", at.input, at.line))
}

/// How long a log is.
fn size(log: &LogSummary) -> String {
    let lines = counted(log.lines, "line", "lines");
    let messages = counted(log.messages as u64, "message", "different messages");
    format!("{lines}, {messages}{}", span(log.first, log.last))
}

/// An observation in a line.
fn sentence(one: &Observation) -> String {
    let mut text = one.what.label().to_owned();
    if let Some(longest) = one.longest_ms {
        text.push_str(&format!(" {}", written(Unit::Milliseconds, longest)));
    }
    if let Some(message) = &one.message {
        text.push_str(&format!(", {}: '{message}'", counted(one.lines, "line", "lines")));
    }
    text.push_str(&span(one.first, one.last));
    if let Some(object) = &one.object {
        text.push_str(&format!(", first of {object}"));
    }
    if one.message.is_some() {
        text.push_str(&format!(" (line {})", one.line));
    }
    text
}

fn span(first: Option<Stamp>, last: Option<Stamp>) -> String {
    match (first, last) {
        (Some(first), Some(last)) if first == last => format!(", {first}"),
        (Some(first), Some(last)) if first.day() == last.day() => {
            format!(", {first} to {}", last.clock())
        }
        (Some(first), Some(last)) => format!(", {first} to {last}"),
        _ => String::new(),
    }
}

/// All logs, each with what stands out.
pub(super) fn push(out: &mut String, found: &Diagnosis, paint: Paint) {
    for log in found.logs.iter().take(LOGS_MAX) {
        let title = format!("{}: {}", place(found, log), size(log));
        out.push_str(&wrap(&paint.bold("Log "), &printable(&title)));
        for one in &log.observations {
            let text = printable(&sentence(one));
            let line = wrap("  - ", &text);
            out.push_str(&if one.what.is_trouble() { paint.warn(&line) } else { line });
        }
        if log.observations.is_empty() {
            out.push_str("  nothing stands out in it\n");
        }
    }
}

/// The same as HTML.
pub(super) fn page(out: &mut String, found: &Diagnosis, escape: impl Fn(&str) -> String) {
    for log in found.logs.iter().take(LOGS_MAX) {
        let (place, size) = (escape(&place(found, log)), escape(&size(log)));
        out.push_str(&format!("<h2>Log <span class=\"path\">{place}</span></h2>\n"));
        out.push_str(&format!("<p>{size}</p>\n<ul>\n"));
        for one in &log.observations {
            out.push_str(&format!("<li>{}</li>\n", escape(&sentence(one))));
        }
        if log.observations.is_empty() {
            out.push_str("<li>nothing stands out in it</li>\n");
        }
        out.push_str("</ul>\n");
    }
}
