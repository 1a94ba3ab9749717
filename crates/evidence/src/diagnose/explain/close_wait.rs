//! Connections that the peer closed and the program keeps.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::CloseWait,
    severity: Severity::Warning,
    title: "A program keeps connections that its peers closed: it is stuck, or leaks them",
    id: "network.close_wait",
    question: "Does a program keep many connections that the peer closed?",
    how: "Connections in CLOSE-WAIT, listed or counted, against those that are established.",
    limits: &[],
    leads_to: &[Cause::OpenFiles, Cause::WorkersFull, Cause::ListenOverflow, Cause::PortsExhausted],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which program has them, and what its threads do",
            "ss -tnp state close-wait | head; ls /proc/PID/fd | wc -l",
            "one program has nearly all",
        ),
        Remedy::new(
            Reach::Program,
            "close what the peer closed: the code that reads must handle the end of the \
             stream, also where it gives up",
            "ss -Htn state close-wait | wc -l",
            "the number no longer grows",
        ),
        Remedy::new(
            Reach::Service,
            "restart it; that buys time only",
            "systemctl restart SERVICE",
            "CLOSE-WAIT near 0, and growing again until the code is mended",
        ),
    ],
    judge,
};

/// A few are what any program has in passing.
const KEPT_MIN: f64 = 100.0;

/// Does a program keep many connections that the peer closed?
fn judge(look: &Look<'_>) -> Answer {
    let counted = |state: &str| {
        let named = |subject: &Subject| subject.to_string().replace('-', "_") == state;
        look.top_of(Field::TcpInState, named)
    };
    let listed: Vec<&Socket> = in_state(look, SocketState::CloseWait);
    let count = counted("CLOSE_WAIT").map_or(0.0, |seen| seen.value).max(listed.len() as f64);
    let any = !look.host.sockets.is_empty() || look.top(Field::TcpInState).is_some();
    if !any {
        return Answer::unknown(&[SOCKETS]);
    }
    let alive = counted("ESTABLISHED").map(|seen| seen.value);
    let alive = alive.unwrap_or(in_state(look, SocketState::Established).len() as f64);
    let whose = most_named(&listed).map_or_else(String::new, |name| format!(", most of {name}"));
    let text = format!(
        "{} that the peer closed (CLOSE-WAIT){whose}, {} established",
        write::counted(count, "connection", "connections"),
        write::number(alive)
    );
    let evidence = match (counted("CLOSE_WAIT"), listed.first()) {
        (Some(seen), _) => look.say(&seen, &text),
        (None, Some(socket)) => observed(socket, text),
        (None, None) => Evidence::derived(text),
    };
    Answer::when(count >= KEPT_MIN && count >= alive, 0.6, vec![evidence])
}
