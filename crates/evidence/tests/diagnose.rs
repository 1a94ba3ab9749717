//! The diagnosis against recordings: real ones of known load, listings of published cases, and
//! made ones for what neither shows. Each says which causes must be found, and in which order.

/// A text of the folder `made`, for the parts in the folder beside this file.
macro_rules! text_of {
    ($name:literal) => {
        ($name, include_str!(concat!("../recordings/made/", $name)))
    };
}

#[path = "diagnose/coverage.rs"]
mod coverage;
#[path = "diagnose/explained.rs"]
mod explained;
#[path = "diagnose/joins.rs"]
mod joins;
#[path = "diagnose/logged.rs"]
mod logged;
#[path = "diagnose/pages.rs"]
mod pages;
#[path = "diagnose/parts.rs"]
mod parts;
#[path = "diagnose/put.rs"]
mod put;
#[path = "diagnose/real.rs"]
mod real;
#[path = "diagnose/seeds.rs"]
mod seeds;
#[path = "diagnose/servers.rs"]
mod servers;
#[path = "diagnose/single_facts.rs"]
mod single_facts;
#[path = "diagnose/synthetic.rs"]
mod synthetic;
#[path = "diagnose/threads.rs"]
mod threads;
#[path = "diagnose/tickets.rs"]
mod tickets;
#[path = "diagnose/wording.rs"]
mod wording;

use hugewise_evidence::diagnose::{
    Answer, Asked, Diagnosis, Finding, Severity, Thresholds, Verdict, diagnose,
};
use hugewise_evidence::recording::{Builder, Recording};

/// A text with its name.
type Text = (&'static str, &'static str);

fn read(texts: &[(&str, &str)]) -> Recording {
    let mut builder = Builder::new();
    for (name, text) in texts {
        builder.read(name, text.as_bytes()).expect("a text");
    }
    builder.finish()
}

fn of_texts(texts: &[(&str, &str)]) -> Diagnosis {
    let recording = read(texts);
    assert!(recording.problems.is_empty(), "{:?}: {:?}", texts[0].0, recording.problems);
    diagnose(&recording, &Thresholds::default())
}

fn key(finding: &Finding) -> &'static str {
    finding.cause.about().key
}

/// The causes found, notes left out, the worst first.
fn suffers(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let worse = diagnosis.findings.iter().filter(|found| found.severity > Severity::Note);
    worse.map(key).collect()
}

/// The causes that are worth a note.
fn notes(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let notes = diagnosis.findings.iter().filter(|found| found.severity == Severity::Note);
    notes.map(key).collect()
}

fn found<'a>(diagnosis: &'a Diagnosis, cause: &str) -> &'a Finding {
    let found = diagnosis.findings.iter().find(|found| key(found) == cause);
    found.unwrap_or_else(|| panic!("{cause} is not among {:?}", suffers(diagnosis)))
}

/// The answer of a node about the first machine.
fn answer<'a>(diagnosis: &'a Diagnosis, node: &str) -> &'a Answer {
    let asked = diagnosis.hosts[0].tree.iter().find(|asked| asked.id == node);
    let answer = asked.and_then(|asked: &Asked| asked.answer.as_ref());
    answer.unwrap_or_else(|| panic!("{node} was not asked"))
}

fn verdict(diagnosis: &Diagnosis, node: &str) -> Verdict {
    answer(diagnosis, node).verdict
}

/// All sentences of an answer.
fn said(answer: &Answer) -> String {
    let texts: Vec<&str> = answer.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
    texts.join("\n")
}

/// All sentences of a finding's chain.
fn chain(finding: &Finding) -> String {
    let steps = finding.chain.iter().flat_map(|step| &step.evidence);
    let texts: Vec<&str> = steps.map(|evidence| evidence.text.as_str()).collect();
    texts.join("\n")
}

#[track_caller]
fn assert_says(text: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
}
