//! A diagnosis as text: findings first, then the tree with the path taken.

mod logs;
pub(crate) mod page;
mod parts;
mod plots;
mod questions;
mod short;
pub(super) mod time_plot;

use self::parts::{INTERVALS_MAX, head, when};
use crate::render::colour::Paint;
use crate::render::text::{columns, fit, wrap};
use crate::render::words::plain;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::{
    Asked, Diagnosis, Evidence, Examined, Finding, Ground, Missing, OF_MACHINE, Step, Unseen,
    Verdict,
};
use hugewise_evidence::recording::{Clock, Recording, SourceKind, Stamp};
use std::fmt::Write;

/// Name of the input where the machine itself is watched.
pub(crate) const WATCHED: &str = "this machine";
/// Most problems and unrecognised stretches that are shown.
const NOTES_MAX: usize = 8;
/// Most sources that are listed.
const SOURCES_MAX: usize = 12;
/// Most lines about what the machines do where nothing was found.
const DOING_MAX: usize = 4;
/// Most missing observations that are listed.
const MISSING_MAX: usize = 5;
/// Most commands where nothing was found.
const LACKING_MAX: usize = 4;

/// Whether no question at all got an answer.
pub(crate) fn nothing_seen(found: &Diagnosis) -> bool {
    !found.hosts.iter().any(has_answer)
}

/// Whether a question of this machine got an answer.
fn has_answer(host: &Examined) -> bool {
    host.tree.iter().any(is_answered)
}

fn is_answered(asked: &Asked) -> bool {
    asked.is(Verdict::Yes) || asked.is(Verdict::No)
}

/// Questions that were answered yes, those answered no, and those that could not be answered.
fn counts(found: &Diagnosis) -> (usize, usize, usize) {
    let asked = || found.hosts.iter().flat_map(|host| &host.tree);
    let count = |verdict| asked().filter(|asked| asked.is(verdict)).count();
    (count(Verdict::Yes), count(Verdict::No), count(Verdict::Unknown))
}

/// What would answer the questions left open, each command once, what is about the whole machine
/// first.
fn lacking(found: &Diagnosis) -> Vec<Missing> {
    let asked = found.hosts.iter().flat_map(|host| &host.tree);
    let mut all: Vec<Missing> = Vec::new();
    for missing in asked.flat_map(|asked| &asked.answer).flat_map(|answer| &answer.missing) {
        if all.iter().all(|known| known.command != missing.command) {
            all.push(*missing);
        }
    }
    let place = |missing: &Missing| OF_MACHINE.iter().position(|one| one == missing);
    all.sort_by_key(|missing| place(missing).unwrap_or(OF_MACHINE.len()));
    all
}

/// How many lines nobody knew: what stands in them was not considered.
pub(crate) fn lines_left_out(found: &Diagnosis) -> usize {
    found.unrecognised.iter().map(|u| (u.last_line + 1).saturating_sub(u.first_line)).sum()
}

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The answer, on one screen.
    Short,
    /// With the questions that led to it.
    Full,
    /// With every question.
    All,
}

/// The whole text; `resembles` is what it says of signatures, lines of their own.
pub(crate) fn render(
    recording: &Recording,
    found: &Diagnosis,
    resembles: &str,
    detail: Detail,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let short = detail == Detail::Short && !found.findings.is_empty();
    if found.findings.is_empty() {
        push_all_clear(&mut out, found, paint);
    } else if short {
        short::push(&mut out, found, paint);
    }
    for (index, finding) in found.findings.iter().enumerate().filter(|_| !short) {
        if index > 0 {
            out.push('\n');
        }
        push_finding(&mut out, finding, found.hosts.len() > 1, paint);
    }
    if !resembles.is_empty() {
        out.push('\n');
        out.push_str(resembles);
    }
    if !found.logs.is_empty() {
        out.push('\n');
        logs::push(&mut out, found, paint);
    }
    // The answer first; what it rests on, below it.
    out.push('\n');
    push_sources(&mut out, recording);
    push_notes(&mut out, found, paint);
    if short {
        short::push_more(&mut out, paint);
    }
    let all = detail == Detail::All;
    let told = all || detail == Detail::Full;
    for host in found.hosts.iter().filter(|_| told) {
        push_tree(&mut out, host, all, paint);
    }
    out
}

