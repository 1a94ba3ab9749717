//! Syntax of `top`.

use super::daemon::DaemonArgs;
use super::history::PastArgs;
use super::places::STATE_DIR;
use super::values::within;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `top`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Asks a running manager once a second; where none runs it scans the \
largest programs itself, within the manager's budget of CPU time, and changes nothing. '?' lists \
the keys.\n\n\
Exit codes: 0 ended by a key or a signal, 1 no terminal, 2 usage.\n\n\
Examples:\n  sudo hugewise top\n  \
hugewise top --interval 5  # without root: your own programs\n  \
hugewise top --at 03:00    # what 'hugewise record' saw")]
pub struct TopArgs {
    /// Seconds from one sample to the next
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS", value_parser = seconds)]
    pub interval: f64,
    /// Directory in which a manager keeps old values of settings
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    #[command(flatten)]
    pub daemon: DaemonArgs,
    #[command(flatten)]
    pub past: PastArgs,
}

/// A pause that a person can wait for.
fn seconds(text: &str) -> Result<f64, String> {
    within(text, 0.2..=3600.0, "a number of seconds, 0.2 to 3600")
}
