//! Sockets as `netstat` and `ss` list them. netstat(8), ss(8).

use super::prelude::*;
use crate::recording::words::OTHER_SOCKET_STATES;

/// The state that a word is, in netstat's spelling or that of ss.
fn state(word: &str) -> Option<SocketState> {
    Some(match word {
        "ESTABLISHED" | "ESTAB" => SocketState::Established,
        "LISTEN" => SocketState::Listen,
        "CLOSE_WAIT" | "CLOSE-WAIT" => SocketState::CloseWait,
        "TIME_WAIT" | "TIME-WAIT" => SocketState::TimeWait,
        _ => return OTHER_SOCKET_STATES.contains(&word).then_some(SocketState::Other),
    })
}

struct Row<'a> {
    state: SocketState,
    queues: (u64, u64),
    ends: (&'a str, &'a str),
    program: Option<String>,
}

/// A row of netstat: `tcp 759 0 LOCAL REMOTE ESTABLISHED 1/java off (0.00/0/0)`.
fn netstat_row<'a>(words: &[&'a str]) -> Option<Row<'a>> {
    let [protocol, received, sent, local, remote, rest @ ..] = words else { return None };
    let known = matches!(*protocol, "tcp" | "tcp6" | "udp" | "udp6");
    if !known || !local.contains(':') || !remote.contains(':') {
        return None;
    }
    let found = rest.iter().find_map(|word| state(word));
    let program = rest.iter().find(|word| {
        let owner = word.split_once('/');
        owner.is_some_and(|(pid, name)| count(pid).is_some() && !name.is_empty())
    });
    Some(Row {
        state: found.unwrap_or(SocketState::Other),
        queues: (count(received)?, count(sent)?),
        ends: (*local, *remote),
        program: program.map(|word| word.trim_end_matches(':').to_owned()),
    })
}

/// A row of ss: `[tcp] ESTAB 0 0 LOCAL REMOTE users:(("java",pid=1,fd=5))`.
fn ss_row<'a>(words: &[&'a str]) -> Option<Row<'a>> {
    let words = match words {
        ["tcp" | "udp", rest @ ..] => rest,
        all => all,
    };
    // `ss state established` leaves out the column that is the same in all rows.
    let established = words.first().is_some_and(|word| count(word).is_some());
    let stated = [&["ESTAB"], words].concat();
    let words = if established { stated.as_slice() } else { words };
    let [found, received, sent, local, remote, rest @ ..] = words else { return None };
    if !local.contains(':') || !remote.contains(':') {
        return None;
    }
    Some(Row {
        state: state(found)?,
        queues: (count(received)?, count(sent)?),
        ends: (*local, *remote),
        program: rest.iter().find_map(|word| ss_program(word)),
    })
}

/// `users:(("java",pid=1,fd=5))`, or before iproute2 4 `users:(("java",1,5))`, as `1/java`.
fn ss_program(word: &str) -> Option<String> {
    let (name, rest) = word.strip_prefix("users:((\"")?.split_once("\",")?;
    let pid = rest.strip_prefix("pid=").unwrap_or(rest).split(',').next()?;
    count(pid).map(|pid| format!("{pid}/{name}"))
}

/// Rows about sockets that are not TCP or UDP.
fn passed_over(words: &[&str]) -> bool {
    const KINDS: [&str; 13] = [
        "unix", "raw", "raw6", "u_str", "u_dgr", "u_seq", "nl", "p_raw", "p_dgr", "v_str", "icmp6",
        "sctp", "mptcp",
    ];
    words.len() >= 4 && words.first().is_some_and(|word| KINDS.contains(word))
}

fn is_netstat_head(words: &[&str]) -> bool {
    let title = words.starts_with(&["Active", "Internet", "connections"])
        || words.starts_with(&["Active", "UNIX", "domain", "sockets"]);
    let queues = words.starts_with(&["Proto", "Recv-Q", "Send-Q"]);
    title || queues || words.starts_with(&["Proto", "RefCnt", "Flags"])
}

fn is_ss_head(words: &[&str]) -> bool {
    let queues = words.iter().take(3).any(|word| *word == "Recv-Q");
    queues && words.iter().any(|word| word.contains("Address:Port"))
}

/// Begins at a head, or at a row of a listing whose head was cut off.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let words = words(lines.ahead(0));
    let ss = is_ss_head(&words) || ss_row(&words).is_some();
    let netstat = is_netstat_head(&words) || netstat_row(&words).is_some();
    if ss {
        out.begin(SourceKind::Ss, lines.number());
    } else if netstat {
        out.begin(SourceKind::Netstat, lines.number());
    } else {
        return None;
    }
    Some(Box::new(Sockets { ss, rows: false }))
}

