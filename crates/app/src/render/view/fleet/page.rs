//! The report of a fleet: causes by the number of hosts that have them, then the hosts, the worst
//! first, each with its findings to unfold.

use super::head;
use crate::render::html;
use hugewise_base::count::counted;
use hugewise_base::escape::{markup as escape, printable};
use hugewise_evidence::diagnose::{Interval, Severity};
use hugewise_evidence::fleet::{Fleet, LeftOut, Row, Shared};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Most hosts that are listed: a page of ten thousand would be of no use, and no browser's.
const HOSTS_MAX: usize = 500;
/// Most findings of a host, and most recordings that were not read.
const ROWS_MAX: usize = 20;

/// Text that came from a recording, safe to show.
fn foreign(text: &str) -> String {
    escape(&printable(text))
}

/// The whole page.
pub(crate) fn page(fleet: &Fleet) -> String {
    let headline = head(fleet);
    let title = format!("hugewise diagnose --fleet: {headline}");
    let mut out = html::begin(&title, &[], Some("diagnosis"));
    out.push_str("<h1>hugewise diagnose --fleet</h1>\n");
    let _ = writeln!(out, "<p class=\"verdict\">{}</p>", escape(&headline));
    let hosts = ranked(fleet);
    push_causes(&mut out, fleet, &hosts);
    push_hosts(&mut out, &hosts);
    push_left_out(&mut out, "Recordings that were left out", &fleet.left_out);
    push_left_out(&mut out, "Recordings of which not all was read", &fleet.problems);
    out.push_str(
        "<h2>More</h2>\n<p><code>hugewise diagnose RECORDING</code> has the chain of evidence and \
         the remedies of a host. <code>--json</code> has all findings, <code>--table FILE</code> \
         as a table for SQL.</p>\n",
    );
    html::end(out)
}

/// A host with its findings, the worst first.
struct Host<'a> {
    name: &'a str,
    rows: Vec<&'a Row>,
}

/// How bad a finding is: by severity, a cause before what follows from it, then by the share
/// concerned.
fn rank(row: &Row) -> (Severity, bool, f64) {
    (row.severity, row.follows.is_none(), row.weight)
}

/// The hosts that have findings, the worst first.
fn ranked(fleet: &Fleet) -> Vec<Host<'_>> {
    let mut by_name: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &fleet.findings {
        by_name.entry(&row.host).or_default().push(row);
    }
    let mut hosts = Vec::new();
    for (name, mut rows) in by_name {
        rows.sort_by(|one, other| {
            let (one, other) = (rank(one), rank(other));
            let by_kind = (other.0, other.1).cmp(&(one.0, one.1));
            by_kind.then(other.2.total_cmp(&one.2))
        });
        hosts.push(Host { name, rows });
    }
    // The sort is stable: of equal hosts the first by name.
    hosts.sort_by_key(|host| {
        let of = |severity| host.rows.iter().filter(|row| row.severity == severity).count();
        Reverse((of(Severity::Critical), of(Severity::Warning), of(Severity::Note)))
    });
    hosts
}

fn badge(severity: Severity) -> String {
    let label = severity.label();
    format!("<span class=\"badge {}\">{label}</span>", label.to_lowercase())
}

