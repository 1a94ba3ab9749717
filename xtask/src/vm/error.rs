//! Why a guest could not be booted.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine cannot do it; a test skips with the reason.
    #[error("{0}")]
    Unavailable(String),
    /// It should have worked and did not.
    #[error("{0}")]
    Failed(String),
}

pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn failed(what: impl std::fmt::Display) -> Error {
    Error::Failed(what.to_string())
}
