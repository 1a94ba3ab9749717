//! `ss -s`, and connections by peer as `ss -tan | awk ... | sort | uniq -c` counts them.

use super::prelude::*;
use super::sockets;
use std::collections::BTreeMap;

/// `TCP:   58184 (estab 812, closed 57210, orphaned 2, timewait 57190)`; before iproute2 4.20
/// `timewait 57190/0), ports 0`.
fn summary(line: &str) -> Option<f64> {
    let rest = line.trim_start().strip_prefix("TCP:")?;
    let (_, rest) = rest.split_once("timewait ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    count(rest.get(..end)?).map(|count| count as f64)
}

/// `28211 10.0.4.9:6379` below a command that counts closed connections, or all of them.
fn by_peer<'a>(line: &'a str, command: &str) -> Option<(&'a str, f64)> {
    let lower = command.to_ascii_lowercase();
    let closed = ["time-wait", "time_wait", "timewait"].iter().any(|word| lower.contains(word));
    if !closed || !lower.contains("uniq -c") {
        return None;
    }
    let words = words(line);
    let [connections, peer] = words.as_slice() else { return None };
    let port = peer.rsplit_once(':').is_some_and(|(_, port)| count(port).is_some());
    // Without a port it is not one service that is called.
    port.then_some((*peer, count(connections)? as f64))
}

/// `57190 TIME-WAIT` below `ss -tan | awk '{print $1}' | sort | uniq -c`; a program, a protocol or
/// an address may stand beside the state.
fn by_state(line: &str) -> Option<(&str, f64)> {
    let words = words(line);
    let (connections, rest) =
        words.split_first().filter(|(_, rest)| (1..=3).contains(&rest.len()))?;
    let mut states = rest.iter().filter(|word| sockets::state(word).is_some());
    let (state, None) = (*states.next()?, states.next()) else { return None };
    // A word alone may be any; these are nothing else.
    let sure = state.contains(['-', '_']) || matches!(state, "ESTAB" | "ESTABLISHED" | "LISTEN");
    Some((state, count(connections)? as f64)).filter(|_| sure)
}

/// Begins at `Total:` above the summary, at its line about TCP, or at a count.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let total = line.trim_start().starts_with("Total:") && summary(lines.ahead(1)).is_some();
    let counts = by_peer(line, out.latest_command()).is_some() || by_state(line).is_some();
    (total || counts || summary(line).is_some())
        .then(|| lines.begin(SourceKind::Ss, Counts { blank: false, states: BTreeMap::new() }, out))
}

struct Counts {
    blank: bool,
    /// Connections by state, in netstat's spelling.
    states: BTreeMap<String, f64>,
}

impl Reader for Counts {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            // One stands between the summary and its table.
            return if std::mem::replace(&mut self.blank, true) { Taken::No } else { Taken::Yes };
        }
        if let Some(closed) = summary(line) {
            out.put(Field::TcpTimeWait, &Subject::Machine, None, closed);
            return Taken::Yes;
        }
        if let Some((state, connections)) = by_state(line) {
            let state = if state == "ESTAB" { "ESTABLISHED" } else { state };
            *self.states.entry(state.replace('-', "_")).or_default() += connections;
            return Taken::Yes;
        }
        if let Some((peer, closed)) = by_peer(line, out.latest_command()) {
            let flow = Subject::Flow { local: String::new(), remote: peer.to_owned() };
            out.put(Field::PeerTimeWait, &flow, None, closed);
            return Taken::Yes;
        }
        let words = words(line);
        let table = ["Total:", "Transport", "*", "RAW", "UDP", "TCP", "INET", "FRAG"];
        let mine = words.first().is_some_and(|word| table.contains(word));
        let state = words.len() == 2 && count(words[0]).is_some() && words[1].contains('-');
        let known = words.len() == 2
            && count(words[0]).is_some()
            && words[1].bytes().all(|byte| byte.is_ascii_uppercase() || b"-_12".contains(&byte));
        if mine || state || known { Taken::Yes } else { Taken::No }
    }

    fn end(&mut self, out: &mut Builder) {
        for (state, connections) in &self.states {
            out.put(Field::TcpInState, &Subject::Named(state.clone()), None, *connections);
        }
        let closed = self.states.get("TIME_WAIT").copied();
        out.put_known(Field::TcpTimeWait, &Subject::Machine, None, closed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    #[test]
    fn closed_connections_of_all_and_by_peer() {
        let recording = read(
            "fe-12:~$ ss -s\nTotal: 1230\n\
             TCP:   58184 (estab 812, closed 57210, orphaned 2, timewait 57190)\n\n\
             Transport Total     IP        IPv6\nRAW	  0         0         0\n\
             TCP	  994       980       14\n\n\
             fe-12:~$ ss -tan state time-wait | awk '{print $4}' | sort | uniq -c | sort -rn\n  \
             28211 10.0.4.9:6379\n    412 10.0.8.22:443\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::TcpTimeWait), [57_190.0]);
        let peer = Subject::Flow { local: String::new(), remote: "10.0.4.9:6379".to_owned() };
        assert_eq!(values(&recording, Field::PeerTimeWait, &peer), [28_211.0]);
    }

    #[test]
    fn connections_in_each_state() {
        let of = |text: &str, state: &str| {
            let recording = read(text);
            all_understood(&recording);
            values(&recording, Field::TcpInState, &Subject::Named(state.to_owned()))
        };
        let counts =
            "    412 CLOSE_WAIT\n     12 ESTABLISHED\n      1 established)\n      1 Foreign\n";
        assert_eq!(of(&counts[..counts.find("      1 est").unwrap_or(0)], "CLOSE_WAIT"), [412.0]);
        let programs = "  400 CLOSE-WAIT 812/gate\n   12 CLOSE-WAIT 813/gate\n    3 tcp SYN-RECV\n";
        assert_eq!(of(programs, "CLOSE_WAIT"), [412.0]);
        assert_eq!(of(programs, "SYN_RECV"), [3.0]);
        let counted = "$ ss -Htan state close-wait | wc -l\n412\n";
        assert_eq!(of(counted, "CLOSE_WAIT"), [412.0]);
        assert!(read("5 CLOSE\n").sources.is_empty());
    }

    #[test]
    fn the_older_form_and_other_counts() {
        let old = read(
            "Total: 1230 (kernel 1301)\n\
             TCP:   58184 (estab 812, closed 57210, orphaned 2, synrecv 0, timewait 57190/0), \
             ports 0\n",
        );
        all_understood(&old);
        assert_eq!(machine(&old, Field::TcpTimeWait), [57_190.0]);
        assert_eq!(
            machine(&read("  57190 TIME-WAIT\n    812 ESTAB\n"), Field::TcpTimeWait),
            [57_190.0]
        );
        assert!(read("28211 10.0.4.9:6379\n").hosts.is_empty());
    }
}
