//! `/proc/net/snmp` and `/proc/net/netstat`: lines in pairs, names above numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{NAMES_MAX, ParseError, Parsed, decimal, numbered_lines};

/// Most protocols that are kept; the kernel has about 10.
const PROTOCOLS_MAX: usize = 64;

/// Counts since boot by protocol and name, such as `Tcp` and `RetransSegs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snmp(pub BTreeMap<String, BTreeMap<String, u64>>);

impl Snmp {
    /// One count; `None` when this kernel does not have it.
    pub fn get(&self, protocol: &str, name: &str) -> Option<u64> {
        self.0.get(protocol)?.get(name).copied()
    }
}

/// Reads either file. What is no unsigned number, such as `MaxConn -1`, is left out.
pub fn parse(text: &str) -> Parsed<Snmp> {
    let mut parsed = Parsed::<Snmp>::empty();
    let mut names: Option<(&str, Vec<&str>)> = None;
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let Some((protocol, rest)) = line.split_once(':') else {
            parsed.note(ParseError::new("snmp", number, line, "'PROTOCOL: names or numbers'"));
            names = None;
            continue;
        };
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let heading = names.take().filter(|(above, _)| *above == protocol);
        let Some((_, heading)) = heading else {
            names = Some((protocol, words));
            continue;
        };
        let room = parsed.value.0.len() < PROTOCOLS_MAX || parsed.value.0.contains_key(protocol);
        if heading.len() > NAMES_MAX || !room {
            let wanted = "no more than 64 protocols of 8192 names; the rest is left out";
            parsed.full("snmp", number, line, wanted);
        } else if heading.len() == words.len() {
            let counts = parsed.value.0.entry(protocol.to_owned()).or_default();
            let pairs = heading.iter().zip(words);
            let pairs = pairs.filter_map(|(name, word)| Some(((*name).to_owned(), decimal(word)?)));
            counts.extend(pairs.take(NAMES_MAX.saturating_sub(counts.len())));
        } else {
            parsed.note(ParseError::new("snmp", number, line, "a number for each name above"));
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pairs_of_lines() {
        let text = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: MaxConn InSegs RetransSegs\n\
                    Tcp: -1 70 8\nTcpExt: ListenOverflows\nTcpExt: 5\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.value.get("Tcp", "InSegs"), Some(70));
        assert_eq!(parsed.value.get("Tcp", "RetransSegs"), Some(8));
        assert_eq!(parsed.value.get("Tcp", "MaxConn"), None);
        assert_eq!(parsed.value.get("TcpExt", "ListenOverflows"), Some(5));
        assert_eq!(parse("Tcp: a b\nTcp: 1\nx\n").problems.len(), 2);
    }
}
