//! Sockets as `netstat` and `ss` list them, with or without their heading. netstat(8), ss(8).
//!
//! A row tells whose it is by where its state stands: `netstat` has it behind the addresses, `ss`
//! before the queues. A row that shows no state gets none, unless what was typed says it.

use super::prelude::*;
use crate::recording::words::OTHER_SOCKET_STATES;

/// Whose rows they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Netstat,
    Ss,
}

/// The state that a word is, in the spelling of either tool: `CLOSE-WAIT`, `CLOSE_WAIT`.
pub(in crate::recording) fn state(word: &str) -> Option<SocketState> {
    if !word.bytes().all(|byte| byte.is_ascii_uppercase() || b"-_12".contains(&byte)) {
        return None;
    }
    Some(match word.replace('-', "_").as_str() {
        "ESTABLISHED" | "ESTAB" => SocketState::Established,
        "LISTEN" | "LISTENING" => SocketState::Listen,
        "SYN_RECV" => SocketState::SynReceived,
        "SYN_SENT" => SocketState::SynSent,
        "CLOSE_WAIT" => SocketState::CloseWait,
        "TIME_WAIT" => SocketState::TimeWait,
        "UNCONN" => SocketState::Unconnected,
        other => return OTHER_SOCKET_STATES.contains(&other).then_some(SocketState::Other),
    })
}

fn protocol(word: &str) -> Option<Protocol> {
    match word {
        "tcp" | "tcp6" => Some(Protocol::Tcp),
        "udp" | "udp6" => Some(Protocol::Udp),
        _ => None,
    }
}

/// An address with its port: `10.0.0.1:443`, `[::]:22`, `*:*`, `db1:postgresql`.
fn is_end(word: &str) -> bool {
    let port = |port: &str| {
        port == "*"
            || !port.is_empty() && port.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    word.rsplit_once(':').is_some_and(|(host, end)| !host.is_empty() && port(end))
}

struct SocketRow<'a> {
    protocol: Option<Protocol>,
    state: Option<SocketState>,
    /// The one whose row it can be; none: it may be either's.
    form: Option<Form>,
    queues: (u64, u64),
    ends: (&'a str, &'a str),
    program: Option<String>,
}

/// `tcp 759 0 LOCAL REMOTE ESTABLISHED 1/java off (0.00/0/0)` of `netstat`, and
/// `[tcp] [ESTAB] 0 0 LOCAL REMOTE users:(("java",pid=1,fd=5))` of `ss`.
fn row<'a>(words: &[&'a str]) -> Option<SocketRow<'a>> {
    let protocol = words.first().and_then(|word| protocol(word));
    let rest = words.get(usize::from(protocol.is_some())..)?;
    let before = rest.first().and_then(|word| state(word));
    let columns = rest.get(usize::from(before.is_some())..)?;
    let (received, sent, local, remote, rest) = match columns {
        [received, sent, local, remote, rest @ ..] => (received, sent, local, remote, rest),
        // A socket that listens has no other end, which a narrow paste cuts off.
        [received, sent, local] if before == Some(SocketState::Listen) => {
            (received, sent, local, &"*:*", &[][..])
        }
        _ => return None,
    };
    let queues = (count(received)?, count(sent)?);
    let after = rest.first().and_then(|word| state(word));
    let whole = is_end(local) && is_end(remote) && (before.is_none() || after.is_none());
    // What netstat lists has its protocol.
    if !whole || (after.is_some() && protocol.is_none()) {
        return None;
    }
    let of_ss = rest.iter().find_map(|word| ss_program(word));
    let of_netstat = rest.iter().find_map(|word| netstat_program(word));
    let form = match (before, after) {
        (Some(_), _) => Some(Form::Ss),
        (_, Some(_)) => Some(Form::Netstat),
        _ if of_ss.is_some() || protocol != Some(Protocol::Udp) => Some(Form::Ss),
        _ => of_netstat.is_some().then_some(Form::Netstat),
    };
    let (state, program) = (before.or(after), of_ss.or(of_netstat));
    Some(SocketRow { protocol, state, form, queues, ends: (*local, *remote), program })
}

