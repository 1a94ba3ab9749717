//! Balance: one of several is exhausted while others have room.

use crate::evidence::diagnose::answer::{Answer, Evidence};
use crate::evidence::diagnose::look::{Line, Look};
use crate::evidence::diagnose::missing::{CPU, DISKS, HOSTS};
use crate::evidence::diagnose::seen::Seen;
use crate::evidence::diagnose::threshold::Threshold as T;
use crate::evidence::diagnose::write;
use crate::evidence::recording::{Field, Host, Subject, Unit};

/// The busiest of several, where it is exhausted and the others, as a mean, have room.
fn lopsided(look: &Look<'_>, mut means: Vec<Seen>, limit: T, what: &str) -> Answer {
    means.sort_by(|a, b| b.value.total_cmp(&a.value));
    let [top, rest @ ..] = means.as_slice() else { return Answer::unknown(&[CPU]) };
    let others = rest.iter().map(|seen| seen.value).sum::<f64>() / rest.len().max(1) as f64;
    let text = format!(
        "{} busy {}, the {} other {what} {} (means)",
        top.subject,
        write::value(Unit::Percent, top.value),
        rest.len(),
        write::value(Unit::Percent, others)
    );
    let evidence = vec![look.say(top, &text)];
    let full = top.value >= look.limit(limit) && others < look.limit(T::IdleLow);
    if full { Answer::yes(0.4, evidence) } else { Answer::no(evidence) }
}

fn means(look: &Look<'_>, lines: &[Line]) -> Vec<Seen> {
    lines.iter().filter_map(|line| look.mean(line)).collect()
}

/// Is one CPU exhausted beside idle ones?
pub(super) fn cpus(look: &Look<'_>) -> Answer {
    let own = |subject: &Subject| matches!(subject, Subject::Cpu(_));
    let idle = look.lines(Field::CpuIdle, own);
    let busy: Vec<Line> = idle.iter().filter_map(|line| look.busy(&line.subject)).collect();
    if busy.len() < 2 {
        return Answer::unknown(&[CPU]);
    }
    lopsided(look, means(look, &busy), T::BusyHigh, "CPUs")
}

/// Is one disk saturated beside idle ones?
pub(super) fn disks(look: &Look<'_>) -> Answer {
    let disks = look.lines(Field::DiskBusy, |subject| matches!(subject, Subject::Disk(_)));
    let found = means(look, &disks);
    match found.len() {
        0 => Answer::unknown(&[DISKS]),
        1 => Answer::no(vec![Evidence::derived("there is one disk")]),
        _ => {
            let answer = lopsided(look, found, T::DiskBusy, "disks");
            // A flash disk can be busy all the time with nobody waiting for it.
            let saturated = super::io::disk(look).is_yes();
            if answer.is_yes() && !saturated { Answer::no(answer.evidence) } else { answer }
        }
    }
}

/// Is this machine exhausted beside idle ones?
pub(super) fn hosts(look: &Look<'_>) -> Answer {
    let all = || look.recording.hosts.iter().zip(look.busy);
    let ours = all().find(|(host, _)| std::ptr::eq(*host, look.host));
    let Some(ours) = ours.and_then(|(_, busy)| busy.as_ref()) else {
        return Answer::unknown(&[CPU]);
    };
    let name = |host: &Host| host.name.clone().unwrap_or_else(|| "?".to_owned());
    let others: Vec<(&Host, f64)> = all()
        .filter(|(host, _)| !std::ptr::eq(*host, look.host))
        .filter_map(|(host, busy)| Some((host, busy.as_ref()?.value)))
        .collect();
    if others.is_empty() {
        return Answer::unknown(&[HOSTS]);
    }
    let mean = others.iter().map(|(_, busy)| busy).sum::<f64>() / others.len() as f64;
    let text = format!(
        "{} uses {} of its CPUs, the {} other machines {} (means)",
        name(look.host),
        write::value(Unit::Percent, ours.value),
        others.len(),
        write::value(Unit::Percent, mean)
    );
    let mut evidence = vec![look.say(ours, &text)];
    let free = others.iter().reduce(|a, b| if b.1 < a.1 { b } else { a });
    evidence.extend(free.map(|(host, busy)| {
        Evidence::derived(format!(
            "most room: {}, {} in use",
            name(host),
            write::value(Unit::Percent, *busy)
        ))
    }));
    let full = ours.value >= look.limit(T::BusyHigh) && mean < look.limit(T::HostIdle);
    if full { Answer::yes(0.6, evidence) } else { Answer::no(evidence) }
}
