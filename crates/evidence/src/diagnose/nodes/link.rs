//! Links: how full they are, by what says so, or by what passes and what they carry.

use super::prelude::*;
use crate::recording::readers::ethtool::duplex_setting;

/// What a tool says of a link whose speed it does not know is 0 %: with that many bytes a second
/// that can't be.
const TRAFFIC_MIN: f64 = 1e6;

/// Is a link full?
pub(super) fn link(cx: &Context<'_>) -> Answer {
    let all = [said(cx), computed(cx), added(cx)].into_iter().flatten();
    let Some((busy, evidence)) = most_by(all, |(busy, _)| *busy) else {
        let traffic = cx.host.subjects(Field::NetRxBytes).next().is_some();
        return Answer::unknown(&[if traffic { LINKS } else { NETWORK }]);
    };
    let limit = cx.limit(T::LinkBusy);
    Answer::when(busy >= limit, (busy / limit / 10.0).min(0.6), vec![evidence])
        .backed(peers(cx))
        .or_close(cx.is_close(busy, limit))
}

/// The fuller direction of an interface, bytes a second; both together on a half-duplex link.
fn fuller(cx: &Context<'_>, subject: &Subject) -> Option<Reading> {
    let sustained = |field| cx.sustained(&cx.line(field, subject)?);
    match (sustained(Field::NetRxBytes), sustained(Field::NetTxBytes)) {
        (Some(rx), Some(tx)) if is_half_duplex(cx, subject) => {
            let value = rx.value + tx.value;
            most([rx, tx]).map(|fuller| Reading { value, ..fuller })
        }
        (rx, tx) => most([rx, tx].into_iter().flatten()),
    }
}

fn is_half_duplex(cx: &Context<'_>, subject: &Subject) -> bool {
    let Subject::Interface(name) = subject else { return false };
    cx.setting(&duplex_setting(name)).is_some_and(|setting| setting.text == "Half")
}

/// The fullest link by what tools say of its use.
fn said(cx: &Context<'_>) -> Option<(f64, Evidence)> {
    let mut known = Vec::new();
    for line in cx.lines(Field::NetBusy, |_| true) {
        let idle = cx.highest(&line).is_some_and(|seen| seen.value == 0.0);
        if idle && fuller(cx, &line.subject).is_some_and(|seen| seen.value >= TRAFFIC_MIN) {
            continue; // a link of unknown speed
        }
        known.extend(cx.sustained(&line));
    }
    let top = most(known)?;
    Some((top.value, cx.quote(&top)))
}

/// Speeds of the links that are up.
fn speeds(cx: &Context<'_>) -> Vec<Reading> {
    let mut speeds = Vec::new();
    for line in cx.lines(Field::NetSpeed, |subject| matches!(subject, Subject::Interface(_))) {
        speeds.extend(cx.latest(Field::NetSpeed, &line.subject));
    }
    speeds.retain(|speed| speed.value > 0.0);
    speeds
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
    let mut shares = Vec::new();
    for speed in speeds(cx) {
        let Some(bytes) = fuller(cx, &speed.subject) else { continue };
        shares.push(share(cx, &bytes, "it passes", &speed));
    }
    most_by(shares, |(percent, _)| *percent)
}

/// The flows to all peers, where there is one link that they can take.
fn added(cx: &Context<'_>) -> Option<(f64, Evidence)> {
    let [speed] = <[Reading; 1]>::try_from(speeds(cx)).ok()?;
    let sent = all_flows(cx, Field::FlowSent);
    let received = all_flows(cx, Field::FlowReceived);
    let fuller = most([sent, received].into_iter().flatten())?;
    Some(share(cx, &fuller, "the flows listed are together", &speed))
}

fn all_flows(cx: &Context<'_>, field: Field) -> Option<Reading> {
    let lines = cx.lines(field, |subject| matches!(subject, Subject::Flow { .. }));
    sum(lines.iter().filter_map(|line| cx.mean(line)))
}

/// The peers that have most of it, each with a good part of what the first one has.
fn peers(cx: &Context<'_>) -> Vec<Evidence> {
    const PEERS_MAX: usize = 3;
    const PART_MIN: f64 = 0.1;
    let mut all: Vec<Reading> = Vec::new();
    for field in [Field::FlowSent, Field::FlowReceived] {
        for line in cx.lines(field, |_| true) {
            all.extend(cx.mean(&line));
        }
    }
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    let least = PART_MIN * all.first().map_or(0.0, |first| first.value);
    all.retain(|seen| seen.value > 0.0 && seen.value >= least);
    all.truncate(PEERS_MAX);
    all.iter().map(|seen| cx.quote(seen)).collect()
}
