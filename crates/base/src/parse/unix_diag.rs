//! Sockets of the UNIX domain that listen, as the kernel's socket monitor tells them
//! (`sock_diag(7)`): `/proc/net/unix` has no queues.

/// Connections that one listening socket has not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The socket's inode, by which descriptors of processes name it.
    pub inode: u64,
    /// Its path; of an abstract one its name behind `@`. Never with control characters.
    pub name: String,
    /// Connections that wait to be accepted.
    pub waiting: u32,
    /// The most that may wait: what its program asked for, within `net.core.somaxconn`.
    pub most: u32,
}

/// What one datagram of an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The sockets in it.
    pub listeners: Vec<Listener>,
    /// Whether it was the last datagram: it says so, or that the kernel refuses.
    pub ended: bool,
}

// include/uapi/linux/netlink.h, sock_diag.h, unix_diag.h; include/net/tcp_states.h.
const HEADER_BYTES: usize = 16;
const ROW_BYTES: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const AF_UNIX: u8 = 1;
const LISTEN: u32 = 1 << 10;
const UDIAG_SHOW_NAME: u32 = 1;
const UDIAG_SHOW_RQLEN: u32 = 0x10;
const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_RQLEN: u16 = 4;

/// The question for all sockets that listen, with their names and queues.
pub fn request() -> Vec<u8> {
    let mut body = vec![AF_UNIX, 0, 0, 0];
    for word in [LISTEN, 0, UDIAG_SHOW_NAME | UDIAG_SHOW_RQLEN, 0, 0] {
        body.extend(word.to_ne_bytes());
    }
    let mut out = Vec::new();
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    out.extend(length.to_ne_bytes());
    out.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    out.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    // A number of ours and one of the receiver's, which the kernel fills in.
    out.extend([0; 8]);
    out.extend(body);
    out
}

/// Reads one datagram of the answer. What is cut short is left out.
pub fn parse(mut datagram: &[u8]) -> Answer {
    let mut answer = Answer::default();
    while let Some((kind, body, rest)) = message(datagram) {
        match kind {
            NLMSG_DONE | NLMSG_ERROR => answer.ended = true,
            SOCK_DIAG_BY_FAMILY => answer.listeners.extend(listener(body)),
            _ => {}
        }
        datagram = rest;
    }
    answer
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// What follows something of that length, which is padded to four bytes.
fn after(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(length.next_multiple_of(4)..).unwrap_or_default()
}

/// The kind of the first message, its body, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let body = bytes.get(HEADER_BYTES..length)?;
    Some((u16_at(bytes, 4)?, body, after(bytes, length)))
}

/// A row: family, type and state in a byte each, then the inode, a cookie and attributes.
fn listener(body: &[u8]) -> Option<Listener> {
    let inode = u32_at(body, 4)?.into();
    let (mut name, mut queues) = (String::new(), None);
    let mut rest = body.get(ROW_BYTES..)?;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let Some(value) = rest.get(4..usize::from(length)) else { break };
        match kind {
            UNIX_DIAG_NAME => name = shown(value),
            UNIX_DIAG_RQLEN => queues = u32_at(value, 0).zip(u32_at(value, 4)),
            _ => {}
        }
        rest = after(rest, usize::from(length));
    }
    let (waiting, most) = queues?;
    Some(Listener { inode, name, waiting, most })
}

/// A path ends at a zero byte, an abstract name begins with one; `ss` shows those as `@`.
fn shown(name: &[u8]) -> String {
    let path = name.strip_suffix(&[0]).unwrap_or(name);
    let text = String::from_utf8_lossy(path);
    let plain = text.chars().map(|c| match c {
        '\0' => '@',
        c if c.is_control() || c.is_whitespace() => '?',
        c => c,
    });
    plain.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("short");
        let mut out = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        out.extend(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER_BYTES + body.len()).expect("short");
        let mut out = length.to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend([0; 10]);
        out.extend(body);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn row(inode: u32, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![AF_UNIX, 1, 10, 0];
        body.extend(inode.to_ne_bytes());
        body.extend([0; 8]);
        body.extend(attributes.concat());
        message(SOCK_DIAG_BY_FAMILY, &body)
    }

    #[test]
    fn rows_have_names_and_queues() {
        let queues = [4_u32.to_ne_bytes(), 511_u32.to_ne_bytes()].concat();
        let datagram = [
            row(7, &[attribute(0, b"/run/fpm.sock\0"), attribute(4, &queues)]),
            row(8, &[attribute(9, b"?"), attribute(0, b"\0x y"), attribute(4, &queues)]),
            row(9, &[attribute(0, b"/without/queues\0")]),
        ]
        .concat();
        let answer = parse(&datagram);
        let listener =
            |inode, name: &str| Listener { inode, name: name.into(), waiting: 4, most: 511 };
        assert_eq!(answer.listeners, [listener(7, "/run/fpm.sock"), listener(8, "@x?y")]);
        assert!(!answer.ended && parse(&message(NLMSG_DONE, &[0; 4])).ended);
        for cut in 0..datagram.len() {
            assert!(parse(&datagram[..cut]).listeners.len() <= 2);
        }
    }
}