/// `users:(("java",pid=1,fd=5))`, or before iproute2 4 `users:(("java",1,5))`, as `1/java`.
fn ss_program(word: &str) -> Option<String> {
    let (name, rest) = word.strip_prefix("users:((\"")?.split_once("\",")?;
    let pid = rest.strip_prefix("pid=").unwrap_or(rest).split(',').next()?;
    count(pid).map(|pid| format!("{pid}/{name}"))
}

/// `1/java`; `811/nginx:` of a program that shows what it does.
fn netstat_program(word: &str) -> Option<String> {
    let (pid, name) = word.split_once('/')?;
    let named = count(pid).is_some() && !name.is_empty();
    named.then(|| word.trim_end_matches(':').to_owned())
}

/// A socket of the UNIX domain that waits for connections, in `ss -x`: `u_str LISTEN 4 511
/// /run/fpm.sock 23392 * 0 users:(...)`, where a path has its inode in place of a port.
fn unix_listener<'a>(words: &[&'a str], asked: Option<SocketState>) -> Option<SocketRow<'a>> {
    let [kind, rest @ ..] = words else { return None };
    let before = rest.first().and_then(|word| state(word));
    let [received, sent, path, inode, rest @ ..] = rest.get(usize::from(before.is_some())..)?
    else {
        return None;
    };
    count(inode)?;
    let listens = before.or(asked) == Some(SocketState::Listen);
    (matches!(*kind, "u_str" | "u_seq") && listens).then_some(SocketRow {
        protocol: Some(Protocol::Unix),
        state: Some(SocketState::Listen),
        form: Some(Form::Ss),
        queues: (count(received)?, count(sent)?),
        ends: (*path, "*"),
        program: rest.iter().find_map(|word| ss_program(word)),
    })
}

/// Rows about sockets that are not TCP or UDP.
fn passed_over(words: &[&str]) -> bool {
    const KINDS: [&str; 13] = [
        "unix", "raw", "raw6", "u_str", "u_dgr", "u_seq", "nl", "p_raw", "p_dgr", "v_str", "icmp6",
        "sctp", "mptcp",
    ];
    words.len() >= 4 && words.first().is_some_and(|word| KINDS.contains(word))
}

/// Whose heading it is.
fn heading(words: &[&str]) -> Option<Form> {
    let titles: [&[&str]; 4] = [
        &["Active", "Internet", "connections"],
        &["Active", "UNIX", "domain", "sockets"],
        &["Proto", "Recv-Q", "Send-Q"],
        &["Proto", "RefCnt", "Flags"],
    ];
    if titles.iter().any(|title| words.starts_with(title)) {
        return Some(Form::Netstat);
    }
    let queues = words.iter().take(3).any(|word| *word == "Recv-Q");
    (queues && words.iter().any(|word| word.contains("Address:Port"))).then_some(Form::Ss)
}

/// What was typed, as far as it says what all rows have in common.
#[derive(Default)]
struct Asked {
    form: Option<Form>,
    protocol: Option<Protocol>,
    state: Option<SocketState>,
}

impl Asked {
    fn of(command: &str) -> Self {
        let mut words = command.split(['|', ';', '&']).next().unwrap_or("").split_whitespace();
        let form = words.find_map(|word| match word.rsplit('/').next() {
            Some("ss") => Some(Form::Ss),
            Some("netstat") => Some(Form::Netstat),
            _ => None,
        });
        let (mut asked, mut tcp, mut udp) = (Self { form, ..Self::default() }, false, false);
        while let Some(word) = words.next().filter(|_| form.is_some()) {
            let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            tcp |= word == "--tcp" || letters.is_some_and(|all| all.contains('t'));
            udp |= word == "--udp" || letters.is_some_and(|all| all.contains('u'));
            if word == "state" {
                asked.state = words.next().and_then(|name| state(&name.to_ascii_uppercase()));
            }
        }
        asked.protocol = match (tcp, udp) {
            (true, false) => Some(Protocol::Tcp),
            (false, true) => Some(Protocol::Udp),
            _ => None,
        };
        asked
    }
}

