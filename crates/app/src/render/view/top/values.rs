//! What `top` shows at one moment.

use crate::render::view::map::space::Map;
use crate::render::view::status::View;
use hugewise_manager::status::CgroupStatus;

/// Everything on the screen that is not the user's choice.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    /// The machine's name.
    pub(crate) host: String,
    /// The time of day.
    pub(crate) time: String,
    /// CPUs of the machine.
    pub(crate) cpus: Option<usize>,
    /// What they did since the moment before.
    pub(crate) cpu: Option<CpuSplit>,
    /// Machine, manager and processes, as `status` has them.
    pub(crate) view: View,
    /// cgroups of the processes.
    pub(crate) groups: Vec<CgroupStatus>,
    /// No manager tells of the processes: `top` scans them itself.
    pub(crate) own: bool,
    /// The region map.
    pub(crate) map: MapPane,
    /// The diagnosis.
    pub(crate) report: Report,
    /// Which of the recorded moments this is; `None`: it is now.
    pub(crate) past: Option<PastAt>,
}

/// A moment among those that were recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastAt {
    /// From 1.
    pub(crate) number: usize,
    /// How many there are.
    pub(crate) count: usize,
    /// The time of the first.
    pub(crate) first: String,
    /// The time of the last.
    pub(crate) last: String,
    /// One follows the other by itself.
    pub(crate) playing: bool,
    /// Why it is not the moment that was asked for.
    pub(crate) problem: Option<String>,
}

/// Shares of all CPUs' time, percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CpuSplit {
    /// In programs.
    pub(crate) user: f64,
    /// In the kernel, without interrupts.
    pub(crate) system: f64,
    /// In interrupts.
    pub(crate) interrupts: f64,
    /// Idle while a disk request was pending.
    pub(crate) iowait: f64,
    /// Taken by the hypervisor.
    pub(crate) steal: f64,
    /// Idle.
    pub(crate) idle: f64,
}

/// The region map of a process.
#[derive(Debug, Clone)]
pub(crate) enum MapPane {
    /// None was chosen.
    Nobody,
    /// It cannot be drawn; why.
    Refused(String),
    /// As it was seen.
    ManagerState(Box<Map>),
}

/// A diagnosis of this machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Report {
    /// Nobody asked for one.
    None,
    /// The machine is being watched, for so many seconds more.
    Running(u64),
    /// What was found.
    Done {
        /// When.
        time: String,
        /// The most important first.
        findings: Vec<FindingLine>,
    },
    /// It failed.
    Failed(String),
}

/// A finding in few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FindingLine {
    /// `critical`, `warning` or `note`.
    pub(crate) severity: String,
    /// The cause in a sentence.
    pub(crate) title: String,
    /// What shows it.
    pub(crate) evidence: Vec<String>,
    /// What to do first.
    pub(crate) remedy: Option<String>,
}
