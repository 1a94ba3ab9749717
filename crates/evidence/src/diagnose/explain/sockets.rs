//! What explanations about sockets share.

use crate::diagnose::answer::{Evidence, Ground};
use crate::diagnose::look::Look;
use crate::recording::{Socket, SocketState};
use std::collections::BTreeMap;

/// The sockets of the machine in that state.
pub(super) fn in_state<'a>(look: &Look<'a>, state: SocketState) -> Vec<&'a Socket> {
    look.host.sockets.iter().filter(|socket| socket.state == state).collect()
}

/// The program that has most of these sockets, where the listing names programs.
pub(super) fn most_named(sockets: &[&Socket]) -> Option<String> {
    let mut programs: BTreeMap<&str, usize> = BTreeMap::new();
    for socket in sockets {
        *programs.entry(socket.program.as_deref()?).or_default() += 1;
    }
    let most = programs.into_iter().max_by_key(|(_, count)| *count)?;
    Some(most.0.to_owned())
}

/// Something about a socket, with the place where it stands.
pub(super) fn observed(socket: &Socket, text: String) -> Evidence {
    let mut evidence = Evidence::plain(Ground::Observed, text);
    evidence.source = Some(socket.source);
    evidence
}
