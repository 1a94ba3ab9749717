//! Syntax of `response`.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `response`.
#[derive(Debug, Args)]
#[command(after_help = "Recognises the formats of nginx, Apache httpd, HAProxy, Envoy, Istio, \
Traefik and the NGINX ingress controller, JSON and key=value with usual names, also behind the \
heads of syslog and Kubernetes; logs of statements of PostgreSQL, MySQL and MongoDB; results of \
Gatling (3.4 to 3.9, 3.15), JMeter (.jtl with its heading), k6 (--out json) and ab (-g); spans of \
OpenTelemetry and Zipkin as JSON. '--format' takes any other one as the server's configuration \
has it.\n\n\
Exit codes: 0 nothing slow, 3 slow times found or --goal-ms missed, 5 none found and a part of \
the logs was left out or tells no times, 1 unreadable input, 2 usage.\n\n\
Examples:\n  hugewise response /var/log/nginx/access.log\n  \
hugewise response haproxy.log --with sar.txt          # and what the machine did\n  \
hugewise response a.log --goal-ms 20                  # is it always too slow?\n  \
zcat access.log.2.gz | hugewise response - --every 1m\n  \
hugewise response a.log --format '$time_local $status $request_time $upstream_response_time'")]
pub struct ResponseArgs {
    /// Access logs of one service, results of a load tool, spans; '-' for standard input
    #[arg(value_name = "LOG", required = true)]
    pub logs: Vec<PathBuf>,
    /// Recordings of the machine in that time, as 'diagnose' reads them
    #[arg(long = "with", value_name = "RECORDING", num_args = 1..)]
    pub with: Vec<PathBuf>,
    /// Format of the logs in the words of nginx ('$request_time'), Apache, HAProxy or Envoy ('%D')
    #[arg(long, value_name = "LOG_FORMAT")]
    pub format: Option<String>,
    /// Unit of the response time where the log does not say it: s, ms, us or ns
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<String>,
    /// The machine's zone where the log does not say it, e.g. +01:00
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub zone: Option<String>,
    /// Length of the rows over time, and of the windows in which slow times are looked for, e.g.
    /// 10s (default: what gives up to 60 rows)
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// From how many times the calm level on it is slow
    #[arg(long, value_name = "FACTOR", default_value = "1.5")]
    pub margin: f64,
    /// How long 99 of 100 requests may take, in milliseconds: for a service that is slow all the
    /// time, of which no window lies above the others
    #[arg(long, value_name = "MS")]
    pub goal_ms: Option<f64>,
}
