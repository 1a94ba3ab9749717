//! What is put under load: a server on this machine.

use std::fmt;
// `core::net` is addresses alone: sockets are in `std::net`, which this crate does without.
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What may be written; said in every error.
const FORMS: &str = "allowed are 'redis://127.0.0.1:6379', 'redis+unix:///run/redis.sock' and \
     'http://127.0.0.1:8080/path'";

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Redis over TCP.
    Redis(SocketAddr),
    /// Redis over a UNIX socket.
    RedisUnix(String),
    /// A resource that is fetched by HTTP/1.1.
    Http(SocketAddr, String),
}

/// Why a target is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No known form.
    #[error("target '{0}' is not understood: {FORMS}")]
    Form(String),
    /// A name, where an address is needed.
    #[error("target '{0}': the host is an address with a port, or 'localhost'; {FORMS}")]
    Address(String),
    /// Another machine. Its owner was not asked.
    #[error("target '{0}' is not on this machine: only loopback addresses are put under load")]
    Remote(String),
}

impl Target {
    /// Whether it speaks the protocol of Redis.
    pub const fn is_redis(&self) -> bool {
        matches!(self, Self::Redis(_) | Self::RedisUnix(_))
    }
}

impl std::str::FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let shown = || text.chars().take(120).collect::<String>();
        let form = || TargetError::Form(shown());
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(form());
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(form)?;
        match scheme {
            "redis+unix" if rest.starts_with('/') => Ok(Self::RedisUnix(rest.to_owned())),
            "redis" => Ok(Self::Redis(local(rest, 6379, &shown)?)),
            "http" => {
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                Ok(Self::Http(local(host, 80, &shown)?, format!("/{path}")))
            }
            _ => Err(form()),
        }
    }
}

fn local(host: &str, port: u16, shown: &dyn Fn() -> String) -> Result<SocketAddr, TargetError> {
    let numeric = match host.strip_prefix("localhost") {
        Some("") => Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        Some(rest) => format!("127.0.0.1{rest}").parse(),
        None => host.parse(),
    };
    let bare = |_| host.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, port));
    let address = numeric.or_else(bare).map_err(|_| TargetError::Address(shown()))?;
    if address.ip().is_loopback() { Ok(address) } else { Err(TargetError::Remote(shown())) }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redis(address) => write!(f, "redis://{address}"),
            Self::RedisUnix(path) => write!(f, "redis+unix://{path}"),
            Self::Http(address, path) => write!(f, "http://{address}{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_this_machine_are_understood() {
        for (text, want) in [
            ("redis://127.0.0.1:7000", "redis://127.0.0.1:7000"),
            ("redis://localhost", "redis://127.0.0.1:6379"),
            ("redis://[::1]:7000", "redis://[::1]:7000"),
            ("redis+unix:///run/redis.sock", "redis+unix:///run/redis.sock"),
            ("http://localhost:8080/a?b=c", "http://127.0.0.1:8080/a?b=c"),
            ("http://127.0.0.2", "http://127.0.0.2:80/"),
        ] {
            let target = text.parse::<Target>().map(|target| target.to_string());
            assert_eq!(target, Ok(want.to_owned()));
        }
    }

    #[test]
    fn others_are_refused_by_name() {
        let error = |text: &str| text.parse::<Target>().expect_err("refused");
        assert!(matches!(error("redis://10.0.0.1:6379"), TargetError::Remote(_)));
        assert!(matches!(error("http://example.org/"), TargetError::Address(_)));
        assert!(matches!(error("http://localhost:99999/"), TargetError::Address(_)));
        assert!(matches!(error("redis+unix://relative"), TargetError::Form(_)));
        assert!(matches!(error("https://localhost/"), TargetError::Form(_)));
        assert!(matches!(error("http://localhost/a b"), TargetError::Form(_)));
    }
}
