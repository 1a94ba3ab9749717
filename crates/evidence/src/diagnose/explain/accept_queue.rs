//! A program that does not accept connections.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::AcceptQueue,
    severity: Severity::Warning,
    title: "A program does not accept its connections: they wait in its queue",
    id: "network.accept",
    question: "Do many connections wait to be accepted?",
    how: "Recv-Q of listening sockets: never empty in several looks, or very many where the \
          listing does not show the queue's limit.",
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
            "ss -lntp; ss -lxp",
            "Recv-Q near 0",
        ),
    ],
    judge,
};

/// The usual limits of a queue are 128 and 4,096 (net.core.somaxconn before and since Linux 5.4):
/// half of the smaller one is no moment's work.
const WAITING_MIN: u64 = 64;

/// A program that accepts at once has nobody waiting at most looks, and one by chance.
const WAITING_MEAN_MIN: f64 = 2.0;

/// Do many connections wait to be accepted?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.all_readings(Field::AcceptWaiting);
    // One that is full drops who comes: that is another finding.
    let is_full = |line: &&Line| {
        let name = line.subject.to_string();
        let mut own = cx.host.sockets.iter().filter(|socket| socket.local == name);
        own.any(|socket| socket.send_queue > 0 && socket.receive_queue >= socket.send_queue)
    };
    let never_empty = |line: &Line| {
        let least = cx.lowest(line)?.value;
        let mean = cx.mean(line)?;
        let often = line.points.len() >= 2 && least >= 1.0 && mean.value >= WAITING_MEAN_MIN;
        often.then_some((line.points.len(), mean))
    };
    let waiting = lines.iter().filter(|line| !is_full(line)).filter_map(never_empty);
    let longest = waiting.max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    if let Some((looks, mean)) = longest {
        let name = mean.subject.to_string();
        let socket = cx.host.sockets.iter().find(|socket| socket.local == name);
        let text = format!(
            "{} wait on average to be accepted at {name} by {}: never none in {looks} looks",
            write::counted(mean.value, "connection", "connections"),
            socket.map_or(NOT_NAMED, program),
        );
        return Answer::yes(0.6, vec![cx.say(&mean, &text)]);
    }
    let listening = in_state(cx, SocketState::Listen);
    // Where the limit stands in the listing, it decides.
    let unlimited = listening.iter().filter(|socket| socket.send_queue == 0);
    let Some(most) = unlimited.max_by_key(|socket| socket.receive_queue) else {
        return Answer::unknown(&[SOCKETS]);
    };
    let text = format!(
        "{} wait to be accepted at {} by {}",
        write::counted(most.receive_queue as f64, "connection", "connections"),
        most.local,
        program(most)
    );
    Answer::when(most.receive_queue >= WAITING_MIN, 0.6, vec![observed(most, text)])
}

const NOT_NAMED: &str = "a program that the listing does not name";

fn program(socket: &Socket) -> &str {
    socket.program.as_deref().unwrap_or(NOT_NAMED)
}
