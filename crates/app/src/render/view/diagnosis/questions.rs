//! All questions of a machine as a nested list, the path that was taken standing out.

use crate::render::view::diagnosis::{has_answer, word};
use hugewise_base::escape::markup as escape;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::{Asked, Diagnosis, Examined, Finding, Verdict};
use std::fmt::Write;

/// An answer as a badge that says it in a word.
pub(super) fn badge(verdict: Option<Verdict>) -> String {
    let (class, text) =
        verdict.map_or(("unasked", "not asked"), |verdict| (word(verdict), word(verdict)));
    format!("<span class=\"answer {class}\">{text}</span>")
}

fn push_question(out: &mut String, asked: &Asked, taken: bool) {
    let badge = badge(asked.answer.as_ref().map(|answer| answer.verdict));
    let (id, question) = (escape(asked.id), escape(asked.question));
    let question = if taken { format!("<strong>{question}</strong>") } else { question };
    let _ = write!(out, "{badge} {question} <code class=\"node\">{id}</code>");
    let quoted = asked.answer.as_ref().and_then(|answer| answer.evidence.first());
    if let Some(evidence) = quoted {
        let _ = write!(out, "<br><small>{}</small>", escape(&printable(&evidence.text)));
    }
}

/// The whole trees of all machines. One that is the only one with an answer is open.
pub(super) fn push_all(out: &mut String, found: &Diagnosis) {
    let alone = found.hosts.iter().filter(|host| has_answer(host)).count() == 1;
    for host in &found.hosts {
        let name = host.host.as_deref().map(|name| escape(&printable(name)));
        let name = name.unwrap_or_else(|| "a machine without a name".to_owned());
        let name = if found.hosts.len() > 1 { format!(" about {name}") } else { String::new() };
        push(out, host, &found.findings, &name, alone && has_answer(host));
    }
}

fn push(out: &mut String, host: &Examined, findings: &[Finding], name: &str, open: bool) {
    let own = findings.iter().filter(|finding| finding.host == host.host);
    let path: Vec<&str> = own.flat_map(|f| &f.chain).map(|step| step.node).collect();
    let count = |verdict| host.tree.iter().filter(|asked| asked.is(verdict)).count();
    let unasked = host.tree.iter().filter(|asked| asked.answer.is_none()).count();
    let _ = write!(
        out,
        "<details class=\"tree\"{}><summary>All questions{name}: {} yes, {} no, {} unknown, \
         {unasked} not asked</summary>",
        if open { " open" } else { "" },
        count(Verdict::Yes),
        count(Verdict::No),
        count(Verdict::Unknown)
    );
    // Open lists so far: a question at depth 2 stands in three.
    let mut lists = 0;
    for asked in &host.tree {
        if asked.depth + 1 > lists {
            // The item above stays open and holds the new list.
            out.push_str("\n<ul>");
            lists += 1;
        } else {
            while lists > asked.depth + 1 {
                out.push_str("</li>\n</ul>");
                lists -= 1;
            }
            out.push_str("</li>\n");
        }
        let taken = path.contains(&asked.id);
        let class = if taken { " class=\"taken\"" } else { "" };
        let _ = write!(out, "<li{class}>");
        push_question(out, asked, taken);
    }
    for _ in 0..lists {
        out.push_str("</li>\n</ul>");
    }
    out.push_str("\n</details>\n");
}
