//! Who tells of programs: a running manager, or else a loop of our own that only observes.

mod observer;

use self::observer::Observer;
use crate::abandoned;
use crate::cli::DaemonArgs;
use crate::control::{self, Verb};
use crate::render::view::status::{ManagerState, Occupant};
use hugewise_linux::instance::{Role, held_by};
use hugewise_linux::root::Root;
use hugewise_manager::config::Config;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::status::{ManagerStatus, TargetStatus};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The path of [`ProgramsReport`] among the files of a sample.
pub(super) const FILE: &str = "/hugewise/programs.json";

/// What was told at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ProgramsReport {
    /// What the manager said.
    pub(super) manager: ManagerState,
    /// What we see by ourselves; `None` where a manager runs, and at the beginning.
    pub(super) own: Option<ManagerStatus>,
    /// What could not be seen, one sentence each.
    pub(super) missing: Vec<String>,
}

impl ProgramsReport {
    /// Nobody told of programs.
    pub(super) fn nothing(why: &str) -> Self {
        Self { manager: ManagerState::Unknown, own: None, missing: vec![why.to_owned()] }
    }

    /// The programs, whoever told.
    pub(super) fn programs(&self) -> Option<&ManagerStatus> {
        self.manager.status().or(self.own.as_ref())
    }

    /// Whether no manager told.
    pub(super) const fn is_own(&self) -> bool {
        !matches!(self.manager, ManagerState::Running(_))
    }
}

/// Asks at any moment. A loop of our own begins where no manager runs, and ends where one does.
#[derive(Debug)]
pub(super) struct Teller {
    root: Root,
    daemon: DaemonArgs,
    state_dir: PathBuf,
    observer: Option<Observer>,
}

impl Teller {
    pub(super) fn new(root: &Root, daemon: &DaemonArgs, state_dir: &Path) -> Self {
        let (root, state_dir) = (root.clone(), state_dir.to_path_buf());
        Self { root, daemon: daemon.clone(), state_dir, observer: None }
    }

    /// What is told now.
    pub(super) fn ask(&mut self) -> ProgramsReport {
        if !self.root.is_live() {
            return ProgramsReport::nothing(
                "copies of files have no page tables: programs are not scanned",
            );
        }
        let mut missing = Vec::new();
        let manager = ask_manager(&self.root, &self.daemon, &self.state_dir, &mut missing);
        let own = match manager {
            ManagerState::Running(_) => {
                self.observer = None;
                None
            }
            ManagerState::Absent { .. }
            | ManagerState::Elsewhere { .. }
            | ManagerState::Unknown => self.observed(&mut missing),
        };
        ProgramsReport { manager, own, missing }
    }

    fn observed(&mut self, missing: &mut Vec<String>) -> Option<ManagerStatus> {
        if self.observer.is_none() {
            let config = configuration(&self.root, missing);
            match Observer::start(&self.root, config) {
                Ok(observer) => self.observer = Some(observer),
                Err(error) => missing.push(format!("the processes: {error:#}")),
            }
        }
        self.observer.as_ref()?.status()
    }
}

/// The configuration that a manager would use here: it decides what is eligible and why.
pub(super) fn configuration(root: &Root, missing: &mut Vec<String>) -> Config {
    if !root.is_live() {
        return Config::default();
    }
    match crate::config::load(None, &[]) {
        Ok(loaded) => loaded.config,
        Err(error) => {
            missing.push(format!("the configuration, so its defaults are used: {error:#}"));
            Config::default()
        }
    }
}

/// What a running manager says; what it could not be asked goes to `missing`.
pub(super) fn ask_manager(
    root: &Root,
    daemon: &DaemonArgs,
    state_dir: &Path,
    missing: &mut Vec<String>,
) -> ManagerState {
    if !root.is_live() {
        return ManagerState::Unknown;
    }
    let answer = control::request(&daemon.run_dir, Verb::Status);
    let status = answer.and_then(|json| Ok(json.map(serde_json::from_value).transpose()?));
    match status {
        Ok(Some(status)) => ManagerState::Running(Box::new(status)),
        Ok(None) => occupied()
            .unwrap_or_else(|| ManagerState::Absent { left: abandoned::changed(root, state_dir) }),
        Err(error) => {
            missing.push(format!("the manager's state: {error:#}"));
            ManagerState::Unknown
        }
    }
}

/// What has the machine where no manager listens.
fn occupied() -> Option<ManagerState> {
    let both = [(Role::Lab, Occupant::Experiment), (Role::Manager, Occupant::Manager)];
    both.into_iter().find_map(|(lock, role)| {
        let holder = held_by(lock)?.to_string();
        Some(ManagerState::Elsewhere { role, holder })
    })
}

/// A running manager knows more about its targets than one scan shows: what it promoted, what
/// waits and why.
pub(super) fn merge(processes: &mut [TargetStatus], manager: Option<&ManagerStatus>) {
    let known = manager.map_or(&[][..], |manager| &manager.targets);
    for process in processes {
        let Some(theirs) = known.iter().find(|t| t.pid == process.pid) else {
            // What one scan finds worth doing nobody does.
            for reasons in [&mut process.not_promoted, &mut process.not_split] {
                for wanted in [SkipReason::Scheduled, SkipReason::Settling] {
                    if let Some(n) = reasons.remove(&wanted) {
                        *reasons.entry(SkipReason::Unmanaged).or_default() += n;
                    }
                }
            }
            continue;
        };
        process.limit = theirs.limit;
        process.rate_bytes_per_s = theirs.rate_bytes_per_s;
        process.left_s = theirs.left_s;
        process.promoted = theirs.promoted;
        process.demoted = theirs.demoted;
        process.freed = theirs.freed;
        process.usage.clone_from(&theirs.usage);
        process.unfit.clone_from(&theirs.unfit);
        process.huge_by_us = theirs.huge_by_us;
        process.refused = theirs.refused.or(process.refused);
        if theirs.scanned {
            // Before its first pass it has no reasons yet; ours are better then.
            process.not_promoted.clone_from(&theirs.not_promoted);
            process.not_split.clone_from(&theirs.not_split);
            process.known_bloat = theirs.known_bloat;
            process.bloat = theirs.bloat;
        }
    }
}
