//! Sockets that use all the memory that they may use together.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::SocketMemory,
    severity: Severity::Warning,
    title: "Sockets use all the memory that they may use together: packets are dropped",
    id: "network.socket_memory",
    question: "Do the buffers of all sockets of a protocol reach their limit?",
    how: "Pages of TCP and UDP in /proc/net/sockstat, against the last value of net.ipv4.tcp_mem \
          and net.ipv4.udp_mem.",
    limits: &[],
    leads_to: &[Cause::TcpMemory, Cause::Drops, Cause::Retransmits, Cause::DatagramsUnread],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see whose sockets hold it: those with bytes that nobody reads or acknowledges",
            "ss -tmnp; ss -umnp",
            "skmem: r and t of a few sockets are most of it",
        ),
        Remedy::new(
            Reach::Program,
            "have the program read its sockets, or close those that nobody uses",
            "pidstat -u -p PID 1 5",
            "mem in /proc/net/sockstat falls",
        ),
        Remedy::new(
            Reach::Machine,
            "raise the limit, where there is memory (in pages; the kernel chose it at boot by the \
             size of the machine)",
            "sysctl -w net.ipv4.tcp_mem='LOW PRESSURE HIGH'",
            "mem in /proc/net/sockstat stays below it",
        ),
    ],
    judge,
};

/// From the second value on, TCP already shrinks its buffers (ip-sysctl.rst, tcp_mem). Judgement.
const NEAR_PERCENT: f64 = 95.0;

/// Do the buffers of all sockets of a protocol reach their limit?
fn judge(cx: &Context<'_>) -> Answer {
    const PROTOCOLS: [(Field, &str, &str); 2] =
        [(Field::TcpMemoryPages, "TCP", "tcp_mem"), (Field::UdpMemoryPages, "UDP", "udp_mem")];
    let mut answer = None;
    for (field, name, setting) in PROTOCOLS {
        let setting = cx.setting(&format!("/proc/sys/net/ipv4/{setting}"));
        let most = setting.and_then(|quote| quote.text.split_whitespace().last()?.parse().ok());
        let Some((used, most)) = cx.state(field).zip(most.filter(|most: &f64| *most > 0.0)) else {
            continue;
        };
        let percent = used.value / most * 100.0;
        let (pages, limit) = (write::number(used.value), write::number(most));
        let text = format!("{name} uses {pages} pages of at most {limit}: {percent:.1} %");
        let own = Answer::when(percent >= NEAR_PERCENT, 0.7, vec![cx.say(&used, &text)]);
        answer = match answer {
            Some(before) if Answer::is_yes(&before) => Some(before),
            _ => Some(own),
        };
    }
    answer.unwrap_or_else(|| Answer::unknown(&[SOCKET_MEMORY]))
}
