//! Findings: the causes that the answers name, each with its chain of evidence.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::answer::{Answer, Evidence, Ground, Missing, Verdict};
use super::cause::{Cause, Severity};
use super::interval::Interval;
use super::remedy::{MachineFacts, Reach, Remedy, fitting};
use super::tree::Asked;
use crate::recording::{Field, Span};

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It may be so; something decisive was taken to be so, or found by elimination.
    Possible,
    /// It follows from what was observed.
    Likely,
    /// It stands in the sources.
    Strong,
}

impl Level {
    /// In a word.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Strong => "strong",
        }
    }

    const fn lower(self) -> Self {
        match self {
            Self::Strong => Self::Likely,
            Self::Likely | Self::Possible => Self::Possible,
        }
    }
}

/// How sure a finding is, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confidence {
    /// How sure.
    pub level: Level,
    /// Why not more, or why so sure.
    pub reason: String,
}

/// A link of the chain, or an alternative that was ruled out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The node.
    pub node: &'static str,
    /// Its question.
    pub question: &'static str,
    /// What it was answered.
    pub verdict: Verdict,
    /// From what.
    pub evidence: Vec<Evidence>,
}

/// What could not be observed, and why it would matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// The node whose answer it would give or sharpen.
    pub node: &'static str,
    /// Its question.
    pub question: &'static str,
    /// What is missing, and the command that records it.
    pub missing: Missing,
    /// Times without values, where the source has others.
    pub blind: Vec<Interval>,
}

/// A cause, with everything that is said about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The machine.
    pub host: Option<String>,
    /// Its name.
    pub cause: Cause,
    /// How much it matters.
    pub severity: Severity,
    /// The cause in a sentence.
    pub title: &'static str,
    /// When it was so; empty: no matter of time, or no times known.
    pub intervals: Vec<Interval>,
    /// The questions that led here, from the top.
    pub chain: Vec<Step>,
    /// The cause that it follows from, where that was found, too.
    pub follows: Option<Cause>,
    /// Other nodes that say the same.
    pub also: Vec<&'static str>,
    /// Alternatives that were examined and are not the cause.
    pub ruled_out: Vec<Step>,
    /// What was not observed.
    pub missing: Vec<Unseen>,
    /// What to do, the smallest reach first.
    pub remedies: Vec<Remedy>,
    /// How sure.
    pub confidence: Confidence,
    /// For the ranking: the share of CPU, disk or memory concerned, 0 to 1.
    pub weight: f64,
}

impl Finding {
    /// The evidence of the question that names the cause, then that of the questions above it; each
    /// value once.
    pub fn values(&self) -> Vec<&Evidence> {
        let of_cause = |node: &str| {
            let node = super::questions::find(node);
            node.is_some_and(|node| node.cause == Some(self.cause))
        };
        let (own, above): (Vec<_>, Vec<_>) =
            self.chain.iter().rev().partition(|step| of_cause(step.node));
        let mut told = Vec::new();
        let mut values = Vec::new();
        for evidence in own.into_iter().chain(above).flat_map(|step| &step.evidence) {
            let value =
                (evidence.field, evidence.subject.clone(), evidence.value.map(f64::to_bits));
            if value.0.is_none() || !told.contains(&value) {
                values.push(evidence);
            }
            told.push(value);
        }
        values
    }

    /// Causes of the questions on the way to it.
    fn steps_towards(&self) -> Vec<Cause> {
        let nodes = self.chain.iter().filter_map(|step| super::questions::find(step.node));
        nodes.filter_map(|node| node.cause).filter(|cause| *cause != self.cause).collect()
    }
}

fn step(asked: &Asked) -> Option<Step> {
    let answer = asked.answer.as_ref()?;
    let (verdict, evidence) = (answer.verdict, answer.evidence.clone());
    Some(Step { node: asked.id, question: asked.question, verdict, evidence })
}