/// What was read: each block with the number that evidence names, machines, time.
fn push_sources(out: &mut String, recording: &Recording) {
    let _ = writeln!(out, "Read:");
    for (index, source) in recording.sources.iter().enumerate().take(SOURCES_MAX) {
        let text = match source.kind {
            SourceKind::Capture if source.input == WATCHED => format!("{WATCHED}, watched now"),
            kind => format!("{} in {}:{}", kind.label(), printable(&source.input), source.line),
        };
        out.push_str(&wrap(&format!("  [{}] ", index + 1), &text));
    }
    let more = recording.sources.len().saturating_sub(SOURCES_MAX);
    if more > 0 {
        let _ = writeln!(out, "  ... and {more} more (--json lists them)");
    }
    for host in &recording.hosts {
        let times = host.restarts.iter().filter_map(|restart| restart.at);
        let times: Vec<String> = times.take(INTERVALS_MAX).map(|at| at.to_string()).collect();
        if !times.is_empty() {
            let name = host.name.as_deref().map_or_else(String::new, printable);
            out.push_str(&wrap("  ", &format!("{name} restarted at {}", times.join(", "))));
        }
    }
    let names: Vec<String> =
        recording.hosts.iter().filter_map(|host| host.name.as_deref()).map(printable).collect();
    let mut text = names.join(", ");
    if let Some((first, last)) = span(recording) {
        let comma = if text.is_empty() { "" } else { "; " };
        let span = if first == last { first.to_string() } else { format!("{first} to {last}") };
        let utc = recording.sources.iter().any(|source| source.clock == Clock::Utc);
        let zone = if utc { " (UTC where the source has UTC)" } else { "" };
        let _ = write!(text, "{comma}{span}{zone}");
    }
    if !text.is_empty() {
        out.push_str(&wrap("  ", &text));
    }
}

/// The first and the last time of all values.
pub(crate) fn span(recording: &Recording) -> Option<(Stamp, Stamp)> {
    let series = recording.hosts.iter().flat_map(|host| host.series.values());
    let points = series
        .flat_map(|all| all.values().flatten())
        .flat_map(|series| [series.points.first(), series.points.last()].into_iter().flatten());
    let stamps = || points.clone().filter_map(|point| point.at);
    Some((stamps().min()?, stamps().max()?))
}

fn push_notes(out: &mut String, found: &Diagnosis, paint: Paint) {
    for problem in found.problems.iter().take(NOTES_MAX) {
        let line = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        let text =
            format!("{}{line}: {}", printable(&problem.input), printable(&plain(&problem.text)));
        out.push_str(&paint.warn(&wrap("Problem: ", &text)));
    }
    let more = found.problems.len().saturating_sub(NOTES_MAX);
    if more > 0 {
        let _ = writeln!(
            out,
            "... and {} (--json lists them)",
            counted(more, "more problem", "more problems")
        );
    }
    if !found.unrecognised.is_empty() {
        let shown = found.unrecognised.iter().take(3).map(|u| {
            let start = fit(&printable(&u.start), 30);
            format!("{}:{}-{} '{start}'", printable(&u.input), u.first_line, u.last_line)
        });
        let shown: Vec<String> = shown.collect();
        let more = if found.unrecognised.len() > 3 { ", ..." } else { "" };
        let lines = counted(lines_left_out(found), "line", "lines");
        let text = format!("{lines}: {}{more}", shown.join(", "));
        out.push_str(&paint.dim(&wrap("Not recognised: ", &text)));
    }
}

fn push_finding(out: &mut String, finding: &Finding, name_host: bool, paint: Paint) {
    let host = finding.host.as_deref().filter(|_| name_host).map(printable);
    let host = host.map_or_else(String::new, |host| format!("{host}: "));
    let title = format!("{host}{}", finding.title);
    out.push_str(&wrap(&format!("{} ", head(finding, paint)), &title));
    if let Some(times) = when(finding) {
        out.push_str(&wrap("  when       ", &times));
    }
    if let Some(root) = finding.follows {
        let title = root.about().title;
        out.push_str(&match finding.cause.is_setting() {
            true => wrap("  lets       ", &format!("'{title}' happen")),
            false => wrap("  follows    ", &format!("from '{title}'")),
        });
    }
    let sure = format!("{}: {}", finding.confidence.level.label(), finding.confidence.reason);
    out.push_str(&wrap("  confidence ", &sure));
    let _ = writeln!(out, "  {}", paint.bold("why"));
    for (depth, step) in finding.chain.iter().enumerate() {
        push_step(out, step, depth.min(4), paint);
    }
    if !finding.also.is_empty() {
        out.push_str(&wrap("    also: ", &finding.also.join(", ")));
    }
    push_ruled_out(out, finding, paint);
    push_missing(out, &finding.missing, paint);
    if !finding.remedies.is_empty() {
        let _ = writeln!(out, "  {}", paint.bold("what to do, the smallest reach first"));
    }
    for (index, remedy) in finding.remedies.iter().enumerate() {
        let first = format!("    {} {:9}", index + 1, remedy.reach.label());
        out.push_str(&wrap(&first, remedy.what));
        // A command is one line: breaking it would break it.
        let _ = writeln!(out, "      $ {}", remedy.command);
        out.push_str(&paint.dim(&wrap("      check: ", remedy.verify)));
    }
}

