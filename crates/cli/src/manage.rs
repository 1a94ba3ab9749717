//! Syntax of `manage`, and of what is asked of a manager.

use super::daemon::DaemonArgs;
use super::pids::Pids;
use super::places::STATE_DIR;
use super::values::{at_least_one, percent};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `manage` runs a manager, unless it is given something else to do.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ManageLine {
    #[command(subcommand)]
    pub command: Option<ManageCommand>,
    #[command(flatten)]
    pub args: ManageArgs,
}

/// What else `manage` does.
#[derive(Debug, Subcommand)]
pub enum ManageCommand {
    /// Make the running manager stop acting until 'manage resume'; it keeps observing
    Pause(DaemonArgs),
    /// Make the running manager act again after 'manage pause'
    Resume(DaemonArgs),
    /// Show or check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print what a manager decided and did
    Journal(JournalArgs),
    /// Repeat the decisions of a recording and compare them
    Replay(ReplayArgs),
}

/// How a manager acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Faults hand out small pages, hugewise promotes in the background
    Ingens,
    /// The machine keeps its THP setting (always); hugewise takes back what this wastes
    Guard,
    /// Faults hand out huge pages while memory is whole; otherwise as 'ingens'
    Auto,
    /// Decides and journals, and never acts
    Observe,
}

/// Arguments of `manage`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 ended as asked, 1 error, 2 usage, 5 the guarantee was not kept, or \
something could not be put back or read, 6 refused by a safety rule.\n\n\
Examples:\n  hugewise manage --dry-run --once          # what it would do\n  \
hugewise manage --pid 812 --once          # one program, as fast as its lock allows\n  \
hugewise manage --pid 812 --guarantee 95  # a virtual machine, or the reason why not\n  \
hugewise manage --give-back --once        # only take back what is wasted\n  \
hugewise manage                           # the daemon; Ctrl-C puts all settings back\n  \
hugewise manage --set controller.lock_share_percent=0.5"
)]
pub struct ManageArgs {
    /// What to do (default: the configuration's mode, which is 'ingens' unless set)
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// Only these processes (repeat, or separate by commas or blanks)
    #[arg(long, value_name = "PID")]
    pub pid: Vec<Pids>,
    /// Stop when everything that is eligible now is huge or has a reason not to be; goes as fast as
    /// the programs' locks allow (promote.burst)
    #[arg(long)]
    pub once: bool,
    /// Make so much of the memory of '--pid' huge, percent, at once: also by making blocks, and
    /// without watching it first; then stop. Meant for a virtual machine that starts
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "pid",
          conflicts_with = "give_back")]
    pub guarantee: Option<f64>,
    /// Promote nothing, only give waste back; in mode 'guard' unless '--mode' says otherwise
    #[arg(long)]
    pub give_back: bool,
    /// Stop after this time, e.g. 90s or 10m
    #[arg(long, value_name = "TIME")]
    pub r#for: Option<String>,
    /// Do everything except the last step: change no setting and no memory
    #[arg(long)]
    pub dry_run: bool,
    /// Leave all kernel settings as they are
    #[arg(long)]
    pub keep_settings: bool,
    /// Configuration file (default: /etc/hugewise/hugewise.toml and hugewise.d/*.toml)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one configuration key, e.g. promote.utilization_percent=80
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Journal file (default: journal.jsonl in the state directory)
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Record everything that is seen, for 'hugewise manage replay'
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Directory of the settings trail and the journal
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    /// Started by an experiment, whose settings are to stand meanwhile
    #[arg(long, hide = true)]
    pub in_experiment: bool,
    #[command(flatten)]
    pub daemon: DaemonArgs,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A file written by 'manage --record'
    pub file: PathBuf,
    /// Configuration file to decide with
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one configuration key; 'mode' is the recording's unless it is set
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// What `config` does.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Every key with its value and where that comes from
    Show(ConfigArgs),
    /// Say whether the configuration is valid
    Check(ConfigArgs),
}

/// Which configuration.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Configuration file (default: /etc/hugewise/hugewise.toml and hugewise.d/*.toml)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one configuration key
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Arguments of `manage journal`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hugewise manage journal                        # the last \
twenty records\n  hugewise manage journal --pid 812 -n 100\n  \
hugewise manage journal --record action --json | jq .outcome")]
pub struct JournalArgs {
    /// The journal (default: journal.jsonl in the state directory)
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Number of records: the last ones
    #[arg(long, short = 'n', default_value = "20", value_name = "N", value_parser = at_least_one)]
    pub last: usize,
    /// Only records of these processes (repeat, or separate by commas or blanks)
    #[arg(long, value_name = "PID")]
    pub pid: Vec<Pids>,
    /// Only records of these kinds, such as action, plan or setting (repeat or separate by commas)
    #[arg(long, value_delimiter = ',', value_name = "KIND")]
    pub record: Vec<String>,
    /// Directory of the journal
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
}