/// From the top down to `leaf`.
fn path<'a>(tree: &'a [Asked], leaf: &'a Asked) -> Vec<&'a Asked> {
    let mut path = vec![leaf];
    while let Some(parent) = path.last().and_then(|asked| asked.parent) {
        let Some(asked) = tree.iter().find(|asked| asked.id == parent) else { break };
        path.push(asked);
    }
    path.reverse();
    path
}

fn cause(asked: &Asked) -> Option<Cause> {
    asked.is_yes().then(|| asked.node()).flatten()?.cause
}

/// Whether a question below says it better. Across one that could not be answered it does not: what
/// is seen above would be lost.
fn said_below(tree: &[Asked], asked: &Asked) -> bool {
    tree.iter().any(|other| {
        let path = path(tree, other);
        let from = path.iter().position(|above| above.id == asked.id);
        let between = from.and_then(|from| path.get(from..)).unwrap_or_default();
        other.id != asked.id
            && cause(other).is_some()
            && from.is_some()
            && between.iter().all(|step| !step.is(Verdict::Unknown))
    })
}

/// Alternatives to a link of the chain: answers to the same question above, or at the top of the
/// same subject.
fn alternatives<'a>(tree: &'a [Asked], chain: &[&'a Asked]) -> Vec<&'a Asked> {
    let subject = |asked: &Asked| asked.id.split('.').next().unwrap_or_default().to_owned();
    let beside = |other: &&Asked| {
        chain.iter().all(|link| link.id != other.id)
            && chain.iter().any(|link| {
                let siblings = link.parent.is_some() && other.parent == link.parent;
                let same = other.parent.is_none() && subject(other) == subject(link);
                siblings || (link.parent.is_none() && same)
            })
    };
    tree.iter().filter(beside).collect()
}

fn unseen(asked: &Asked) -> Vec<Unseen> {
    let Some(answer) = asked.answer.as_ref() else { return Vec::new() };
    // The first of them is what the blind times lack.
    let one = |(index, missing): (usize, &Missing)| Unseen {
        node: asked.id,
        question: asked.question,
        missing: *missing,
        blind: if index == 0 { answer.blind.clone() } else { Vec::new() },
    };
    answer.missing.iter().enumerate().map(one).collect()
}

fn confidence(chain: &[&Asked], leaf: &Answer) -> Confidence {
    let decisive = leaf.evidence.first().map_or(Ground::Derived, |evidence| evidence.ground);
    let mut level = match decisive {
        Ground::Observed => Level::Strong,
        Ground::Derived => Level::Likely,
        Ground::Assumed => Level::Possible,
    };
    let mut reasons = vec![match decisive {
        Ground::Observed => "its values stand in the sources".to_owned(),
        Ground::Derived => "it is computed from values in the sources".to_owned(),
        Ground::Assumed => "it is taken to be so".to_owned(),
    }];
    if leaf.evidence.iter().skip(1).any(|evidence| evidence.ground == Ground::Assumed) {
        level = level.lower();
        reasons.push("a part is assumed".to_owned());
    }
    if let Some(above) = chain.iter().find(|asked| asked.is(Verdict::Unknown)) {
        level = level.lower();
        reasons.push(format!("{} could not be answered", above.id));
    }
    let blind = chain.iter().filter_map(|asked| asked.answer.as_ref());
    let blind = blind.map(|answer| answer.blind.len()).max().unwrap_or(0);
    if blind > 0 {
        let times = if blind == 1 { "episode has" } else { "episodes have" };
        reasons.push(format!("{blind} {times} no values for it"));
    }
    Confidence { level, reason: reasons.join("; ") }
}

/// Worse where the state above it is: a kernel, disk or hypervisor that takes most of the time.
///
/// Milder where only a count since boot says it: that may have been long ago.
fn severity(cause: Cause, chain: &[&Asked], answer: &Answer, critical: f64) -> Severity {
    let first = answer.evidence.first().and_then(|evidence| evidence.field);
    let long_ago = first.is_some_and(|field| field.about().span == Span::SinceBoot);
    let base = cause.about().severity;
    let base = if long_ago { base.milder() } else { base };
    let base = if answer.mild { base.min(Severity::Note) } else { base };
    let state = chain.get(1).filter(|asked| asked.parent == Some("cpu"));
    let taken = state.and_then(|asked| asked.answer.as_ref()).map_or(0.0, |answer| answer.weight);
    let blind = chain.iter().any(|asked| asked.is(Verdict::Unknown));
    if blind && answer.weight < 0.5 {
        return base.min(Severity::Note);
    }
    let suffers = state.is_some_and(|asked| asked.id != "cpu.user");
    if suffers && base == Severity::Warning && taken * 100.0 >= critical {
        Severity::Critical
    } else {
        base
    }
}

/// Yes nodes without a cause of their own beside or below the leaf: who it is.
fn context<'a>(tree: &'a [Asked], leaf: &Asked) -> impl Iterator<Item = &'a Asked> {
    let (id, parent, deep) = (leaf.id, leaf.parent, leaf.depth >= 2);
    tree.iter().filter(move |asked| {
        let near = asked.parent == Some(id) || (deep && asked.parent == parent);
        near && asked.is_yes() && asked.node().is_some_and(|node| node.cause.is_none())
    })
}

