//! A stressor by itself, for as long as it is wanted.

use crate::beside::{self, Beside};
use crate::session::Session;
use hugewise_experiment::kind::Values;
use hugewise_experiment::spec::{HugePages, Workload};
use std::path::Path;

/// A stressor that runs; it ends when this is dropped.
#[derive(Debug)]
pub struct Stressor(Beside);

impl Stressor {
    /// Starts one: a kind with its parameters, and what it does about huge pages. It has filled
    /// its memory and begun to work when this returns. What it writes is in `scratch`, a directory
    /// of its own.
    ///
    /// # Errors
    /// Why it does not run here, with its last words; after Ctrl-C.
    pub fn start(
        (kind, params, huge_pages): (&str, Values, HugePages),
        session: &mut Session,
        label: &str,
        scratch: &Path,
    ) -> anyhow::Result<Self> {
        let part = Workload { kind: kind.to_owned(), params };
        Ok(Self(beside::stress(&part, huge_pages, session, label, scratch)?))
    }

    /// An error when it has ended by itself, with its last words.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.0.check()
    }
}
