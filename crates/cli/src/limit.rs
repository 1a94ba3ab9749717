//! Syntax of `limit`.

use super::values::within;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `limit`.
#[derive(Debug, Args)]
#[command(after_help = "Loads the server beyond what it can do, with GETs only: not beside users \
who must not notice. Rates are doubled until one is not served, then halved in between; each takes \
--seconds, all together three to five minutes. A rate is served if 99 % of its requests are \
answered within ten times what the lowest rate takes, or within --p99-ms.\n\n\
Exit codes: 0 limit and cause found, 3 the prediction of --check did not come true, 5 no limit \
of the server was found, 1 the server does not answer, 2 usage.\n\n\
Examples:\n  hugewise lab limit http://127.0.0.1:8080/item\n  \
hugewise lab limit redis://127.0.0.1:6379 --p99-ms 5 -o before.json\n  \
hugewise lab limit http://127.0.0.1:8080/item --check hugewise-limit.json   # after a change")]
pub struct LimitArgs {
    /// The server, as http://127.0.0.1:8080/item or redis://127.0.0.1:6379
    #[arg(value_name = "URL")]
    pub target: String,
    /// The first rate, requests in a second: one that is served with ease
    #[arg(long, default_value_t = 20.0, value_name = "RATE", value_parser = rate)]
    pub from: f64,
    /// No rate above this one is tried
    #[arg(long, default_value_t = 200_000.0, value_name = "RATE", value_parser = rate)]
    pub most: f64,
    /// Length of each rate, in seconds
    #[arg(long, default_value_t = 8, value_name = "N",
          value_parser = clap::value_parser!(u64).range(3..=600))]
    pub seconds: u64,
    /// Connections of the load
    #[arg(long, default_value_t = 64, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub connections: u32,
    /// A served rate answers 99 % of its requests within this number of milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub p99_ms: Option<u64>,
    /// Where the result goes (default: hugewise-limit.json, and with --check or --json nowhere)
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Result from before a change: did its prediction come true?
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// With --check: how much more of the limit there is since then (default: it is gone)
    #[arg(long, value_name = "N", requires = "check", value_parser = factor)]
    pub factor: Option<f64>,
    /// Also add the result to this log of stages ('hugewise lab stages FILE' shows it)
    #[arg(long, value_name = "FILE")]
    pub stages: Option<PathBuf>,
    /// With --stages: what was changed since the stage before
    #[arg(long, value_name = "TEXT", requires = "stages", default_value = "not said")]
    pub change: String,
}

/// A rate that can be tried.
fn rate(text: &str) -> Result<f64, String> {
    within(text, 0.1..=1_000_000.0, "a number of requests in a second, 0.1 to 1000000")
}

/// How much more of something there is.
fn factor(text: &str) -> Result<f64, String> {
    within(text, 0.01..=1000.0, "a number such as 2 for twice as much, 0.01 to 1000")
}
