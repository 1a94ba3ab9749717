//! `ethtool INTERFACE`: speed and duplex of a link; `ethtool -S`: packets that its card lost.

use super::prelude::*;
use std::collections::BTreeMap;

/// Bytes a second of a megabit.
const MEGABIT_BYTES: f64 = 125_000.0;

struct Ethtool {
    interface: String,
    speed_bytes: Option<f64>,
    down: bool,
}

/// `Settings for eth0:`.
fn interface(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("Settings for ")?.strip_suffix(':')?;
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

/// The setting that says whether a link goes one way at a time.
pub(crate) fn duplex_setting(interface: &str) -> String {
    format!("duplex of {interface}")
}

/// The interface of `ethtool eth0 | grep Speed`, whose heading `grep` leaves out.
fn of_command<'a>(command: &'a str, line: &str) -> Option<&'a str> {
    let own = ["Speed:", "Duplex:", "Link detected:", "Auto-negotiation:", "Port:"];
    let ours = own.iter().any(|name| line.trim_start().starts_with(name));
    let mut words = command.split(['|', ';', '&']).next()?.split_whitespace();
    let tool = words.next().filter(|_| ours)?;
    let name = words.next().filter(|name| !name.starts_with('-'))?;
    (tool == "ethtool" || tool.ends_with("/ethtool")).then_some(name)
}

/// Counts of packets that found no place in the ring, as the drivers of most cards call them
/// (`Documentation/networking/statistics.rst` of Linux 6.18 and the drivers' own names).
const MISSED: [&str; 7] = [
    "rx_missed_errors",
    "rx_missed",
    "rx_fifo_errors",
    "rx_no_buffer_count",
    "rx_out_of_buffer",
    "rx_discards_phy",
    "port.rx_dropped",
];

/// Counts of damaged packets.
const DAMAGED: [&str; 4] =
    ["rx_crc_errors", "rx_crc_errors_phy", "rx_fcs_errors", "rx_frame_errors"];

/// The interface whose counts a command asks for: `ethtool -S eth0`.
fn counted_by(command: &str) -> Option<&str> {
    let (_, rest) = command.split_once("ethtool ")?;
    let mut words = rest.split(['|', ';', '&']).next()?.split_whitespace();
    let option = words.next()?;
    matches!(option, "-S" | "--statistics").then(|| words.next())?
}

/// `     rx_missed_errors: 88421`.
fn counter(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.trim().split_once(':')?;
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]() ".contains(&byte);
    let name = name.trim();
    (!name.is_empty() && name.bytes().all(usual)).then_some(())?;
    Some((name, count(value.trim())?))
}

/// What else all cards count.
const COUNTED: [(&str, Field); 4] = [
    ("rx_packets", Field::NetRxPacketCount),
    ("tx_packets", Field::NetTxPacketCount),
    ("rx_bytes", Field::NetRxTotal),
    ("tx_bytes", Field::NetTxTotal),
];

/// Counts of one interface. A card may have several names for the same loss, each with some of it
/// or all: the highest count is surely lost.
pub(super) struct Tally {
    interface: Subject,
    highest: BTreeMap<Field, f64>,
}

impl Tally {
    pub(super) fn new(interface: &str) -> Self {
        let interface = Subject::Interface(interface.to_owned());
        Self { interface, highest: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, field: Field, count: f64) {
        let highest = self.highest.entry(field).or_default();
        *highest = highest.max(count);
    }

    /// One look at the counts is complete.
    pub(super) fn put(&mut self, out: &mut Builder) {
        for (field, count) in std::mem::take(&mut self.highest) {
            out.put(field, &self.interface, None, count);
        }
    }
}

struct Statistics(Tally);

impl Reader for Statistics {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim() == "NIC statistics:" {
            self.0.put(out);
            return Taken::Yes;
        }
        let Some((name, value)) = counter(line) else { return Taken::No };
        let other = COUNTED.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
        let damaged = DAMAGED.contains(&name).then_some(Field::NetErrorCount);
        let missed = MISSED.contains(&name).then_some(Field::NetMissedCount);
        if let Some(field) = other.or(damaged).or(missed) {
            self.0.add(field, value as f64);
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.0.put(out);
    }
}

pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let (line, command) = (lines.ahead(0), out.latest_command().to_owned());
    let asked = counted_by(&command).filter(|_| counter(line).is_some());
    let headed = line.trim() == "NIC statistics:" && counter(lines.ahead(1)).is_some();
    if headed || asked.is_some() {
        let name = counted_by(&command).unwrap_or("an interface");
        return Some(lines.resume(SourceKind::Ethtool, Statistics(Tally::new(name)), out));
    }
    let name = interface(line).or_else(|| of_command(&command, line))?;
    Some(lines.begin(
        SourceKind::Ethtool,
        Ethtool { interface: name.to_owned(), speed_bytes: None, down: false },
        out,
    ))
}

