//! `/proc/net/dev` (proc_net(5), `net/core/net-procfs.c`).

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// What passed through one interface since it came up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Damaged packets received.
    pub rx_errors: u64,
    /// Received packets dropped.
    pub rx_drops: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets that could not be sent.
    pub tx_errors: u64,
    /// Packets dropped before sending.
    pub tx_drops: u64,
}

/// Reads the file. Its two title lines are passed over.
pub fn parse(text: &str) -> Parsed<Vec<Interface>> {
    let mut parsed = Parsed::<Vec<Interface>>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        if line.contains('|') {
            continue;
        }
        match interface(line) {
            Some(interface) => parsed.keep(interface, "net/dev", number, line),
            None => {
                let wanted = "'NAME:' and sixteen counts";
                parsed.note(ParseError::new("net/dev", number, line, wanted));
            }
        }
    }
    parsed
}

fn interface(line: &str) -> Option<Interface> {
    // An alias such as `eth0:1` has a colon of its own.
    let (name, counts) = line.rsplit_once(':')?;
    let name = name.trim();
    let counts: Vec<u64> = counts.split_ascii_whitespace().map(decimal).collect::<Option<_>>()?;
    let (received, sent) = counts.split_at_checked(8).filter(|(_, sent)| sent.len() == 8)?;
    let (&[rx_bytes, rx_packets, rx_errors, rx_drops], _) = received.split_first_chunk()?;
    let (&[tx_bytes, tx_packets, tx_errors, tx_drops], _) = sent.split_first_chunk()?;
    (!name.is_empty()).then(|| Interface {
        name: name.to_owned(),
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_drops,
        tx_bytes,
        tx_packets,
        tx_errors,
        tx_drops,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_interfaces() {
        let text = "Inter-|   Receive |  Transmit\n face |bytes    packets errs|bytes\n\
                    \x20   lo: 300 42 0 1 0 0 0 0 301 43 2 3 0 0 0 0\n\
                    eth0:71 2 5 6 0 0 0 0 11 7 0 0 0 0 0 0\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        let [lo, eth0] = &parsed.value[..] else { panic!("two interfaces") };
        assert_eq!((lo.rx_bytes, lo.rx_packets, lo.rx_drops, lo.tx_drops), (300, 42, 1, 3));
        assert_eq!((eth0.name.as_str(), eth0.rx_errors, eth0.tx_packets), ("eth0", 5, 7));
        assert_eq!(parse("eth0: 1 2 3\nx\n").problems.len(), 2);
    }
}
