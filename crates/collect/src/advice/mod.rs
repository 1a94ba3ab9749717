//! What rules about products need to know of a live machine: its settings, its programs with their
//! versions, and the files that set settings. What it means is decided in
//! `hugewise_evidence::advice`.

mod machine;
mod owners;
mod packages;
mod processes;
mod versions;

use hugewise_evidence::advice::book::Book;
use hugewise_evidence::advice::facts::{Machine, Process};
use hugewise_linux::root::Root;

pub use owners::statements;
pub use processes::{Keeps, keep_huge};

/// A host, as far as it could be read.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The machine.
    pub machine: Machine,
    /// Its processes, by pid; those of the kernel are left out.
    pub processes: Vec<Process>,
    /// What could not be read: of how many processes, and why.
    pub missing: Vec<String>,
}

/// Reads a host. `pids`: only these; empty: all.
pub fn host(root: &Root, book: &Book, pids: &[u32]) -> Host {
    let machine = machine::machine(root, book);
    let mut missing = Vec::new();
    let mut processes = processes::processes(root, book, &machine, pids, &mut missing);
    versions::find(root, book, &mut processes, &mut missing);
    Host { machine, processes, missing }
}
