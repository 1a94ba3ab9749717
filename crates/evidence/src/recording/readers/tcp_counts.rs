//! Counts of TCP and UDP since boot: `netstat -s`, `/proc/net/snmp`, `/proc/net/netstat`.

use super::prelude::*;

/// By section and name in `/proc/net/snmp` and `/proc/net/netstat`.
const FILE_KEYS: [(&str, &str, Field); 6] = [
    ("Tcp:", "OutSegs", Field::TcpOutSegmentCount),
    ("Tcp:", "RetransSegs", Field::TcpRetransmitCount),
    ("TcpExt:", "ListenOverflows", Field::TcpListenOverflowCount),
    ("Udp:", "InDatagrams", Field::UdpDatagramCount),
    ("Udp:", "InErrors", Field::UdpErrorCount),
    ("Udp:", "RcvbufErrors", Field::UdpBufferErrorCount),
];

/// By section and what follows the number in `netstat -s`; the odd words are net-tools' own.
const TEXT_KEYS: [(&str, &str, Field); 8] = [
    ("Tcp:", "segments sent out", Field::TcpOutSegmentCount),
    ("Tcp:", "segments send out", Field::TcpOutSegmentCount),
    ("Tcp:", "segments retransmitted", Field::TcpRetransmitCount),
    ("Tcp:", "segments retransmited", Field::TcpRetransmitCount),
    ("TcpExt:", "times the listen queue of a socket overflowed", Field::TcpListenOverflowCount),
    ("Udp:", "packets received", Field::UdpDatagramCount),
    ("Udp:", "packet receive errors", Field::UdpErrorCount),
    ("Udp:", "receive buffer errors", Field::UdpBufferErrorCount),
];

const SECTIONS: [&str; 11] = [
    "Ip:",
    "Ip6:",
    "Icmp:",
    "IcmpMsg:",
    "Tcp:",
    "Udp:",
    "UdpLite:",
    "TcpExt:",
    "IpExt:",
    "MPTcpExt:",
    "Icmp6:",
];

fn is_section(word: &str) -> bool {
    SECTIONS.contains(&word)
}

/// A line of `nstat`: name, count, and how much it grew by a second.
fn nstat(line: &str) -> Option<(&str, u64)> {
    let words = words(line);
    let [name, value, rate] = words.as_slice() else { return None };
    let named = ["Ip", "Tcp", "Udp", "Icmp", "MPTcp"].iter().any(|start| name.starts_with(start));
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let rated = rate.split_once('.').is_some();
    Some((*name, count(value)?)).filter(|_| named && plain && rated)
}

/// Lines of `nstat`, which tells how much counts grew since it ran last, unless it is asked for all
/// (`-a`).
struct Nstat {
    /// Whether it ran before, so that it tells what has come since.
    more: bool,
}

/// The commands of a line that run `nstat` for what has come since it ran last.
fn runs_for_growth(command: &str) -> usize {
    let runs = command.split([';', '&', '|']).map(str::split_whitespace);
    let grows = |mut words: std::str::SplitWhitespace<'_>| {
        let named = words.find(|word| !matches!(*word, "sudo" | "do")) == Some("nstat");
        named && !words.any(|word| word == "--all" || is_all(word))
    };
    runs.filter(|words| grows(words.clone())).count()
}

/// Whether it is an option such as `-az`.
fn is_all(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains('a')
}

impl Reader for Nstat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || line.trim() == "#kernel" {
            return Taken::Yes;
        }
        let Some((name, value)) = nstat(line) else { return Taken::No };
        let known = FILE_KEYS.iter().find(|(section, key, _)| {
            name.strip_prefix(section.trim_end_matches(':')).is_some_and(|rest| rest == *key)
        });
        if let Some((_, _, field)) = known {
            // Counts do not shrink.
            let less = out.counted(*field).is_some_and(|before| (value as f64) < before);
            if self.more || less {
                out.put_more(*field, &Subject::Machine, value as f64);
            } else {
                out.put(*field, &Subject::Machine, None, value as f64);
            }
        }
        Taken::Yes
    }
}

/// Begins at a section of `netstat -s` with an indented line below, or at a pair of lines of the
/// files: names, then values.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let (this, next) = (words(lines.ahead(0)), words(lines.ahead(1)));
    if nstat(lines.ahead(0)).is_some() || (this == ["#kernel"] && nstat(lines.ahead(1)).is_some()) {
        out.begin(SourceKind::TcpCounters, lines.number());
        let runs = runs_for_growth(out.latest_command());
        let before = FILE_KEYS.iter().any(|(_, _, field)| out.counted(*field).is_some());
        return Some(Box::new(Nstat { more: runs > 0 && (runs > 1 || before) }));
    }
    // Rows that `grep` left of `netstat -s`.
    if is_alone(&this) {
        return Some(lines.begin(SourceKind::Netstat, Text::default(), out));
    }
    let section = this.first().filter(|word| is_section(word))?;
    if this.len() == 1 {
        let indented = lines.ahead(1).starts_with(char::is_whitespace) && !next.is_empty();
        let empty = next.len() == 1 && is_section(next[0]);
        if !indented && !empty {
            return None;
        }
        return Some(lines.begin(SourceKind::Netstat, Text::default(), out));
    }
    if this.len() < 2 || next.first() != Some(section) {
        return None;
    }
    Some(lines.begin(SourceKind::TcpCounters, File::default(), out))
}

