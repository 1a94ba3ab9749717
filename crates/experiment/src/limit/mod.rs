//! The limit of a server on this machine, and its cause: rates that rise until one is no longer
//! served, and which resource of the machine or of a program is full then. How the use of the other
//! resources grows with the rate says what comes next, and what removing the limit gives at most.
//!
//! Reading order: [`search`] (which rate is tried), [`resource`] (what can be full), [`step`] (what
//! a rate shows), [`fit`] (where a resource is full), [`others`] (what is not of this load),
//! [`judge`] (what the limit is).

mod fit;
pub mod judge;
pub mod others;
pub mod resource;
pub mod search;
pub mod step;

pub use fit::Capacity;
pub use judge::{
    Around, Bounds, Checked, Gain, Judged, Outcome, ResourceUse, check, is_served, judge,
};
pub use others::Others;
pub use resource::{Program, Queue, Resource, Used};
pub use search::Search;
pub use step::{Before, Step};

use serde::{Deserialize, Serialize};

/// Version of [`Limit`] as JSON.
pub const SCHEMA: u32 = 1;

/// The limit of a server: what was tried, and what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Version of this form.
    pub schema: u32,
    /// The server.
    pub target: String,
    /// Connections of the load.
    pub connections: u32,
    /// Length of a step, seconds.
    pub step_s: f64,
    /// What a served rate kept.
    pub bounds: Bounds,
    /// CPUs of the machine.
    pub cpus: Option<u32>,
    /// The machine before the load began; `None` in results of older versions.
    #[serde(default)]
    pub before: Option<Before>,
    /// The rates, in the order in which they were tried.
    pub steps: Vec<Step>,
    /// What they say.
    #[serde(flatten)]
    pub judged: Judged,
    /// What the prediction of an earlier one came to.
    pub checked: Option<Checked>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests;
