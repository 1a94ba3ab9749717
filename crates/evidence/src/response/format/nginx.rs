//! nginx's `log_format`: texts and `$variables`.
//!
//! Source: `ngx_http_log_module` (`$time_local`, `$time_iso8601`, `$msec` and `$request_time` are
//! as of the writing of the line, at the request's end; a request's time counts from the first byte
//! read from the client), `ngx_http_upstream_module` (`$upstream_*`), `ngx_http_core_module`.

use super::pieces::Pieces;
use super::slot::{Slot, What, rank};
use crate::response::values::Unit;

/// What a variable means.
pub(super) fn variable(name: &str) -> Slot {
    let time = |what| Slot::time(what, Unit::Seconds);
    let slot = match name {
        "time_local" | "time_iso8601" | "msec" => Slot::of(What::End),
        "request_time" => time(What::Total),
        "upstream_queue_time" => time(What::TriesQueue),
        "upstream_connect_time" => time(What::TriesConnect),
        "upstream_header_time" => time(What::TriesHeader),
        "upstream_response_time" => time(What::TriesResponse),
        "status" => Slot::of(What::Status),
        "request" => Slot::of(What::Request),
        "request_method" => Slot::of(What::Method),
        "request_uri" | "uri" => Slot::of(What::Path),
        "upstream_name" | "proxy_upstream_name" => Slot::of(What::Service(rank::NAME)),
        "upstream_addr" | "proxy_host" => Slot::of(What::Service(rank::ADDRESS)),
        "server_name" | "host" | "http_host" => Slot::of(What::Service(rank::HOST)),
        _ => Slot::of(What::Skip),
    };
    // All that is said of upstreams has a value for each try.
    Slot { list: name.starts_with("upstream_"), ..slot }
}

/// Reads a format; also a whole `log_format` directive, whose quoted parts follow each other.
pub(super) fn parse(text: &str) -> Pieces {
    let joined = directive(text);
    let text = joined.as_deref().unwrap_or(text);
    let mut pieces = Pieces::default();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        pieces.text(before.as_bytes());
        let (name, after) = name(behind);
        match name {
            "" => pieces.text(b"$"),
            _ => pieces.field(variable(name)),
        }
        rest = after;
    }
    pieces.text(rest.as_bytes());
    pieces
}

/// `name...` or `{name}...`.
fn name(text: &str) -> (&str, &str) {
    if let Some((name, rest)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) {
        return (name, rest);
    }
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    text.split_at(end.unwrap_or(text.len()))
}

/// The format within `log_format main '...' '...';`; `None`: it is no directive.
fn directive(text: &str) -> Option<String> {
    let body = text.trim().strip_prefix("log_format")?;
    let quote = body.chars().find(|c| matches!(c, '\'' | '"'))?;
    let parts: Vec<&str> = body.split(quote).skip(1).step_by(2).collect();
    Some(parts.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_is_its_format() {
        let format = "$remote_addr - ${remote_user} [$time_local] \"$request\" $status";
        let whole = "log_format main '$remote_addr - ${remote_user} [$time_local] '\n    \
                     '\"$request\" $status';";
        assert_eq!(parse(whole), parse(format));
        assert!(parse(format).has(What::End) && !parse(format).has(What::Total));
    }

    #[test]
    fn a_line_of_the_docs_is_read() {
        let pieces = parse(
            "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
             \"$http_referer\" \"$http_user_agent\" $request_time $upstream_response_time $pipe",
        );
        let line = b"66.249.71.173 - - [08/Nov/2010:14:16:18 -0600] \"GET /blog/2010/ HTTP/1.1\" \
                     200 6569 \"-\" \"Mozilla/5.0 (compatible; x)\" 0.640 0.640 .";
        let values = pieces.read(line).expect("matches");
        assert_eq!(values.total_us, Some(640_000));
        assert_eq!(values.tries_response.and_then(|tries| tries.last_us), Some(640_000));
    }
}