/// Whether it is a row of `netstat -s` that needs no heading.
fn is_alone(words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    // `ping` counts packets that it received as well.
    let known = |(_, text, field): &(&str, &str, Field)| {
        *field != Field::UdpDatagramCount && rest.join(" ") == *text
    };
    count(first).is_some() && TEXT_KEYS.iter().any(known)
}

#[derive(Default)]
struct Text {
    section: String,
}

impl Reader for Text {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        let Some(first) = words.first() else { return Taken::Yes };
        if words.len() == 1 && is_section(first) {
            (*first).clone_into(&mut self.section);
            return Taken::Yes;
        }
        if !line.starts_with(char::is_whitespace) && !is_alone(&words) {
            return Taken::No;
        }
        let rest = words.get(1..).unwrap_or_default().join(" ");
        let here = |section: &str| self.section.is_empty() || section == self.section;
        let known = |(section, text, _): &&(&str, &str, Field)| here(section) && *text == rest;
        if let Some((_, _, field)) = TEXT_KEYS.iter().find(known) {
            match count(first) {
                Some(value) => out.put(*field, &Subject::Machine, None, value as f64),
                None => out.problem("no whole number before a count: left out"),
            }
        }
        Taken::Yes
    }
}

#[derive(Default)]
struct File {
    /// Section and names of the line before, when values must follow.
    names: Option<Vec<String>>,
}

impl File {
    fn values(names: &[String], words: &[&str], out: &mut Builder) {
        // Newer kernels print more values than names for `Ip:`; of TCP each value has its name.
        for (name, value) in names.iter().zip(words).skip(1) {
            let section = names.first().map_or("", String::as_str);
            let known = FILE_KEYS.iter().find(|(of, key, _)| *of == section && key == name);
            let Some((_, _, field)) = known else { continue };
            if names.len() != words.len() {
                out.problem("not as many values as names: left out");
                return;
            }
            match count(value) {
                Some(value) => out.put(*field, &Subject::Machine, None, value as f64),
                None => out.problem("no whole number for a count: left out"),
            }
        }
    }
}

impl Reader for File {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        let Some(first) = words.first() else { return Taken::No };
        if !is_section(first) {
            return Taken::No;
        }
        match self.names.take() {
            Some(names) if names.first().is_some_and(|name| name == first) => {
                Self::values(&names, &words, out);
            }
            _ => self.names = Some(words.into_iter().map(str::to_owned).collect()),
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    #[test]
    fn netstat_s() {
        let recording = read(
            "Ip:\n    Forwarding: 2\n    1407464 total packets received\nTcp:\n    \
             1407464 segments received\n    1419840 segments sent out\n    \
             8 segments retransmitted\nUdp:\n    5 packets received\nTcpExt:\n    \
             13634 TCP sockets finished time wait in fast timer\n    \
             31 times the listen queue of a socket overflowed\n    TCPTimeouts: 2\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::TcpOutSegmentCount), [1_419_840.0]);
        assert_eq!(machine(&recording, Field::TcpRetransmitCount), [8.0]);
        assert_eq!(machine(&recording, Field::TcpListenOverflowCount), [31.0]);
    }

    #[test]
    fn nstat_with_zeros() {
        let recording = read(
            "#kernel\nIpInReceives                    477228             0.0\n\
             TcpOutSegs                      1419809            0.0\n\
             TcpRetransSegs                  8                  0.0\n\
             TcpExtListenOverflows           31                 0.0\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::TcpRetransmitCount), [8.0]);
        assert_eq!(machine(&recording, Field::TcpListenOverflowCount), [31.0]);
    }

    #[test]
    fn nstat_tells_what_has_come_since_it_ran_last() {
        let row = |value: u32| format!("#kernel\nTcpExtListenOverflows    {value}    0.0\n");
        let name = "nstat -z TcpExtListenOverflows";
        for (text, count, rate) in [
            (format!("$ {name}\n{}$ sleep 10; {name}\n{}", row(5000), row(40)), 5040.0, 4.0),
            (format!("$ nstat -n; sleep 10; nstat\n{}", row(40)), 40.0, 4.0),
            (
                format!("$ nstat -az\n{}$ sleep 10; nstat -az\n{}", row(5000), row(5040)),
                5040.0,
                4.0,
            ),
        ] {
            let recording = read(&text);
            all_understood(&recording);
            let all = &recording.hosts[0].series[&Field::TcpListenOverflowCount];
            let counts = all[&Subject::Machine].iter().flat_map(|series| &series.points);
            assert_eq!(counts.last().map(|point| point.value), Some(count), "{text}");
            assert_eq!(machine(&recording, Field::TcpListenOverflows), [rate], "{text}");
        }
    }

    #[test]
    fn rows_of_netstat_that_grep_left() {
        let recording = read(
            "$ netstat -s | grep -i listen\n    31 times the listen queue of a socket \
             overflowed\n    31 SYNs to LISTEN sockets dropped\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::TcpListenOverflowCount), [31.0]);
    }

    #[test]
    fn the_files() {
        let recording = read(
            "Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\nTcp: 1 -1 1407429 1419809 8\n\
             Udp: InDatagrams NoPorts\nUdp: 18 2\n\
             TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 4 4\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::TcpOutSegmentCount), [1_419_809.0]);
        assert_eq!(machine(&recording, Field::TcpRetransmitCount), [8.0]);
        assert_eq!(machine(&recording, Field::TcpListenOverflowCount), [4.0]);
        let torn = read("Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 1419809\n");
        assert_eq!(torn.problems.len(), 1);
        assert_eq!(machine(&torn, Field::TcpOutSegmentCount).len(), 0);
    }
}
