//! What a log of Gatling tells of one request.

use hugewise_base::units::Ns;

/// A request that somebody's own simulation sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// What the simulation calls it.
    pub name: String,
    /// When it was answered, or failed: milliseconds since 1970.
    pub end_ms: i64,
    /// How long that took.
    pub length: Ns,
    /// Whether the simulation says that it went well.
    pub ok: bool,
}
