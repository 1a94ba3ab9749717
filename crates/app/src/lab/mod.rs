//! `hugewise lab`: experiments on this machine.
//!
//! [`engine`] runs the turns of an experiment, [`stage`] prepares the machine for one and puts it
//! back, a [`driver`] runs the workload and measures by means of a [`run`], and [`store`] keeps
//! what came of it. What it means is `hugewise_core::lab`'s business.

mod beside;
pub(crate) mod driver;
mod during;
pub(crate) mod engine;
pub(crate) mod load;
pub(crate) mod manager;
pub(crate) mod program;
pub(crate) mod protocol;
pub(crate) mod run;
pub(crate) mod shipped;
pub(crate) mod stage;
pub(crate) mod stale;
pub(crate) mod store;
pub(crate) mod talk;
