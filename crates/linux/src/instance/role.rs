//! What a lock is for.

use super::holder::Holder;
use hugewise_manager::ownership::THP_DIR;

/// What only one does at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Manages the machine, or puts back what a manager left.
    Manager,
    /// Runs an experiment; a manager may run within.
    Lab,
    /// Sizes HugeTLB pools.
    Pools,
}

impl Role {
    pub(super) const COUNT: usize = 3;

    /// Its lock in the state directory.
    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::Manager => "manager.lock",
            Self::Lab => "lab.lock",
            Self::Pools => "pools.lock",
        }
    }

    /// What nobody does without.
    pub(super) fn needs(self) -> String {
        match self {
            Self::Manager | Self::Lab => format!("{THP_DIR}/enabled"),
            Self::Pools => "sys/kernel/mm/hugepages".into(),
        }
    }

    /// What another one does, and what to do about it.
    pub(super) fn taken(self, holder: &Holder) -> String {
        let (does, todo) = match self {
            Self::Manager => ("manages this machine", "stop it first, or use 'hugewise status'"),
            Self::Lab => ("runs an experiment on this machine", "wait for the end of 'lab run'"),
            Self::Pools => ("is changing the HugeTLB pools", "wait for its end"),
        };
        format!("another hugewise {does} ({holder}): {todo}")
    }

    pub(super) const fn missing(self) -> &'static str {
        match self {
            Self::Manager | Self::Lab => "this kernel has no transparent huge pages",
            Self::Pools => "this kernel has no HugeTLB pages, which needs CONFIG_HUGETLBFS",
        }
    }
}
