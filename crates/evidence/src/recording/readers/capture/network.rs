//! Interfaces, receiving by CPU, TCP and its sockets.

use super::files::Files;
use super::previous::Now;
use crate::recording::{Field, SocketState, Subject};
use hugewise_base::parse::tcp_table::{self, Row};
use hugewise_base::parse::{decimal, net_dev, snmp, softnet};
use std::collections::BTreeMap;

/// Links are given in millions of bits a second; this makes them bytes.
const MEGABIT_BYTES: f64 = 125_000.0;

/// What drivers say who do not know the link's speed: -1 as unsigned 16 and 32 bits.
const UNKNOWN_SPEEDS: [u64; 3] = [0, 0xffff, 0xffff_ffff];

const TCP: [(&str, &str, &str, Field); 6] = [
    ("/proc/net/snmp", "Tcp", "OutSegs", Field::TcpOutSegments),
    ("/proc/net/snmp", "Tcp", "InSegs", Field::TcpInSegments),
    ("/proc/net/snmp", "Tcp", "RetransSegs", Field::TcpRetransmits),
    ("/proc/net/snmp", "Tcp", "PassiveOpens", Field::TcpPassiveOpens),
    ("/proc/net/snmp", "Tcp", "ActiveOpens", Field::TcpActiveOpens),
    ("/proc/net/netstat", "TcpExt", "ListenOverflows", Field::TcpListenOverflows),
];

pub(super) fn read(files: &mut Files<'_>, now: &mut Now<'_>) {
    interfaces(files, now);
    for cpu in files.lines("/proc/net/softnet_stat", softnet::parse).unwrap_or_default() {
        let subject = Subject::Cpu(cpu.cpu);
        now.rate(Field::SoftnetPackets, &subject, Some(cpu.packets.into()), 1.0);
        now.rate(Field::SoftnetDropped, &subject, Some(cpu.dropped.into()), 1.0);
        now.rate(Field::SoftnetSqueezed, &subject, Some(cpu.squeezed.into()), 1.0);
    }
    let [snmp, netstat] = ["/proc/net/snmp", "/proc/net/netstat"]
        .map(|path| files.lines(path, snmp::parse).unwrap_or_default());
    for (path, protocol, name, field) in TCP {
        let from = if path == "/proc/net/snmp" { &snmp } else { &netstat };
        now.rate(field, &Subject::Machine, from.get(protocol, name), 1.0);
    }
}

fn interfaces(files: &mut Files<'_>, now: &mut Now<'_>) {
    for interface in files.lines("/proc/net/dev", net_dev::parse).unwrap_or_default() {
        let subject = Subject::Interface(interface.name.clone());
        let speed = speed(files, &interface.name);
        if let Some(speed) = speed {
            now.state(Field::NetSpeed, &subject, speed);
            busy(files, now, &interface, speed);
        }
        let errors = interface.rx_errors.saturating_add(interface.tx_errors);
        for (field, count) in [
            (Field::NetRxPackets, interface.rx_packets),
            (Field::NetTxPackets, interface.tx_packets),
            (Field::NetRxBytes, interface.rx_bytes),
            (Field::NetTxBytes, interface.tx_bytes),
            (Field::NetErrors, errors),
            (Field::NetRxDrops, interface.rx_drops),
            (Field::NetTxDrops, interface.tx_drops),
        ] {
            now.rate(field, &subject, Some(count), 1.0);
        }
    }
}

/// Bytes a second; `None` where the link is down or its driver does not know.
fn speed(files: &Files<'_>, name: &str) -> Option<f64> {
    if files.text(&format!("/sys/class/net/{name}/operstate")).trim() == "down" {
        return None;
    }
    let speed: u64 = decimal(files.text(&format!("/sys/class/net/{name}/speed")).trim())?;
    (!UNKNOWN_SPEEDS.contains(&speed)).then_some(speed as f64 * MEGABIT_BYTES)
}

/// Use of the link, as `sar` computes it: the fuller direction where both have the whole speed.
fn busy(files: &Files<'_>, now: &mut Now<'_>, interface: &net_dev::Interface, speed: f64) {
    let name = &interface.name;
    let subject = Subject::Interface(name.clone());
    let before = |field| now.before.plain(field, &subject);
    let (Some(rx), Some(tx)) = (before(Field::NetRxBytes), before(Field::NetTxBytes)) else {
        return;
    };
    let grown = (interface.rx_bytes.checked_sub(rx), interface.tx_bytes.checked_sub(tx));
    let ((Some(rx), Some(tx)), Some(passed)) = (grown, now.passed_s) else { return };
    let half = files.text(&format!("/sys/class/net/{name}/duplex")).trim() == "half";
    let bytes = if half { rx as f64 + tx as f64 } else { rx.max(tx) as f64 };
    now.state(Field::NetBusy, &subject, (bytes / passed / speed * 100.0).min(100.0));
}

/// Sockets that listen or have bytes in a queue. `None` for a sample without tables: they cost
/// more than all else, so not every sample has them.
pub(super) fn sockets(files: &mut Files<'_>) -> Option<Vec<Row>> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    tables.iter().find_map(|path| files.bytes(path))?;
    let rows = tables.into_iter().filter_map(|path| files.lines(path, tcp_table::parse));
    let waits =
        |row: &Row| row.state == tcp_table::LISTEN || row.send_queue > 0 || row.receive_queue > 0;
    Some(rows.flatten().filter(waits).collect())
}

/// Listening sockets with connections that wait to be accepted, and how many.
pub(super) fn waiting(sockets: &[Row]) -> BTreeMap<&str, u64> {
    let listening = sockets.iter().filter(|row| row.state == tcp_table::LISTEN);
    let waiting = listening.filter(|row| row.receive_queue > 0);
    waiting.map(|row| (row.local.as_str(), row.receive_queue)).collect()
}

pub(super) const fn state(row: &Row) -> SocketState {
    match row.state {
        tcp_table::ESTABLISHED => SocketState::Established,
        tcp_table::CLOSE_WAIT => SocketState::CloseWait,
        tcp_table::LISTEN => SocketState::Listen,
        _ => SocketState::Other,
    }
}
