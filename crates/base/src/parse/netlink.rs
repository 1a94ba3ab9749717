//! Messages to and from the kernel by netlink sockets: headers, attributes, numbers.
//!
//! `include/uapi/linux/netlink.h` and `genetlink.h`; numbers have the byte order of the machine.

/// Bytes of the header of each message.
const HEADER_BYTES: usize = 16;
/// A message that says why the kernel refuses.
pub(super) const NLMSG_ERROR: u16 = 2;
/// The last message of several.
pub(super) const NLMSG_DONE: u16 = 3;
/// A request, ...
pub(super) const NLM_F_REQUEST: u16 = 1;
/// ... for all that there is.
pub(super) const NLM_F_DUMP: u16 = 0x300;

/// One message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    /// Its type.
    pub kind: u16,
    /// What follows its header.
    pub body: &'a [u8],
}

/// A request of this type.
pub(super) fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    let mut out = length.to_ne_bytes().to_vec();
    out.extend(kind.to_ne_bytes());
    out.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    // A number of ours and one of the receiver's, which the kernel fills in.
    out.extend([0; 8]);
    out.extend(body);
    out
}

/// The messages of a datagram. What is cut short is left out.
pub(super) fn messages(mut datagram: &[u8]) -> Vec<Message<'_>> {
    let mut all = Vec::new();
    while let (Some(length), Some(kind)) = (u32_at(datagram, 0), u16_at(datagram, 4)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some(body) = datagram.get(HEADER_BYTES..length) else { break };
        all.push(Message { kind, body });
        datagram = after(datagram, length);
    }
    all
}

/// An attribute as bytes, padded to the next one.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut out = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// The attributes in `bytes`, by type. What is cut short is left out.
pub(super) fn attributes(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut all = Vec::new();
    while let (Some(length), Some(kind)) = (u16_at(bytes, 0), u16_at(bytes, 2)) {
        let Some(value) = bytes.get(4..usize::from(length)) else { break };
        all.push((kind, value));
        bytes = after(bytes, usize::from(length));
    }
    all
}

/// The value of the first attribute of this type.
pub(super) fn find<'a>(attributes: &[(u16, &'a [u8])], kind: u16) -> Option<&'a [u8]> {
    attributes.iter().find(|(found, _)| *found == kind).map(|(_, value)| *value)
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// What follows something of that length, which is padded to four bytes.
fn after(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(length.next_multiple_of(4)..).unwrap_or_default()
}
