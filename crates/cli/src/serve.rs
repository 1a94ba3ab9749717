//! Syntax of `serve`.

use super::daemon::DaemonArgs;
use super::places::{HISTORY_DIR, STATE_DIR};
use super::values::at_least_one;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "Each request needs the token: the page in its URL, which is printed, and \
Prometheus as 'authorization: {credentials_file: FILE}'. What comes over the network is read by \
a process of its own, which gives up all rights where this is started as root.\n\n\
Exit codes: 0 ended by a signal, 1 error, 2 usage, 6 refused by a safety rule.\n\n\
Examples:\n  hugewise serve                            # prints the URL of the page\n  \
hugewise serve --token-file ./token       # the same token at each start\n  \
hugewise serve --listen 10.0.0.5:9917 --host db5.example\n  \
hugewise serve --listen unix:/run/page.sock  # a name that nobody else can have\n  \
hugewise serve --once --output ./hugewise.prom  # a file for node_exporter")]
pub struct ServeArgs {
    /// Address and port to listen on, or 'unix:' and the path of a socket (default: 127.0.0.1:9917,
    /// or the socket that systemd hands over)
    #[arg(long, value_name = "ADDRESS|unix:PATH", value_parser = listen)]
    pub listen: Option<Listen>,
    /// A name under which it is asked, beside that address (repeat for more)
    #[arg(long, value_name = "NAME", value_parser = host)]
    pub host: Vec<String>,
    /// Take the token from this file, which is made where it is missing (default: another token at
    /// each start, which is printed)
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Number of programs and of cgroups in metrics: the largest ones
    #[arg(long, short = 'n', default_value = "10", value_name = "N", value_parser = at_least_one)]
    pub top: usize,
    /// Directory of the history that 'hugewise record' keeps
    #[arg(long, default_value = HISTORY_DIR, value_name = "DIR")]
    pub history: PathBuf,
    /// The manager's journal (default: journal.jsonl in the state directory)
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Print the metrics once and end, such as for the textfile collector of node_exporter
    #[arg(long, conflicts_with_all = ["listen", "host", "token_file", "history", "journal"])]
    pub once: bool,
    /// Write the metrics of --once to this file, which is replaced as a whole; '-' is standard
    /// output
    #[arg(long, short, value_name = "FILE", default_value = "-", requires = "once")]
    pub output: PathBuf,
    /// Write the metrics of --once as OpenMetrics
    #[arg(long, conflicts_with = "json", requires = "once")]
    pub openmetrics: bool,
    /// Answer HTTP on the socket that is standard input, with what comes over standard output
    #[arg(long, hide = true)]
    pub front: bool,
    /// Directory in which a manager keeps old values of settings
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    #[command(flatten)]
    pub daemon: DaemonArgs,
}

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// Over TCP.
    Address(SocketAddr),
    /// On a UNIX socket.
    Socket(PathBuf),
}

impl Default for Listen {
    fn default() -> Self {
        Self::Address(SocketAddr::from(([127, 0, 0, 1], 9917)))
    }
}

fn listen(text: &str) -> Result<Listen, String> {
    let wrong = || "must be an address with a port, as '127.0.0.1:9917', or 'unix:PATH'".to_owned();
    match text.strip_prefix("unix:") {
        Some(path) if !path.is_empty() => Ok(Listen::Socket(path.into())),
        Some(_) => Err(wrong()),
        None => text.parse().map(Listen::Address).map_err(|_| wrong()),
    }
}

/// A name of a host, without a port.
fn host(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match text.parse::<std::net::Ipv6Addr>() {
        Ok(address) => Ok(address.to_string()),
        Err(_) if !text.is_empty() && text.chars().all(plain) => Ok(text.to_owned()),
        Err(_) => Err("must be a name or an address, without a port".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_listens_on_an_address_or_a_socket() {
        assert_eq!(listen("unix:/run/a.sock"), Ok(Listen::Socket("/run/a.sock".into())));
        assert_eq!(listen("127.0.0.1:9917"), Ok(Listen::default()));
        assert!(listen("[::1]:80").is_ok());
        for wrong in ["", "unix:", "127.0.0.1", "localhost:80", "/run/a.sock"] {
            assert!(listen(wrong).is_err_and(|why| why.contains("unix:PATH")), "{wrong}");
        }
    }
}
