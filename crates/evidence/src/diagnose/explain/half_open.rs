//! Connections whose peers do not answer.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::HalfOpen,
    severity: Severity::Warning,
    title: "Many connections are half open: a SYN flood, or answers that do not arrive",
    id: "network.half_open",
    question: "Are many connections half open?",
    how: "Connections in SYN-RECV, listed or counted, against those that are established.",
    limits: &[],
    leads_to: &[Cause::ListenOverflow],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see from where they come, and whether answers leave the machine",
            "ss -tnap",
            "many addresses with a few each: a flood; one network: its way back is broken",
        ),
        Remedy::new(
            Reach::Machine,
            "answer without a queue while it is full",
            "sysctl net.ipv4.tcp_syncookies=1 net.ipv4.tcp_max_syn_backlog=4096",
            "established connections come through",
        ),
        Remedy::new(
            Reach::Hardware,
            "filter them before this machine, or mend the route or firewall that drops the \
             answers",
            "tcpdump -ni any \"tcp[tcpflags] & (tcp-syn|tcp-ack) != 0\" -c 50",
            "SYN, SYN-ACK and ACK of one connection are seen",
        ),
    ],
    judge,
};

/// Are many connections half open?
fn judge(cx: &Context<'_>) -> Answer {
    let open = Connections::of(cx, SocketState::SynReceived, "SYN_RECV");
    let Some(open) = open else { return Answer::unknown(&[SOCKETS]) };
    let port = open.listed.first().and_then(|socket| socket.local.rsplit(':').next());
    let port = port.map_or_else(String::new, |port| format!("to port {port} "));
    open.outnumber(cx, &format!("{port}half open (SYN-RECV)"), 0.5)
}
