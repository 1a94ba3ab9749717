//! Slow times in words.

use super::words::{clock, day, few, percent, shown, time};
use crate::render::colour::Paint;
use crate::render::text::{listed, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::written;
use hugewise_evidence::response::{
    AddedTo, Beside, Episode, Joined, MAIN_SHARE, Meanwhile, Part, Times,
};

/// A part below this share of what was added is not told.
const TOLD_SHARE: f64 = 0.04;

/// A name is where the time was added only if its share of that exceeds its share of requests by
/// this factor: the busiest service has most of everything.
const STANDS_OUT: f64 = 1.3;

/// A share of what was added that another mix of requests explains, from which on it is told.
const MIX_TOLD: f64 = 0.25;

/// Findings that are told by name.
const FINDINGS_MAX: usize = 4;

/// A slow time, with what the machine did.
pub(super) fn text(
    episode: &Episode,
    calm: Option<&Times>,
    beside: Option<&Beside>,
    paint: Paint,
) -> String {
    let mut text = format!("\n{}\n", paint.bold(&headline(episode)));
    let mut line = |label: &str, said: &str| text.push_str(&wrap(&format!("  {label:<8}"), said));
    line("How", &how(episode, calm));
    line("Where", &wherever(episode));
    for said in who(episode) {
        line("Whose", &said);
    }
    if let Some(main) = episode.parts.first().filter(|added| added.share >= MAIN_SHARE) {
        line("Means", main.means);
    }
    line("Load", &load(episode));
    line("", episode.shape_text);
    if episode.all_held_up {
        line("", "nearly all requests were held up: even the fastest ones took long");
    }
    if let Some(beside) = beside {
        machine_then(beside, &mut line);
    }
    text
}

fn headline(episode: &Episode) -> String {
    let (from, to) = (episode.from.as_str(), episode.to.as_str());
    let to = if day(from) == day(to) { clock(to) } else { shown(to) };
    format!("Slow from {} to {to} ({:.0} s)", shown(from), episode.length_s)
}

fn how(episode: &Episode, calm: Option<&Times>) -> String {
    let one = |name: &str, of: fn(&Times) -> Option<u64>| {
        let slow = of(&episode.times).map(|us| time(us as f64))?;
        let calm = calm.and_then(of).map_or("unknown".to_owned(), |us| time(us as f64));
        Some(format!("{name} {slow} (calm: {calm})"))
    };
    let all = [
        one("p99", |times| times.p99_us),
        one("p90", |times| times.p90_us),
        one("median", |times| times.median_us),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    format!("{}; {}", all.join(", "), counted(episode.times.requests, "request", "requests"))
}

fn wherever(episode: &Episode) -> String {
    let added = format!("{} added to each request on average", time(episode.added_us.max(0.0)));
    if episode.parts.iter().all(|added| added.part == Part::Rest) {
        return format!("{added}; the log does not tell where");
    }
    let told = episode.parts.iter().filter(|added| added.share >= TOLD_SHARE);
    let told: Vec<String> = told
        .map(|added| {
            let (calm, slow) = (time(added.calm_us), time(added.slow_us));
            format!("{} {} ({slow}, calm: {calm})", percent(added.share), added.name)
        })
        .collect();
    format!("{added}: {}", told.join(", "))
}

/// In whose requests the time was added, where that is not what their number would have.
fn who(episode: &Episode) -> Vec<String> {
    let stands_out =
        |name: &&AddedTo| name.share >= MAIN_SHARE && name.share > STANDS_OUT * name.requests_share;
    let one = |what: &str, names: &[AddedTo]| {
        let name = names.first().filter(stands_out)?;
        let calm = name.calm_us.map_or("not seen".to_owned(), time);
        Some(format!(
            "{} of what was added is in {what} '{}', which has {} of the requests (mean {}, calm: \
             {calm})",
            percent(name.share),
            printable(&name.name),
            percent(name.requests_share),
            time(name.slow_us)
        ))
    };
    let only = |what: &str, names: &[AddedTo]| match names {
        [name] => Some(format!("all requests are of {what} '{}'", printable(&name.name))),
        _ => None,
    };
    let server = one("the server", &episode.servers);
    let service = one("the service", &episode.services).or(only("the service", &episode.services));
    let endpoint = one("requests for", &episode.endpoints);
    let mix = (episode.mix_share >= MIX_TOLD).then(|| {
        let share = percent(episode.mix_share);
        format!(
            "{share} of what was added is another mix: more requests for what always takes long"
        )
    });
    [service, server, endpoint, mix].into_iter().flatten().collect()
}

fn load(episode: &Episode) -> String {
    let (slow, calm) = (&episode.traffic, &episode.calm_traffic);
    let errors = match slow.errors > 2.0 * calm.errors && slow.errors > 0.001 {
        true => format!("; {} errors (calm: {})", percent(slow.errors), percent(calm.errors)),
        false => String::new(),
    };
    format!(
        "{} requests/s came (calm: {}), {} were done (calm: {}), {} were under way (calm: {})\
         {errors}",
        few(slow.came_per_s),
        few(calm.came_per_s),
        few(slow.ended_per_s),
        few(calm.ended_per_s),
        few(slow.in_flight),
        few(calm.in_flight)
    )
}

fn titles(findings: &[Meanwhile]) -> String {
    listed(findings.iter().map(|finding| finding.title.to_owned()), FINDINGS_MAX)
}

fn machine_then(beside: &Beside, line: &mut impl FnMut(&str, &str)) {
    if !beside.covered {
        line("Machine", "not recorded at that time");
        return;
    }
    match beside.during.is_empty() {
        true => line("Machine", "no finding of its own holds at that time alone"),
        false => line("Machine", &format!("at that time: {}", titles(&beside.during))),
    }
    if !beside.at_other_times.is_empty() {
        line("", &format!("at other times only: {}", titles(&beside.at_other_times)));
    }
}

/// What the machine did in all slow times.
pub(super) fn machine(joined: &Joined, paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.bold("The machine"));
    let mut line = |label: &str, said: &str| text.push_str(&wrap(&format!("  {label:<8}"), said));
    if let Some(unmatched) = joined.unmatched {
        line("Unknown", unmatched.text());
        return text;
    }
    if !joined.always.is_empty() {
        line("Always", &titles(&joined.always));
    }
    for moved in &joined.moved {
        let value = |value: f64| written(moved.field.about().unit, value);
        line(
            "Moved",
            &format!(
                "{} ({}): {} in slow times, {} in calm ones",
                moved.name,
                printable(&moved.subject),
                value(moved.slow),
                value(moved.calm)
            ),
        );
    }
    for events in &joined.events {
        line(
            "Events",
            &format!(
                "{} ({}): {} in slow times, which have {} of the time, {} in calm ones",
                events.name,
                printable(&events.subject),
                events.slow,
                percent(events.slow_time),
                events.calm
            ),
        );
    }
    let compared = counted(joined.compared as u64, "quantity", "quantities");
    match (joined.moved.is_empty() && joined.events.is_empty(), joined.compared) {
        (_, 0) => line("Moved", "unknown: too few samples in slow or in calm times"),
        (true, _) => line("Moved", &format!("none of {compared} that were compared")),
        (false, _) => line(
            "",
            &format!(
                "of {compared} compared (p <= 0.01, corrected for all). What moves at the same \
                 time need not be the cause"
            ),
        ),
    }
    for note in &joined.notes {
        line("Note", note);
    }
    text
}
