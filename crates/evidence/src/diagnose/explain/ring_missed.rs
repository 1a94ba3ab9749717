//! Packets that an interface missed since boot.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::RingMissed,
    severity: Severity::Warning,
    title: "An interface has lost many of the packets that arrived since boot; a second reading \
            tells whether it does now",
    id: "network.missed",
    question: "Did an interface miss many packets since boot?",
    how: "Packets missed or dropped of all that arrived, since boot, where there is one reading.",
    limits: &[],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "take a second reading",
            "ethtool -S INTERFACE | grep -iE \"miss|drop|fifo|no_buf\"; sleep 10; ethtool \
             -S INTERFACE | grep -iE \"miss|drop|fifo|no_buf\"",
            "the counts grow",
        ),
        Remedy::new(
            Reach::Machine,
            "where they grow: a longer ring, and its queues on several CPUs",
            "ethtool -g INTERFACE; ethtool -G INTERFACE rx MAX; ethtool -l INTERFACE",
            "the counts stand still",
        ),
    ],
    judge,
};

/// Of all packets. Judgement: TCP is slowed down by far fewer.
const DROPPED_MIN_PERCENT: f64 = 1.0;
/// The same for a full ring, which nothing but a lack of time or room fills.
const MISSED_MIN_PERCENT: f64 = 0.05;
/// Fewer are a burst long ago.
const MISSED_MIN: f64 = 10_000.0;

/// Did an interface miss many packets since boot?
fn judge(cx: &Context<'_>) -> Answer {
    if cx.top(Field::NetRxFifo).or_else(|| cx.top(Field::NetRxDrops)).is_some() {
        return Answer::unknown(&[]);
    }
    let lost = [Field::NetMissedCount, Field::NetRxDropCount].map(|field| cx.top(field));
    let Some(missed) = most(lost.into_iter().flatten()) else {
        return Answer::unknown(&[NETWORK]);
    };
    let Some(got) = cx.peak(Field::NetRxPacketCount, &missed.subject) else {
        return Answer::unknown(&[NETWORK]);
    };
    let (how, least) = match missed.field {
        Field::NetRxDropCount => ("dropped", DROPPED_MIN_PERCENT),
        _ => ("lost to a full ring", MISSED_MIN_PERCENT),
    };
    let percent = missed.value / (missed.value + got.value).max(1.0) * 100.0;
    let text = format!(
        "{}: {} packets {how} since boot, {percent:.2} % of all",
        missed.subject,
        write::number(missed.value)
    );
    let mut evidence = cx.say(&missed, &text);
    // So large a share of all time is no count of long ago.
    (evidence.field, evidence.value) = (None, None);
    let much = percent >= least && missed.value >= MISSED_MIN;
    Answer::when(much, 0.5, vec![evidence]).or_close(true).lacking(&[NETWORK])
}
