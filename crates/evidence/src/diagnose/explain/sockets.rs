//! What explanations about sockets share.

use crate::diagnose::answer::{Answer, Evidence, Ground};
use crate::diagnose::context::Context;
use crate::diagnose::reading::Reading;
use crate::diagnose::write;
use crate::recording::{Field, Socket, SocketState};
use std::collections::BTreeMap;

/// The sockets of the machine in that state.
pub(super) fn in_state<'a>(cx: &Context<'a>, state: SocketState) -> Vec<&'a Socket> {
    cx.host.sockets.iter().filter(|socket| socket.state == state).collect()
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

/// Connections in one state, listed row by row or counted, against those that are established.
pub(super) struct Connections<'a> {
    /// Those that are listed.
    pub(super) listed: Vec<&'a Socket>,
    counted: Option<Reading>,
    pub(super) count: f64,
    pub(super) established: f64,
}

/// A few in a state that ends by itself are what any machine has in passing.
const MANY_MIN: f64 = 100.0;

impl<'a> Connections<'a> {
    /// Those in `state`, which listings that count call `name`; `None` without any listing.
    pub(super) fn of(cx: &Context<'a>, state: SocketState, name: &str) -> Option<Self> {
        if cx.host.sockets.is_empty() && cx.top(Field::TcpInState).is_none() {
            return None;
        }
        let counted = |name: &str| {
            cx.top_of(Field::TcpInState, |subject| subject.to_string().replace('-', "_") == name)
        };
        let number = |counted: &Option<Reading>, listed: usize| {
            counted.as_ref().map_or(0.0, |seen| seen.value).max(listed as f64)
        };
        let established = in_state(cx, SocketState::Established).len();
        let established = number(&counted("ESTABLISHED"), established);
        let (listed, counted) = (in_state(cx, state), counted(name));
        let count = number(&counted, listed.len());
        Some(Self { listed, counted, count, established })
    }

    /// Yes where there are many, and no fewer than established ones. `whose`: which connections
    /// they are, behind their number.
    pub(super) fn outnumber(self, cx: &Context<'_>, whose: &str, weight: f64) -> Answer {
        let text = format!(
            "{} {whose}, {} established",
            write::counted(self.count, "connection", "connections"),
            write::number(self.established)
        );
        let evidence = match (&self.counted, self.listed.first()) {
            (Some(seen), _) => cx.say(seen, &text),
            (None, Some(socket)) => observed(socket, text),
            (None, None) => Evidence::derived(text),
        };
        let many = self.count >= MANY_MIN && self.count >= self.established;
        Answer::when(many, weight, vec![evidence])
    }
}
