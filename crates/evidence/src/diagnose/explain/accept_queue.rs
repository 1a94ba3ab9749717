//! A program that does not accept connections.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::AcceptQueue,
    severity: Severity::Warning,
    title: "A program does not accept its connections: they wait in its queue",
    id: "network.accept",
    question: "Do many connections wait to be accepted?",
    how: "Recv-Q of listening sockets, where the listing does not show the queue's limit.",
    limits: &[],
    leads_to: &[Cause::ListenOverflow],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what the program does instead",
            "top -H -p PID; for i in 1 2 3; do cat /proc/PID/stack; sleep 1; done",
            "its threads wait for one thing, or one thread is full",
        ),
        Remedy::new(
            Reach::Program,
            "more workers that accept, or a shorter wait in those there are",
            "ss -ltn",
            "Recv-Q near 0",
        ),
    ],
    judge,
};

/// The usual limits of a queue are 128 and 4,096 (net.core.somaxconn before and since Linux 5.4):
/// half of the smaller one is no moment's work.
const WAITING_MIN: u64 = 64;

/// Do many connections wait to be accepted?
fn judge(look: &Look<'_>) -> Answer {
    let listening = in_state(look, SocketState::Listen);
    // Where the limit stands in the listing, it decides.
    let unlimited = listening.iter().filter(|socket| socket.send_queue == 0);
    let Some(most) = unlimited.max_by_key(|socket| socket.receive_queue) else {
        return Answer::unknown(&[SOCKETS]);
    };
    let program = most.program.as_deref().unwrap_or("a program that the listing does not name");
    let text = format!(
        "{} wait to be accepted at {} by {program}",
        write::counted(most.receive_queue as f64, "connection", "connections"),
        most.local
    );
    Answer::when(most.receive_queue >= WAITING_MIN, 0.6, vec![observed(most, text)])
}
