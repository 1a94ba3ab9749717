//! What PostgreSQL's views say of its sessions and statements.

use super::prelude::*;
use super::servers::{any, name, parts, state, worst};
use hugewise_base::count::counted;

const KIND: &str = "postgres";

/// Does it say that it suffers?
pub(super) fn any_of(cx: &Context<'_>) -> Answer {
    let tests = [locks(cx), latches(cx), storage(cx), idle(cx), statement(cx), checkpoints(cx)];
    any(&tests, PG_SESSIONS)
}

/// Sessions in waits of a kind, against all that are at work.
fn waiting(cx: &Context<'_>, kind: &str, share: T) -> Answer {
    worst(cx, KIND, &[Field::Sessions], PG_SESSIONS, |server| {
        let all = state(cx, Field::Sessions, server)?;
        let lines = parts(cx, Field::SessionsWaiting, server);
        let own = lines.iter().filter(|line| name(&line.subject).starts_with(kind));
        let own: Vec<Reading> =
            own.filter_map(|line| cx.latest(line.field, &line.subject)).collect();
        let sum: f64 = own.iter().map(|seen| seen.value).sum();
        let Some(most) = most(own) else {
            let text = format!("none of {} sessions at work", write::number(all.value));
            return Some(Answer::no(vec![cx.say(&all, &text)]));
        };
        let percent = if all.value > 0.0 { sum / all.value * 100.0 } else { 0.0 };
        let text = format!(
            "{} of {} sessions at work wait, most of them in {} ({})",
            write::number(sum),
            write::number(all.value),
            name(&most.subject),
            write::number(most.value)
        );
        let evidence = vec![cx.say(&most, &text)];
        let many = sum >= cx.limit(T::SessionsWaiting) && percent >= cx.limit(share);
        Some(Answer::when(many, (percent / 100.0).min(0.8), evidence))
    })
}

/// Do sessions wait for each other's locks?
pub(super) fn locks(cx: &Context<'_>) -> Answer {
    let answer = waiting(cx, "Lock:", T::LockShare);
    let heads = cx.lines(Field::SessionsBlocked, |_| true);
    let heads = heads.iter().filter_map(|line| cx.latest(line.field, &line.subject));
    let head = most(heads).map(|head| {
        let waits = if head.value < 1.5 { "session waits" } else { "sessions wait" };
        let name = name(&head.subject);
        cx.say(&head, &format!("{} {waits} for {name}", write::number(head.value)))
    });
    answer.backed(head)
}

/// Do sessions wait for the server's own, short locks?
pub(super) fn latches(cx: &Context<'_>) -> Answer {
    waiting(cx, "LWLock", T::WaitShare)
}

/// Do sessions wait for storage?
pub(super) fn storage(cx: &Context<'_>) -> Answer {
    let answer = waiting(cx, "IO:", T::WaitShare);
    let hits = state(cx, Field::CacheHitCount, KIND);
    let misses = state(cx, Field::CacheMissCount, KIND);
    let found = hits.zip(misses).filter(|(hits, misses)| hits.value + misses.value > 0.0);
    let found = found.map(|(hits, misses)| {
        let share = hits.value / (hits.value + misses.value) * 100.0;
        let share = write::value(Unit::Percent, share);
        cx.say(&hits, &format!("{share} of blocks were found in shared buffers"))
    });
    answer.backed(found)
}

/// Do sessions hold what they have while they do nothing?
pub(super) fn idle(cx: &Context<'_>) -> Answer {
    worst(cx, KIND, &[Field::SessionsIdleInTransaction], PG_SESSIONS, |server| {
        let count = state(cx, Field::SessionsIdleInTransaction, server)?;
        let many = if (count.value - 1.0).abs() < 0.5 { "session" } else { "sessions" };
        let text = format!("{} {many} idle within a transaction", write::number(count.value));
        let Some(longest) = state(cx, Field::IdleInTransaction, server) else {
            // For how long is not known: many of them, more than are at work.
            let busy = state(cx, Field::Sessions, server).map_or(0.0, |busy| busy.value);
            let many = count.value >= cx.limit(T::IdleSessions) && count.value > busy;
            let text = format!("{text}, {} at work", write::number(busy));
            let evidence = vec![cx.say(&count, &text)];
            return Some(Answer::when(many, 0.3, evidence));
        };
        let text = format!("{text}, the longest for {}", write::milliseconds(longest.value));
        let evidence = vec![cx.say(&longest, &text)];
        let long = longest.value >= cx.limit(T::IdleInTransaction);
        let holds = "it keeps its locks, and what it may still read cannot be vacuumed";
        Some(Answer::when(long, 0.4, evidence).backed([Evidence::derived(holds)]))
    })
}

/// Maintenance takes long by design, and has no index to be given.
const MAINTENANCE: [&str; 7] =
    ["COPY", "VACUUM", "ANALYZE", "CREATE", "REINDEX", "CLUSTER", "REFRESH"];

/// Does one slow statement take most of the time?
pub(super) fn statement(cx: &Context<'_>) -> Answer {
    worst(cx, KIND, &[Field::CommandTime], PG_STATEMENTS, |server| {
        let lines = parts(cx, Field::CommandTime, server);
        let all: Vec<Reading> =
            lines.iter().filter_map(|line| cx.latest(line.field, &line.subject)).collect();
        let sum: f64 = all.iter().map(|seen| seen.value).sum();
        let most = most(all)?;
        let calls = cx.latest(Field::CommandCalls, &most.subject)?.value;
        if calls <= 0.0 || sum <= 0.0 {
            return Some(Answer::no(vec![cx.quote(&most)]));
        }
        let (share, mean) = (most.value / sum * 100.0, most.value / calls);
        let text = format!(
            "{} of the time of {}: {} a call, {}: {}",
            write::value(Unit::Percent, share),
            counted(lines.len(), "statement", "statements"),
            write::milliseconds(mean),
            write::counted(calls, "call", "calls"),
            name(&most.subject)
        );
        let evidence = vec![cx.say(&most, &text)];
        let start = name(&most.subject).split(' ').next().unwrap_or_default().to_ascii_uppercase();
        let work = !MAINTENANCE.contains(&start.as_str());
        let long = mean >= cx.limit(T::StatementLong);
        let much = share >= cx.limit(T::CommandShare) && lines.len() > 1;
        Some(Answer::when(work && long && much, share / 100.0, evidence))
    })
}

/// Fewer checkpoints say nothing of their usual cause.
const CHECKPOINTS_MIN: f64 = 20.0;

/// Does full WAL force checkpoints?
pub(super) fn checkpoints(cx: &Context<'_>) -> Answer {
    let fields = [Field::CheckpointsRequested, Field::CheckpointsApart];
    worst(cx, KIND, &fields, PG_CHECKPOINTS, |server| {
        // The server itself complains where they are closer than checkpoint_warning.
        if let Some(apart) = state(cx, Field::CheckpointsApart, server) {
            return Some(Answer::yes(0.3, vec![cx.quote(&apart)]));
        }
        let requested = state(cx, Field::CheckpointsRequested, server)?;
        let timed = state(cx, Field::CheckpointsTimed, server)?.value;
        let all = requested.value + timed;
        let share = if all > 0.0 { requested.value / all * 100.0 } else { 0.0 };
        let text = format!(
            "{} of {} checkpoints were not by the clock",
            write::value(Unit::Percent, share),
            write::number(all)
        );
        let evidence = vec![cx.say(&requested, &text)];
        let many = all >= CHECKPOINTS_MIN && share >= cx.limit(T::CheckpointShare);
        Some(Answer::when(many, 0.3, evidence))
    })
}
