//! Load with an open model: every request has an intended start, given by a profile and by
//! nothing that the server does.
//!
//! A closed loop asks again when it was answered, so a server that stalls for a second delays
//! the very requests that would have shown it ("coordinated omission", Gil Tene). Here a request
//! whose time has come waits for a free connection, and the wait is part of its latency; the
//! time between its real sending and its answer is kept apart as service time.
//!
//! Reading order: [`profile`] (steps), [`arrivals`] (intended starts), [`spec`] (what a user
//! writes), [`outcome`] (what is counted), [`knee`] (where a server saturates), [`gatling`] (the
//! load generator of others), [`command`] (the team's own tool, whatever it is).

pub mod arrivals;
pub mod command;
pub mod gatling;
pub mod knee;
pub mod number;
pub mod outcome;
pub mod profile;
pub mod sent;
pub mod spec;
pub mod target;

pub use arrivals::{Arrival, Arrivals};
pub use outcome::{Failure, LoadResult, Recorder};
pub use profile::{Phase, Profile, Shape, Who};
pub use spec::{ArrivalKind, LoadSpec, Operations, ThinkTime, Tool};
pub use target::Target;
