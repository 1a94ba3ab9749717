//! memtier_benchmark: Redis, one request at a time a connection.

use super::{Plan, Refusal, Report, ReportError, constant, json};
use crate::lab::load::number::decimal;
use crate::lab::load::outcome::{Failure, LoadResult, Second};
use crate::lab::load::profile::{Profile, Rate};
use crate::lab::load::spec::{LoadSpec, Tool};
use crate::lab::load::target::Target;
use crate::units::{Ns, saturating_u64};
use serde_json::Value;
use std::collections::BTreeMap;

const TOOL: Tool = Tool::Memtier;
const REPORT: &str = "report.json";

pub(super) fn plan(spec: &LoadSpec, target: &Target, profile: &Profile) -> Result<Plan, Refusal> {
    let mut args = match target {
        Target::Redis(address) => {
            vec![format!("--server={}", address.ip()), format!("--port={}", address.port())]
        }
        Target::RedisUnix(path) => vec![format!("--unix-socket={path}")],
        Target::Http(..) => {
            return Err(Refusal::Target {
                tool: TOOL,
                speaks: "Redis",
                target: target.to_string(),
            });
        }
    };
    let steps = "one constant rate for whole seconds, a whole rate for each connection";
    let refusal = Refusal::Steps { tool: TOOL, knows: steps };
    let (Rate(rate), seconds) = constant(profile).ok_or(refusal.clone())?;
    // Its limit is a whole number of requests per second and connection.
    let each = u64::from(spec.connections) * 1000;
    if !rate.is_multiple_of(each) {
        return Err(refusal);
    }
    let (get, set) = (spec.operations.get_percent, spec.operations.set_percent);
    // It sends that many SETs, then that many GETs: as few as the shares allow.
    let common = (1..=100u8).rev().find(|n| get.is_multiple_of(*n) && set.is_multiple_of(*n));
    let common = common.unwrap_or(1);
    args.extend([
        "--protocol=redis".to_owned(),
        "--threads=1".to_owned(),
        format!("--clients={}", spec.connections),
        format!("--test-time={seconds}"),
        format!("--rate-limiting={}", decimal(rate / u64::from(spec.connections))),
        format!("--ratio={}:{}", set / common, get / common),
        "--key-minimum=0".to_owned(),
        format!("--key-maximum={}", spec.keys - 1),
        "--key-pattern=R:R".to_owned(),
        format!("--data-size={}", spec.value_bytes),
        "--random-data".to_owned(),
        "--print-percentiles=50,90,95,99,99.9,100".to_owned(),
        "--hide-histogram".to_owned(),
        format!("--json-out-file={REPORT}"),
    ]);
    let program = "memtier_benchmark";
    Ok(Plan { program, args, files: Vec::new(), report: Report::File(REPORT) })
}

fn milliseconds(value: &Value) -> Option<Ns> {
    value.as_f64().map(|ms| Ns(saturating_u64(ms * 1e6)))
}

/// The quantiles among the members of an object: `"p99.00": 1.2`.
fn quantiles(value: &Value) -> Vec<(f64, Ns)> {
    let members = value.as_object().into_iter().flatten();
    let quantile = |(name, value): (&String, &Value)| {
        let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
        Some((percent / 100.0, milliseconds(value)?))
    };
    members.filter_map(quantile).filter(|(q, _)| (0.0..=1.0).contains(q)).collect()
}

pub(super) fn read(report: &str, result: &mut LoadResult) -> Result<(), ReportError> {
    let report = json(TOOL, report)?;
    let missing = |what| ReportError::Missing { tool: TOOL, what };
    let all = &report["ALL STATS"];
    let totals = all["Totals"].as_object().ok_or(missing("'ALL STATS' with 'Totals'"))?;
    let total = |name: &str| totals.get(name).unwrap_or(&Value::Null);
    let achieved = total("Ops/sec").as_f64().ok_or(missing("'Ops/sec'"))?;
    let seconds =
        all["Runtime"]["Total duration"].as_f64().map_or(result.time.as_s(), |ms| ms / 1000.0);
    result.achieved_per_s = Some(achieved);
    // Older versions count no requests, only their rate.
    let count = total("Count").as_u64();
    result.completed = count.unwrap_or_else(|| saturating_u64((achieved * seconds).round()));
    result.sent = count;
    result.quantiles = quantiles(total("Percentile Latencies"));
    let misses = all["Gets"]["Misses/sec"].as_f64();
    result.misses = misses.map(|rate| saturating_u64((rate * seconds).round()));
    if let Some(errors @ 1..) = total("Connection Errors").as_u64() {
        result.failed.insert(Failure::Connect, errors);
    }
    result.seconds = series(total("Time-Serie"));
    result.notes.push(
        "memtier_benchmark is a closed loop: its limit holds requests back, and latency counts \
         from the real sending, so a stall hides the requests it delayed"
            .to_owned(),
    );
    Ok(())
}

/// Its seconds, by number. Seconds without a line are empty.
fn series(value: &Value) -> Vec<Second> {
    let members = value.as_object().into_iter().flatten();
    let numbered = members.filter_map(|(name, line)| {
        // A day, and then some: a number from a broken file must not claim memory.
        let index = name.parse::<usize>().ok().filter(|index| *index < 100_000)?;
        let at = |wanted: f64| {
            quantiles(line).into_iter().find(|(q, _)| (q - wanted).abs() < 1e-9).map(|(_, at)| at)
        };
        let achieved = line["Count"].as_u64()?;
        let max = milliseconds(&line["Max Latency"]).filter(|_| achieved > 0);
        Some((index, Second { achieved, p50: at(0.5), p99: at(0.99), max, ..Second::default() }))
    });
    let numbered: BTreeMap<usize, Second> = numbered.collect();
    let last = numbered.last_key_value().map_or(0, |(index, _)| index + 1);
    (0..last).map(|index| numbered.get(&index).copied().unwrap_or_default()).collect()
}
