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

/// A few are what any busy port has in passing.
const HALF_OPEN_MIN: f64 = 100.0;

/// Are many connections half open?
fn judge(look: &Look<'_>) -> Answer {
    let counted = |state: &str| {
        let named = |subject: &Subject| subject.to_string().replace('-', "_") == state;
        look.top_of(Field::TcpInState, named)
    };
    let listed: Vec<&Socket> = in_state(look, SocketState::SynReceived);
    let seen = counted("SYN_RECV");
    let count = seen.as_ref().map_or(0.0, |seen| seen.value).max(listed.len() as f64);
    if look.host.sockets.is_empty() && look.top(Field::TcpInState).is_none() {
        return Answer::unknown(&[SOCKETS]);
    }
    let alive = counted("ESTABLISHED").map(|seen| seen.value);
    let alive = alive.unwrap_or(in_state(look, SocketState::Established).len() as f64);
    let port = listed.first().and_then(|socket| socket.local.rsplit(':').next());
    let port = port.map_or_else(String::new, |port| format!(" to port {port}"));
    let text = format!(
        "{}{port} half open (SYN-RECV), {} established",
        write::counted(count, "connection", "connections"),
        write::number(alive)
    );
    let evidence = match (seen, listed.first()) {
        (Some(seen), _) => look.say(&seen, &text),
        (None, Some(socket)) => observed(socket, text),
        (None, None) => Evidence::derived(text),
    };
    Answer::when(count >= HALF_OPEN_MIN && count >= alive, 0.5, vec![evidence])
}
