//! What `hugewise diagnose --fleet` says.

use crate::render::colour::Paint;
use crate::render::text::{left, right, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::{Interval, Severity};
use hugewise_evidence::fleet::{Fleet, LeftOut, Row};

/// Most findings, and most problems, that the text shows.
const SHOWN_MAX: usize = 40;

/// The table in words.
pub(crate) fn text(fleet: &Fleet, paint: Paint) -> String {
    let mut text = paint.bold(&wrap("", &head(fleet)));
    text += &causes(fleet, paint);
    text += &findings(fleet, paint);
    text += &not_read("left out", &fleet.left_out, paint);
    text += &not_read("not all was read", &fleet.problems, paint);
    text
}

fn head(fleet: &Fleet) -> String {
    let recordings = counted(fleet.recordings as u64, "recording", "recordings");
    let hosts = counted(fleet.hosts as u64, "host", "hosts");
    let suffering = match fleet.hosts_suffering {
        0 => "none of them suffers as far as they show".to_owned(),
        1 => "one of them suffers".to_owned(),
        many => format!("{many} of them suffer"),
    };
    let left_out = match fleet.left_out.len() {
        0 => String::new(),
        some => format!("; {} left out", counted(some as u64, "recording", "recordings")),
    };
    format!("{recordings} of {hosts}: {suffering}{left_out}")
}

fn causes(fleet: &Fleet, paint: Paint) -> String {
    if fleet.causes.is_empty() {
        return String::new();
    }
    let heading = format!("{}  {}  what, and where it is worst", right("hosts", 5), left("", 8));
    let mut text = paint.bold(&format!("\n{heading}\n"));
    for one in &fleet.causes {
        let hosts = right(&one.hosts.to_string(), 5);
        let start = format!("{hosts}  {}  ", left(one.severity.label(), 8));
        let what = format!("{} ({})", one.title, printable(&one.worst_host));
        text += &coloured(one.severity, &wrap(&start, &what), paint);
    }
    text
}

fn findings(fleet: &Fleet, paint: Paint) -> String {
    if fleet.findings.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for row in fleet.findings.iter().take(SHOWN_MAX) {
        text.push('\n');
        text += &one(row, paint);
    }
    let more = fleet.findings.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        let more = counted(more as u64, "finding", "findings");
        text += &format!("\nand {more} more (--json has all)\n");
    }
    text
}

fn one(row: &Row, paint: Paint) -> String {
    let when = Interval { from: row.from, to: row.to };
    let stretches = match row.stretches {
        0 | 1 => String::new(),
        many => format!(", {many} times"),
    };
    let head = format!("{}  {when}{stretches}", printable(&row.host));
    let mut text = coloured(
        row.severity,
        &wrap(&format!("{}  ", left(row.severity.label(), 8)), &head),
        paint,
    );
    text += &wrap("          ", row.title);
    if let Some(evidence) = &row.evidence {
        text += &wrap("          ", &printable(evidence));
    }
    text
}

fn coloured(severity: Severity, text: &str, paint: Paint) -> String {
    match severity {
        Severity::Critical => paint.bad(text),
        Severity::Warning => paint.warn(text),
        Severity::Note => text.to_owned(),
    }
}

fn not_read(what: &str, all: &[LeftOut], paint: Paint) -> String {
    let mut text = String::new();
    if !all.is_empty() {
        text.push('\n');
    }
    for one in all.iter().take(SHOWN_MAX) {
        let said = format!("{}: {}", printable(&one.recording), printable(&one.why));
        text += &paint.warn(&wrap(&format!("{what}: "), &said));
    }
    let more = all.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        text += &format!("and {more} more (--json has all)\n");
    }
    text
}
