//! What `status` shows, as values.

use crate::render::view::status::field::Field;
use hugewise_base::units::{Bytes, Geometry, Ns};
use hugewise_manager::snapshot::ThpMode;
use hugewise_manager::status::{LeftAloneStatus, ManagerStatus, TargetStatus};
use serde::{Deserialize, Serialize};

/// What is known about a manager.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ManagerState {
    /// It runs and answered.
    Running(Box<ManagerStatus>),
    /// Nobody listens.
    Absent {
        /// Settings that one which was killed has left changed.
        left: Vec<String>,
    },
    /// Nobody listens, and yet no manager can be started: one that listens elsewhere, or an
    /// experiment, has the machine.
    Elsewhere {
        /// Which of the two.
        role: Occupant,
        /// Its process, as far as it can be seen.
        holder: String,
    },
    /// It could not be asked; the view's `missing` says why.
    Unknown,
}

/// What has the machine where no manager answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Occupant {
    /// `hugewise lab run`: settings are those of its variants.
    Experiment,
    /// A manager with another socket.
    Manager,
}

impl Occupant {
    /// A sentence about it, without its end.
    pub(crate) fn sentence(self, holder: &str) -> String {
        match self {
            Self::Experiment => format!(
                "an experiment runs ('hugewise lab', {holder}): settings are its own until it \
                 ends, and no manager can start"
            ),
            Self::Manager => format!(
                "a manager runs ({holder}), and its socket is elsewhere: give its '--run-dir'"
            ),
        }
    }
}

impl ManagerState {
    /// Its answer.
    pub(crate) fn status(&self) -> Option<&ManagerStatus> {
        match self {
            Self::Running(status) => Some(status),
            Self::Absent { .. } | Self::Elsewhere { .. } | Self::Unknown => None,
        }
    }
}

/// Everything that `status` shows.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Page sizes.
    pub(crate) geometry: Geometry,
    /// The machine.
    pub(crate) machine: Machine,
    /// Processes that were scanned, the largest first.
    pub(crate) processes: Vec<TargetStatus>,
    /// Further processes that are large enough but not shown.
    pub(crate) more: usize,
    /// Large processes that are left alone.
    pub(crate) left_alone: Vec<LeftAloneStatus>,
    /// The manager.
    pub(crate) manager: ManagerState,
    /// What could not be seen, one sentence each; with any, the view is partial.
    pub(crate) missing: Vec<String>,
    /// The columns of the table; none: as usual.
    pub(crate) fields: Vec<&'static Field<TargetStatus>>,
    /// Processes were filtered or sorted by the user.
    pub(crate) chosen: bool,
    /// The moment that it was recorded at; `None`: it is now.
    pub(crate) recorded: Option<Recorded>,
}

/// A moment that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Recorded {
    /// The time.
    pub(crate) at: String,
    /// The machine's name.
    pub(crate) host: String,
}

/// The files that make the THP mode, and what is known about who set them.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ThpSettings {
    /// Path and raw value of each file that could be read.
    pub(crate) files: Vec<(String, String)>,
    /// Places that set them, as far as visible.
    pub(crate) who: Vec<String>,
}

/// Free memory of one zone.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Zone {
    /// NUMA node.
    pub(crate) node: u32,
    /// `DMA32`, `Normal`, ...
    pub(crate) zone: String,
    /// FMFI at huge-page order; `None` when nothing is free.
    pub(crate) fmfi: Option<f64>,
    /// Free blocks, counted in huge pages.
    pub(crate) free_huge: u64,
}

/// A kernel counter.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Counter {
    /// Its name in `/proc/vmstat`.
    pub(crate) name: &'static str,
    /// Since boot.
    pub(crate) total: Option<u64>,
    /// While `status` watched.
    pub(crate) delta: Option<u64>,
}

/// What the machine's section shows.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Machine {
    /// Effective THP mode.
    pub(crate) thp: Option<ThpMode>,
    /// Where it comes from.
    pub(crate) settings: ThpSettings,
    /// `MemTotal`.
    pub(crate) mem_total: Option<Bytes>,
    /// `MemAvailable`.
    pub(crate) mem_available: Option<Bytes>,
    /// `AnonPages`; on Linux it includes the huge ones.
    pub(crate) anon: Option<Bytes>,
    /// `AnonHugePages`.
    pub(crate) anon_huge: Option<Bytes>,
    /// Memory in HugeTLB pools of all sizes.
    pub(crate) hugetlb: Option<Bytes>,
    /// What of the pool of the default size is free, and promised to nobody.
    pub(crate) hugetlb_available: Option<Bytes>,
    /// FMFI over all zones that are a substantial part of their node.
    pub(crate) fmfi: Option<f64>,
    /// Free blocks of huge-page order in the same zones.
    pub(crate) free_huge: Option<u64>,
    /// PSI `some avg10`.
    pub(crate) psi_some_avg10: Option<f64>,
    /// Per zone; `None` where `/proc/buddyinfo` cannot be read.
    pub(crate) zones: Option<Vec<Zone>>,
    /// Counters of the kernel that are worth a look.
    pub(crate) counters: Vec<Counter>,
    /// Time between the two readings of the counters.
    pub(crate) watched: Option<Ns>,
}

impl Machine {
    /// Share of anonymous memory in huge pages.
    pub(crate) fn huge_percent(&self) -> Option<f64> {
        let (all, huge) = (self.anon?, self.anon_huge?);
        (all.0 > 0).then(|| (100.0 * huge.0 as f64 / all.0 as f64).min(100.0))
    }
}
