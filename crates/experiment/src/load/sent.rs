//! What results of a load tool tell of one request.

use super::outcome::Failure;
use hugewise_base::units::Ns;

/// A request that somebody's own tool sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// What the tool calls it.
    pub name: String,
    /// When it was answered, or failed: milliseconds since 1970.
    pub end_ms: i64,
    /// How long that took.
    pub length: Ns,
    /// Why it failed, and what was said about it; `None`: the tool says that it went well.
    pub failed: Option<(Failure, String)>,
}
