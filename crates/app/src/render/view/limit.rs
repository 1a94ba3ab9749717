//! What `hugewise lab limit` says.

use crate::render::colour::Paint;
use crate::render::number::latency;
use crate::render::text::{left, right, wrap};
use hugewise_base::escape::printable;
use hugewise_base::units::Ns;
use hugewise_experiment::limit::{
    Checked, Limit, Others, Outcome, Program, Resource, ResourceUse, Step, is_served,
};
use std::collections::BTreeSet;
use std::path::Path;

/// Most resources in the list.
const RESOURCES_MAX: usize = 6;
/// Most findings of the rates around the limit.
const FINDINGS_MAX: usize = 4;

/// The answer in words. `file` is where it was kept.
pub(crate) fn text(limit: &Limit, file: Option<&Path>, paint: Paint) -> String {
    let mut text = head(limit, paint);
    if let Some(checked) = &limit.checked {
        text += &check(checked, paint);
    }
    text += &causes(limit, paint);
    text.push('\n');
    text += &table(limit, paint);
    text += &resources(limit, paint);
    for note in &limit.notes {
        text += &paint.warn(&wrap("note: ", note));
    }
    text.push('\n');
    text + &wrap("", &next(limit, file))
}

/// What tells more, or whether it came true.
fn next(limit: &Limit, file: Option<&Path>) -> String {
    let target = printable(&limit.target);
    match file.filter(|_| limit.judged.gone.is_some()) {
        Some(file) => format!(
            "'hugewise diagnose' while it is full names who waits for what. After a change, \
             'hugewise lab limit {target} --check {}' says whether that came true.",
            file.display()
        ),
        None => format!(
            "'hugewise diagnose' while it is full names who waits for what; 'hugewise investigate \
             plan --target {target}' makes hypotheses of it."
        ),
    }
}

/// A rate with the digits that count.
fn rate(per_s: f64) -> String {
    match per_s {
        low if low < 10.0 => format!("{low:.1}/s"),
        rate => format!("{rate:.0}/s"),
    }
}

fn head(limit: &Limit, paint: Paint) -> String {
    let judged = &limit.judged;
    let mut text = paint.bold(&wrap("", &printable(&limit.target)));
    let served = judged.served_per_s.map(rate);
    let said = match (served, judged.unserved_per_s) {
        (Some(served), Some(unserved)) => {
            let most = judged.most_per_s.map_or_else(String::new, |most| {
                format!("; more than {} were never answered", rate(most))
            });
            format!("It serves {served} and not {}{most}.", rate(unserved))
        }
        (Some(served), None) => {
            format!("It serves {served}, the highest rate that was tried: raise --most.")
        }
        (None, _) => "Not even the lowest rate was served: lower --from.".to_owned(),
    };
    text += &wrap("", &said);
    text
}

/// What is full, what comes next, and what that means.
fn causes(limit: &Limit, paint: Paint) -> String {
    let judged = &limit.judged;
    let Some(one) = &judged.limit else { return String::new() };
    let mut text = String::from("\n");
    text += &paint.bad(&wrap("Limited by  ", &cause(one, judged.at_a_time)));
    if one.resource.is_ours() {
        let what = match one.resource {
            Resource::Connections => "give it more by --connections",
            _ => "the server may do more than that",
        };
        let said = format!("this measures the load, not the server: {what}");
        return text + &paint.warn(&wrap("            ", &said));
    }
    match &judged.gone {
        Some(gone) => {
            let low = rate(gone.interval.low);
            let high = rate(gone.interval.high);
            let next = format!("{}, full at {}", name(&gone.next), rate(gone.most_per_s));
            text += &wrap("Next        ", &next);
            let gain = format!(
                "at most {} ({low} to {high}), {:+.0} %",
                rate(gone.most_per_s),
                gone.gain_percent
            );
            text += &wrap("Without it  ", &gain);
        }
        None => {
            let why = "not known: the use of no other resource grows with the rate";
            text += &wrap("Next        ", why);
        }
    }
    if let Some(others) = &judged.others {
        text += &wrap("Others      ", &beside(others));
    }
    let near: Vec<&Step> = around(limit);
    let mut seen = BTreeSet::new();
    let titles = near.iter().flat_map(|step| &step.findings).filter(|title| seen.insert(*title));
    for title in titles.take(FINDINGS_MAX) {
        text += &wrap("Diagnosis   ", title);
    }
    text
}

/// What others use, and that it is theirs in the prediction, too.
fn beside(others: &Others) -> String {
    let one =
        |program: &Program| format!("{} ({:.2} CPUs)", printable(&program.name), program.cpus);
    let programs: Vec<String> = others.programs.iter().map(one).collect();
    format!(
        "use {:.0} to {:.0} % of all CPUs at these rates, which the load does not fill and the \
         prediction leaves to them: {}",
        others.interval.low,
        others.interval.high,
        programs.join(", ")
    )
}