/// Begins at a heading, or at a row of a listing whose heading was cut off.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let words = words(lines.ahead(0));
    let asked = Asked::of(out.latest_command());
    let headed = heading(&words);
    let form = match headed {
        Some(form) => form,
        None => {
            let row = row(&words).or_else(|| unix_listener(&words, asked.state))?;
            // Two numbers and two addresses alone may be anything.
            if row.protocol.is_none() && row.state.is_none() && asked.form != Some(Form::Ss) {
                return None;
            }
            row.form.or(asked.form).unwrap_or(Form::Netstat)
        }
    };
    let kind = if form == Form::Ss { SourceKind::Ss } else { SourceKind::Netstat };
    Some(lines.begin(kind, Sockets { form, asked, rows: false }, out))
}

struct Sockets {
    form: Form,
    asked: Asked,
    /// Whether a row came, so that indented lines are its details (`ss -i`).
    rows: bool,
}

impl Sockets {
    fn put(&self, row: &SocketRow<'_>, out: &mut Builder) {
        // Without a state only UDP is unconnected.
        let udp = row.protocol.or(self.asked.protocol) == Some(Protocol::Udp);
        let without = udp.then(|| match row.ends.1.ends_with(":*") {
            true => SocketState::Unconnected,
            false => SocketState::Established,
        });
        let state = row.state.or(self.asked.state).or(without).unwrap_or(SocketState::Other);
        let by_state = match state {
            SocketState::Established | SocketState::Other => None,
            SocketState::Unconnected => Some(Protocol::Udp),
            _ => Some(Protocol::Tcp),
        };
        let protocol = row.protocol.or(self.asked.protocol).or(by_state);
        if state == SocketState::Listen && row.queues.0 > 0 {
            let subject = Subject::Named(row.ends.0.to_owned());
            #[expect(clippy::cast_precision_loss, reason = "numbers of connections")]
            out.put(Field::AcceptWaiting, &subject, None, row.queues.0 as f64);
        }
        out.socket((protocol, state), row.queues, row.ends, row.program.as_deref());
    }
}

