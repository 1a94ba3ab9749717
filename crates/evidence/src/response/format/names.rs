//! Names of fields in JSON and `key=value` logs.

use super::nginx;
use super::slot::{What, rank};
use crate::response::values::Unit;

/// Longest name that can mean something.
const NAME_MAX: usize = 64;

/// What a field of this name means; `None`: nothing that is needed. A unit of `None` is not said by
/// the name, and differs from program to program.
pub(super) fn meaning(name: &[u8]) -> Option<(What, Option<Unit>)> {
    if name.len() > NAME_MAX {
        return None;
    }
    let name: String = std::str::from_utf8(name).ok()?.chars().filter_map(plain).collect();
    let name = name.trim_start_matches('_');
    if let Some(what) = whole(name) {
        return Some((what, None));
    }
    let known = nginx::variable(name);
    if known.what != What::Skip {
        return Some((known.what, Some(known.unit)));
    }
    if let Some(found) = of_program(name) {
        return Some(found);
    }
    if let Some(what) = other(name) {
        return Some((what, None));
    }
    let (stem, unit) =
        name.rsplit_once('_').and_then(|(stem, unit)| Some((stem, Unit::named(unit)?)))?;
    let known = nginx::variable(stem);
    let what = whole(stem).or((known.what != What::Skip).then_some(known.what));
    Some((what.or_else(|| other(stem)).filter(|what| is_time(*what))?, Some(unit)))
}

/// Lower case, with one mark between words.
fn plain(c: char) -> Option<char> {
    match c {
        '-' | '.' | ' ' => Some('_'),
        '@' | '"' | '\'' => None,
        _ => Some(c.to_ascii_lowercase()),
    }
}

fn is_time(what: What) -> bool {
    matches!(
        what,
        What::Total
            | What::Upstream
            | What::Queue
            | What::Connect
            | What::TriesConnect
            | What::TriesHeader
            | What::TriesResponse
            | What::TriesQueue
            | What::FirstByte
            | What::Receive
            | What::Answer
            | What::Transfer
    )
}

/// The whole time, under names that say no unit.
fn whole(name: &str) -> Option<What> {
    let known = [
        "duration",
        "response_time",
        "responsetime",
        "latency",
        "elapsed",
        "elapsed_time",
        "took",
        "request_duration",
        "http_request_duration",
        "time_taken",
        "total_time",
        "total_duration",
        "durations",
        "resp_time",
        "rt_total",
    ];
    known.contains(&name).then_some(What::Total)
}

/// Names that one program has: Traefik's JSON is in nanoseconds, Envoy's in milliseconds.
fn of_program(name: &str) -> Option<(What, Option<Unit>)> {
    Some(match name {
        "upstream_service_time" => (What::Upstream, Some(Unit::Milliseconds)),
        "originduration" => (What::Upstream, Some(Unit::Nanoseconds)),
        "downstreamstatus" => (What::Status, None),
        // The Elastic Common Schema.
        "event_duration" => (What::Total, Some(Unit::Nanoseconds)),
        "startutc" => (What::Start, None),
        "requestmethod" => (What::Method, None),
        "requestpath" => (What::Path, None),
        "servicename" | "backendname" => (What::Service(rank::NAME), None),
        "routername" => (What::Service(rank::HOST), None),
        _ => return None,
    })
}

/// The unit of whole times, where this name tells the program: Traefik writes nanoseconds, also in
/// lines of requests for which it asked nobody.
pub(super) fn unit_of_program(name: &[u8]) -> Option<Unit> {
    name.eq_ignore_ascii_case(b"downstreamstatus").then_some(Unit::Nanoseconds)
}

fn other(name: &str) -> Option<What> {
    Some(match name {
        "upstream_time" | "upstream_duration" | "upstream_latency" | "backend_time"
        | "backend_duration" | "origin_duration" => What::Upstream,
        "rt" => What::Total,
        "uct" => What::TriesConnect,
        "uht" => What::TriesHeader,
        "urt" | "ut" => What::TriesResponse,
        "tr_queue" | "queue_time" | "queue_duration" => What::Queue,
        "connect_time" | "connect_duration" => What::Connect,
        "time_to_first_byte" | "ttfb" => What::FirstByte,
        "status_code"
        | "http_status"
        | "response_code"
        | "statuscode"
        | "response_status"
        | "http_status_code"
        | "http_response_status_code" => What::Status,
        "method" | "http_method" | "verb" | "request_method_name" | "http_request_method" => {
            What::Method
        }
        "path" | "url" | "request_path" | "http_path" | "url_path" | "http_target"
        | "url_original" => What::Path,
        "start_time" | "time_start" | "request_start" | "started" | "startlocal" => What::Start,
        "time" | "timestamp" | "ts" | "date" | "datetime" | "end_time" | "time_end" => What::End,
        "upstream_cluster" | "cluster" | "backend" | "backend_name" | "service"
        | "service_name" | "upstream" => What::Service(rank::NAME),
        "upstream_host" | "backend_addr" | "serviceaddr" => What::Service(rank::ADDRESS),
        "vhost" | "authority" | "request_host" | "requesthost" => What::Service(rank::HOST),
        "server" => What::Server,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_known() {
        let known = [
            ("request_time", What::Total, Some(Unit::Seconds)),
            ("upstream_response_time", What::TriesResponse, Some(Unit::Seconds)),
            ("duration", What::Total, None),
            ("duration_ms", What::Total, Some(Unit::Milliseconds)),
            ("request_time_ms", What::Total, Some(Unit::Milliseconds)),
            ("Duration", What::Total, None),
            ("OriginDuration", What::Upstream, Some(Unit::Nanoseconds)),
            ("response-code", What::Status, None),
            ("@timestamp", What::End, None),
            ("time_iso8601", What::End, Some(Unit::Seconds)),
            ("request.uri", What::Path, Some(Unit::Seconds)),
            ("rt", What::Total, None),
        ];
        for (name, what, unit) in known {
            assert_eq!(meaning(name.as_bytes()), Some((what, unit)), "{name}");
        }
        for name in ["", "ua", "user", "remote_addr", "password_ms", "status_ms", "\u{fe}"] {
            assert_eq!(meaning(name.as_bytes()), None, "{name}");
        }
    }
}
