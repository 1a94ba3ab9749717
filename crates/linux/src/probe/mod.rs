//! What this kernel and these privileges allow: probed once, without side effects.
//!
//! Files are read through a [`Root`]. On the live machine a child process lends two regions of
//! its own memory, and the kernel shows on them what it really does: versions lie (distributions
//! carry features back), an accepted system call proves little, and a success may mean nothing
//! happened. Nothing is written and no setting is changed.

mod cgroup;
mod child;
mod container;
mod damon;
mod files;
mod finding;
mod functional;
mod nodes;
mod privileges;
mod table;
#[cfg(test)]
mod tests;
mod tier;

pub use cgroup::{CgroupVersion, MemoryLimit, OwnCgroup};
pub use child::ProbeChild;
pub use files::why_not_writable;
pub use finding::{Need, State};
pub use functional::SPARSE_PAGES;
pub use privileges::{Capability, Privileges};
pub use tier::{Facts, Tier, Verdict, verdict};

use crate::root::Root;
use finding::{Finding, Findings};
use hugewise_base::parse::kernel_release;
use hugewise_manager::snapshot::ThpMode;
use serde::Serialize;

/// One mechanism of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mechanism {
    /// Stable name, for JSON and scripts.
    pub key: &'static str,
    /// Whether it is there.
    #[serde(flatten)]
    pub state: State,
    /// A value or measurement worth seeing.
    pub detail: Option<String>,
    /// How much it is needed.
    pub need: Need,
    /// What hugewise does with it.
    pub used_for: &'static str,
    /// What hugewise does without it.
    pub without: &'static str,
}

/// Everything that a probe found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Features {
    /// As `uname -r` prints it; `None` where it cannot be read.
    pub kernel_release: Option<String>,
    /// Its first two numbers.
    pub kernel_version: Option<(u32, u32)>,
    /// The tier, and why it is not proven if it is not.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The THP mode in force; `None`: no THP, or unreadable.
    pub thp_mode: Option<ThpMode>,
    /// All mechanisms, in a fixed order.
    pub mechanisms: Vec<Mechanism>,
    /// Who we are.
    pub privileges: Privileges,
    /// Kernel lockdown: `none`, `integrity` or `confidentiality`; `None` where it is not shown.
    pub lockdown: Option<String>,
    /// The evidence that we run in a container; `None` when none was found.
    pub container: Option<String>,
    /// The cgroup that this program runs in.
    pub cgroup: OwnCgroup,
    /// Whether the CPU says that it is virtual.
    pub hypervisor: Option<bool>,
}

impl Features {
    /// A mechanism by its key.
    pub fn mechanism(&self, key: &str) -> Option<&Mechanism> {
        self.mechanisms.iter().find(|mechanism| mechanism.key == key)
    }

    /// Whether a mechanism is known to be there.
    pub fn has(&self, key: &str) -> bool {
        self.mechanism(key).is_some_and(|mechanism| mechanism.state == State::Present)
    }
}

/// Probes once. Takes about 10 ms, at most a little more than the child's time limit.
///
/// Never fails: what could not be found out is [`State::Unknown`] with its reason. On another
/// root than the live one the child is not started.
pub fn run(root: &Root, child: &ProbeChild) -> Features {
    let kernel_release = root.read_line("proc/sys/kernel/osrelease").ok();
    let release = kernel_release.as_deref().and_then(|text| kernel_release::parse(text).ok());
    let mut found = files::observe(root, release);
    found.insert("damon", damon::look(root));
    found.insert("numa_nodes", nodes::look(root));
    found.extend(functional::prove(root, child, &found));
    let mechanisms: Vec<Mechanism> = table::MECHANISMS
        .iter()
        .map(|row| {
            let nothing = || Finding::unknown("not looked at");
            let Finding { state, detail } = found.remove(row.key).unwrap_or_else(nothing);
            let table::Row { key, need, used_for, without } = *row;
            Mechanism { key, state, detail, need, used_for, without }
        })
        .collect();
    let unknown = State::Unknown("not looked at".into());
    let state = |key| mechanisms.iter().find(|m| m.key == key).map_or(&unknown, |m| &m.state);
    let verdict = tier::verdict(&Facts {
        thp: state("thp"),
        collapse: state("remote_collapse"),
        scan: state("pagemap_scan"),
        zero_freeing: state("split_frees_zero_pages"),
        release,
    });
    Features {
        kernel_version: release.map(|release| (release.major, release.minor)),
        kernel_release,
        verdict,
        thp_mode: files::thp_files(root).effective().map(|(mode, _)| mode),
        mechanisms,
        privileges: privileges::look(root),
        lockdown: privileges::lockdown(root),
        container: container::evidence(root),
        cgroup: cgroup::own(root),
        hypervisor: container::hypervisor(root),
    }
}

/// Who this process is to the kernel.
pub fn privileges(root: &Root) -> Privileges {
    privileges::look(root)
}

/// What a manager has to know of its kernel before it begins, proven on a child's memory; `None` is
/// what could not be found out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Huge pages can be made from outside a process (Linux 6.1).
    pub promotes: Option<bool>,
    /// Splitting a huge page gives its zero pages back (Linux 6.12).
    pub frees_zeros: Option<bool>,
}

/// Finds them out. Takes about 10 ms.
pub fn abilities(root: &Root, child: &ProbeChild) -> Abilities {
    let found = functional::prove(root, child, &Findings::new());
    let holds = |key| match found.get(key)?.state {
        State::Present => Some(true),
        State::Absent(_) => Some(false),
        State::Refused(_) | State::Unknown(_) => None,
    };
    Abilities { promotes: holds("remote_collapse"), frees_zeros: holds("split_frees_zero_pages") }
}
