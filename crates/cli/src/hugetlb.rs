//! Syntax of `hugetlb`.

use super::pids::Pids;
use super::places::STATE_DIR;
use super::revert::SettingsRevertArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `hugetlb` does.
#[derive(Debug, Subcommand)]
pub enum HugetlbCommand {
    /// How many pages, for which programs, and how much memory remains for others; changes nothing
    Plan(HugetlbPlanArgs),
    /// Give the pools their planned size; old values are kept for 'revert'
    Apply(HugetlbApplyArgs),
    /// Expected against actual: pools, who really uses them, files, page tables
    Verify(HugetlbVerifyArgs),
    /// Put back what 'apply' changed, files to the byte; never takes pages in use
    #[command(
        after_help = "Exit codes: 0 everything is as it was, 5 some pages are still in use or \
something could not be put back: again later, 6 another apply or revert runs, 1 error."
    )]
    Revert(SettingsRevertArgs),
}

/// What to plan for. Without any of the first three: what runs here.
#[derive(Debug, Args)]
pub struct HugetlbInputs {
    /// A shared memory segment that a database will make, e.g. 10G (repeat for several)
    #[arg(long, allow_hyphen_values = true, value_name = "SIZE")]
    pub sga: Vec<String>,
    /// A Java program with -XX:+UseLargePages, by its other flags, e.g. '-Xmx4g
    /// -XX:+UseParallelGC' (repeat for several)
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub java: Vec<String>,
    /// A stopped PostgreSQL server (15 or later), by its data directory: its program is asked
    #[arg(long, value_name = "DIR")]
    pub postgres: Vec<PathBuf>,
    /// Only these processes, and all shared memory of theirs (repeat, or separate by commas or
    /// blanks)
    #[arg(long, value_name = "PID")]
    pub pid: Vec<Pids>,
    /// Extra memory for later needs
    #[arg(long, allow_hyphen_values = true, value_name = "SIZE", default_value = "0")]
    pub headroom: String,
    /// Processes that will attach each segment: what their page tables cost
    #[arg(long, value_name = "N")]
    pub processes: Option<u64>,
    /// Size of the pages, e.g. 1G (default: the machine's, 2M on x86-64)
    #[arg(long, allow_hyphen_values = true, value_name = "SIZE")]
    pub page_size: Option<String>,
    /// NUMA nodes that the new pages come from (default: all, evenly)
    #[arg(long, value_delimiter = ',', value_name = "N")]
    pub node: Vec<u32>,
    /// User who may lock the pool's memory (limits.d)
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// systemd service that may lock the pool's memory (a drop-in with LimitMEMLOCK=)
    #[arg(long, value_name = "NAME.service")]
    pub unit: Vec<String>,
    /// Group whose members may use System V segments of huge pages (vm.hugetlb_shm_group)
    #[arg(long, value_name = "GID")]
    pub shm_group: Option<u32>,
    /// Memory that must remain for everybody else (default: a tenth, at least 256M)
    #[arg(long, allow_hyphen_values = true, value_name = "SIZE")]
    pub leave: Option<String>,
    /// Also give back pages that nobody needs, uses or has reserved
    #[arg(long)]
    pub shrink: bool,
}

/// Arguments of `hugetlb plan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hugewise hugetlb plan\n  \
hugewise hugetlb plan --sga 10G --headroom 2G --processes 300\n  \
hugewise hugetlb plan --java '-Xmx4g -XX:+UseParallelGC'\n  \
hugewise hugetlb plan --sga 10G meminfo-of-another-machine.txt\n\n\
Exit codes: 0 done, 3 the plan cannot be applied as it is, 1 unreadable input, 2 usage.")]
pub struct HugetlbPlanArgs {
    #[command(flatten)]
    pub inputs: HugetlbInputs,
    /// Another machine: its recording ('hugewise record -o') or pasted texts such as /proc/meminfo
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Arguments of `hugetlb apply`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 applied, 5 partial (the kernel granted fewer pages), 6 \
refused (too little memory would remain, or another apply or revert runs), 1 error, 2 usage.")]
pub struct HugetlbApplyArgs {
    #[command(flatten)]
    pub inputs: HugetlbInputs,
    /// Also write sysctl.d, limits.d, tmpfiles.d and unit drop-ins, so that it survives a reboot
    #[arg(long)]
    pub persist: bool,
    /// Do everything except the last step: change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
}

/// Arguments of `hugetlb verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without options it compares with the plan that 'apply' left; with a FILE, \
what pools hold with the segments there.\n\n\
Exit codes: 0 everything is as planned, 3 something is not, 5 something \
is unknown, 1 error, 2 usage."
)]
pub struct HugetlbVerifyArgs {
    /// What was planned for, where it was not applied from --state-dir
    #[command(flatten)]
    pub inputs: HugetlbInputs,
    /// A plan to compare with: the output of 'hugetlb plan --json' from before
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Directory in which 'apply' left its plan
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    /// Another machine: its recording or pasted texts of /proc/meminfo and 'ipcs -m', compared with
    /// the segments in them or with what was planned for
    #[arg(value_name = "FILE", conflicts_with = "plan")]
    pub files: Vec<PathBuf>,
}
