//! Links: how full they are, by what says so, or by what passes and what they carry.

use super::prelude::*;
use crate::recording::readers::ethtool::duplex_setting;

/// What a tool says of a link whose speed it does not know is 0 %: with that many bytes a second
/// that can't be.
const TRAFFIC_MIN: f64 = 1e6;

/// Is a link full?
pub(super) fn link(cx: &Context<'_>) -> Answer {
    let all = [said(cx), computed(cx), added(cx)].into_iter().flatten();
    let Some((busy, evidence)) = all.reduce(|a, b| if b.0 > a.0 { b } else { a }) else {
        let traffic = cx.host.subjects(Field::NetRxBytes).next().is_some();
        return Answer::unknown(&[if traffic { LINKS } else { NETWORK }]);
    };
    let limit = cx.limit(T::LinkBusy);
    Answer::when(busy >= limit, (busy / limit / 10.0).min(0.6), vec![evidence])
        .backed(peers(cx))
        .or_close(cx.is_close(busy, limit))
}

/// The fuller direction of an interface, bytes a second.
fn fuller(cx: &Context<'_>, subject: &Subject) -> Option<Reading> {
    let mean = |field| cx.sustained(&cx.line(field, subject)?);
    let (rx, tx) = (mean(Field::NetRxBytes), mean(Field::NetTxBytes));
    let both = rx.as_ref().map_or(0.0, |seen| seen.value) + tx.as_ref().map_or(0.0, |s| s.value);
    let seen = most([rx, tx].into_iter().flatten())?;
    let half = |name: &str| cx.setting(&duplex_setting(name)).is_some_and(|q| q.text == "Half");
    let half = matches!(subject, Subject::Interface(name) if half(name));
    Some(if half { Reading { value: both, ..seen } } else { seen })
}

/// The fullest link by what tools say of its use.
fn said(cx: &Context<'_>) -> Option<(f64, Evidence)> {
    let unknown = |line: &Line| {
        let idle = cx.highest(line).is_some_and(|seen| seen.value == 0.0);
        idle && fuller(cx, &line.subject).is_some_and(|seen| seen.value >= TRAFFIC_MIN)
    };
    let lines = cx.lines(Field::NetBusy, |_| true);
    let known = lines.iter().filter(|line| !unknown(line));
    let top = most(known.filter_map(|line| cx.sustained(line)))?;
    Some((top.value, cx.quote(&top)))
}

/// Speeds of the links that are up.
fn speeds(cx: &Context<'_>) -> Vec<Reading> {
    let all = cx.lines(Field::NetSpeed, |subject| matches!(subject, Subject::Interface(_)));
    let all = all.iter().filter_map(|line| cx.latest(Field::NetSpeed, &line.subject));
    all.filter(|speed| speed.value > 0.0).collect()
}

fn share(cx: &Context<'_>, of: &Reading, what: &str, speed: &Reading) -> (f64, Evidence) {
    let percent = (of.value / speed.value * 100.0).min(100.0);
    let text = format!(
        "{}: {what} {}, of {} that its link carries: {percent:.0} %",
        speed.subject,
        write::value(Unit::BytesPerSecond, of.value),
        write::value(Unit::BytesPerSecond, speed.value),
    );
    (percent, cx.derive(of, &text))
}

/// The fullest by bytes and speed, which different tools say.
fn computed(cx: &Context<'_>) -> Option<(f64, Evidence)> {
    let each = speeds(cx).into_iter().filter_map(|speed| {
        let seen = fuller(cx, &speed.subject)?;
        Some(share(cx, &seen, "it passes", &speed))
    });
    each.reduce(|a, b| if b.0 > a.0 { b } else { a })
}

/// The flows to all peers, where there is one link that they can take.
fn added(cx: &Context<'_>) -> Option<(f64, Evidence)> {
    let [speed] = <[Reading; 1]>::try_from(speeds(cx)).ok()?;
    let total = |field| {
        let lines = cx.lines(field, |subject| matches!(subject, Subject::Flow { .. }));
        let means = lines.iter().filter_map(|line| cx.mean(line));
        sum(means)
    };
    let ways = [total(Field::FlowSent), total(Field::FlowReceived)].into_iter().flatten();
    let fuller = most(ways)?;
    Some(share(cx, &fuller, "the flows listed are together", &speed))
}

/// The peers that have most of it, each with a good part of what the first one has.
fn peers(cx: &Context<'_>) -> Vec<Evidence> {
    const PEERS_MAX: usize = 3;
    const PART_MIN: f64 = 0.1;
    let flows = [Field::FlowSent, Field::FlowReceived].into_iter();
    let lines = flows.flat_map(|field| cx.lines(field, |_| true));
    let mut all: Vec<Reading> = lines.filter_map(|line| cx.mean(&line)).collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    let first = all.first().map_or(0.0, |first| first.value);
    let large = all.iter().filter(|seen| seen.value > 0.0 && seen.value >= PART_MIN * first);
    large.take(PEERS_MAX).map(|seen| cx.quote(seen)).collect()
}