fn push_causes(out: &mut String, fleet: &Fleet, hosts: &[Host<'_>]) {
    if fleet.causes.is_empty() {
        return;
    }
    out.push_str("<h2>Causes</h2>\n<ul class=\"sources\">\n");
    for one in &fleet.causes {
        let (badge, title) = (badge(one.severity), escape(one.title));
        let hosts_with_it = counted(one.hosts as u64, "host", "hosts");
        let worst = link(one, hosts);
        let _ = writeln!(
            out,
            "<li>{badge} {title}: <span class=\"ref\">{hosts_with_it}</span>, worst on {worst}</li>"
        );
    }
    out.push_str("</ul>\n");
}

/// The worst host of a cause, by a link where it is listed.
fn link(cause: &Shared, hosts: &[Host<'_>]) -> String {
    let name = foreign(&cause.worst_host);
    let place = hosts.iter().take(HOSTS_MAX).position(|host| host.name == cause.worst_host);
    match place {
        Some(place) => format!("<a href=\"#host-{place}\">{name}</a>"),
        None => name,
    }
}

fn push_hosts(out: &mut String, hosts: &[Host<'_>]) {
    if hosts.is_empty() {
        return;
    }
    out.push_str("<h2>Hosts</h2>\n");
    for (place, host) in hosts.iter().take(HOSTS_MAX).enumerate() {
        push_host(out, place, host);
    }
    let more = hosts.len().saturating_sub(HOSTS_MAX);
    if more > 0 {
        let more = counted(more as u64, "host", "hosts");
        let _ = writeln!(out, "<p>and {more} more with findings: --json has all</p>");
    }
}

fn push_host(out: &mut String, place: usize, host: &Host<'_>) {
    let Some(worst) = host.rows.first() else { return };
    let findings = counted(host.rows.len() as u64, "finding", "findings");
    let _ = writeln!(
        out,
        "<details id=\"host-{place}\"><summary>{} <b>{}</b>: {} ({findings})</summary>",
        badge(worst.severity),
        foreign(host.name),
        escape(worst.title)
    );
    for row in host.rows.iter().take(ROWS_MAX) {
        push_finding(out, row);
    }
    let more = host.rows.len().saturating_sub(ROWS_MAX);
    if more > 0 {
        let _ = writeln!(out, "<p>and {more} more: --json has all</p>");
    }
    out.push_str("</details>\n");
}

fn push_finding(out: &mut String, row: &Row) {
    let label = row.severity.label();
    let class = label.to_lowercase();
    let when = Interval { from: row.from, to: row.to };
    let _ = writeln!(
        out,
        "<section class=\"finding {class}\"><h3>{} {}</h3>\n<dl class=\"facts\">",
        badge(row.severity),
        escape(row.title)
    );
    let often = match row.stretches {
        0 | 1 => String::new(),
        many => format!(", {many} times"),
    };
    let mut facts = vec![("when", format!("{}{often}", escape(&when.to_string())))];
    if let Some(evidence) = &row.evidence {
        facts.push(("why", foreign(evidence)));
    }
    facts.push(("sure", row.confidence.label().to_owned()));
    if let Some(cause) = row.follows {
        let relation = if row.cause.is_setting() { "lets happen" } else { "follows from" };
        facts.push((relation, escape(cause.about().title)));
    }
    facts.push(("recording", format!("<span class=\"path\">{}</span>", foreign(&row.recording))));
    for (name, text) in facts {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{text}</dd>");
    }
    out.push_str("</dl></section>\n");
}

fn push_left_out(out: &mut String, heading: &str, all: &[LeftOut]) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{heading}</h2>\n<ul class=\"sources\">");
    for one in all.iter().take(ROWS_MAX) {
        let (recording, why) = (foreign(&one.recording), foreign(&one.why));
        let _ = writeln!(out, "<li><span class=\"path\">{recording}</span>: {why}</li>");
    }
    let more = all.len().saturating_sub(ROWS_MAX);
    if more > 0 {
        let _ = writeln!(out, "<li>and {more} more: --json has all</li>");
    }
    out.push_str("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;
    use hugewise_evidence::fleet::{Found, Read};

    fn fleet(rows: Vec<Row>) -> Fleet {
        let found = Found { rows, ..Found::default() };
        Fleet::of(vec![
            Read { recording: "r".into(), result: Ok(found) },
            Read { recording: "<b>".into(), result: Err("no <i>".into()) },
        ])
    }

    #[test]
    fn the_worst_host_comes_first_and_nothing_foreign_is_markup() {
        let mut worst = row("z<script>", Some(1_795_305_600));
        worst.severity = Severity::Critical;
        worst.evidence = Some("<img src=x>".into());
        let page = page(&fleet(vec![row("a", None), worst]));
        let place = |text: &str| page.find(text).unwrap_or(usize::MAX);
        assert!(place("<b>z&lt;script&gt;</b>") < place("<b>a</b>"), "{page}");
        for raw in ["<script>", "<img", "<b>:", "<i>"] {
            assert!(!page.contains(raw), "{raw}: {page}");
        }
        assert!(page.contains("href=\"#host-0\"") && page.contains("id=\"host-0\""), "{page}");
        assert!(page.contains("2026-11-22 00:00:00"), "{page}");
    }

    #[test]
    fn thousands_of_hosts_make_no_page_without_end() {
        let host = |number: u32| row(&format!("host-{number:05}"), None);
        let page = page(&fleet((0..10_000).map(host).collect()));
        assert_eq!(page.matches("<details id=").count(), HOSTS_MAX);
        assert!(page.contains("and 9500 hosts more with findings"), "not counted");
        assert!(page.len() < 1 << 20, "{} bytes", page.len());
    }

    #[test]
    fn a_fleet_without_findings_says_so() {
        let page = page(&Fleet::of(Vec::new()));
        assert!(page.contains("none of them suffers") && !page.contains("<h2>Hosts"), "{page}");
    }
}
