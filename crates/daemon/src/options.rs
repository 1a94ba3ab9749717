//! What a manager is asked to do.

use crate::config;
use hugewise_base::owner::Owner;
use hugewise_base::units::Ns;
use hugewise_console::say::note;
use hugewise_linux::root::Root;
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::guarantee;
use std::path::PathBuf;

/// What a manager is asked to do, and where it finds things.
#[derive(Debug, Clone)]
pub struct Options {
    /// Root of `/proc` and `/sys`: only the live one is managed.
    pub root: PathBuf,
    /// No words on standard error beside warnings.
    pub quiet: bool,
    /// The mode; `None`: the configuration's.
    pub mode: Option<Mode>,
    /// Only these processes; empty: all that the configuration selects.
    pub pids: Vec<u32>,
    /// Ends when everything that is eligible now is huge or has a reason not to be.
    pub once: bool,
    /// So much of the programs' memory is to be huge, percent: the loop ends when it is, or cannot
    /// be.
    pub guarantee: Option<f64>,
    /// Ends after this time.
    pub length: Option<Ns>,
    /// Does everything except the last step.
    pub dry_run: bool,
    /// Leaves all kernel settings as they are.
    pub keep_settings: bool,
    /// The configuration file, instead of those in `/etc`.
    pub config: Option<PathBuf>,
    /// Configuration keys, as `KEY=VALUE`.
    pub set: Vec<String>,
    /// The journal, instead of the one in the state directory.
    pub journal: Option<PathBuf>,
    /// Where everything that is seen is recorded, for a replay.
    pub record: Option<PathBuf>,
    /// Directory of the settings trail and the journal.
    pub state_dir: PathBuf,
    /// Directory of the control socket.
    pub run_dir: PathBuf,
    /// Started by an experiment, whose settings stand meanwhile.
    pub in_experiment: bool,
    /// Arguments with which this program is the child that probes the kernel.
    pub probe: &'static [&'static str],
    /// Whose settings an experiment that was killed has left, and where their trails are.
    pub experiments: &'static [(Owner, &'static str)],
}

impl Options {
    /// The configuration, read anew.
    pub(crate) fn load(&self) -> anyhow::Result<Config> {
        let loaded = config::load(self.config.as_deref(), &self.set)?;
        Ok(self.in_force(loaded.config))
    }

    /// What holds for such a run.
    fn in_force(&self, config: Config) -> Config {
        let config = if self.guarantee.is_some() { guarantee::rule(config) } else { config };
        config.in_force(self.once)
    }

    /// The same; what in it is of no use is said once, at the start.
    pub(crate) fn load_at_start(&self, root: &Root) -> anyhow::Result<Config> {
        let loaded = config::load(self.config.as_deref(), &self.set)?;
        config::warnings(root, &loaded).iter().for_each(|warning| note(warning));
        Ok(self.in_force(loaded.config))
    }
}
