//! Sockets of the UNIX domain that listen, as the kernel's socket monitor tells them
//! (`sock_diag(7)`): `/proc/net/unix` has no queues.

use super::netlink::{
    self, NLM_F_DUMP, NLMSG_DONE, NLMSG_ERROR, attributes, find, messages, u32_at,
};

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

// include/uapi/linux/sock_diag.h, unix_diag.h; include/net/tcp_states.h.
const ROW_BYTES: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
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
    netlink::request(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &body)
}

/// Reads one datagram of the answer. What is cut short is left out.
pub fn parse(datagram: &[u8]) -> Answer {
    let mut answer = Answer::default();
    for message in messages(datagram) {
        match message.kind {
            NLMSG_DONE | NLMSG_ERROR => answer.ended = true,
            SOCK_DIAG_BY_FAMILY => answer.listeners.extend(listener(message.body)),
            _ => {}
        }
    }
    answer
}

/// A row: family, type and state in a byte each, then the inode, a cookie and attributes.
fn listener(body: &[u8]) -> Option<Listener> {
    let inode = u32_at(body, 4)?.into();
    let attributes = attributes(body.get(ROW_BYTES..)?);
    let name = find(&attributes, UNIX_DIAG_NAME).map(shown).unwrap_or_default();
    let queues = find(&attributes, UNIX_DIAG_RQLEN)?;
    let (waiting, most) = u32_at(queues, 0).zip(u32_at(queues, 4))?;
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
    use crate::parse::netlink::attribute;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut out = netlink::request(kind, 0, body);
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
