//! Syntax of `diagnose`.

use super::history::PastArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `diagnose`.
#[derive(Debug, Args)]
#[command(after_help = "Understands sar (text of any locale, binary files through an installed \
sadf), sadf -j, -d and -p, atop, atopsar, dstat, top, htop, vmstat, mpstat, iostat, pidstat, \
iotop, nfsiostat, iftop, netstat, ss, nstat, ip -s link, ifconfig, conntrack -S, free, ps, ipcs, \
slabtop, lscpu, numactl -H, numastat, turbostat, cpupower, uptime, docker stats, podman stats, \
crictl stats, kubectl top, dmesg, perf report, perf trace -s, perf stat, strace, tools of bcc and \
bpftrace, node_exporter, SHOW PROCESSLIST of MySQL, /proc/meminfo, vmstat, diskstats, slabinfo, \
interrupts, softirqs, softnet_stat, buddyinfo, zoneinfo, cpuinfo, mdstat, THP settings, files of \
cgroups, mount, df, ethtool, multipath -ll, MegaCli and ssacli, Java GC logs, jstat, INFO, SLOWLOG \
and LATENCY of Redis, views of PostgreSQL by psql, status pages of nginx and php-fpm, and \
what 'hugewise record' wrote: also several in one file, pasted with prompts. Three machines \
or more are compared: a host that is busier than the others is a warning.\n\n\
Exit codes: 0 nothing found, or notes only (worth knowing, no trouble), 3 warnings, or a \
resource under pressure, 4 critical \
findings, 5 nothing found and a part of the input was left out, or no question could be \
answered, 1 unreadable input.\n\n\
Examples:\n  hugewise diagnose                 # this machine, ten seconds\n  \
hugewise diagnose sar.txt top.txt # what was recorded or pasted\n  \
hugewise diagnose --follow        # catches what comes and goes\n  \
hugewise diagnose --freezes       # who held the CPU or the memory when all stood still\n  \
hugewise diagnose --at 03:00      # what 'hugewise record' saw then\n  \
hugewise diagnose --fleet hosts/  # one table of all hosts' recordings")]
pub struct DiagnoseArgs {
    /// Recordings, '-' for standard input (default: watch this machine)
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How long this machine is watched, without FILE (default: 10s, and with --follow or --freezes
    /// until Ctrl-C); with --at: how much of the history around it (default: 10m)
    #[arg(long, value_name = "TIME", conflicts_with = "files")]
    pub r#for: Option<String>,
    /// Watch this machine, and take a closer look by itself when it draws attention
    ///
    /// That is when CPU time in the kernel, in waiting for disks, in interrupts or in the
    /// hypervisor jumps, stays high or creeps up. Each time it records twenty seconds, keeps them
    /// with the five minutes before, and says what it found.
    #[arg(long, group = "watching", conflicts_with_all = ["files", "report", "explain", "full",
          "tree", "redis"])]
    pub follow: bool,
    /// Watch this machine for freezes, and report what held the CPU or the memory meanwhile
    ///
    /// Keeps the seconds before and after each freeze. Exit codes: 0 no freeze, 3 some, 5 none, but
    /// not everything could be watched.
    #[arg(long, group = "watching", conflicts_with_all = ["files", "report", "explain", "full",
          "tree", "redis", "fleet", "signatures", "set", "at", "history"])]
    pub freezes: bool,
    /// With --freezes: report those longer than this (default: 300ms, minimum: 20ms)
    #[arg(long, value_name = "TIME")]
    pub longer_than: Option<String>,
    /// Each FILE is of another host, which is called as the file where it is not named in it;
    /// compare them
    ///
    /// Hosts that their files name are compared without this: which one is busier than the others,
    /// by which program, and what a move would give. That takes three hosts or more.
    #[arg(long, requires = "files")]
    pub hosts: bool,
    /// Directory for what --follow and --freezes recorded around an event (default:
    /// hugewise-captures, hugewise-freezes)
    #[arg(long, value_name = "DIR", requires = "watching")]
    pub keep: Option<PathBuf>,
    /// One table of the findings of many hosts: a directory of their recordings, or a file that
    /// lists them, one path a line
    ///
    /// A directory in it is a history, or holds all files of one host. A host that its
    /// recording does not name is called as the file.
    #[arg(long, value_name = "DIR|LIST")]
    pub fleet: Option<PathBuf>,
    /// Also write the table of --fleet to this file as JSON lines, for DuckDB or jq; '-' is
    /// standard output
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub table: Option<PathBuf>,
    /// Also ask this Redis or Valkey what it does: a UNIX socket or HOST:PORT; may be repeated
    ///
    /// Read-only: INFO before and after the machine is watched, SLOWLOG GET and LATENCY LATEST. The
    /// password is taken from the environment variable REDISCLI_AUTH. Arguments of commands are not
    /// kept. A server that does not answer is named, and the diagnosis continues without it.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "files")]
    pub redis: Vec<String>,
    /// Explain one question of the tree, e.g. kernel.reclaim, or all that start with this name
    #[arg(long, value_name = "NODE")]
    pub explain: Option<String>,
    /// Print every question of the tree, with its thresholds and remedies, as Markdown
    #[arg(long, conflicts_with_all = ["files", "follow", "freezes", "fleet", "redis", "explain",
          "report", "signatures", "at", "history"])]
    pub rules: bool,
    /// Show the questions that led to each finding, what was ruled out and what was not observed
    #[arg(long)]
    pub full: bool,
    /// As --full, with every question, also those that were not asked
    #[arg(long)]
    pub tree: bool,
    /// Write a report with plots, of --fleet by causes and hosts: one HTML file; '-' is standard
    /// output
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Draw the chains of calls that were read as a flame graph: one SVG file
    ///
    /// Functions that the findings rest on stand out. Of what 'hugewise record' wrote it is of the
    /// time of the first finding. '-' is standard output. The report has it, too.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["follow", "freezes", "fleet"])]
    pub flame_graph: Option<PathBuf>,
    /// Also say which mixture of stressors the time of the worst finding resembles (all of the
    /// time, where there is none): FILE is what 'hugewise lab signatures' wrote. Not with --follow
    #[arg(long, value_name = "FILE", conflicts_with = "follow")]
    pub signatures: Option<PathBuf>,
    /// Set one threshold, e.g. kernel_high_percent=20 ('--rules' lists them)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub past: PastArgs,
}
