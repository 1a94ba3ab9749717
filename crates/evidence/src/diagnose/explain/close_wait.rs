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

/// Does a program keep many connections that the peer closed?
fn judge(cx: &Context<'_>) -> Answer {
    let kept = Connections::of(cx, SocketState::CloseWait, "CLOSE_WAIT");
    let Some(kept) = kept else { return Answer::unknown(&[SOCKETS]) };
    let whose =
        most_named(&kept.listed).map_or_else(String::new, |name| format!(", most of {name}"));
    if let Some(extract) = unread(&kept) {
        return extract;
    }
    kept.outnumber(cx, &format!("that the peer closed (CLOSE-WAIT){whose}"), 0.6)
}

/// Fewer rows are an example: judgement.
const ROWS_MIN: usize = 10;

/// In an extract of a listing: connections with data that the program has never read are its own
/// fault, however many the others are. The peer's end counts as a byte (`net/ipv4/tcp_diag.c`).
fn unread(kept: &Connections<'_>) -> Option<Answer> {
    let unread = kept.listed.iter().filter(|socket| socket.receive_queue > 1).count();
    let first = kept.listed.first()?;
    let most = unread * 2 >= kept.listed.len() && kept.count >= kept.established;
    let text = format!(
        "{} connections that the peer closed (CLOSE-WAIT), {unread} of them with data that the \
         program has not read",
        kept.listed.len()
    );
    (kept.listed.len() >= ROWS_MIN && most).then(|| Answer::yes(0.5, vec![observed(first, text)]))
}
