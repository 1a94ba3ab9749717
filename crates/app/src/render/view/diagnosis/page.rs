//! The report of a diagnosis: the verdict first, then each finding with what it rests on.

use super::parts::INTERVALS_MAX;
use super::plots;
use super::questions::{badge, push_all};
use crate::render::flame;
use crate::render::html::{self, push_json};
use crate::render::text::listed;
use crate::render::view::diagnosis::{counts, lacking, lines_left_out, nothing_seen, span};
use crate::render::view::signature;
use hugewise_base::count::counted;
use hugewise_base::escape::markup as escape;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::{
    Context, Diagnosis, Evidence, Finding, Ground, Interval, Missing, Severity, Step, Thresholds,
    Unseen,
};
use hugewise_evidence::recording::{Recording, Source};
use hugewise_evidence::signature::Resemblance;
use std::fmt::Write;

/// Most sources that are seen without unfolding.
const SOURCES_MAX: usize = 8;
/// Most missing observations that are seen without unfolding.
const MISSING_MAX: usize = 5;

/// Text that came from an input, safe to show.
fn foreign(text: &str) -> String {
    escape(&printable(text))
}

/// The whole page, with a flame graph where there is one.
///
/// # Errors
///
/// The diagnosis cannot be written as JSON.
pub(crate) fn page(
    recording: &Recording,
    found: &Diagnosis,
    resembled: &[Resemblance],
    thresholds: &Thresholds,
    picture: Option<&str>,
) -> anyhow::Result<String> {
    let headline = headline(found);
    let title = format!("hugewise diagnose: {headline}");
    let mut out = html::begin(&title, &[], Some("diagnosis"));
    out.push_str("<h1>hugewise diagnose</h1>\n");
    push_verdict(&mut out, found, &headline);
    super::logs::page(&mut out, found, foreign);
    push_sources(&mut out, recording, found);
    for (index, finding) in found.findings.iter().enumerate() {
        push_finding(&mut out, recording, found, (index + 1, finding), thresholds);
    }
    if let Some(picture) = picture {
        flame::push(&mut out, picture);
    }
    signature::push_html(&mut out, resembled);
    if found.findings.is_empty() {
        push_more(&mut out, found);
    }
    if !found.hosts.is_empty() {
        out.push_str("<h2>Questions</h2>\n");
    }
    push_all(&mut out, found);
    out.push_str(
        "<h2>Raw data</h2>\n<p>The whole diagnosis stands in this file as JSON, in the element \
         with the id <code>data</code>; <code>hugewise diagnose --json</code> prints it \
         too.</p>\n",
    );
    push_json(&mut out, found)?;
    Ok(html::end(out))
}

const fn severity(of: Severity) -> (&'static str, &'static str) {
    match of {
        Severity::Critical => ("critical", "Critical"),
        Severity::Warning => ("warning", "Warning"),
        Severity::Note => ("note", "Note"),
    }
}

fn severity_badge(of: Severity) -> String {
    let (class, text) = severity(of);
    format!("<span class=\"badge {class}\">{text}</span>")
}

/// The machine in front of a title, where there are several.
fn machine(found: &Diagnosis, finding: &Finding) -> String {
    let name = finding.host.as_deref().filter(|_| found.hosts.len() > 1);
    name.map_or_else(String::new, |name| format!("{}: ", printable(name)))
}

fn headline(found: &Diagnosis) -> String {
    match found.findings.first() {
        Some(worst) => format!("{}{}", machine(found, worst), worst.title),
        None if !found.logs.is_empty() => "No cause found".to_owned(),
        None if nothing_seen(found) => "Nothing to go by".to_owned(),
        None => "No finding".to_owned(),
    }
}

fn push_verdict(out: &mut String, found: &Diagnosis, headline: &str) {
    let badge = found.worst().map_or_else(String::new, |worst| severity_badge(worst) + " ");
    let _ = writeln!(out, "<p class=\"verdict\">{badge}{}</p>", escape(headline));
    if found.findings.len() > 1 {
        out.push_str("<ol class=\"contents\">\n");
        for (index, finding) in found.findings.iter().enumerate() {
            let (badge, machine) = (severity_badge(finding.severity), machine(found, finding));
            let title = escape(&format!("{machine}{}", finding.title));
            let _ =
                writeln!(out, "<li><a href=\"#finding-{}\">{badge} {title}</a></li>", index + 1);
        }
        out.push_str("</ol>\n");
    }
    if found.findings.is_empty() {
        let (yes, no, unknown) = counts(found);
        let answered = counted(yes + no, "question was", "questions were");
        let _ = writeln!(
            out,
            "<p>{answered} answered and none names a cause; {unknown} could not be answered from \
             these sources.</p>"
        );
    }
}

