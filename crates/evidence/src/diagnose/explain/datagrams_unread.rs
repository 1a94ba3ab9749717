//! A program that does not read its datagrams.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::DatagramsUnread,
    severity: Severity::Warning,
    title: "A program does not read its UDP socket: the buffer is full, datagrams are lost",
    id: "network.datagrams",
    question: "Is the buffer of a UDP socket full?",
    how: "Bytes that wait in a UDP socket, against the default size of its buffer; datagrams that \
          were lost to a full buffer, of all.",
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
fn judge(cx: &Context<'_>) -> Answer {
    let udp = |socket: &&Socket| socket.protocol == Some(Protocol::Udp);
    let sockets = cx.host.sockets.iter().filter(udp);
    let lost = lost(cx);
    let Some(most) = sockets.max_by_key(|socket| socket.receive_queue) else {
        return lost.unwrap_or_else(|| Answer::unknown(&[SOCKETS, UDP]));
    };
    let program = most.program.as_deref().unwrap_or("a program that the listing does not name");
    let text = format!(
        "{program} has not read {} bytes of its UDP socket {}",
        write::number(most.receive_queue as f64),
        most.local
    );
    let evidence = vec![observed(most, text)];
    let full = Answer::when(most.receive_queue >= UNREAD_MIN_BYTES, 0.6, evidence);
    lost.filter(|lost| lost.is_yes() && !full.is_yes()).unwrap_or(full)
}

/// Judgement: fewer are bursts; of all datagrams.
const LOST_MIN: f64 = 1_000.0;
const LOST_MIN_PER_S: f64 = 10.0;
const LOST_MIN_PERCENT: f64 = 1.0;

/// Datagrams that were lost to a full buffer, now or since boot. Older programs count all errors
/// together: nearly all of them are of that kind (`__udp_queue_rcv_skb` in net/ipv4/udp.c).
fn lost(cx: &Context<'_>) -> Option<Answer> {
    let of = |fields: [Field; 2]| fields.into_iter().find_map(|field| cx.top(field));
    let rate = of([Field::UdpBufferErrors, Field::UdpErrors]);
    let (lost, least, all) = match rate {
        Some(rate) => (rate, LOST_MIN_PER_S, cx.top(Field::UdpDatagrams)),
        None => {
            let count = of([Field::UdpBufferErrorCount, Field::UdpErrorCount])?;
            (count, LOST_MIN, cx.top(Field::UdpDatagramCount))
        }
    };
    let arrived = all.as_ref().map_or(0.0, |all| all.value) + lost.value;
    let percent = lost.value / arrived.max(1.0) * 100.0;
    let much = lost.value >= least && percent >= LOST_MIN_PERCENT;
    let evidence = [Some(lost.clone()), all];
    let evidence = evidence.iter().flatten().map(|seen| cx.quote(seen)).collect();
    Some(Answer::when(much, 0.5, evidence).or_close(lost.value > 0.0))
}
