//! Counts of interfaces as `ip -s link`, `ip -s -s link` and `ifconfig`, old and new, print them
//! since boot: ip-link(8), ifconfig(8).

use super::ethtool::Tally;
use super::prelude::*;

/// A direction, a name and what it counts. What finds no place in the ring has several names.
const COUNTED: [(&str, &str, Field); 12] = [
    ("RX", "packets", Field::NetRxPacketCount),
    ("RX", "bytes", Field::NetRxTotal),
    ("RX", "errors", Field::NetErrorCount),
    ("RX", "dropped", Field::NetRxDropCount),
    ("RX", "missed", Field::NetMissedCount),
    ("RX", "overrun", Field::NetMissedCount),
    ("RX", "overruns", Field::NetMissedCount),
    ("RX", "fifo", Field::NetMissedCount),
    ("TX", "packets", Field::NetTxPacketCount),
    ("TX", "bytes", Field::NetTxTotal),
    ("TX", "dropped", Field::NetTxDropCount),
    ("TX", "carrier", Field::NetErrorCount),
];

/// `2: eth0@if3: <BROADCAST,UP> mtu 1500`, `eth0: flags=4163<UP> mtu 1500`,
/// `eth0      Link encap:Ethernet`.
fn interface(line: &str) -> Option<&str> {
    let words = words(line);
    let name = match words.as_slice() {
        [number, name, flags, ..] if flags.starts_with('<') => {
            count(number.strip_suffix(':')?).and(name.strip_suffix(':'))?
        }
        [name, flags, ..] if flags.starts_with("flags=") => name.strip_suffix(':')?,
        [name, "Link", encap, ..] if encap.starts_with("encap:") => name,
        _ => return None,
    };
    name.split('@').next().filter(|name| !name.is_empty())
}

/// The interface and the count of a file such as `/sys/class/net/eth0/statistics/rx_missed_errors`
/// (`Documentation/ABI/testing/sysfs-class-net-statistics`).
pub(super) fn statistic(path: &str) -> Option<(&str, Field)> {
    let (interface, name) = path.strip_prefix("/sys/class/net/")?.split_once("/statistics/")?;
    let field = match name {
        "rx_packets" => Field::NetRxPacketCount,
        "tx_packets" => Field::NetTxPacketCount,
        "rx_dropped" => Field::NetRxDropCount,
        "tx_dropped" => Field::NetTxDropCount,
        "rx_missed_errors" | "rx_fifo_errors" | "rx_over_errors" => Field::NetMissedCount,
        "rx_errors" | "tx_carrier_errors" => Field::NetErrorCount,
        _ => return None,
    };
    Some((interface, field))
}

/// The interface of a row that `grep` left of `ifconfig eth0`.
fn of_command<'a>(command: &'a str, line: &str) -> Option<&'a str> {
    let row = line.trim_start();
    let ours = ["RX packets", "TX packets"].iter().any(|start| row.starts_with(start));
    let mut words = command.split(['|', ';', '&']).next()?.split_whitespace();
    let tool = words.find(|word| *word != "sudo").filter(|_| ours)?;
    let name = words.find(|word| !word.starts_with('-'))?;
    (tool.rsplit('/').next() == Some("ifconfig")).then_some(name)
}

/// Begins at an interface.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let name = interface(line).or_else(|| of_command(out.latest_command(), line))?;
    let links = Links { tally: Tally::new(name), names: Vec::new(), direction: "" };
    Some(lines.resume(SourceKind::Interfaces, links, out))
}

struct Links {
    tally: Tally,
    /// The direction, and the columns whose values the next line has.
    direction: &'static str,
    names: Vec<String>,
}

/// How lines about an interface begin, where the blanks before them were lost.
const DETAILS: [&str; 8] =
    ["inet", "inet6", "ether", "loop", "link/ether", "link/loopback", "state", "collisions:0"];

/// `RX:`, `TX`, and what follows.
fn direction(word: &str) -> Option<&'static str> {
    match word.trim_end_matches(':') {
        "RX" => Some("RX"),
        "TX" => Some("TX"),
        _ => None,
    }
}

impl Links {
    fn add(&mut self, name: &str, value: &str) {
        let own = |(of, known, _): &&(&str, &str, Field)| *of == self.direction && *known == name;
        let field = COUNTED.iter().find(own).map(|(_, _, field)| *field);
        // `-h` shortens large numbers in steps of 1000.
        let value = number_and_unit(value).and_then(|(value, unit)| {
            let power = binary_factor(unit)?.log(1024.0).round();
            Some(value * 1000_f64.powf(power))
        });
        if let (Some(field), Some(value)) = (field, value) {
            self.tally.add(field, value);
        }
    }

