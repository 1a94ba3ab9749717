//! Puts a server under load: with an open model of our own, with Gatling, or with a command of the
//! user's.
//! The model, and what is counted, is `hugewise_experiment::load`.

mod command;
mod foreign;
mod generator;
mod progress;
mod tools;

#[cfg(test)]
mod tests;

use generator::Door;
use hugewise_experiment::load::{LoadResult, LoadSpec, Tool};
use hugewise_linux::nobody::Nobody;
pub use progress::{BEAT, Beat, Progress};
use std::fmt;

/// What a load needs that does not stand in its file.
#[derive(Clone, Default)]
pub struct Access {
    /// What Redis wants to hear first.
    pub password: Option<String>,
    /// The user that an external generator runs as; `None`: who runs hugewise.
    pub user: Option<Nobody>,
}

impl fmt::Debug for Access {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Runs a load to the end of its steps. Answers are waited for until the timeout of the last
/// request.
pub fn run(spec: &LoadSpec, access: &Access, beat: &mut Beat<'_>) -> anyhow::Result<LoadResult> {
    match spec.sender() {
        Tool::Command => command::run(spec, access.user, beat),
        Tool::Gatling => tools::run(spec, access.user, beat),
        Tool::Own => {
            let (target, profile) = spec.check()?;
            let door = Door { target, password: access.password.clone() };
            generator::run(spec, &door, &profile, beat)
        }
    }
}
