//! `/proc/net/tcp` and `/proc/net/tcp6` (`get_tcp4_sock` of `net/ipv4/tcp_ipv4.c`).
//!
//! Addresses are numbers in the machine's own byte order; those of little-endian machines are
//! read here.

use core::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// `TCP_ESTABLISHED` of `include/net/tcp_states.h`.
pub const ESTABLISHED: u8 = 0x01;
/// `TCP_CLOSE_WAIT`.
pub const CLOSE_WAIT: u8 = 0x08;
/// `TCP_LISTEN`.
pub const LISTEN: u8 = 0x0a;

/// Most sockets that are kept: as many as a recording takes.
pub const SOCKETS_MAX: usize = 500_000;

/// One socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// This machine's address and port, `127.0.0.1:22` or `[::1]:22`.
    pub local: String,
    /// The peer's.
    pub remote: String,
    /// Its state: a `TCP_*` number.
    pub state: u8,
    /// Bytes sent and not acknowledged.
    pub send_queue: u64,
    /// Bytes that arrived and were not read; of a listening socket, connections not accepted.
    pub receive_queue: u64,
    /// The socket's inode, by which descriptors of processes name it; `None` where the row shows
    /// none, or where nobody has it open.
    pub inode: Option<u64>,
}

/// Reads either file, under its line of column names.
pub fn parse(text: &str) -> Parsed<Vec<Row>> {
    let mut parsed = Parsed::<Vec<Row>>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        if line.trim_start().starts_with("sl ") {
            continue;
        }
        match row(line) {
            Some(row) if parsed.value.len() < SOCKETS_MAX => parsed.value.push(row),
            Some(_) => {
                let wanted = "no more than 500000 sockets; the rest is left out";
                parsed.full("net/tcp", number, line, wanted);
            }
            None => {
                let wanted = "a number, two addresses, a state and two queues";
                parsed.note(ParseError::new("net/tcp", number, line, wanted));
            }
        }
    }
    parsed
}

/// Owners of the sockets that listen on a port of this machine, whatever the address.
pub fn listeners(text: &str, port: u16) -> Vec<u32> {
    let owner = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, _, state, _, _, _, uid, ..] = words[..] else { return None };
        let (_, own) = local.split_once(':')?;
        let listens = hexadecimal(state)? == u32::from(LISTEN);
        (listens && hexadecimal(own)? == u32::from(port)).then(|| decimal(uid))?
    };
    text.lines().filter_map(owner).collect()
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split_ascii_whitespace();
    decimal::<u64>(words.next()?.strip_suffix(':')?)?;
    let (local, remote) = (end(words.next()?)?, end(words.next()?)?);
    let state = u8::try_from(hexadecimal(words.next()?)?).ok()?;
    let (send, receive) = words.next()?.split_once(':')?;
    // Behind its timer, its retransmissions, its user and its time-out.
    let inode = words.nth(4).and_then(decimal).filter(|inode| *inode > 0);
    Some(Row {
        local,
        remote,
        state,
        send_queue: hexadecimal(send)?.into(),
        receive_queue: hexadecimal(receive)?.into(),
        inode,
    })
}

/// Whether a line is worth keeping: a title, a listening socket, or one with bytes in a queue. The
/// others only say that a connection is idle, and a busy server has very many of them.
pub fn worth_keeping(line: &str) -> bool {
    let row = row(line);
    row.is_none_or(|r| r.state == LISTEN || r.send_queue > 0 || r.receive_queue > 0)
}

fn hexadecimal(word: &str) -> Option<u32> {
    let plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if plain { u32::from_str_radix(word, 16).ok() } else { None }
}

fn end(word: &str) -> Option<String> {
    let (address, port) = word.split_once(':')?;
    let port = u16::try_from(hexadecimal(port)?).ok()?;
    if address.len() == 8 {
        let address = Ipv4Addr::from(hexadecimal(address)?.to_le_bytes());
        return Some(format!("{address}:{port}"));
    }
    if address.len() != 32 {
        return None;
    }
    let mut bytes = [0; 16];
    for (index, four) in bytes.chunks_exact_mut(4).enumerate() {
        let part = address.get(index * 8..index * 8 + 8)?;
        four.copy_from_slice(&hexadecimal(part)?.to_le_bytes());
    }
    let address = Ipv6Addr::from(bytes);
    // A connection of version 4 on a socket of version 6 is still one of version 4.
    Some(match address.to_ipv4_mapped() {
        Some(address) => format!("{address}:{port}"),
        None => format!("[{address}]:{port}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1A0B 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 28 1
   1: 0200000A:0016 0300000A:C350 01 00000100:00000010 01:00000014 00000000     0        0 29 4
   2: 0200000A:0016 0300000A:C351 01 00000000:00000000 01:00000014 00000000     0        0 30 4
";
    const TEXT6: &str = "   0: 00000000000000000000000001000000:0016 \
        0000000000000000FFFF00000300000A:0050 08 00000000:00000001 00:00000000 00000000 0 0 1 1\n";

    #[test]
    fn reads_rows() {
        let parsed = parse(TEXT);
        assert_eq!(parsed.problems, []);
        let [listen, busy, _] = &parsed.value[..] else { panic!("three rows") };
        assert_eq!((listen.local.as_str(), listen.state), ("127.0.0.1:6667", LISTEN));
        assert_eq!((listen.inode, busy.inode), (Some(28), Some(29)));
        assert_eq!(listen.receive_queue, 3);
        assert_eq!((busy.local.as_str(), busy.remote.as_str()), ("10.0.0.2:22", "10.0.0.3:50000"));
        assert_eq!((busy.send_queue, busy.receive_queue), (256, 16));
        let six = parse(TEXT6).value;
        assert_eq!((six[0].local.as_str(), six[0].remote.as_str()), ("[::1]:22", "10.0.0.3:80"));
        assert_eq!(six[0].state, CLOSE_WAIT);
    }

    #[test]
    fn owners_of_listening_sockets_are_found() {
        assert_eq!(listeners(TEXT, 6667), [0]);
        assert_eq!(
            listeners(&TEXT.replace(" 0        0 28", " 1900000007 0 28"), 6667),
            [1900000007]
        );
        // A connection is no listener, and another port another server.
        assert_eq!((listeners(TEXT, 22), listeners(TEXT, 6668)), (vec![], vec![]));
    }

    #[test]
    fn idle_connections_are_not_worth_keeping() {
        let kept: Vec<bool> = TEXT.lines().map(worth_keeping).collect();
        assert_eq!(kept, [true, true, true, false]);
        assert!(worth_keeping("something new"));
    }

    #[test]
    fn odd_lines_are_told() {
        let text = "0: 0100007F:1A0B\nx: 0100007F:1A0B 0:0 0A 0:0\n0: 010000é7F:1 0:0 0A 0:0\n";
        assert_eq!(parse(text).problems.len(), 3);
    }
}
