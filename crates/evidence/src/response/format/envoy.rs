//! Envoy's access log format: texts and `%OPERATORS(...)%`.
//!
//! Source: Envoy's documentation of access logging. All durations are in milliseconds: `%DURATION%`
//! from the start to the last byte sent, `%REQUEST_DURATION%` until the request was received,
//! `%RESPONSE_DURATION%` until the first byte came from the upstream, `%RESPONSE_TX_DURATION%` from
//! there to the last byte sent.

use super::pieces::Pieces;
use super::slot::{Slot, What, rank};
use crate::response::values::Unit;

fn operator(name: &str, argument: &str) -> Slot {
    let time = |what| Slot::time(what, Unit::Milliseconds);
    let of_header = |wanted: &str| argument.split('?').any(|name| name == wanted);
    match name {
        "START_TIME" => Slot::of(What::Start),
        "DURATION" => time(What::Total),
        "REQUEST_DURATION" => time(What::Receive),
        "RESPONSE_TX_DURATION" => time(What::Transfer),
        "RESP" if of_header("X-ENVOY-UPSTREAM-SERVICE-TIME") => time(What::Upstream),
        "RESPONSE_CODE" => Slot::of(What::Status),
        "REQ" if of_header(":PATH") => Slot::of(What::Path),
        "REQ" if of_header(":METHOD") => Slot::of(What::Method),
        "REQ" if of_header(":AUTHORITY") => Slot::of(What::Service(rank::HOST)),
        "UPSTREAM_CLUSTER" | "UPSTREAM_CLUSTER_RAW" => Slot::of(What::Service(rank::NAME)),
        "UPSTREAM_HOST" => Slot::of(What::Service(rank::ADDRESS)),
        _ => Slot::of(What::Skip),
    }
}

/// Whether a format is Envoy's: names of capitals between two `%`.
pub(super) fn is_format(text: &str) -> bool {
    ["%START_TIME", "%DURATION%", "%RESPONSE_CODE%", "%REQ("].iter().any(|name| text.contains(name))
}

/// Reads a format.
pub(super) fn parse(text: &str) -> Pieces {
    let mut pieces = Pieces::default();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        pieces.text(before.as_bytes());
        let end = end(behind);
        let (inner, after) = behind.split_at(end);
        rest = after.strip_prefix('%').unwrap_or(after);
        let (name, argument) = inner.split_once('(').unwrap_or((inner, ""));
        let argument = argument.rsplit_once(')').map_or(argument, |(argument, _)| argument);
        match inner {
            "" => pieces.text(b"%"),
            _ => pieces.field(operator(name, argument)),
        }
    }
    let rest = rest.strip_suffix("\\n").unwrap_or(rest);
    pieces.text(rest.trim_end_matches('\n').as_bytes());
    pieces
}

/// Where an operator ends: at a `%` that stands in no parentheses.
fn end(text: &str) -> usize {
    let mut depth = 0_usize;
    let ends = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '%' && depth == 0
    };
    text.find(ends).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::super::known::ENVOY;
    use super::*;

    #[test]
    fn a_line_of_the_docs_is_read() {
        let line = b"[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 \
            100 \"10.0.35.28\" \"nsq2http\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"locations\" \
            \"tcp://10.0.2.1:80\"";
        let values = parse(ENVOY).read(line).expect("matches");
        assert_eq!((values.total_us, values.upstream_us), (Some(226_000), Some(100_000)));
        assert_eq!((values.status, values.path), (Some(204), Some(&b"/api/v1/locations"[..])));
        let failed = b"[2016-04-15T20:17:00.310Z] \"GET / HTTP/1.1\" 0 DC 154 0 226 - \"-\" \"-\" \
            \"-\" \"-\" \"-\"";
        let values = parse(ENVOY).read(failed).expect("matches");
        assert_eq!((values.upstream_us, values.status), (None, None));
    }

    #[test]
    fn formats_with_percents_within_are_read() {
        let pieces = parse("%START_TIME(%Y-%m-%dT%H:%M:%S%z)% %DURATION%\\n");
        let values = pieces.read(b"2016-04-15T20:17:00+0000 12").expect("matches");
        assert!(values.start.is_some() && values.total_us == Some(12_000));
        for broken in ["%", "%%", "%(", "%REQ(", "%START_TIME(%"] {
            let _ = parse(broken);
        }
    }
}
