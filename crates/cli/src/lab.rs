//! Syntax of `lab`.

use super::limit::LimitArgs;
use super::places::STATE_DIR;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `lab` does.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// The experiments that come with hugewise, and kinds of workloads for your own
    List(LabListArgs),
    /// What an experiment needs and would change here, and how long it takes; changes nothing
    Setup(LabSetupArgs),
    /// Run an experiment, or what is left of it, and report
    Run(LabRunArgs),
    /// Show the verdict and the plots of an experiment again
    Report(LabReportArgs),
    /// Two runs of one experiment side by side, such as before and after an upgrade
    Compare(LabCompareArgs),
    /// Run a stressor of each kind once and keep which counters each moves here, so that
    /// 'diagnose --signatures' can say what a bad time resembles
    Signatures(LabSignaturesArgs),
    /// Find the rate at which a server on this machine is full, what is full then, and what comes
    /// next
    Limit(LimitArgs),
    /// Show a log of stages: goal, change, before, after, proof
    Stages(LabStagesArgs),
    /// Compare policies on simulated machines; needs no rights and changes nothing
    Simulate(LabSimulateArgs),
    /// A small program to look at, for examples, probes and experiments; changes no setting
    Workload(WorkloadArgs),
}

/// Arguments of `lab list`.
#[derive(Debug, Args)]
pub struct LabListArgs {
    /// Explain a kind of workload: its parameters and metrics
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
}

/// Which experiment.
#[derive(Debug, Args)]
pub struct LabExperiment {
    /// A name of 'hugewise lab list', or a file (with a '/' or ending in .toml)
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: String,
    /// Less of everything, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Only these variants, the baseline among them (repeat or separate by commas)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub variant: Vec<String>,
    /// Only these workloads of a suite, such as 'no-regret' (repeat or separate by commas)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub workload: Vec<String>,
    /// Repetitions of every variant (default: as the file says)
    #[arg(long, value_name = "N")]
    pub repetitions: Option<u32>,
}

/// Arguments of `lab setup`.
#[derive(Debug, Args)]
pub struct LabSetupArgs {
    #[command(flatten)]
    pub which: LabExperiment,
    /// Write the experiment's file here, to make it your own
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// How an experiment or a ledger is run.
#[derive(Debug, Args)]
pub struct TrialArgs {
    /// Seed of the order and of the workloads (default: another one each time)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Allow settings that affect every program on the machine, such as 'enabled'
    #[arg(long)]
    pub machine_wide: bool,
    /// Say what would be changed, in how many runs and how long; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    /// Also add what came of it to this log of stages ('hugewise lab stages FILE' shows it)
    #[arg(long, value_name = "FILE")]
    pub stages: Option<PathBuf>,
}

/// Arguments of `lab run`.
#[derive(Debug, Args)]
pub struct LabRunArgs {
    #[command(flatten)]
    pub which: LabExperiment,
    /// Directory of the results (default: hugewise-lab/NAME). An experiment that was interrupted
    /// there is continued
    #[arg(long, short = 'o', value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Begin no run that would be over later than in this time, e.g. 30m or 2h; the same command
    /// continues (default of 'no-regret --quick': 30m)
    #[arg(long, value_name = "TIME")]
    pub r#for: Option<String>,
    /// Measure even if others keep the machine busy; the result says so
    #[arg(long)]
    pub noisy: bool,
    #[command(flatten)]
    pub trials: TrialArgs,
}

/// Arguments of `lab report`.
#[derive(Debug, Args)]
pub struct LabReportArgs {
    /// Directory that 'lab run' wrote
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print Markdown
    #[arg(long)]
    pub markdown: bool,
}

/// Arguments of `lab compare`.
#[derive(Debug, Args)]
pub struct LabCompareArgs {
    /// Directory of the earlier runs
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// Directory of the later runs
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
}

/// Arguments of `lab signatures`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hugewise lab signatures           # three minutes, all CPUs busy\n  \
hugewise diagnose --signatures hugewise-lab/signatures.json sar.txt\n  hugewise lab \
signatures --check   # runs them again, alone and two by two: are they found?"
)]
pub struct LabSignaturesArgs {
    /// Where they are kept, and read from with --check; '-' is standard output
    #[arg(long, short = 'o', default_value = "hugewise-lab/signatures.json", value_name = "FILE")]
    pub output: PathBuf,
    /// How long each stressor is watched, in seconds
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = seconds())]
    pub seconds: u64,
    /// Only these stressors (repeat or separate by commas): cpu, io, network, memory, thp, fork
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub only: Vec<String>,
    /// Keep nothing: run each stressor again, alone and with each other one, and loads that none of
    /// them is; say which of the kept signatures each resembles
    #[arg(long)]
    pub check: bool,
    /// Measure even if others keep the machine busy; the result says so
    #[arg(long)]
    pub noisy: bool,
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
}

/// As many as give two samples, up to ten minutes of each.
fn seconds() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=600)
}

/// Arguments of `lab stages`.
#[derive(Debug, Args)]
#[command(
    after_help = "'lab limit', 'lab run' and 'investigate run' add a line for each change by \
--stages FILE.\n\nExit codes: 0 done, 5 a line is no stage, 1 unreadable.\n\nExamples:\n  \
hugewise lab limit http://127.0.0.1:8080/item --stages shop.stages --change 'as it is'\n  \
hugewise lab stages shop.stages --html shop.html"
)]
pub struct LabStagesArgs {
    /// The log
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write a page with a graph of each goal over the days: one HTML file; '-' is standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Arguments of `lab simulate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hugewise lab simulate --scenario hot-tail\n  \
hugewise lab simulate --policy worth,utilization --seed 7 --json")]
pub struct LabSimulateArgs {
    /// Only these policies (repeat or separate by commas): linux-always, khugepaged, freebsd,
    /// hawkeye, paper, utilization, worth
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub policy: Vec<String>,
    /// Only these scenarios (repeat or separate by commas): hot-tail, sparse, deleted, scarce,
    /// uniform, skewed
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub scenario: Vec<String>,
    /// Seed of the machines
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}

/// Arguments of `lab workload`.
#[derive(Debug, Args)]
#[command(after_help = "It ends when its standard input does. Example:\n  \
sleep 60 | hugewise lab workload bloat --kind purge --mib 64 --advise huge\n      \
# fills 64 MiB of huge pages, then frees most of their pieces\n\n\
The other programs and their options belong to experiments, and may change.")]
pub struct WorkloadArgs {
    /// Which one
    pub kind: String,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
}
