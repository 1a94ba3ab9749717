//! Requests that wait for a connection of a pool, or are refused one by a server.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ConnectionsExhausted,
    severity: Severity::Warning,
    title: "All connections of a pool or a server are in use: requests wait for one, and give up",
    id: "pool.connections",
    question: "Do requests wait for a connection, or are they refused one?",
    how: "What programs log about their pools: connections in use of those there are, \
          requests that wait, requests that gave up; what servers log that have as many \
          connections as they may.",
    limits: &[],
    leads_to: &[Cause::WorkersFull, Cause::PoolLimit, Cause::LogErrors, Cause::ListenOverflow],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see who keeps the connections, and for what: a slow statement, or code that \
             does not give them back",
            "for i in 1 2 3; do jstack -l PID; sleep 5; done > threads.txt; hugewise \
             diagnose threads.txt",
            "many threads in one statement: the database is slow; few at work: a leak",
        ),
        Remedy::new(
            Reach::Program,
            "mend the statement or the leak (HikariCP: leakDetectionThreshold); a larger \
             pool only moves the queue into the database",
            "grep -i leak LOG",
            "active falls below the size, nobody waits",
        ),
    ],
    judge,
};

/// Do requests wait for a connection, or are they refused one?
fn judge(cx: &Context<'_>) -> Answer {
    let timeouts = cx.top(Field::ConnTimeouts);
    let waiting = cx.top(Field::ConnWaiting).filter(|waiting| waiting.value > 0.0);
    let refused = cx.top(Field::ConnRefused);
    let Some(first) = timeouts.clone().or(refused.clone()).or(waiting) else {
        return Answer::unknown(&[THREADS]);
    };
    let of = |field: Field| cx.peak(field, &first.subject);
    let mut parts = Vec::new();
    if let Some((used, size)) = of(Field::ConnUsed).zip(of(Field::ConnSize)) {
        parts.push(format!(
            "{} of {} in use",
            write::number(used.value),
            write::number(size.value)
        ));
    }
    if let Some(waiting) = of(Field::ConnWaiting) {
        parts.push(write::counted(waiting.value, "request waits", "requests wait"));
    }
    if let Some(wait) = of(Field::ConnWait) {
        parts.push(format!("given up after {}", write::milliseconds(wait.value)));
    }
    let lines = cx.lines(Field::ConnRefused, |subject| *subject == first.subject);
    let count: usize = lines.iter().map(|line| line.points.len()).sum();
    if count > 0 {
        let times = write::counted(count as f64, "time", "times");
        parts.push(format!("connections refused {times}: it has as many as it may"));
    }
    if parts.is_empty() {
        parts.push("a request got no connection".to_owned());
    }
    let text = format!("{}: {}", first.subject, parts.join(", "));
    let room = of(Field::ConnUsed).zip(of(Field::ConnSize));
    let full = timeouts.is_some()
        || refused.is_some()
        || room.is_some_and(|(used, size)| used.value >= size.value);
    Answer::when(full, 0.6, vec![cx.say(&first, &text)])
}
