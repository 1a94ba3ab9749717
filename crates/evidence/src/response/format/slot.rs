//! What a field of a line means, and how its text becomes a value.

use crate::response::values::{Tries, Unit, Values, time_us};
use crate::response::when;

/// What a field of a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::response) enum What {
    /// Nothing that is needed, or something that is nobody's business.
    Skip,
    /// When the request came.
    Start,
    /// When it was done.
    End,
    /// The whole time.
    Total,
    /// The whole time of HAProxy before 1.7, with `Before` in it.
    Before,
    /// HAProxy's TR.
    Receive,
    /// HAProxy's Tw.
    Queue,
    /// HAProxy's Tc.
    Connect,
    /// HAProxy's Tr.
    Answer,
    /// The whole time of a session of HAProxy's `mode tcp`.
    Session,
    /// nginx's `$upstream_queue_time`.
    TriesQueue,
    /// nginx's `$upstream_connect_time`.
    TriesConnect,
    /// nginx's `$upstream_header_time`.
    TriesHeader,
    /// nginx's `$upstream_response_time`.
    TriesResponse,
    /// The upstream in one number.
    Upstream,
    /// Until the first byte of the answer left.
    FirstByte,
    /// Sending the answer.
    Transfer,
    /// Status of the answer.
    Status,
    /// `GET /path HTTP/1.1`.
    Request,
    /// The method.
    Method,
    /// The path, with or without its query.
    Path,
    /// Who answers; of several the one with the highest number counts.
    Service(u8),
    /// The server of a backend.
    Server,
}

/// What a service's name is worth: a named backend says more than an address, and both more than
/// the virtual host that the client asked for.
pub(in crate::response) mod rank {
    /// A virtual host.
    pub(in crate::response) const HOST: u8 = 1;
    /// An address of an upstream.
    pub(in crate::response) const ADDRESS: u8 = 2;
    /// A named backend.
    pub(in crate::response) const NAME: u8 = 3;
}

/// A field of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::response) struct Slot {
    /// What it means.
    pub(in crate::response) what: What,
    /// Its unit, where it is a time.
    pub(in crate::response) unit: Unit,
    /// It may be a list with blanks in it: `0.1, 0.2 : 0.3`.
    pub(in crate::response) list: bool,
}

impl Slot {
    /// A field that is no time.
    pub(in crate::response) const fn of(what: What) -> Self {
        Self { what, unit: Unit::Seconds, list: false }
    }

    /// A time.
    pub(in crate::response) const fn time(what: What, unit: Unit) -> Self {
        Self { what, unit, list: false }
    }

    /// Takes its text into the values. `false`: it is not what such a field holds.
    pub(in crate::response) fn take<'a>(self, text: &'a [u8], values: &mut Values<'a>) -> bool {
        let unit = self.unit;
        match self.what {
            What::Skip => {}
            What::Start => values.start = values.start.or(when::moment(text)),
            What::End => values.end = values.end.or(when::moment(text)),
            What::Status => return status(text, values),
            What::Request => values.request = Some(text),
            What::Method => values.method = Some(text),
            What::Path => values.path = Some(text),
            What::Server => values.server = named(text),
            What::Service(rank) => {
                let known = values.service.is_some_and(|(own, _)| own >= rank);
                let name = named(text).filter(|_| !known);
                values.service = name.map(|name| (rank, name)).or(values.service);
            }
            What::TriesQueue => values.queue_us = queue(text, unit),
            What::TriesConnect => values.tries_connect = Tries::read(text, unit),
            What::TriesHeader => values.tries_header = Tries::read(text, unit),
            What::TriesResponse => values.tries_response = Tries::read(text, unit),
            _ => return self.take_time(text, values),
        }
        true
    }

    fn take_time(self, text: &[u8], values: &mut Values<'_>) -> bool {
        let us = time_us(text, self.unit);
        match self.what {
            What::Total => {
                values.total_us = us.or(values.total_us);
                values.early |= text.starts_with(b"+");
            }
            What::Session => {
                (values.total_us, values.session) = (us, true);
                values.early |= text.starts_with(b"+");
            }
            What::Before => values.before_us = us,
            What::Receive => values.receive_us = us,
            What::Queue => (values.queue_us, values.timers) = (us, true),
            What::Connect => {
                (values.connect_us, values.timers) = (us, true);
                values.unconnected = us.is_none();
            }
            What::Answer => (values.answer_us, values.timers) = (us, true),
            What::Upstream => values.upstream_us = us,
            What::FirstByte => values.first_byte_us = us,
            What::Transfer => values.transfer_us = us,
            _ => {}
        }
        us.is_some() || is_nothing(text)
    }
}

/// How logs write that there is no value: `-`, HAProxy's `-1`, nothing.
fn is_nothing(text: &[u8]) -> bool {
    matches!(text.trim_ascii(), b"" | b"-" | b"-1" | b"null")
}

fn named(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii();
    // HAProxy: no server was chosen, nothing was sent there, a page of statistics.
    let real = !is_nothing(text) && !text.starts_with(b"<");
    real.then_some(text)
}

fn status(text: &[u8], values: &mut Values<'_>) -> bool {
    let text = text.trim_ascii();
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u16>().ok());
    values.status = number.filter(|status| (100..=599).contains(status)).or(values.status);
    // Envoy and HAProxy write 0 and -1 where no answer was sent, nginx 000.
    values.status.is_some() || is_nothing(text) || number == Some(0)
}

/// The time in the queue of all tries.
fn queue(text: &[u8], unit: Unit) -> Option<u64> {
    let tries = Tries::read(text, unit).filter(|tries| tries.count > 0)?;
    Some(tries.earlier_us.saturating_add(tries.last_us.unwrap_or(0)))
}

/// Digits alone.
pub(super) fn is_whole(cell: &[u8]) -> bool {
    !cell.is_empty() && cell.iter().all(u8::is_ascii_digit)
}

/// `10.0.0.1:8080`, `[::1]:80` or `unix:/path`.
pub(super) fn is_address(cell: &[u8]) -> bool {
    if cell.starts_with(b"unix:") {
        return true;
    }
    let Some(colon) = cell.iter().rposition(|c| *c == b':') else { return false };
    let (host, port) = (cell.get(..colon).unwrap_or_default(), cell.get(colon + 1..));
    let version_4 = host.contains(&b'.') && host.iter().all(|c| matches!(c, b'0'..=b'9' | b'.'));
    (version_4 || host.starts_with(b"[")) && port.is_some_and(is_whole)
}
