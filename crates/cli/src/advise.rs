//! Syntax of `advise`.

use super::bill::BillArgs;
use super::pids::Pids;
use super::places::STATE_DIR;
use super::revert::SettingsRevertArgs;
use super::values::percent;
use clap::{Args, Subcommand, ValueEnum};
use hugewise_base::size::{Size, with_unit};
use std::path::PathBuf;

/// `advise` compares this host with what its products want, unless it is given something else to
/// do.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AdviseLine {
    #[command(subcommand)]
    pub command: Option<AdviseCommand>,
    #[command(flatten)]
    pub args: AdviseArgs,
}

/// What else `advise` does.
#[derive(Debug, Subcommand)]
pub enum AdviseCommand {
    /// List all rules: product, versions, setting, accepted values, source
    List(AdviseRulesArgs),
    /// Show rules in full: why, under which conditions, how to check, how to comply
    Show(AdviseShowArgs),
    /// Check files of rules: form, dates, sources, contradictions, examples
    Lint(AdviseLintArgs),
    /// Change what the rules of running products ask for, with the least reach
    Apply(AdviseApplyArgs),
    /// Compare what 'apply' changed with what is there now
    Verify(AdviseVerifyArgs),
    /// Put back what 'apply' changed, files to the byte
    Revert(SettingsRevertArgs),
    /// Run one program under its own policy of transparent huge pages
    Run(AdviseRunArgs),
    /// Say how much of a new virtual machine, or of any program, would be huge here
    Place(AdvisePlaceArgs),
}

/// Arguments of `advise`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 this host is as its products demand, 1 error, 2 usage, 3 a \
demand is not satisfied, 5 something could not be read.\n\nExamples:\n  \
hugewise advise                   # is this host as its products want it?\n  \
hugewise advise --pid 812         # one program\n  \
hugewise advise --estimate before # what each way to have huge pages would cost\n  \
hugewise advise show mongodb      # the rules of a product\n  \
hugewise advise apply --dry-run   # what would be changed, and which processes it touches\n  \
hugewise advise run --thp never -- redis-server --port 7000")]
pub struct AdviseArgs {
    /// Only these processes (repeat, or separate by commas or blanks)
    #[arg(long, value_name = "PID")]
    pub pid: Vec<Pids>,
    /// Also products that no rule is known for, and settings that are as they should be
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub rules: AdviseRulesArgs,
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    #[command(flatten)]
    pub bill: BillArgs,
}

/// Which rules count.
#[derive(Debug, Args)]
pub struct AdviseRulesArgs {
    /// Directory of rules beside the built-in ones; a rule replaces one of the same id (repeatable;
    /// default: /usr/share/hugewise/rules.d, then /etc/hugewise/rules.d)
    #[arg(long, value_name = "DIR")]
    pub rules: Vec<PathBuf>,
}

/// Arguments of `advise show`.
#[derive(Debug, Args)]
pub struct AdviseShowArgs {
    /// Ids of rules or products, as 'advise list' has them
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub rules: AdviseRulesArgs,
}

/// Arguments of `advise lint`.
#[derive(Debug, Args)]
pub struct AdviseLintArgs {
    /// Files or directories (default: the built-in rules, /usr/share/hugewise/rules.d and
    /// /etc/hugewise/rules.d)
    #[arg(value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
}

/// Arguments of `advise apply`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 done, 1 error, 2 usage, 5 something is left to do by hand, \
6 refused by a safety rule.\n\nExamples:\n  \
hugewise advise apply --dry-run\n  hugewise advise apply \
--product redis,postgresql\n  hugewise advise apply --persist")]
pub struct AdviseApplyArgs {
    /// Only these products (repeat, or separate by commas)
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub product: Vec<String>,
    /// Also write tmpfiles.d and sysctl.d, so that settings survive a reboot
    #[arg(long)]
    pub persist: bool,
    /// Do everything except the last step: change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub rules: AdviseRulesArgs,
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
}

/// Arguments of `advise verify`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 everything is as 'apply' set it, 1 error, 2 usage, 3 \
something is not.")]
pub struct AdviseVerifyArgs {
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
}

/// A program's own policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThpArg {
    /// No transparent huge pages, whatever the global mode
    Never,
    /// Only where the program asks for them
    Madvise,
    /// Wherever the program's own switch gives them; else as 'managed'
    Always,
    /// In the background, by a manager
    Managed,
}

/// Arguments of `advise run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: that of the program; 1 it cannot be started, 2 usage, 6 the policy \
cannot be had here. With --show: 0 shown, 5 it cannot say all of it.\n\n\
Examples:\n  hugewise advise run --thp never -- redis-server --port 7000\n  \
hugewise advise run --thp always -- java -Xmx4g -jar shop.jar\n  hugewise advise run --thp always \
--show unit -- /usr/bin/mongod --config /etc/mongod.conf"
)]
pub struct AdviseRunArgs {
    /// The program's own policy
    #[arg(long, value_enum, value_name = "POLICY")]
    pub thp: ThpArg,
    /// Start nothing: print it as a systemd drop-in, or as environment of a container
    #[arg(long, value_enum, value_name = "FORM")]
    pub show: Option<ShowArg>,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub command: Vec<std::ffi::OsString>,
}

/// Arguments of `advise place`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 as much as wanted is expected to be huge, 1 error, 2 usage, \
3 less is, 5 something could not be read, which makes the interval wider.\n\nExamples:\n  \
hugewise advise place 4G\n  hugewise advise place 4GiB --node 1 --guarantee 99\n  \
hugewise --root capture advise place 512M"
)]
pub struct AdvisePlaceArgs {
    /// Its memory, such as 4G or 512MiB
    #[arg(value_name = "SIZE", value_parser = with_unit)]
    pub size: Size,
    /// It is bound to this NUMA node
    #[arg(long, value_name = "N")]
    pub node: Option<u32>,
    /// So much of it is wanted in huge pages, percent
    #[arg(long, default_value = "95", value_name = "PERCENT", value_parser = percent)]
    pub guarantee: f64,
}

/// A form in which a policy can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowArg {
    /// A drop-in of a systemd unit
    Unit,
    /// Environment of a container (lines NAME=VALUE)
    Container,
}
