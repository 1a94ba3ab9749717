//! Why a log of Gatling is not understood.

/// Name of the log that Gatling writes.
pub const LOG: &str = "simulation.log";

/// Why a log could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// It ends in the middle of a record, or is something else.
    #[error("{LOG} cannot be read at byte {0}: was Gatling ended early?")]
    Torn(usize),
    /// Written by a version whose log may mean something else.
    #[error("{LOG} was written by Gatling {0}: only 3.15 is understood")]
    Version(String),
}