impl Reader for Ethtool {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if interface(line) == Some(&self.interface) {
            return Taken::Yes;
        }
        // Its lines are set in, unless somebody cut that off; lists continue without a colon.
        let cut = of_command("ethtool x", line).is_some();
        if !(cut || line.starts_with(char::is_whitespace)) || line.trim().is_empty() {
            return Taken::No;
        }
        let Some((name, value)) = line.split_once(':') else { return Taken::Yes };
        match (name.trim(), value.trim()) {
            ("Speed", value) => {
                let speed = number_and_unit(value).filter(|(_, unit)| *unit == "Mb/s");
                self.speed_bytes = speed.map(|(speed, _)| speed * MEGABIT_BYTES);
            }
            ("Duplex", value @ ("Half" | "Full")) => {
                out.setting(&duplex_setting(&self.interface), value);
            }
            ("Link detected", value) => self.down = value.starts_with("no"),
            _ => {}
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        if let Some(speed) = self.speed_bytes.filter(|speed| *speed > 0.0 && !self.down) {
            let subject = Subject::Interface(self.interface.clone());
            out.put(Field::NetSpeed, &subject, None, speed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    fn speed(speed: &str, detected: &str) -> Vec<f64> {
        let modes =
            "\tSupported link modes:   10baseT/Half 10baseT/Full\n\t        1000baseT/Full\n";
        let rest = format!("\tSpeed: {speed}\n\tDuplex: Half\n\tLink detected: {detected}\n");
        let recording = read(&format!("Settings for eth0:\n{modes}{rest}"));
        all_understood(&recording);
        let host = recording.hosts.first().expect("a machine");
        assert_eq!(host.settings[&duplex_setting("eth0")].text, "Half");
        values(&recording, Field::NetSpeed, &Subject::Interface("eth0".to_owned()))
    }

    #[test]
    fn packets_that_a_card_lost() {
        let look = |missed: u32| {
            format!(
                "NIC statistics:\n     rx_packets: 9\n     \
                                          rx_missed_errors: {missed}\n"
            )
        };
        let stat = "ethtool -S eth0";
        let text = format!("# {stat}; sleep 10; {stat}\n{}{}", look(100), look(5100));
        let recording = read(&text);
        all_understood(&recording);
        let eth0 = Subject::Interface("eth0".to_owned());
        assert_eq!(values(&recording, Field::NetMissedCount, &eth0), [100.0, 5100.0]);
        assert_eq!(values(&recording, Field::NetRxFifo, &eth0), [500.0]);
    }

    #[test]
    fn two_counts_of_the_same_loss_are_no_series() {
        let look = |dropped: u32, missed: u32| {
            format!(
                "NIC statistics:\n     rx_packets: 9\n     rx_out_of_buffer: {dropped}\n     \
                 rx_discards_phy: {missed}\n"
            )
        };
        let stat = "ethtool -S ens3";
        let text = format!("# {stat}; sleep 10; {stat}\n{}{}", look(2000, 70), look(42_000, 4070));
        let ens3 = Subject::Interface("ens3".to_owned());
        assert_eq!(values(&read(&text), Field::NetRxFifo, &ens3), [4000.0]);
        let unnamed = read(&look(2000, 70));
        let unknown = Subject::Interface("an interface".to_owned());
        assert_eq!(values(&unnamed, Field::NetMissedCount, &unknown), [2000.0]);
        assert_eq!(values(&unnamed, Field::NetRxPacketCount, &unknown), [9.0]);
    }

    #[test]
    fn a_command_names_the_interface_that_grep_leaves_out() {
        let eno1 = Subject::Interface("eno1".to_owned());
        for line in ["\tSpeed: 1000Mb/s", "Speed: 1000Mb/s"] {
            let recording = read(&format!("med-2:~# sudo ethtool eno1 | grep -E Speed\n{line}\n"));
            all_understood(&recording);
            assert_eq!(values(&recording, Field::NetSpeed, &eno1), [125e6]);
        }
        assert!(read("med-2:~# ethtool -i eno1\n\tSpeed: 1000Mb/s\n").sources.is_empty());
    }

    #[test]
    fn a_link_has_a_speed_only_if_it_is_up_and_known() {
        assert_eq!(speed("1000Mb/s", "yes"), [125e6]);
        assert_eq!(speed("Unknown!", "yes"), [0.0; 0]);
        assert_eq!(speed("1000Mb/s", "no"), [0.0; 0]);
    }
}