/// What is known of a machine beside its answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct AboutHost<'a> {
    /// Its name.
    pub(super) name: Option<&'a String>,
    /// The share of kernel time from which on it is critical, percent.
    pub(super) critical: f64,
    /// What decides which remedies are shown.
    pub(super) facts: MachineFacts,
}

/// Whether a question is answered no with a margin, and no other one finds the same cause.
fn is_ruled_out(tree: &[Asked], asked: &Asked) -> bool {
    if !asked.answer.as_ref().is_some_and(Answer::rules_out) {
        return false;
    }
    let own = asked.node().and_then(|node| node.cause);
    own.is_none() || tree.iter().all(|other| cause(other) != own)
}

/// Whether the disk in question mostly reads, as the size of its requests was quoted.
fn reads(chain: &[&Asked]) -> Option<bool> {
    let evidence = chain.iter().filter_map(|asked| asked.answer.as_ref()).flat_map(|a| &a.evidence);
    let mut fields = evidence.filter_map(|evidence| evidence.field);
    fields.find_map(|field| match field {
        Field::DiskReadRequestBytes => Some(true),
        Field::DiskWriteRequestBytes => Some(false),
        _ => None,
    })
}

/// Whether the interrupts in question are mostly the hardware's, as their share was quoted.
fn hardware(chain: &[&Asked]) -> bool {
    let evidence = chain.iter().filter_map(|asked| asked.answer.as_ref()).flat_map(|a| &a.evidence);
    evidence.filter_map(|evidence| evidence.field).any(|field| field == Field::CpuIrq)
}

/// The steps of the ladder, or of the answer where it knows better ones than what only looks.
fn remedies(answer: &Answer, ladder: &[Remedy], facts: MachineFacts) -> Vec<Remedy> {
    let mut steps = fitting(ladder, facts);
    if !answer.mended_by.is_empty() {
        steps.retain(|remedy| remedy.reach == Reach::Look);
        steps.extend(fitting(&answer.mended_by, facts));
    }
    steps
}

