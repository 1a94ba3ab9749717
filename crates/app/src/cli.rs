//! The command line: syntax only. What a command does is in `cmd`. `xtask/src/pages.rs` compiles
//! this module, too, to make manual pages and completions: it uses clap and `hugewise-base` only.

mod bill;
mod count;
mod daemon;
mod duration;
mod history;
mod hugetlb;
mod investigate;
mod lab;
mod limit;
mod pids;
mod placement;
mod places;
mod response;
mod serve;
mod thp;
mod top;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

pub(crate) use bill::BillArgs;
use count::at_least_one;
pub(crate) use daemon::DaemonArgs;
pub(crate) use duration::duration;
pub(crate) use history::{PastArgs, RecordArgs};
pub(crate) use hugetlb::{
    HugetlbApplyArgs, HugetlbCommand, HugetlbInputs, HugetlbPlanArgs, HugetlbRevertArgs,
    HugetlbVerifyArgs,
};
pub(crate) use investigate::{InvestigateCommand, InvestigatePlanArgs, InvestigateRunArgs};
pub(crate) use lab::{
    LabCommand, LabCompareArgs, LabExperiment, LabListArgs, LabReportArgs, LabRunArgs,
    LabSetupArgs, LabSignaturesArgs,
};
pub(crate) use limit::LimitArgs;
pub(crate) use pids::{Pids, pids};
pub(crate) use placement::PlacementArgs;
pub(crate) use places::{HISTORY_DIR, STATE_DIR};
pub(crate) use response::ResponseArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use thp::{ThpCommand, ThpRevertArgs, ThpSetArgs, ThpShowArgs};
pub(crate) use top::TopArgs;

/// Huge pages, used wisely: gives huge pages to well-used memory of running programs, in the
/// background and within budgets, and finds out why a machine burns CPU time in the kernel.
#[derive(Debug, Parser)]
#[command(name = "hugewise", version)]
#[command(after_help = "Exit codes: 0 done, 1 error, 2 usage, 3 warnings found, 4 critical \
findings, 5 partial, 6 refused by a safety rule.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the help of a command ends with that has no codes of its own.
const EXIT_CODES: &str = "Exit codes: 0 done, 1 error, 2 usage, 5 partial, 6 refused by a safety \
rule.";

/// The command line, read.
///
/// # Errors
/// What is wrong with it, or the help that it asks for.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let mut command = with_exit_codes(Cli::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
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
pub(crate) struct Global {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colour (NO_COLOR is honoured by 'auto')
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Read copies of /proc and /sys below this directory instead; changes nothing
    #[arg(long, global = true, default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// What this kernel and these privileges allow, and what hugewise does without the rest
    Doctor,
    /// Demonstrate hugewise on a bundled workload, against THP 'never' and 'always', in two minutes
    Try(TryArgs),
    /// Huge pages of the machine and of its largest processes; what limits a running manager
    Status(StatusArgs),
    /// Machine, programs, manager and findings on a screen that goes on
    Top(TopArgs),
    /// Record machine and programs: a history to go back in, or a file to diagnose elsewhere
    Record(RecordArgs),
    /// A process's address space as a picture: one cell per region
    Map(MapArgs),
    /// Machine, manager, programs and cgroups as metrics for Prometheus
    Metrics(MetricsArgs),
    /// A web page of machine, programs and manager, and metrics for Prometheus, over HTTP
    Serve(ServeArgs),
    /// Promote well-used memory in the background
    Manage(ManageArgs),
    /// Stop acting until 'resume'; the manager keeps observing
    Pause(DaemonArgs),
    /// Act again after 'pause'
    Resume(DaemonArgs),
    /// Put back every kernel setting that a killed manager left changed ('--all': HugeTLB, too)
    Revert(RevertArgs),
    /// Repeat the decisions of a recording and compare them
    Replay(ReplayArgs),
    /// Why a machine burns CPU in the kernel, waits or stalls: live, or from recordings
    Diagnose(DiagnoseArgs),
    /// Where the time of requests passes, and when it is slow, from access logs
    Response(ResponseArgs),
    /// What memory, stalls and speed would be under never, always, HugeTLB and the manager
    Bill(BillArgs),
    /// Which of several hosts is out of line, by which program, and what a move would give
    Placement(PlacementArgs),
    /// At which rate a server on this machine is full, what is full then, and what comes next
    Limit(LimitArgs),
    /// Size HugeTLB pools for databases, Java and virtual machines; apply, verify, revert
    #[command(subcommand)]
    Hugetlb(HugetlbCommand),
    /// Show and change the settings of transparent huge pages, with a way back
    #[command(subcommand)]
    Thp(ThpCommand),
    /// Compare settings on this machine: interleaved runs, statistics, a report
    #[command(subcommand)]
    Lab(LabCommand),
    /// Find the cause of a slow service: hypotheses, put to the test by changes that are undone
    #[command(subcommand)]
    Investigate(InvestigateCommand),
    /// Every question that 'diagnose' asks, with its thresholds and remedies, as Markdown
    Rules,
    /// Show or check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// A small program to look at, for examples, probes and experiments; changes no setting
    Workload(WorkloadArgs),
}

