//! One half of a look: what it is about, and what it has cost.

use crate::address_space::{self, SpaceFile};
use crate::pages::PageReader;
use crate::root::Root;
use crate::target::Target;
use hugewise_base::units::{Geometry, Ns};
use hugewise_manager::access::AccessAsk;
use hugewise_manager::reason::SkipReason;
use hugewise_sys::cpu;
use std::fs::File;
use std::io;

/// One half of a look: what it is about, what it works with, and what it has cost.
#[derive(Debug)]
pub(super) struct Look<'a> {
    pub(super) root: &'a Root,
    pub(super) geometry: Geometry,
    pub(super) pages: &'a mut PageReader,
    pub(super) target: &'a mut Target,
    pub(super) ask: &'a AccessAsk,
    pub(super) cost: &'a mut Cost,
}

/// What a half of a look has cost.
#[derive(Debug)]
pub(super) struct Cost {
    /// CPU time of this thread when it began, ns.
    pub(super) began: u64,
    /// Time for which the program's mm lock was held for writing.
    pub(super) lock: Ns,
    /// CPU time that others have spent for it.
    pub(super) others: Ns,
}

impl Cost {
    pub(super) fn new() -> Self {
        Self { began: cpu::thread_cpu_time_ns(), lock: Ns(0), others: Ns(0) }
    }

    /// CPU time so far.
    pub(super) fn cpu(&self) -> Ns {
        Ns(cpu::thread_cpu_time_ns().saturating_sub(self.began)) + self.others
    }
}

impl Look<'_> {
    /// CPU time so far is within `bound`.
    pub(super) fn fits(&self, bound: Ns) -> Result<(), SkipReason> {
        if self.cost.cpu() <= bound { Ok(()) } else { Err(SkipReason::TrackingTooExpensive) }
    }

    /// Makes sure that the program is the one that was meant, just before acting.
    pub(super) fn verify(&mut self) -> Result<(), SkipReason> {
        self.target.renew(self.root)
    }

    /// A file of the program's address space.
    pub(super) fn open(&self, file: SpaceFile) -> io::Result<File> {
        address_space::open(self.root, self.target.id.pid, file)
    }
}