/// An answer in a word.
pub(crate) const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Yes => "yes",
        Verdict::No => "no",
        Verdict::Unknown => "unknown",
    }
}

fn push_step(out: &mut String, step: &Step, depth: usize, paint: Paint) {
    let indent = " ".repeat(4 + 2 * depth);
    let answer = match step.verdict {
        Verdict::Yes => paint.bold("yes"),
        other => word(other).to_owned(),
    };
    out.push_str(&wrap(&indent, &format!("{} {answer}", step.question)));
    for evidence in &step.evidence {
        push_evidence(out, evidence, &format!("{indent}- "));
    }
}

fn push_evidence(out: &mut String, evidence: &Evidence, first: &str) {
    let ground = match evidence.ground {
        Ground::Observed => "",
        Ground::Derived => "derived: ",
        Ground::Assumed => "assumed: ",
    };
    let source = evidence.source.map_or_else(String::new, |id| format!(" [{}]", id.0 + 1));
    out.push_str(&wrap(first, &format!("{ground}{}{source}", printable(&evidence.text))));
}

fn push_ruled_out(out: &mut String, finding: &Finding, paint: Paint) {
    if finding.ruled_out.is_empty() {
        return;
    }
    let _ = writeln!(out, "  {}", paint.bold("ruled out"));
    for step in &finding.ruled_out {
        let text = step.evidence.first().map_or("", |evidence| evidence.text.as_str());
        let text = format!("{} no: {}", step.question, printable(text));
        out.push_str(&wrap("    - ", &text));
    }
}

fn push_missing(out: &mut String, missing: &[Unseen], paint: Paint) {
    if missing.is_empty() {
        return;
    }
    let _ = writeln!(out, "  {}", paint.bold("not observed"));
    for unseen in missing.iter().take(MISSING_MAX) {
        let blind = unseen.blind.iter().take(INTERVALS_MAX).map(ToString::to_string);
        let mut blind: Vec<String> = blind.collect();
        let more = unseen.blind.len().saturating_sub(INTERVALS_MAX);
        if more > 0 {
            blind.push(format!("and {}", counted(more, "more time", "more times")));
        }
        let times = if blind.is_empty() {
            String::new()
        } else {
            format!(" (none for {})", blind.join("; "))
        };
        out.push_str(&wrap("    - ", &format!("{}{times}", unseen.missing.what)));
        let _ = writeln!(out, "      $ {}", unseen.missing.command);
    }
    let more = missing.len().saturating_sub(MISSING_MAX);
    if more > 0 {
        let _ = writeln!(out, "    ... and {more} more (--json lists them)");
    }
}

fn push_all_clear(out: &mut String, found: &Diagnosis, paint: Paint) {
    let (yes, no, unknown) = counts(found);
    let answered = match no + yes {
        0 => "No question could be answered".to_owned(),
        1 => "One question was answered, and names no cause".to_owned(),
        many => format!("{many} questions were answered, and none names a cause"),
    };
    let unseen = match unknown {
        0 => String::new(),
        many => format!("; {many} could not be answered from these sources"),
    };
    let left_out = match lines_left_out(found) {
        0 => String::new(),
        1 => "One line was not recognised and left out. ".to_owned(),
        many => format!("{many} lines were not recognised and left out. "),
    };
    let text = format!("{left_out}{answered}{unseen}. --tree shows all of them.");
    let head = if nothing_seen(found) && found.logs.is_empty() {
        paint.warn("Nothing to go by. ")
    } else if found.is_under_pressure() || !found.logs.is_empty() {
        paint.warn("No cause found. ")
    } else {
        paint.good("No finding. ")
    };
    out.push_str(&wrap(&head, &text));
    if found.is_under_pressure() {
        push_pressure(out, found, paint);
        return;
    }
    for evidence in found.hosts.iter().flat_map(|host| &host.doing).take(DOING_MAX) {
        out.push_str(&wrap("What it does: ", &printable(&evidence.text)));
    }
    let lacking = lacking(found);
    if !lacking.is_empty() {
        let _ = writeln!(out, "To see more:");
    }
    for missing in lacking.iter().take(LACKING_MAX) {
        out.push_str(&wrap("  ", missing.what));
        let _ = writeln!(out, "    $ {}", missing.command);
    }
    let next = "If a service is slow all the same, 'hugewise lab limit URL' loads it until \
                something is full, and says what.";
    out.push_str(&wrap("", next));
}