/// Arguments of `try`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hugewise try                  # two minutes; a report\n  \
hugewise try --simulate       # without root, changes nothing")]
pub(crate) struct TryArgs {
    /// Where the report goes; '-' is standard output
    #[arg(long, default_value = "hugewise-try.html", value_name = "FILE")]
    pub(crate) report: PathBuf,
    /// Memory of the workload, e.g. 512MiB (default: what fits this machine, at most 384MiB)
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Rounds of never, always and hugewise, interleaved
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) rounds: u32,
    /// Run on the simulator, as without root or huge pages
    #[arg(long)]
    pub(crate) simulate: bool,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hugewise status               # machine, programs, manager\n  \
hugewise status --pid 812     # all memory of one program\n  hugewise status --explain 812 # why \
its memory is as it is, in words\n  hugewise status --sort known_bloat --filter 'anon>1GiB'\n  \
hugewise status --json | jq .manager"
)]
pub(crate) struct StatusArgs {
    /// Number of processes to show
    #[arg(long, short = 'n', default_value = "10", value_name = "N", value_parser = at_least_one)]
    pub(crate) top: usize,
    /// Only these processes (repeat, or separate by commas or blanks)
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<Pids>,
    /// Say in words why the memory of one process is huge, waiting, small or given back
    #[arg(long, value_name = "PID", conflicts_with = "pid")]
    pub(crate) explain: Option<u32>,
    /// Columns of the table, such as pid,name,huge,promoted ('--json' lists all below 'fields')
    #[arg(long, value_name = "FIELDS", conflicts_with = "explain")]
    pub(crate) fields: Option<String>,
    /// Sort by a field, the largest first; FIELD:asc, the smallest first
    #[arg(long, value_name = "FIELD", conflicts_with = "explain")]
    pub(crate) sort: Option<String>,
    /// Only processes for which this holds, such as anon>1GiB, huge_percent<50, name=redis (repeat
    /// for more)
    #[arg(long, value_name = "TEST", conflicts_with = "explain")]
    pub(crate) filter: Vec<String>,
    /// Directory in which a manager keeps old values of settings
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub(crate) state_dir: PathBuf,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgs,
    #[command(flatten)]
    pub(crate) past: PastArgs,
}

/// Arguments of `map`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hugewise map 812\n  hugewise map 812 --svg map.svg")]
pub(crate) struct MapArgs {
    /// The process
    pub(crate) pid: u32,
    /// Write a picture to this file; '-' is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Cells per line (default: what fits the terminal, at most 64)
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) width: Option<usize>,
    /// Read samples of the process's memory: how much of its huge pages is zeros
    ///
    /// Reads 32 of 512 base pages of every huge region. It checks only whether a page is all
    /// zeros, and stores nothing.
    #[arg(long)]
    pub(crate) sample: bool,
}

/// Arguments of `metrics`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hugewise metrics                          # as Prometheus reads \
them\n  hugewise metrics --output ./hugewise.prom # a file for node_exporter"
)]
pub(crate) struct MetricsArgs {
    /// Write to this file, which is replaced as a whole; '-' is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Write OpenMetrics
    #[arg(long, conflicts_with = "json")]
    pub(crate) openmetrics: bool,
    /// Number of programs and of cgroups: the largest ones
    #[arg(long, short = 'n', default_value = "10", value_name = "N", value_parser = at_least_one)]
    pub(crate) top: usize,
    /// Directory in which a manager keeps old values of settings
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub(crate) state_dir: PathBuf,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgs,
}

