//! What servers say of themselves: how their answers are found, and the worst of several.

use super::prelude::*;
use std::collections::BTreeSet;

/// Most servers of one kind that are looked at: a paste has a few, a hostile one thousands.
const SERVERS_MAX: usize = 64;

/// The servers of a kind that one of the fields is about.
pub(super) fn all(cx: &Context<'_>, kind: &str, fields: &[Field]) -> BTreeSet<String> {
    let subjects = fields.iter().flat_map(|field| cx.host.subjects(*field));
    let names = subjects.filter_map(|(subject, _)| subject.service());
    let own = names.filter(|name| name.split(' ').next() == Some(kind));
    own.map(str::to_owned).take(SERVERS_MAX).collect()
}

/// The worst answer about a server of this kind.
pub(super) fn worst(
    cx: &Context<'_>,
    kind: &str,
    fields: &[Field],
    missing: Missing,
    test: impl Fn(&str) -> Option<Answer>,
) -> Answer {
    let answers = all(cx, kind, fields).into_iter().filter_map(|server| test(&server));
    let rank = |answer: &Answer| (answer.is_yes(), answer.verdict == Verdict::No, answer.weight);
    let worse = |a: Answer, b: Answer| if rank(&b) > rank(&a) { b } else { a };
    answers.reduce(worse).unwrap_or_else(|| Answer::unknown(&[missing]))
}

/// Yes where one of these says yes; no where one was answered. The evidence of a yes stands with
/// the question that says it: no other one's finding rests on it.
pub(super) fn any(answers: &[Answer], missing: Missing) -> Answer {
    let yes = answers.iter().filter(|answer| answer.is_yes());
    if let Some(weight) = yes.map(|answer| answer.weight).reduce(f64::max) {
        return Answer::yes(weight, Vec::new());
    }
    let mut evidence = Vec::new();
    for answer in answers {
        evidence.extend(answer.evidence.first().cloned());
    }
    if evidence.is_empty() { Answer::unknown(&[missing]) } else { Answer::no(evidence) }
}

/// The last value of a server.
pub(super) fn state(cx: &Context<'_>, field: Field, server: &str) -> Option<Reading> {
    cx.latest(field, &Subject::Service(server.to_owned()))
}

/// The lines about a server's parts.
pub(super) fn parts(cx: &Context<'_>, field: Field, server: &str) -> Vec<Line> {
    let own =
        |subject: &Subject| matches!(subject, Subject::Part { service, .. } if service == server);
    cx.lines(field, own)
}

/// The name of a part.
pub(super) fn name(subject: &Subject) -> &str {
    if let Subject::Part { name, .. } = subject { name } else { "?" }
}

/// The setting of a kernel or server, as evidence.
pub(super) fn setting(cx: &Context<'_>, name: &str, text: &str) -> Option<Evidence> {
    let quote = cx.setting(name)?;
    Some(cx.cite(quote, &format!("{name}: {}{text}", quote.text)))
}
