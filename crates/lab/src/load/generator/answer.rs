//! A request and its answer, whatever the target speaks.

use hugewise_experiment::load::Failure;
use std::io;

/// Why a request failed, and what was said about it.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) kind: Failure,
    pub(super) quote: Option<String>,
}

impl Failed {
    pub(super) fn new(kind: Failure, quote: impl Into<String>) -> Self {
        Self { kind, quote: Some(quote.into()) }
    }

    /// An error while connecting.
    pub(super) fn connecting(error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Failure::Refused,
            _ => Failure::Connect,
        };
        Self::new(kind, error.to_string())
    }

    /// An error while sending or receiving.
    pub(super) fn talking(error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => Failure::Closed,
            _ => Failure::Io,
        };
        Self::new(kind, error.to_string())
    }

    /// Whether the connection can take another request.
    pub(super) const fn is_answered(&self) -> bool {
        matches!(self.kind, Failure::Status | Failure::Server)
    }
}

/// What is asked of Redis. HTTP has one question only.
#[derive(Debug)]
pub(super) enum Ask<'a> {
    Get(u64),
    Set(u64, &'a [u8]),
}

/// A good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It holds what was asked for.
    Found,
    /// There is no such key.
    Missing,
    /// It was done.
    Done,
}