fn push_source(out: &mut String, index: usize, source: &Source) {
    let number = index + 1;
    let _ = writeln!(
        out,
        "<li id=\"source-{number}\"><span class=\"ref\">[{number}]</span> {} in \
         <span class=\"path\">{}:{}</span></li>",
        escape(source.kind.label()),
        foreign(&source.input),
        source.line
    );
}

fn push_sources(out: &mut String, recording: &Recording, found: &Diagnosis) {
    out.push_str("<h2>What was read</h2>\n<ul class=\"sources\">\n");
    let numbered = || recording.sources.iter().enumerate();
    numbered().take(SOURCES_MAX).for_each(|(index, source)| push_source(out, index, source));
    out.push_str("</ul>\n");
    if let Some(more) = recording.sources.len().checked_sub(SOURCES_MAX).filter(|more| *more > 0) {
        let _ =
            writeln!(out, "<details><summary>and {more} more</summary>\n<ul class=\"sources\">");
        numbered().skip(SOURCES_MAX).for_each(|(index, source)| push_source(out, index, source));
        out.push_str("</ul>\n</details>\n");
    }
    let names = recording.hosts.iter().filter_map(|host| host.name.as_deref());
    let names: Vec<String> = names.map(foreign).collect();
    let label = if names.len() == 1 { "Machine" } else { "Machines" };
    let times = span(recording).map(|(first, last)| format!("{first} to {last}"));
    let names = (!names.is_empty()).then(|| names.join(", "));
    push_facts(out, &[(label, names), ("Time", times)]);
    push_notes(out, found);
}

/// Names with their texts, as HTML; those without one are left out.
fn push_facts(out: &mut String, facts: &[(&str, Option<String>)]) {
    if facts.iter().all(|fact| fact.1.is_none()) {
        return;
    }
    out.push_str("<dl class=\"facts\">\n");
    for (name, text) in facts {
        if let Some(text) = text {
            let _ = writeln!(out, "<dt>{name}</dt><dd>{text}</dd>");
        }
    }
    out.push_str("</dl>\n");
}

/// What went wrong in reading, and what nobody understood.
fn push_notes(out: &mut String, found: &Diagnosis) {
    if !found.problems.is_empty() {
        let problems = counted(found.problems.len(), "problem", "problems");
        let _ = writeln!(out, "<details><summary>{problems} in reading</summary>\n<ul>");
        for problem in &found.problems {
            let line = problem.line.map_or_else(String::new, |line| format!(":{line}"));
            let (input, text) = (foreign(&problem.input), foreign(&problem.text));
            let _ = writeln!(out, "<li><span class=\"path\">{input}{line}</span>: {text}</li>");
        }
        out.push_str("</ul>\n</details>\n");
    }
    if !found.unrecognised.is_empty() {
        let lines = counted(lines_left_out(found), "line", "lines");
        let _ = writeln!(out, "<details><summary>{lines} not recognised</summary>\n<ul>");
        for part in &found.unrecognised {
            let (input, start) = (foreign(&part.input), foreign(&part.start));
            let _ = writeln!(
                out,
                "<li><span class=\"path\">{input}:{}-{}</span> <code>{start}</code></li>",
                part.first_line, part.last_line
            );
        }
        out.push_str("</ul>\n</details>\n");
    }
}

fn times(intervals: &[Interval]) -> Option<String> {
    let times = intervals.iter().map(|interval| escape(&interval.to_string()));
    (times.len() > 0).then(|| listed(times, INTERVALS_MAX))
}

fn push_finding(
    out: &mut String,
    recording: &Recording,
    found: &Diagnosis,
    (number, finding): (usize, &Finding),
    thresholds: &Thresholds,
) {
    let (class, _) = severity(finding.severity);
    let badge = severity_badge(finding.severity);
    let title = escape(&format!("{}{}", machine(found, finding), finding.title));
    let _ = writeln!(
        out,
        "<section class=\"finding {class}\" id=\"finding-{number}\">\n\
         <h2>{badge} {title}</h2>"
    );
    let sure = &finding.confidence;
    let sure = format!("<b>{}</b>: {}", sure.level.label(), foreign(&sure.reason));
    push_facts(out, &[("When", times(&finding.intervals)), ("Confidence", Some(sure))]);
    out.push_str("<h3>Why</h3>\n<ol class=\"chain\">\n");
    finding.chain.iter().for_each(|step| push_step(out, step));
    out.push_str("</ol>\n");
    if !finding.also.is_empty() {
        let also: Vec<String> =
            finding.also.iter().map(|node| format!("<code>{}</code>", escape(node))).collect();
        let _ = writeln!(out, "<p>The same say: {}</p>", also.join(", "));
    }
    let hosts = recording.hosts.iter().filter(|host| !host.is_empty());
    if let Some(host) = hosts.into_iter().find(|host| host.name == finding.host) {
        let cx = Context::alone(recording, host, thresholds);
        out.push_str(&plots::figures(recording, &cx, finding, number));
    }
    push_ruled_out(out, finding);
    push_missing(out, &finding.missing);
    push_remedies(out, finding);
    out.push_str("</section>\n");
}

