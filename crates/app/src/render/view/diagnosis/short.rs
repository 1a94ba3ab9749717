//! The answer on one screen: what it is, its strongest values, what to do first.

use super::parts::{head, when};
use crate::render::colour::Paint;
use crate::render::text::wrap;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::{Diagnosis, Evidence, Finding, Ground, Reach, Severity};
use std::fmt::Write;

/// Most findings that are told with their values; of the others the title is.
const TOLD_MAX: usize = 3;
/// Most values of a finding.
const VALUES_MAX: usize = 3;
/// Most steps of a ladder.
const STEPS_MAX: usize = 2;

/// All findings in short.
pub(super) fn push(out: &mut String, found: &Diagnosis, paint: Paint) {
    let named = found.hosts.len() > 1;
    for (index, finding) in found.findings.iter().enumerate() {
        let root = finding.follows.is_none();
        if root && index > 0 {
            out.push('\n');
        }
        push_head(out, finding, named, paint);
        // Beside what suffers, what is only worth knowing is a line.
        let aside = finding.severity == Severity::Note && index > 0;
        if root && index < TOLD_MAX && !aside {
            push_values(out, finding);
            let group = &found.findings[index + 1..];
            push_steps(out, finding, is_let_happen(finding, group), paint);
        }
    }
}

/// Whether a setting of the machine lets it happen that is a finding, and not only worth knowing.
fn is_let_happen(finding: &Finding, behind: &[Finding]) -> bool {
    let group = behind.iter().take_while(|other| other.follows.is_some());
    let mut settings = group.filter(|other| other.cause.is_setting());
    settings
        .any(|setting| setting.follows == Some(finding.cause) && setting.severity > Severity::Note)
}

/// How to see more than the answer.
pub(super) fn push_more(out: &mut String, paint: Paint) {
    let more = "--full adds the questions that led there, what was ruled out, what was not \
                observed, and every remedy. 'hugewise investigate plan' makes of the findings what \
                can be tried";
    let _ = write!(out, "\n{}", paint.dim(&wrap("", more)));
}

fn push_head(out: &mut String, finding: &Finding, named: bool, paint: Paint) {
    let host = finding.host.as_deref().filter(|_| named).map(printable);
    let host = host.map_or_else(String::new, |host| format!("{host}: "));
    let follows = match finding.follows {
        None => "",
        Some(_) if finding.cause.is_setting() => "  because: ",
        Some(_) => "  and so: ",
    };
    let first = format!("{follows}{} ", head(finding, paint));
    out.push_str(&wrap(&first, &format!("{host}{}", finding.title)));
    if finding.follows.is_none()
        && let Some(times) = when(finding)
    {
        out.push_str(&wrap("  when  ", &times));
    }
}

fn push_values(out: &mut String, finding: &Finding) {
    for (index, evidence) in finding.values().into_iter().take(VALUES_MAX).enumerate() {
        let first = if index == 0 { "  why   " } else { "        " };
        out.push_str(&wrap(first, &said(evidence)));
    }
    let sure = format!("{}: {}", finding.confidence.level.label(), finding.confidence.reason);
    out.push_str(&wrap("  sure  ", &sure));
}

fn said(evidence: &Evidence) -> String {
    let ground = if evidence.ground == Ground::Assumed { "assumed: " } else { "" };
    let source = evidence.source.map_or_else(String::new, |id| format!(" [{}]", id.0 + 1));
    format!("{ground}{}{source}", printable(&evidence.text))
}

/// The first step that only looks, and the first that mends: the setting that lets it happen, where
/// one was found.
fn push_steps(out: &mut String, finding: &Finding, is_let_happen: bool, paint: Paint) {
    let (mut look, mut first, mut setting) = (None, None, None);
    for remedy in &finding.remedies {
        match remedy.reach {
            Reach::Look => look = look.or(Some(remedy)),
            reach => {
                first = first.or(Some(remedy));
                if reach == Reach::Machine && is_let_happen {
                    setting = setting.or(Some(remedy));
                }
            }
        }
    }
    let mend = setting.or(first);
    for (index, remedy) in look.into_iter().chain(mend).take(STEPS_MAX).enumerate() {
        let first = if index == 0 { "  do    " } else { "        " };
        out.push_str(&wrap(first, remedy.what));
        let _ = writeln!(out, "        {} {}", paint.dim("$"), remedy.command);
    }
}
