//! What `hugewise investigate` says.

use crate::render::colour::Paint;
use crate::render::flame;
use crate::render::html;
use crate::render::number::{latency, wait};
use crate::render::text::wrap;
use hugewise_base::count::counted;
use hugewise_base::escape::{markup, printable};
use hugewise_experiment::check::Checked;
use hugewise_experiment::ledger::{AS_IS, Ledger};
use hugewise_experiment::record::Record;
use hugewise_experiment::verdict::{ClaimResult, Effect, Tried, Verdict, Verdicts};
use std::fmt::Write as _;

/// What is going to be tried.
pub(crate) fn planned(ledger: &Ledger, checked: &Checked, seconds: f64) -> String {
    let mut out = wrap("", &format!("{}: {}", ledger.name, printable(&ledger.question)));
    let count = counted(ledger.hypotheses.len() as u64, "hypothesis", "hypotheses");
    let times = ledger.repetitions();
    let text = format!(
        "{count}, each tried {times} times, and the service as it is as often, in random order: \
         about {}. After each trial everything is put back.",
        wait(seconds)
    );
    out += &wrap("", &text);
    for hypothesis in &ledger.hypotheses {
        out.push('\n');
        out += &wrap("", &format!("{}: {}", hypothesis.name, printable(&hypothesis.because)));
        for (key, value) in &hypothesis.set {
            out += &wrap("  sets    ", &printable(&format!("{key} = {value}")));
        }
        if !hypothesis.apply.is_empty() {
            out += &wrap("  runs    ", &printable(&hypothesis.apply.join(" ")));
            out += &wrap("  undone  by ", &printable(&hypothesis.undo.join(" ")));
        }
        for claim in ledger.claims(hypothesis) {
            let moves = if claim.percent < 0.0 { "falls" } else { "rises" };
            let by = claim.percent.abs();
            out += &wrap("  states  ", &format!("{} {moves} by {by} % at least", claim.key));
        }
    }
    for (key, value) in checked.machine_wide() {
        let text =
            format!("{key} = {value} affects every program of this machine (--machine-wide)");
        out.push('\n');
        out += &wrap("Note: ", &printable(&text));
    }
    out
}

/// What came of it.
pub(crate) fn text(verdicts: &Verdicts, paint: Paint) -> String {
    let mut out = paint.bold(wrap("", &title(verdicts)).trim_end()) + "\n";
    out += &wrap("", &conclusion(verdicts));
    for tried in &verdicts.hypotheses {
        let word = word(&tried.verdict);
        let padded = format!("{word:<9}");
        let painted = match tried.verdict {
            Verdict::Accepted => paint.good(&padded),
            Verdict::Harmful { .. } => paint.bad(&padded),
            Verdict::Refuted { .. } | Verdict::Undecided { .. } => paint.warn(&padded),
        };
        let said = format!("{}: {}", tried.name, printable(&tried.because));
        let _ =
            write!(out, "\n{}", wrap(&format!("{padded} "), &said).replacen(&padded, &painted, 1));
        for line in lines(tried) {
            out += &wrap("          ", &line);
        }
    }
    out.push('\n');
    out += &wrap("", &how_sure(verdicts));
    out.push('\n');
    out += &wrap("Next: ", next(verdicts));
    out
}

/// What to do with the verdicts: everything was put back.
fn next(verdicts: &Verdicts) -> &'static str {
    if verdicts.accepted().next().is_some() {
        "everything was put back. Make the change for good; 'hugewise lab limit URL' before and \
         after it says what it gives, and what is full then"
    } else if verdicts.left > 0 {
        "the same command continues"
    } else {
        "everything was put back. 'hugewise lab limit URL' says what is full, and 'hugewise \
         diagnose' under that load who waits for it: more hypotheses for the ledger"
    }
}

fn title(verdicts: &Verdicts) -> String {
    format!("{}: {}", verdicts.name, printable(&verdicts.question))
}

const fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "ACCEPTED",
        Verdict::Refuted { .. } => "REFUTED",
        Verdict::Harmful { .. } => "HARMFUL",
        Verdict::Undecided { .. } => "UNDECIDED",
    }
}