    /// Names and values that follow each other: `packets 5 bytes 700`, `packets:5 errors:0`.
    fn pairs(&mut self, words: &[&str]) {
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if let Some(found) = direction(word) {
                self.direction = found;
            } else if let Some((name, value)) = word.split_once(':') {
                self.add(name, value);
            } else if let Some(value) = rest.clone().next().filter(|next| count(next).is_some()) {
                self.add(word, value);
                rest.next();
            }
        }
    }
}

impl Reader for Links {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(name) = interface(line) {
            self.tally.put(out);
            (self.tally, self.direction) = (Tally::new(name), "");
            return Taken::Yes;
        }
        let words = words(line);
        let Some(first) = words.first() else { return Taken::Yes };
        let detail = DETAILS.contains(first) || count(first).is_some() && !self.names.is_empty();
        let ours = line.starts_with(char::is_whitespace) || detail;
        if !ours && direction(first).is_none() {
            return Taken::No;
        }
        let names = std::mem::take(&mut self.names);
        let numbers = words.iter().all(|word| number_and_unit(word).is_some());
        match direction(first) {
            // The heading of the line below.
            Some(found) if !line.contains(|c: char| c.is_ascii_digit()) => {
                self.direction = found;
                let names = words.iter().skip(1).filter(|word| !word.ends_with(':'));
                self.names = names.map(|name| (*name).to_owned()).collect();
            }
            Some(_) => self.pairs(&words),
            None if numbers && !names.is_empty() => {
                for (name, value) in names.iter().zip(&words) {
                    self.add(name, value);
                }
            }
            None => {}
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.tally.put(out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn each_tool_counts_the_same() {
        let ip = "3: ens3@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP\n    \
                  link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n    \
                  RX: bytes  packets  errors  dropped missed  mcast   \n    \
                  9000000    8000     3       41      700     0       \n    \
                  TX: bytes  packets  errors  dropped carrier collsns \n    \
                  5000000    6000     0       9       0       0       \n";
        let twice =
            ip.replace("dropped missed ", "dropped overrun").replace("700  ", "0    ").replace(
                "    TX: bytes",
                "    RX errors: length   crc     frame   fifo    missed\n               \
             0        0       3       0       700     \n    TX: bytes",
            );
        let new = "ens3: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n        \
                   inet 192.0.2.12  netmask 255.255.255.0  broadcast 192.0.2.255\n        \
                   RX packets 8000  bytes 9000000 (8.5 MiB)\n        \
                   RX errors 3  dropped 41  overruns 700  frame 3\n        \
                   TX packets 6000  bytes 5000000 (4.7 MiB)\n        \
                   TX errors 0  dropped 9 overruns 0  carrier 0  collisions 0\n";
        let old = "ens3      Link encap:Ethernet  HWaddr 02:00:00:00:00:01  \n          \
                   UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1\n          \
                   RX packets:8000 errors:3 dropped:41 overruns:700 frame:3\n          \
                   TX packets:6000 errors:0 dropped:9 overruns:0 carrier:0\n          \
                   collisions:0 txqueuelen:1000 \n          \
                   RX bytes:9000000 (8.5 MiB)  TX bytes:5000000 (4.7 MiB)\n";
        let ens3 = Subject::Interface("ens3".to_owned());
        for text in [ip, &twice, new, old] {
            let recording = read(text);
            all_understood(&recording);
            for (field, value) in [
                (Field::NetRxPacketCount, 8000.0),
                (Field::NetRxTotal, 9e6),
                (Field::NetErrorCount, 3.0),
                (Field::NetRxDropCount, 41.0),
                (Field::NetMissedCount, 700.0),
                (Field::NetTxPacketCount, 6000.0),
                (Field::NetTxTotal, 5e6),
                (Field::NetTxDropCount, 9.0),
            ] {
                assert_eq!(values(&recording, field, &ens3), [value], "{field:?} {text}");
            }
        }
    }

    #[test]
    fn two_looks_give_rates() {
        let look = |dropped: u32| {
            format!(
                "2: eth1: <UP> mtu 1500\n    RX: bytes packets errors dropped missed mcast\n    \
                 0 0 0 {dropped} 0 0\n"
            )
        };
        let ip = "ip -s link show eth1";
        let recording = read(&format!("# {ip}; sleep 5; {ip}\n{}{}", look(100), look(600)));
        all_understood(&recording);
        let eth1 = Subject::Interface("eth1".to_owned());
        assert_eq!(values(&recording, Field::NetRxDrops, &eth1), [100.0]);
    }
}
