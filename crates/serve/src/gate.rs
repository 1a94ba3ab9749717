//! Who is let in: who asks for a host that is this server's, in a way that it knows, and knows the
//! token. Pure: what a request says, and what that means.

use crate::query::pairs;
use crate::token::Token;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{Method, Version};

/// Why nobody is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It names no host, or several.
    NoHost,
    /// It is for another host: somebody made a name of theirs lead here.
    OtherHost,
    /// It wants to change something.
    Method,
    /// It brings something along.
    Body,
    /// It does not know the token.
    Token,
}

/// What is asked of each request.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Names of this server, without ports, in small letters.
    hosts: Vec<String>,
    token: Token,
}

impl Gate {
    pub(crate) fn new(hosts: impl IntoIterator<Item = String>, token: Token) -> Self {
        Self { hosts: hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect(), token }
    }

    /// Whether a request is one that this server answers at all, whoever sends it.
    pub(crate) fn is_ours(&self, request: &Parts) -> Result<(), Refusal> {
        let mut named = request.headers.get_all(HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().ok().and_then(host_name),
            _ => None,
        };
        let host = host.ok_or(Refusal::NoHost)?;
        // A proxy would be asked with the whole URL: that has to be the same host.
        let authority = request.uri.authority().map(|authority| host_name(authority.as_str()));
        let is_own = |name: &str| self.hosts.contains(&name.to_ascii_lowercase());
        if !is_own(host) || authority.is_some_and(|name| !name.is_some_and(is_own)) {
            return Err(Refusal::OtherHost);
        }
        if request.method != Method::GET && request.method != Method::HEAD {
            return Err(Refusal::Method);
        }
        if request.version < Version::HTTP_10 || has_body(&request.headers) {
            return Err(Refusal::Body);
        }
        Ok(())
    }

    /// Whether whoever asks knows the token: as a bearer or, of the page alone, in its URL.
    pub(crate) fn knows(&self, request: &Parts, in_url: bool) -> Result<(), Refusal> {
        let mut headers = request.headers.get_all(AUTHORIZATION).iter();
        let bearer = match (headers.next(), headers.next()) {
            (Some(one), None) => bearer(one.as_bytes()),
            _ => None,
        };
        let query = request.uri.query().filter(|_| in_url).map(pairs).unwrap_or_default();
        let in_url = query.iter().find(|(name, _)| name == "token");
        let said = bearer.or_else(|| in_url.map(|(_, token)| token.as_bytes()));
        match said {
            Some(said) if self.token.is(said) => Ok(()),
            _ => Err(Refusal::Token),
        }
    }
}

fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = header.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| rest.trim_ascii())
}

/// The name in `name`, `name:port`, `[address]` or `[address]:port`, without brackets.
fn host_name(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => match host.split_once(':') {
            Some((name, _)) => (name, &host[name.len()..]),
            None => (host, ""),
        },
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    (!name.is_empty() && plain && (port.is_empty() || port.starts_with(':'))).then_some(name)
}

fn has_body(headers: &HeaderMap) -> bool {
    let lengths = headers.get_all(CONTENT_LENGTH).iter();
    headers.contains_key(TRANSFER_ENCODING) || lengths.into_iter().any(|length| length != "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;
    use proptest::prelude::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn gate() -> Gate {
        let hosts = ["127.0.0.1", "localhost", "::1", "Box.example"].map(str::to_owned);
        Gate::new(hosts, Token::new(TOKEN).expect("a token"))
    }

    fn parts(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    fn hosted(host: &str) -> Result<(), Refusal> {
        gate().is_ours(&parts("GET", "/", &[("host", host)]))
    }

    #[test]
    fn only_requests_for_this_host_are_answered() {
        for own in ["127.0.0.1", "127.0.0.1:9917", "LOCALHOST:8000", "[::1]:9917", "box.example"] {
            assert_eq!(hosted(own), Ok(()), "{own}");
        }
        for other in ["evil.example", "127.0.0.1.evil.example", "127.0.0.2:9917", "[::2]"] {
            assert_eq!(hosted(other), Err(Refusal::OtherHost), "{other}");
        }
        for none in ["", ":80", "[::1", "[::1]x", "a:b", "127.0.0.1:80:80"] {
            assert_eq!(hosted(none), Err(Refusal::NoHost), "{none}");
        }
        assert_eq!(gate().is_ours(&parts("GET", "/", &[])), Err(Refusal::NoHost));
        let two = [("host", "127.0.0.1"), ("host", "evil.example")];
        assert_eq!(gate().is_ours(&parts("GET", "/", &two)), Err(Refusal::NoHost));
        let whole = |uri| gate().is_ours(&parts("GET", uri, &[("host", "127.0.0.1")]));
        assert_eq!(whole("http://evil.example/"), Err(Refusal::OtherHost));
        assert_eq!(whole("http://localhost:1/"), Ok(()));
    }

    #[test]
    fn nobody_brings_or_changes_anything() {
        let own = ("host", "127.0.0.1");
        let asked = |method, headers: &[(&str, &str)]| {
            gate().is_ours(&parts(method, "/", &[&[own], headers].concat()))
        };
        assert_eq!(asked("HEAD", &[]), Ok(()));
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "X"] {
            assert_eq!(asked(method, &[]), Err(Refusal::Method), "{method}");
        }
        assert_eq!(asked("GET", &[("content-length", "0")]), Ok(()));
        assert_eq!(asked("GET", &[("content-length", "1")]), Err(Refusal::Body));
        assert_eq!(asked("GET", &[("transfer-encoding", "chunked")]), Err(Refusal::Body));
    }

    #[test]
    fn the_token_comes_as_a_bearer_or_with_the_page() {
        let knows = |uri: &str, header: Option<&str>, in_url| {
            let headers: Vec<_> = header.iter().map(|value| ("authorization", *value)).collect();
            gate().knows(&parts("GET", uri, &headers), in_url).is_ok()
        };
        let bearer = format!("Bearer {TOKEN}");
        assert!(knows("/metrics", Some(&bearer), false));
        assert!(knows("/metrics", Some(&bearer.replace("Bearer", "bearer")), false));
        assert!(knows(&format!("/?token={TOKEN}"), None, true));
        // A token in a URL ends up in logs of what stands in between: of the page only.
        assert!(!knows(&format!("/metrics?token={TOKEN}"), None, false));
        for wrong in ["", "Bearer", "Bearer ", "Basic x", TOKEN, &bearer[..bearer.len() - 1]] {
            assert!(!knows("/", Some(wrong), true), "{wrong}");
        }
        // A wrong one is not mended by a right one elsewhere.
        assert!(!knows(&format!("/?token={TOKEN}"), Some("Bearer x"), true));
        assert!(!knows("/", None, true));
    }

    proptest! {
        #[test]
        fn no_host_panics(host in ".*") {
            let _ = host_name(&host);
        }
    }
}