/// What follows from all of it, in a sentence or two.
fn conclusion(verdicts: &Verdicts) -> String {
    let goal = &verdicts.goal;
    let as_is = verdicts.as_is.map_or(String::new(), |as_is| {
        let trials = counted(verdicts.trials as u64, "trial", "trials");
        format!("{goal} is {} as it is (the median of {trials}). ", value(goal, as_is))
    });
    let accepted: Vec<&Tried> = verdicts.accepted().collect();
    let found = match &accepted[..] {
        [] if verdicts.left > 0 => {
            let left = counted(verdicts.left as u64, "trial is", "trials are");
            format!("{left} left: the same command continues.")
        }
        [] => "None of these hypotheses was confirmed: the cause is another one, or takes more \
               trials to tell."
            .to_owned(),
        [one] => format!("The cause that was confirmed: {}.", printable(&one.because)),
        [first, ..] => format!(
            "{} causes were confirmed, each alone; the largest gain has {}: {}.",
            accepted.len(),
            first.name,
            printable(&first.because)
        ),
    };
    as_is + &found
}

fn how_sure(verdicts: &Verdicts) -> String {
    format!(
        "An interval in brackets holds the true movement. The chance that any of these verdicts is \
         wrong is at most {} %, where nothing but the change differs between the trials.",
        100.0 * verdicts.error_rate
    )
}

/// What a hypothesis stated and what came, and what else there is to know.
fn lines(tried: &Tried) -> Vec<String> {
    let mut all: Vec<String> = tried.effects.iter().map(effect).collect();
    match &tried.verdict {
        Verdict::Refuted { helps: true, .. } => {
            all.push(
                "It helps all the same, but not as much, or not in the way that it states.".into(),
            );
        }
        Verdict::Harmful { bound } => {
            all.push(format!("The guard ended its trials: {}.", printable(bound)));
        }
        Verdict::Undecided { why } => all.push(format!("Undecided: {}.", printable(why))),
        Verdict::Accepted | Verdict::Refuted { .. } => {}
    }
    if tried.guarded > 0 && !matches!(tried.verdict, Verdict::Harmful { .. }) {
        let trials = counted(tried.guarded as u64, "trial", "trials");
        all.push(format!("The guard ended {trials} early."));
    }
    all
}

fn effect(effect: &Effect) -> String {
    let Effect { claim, as_is, changed, moved_percent, interval_percent, told } = effect;
    let values = as_is.zip(*changed).map_or(String::new(), |(as_is, changed)| {
        format!("{} -> {}, ", value(&claim.key, as_is), value(&claim.key, changed))
    });
    let found = match (moved_percent, interval_percent) {
        (Some(_), Some(at)) if at.low == 0.0 && at.high == 0.0 => "it never happened".to_owned(),
        (Some(moved), Some(at)) => {
            format!("{} [{} to {}]", signed(*moved), signed(at.low), signed(at.high))
        }
        (Some(moved), None) => signed(*moved),
        (None, _) => "how far is unknown".to_owned(),
    };
    let told = match told {
        ClaimResult::Holds => "as stated",
        ClaimResult::Less => "less than stated",
        ClaimResult::Fails => "not as stated",
        ClaimResult::Open => "open",
    };
    format!("{}: {values}{found}; stated {}: {told}", claim.key, signed(claim.percent))
}

fn signed(percent: f64) -> String {
    format!("{percent:+.0} %")
}

/// A value as people read it: times of requests as times, of all else three digits that matter.
pub(super) fn value(key: &str, value: f64) -> String {
    if key.ends_with("_us") {
        return latency(value * 1e3);
    }
    match value.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The page for readers.
pub(crate) fn page(verdicts: &Verdicts, records: &[Record]) -> anyhow::Result<String> {
    let mut out = html::begin(&title(verdicts), &[], None);
    let _ = writeln!(out, "<h1>{}</h1>", markup(&title(verdicts)));
    let _ = writeln!(out, "<p>{}</p>", markup(&conclusion(verdicts)));
    for tried in &verdicts.hypotheses {
        let (word, name) = (word(&tried.verdict), markup(&tried.name));
        let _ = writeln!(out, "<h2>{word}: {name}</h2>\n<p>{}</p>", markup(&tried.because));
        html::push_list(&mut out, &lines(tried));
    }
    let _ = writeln!(out, "<p>{}</p>", markup(&how_sure(verdicts)));
    let names: Vec<&str> = verdicts.hypotheses.iter().map(|one| one.name.as_str()).collect();
    flame::push_differences(&mut out, records, AS_IS, &names);
    html::push_json(&mut out, verdicts)?;
    Ok(html::end(out))
}

#[cfg(test)]
mod tests;
