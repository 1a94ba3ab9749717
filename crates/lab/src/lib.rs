//! Experiments on this machine: the only place that opens a network connection.
//!
//! [`engine`] runs the turns of an experiment, [`stage`] prepares the machine for one and puts it
//! back, a [`driver`] runs the workload and measures by means of a [`run`], and [`store`] keeps
//! what came of it. What it means is `hugewise_experiment`'s business. Nothing here prints:
//! a [`session::Progress`] that the caller brings shows what happens.

mod beside;
mod chains;
pub mod change;
pub mod child;
mod counters;
pub mod driver;
mod during;
pub mod engine;
pub mod environment;
pub mod group;
mod guard;
pub mod load;
mod machine;
pub mod manager;
pub mod named_program;
mod permission;
pub mod program;
mod program_output;
pub mod programs;
pub mod redis_says;
pub mod run;
pub mod session;
pub mod settle;
pub mod shipped;
pub mod stage;
pub mod stale;
pub mod store;
pub mod stranger;
pub mod stressor;
mod talk;