fn cause(one: &ResourceUse, at_a_time: Option<f64>) -> String {
    let used = one.used_percent;
    match &one.resource {
        Resource::Slots => {
            let many = at_a_time.unwrap_or_default().max(1.0);
            match &one.mostly {
                Some(whose) => format!(
                    "{}, which takes about {many:.0} of these requests at a time while nothing \
                     that the load fills is full: connections wait there to be accepted",
                    printable(whose)
                ),
                None => format!(
                    "something that takes about {many:.0} of these requests at a time while \
                     nothing that the load fills is full: a pool, a lock, or another machine"
                ),
            }
        }
        Resource::Connections => "the connections of the load, all of which are in use".to_owned(),
        Resource::Quota { .. } => {
            format!("{}, used up in {used:.0} % of its periods", name(&one.resource))
        }
        Resource::Thread { .. } | Resource::OneAtATime { .. } | Resource::Generator => {
            format!("{}: {used:.0} % of one CPU", name(&one.resource))
        }
        Resource::Interrupts { .. } => {
            let mostly = one.mostly.as_deref();
            let mostly = mostly.map_or_else(String::new, |vector| format!(", mostly {vector}"));
            format!("{}: {used:.0} % of it{mostly}", name(&one.resource))
        }
        _ => format!("{}, {used:.0} % in use", name(&one.resource)),
    }
}

fn name(resource: &Resource) -> String {
    printable(&resource.to_string())
}

/// The rates beside the limit.
fn around(limit: &Limit) -> Vec<&Step> {
    let ends = [limit.judged.unserved_per_s, limit.judged.served_per_s];
    let at = |rate: f64| limit.steps.iter().filter(move |step| step.rate_per_s == rate);
    ends.into_iter().flatten().flat_map(at).collect()
}

fn check(checked: &Checked, paint: Paint) -> String {
    let expected = format!(
        "{} was expected ({} to {}), limited by {}",
        rate(checked.expected_per_s),
        rate(checked.interval.low),
        rate(checked.interval.high),
        name(&checked.expected_limit)
    );
    let (word, why) = match checked.outcome {
        Outcome::AsExpected => ("as expected", ""),
        Outcome::Less => ("less than expected", ""),
        Outcome::More => ("more than expected", ""),
        Outcome::StillTheLimit => (
            "still the limit",
            ": the limit is what it was, so that the prediction was not put to the test; if there \
             is more of it now, say how much by --factor",
        ),
    };
    let text = format!("{}, and {expected}{why}", rate(checked.most_per_s));
    let said = wrap("Prediction  ", &format!("{word}: {text}"));
    let said = match checked.outcome {
        Outcome::AsExpected => paint.good(&said),
        _ => paint.warn(&said),
    };
    format!("\n{said}")
}

fn table(limit: &Limit, paint: Paint) -> String {
    let row = |cells: [&str; 6]| {
        let [rate, answered, p50, p99, cpus, served] = cells;
        let numbers = [rate, answered, p50, p99, cpus].map(|cell| right(cell, 10));
        format!("{}  {served}\n", numbers.join(" "))
    };
    let mut text = paint.bold(&row(["rate", "answered", "p50", "p99", "CPUs", "served"]));
    let mut steps: Vec<&Step> = limit.steps.iter().collect();
    steps.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let time = |time: Option<Ns>| time.map_or("-".to_owned(), |time| latency(time.0 as f64));
    for step in steps {
        let served = limit.steps.first().is_some_and(|first| is_served(step, first, limit.bounds));
        let cpus = step.used.iter().find(|used| used.resource == Resource::Cpus);
        let cpus = cpus.map_or("-".to_owned(), |used| format!("{:.0} %", 100.0 * used.share));
        let line = row([
            &rate(step.rate_per_s),
            &rate(step.achieved_per_s),
            &time(step.p50),
            &time(step.p99),
            &cpus,
            if served { "yes" } else { "no" },
        ]);
        text += &if served { line } else { paint.bad(&line) };
    }
    text
}

/// Where each resource would be full.
fn resources(limit: &Limit, paint: Paint) -> String {
    let known = limit.judged.resources.iter().filter(|one| one.full || one.capacity.is_some());
    let known: Vec<&ResourceUse> = known.take(RESOURCES_MAX).collect();
    if known.is_empty() {
        return String::new();
    }
    let row = |one: &str, used: &str, full: &str| {
        format!("{} {}  {full}\n", left(one, 40), right(used, 12))
    };
    let mut text = format!("\n{}", paint.bold(&row("resource", "at the limit", "full at")));
    for one in known {
        let full = one.capacity.map_or("-".to_owned(), |capacity| {
            let (low, high) = (rate(capacity.interval.low), rate(capacity.interval.high));
            format!("{} ({low} to {high})", rate(capacity.per_s))
        });
        let used = format!("{:.0} %", one.used_percent);
        let line = row(&name(&one.resource), &used, &full);
        text += &if one.full { paint.bad(&line) } else { line };
    }
    text
}
