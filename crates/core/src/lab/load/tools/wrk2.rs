//! wrk2: HTTP at one constant rate, latency from the intended start.

use super::{Plan, Refusal, Report, ReportError, constant, http};
use crate::lab::load::outcome::{Failure, LoadResult};
use crate::lab::load::profile::{Profile, Rate};
use crate::lab::load::spec::{LoadSpec, Tool};
use crate::lab::load::target::Target;
use crate::units::{Ns, saturating_u64};

const TOOL: Tool = Tool::Wrk2;

pub(super) fn plan(spec: &LoadSpec, target: &Target, profile: &Profile) -> Result<Plan, Refusal> {
    let url = http(TOOL, target)?;
    let steps = "one constant rate for whole seconds, in whole requests per second,";
    let refusal = || Refusal::Steps { tool: TOOL, knows: steps };
    let (Rate(rate), seconds) = constant(profile).ok_or_else(refusal)?;
    if !rate.is_multiple_of(1000) {
        return Err(refusal());
    }
    let args = vec![
        "--threads=1".to_owned(),
        format!("--connections={}", spec.connections),
        format!("--duration={seconds}s"),
        format!("--rate={}", rate / 1000),
        format!("--timeout={}s", spec.timeout_ms.div_ceil(1000)),
        "--latency".to_owned(),
        url,
    ];
    Ok(Plan { program: "wrk2", args, files: Vec::new(), report: Report::Output })
}

/// `1.42ms`, `731.00us`, `1.10s`, `2.50m`: two decimals of the largest unit that fits.
fn time(text: &str) -> Option<Ns> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let number: f64 = number.parse().ok().filter(|number: &f64| *number >= 0.0)?;
    Some(Ns(saturating_u64((number * ns).round())))
}

/// The number after a word: `timeout 12,`.
fn after(line: &str, word: &str) -> u64 {
    let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
    let found = words.by_ref().any(|each| each == word);
    let number = words.next().filter(|_| found);
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

pub(super) fn read(report: &str, result: &mut LoadResult) -> Result<(), ReportError> {
    let missing = |what| ReportError::Missing { tool: TOOL, what };
    let lines: Vec<&str> = report.lines().map(str::trim).collect();
    let begins = |text: &str| lines.iter().find(|line| line.starts_with(text)).copied();
    // wrk, which is another program, prints a distribution as well, but not that one.
    let heading = "Latency Distribution (HdrHistogram - Recorded Latency)";
    let at = lines.iter().position(|line| *line == heading);
    let at = at.ok_or(missing("corrected latencies (wrk is not wrk2)"))?;
    let quantile = |line: &&str| {
        let (percent, value) = line.split_once('%')?;
        Some((percent.trim().parse::<f64>().ok()? / 100.0, time(value.trim())?))
    };
    result.quantiles = lines[at + 1..].iter().map_while(quantile).collect();
    let rate = begins("Requests/sec:").ok_or(missing("'Requests/sec:'"))?;
    let rate = rate.split_whitespace().nth(1).and_then(|rate| rate.parse::<f64>().ok());
    let all = lines.iter().find(|line| line.contains(" requests in ")).copied();
    let all = all.and_then(|line| line.split(' ').next()?.parse::<u64>().ok());
    let all = all.ok_or(missing("number of requests"))?;
    let mut fail = |kind, count| {
        if count > 0 {
            *result.failed.entry(kind).or_default() += count;
        }
    };
    let errors = begins("Socket errors:").unwrap_or_default();
    fail(Failure::Connect, after(errors, "connect"));
    fail(Failure::Io, after(errors, "read") + after(errors, "write"));
    fail(Failure::Timeout, after(errors, "timeout"));
    let status = begins("Non-2xx or 3xx responses:").unwrap_or_default();
    let status = after(status, "responses:");
    fail(Failure::Status, status);
    result.sent = Some(all);
    result.completed = all.saturating_sub(status);
    // Its rate counts answers of every status.
    let good = result.completed as f64 / all.max(1) as f64;
    result.achieved_per_s = rate.map(|rate| rate * good);
    result.from_intended_start = true;
    result.notes.push(
        "wrk2 counts latency from the intended start; it calibrates for ten seconds, which are \
         in no latency, and answers of other statuses are in its latencies"
            .to_owned(),
    );
    Ok(())
}