struct Sockets {
    ss: bool,
    /// Whether a row came, so that indented lines are its details (`ss -i`).
    rows: bool,
}

impl Reader for Sockets {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        let row = if self.ss { ss_row(&words) } else { netstat_row(&words) };
        if let Some(row) = row {
            self.rows = true;
            out.socket(row.state, row.queues, row.ends, row.program.as_deref());
            return Taken::Yes;
        }
        let head = if self.ss { is_ss_head(&words) } else { is_netstat_head(&words) };
        let detail = self.ss && self.rows && line.starts_with(char::is_whitespace);
        let torn = match (self.ss, words.first()) {
            (false, Some(&("tcp" | "tcp6" | "udp" | "udp6"))) => true,
            (true, Some(word)) => *word == "tcp" || *word == "udp" || state(word).is_some(),
            _ => false,
        };
        let like_row = |word: &&str| count(word).is_some() || word.contains(':');
        let torn = torn && words.iter().skip(1).take(5).filter(|word| like_row(word)).count() >= 2;
        if torn && !detail {
            out.problem("no row of two queues and two addresses: left out");
            return Taken::Yes;
        }
        let mine = head || detail || elided(line) || passed_over(&words);
        if mine || words.is_empty() { Taken::Yes } else { Taken::No }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read};
    use super::*;

    #[test]
    fn netstat_with_and_without_programs() {
        let recording = read(
            "Active Internet connections (servers and established)\n\
             Proto Recv-Q Send-Q Local Address      Foreign Address     State       PID/Program \
             name     Timer\n\
             tcp      759      0 10.100.69.229:8085 10.100.140.32:35444 ESTABLISHED \
             1/java               off (0.00/0/0)\n\
             tcp     1056      0 10.100.69.229:347  10.96.224.111:3306  ESTABLISHED \
             1/java               keepalive (4789.93/0/0)\n\
             tcp6       0      0 :::22              :::*                LISTEN      -\n\
             udp        0      0 0.0.0.0:68         0.0.0.0:*                       812/dhclient\n\
             tcp        0      0 10.0.0.1:5         10.0.0.2:6          CLOSE_WAIT\n\
             Active UNIX domain sockets (servers and established)\n\
             Proto RefCnt Flags       Type       State         I-Node   Path\n\
             unix  2      [ ]         DGRAM                    13145    /run/x\n",
        );
        all_understood(&recording);
        let sockets = &recording.hosts[0].sockets;
        assert_eq!(sockets.len(), 5);
        assert_eq!((sockets[0].receive_queue, sockets[0].send_queue), (759, 0));
        assert_eq!(sockets[0].program.as_deref(), Some("1/java"));
        assert_eq!(sockets[1].remote, "10.96.224.111:3306");
        let states: Vec<SocketState> = sockets.iter().map(|socket| socket.state).collect();
        use SocketState::{CloseWait, Established, Listen, Other};
        assert_eq!(states, [Established, Established, Listen, Other, CloseWait]);
        assert_eq!(sockets[3].program.as_deref(), Some("812/dhclient"));
    }

    #[test]
    fn ss_with_details_and_programs() {
        let recording = read(
            "Netid State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n\
             tcp   LISTEN 129    128          0.0.0.0:8080      0.0.0.0:*    \
             users:((\"java\",pid=7,fd=5),(\"java\",pid=8,fd=5))\n\
             \t bbr cwnd:10\n\
             u_str ESTAB  0      0                  * 123             * 124\n\
             tcp   ESTAB  5      9          [::1]:22       [::1]:5 users:((\"sshd\",12,3))\n\
             Nothing more.\n",
        );
        let sockets = &recording.hosts[0].sockets;
        assert_eq!(sockets.len(), 2);
        assert_eq!(sockets[0].program.as_deref(), Some("7/java"));
        assert_eq!((sockets[0].receive_queue, sockets[0].send_queue), (129, 128));
        assert_eq!(sockets[1].program.as_deref(), Some("12/sshd"));
        assert_eq!(recording.unrecognised[0].first_line, 6);
    }

    #[test]
    fn a_torn_row_is_told() {
        let recording =
            read("tcp 1 0 1.2.3.4:5 6.7.8.9:1 ESTABLISHED\ntcp x 0 1.2.3.4:5 6.7.8.9:1\n");
        assert_eq!(recording.hosts[0].sockets.len(), 1);
        assert_eq!(recording.problems.len(), 1);
    }
}