/// What `manage` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Faults hand out base pages, hugewise promotes in the background
    Ingens,
    /// The machine keeps its THP setting (always); hugewise takes back what this wastes
    Guard,
    /// Decides and journals, and never acts
    Observe,
}

/// Arguments of `manage`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hugewise manage --dry-run --once          # what it would do\n  \
hugewise manage --pid 812 --once          # one program, as fast as its lock allows\n  \
hugewise manage                           # the daemon; Ctrl-C puts all settings back\n  \
hugewise manage --set controller.lock_share_percent=0.5"
)]
pub(crate) struct ManageArgs {
    /// What to do (default: the configuration's mode, which is 'ingens' unless set)
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// Only these processes (repeat, or separate by commas or blanks)
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<Pids>,
    /// Stop when everything that is eligible now is huge or has a reason not to be; goes as fast as
    /// the programs' locks allow (promote.burst)
    #[arg(long)]
    pub(crate) once: bool,
    /// Stop after this time, e.g. 90s or 10m
    #[arg(long, value_name = "TIME")]
    pub(crate) r#for: Option<String>,
    /// Do everything except the last step: change no setting and no memory
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave all kernel settings as they are
    #[arg(long)]
    pub(crate) keep_settings: bool,
    /// Configuration file (default: /etc/hugewise/hugewise.toml and hugewise.d/*.toml)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set one configuration key, e.g. promote.utilization_percent=80
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Journal file (default: journal.jsonl in the state directory)
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Record everything that is seen, for 'hugewise replay'
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Directory of the settings trail and the journal
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub(crate) state_dir: PathBuf,
    /// Started by an experiment, whose settings are to stand meanwhile
    #[arg(long, hide = true)]
    pub(crate) in_experiment: bool,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgs,
}

