//! One connection that speaks HTTP/1.1 and is kept alive, one request at a time.

use super::answer::{Answer, Failed};
use hugewise_experiment::load::Failure;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, HeaderValue, LOCATION};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use tokio::net::TcpStream;

/// Redirects that one request follows. Browsers follow 20, and a server that needs more than a few
/// sends them in a circle.
const REDIRECTS: usize = 5;

/// The port that a URL without one means (RFC 9110 4.2.1).
const HTTP_PORT: u16 = 80;

#[derive(Debug)]
pub(super) struct Http {
    sender: SendRequest<String>,
    path: Uri,
    server: SocketAddr,
    host: HeaderValue,
}

impl Http {
    pub(super) async fn connect(address: SocketAddr, path: &str) -> Result<Self, Failed> {
        let wrong = |e: &dyn Error| Failed::new(Failure::Connect, e.to_string());
        let path: Uri = path.parse().map_err(|e| wrong(&e))?;
        let host = HeaderValue::from_str(&address.to_string()).map_err(|e| wrong(&e))?;
        let stream = TcpStream::connect(address).await.map_err(|e| Failed::connecting(&e))?;
        stream.set_nodelay(true).map_err(|e| Failed::connecting(&e))?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|e| talking(&e))?;
        // Its error is the error of the request that is in flight, which reports it.
        tokio::task::spawn_local(async move { drop(connection.await) });
        Ok(Self { sender, path, server: address, host })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Fetches the resource; redirects within this server are followed, over this connection.
    pub(super) async fn request(&mut self) -> Result<Answer, Failed> {
        let mut path = self.path.clone();
        for _ in 0..=REDIRECTS {
            match self.fetch(&path).await? {
                None => return Ok(Answer::Done),
                Some(next) => path = next,
            }
        }
        Err(status_of(format!("more than {REDIRECTS} redirects")))
    }

    /// Fetches one path; where it has moved to, if it has.
    async fn fetch(&mut self, path: &Uri) -> Result<Option<Uri>, Failed> {
        self.sender.ready().await.map_err(|e| talking(&e))?;
        let mut request = Request::new(String::new());
        *request.uri_mut() = path.clone();
        request.headers_mut().insert(HOST, self.host.clone());
        let response = self.sender.send_request(request).await.map_err(|e| talking(&e))?;
        let status = response.status();
        let to = response.headers().get(LOCATION).filter(|_| status.is_redirection());
        let to = to.map(|to| redirected(path, to.as_bytes(), self.server));
        // The answer is complete with its body; only then is the connection free.
        drain(response.into_body()).await?;
        match to {
            Some(to) => to.map(Some).map_err(status_of),
            None if status.is_success() => Ok(None),
            None => Err(status_of(format!("status {}", status.as_u16()))),
        }
    }
}

fn status_of(quote: String) -> Failed {
    Failed::new(Failure::Status, quote)
}

/// Where a `Location` leads, seen from a path of this server (RFC 9110, RFC 3986 5.3 without `..`).
///
/// # Errors
/// To another server, or nowhere; in words.
fn redirected(from: &Uri, location: &[u8], server: SocketAddr) -> Result<Uri, String> {
    let text = String::from_utf8_lossy(location);
    let said = |what| format!("{what}: {}", text.chars().take(80).collect::<String>());
    let nowhere = |_| said("redirected to what is no path");
    let whole = text.split('#').next().unwrap_or_default();
    let scheme = whole.split_once(':').map(|(scheme, _)| scheme);
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    // The colon of `/login?next=http://...` is behind a slash.
    let is_absolute = scheme.is_some_and(|scheme| scheme.bytes().all(letter));
    let inner = if is_absolute || whole.starts_with("//") {
        let named = if is_absolute { whole.to_owned() } else { format!("http:{whole}") };
        let named: Uri = named.parse().map_err(nowhere)?;
        if !is_this(&named, server) {
            return Err(said("redirected to another server, which is not asked"));
        }
        let query = named.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", named.path())
    } else if whole.starts_with('/') {
        whole.to_owned()
    } else if whole.is_empty() || whole.starts_with('?') {
        format!("{}{whole}", from.path())
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{whole}")
    };
    inner.parse().map_err(nowhere)
}

/// Whether an address on the net is this server, by whatever name a loopback address has.
fn is_this(named: &Uri, server: SocketAddr) -> bool {
    let host = named.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_host = host.parse() == Ok(server.ip())
        || (host.eq_ignore_ascii_case("localhost") && server.ip().is_loopback());
    named.scheme_str() == Some("http")
        && is_host
        && named.port_u16().unwrap_or(HTTP_PORT) == server.port()
}

async fn drain(mut body: Incoming) -> Result<(), Failed> {
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        frame.map_err(|e| talking(&e))?;
    }
    Ok(())
}

fn talking(error: &hyper::Error) -> Failed {
    if let Some(io) = error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        return Failed::talking(io);
    }
    let closed = error.is_closed() || error.is_canceled() || error.is_incomplete_message();
    let kind = match (closed, error.is_parse()) {
        (true, _) => Failure::Closed,
        (_, true) => Failure::Protocol,
        _ => Failure::Io,
    };
    Failed::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(location: &str) -> Result<String, String> {
        let from = "/a/b?c=1".parse().expect("a path");
        let server = SocketAddr::from(([127, 0, 0, 1], 80));
        redirected(&from, location.as_bytes(), server).map(|uri| uri.to_string())
    }

    #[test]
    fn redirects_within_the_server_are_followed() {
        for (location, path) in [
            ("/x?y=1#z", "/x?y=1"),
            ("x", "/a/x"),
            ("?y=2", "/a/b?y=2"),
            ("/login?next=http://127.0.0.1/a", "/login?next=http://127.0.0.1/a"),
            ("http://127.0.0.1:80/x", "/x"),
            ("http://127.0.0.1/x", "/x"),
            ("HTTP://127.0.0.1?y=1", "/?y=1"),
            ("http://127.0.0.1:80", "/"),
            ("http://localhost:80/x", "/x"),
            ("//localhost/x", "/x"),
        ] {
            assert_eq!(to(location), Ok(path.to_owned()), "{location}");
        }
    }

    #[test]
    fn other_servers_are_not_asked() {
        for location in [
            "http://127.0.0.1:81/x",
            "http://127.0.0.2/x",
            "https://127.0.0.1:80/",
            "http://evil.example/",
            "//evil.example/",
            "http://127.0.0.1@evil.example/",
        ] {
            assert!(to(location).is_err_and(|why| why.contains("another server")), "{location}");
        }
        for location in ["/a b", "http:", "mailto:a"] {
            assert!(to(location).is_err(), "{location}");
        }
    }
}