impl Reader for Sockets {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        let unix = || unix_listener(&words, self.asked.state);
        if let Some(row) = row(&words).or_else(unix) {
            if row.form.is_some_and(|form| form != self.form) {
                return Taken::No;
            }
            self.rows = true;
            self.put(&row, out);
            return Taken::Yes;
        }
        let head = heading(&words);
        let detail = self.form == Form::Ss && self.rows && line.starts_with(char::is_whitespace);
        let first = words.first().copied().unwrap_or("");
        let torn = protocol(first).is_some() || self.form == Form::Ss && state(first).is_some();
        let like_row = |word: &&str| count(word).is_some() || word.contains(':');
        let torn = torn && words.iter().skip(1).take(5).filter(|word| like_row(word)).count() >= 2;
        if torn && !detail {
            out.problem("no row of two queues and two addresses: left out");
            return Taken::Yes;
        }
        let mine = head == Some(self.form) || detail || elided(line) || passed_over(&words);
        if mine || words.is_empty() { Taken::Yes } else { Taken::No }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read};
    use super::*;
    use crate::recording::Socket;

    const TCP: Option<Protocol> = Some(Protocol::Tcp);
    const UDP: Option<Protocol> = Some(Protocol::Udp);

    fn sockets(text: &str) -> Vec<Socket> {
        let recording = read(text);
        all_understood(&recording);
        recording.hosts.into_iter().flat_map(|host| host.sockets).collect()
    }

    #[test]
    fn rows_without_a_heading_say_whose_they_are() {
        use SocketState::{CloseWait, Established, Listen, SynReceived, TimeWait, Unconnected};
        for (line, protocol, state, program) in [
            (
                "tcp   9310  0 10.1.0.4:9000 10.1.0.77:51512 ESTABLISHED 77/node",
                TCP,
                Established,
                Some("77/node"),
            ),
            ("tcp6  0 0 :::9000  :::*  LISTEN  77/node", TCP, Listen, Some("77/node")),
            ("tcp  0 0 10.1.0.4:443 203.0.113.9:5100 SYN_RECV -", TCP, SynReceived, None),
            ("tcp 1 0 10.1.0.4:443 203.0.113.9:5101 CLOSE_WAIT 5/a", TCP, CloseWait, Some("5/a")),
            (
                "udp  81920  0 0.0.0.0:514 0.0.0.0:*  401/rsyslogd",
                UDP,
                Unconnected,
                Some("401/rsyslogd"),
            ),
            ("udp  81920  0 0.0.0.0:514 0.0.0.0:*", UDP, Unconnected, None),
            (
                "UNCONN 81920 0 *:514 *:* users:((\"rsyslogd\",pid=401,fd=3))",
                UDP,
                Unconnected,
                Some("401/rsyslogd"),
            ),
            ("LISTEN 65 64 [::]:6543 [::]:*", TCP, Listen, None),
            ("tcp TIME-WAIT 0 0 10.1.0.4:443 203.0.113.9:5101", TCP, TimeWait, None),
        ] {
            let found = &sockets(&format!("{line}\n"))[0];
            assert_eq!((found.protocol, found.state), (protocol, state), "{line}");
            assert_eq!(found.program.as_deref(), program, "{line}");
        }
        for line in ["5 9 a:1 b:2", "ESTAB 0 0 a:1 b:2 ESTABLISHED", "0 0 10.1.0.4:443"] {
            assert!(read(&format!("{line}\n")).sources.is_empty(), "{line}");
        }
    }

    #[test]
    fn what_was_typed_says_what_rows_leave_out() {
        let filtered = "Recv-Q Send-Q Local Address:Port Peer Address:Port\n\
                        31   0   10.1.0.4:443   203.0.113.9:5101\n";
        for (command, protocol, state) in [
            ("$ ss -tn state close-wait\n", TCP, SocketState::CloseWait),
            ("$ sudo ss -tn state established | head\n", TCP, SocketState::Established),
            ("$ ss -n\n", None, SocketState::Other),
            ("", None, SocketState::Other),
        ] {
            let found = &sockets(&format!("{command}{filtered}"))[0];
            assert_eq!((found.protocol, found.state), (protocol, state), "{command}");
        }
        let headless = "$ ss -tn state close-wait | tail -1\n0 0 10.1.0.4:443 203.0.113.9:5101\n";
        assert_eq!(sockets(headless)[0].state, SocketState::CloseWait);
    }

    #[test]
    fn listeners_of_the_unix_domain_have_queues() {
        let head = "Netid State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n";
        let row = "4 511 /run/fpm.sock 2339246 * 0 users:((\"php-fpm8.2\",pid=7,fd=9))\n";
        for text in [
            format!("{head}u_str LISTEN {row}u_str ESTAB 0 0 /run/fpm.sock 5 * 6\n"),
            format!("u_seq LISTEN {row}"),
            format!("$ ss -x state listening\nu_str {row}"),
        ] {
            let found = sockets(&text);
            let [one] = &found[..] else { panic!("{text}: {found:?}") };
            assert_eq!((one.protocol, one.state), (Some(Protocol::Unix), SocketState::Listen));
            assert_eq!((one.receive_queue, one.send_queue), (4, 511));
            assert_eq!(one.local, "/run/fpm.sock");
            assert_eq!(one.program.as_deref(), Some("7/php-fpm8.2"));
        }
        assert!(read("u_str LISTEN 4 511 words\n").sources.is_empty());
    }

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
        use SocketState::{CloseWait, Established, Listen, Unconnected};
        assert_eq!(states, [Established, Established, Listen, Unconnected, CloseWait]);
        assert_eq!((sockets[2].protocol, sockets[3].protocol), (TCP, UDP));
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
