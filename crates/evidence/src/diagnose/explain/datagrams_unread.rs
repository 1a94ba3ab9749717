//! A program that does not read its datagrams.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::DatagramsUnread,
    severity: Severity::Warning,
    title: "A program does not read its UDP socket: the buffer is full, datagrams are lost",
    id: "network.datagrams",
    question: "Is the buffer of a UDP socket full?",
    how: "Bytes that wait in a UDP socket, against the default size of its buffer.",
    limits: &[],
    leads_to: &[Cause::Drops, Cause::SlowReader],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see how many datagrams were lost, and at which socket",
            "ss -uanp",
            "skmem: d counts the losses of the socket, rb is its buffer",
        ),
        Remedy::new(
            Reach::Program,
            "read in a thread of its own, in batches (recvmmsg), or in several processes \
             (SO_REUSEPORT)",
            "pidstat -u -p PID 1 5",
            "Recv-Q near 0; a thread at 100 % of a CPU is the limit",
        ),
        Remedy::new(
            Reach::Machine,
            "a larger buffer helps against bursts only",
            "sysctl net.core.rmem_max=8388608  # and SO_RCVBUF of the program",
            "UdpRcvbufErrors stands still",
        ),
    ],
    judge,
};

/// The default of net.core.rmem_default is 212,992 bytes, of which a full buffer shows nearly all;
/// three quarters of it are no moment (net/core/sock.c, SK_RMEM_MAX).
const UNREAD_MIN_BYTES: u64 = 160_000;

/// Is the buffer of a UDP socket full?
fn judge(look: &Look<'_>) -> Answer {
    let udp = |socket: &&Socket| socket.protocol == Some(Protocol::Udp);
    let sockets = look.host.sockets.iter().filter(udp);
    let Some(most) = sockets.max_by_key(|socket| socket.receive_queue) else {
        return Answer::unknown(&[SOCKETS]);
    };
    let program = most.program.as_deref().unwrap_or("a program that the listing does not name");
    let text = format!(
        "{program} has not read {} bytes of its UDP socket {}",
        write::number(most.receive_queue as f64),
        most.local
    );
    let evidence = vec![observed(most, text)];
    Answer::when(most.receive_queue >= UNREAD_MIN_BYTES, 0.6, evidence)
}
