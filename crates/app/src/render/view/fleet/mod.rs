//! What `hugewise diagnose --fleet` says.

pub(crate) mod page;

use crate::render::colour::Paint;
use crate::render::text::{left, right, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::{Interval, Severity};
use hugewise_evidence::fleet::{Fleet, LeftOut, Row};
use hugewise_evidence::recording::Stamp;
use serde_json::Value;

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

/// The findings as JSON lines, for engines that read tables; `docs/how-to/fleet.md` says what the
/// columns mean.
pub(crate) fn lines(fleet: &Fleet) -> serde_json::Result<String> {
    let mut text = String::new();
    for row in &fleet.findings {
        let mut line = serde_json::to_value(row)?;
        if let Some(members) = line.as_object_mut() {
            // Words of SQL.
            members.remove("from");
            members.remove("to");
        }
        line["began"] = dated(row.from);
        line["ended"] = dated(row.to);
        line["times"] = Interval { from: row.from, to: row.to }.to_string().into();
        text += &line.to_string();
        text.push('\n');
    }
    Ok(text)
}

/// A time whose date is known: of others a table knows nothing.
fn dated(stamp: Option<Stamp>) -> Value {
    let stamp = stamp.filter(|stamp| stamp.has_date());
    stamp.map_or(Value::Null, |stamp| stamp.to_string().into())
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

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_evidence::diagnose::{Cause, Level};
    use hugewise_evidence::fleet::{Found, Read};

    pub(super) fn row(host: &str, from: Option<i64>) -> Row {
        Row {
            host: host.to_owned(),
            recording: "a,\"b\"\n\u{1b}[31m<i>".to_owned(),
            from: from.map(Stamp),
            to: from.map(Stamp),
            stretches: 2,
            severity: Severity::Warning,
            cause: Cause::ALL[0],
            title: "a cause",
            evidence: None,
            confidence: Level::Likely,
            weight: 0.25,
            follows: None,
        }
    }

    fn read(rows: Vec<Row>) -> Vec<Value> {
        let found = Found { rows, ..Found::default() };
        let fleet = Fleet::of(vec![Read { recording: "r".into(), result: Ok(found) }]);
        let text = lines(&fleet).expect("written");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let rows =
            read(vec![row("h\u{202e}1", Some(1_795_305_600)), row("z", Some(7)), row("zz", None)]);
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0]["host"], "h\u{202e}1");
        assert_eq!(rows[0]["recording"], "a,\"b\"\n\u{1b}[31m<i>");
        assert_eq!(rows[0]["began"], "2026-11-22 00:00:00");
        assert_eq!(
            (&rows[0]["severity"], &rows[0]["confidence"]),
            (&"warning".into(), &"likely".into())
        );
        assert_eq!(rows[0]["cause"], Cause::ALL[0].about().key);
        assert!(
            rows[1]["began"].is_null()
                && rows[1]["times"].as_str().is_some_and(|t| t.contains("00:00:07"))
        );
        assert!(rows[2]["evidence"].is_null() && rows[2]["weight"] == 0.25, "{rows:?}");
    }

    #[test]
    fn no_finding_is_a_table_without_rows() {
        assert!(read(Vec::new()).is_empty());
    }
}