fn finding(tree: &[Asked], leaf: &Asked, about_host: &AboutHost<'_>) -> Option<Finding> {
    let AboutHost { name: host, critical, facts } = *about_host;
    let (cause, answer) = (cause(leaf)?, leaf.answer.as_ref()?);
    let chain = path(tree, leaf);
    let mut beside = alternatives(tree, &chain);
    // What could have said it better: examined and not the cause, or not seen.
    beside.extend(tree.iter().filter(|asked| asked.parent == Some(leaf.id)));
    let ruled_out = beside.iter().filter(|asked| is_ruled_out(tree, asked));
    // The leaf's own first; what would only answer another question of the top is left out.
    let near = beside.iter().filter(|asked| asked.depth >= 2);
    let mut missing: Vec<Unseen> = chain.iter().rev().chain(near).flat_map(|a| unseen(a)).collect();
    let mut commands = Vec::new();
    missing.retain(|unseen| {
        let new = !commands.contains(&unseen.missing.command);
        commands.push(unseen.missing.command);
        new
    });
    let own = chain.iter().rev().filter_map(|asked| asked.answer.as_ref());
    let intervals = own.map(|answer| &answer.intervals).find(|held| !held.is_empty());
    let about = cause.about();
    let confidence = confidence(&chain, answer);
    let severity = severity(cause, &chain, answer, critical);
    let slow_disk = tree.iter().any(|asked| asked.id == "disk.slow" && asked.is_yes());
    // What is taken to be so, and rests on nothing else, is not reported as the worst.
    let first = answer.evidence.first();
    let sure = first.is_none_or(|evidence| evidence.ground != Ground::Assumed);
    Some(Finding {
        host: host.cloned(),
        cause,
        severity: if sure { severity } else { severity.min(Severity::Warning) },
        title: about.title,
        intervals: intervals.cloned().unwrap_or_default(),
        chain: chain.iter().copied().chain(context(tree, leaf)).filter_map(step).collect(),
        follows: None,
        also: Vec::new(),
        ruled_out: ruled_out.filter_map(|asked| step(asked)).collect(),
        missing,
        remedies: remedies(
            answer,
            about.remedies,
            MachineFacts { reads: reads(&chain), slow_disk, hardware: hardware(&chain), ..facts },
        ),
        confidence,
        weight: answer.weight,
    })
}

/// The findings of one machine.
pub(super) fn findings(tree: &[Asked], about: &AboutHost<'_>) -> Vec<Finding> {
    let leaves = tree.iter().filter(|asked| cause(asked).is_some() && !said_below(tree, asked));
    let mut by_cause: BTreeMap<Cause, Vec<Finding>> = BTreeMap::new();
    for found in leaves.filter_map(|leaf| finding(tree, leaf, about)) {
        by_cause.entry(found.cause).or_default().push(found);
    }
    let mut all: Vec<Finding> = by_cause.into_values().filter_map(joined).collect();
    // What is a step towards another finding is said there.
    let told: Vec<Cause> = all.iter().flat_map(|found| found.steps_towards()).collect();
    all.retain(|found| !told.contains(&found.cause));
    alone_is_worse(&mut all);
    all
}

/// A thread that is known to be full, where nothing else is wrong, is what users wait for.
fn alone_is_worse(all: &mut [Finding]) {
    let mut worst = all.iter().filter(|found| found.severity > Severity::Note);
    if worst.next().is_some() {
        return;
    }
    let thread = |found: &&mut Finding| {
        let first = found.chain.last().and_then(|step| step.evidence.first());
        let measured = first.and_then(|evidence| evidence.field) == Some(Field::ThreadCpu);
        found.cause == Cause::OneCpu && measured
    };
    for found in all.iter_mut().filter(thread) {
        found.severity = Severity::Warning;
    }
}

/// One finding of several that name the same cause: the chain without a gap, then the longest.
fn joined(mut same: Vec<Finding>) -> Option<Finding> {
    let gaps = |found: &Finding| found.chain.iter().any(|step| step.verdict == Verdict::Unknown);
    same.sort_by_key(|found| (gaps(found), Reverse(found.chain.len())));
    let weight = same.iter().map(|found| found.weight).fold(0.0, f64::max);
    let mut rest = same.into_iter();
    let mut best = rest.next()?;
    best.weight = weight;
    let leaf = |found: &Finding| {
        found.chain.iter().rev().find(|step| is_of(step, found.cause)).map(|s| s.node)
    };
    best.also = rest.filter(|found| !gaps(found)).filter_map(|found| leaf(&found)).collect();
    Some(best)
}

fn is_of(step: &Step, cause: Cause) -> bool {
    super::questions::find(step.node).is_some_and(|node| node.cause == Some(cause))
}

/// Which of two comes first: the worse; among equals the heavier, then the better founded.
pub(super) fn order(a: &Finding, b: &Finding) -> Ordering {
    let key = |found: &Finding| (found.severity, found.confidence.level > Level::Possible);
    key(b).cmp(&key(a)).then(b.weight.total_cmp(&a.weight)).then(a.cause.cmp(&b.cause))
}
