//! Syntax of `investigate`.

use super::lab::TrialArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `investigate` does.
#[derive(Debug, Subcommand)]
pub enum InvestigateCommand {
    /// A ledger to begin with, from what 'diagnose' finds on this machine or in recordings
    Plan(InvestigatePlanArgs),
    /// Put the hypotheses of a ledger to the test, or what is left of it, and report
    Run(InvestigateRunArgs),
    /// Say again what came of a ledger
    Report(InvestigateReportArgs),
}

/// Arguments of `investigate plan`.
#[derive(Debug, Args)]
pub struct InvestigatePlanArgs {
    /// Files and captures as 'diagnose' reads them (default: this machine is watched for 10 s)
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where the service answers, as http://127.0.0.1:8080/ or redis://127.0.0.1:6379
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
}

/// Arguments of `investigate run`.
#[derive(Debug, Args)]
pub struct InvestigateRunArgs {
    /// The ledger: a file in TOML ('hugewise investigate plan' writes one to begin with)
    #[arg(value_name = "LEDGER")]
    pub ledger: PathBuf,
    /// Directory of the trials (default: hugewise-investigate/NAME). A ledger that was interrupted
    /// there is continued
    #[arg(long, short = 'o', value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub trials: TrialArgs,
}

/// Arguments of `investigate report`.
#[derive(Debug, Args)]
pub struct InvestigateReportArgs {
    /// Directory that 'investigate run' wrote
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}
