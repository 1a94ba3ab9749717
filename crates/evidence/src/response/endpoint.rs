//! What a request was for, without what is nobody's business: no query, no numbers, no names of
//! things that only one client has.

use std::borrow::Cow;

/// Segments of a path that are kept: an endpoint of a service has one or two, and what follows are
/// mostly names of things.
const SEGMENTS_MAX: usize = 3;

/// A longer segment is a name of a thing, or a token.
const SEGMENT_BYTES_MAX: usize = 32;

/// Methods of HTTP that are said (RFC 9110, RFC 5789, WebDAV's RFC 4918 left out).
const METHODS: [&[u8]; 9] =
    [b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"CONNECT", b"TRACE"];

/// `GET /api/orders/{n}`: method and first segments of a request.
pub(super) fn endpoint(
    method: Option<&[u8]>,
    path: Option<&[u8]>,
    request: Option<&[u8]>,
) -> String {
    let mut words = request.unwrap_or_default().split(|c| *c == b' ');
    let (first, second) = (words.next(), words.next());
    let method = method.or(first).unwrap_or_default();
    let path = path.or(second).unwrap_or_default();
    let known = METHODS.iter().find(|known| **known == method);
    let method = known.map_or("", |known| std::str::from_utf8(known).unwrap_or_default());
    let folded = folded(path);
    match (method, folded) {
        ("", None) => "unreadable request".to_owned(),
        ("", Some(path)) => path,
        (method, None) => method.to_owned(),
        (method, Some(path)) => format!("{method} {path}"),
    }
}

/// A path without its query, names of things folded; `None`: it is no path.
fn folded(path: &[u8]) -> Option<String> {
    let end = path.iter().position(|c| matches!(c, b'?' | b'#' | b';')).unwrap_or(path.len());
    let path = path.get(..end)?;
    // `http://host/path`, as a proxy gets it.
    let path = match path.windows(3).position(|three| three == b"://") {
        Some(at) => {
            let behind = path.get(at + 3..)?;
            let slash = behind.iter().position(|c| *c == b'/');
            slash.map_or(&b"/"[..], |slash| behind.get(slash..).unwrap_or_default())
        }
        None => path,
    };
    let inner = path.strip_prefix(b"/")?;
    let mut out = String::with_capacity(inner.len() + 1);
    let mut segments = inner.split(|c| *c == b'/').filter(|segment| !segment.is_empty());
    for segment in segments.by_ref().take(SEGMENTS_MAX) {
        out.push('/');
        out.push_str(&segment_name(segment));
    }
    if segments.next().is_some() {
        out.push_str("/...");
    }
    Some(if out.is_empty() { "/".to_owned() } else { out })
}

/// A segment, or what kind of thing it names.
fn segment_name(segment: &[u8]) -> Cow<'_, str> {
    let digits = segment.iter().filter(|c| c.is_ascii_digit()).count();
    let letters = segment.iter().filter(|c| c.is_ascii_alphabetic()).count();
    let hex = segment.iter().all(|c| c.is_ascii_hexdigit() || *c == b'-');
    let plain = segment.iter().all(|c| c.is_ascii_alphanumeric() || b"-_.~:".contains(c));
    if digits > 0 && letters == 0 {
        Cow::Borrowed("{n}")
    } else if (hex && digits > 0 && segment.len() >= 8)
        || (digits >= 3 && letters > 0 && segment.len() >= 12)
        || segment.len() > SEGMENT_BYTES_MAX
        || !plain
        || digits * 2 > segment.len()
    {
        Cow::Borrowed("{id}")
    } else {
        String::from_utf8_lossy(segment)
    }
}

/// The upstream of nginx that answered: of `10.0.0.1:80, 10.0.0.2:80 : 10.1.0.1:80` the last.
pub(super) fn last_address(name: &[u8]) -> &[u8] {
    let mut parts =
        name.split(|c| matches!(c, b',' | b' ')).filter(|part| !matches!(*part, b"" | b":" | b"-"));
    parts.next_back().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(request: &str) -> String {
        endpoint(None, None, Some(request.as_bytes()))
    }

    #[test]
    fn names_of_things_are_folded() {
        let wanted = [
            ("GET /api/orders/123?user=7 HTTP/1.1", "GET /api/orders/{n}"),
            ("GET /api/orders/123/lines/4 HTTP/1.1", "GET /api/orders/{n}/..."),
            ("POST / HTTP/2.0", "POST /"),
            ("GET /a/550e8400-e29b-41d4-a716-446655440000 HTTP/1.1", "GET /a/{id}"),
            ("GET /u/frank@example.com HTTP/1.1", "GET /u/{id}"),
            ("GET /reset/AbC123xyz789TOKEN HTTP/1.1", "GET /reset/{id}"),
            ("GET /v1/items HTTP/1.1", "GET /v1/items"),
            ("GET //a///b HTTP/1.1", "GET /a/b"),
            ("GET http://shop.example/a;jsessionid=7 HTTP/1.1", "GET /a"),
            ("CONNECT shop:443 HTTP/1.1", "CONNECT"),
            ("<BADREQ>", "unreadable request"),
            ("", "unreadable request"),
            ("\\x16\\x03\\x01", "unreadable request"),
        ];
        for (request, folded) in wanted {
            assert_eq!(of(request), folded, "{request}");
        }
        assert_eq!(endpoint(Some(b"GET"), Some(b"/a/b?c"), None), "GET /a/b");
    }

    #[test]
    fn the_last_address_answered() {
        assert_eq!(last_address(b"10.0.0.1:80, 10.0.0.2:80 : 10.1.0.1:80"), b"10.1.0.1:80");
        assert_eq!(last_address(b"shop"), b"shop");
        assert_eq!(last_address(b"[::1]:80"), b"[::1]:80");
    }
}
