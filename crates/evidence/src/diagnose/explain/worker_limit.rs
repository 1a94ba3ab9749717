//! Servers that have no worker or connection left.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::WorkerLimit,
    severity: Severity::Warning,
    title: "A server has all its workers or connections in use: requests wait or are refused",
    id: "server.workers",
    question: "Does a server say that it has no worker or connection left?",
    how: "Messages of servers about their own limit of workers or connections, with that limit.",
    limits: &[],
    leads_to: &[Cause::ListenOverflow, Cause::AcceptQueue, Cause::LogErrors, Cause::NginxDrops],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what the workers do: they compute, or wait for somebody else",
            "ps -eo pid,stat,pcpu,wchan:32,args --sort=-pcpu | head -40",
            "most are in S with little CPU: they wait, and more of them help only as long as the \
             one they wait for keeps up",
        ),
        Remedy::new(
            Reach::Program,
            "shorten what each request waits for: time limits for queries and for servers behind \
             it",
            "journalctl -u SERVICE --since -1h",
            "the message comes less often at the same load",
        ),
        Remedy::new(
            Reach::Service,
            "allow more, where CPUs and memory have room for them (pm.max_children, \
             worker_connections, MaxRequestWorkers, maxThreads)",
            "free -m; nproc",
            "the message does not come again, and memory stays free",
        ),
    ],
    judge,
};

/// Does a server say that it has no worker or connection left?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::PoolFullLogged, |_| true);
    let Some(line) = lines.iter().max_by_key(|line| line.points.len()) else {
        return Answer::unknown(&[SERVER_LOG]);
    };
    let Some(seen) = cx.highest(line) else { return Answer::unknown(&[SERVER_LOG]) };
    let limit = cx.peak(Field::PoolLimit, &line.subject);
    let limit =
        limit.map_or_else(String::new, |limit| format!(" of {}", write::number(limit.value)));
    let times = write::counted(line.points.len() as f64, "time", "times");
    let text = format!("{}: all{limit} in use, logged {times}", line.subject);
    Answer::yes(0.5, vec![cx.say(&seen, &text)])
}