/// Arguments of `revert`.
#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub(crate) state_dir: PathBuf,
    /// Show what would be put back
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also what 'hugetlb apply' and 'thp set' changed, and what an experiment that was killed left
    #[arg(long)]
    pub(crate) all: bool,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A file written by 'manage --record'
    pub(crate) file: PathBuf,
    /// Configuration file to decide with
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set one configuration key; 'mode' is the recording's unless it is set
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Arguments of `diagnose`.
#[derive(Debug, Args)]
#[command(after_help = "Understands sar (text of any locale, binary files through an installed \
sadf), sadf -j, -d and -p, atop, atopsar, dstat, top, vmstat, mpstat, iostat, pidstat, iotop, \
nfsiostat, iftop, netstat, ss, nstat, free, ps, ipcs, slabtop, lscpu, numactl -H, numastat, \
turbostat, cpupower, uptime, dmesg, perf report, perf trace -s, strace -c, /proc/meminfo, vmstat, \
interrupts, softirqs, softnet_stat, buddyinfo, zoneinfo, cpuinfo, mdstat, THP settings, files of \
cgroups, mount, df, ethtool, multipath -ll, MegaCli and ssacli, Java GC logs, jstat, INFO, SLOWLOG \
and LATENCY of Redis, views of PostgreSQL by psql, status pages of nginx and php-fpm, and \
what 'hugewise record' wrote: also several in one file, pasted with prompts. Files of \
several machines are compared.\n\n\
Exit codes: 0 nothing found, or notes only (worth knowing, no trouble), 3 warnings, 4 critical \
findings, 5 nothing found and a part of the input was left out, or no question could be \
answered, 1 unreadable input.\n\n\
Examples:\n  hugewise diagnose                 # this machine, ten seconds\n  \
hugewise diagnose sar.txt top.txt # what was recorded or pasted\n  \
hugewise diagnose --follow        # catches what comes and goes\n  \
hugewise diagnose --freezes       # who held the CPU or the memory when all stood still\n  \
hugewise diagnose --at 03:00      # what 'hugewise record' saw then\n  \
hugewise diagnose --fleet hosts/  # one table of all hosts' recordings")]
pub(crate) struct DiagnoseArgs {
    /// Recordings, '-' for standard input (default: watch this machine)
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How long this machine is watched, without FILE (default: 10s, and with --follow or --freezes
    /// until Ctrl-C); with --at: how much of the history around it (default: 10m)
    #[arg(long, value_name = "TIME", conflicts_with = "files")]
    pub(crate) r#for: Option<String>,
    /// Watch this machine, and take a closer look by itself when it draws attention
    ///
    /// That is when CPU time in the kernel, in waiting for disks, in interrupts or in the
    /// hypervisor jumps, stays high or creeps up. Each time it records twenty seconds, keeps them
    /// with the five minutes before, and says what it found.
    #[arg(long, group = "watching", conflicts_with_all = ["files", "report", "explain", "full",
          "tree", "redis"])]
    pub(crate) follow: bool,
    /// Watch this machine for freezes, and say who held the CPU or the memory meanwhile
    ///
    /// Keeps the seconds before and after each freeze. Exit codes: 0 no freeze, 3 some, 5 none, but
    /// not everything could be watched.
    #[arg(long, group = "watching", conflicts_with_all = ["files", "report", "explain", "full",
          "tree", "redis", "fleet", "signatures", "set", "at", "history"])]
    pub(crate) freezes: bool,
    /// The shortest freeze that --freezes reports, at least 20ms
    #[arg(long, default_value = "300ms", value_name = "TIME", requires = "freezes")]
    pub(crate) longer_than: String,
    /// Directory for what --follow and --freezes recorded around an event (default:
    /// hugewise-captures, hugewise-freezes)
    #[arg(long, value_name = "DIR", requires = "watching")]
    pub(crate) keep: Option<PathBuf>,
    /// One table of the findings of many hosts: a directory of their recordings, or a file that
    /// lists them, one path a line
    ///
    /// A directory in it is a history, or holds all files of one host. A host that its
    /// recording does not name is called as the file.
    #[arg(long, value_name = "DIR|LIST")]
    pub(crate) fleet: Option<PathBuf>,
    /// Also write the table of --fleet to this file as Parquet, for DuckDB, Spark or ClickHouse
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) parquet: Option<PathBuf>,
    /// Also ask this Redis or Valkey what it does: a UNIX socket or HOST:PORT; may be repeated
    ///
    /// Read-only: INFO before and after the machine is watched, SLOWLOG GET and LATENCY LATEST. The
    /// password is taken from the environment variable REDISCLI_AUTH. Arguments of commands are not
    /// kept. A server that does not answer is named, and the diagnosis goes on without it.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "files")]
    pub(crate) redis: Vec<String>,
    /// Explain one question of the tree, e.g. kernel.reclaim, or all that start with this name
    #[arg(long, value_name = "NODE")]
    pub(crate) explain: Option<String>,
    /// Show the questions that led to each finding, what was ruled out and what was not observed
    #[arg(long)]
    pub(crate) full: bool,
    /// As --full, with every question, also those that were not asked
    #[arg(long)]
    pub(crate) tree: bool,
    /// Write a report with plots: one HTML file; '-' is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Also say which mixture of stressors the time of the worst finding resembles (all of the
    /// time, where there is none): FILE is what 'hugewise lab signatures' wrote. Not with --follow
    #[arg(long, value_name = "FILE", conflicts_with = "follow")]
    pub(crate) signatures: Option<PathBuf>,
    /// Set one threshold, e.g. kernel_high_percent=20 ('hugewise rules' lists them)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) past: PastArgs,
}

/// What `config` does.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Every key with its value and where that comes from
    Show(ConfigArgs),
    /// Say whether the configuration is valid
    Check(ConfigArgs),
}

/// Which configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file (default: /etc/hugewise/hugewise.toml and hugewise.d/*.toml)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set one configuration key
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Arguments of `workload`.
#[derive(Debug, Args)]
#[command(after_help = "It ends when its standard input does. Example:\n  \
sleep 60 | hugewise workload bloat --kind purge --mib 64 --advise huge\n      \
# fills 64 MiB of huge pages, then frees most of their pieces\n\n\
The other programs and their options belong to the tests, and may change.")]
pub(crate) struct WorkloadArgs {
    /// Which one
    pub(crate) kind: String,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}