/// The resources under pressure, with what is known of each and what to look at next.
fn push_pressure(out: &mut String, found: &Diagnosis, paint: Paint) {
    for pressure in found.hosts.iter().flat_map(|host| &host.pressure) {
        let head = format!("Under pressure ({}): {}: ", pressure.load.label(), pressure.resource);
        let text: Vec<String> =
            pressure.evidence.iter().map(|evidence| printable(&evidence.text)).collect();
        out.push_str(&paint.warn(&wrap(&head, &text.join("; "))));
        let _ = writeln!(out, "  what tells more: {}", pressure.next.what);
        let _ = writeln!(out, "  $ {}", pressure.next.command);
    }
}

/// The questions of one machine: those answered, and the unknown ones right below a yes.
fn push_tree(out: &mut String, host: &Examined, all: bool, paint: Paint) {
    let yes =
        |id: Option<&str>| host.tree.iter().any(|asked| Some(asked.id) == id && asked.is_yes());
    let shown = |asked: &&Asked| {
        all || is_answered(asked) || (asked.is(Verdict::Unknown) && yes(asked.parent))
    };
    if !all && !has_answer(host) {
        return;
    }
    let name =
        host.host.as_deref().map_or_else(String::new, |name| format!(" of {}", printable(name)));
    let _ = writeln!(out, "\n{}", paint.bold(&format!("Questions{name}")));
    for asked in host.tree.iter().filter(shown) {
        push_asked(out, asked, paint);
    }
    let hidden: Vec<&Asked> = host.tree.iter().filter(|asked| !shown(asked)).collect();
    let unknown = hidden.iter().filter(|asked| asked.answer.is_some()).count();
    if !hidden.is_empty() {
        let text = format!(
            "{unknown} more could not be answered from these sources, {} were not asked because \
             of a no above them: --tree shows all.",
            hidden.len() - unknown
        );
        out.push_str(&paint.dim(&wrap("", &text)));
    }
}

fn push_asked(out: &mut String, asked: &Asked, paint: Paint) {
    let mark = match asked.answer.as_ref().map(|answer| answer.verdict) {
        Some(Verdict::Yes) => "yes",
        Some(Verdict::No) => "no",
        Some(Verdict::Unknown) => "?",
        None => "-",
    };
    let indent = "  ".repeat(asked.depth);
    let line = fit(&format!("{mark:>4}  {indent}{} {}", asked.id, asked.question), columns());
    let line = if asked.is_yes() { paint.bold(&line) } else { paint.dim(&line) };
    let _ = writeln!(out, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::golden;
    use hugewise_evidence::diagnose::{Thresholds, diagnose};
    use hugewise_evidence::recording::Builder;

    fn shown(name: &str, text: &str, detail: Detail) -> String {
        let mut builder = Builder::new();
        builder.read(name, text.as_bytes()).expect("text");
        let recording = builder.finish();
        let found = diagnose(&recording, &Thresholds::default());
        render(&recording, &found, "", detail, Paint::plain())
    }

    #[test]
    fn a_database_s_page_tables() {
        let text = include_str!("../../../../../evidence/tests/recordings/made/003.txt");
        golden::check("diagnosis-003.txt", &shown("003.txt", text, Detail::Full));
        let short = shown("003.txt", text, Detail::Short);
        assert!(short.lines().count() <= 24, "{short}");
        golden::check("diagnosis-003-short.txt", &short);
    }

    #[test]
    fn a_file_server_s_disk() {
        let text = include_str!("../../../../../evidence/tests/recordings/made/002-nfs.txt");
        golden::check("diagnosis-002-nfs.txt", &shown("002-nfs.txt", text, Detail::Full));
    }

    #[test]
    fn a_setting_that_lets_it_happen_is_its_cause_and_mended_first() {
        let stalls = |count: u32| format!("compact_stall {count}\ncompact_fail {}\n", count / 2);
        let short = |defrag: &str| {
            let text = format!(
                "$ cat /sys/kernel/mm/transparent_hugepage/enabled\n[always] madvise never\n\
                 $ cat /sys/kernel/mm/transparent_hugepage/defrag\n{defrag}\n\
                 $ cat /proc/vmstat; sleep 10; cat /proc/vmstat\n{}{}",
                stalls(100_000),
                stalls(102_000)
            );
            shown("ticket.txt", &text, Detail::Short)
        };
        let always = short("[always] defer defer+madvise madvise never");
        assert!(always.contains("because: WARNING THP and its defrag are 'always'"), "{always}");
        assert!(always.contains("$ hugewise thp set defrag=defer+madvise"), "{always}");
        assert!(!always.contains("MALLOC_CONF"), "{always}");
        let advised = short("always defer defer+madvise [madvise] never");
        assert!(!advised.contains("defrag are 'always'"), "{advised}");
        assert!(advised.contains("MALLOC_CONF"), "{advised}");
    }

    #[test]
    fn an_idle_machine() {
        let text = include_str!("../../../../../evidence/tests/recordings/real/idle.sar");
        golden::check("diagnosis-idle.txt", &shown("idle.sar", text, Detail::Short));
    }
}