fn push_step(out: &mut String, step: &Step) {
    let _ = writeln!(
        out,
        "<li><span class=\"question\">{}</span> {}",
        escape(step.question),
        badge(Some(step.verdict))
    );
    if !step.evidence.is_empty() {
        out.push_str("<ul>\n");
        for evidence in &step.evidence {
            let _ = writeln!(out, "<li>{}</li>", quote(evidence));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</li>\n");
}

fn quote(evidence: &Evidence) -> String {
    let ground = match evidence.ground {
        Ground::Observed => "",
        Ground::Derived => "<i class=\"ground\">derived:</i> ",
        Ground::Assumed => "<i class=\"ground\">assumed:</i> ",
    };
    let source = evidence.source.map_or_else(String::new, |id| {
        let number = id.0.saturating_add(1);
        format!(" <a class=\"ref\" href=\"#source-{number}\">[{number}]</a>")
    });
    format!("{ground}{}{source}", foreign(&evidence.text))
}

fn push_ruled_out(out: &mut String, finding: &Finding) {
    if finding.ruled_out.is_empty() {
        return;
    }
    out.push_str("<h3>Ruled out</h3>\n<ul class=\"ruled\">\n");
    for step in &finding.ruled_out {
        let against: Vec<String> = step.evidence.iter().map(quote).collect();
        let (question, no) = (escape(step.question), badge(Some(step.verdict)));
        let _ = writeln!(out, "<li>{question} {no} {}</li>", against.join("; "));
    }
    out.push_str("</ul>\n");
}

fn push_command(out: &mut String, command: &str) {
    let _ = writeln!(
        out,
        "<pre class=\"command\" tabindex=\"0\" role=\"region\" aria-label=\"Command\"><code>{}\
         </code></pre>",
        escape(command)
    );
}

fn push_missing(out: &mut String, missing: &[Unseen]) {
    if !missing.is_empty() {
        let lacking: Vec<(Missing, &[Interval])> =
            missing.iter().map(|unseen| (unseen.missing, unseen.blind.as_slice())).collect();
        out.push_str("<h3>Not observed</h3>\n");
        push_lacking(out, &lacking);
    }
}

/// What is missing, for which times, and the command that records it; the first few at once.
fn push_lacking(out: &mut String, all: &[(Missing, &[Interval])]) {
    let push_some = |out: &mut String, some: &[(Missing, &[Interval])]| {
        out.push_str("<ul>\n");
        for (missing, blind) in some {
            let blind = times(blind).map(|times| format!(" (none for {times})"));
            let _ = writeln!(out, "<li>{}{}", escape(missing.what), blind.unwrap_or_default());
            push_command(out, missing.command);
            out.push_str("</li>\n");
        }
        out.push_str("</ul>\n");
    };
    let (first, rest) = all.split_at(all.len().min(MISSING_MAX));
    push_some(out, first);
    if !rest.is_empty() {
        let _ = writeln!(out, "<details><summary>and {} more</summary>", rest.len());
        push_some(out, rest);
        out.push_str("</details>\n");
    }
}

fn push_remedies(out: &mut String, finding: &Finding) {
    if finding.remedies.is_empty() {
        return;
    }
    out.push_str("<h3>What to do, the smallest reach first</h3>\n<ol class=\"remedies\">\n");
    for remedy in &finding.remedies {
        let (reach, what) = (escape(remedy.reach.label()), escape(remedy.what));
        let _ = writeln!(out, "<li><span class=\"reach\">{reach}</span> {what}");
        push_command(out, &remedy.command);
        let _ = writeln!(out, "<p class=\"check\">Check: {}</p></li>", escape(remedy.verify));
    }
    out.push_str("</ol>\n");
}

/// Without a finding: what would answer the questions left open.
fn push_more(out: &mut String, found: &Diagnosis) {
    let all = lacking(found);
    if !all.is_empty() {
        let lacking: Vec<(Missing, &[Interval])> =
            all.into_iter().map(|missing| (missing, &[][..])).collect();
        out.push_str("<h2>To see more</h2>\n");
        push_lacking(out, &lacking);
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
