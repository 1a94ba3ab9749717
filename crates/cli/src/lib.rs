//! The command line: syntax only. What a command does is in the app, and manual pages and
//! completions are made from this alone.

mod advise;
mod bill;
mod daemon;
mod diagnose;
mod groups;
mod history;
mod hugetlb;
mod investigate;
mod lab;
mod limit;
mod manage;
mod pids;
mod places;
mod response;
mod revert;
mod serve;
mod status;
mod thp;
mod top;
mod values;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

pub use advise::{
    AdviseApplyArgs, AdviseArgs, AdviseCommand, AdviseLine, AdviseLintArgs, AdvisePlaceArgs,
    AdviseRulesArgs, AdviseRunArgs, AdviseShowArgs, AdviseVerifyArgs, ShowArg, ThpArg,
};
pub use bill::BillArgs;
pub use daemon::DaemonArgs;
pub use diagnose::DiagnoseArgs;
pub use history::{PastArgs, RecordArgs};
pub use hugetlb::{
    HugetlbApplyArgs, HugetlbCommand, HugetlbInputs, HugetlbPlanArgs, HugetlbVerifyArgs,
};
pub use investigate::{InvestigateCommand, InvestigatePlanArgs, InvestigateRunArgs};
pub use lab::{
    LabCommand, LabCompareArgs, LabExperiment, LabListArgs, LabReportArgs, LabRunArgs,
    LabSetupArgs, LabSignaturesArgs, LabSimulateArgs, LabStagesArgs, WorkloadArgs,
};
pub use limit::LimitArgs;
pub use manage::{
    ConfigArgs, ConfigCommand, JournalArgs, ManageArgs, ManageCommand, ManageLine, ModeArg,
    ReplayArgs,
};
pub use pids::pids;
pub use places::{HISTORY_DIR, STATE_DIR};
pub use response::ResponseArgs;
pub use revert::SettingsRevertArgs;
pub use serve::{Listen, ServeArgs};
pub use status::{MapArgs, StatusArgs};
pub use thp::{ThpCommand, ThpSetArgs, ThpShowArgs};
pub use top::TopArgs;
pub use values::duration;

/// Huge pages, used wisely: gives huge pages to well-used memory of running programs, in the
/// background and within budgets, and finds out why a machine burns CPU time in the kernel.
#[derive(Debug, Parser)]
#[command(name = "hugewise", version)]
#[command(after_help = "Exit codes: 0 done, 1 error, 2 usage, 3 warnings found, 4 critical \
findings, 5 partial, 6 refused by a safety rule.")]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What the help of a command ends with that has no codes of its own.
const EXIT_CODES: &str = "Exit codes: 0 done, 1 error, 2 usage, 5 partial, 6 refused by a safety \
rule.";

/// The command line, read.
///
/// # Errors
/// What is wrong with it, or the help that it asks for.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let first = std::env::args_os().skip(1).find(|word| !is_option(word));
    let is_first = |name: &str| first.as_ref().is_some_and(|word| word == name);
    let matches = matches.map_err(|error| groups::with_new_name(error, is_first))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// All commands.
fn command() -> clap::Command {
    groups::grouped(with_exit_codes(Cli::command()))
}

/// A command, and all below it, whose help says how it ends. Its manual has a section for that.
fn with_exit_codes(command: clap::Command) -> clap::Command {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = match help.contains("Exit codes") {
        true => command,
        false if help.is_empty() => command.after_help(EXIT_CODES),
        false => command.after_help(format!("{EXIT_CODES}\n\n{help}")),
    };
    command.mut_subcommands(with_exit_codes)
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colour: auto (which honours NO_COLOR), always or never
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN",
          hide_possible_values = true)]
    pub color: Color,
    /// Read copies of /proc and /sys below this directory instead; changes nothing
    #[arg(long, global = true, default_value = "/", value_name = "DIR")]
    pub root: PathBuf,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what this kernel and these privileges allow
    Doctor,
    /// Show what huge pages change, on a bundled program, in 3 minutes
    Try(TryArgs),
    /// Show huge pages of the machine and of its largest processes
    Status(StatusArgs),
    /// Watch machine, programs, manager and findings live
    Top(TopArgs),
    /// Record machine and programs, to go back to any moment later
    Record(RecordArgs),
    /// Serve a web page and metrics for Prometheus over HTTP
    Serve(ServeArgs),
    /// Give huge pages to well-used memory in the background
    Manage(ManageLine),
    /// Put back the kernel settings that a killed manager left changed
    Revert(RevertArgs),
    /// Find out why a machine burns CPU in the kernel, waits or stalls
    Diagnose(DiagnoseArgs),
    /// Find out from access logs where the time of requests goes
    Response(ResponseArgs),
    /// Size HugeTLB pools for databases, Java and virtual machines
    #[command(subcommand)]
    Hugetlb(HugetlbCommand),
    /// Compare settings with what the products on this host want
    Advise(AdviseLine),
    /// Show, change and put back settings of transparent huge pages
    #[command(subcommand)]
    Thp(ThpCommand),
    /// Compare settings on this machine by interleaved runs
    #[command(subcommand)]
    Lab(LabCommand),
    /// Find the cause of a slow service by changes that are undone
    #[command(subcommand)]
    Investigate(InvestigateCommand),
}

/// Arguments of `try`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hugewise try                  # three minutes; a report\n  \
hugewise try --simulate       # without root, changes nothing")]
pub struct TryArgs {
    /// Where the report goes; '-' is standard output
    #[arg(long, default_value = "hugewise-try.html", value_name = "FILE")]
    pub report: PathBuf,
    /// Memory of the workload, e.g. 512MiB (default: what fits this machine, at most 384MiB)
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Rounds of never, always and hugewise, interleaved
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub rounds: u32,
    /// Run on the simulator, as without root or huge pages
    #[arg(long)]
    pub simulate: bool,
}

/// Arguments of `revert`.
#[derive(Debug, Args)]
pub struct RevertArgs {
    #[command(flatten)]
    pub settings: SettingsRevertArgs,
    /// Also what an experiment that was killed left
    #[arg(long)]
    pub experiments: bool,
    /// Also that, and what 'hugetlb apply', 'advise apply' and 'thp set' changed
    #[arg(long)]
    pub all: bool,
}
