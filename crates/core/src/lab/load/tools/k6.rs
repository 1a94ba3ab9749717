//! k6: HTTP, rates of iterations that are dropped when no virtual user is free.

use super::{Plan, Refusal, Report, ReportError, http, json};
use crate::lab::load::number::decimal;
use crate::lab::load::outcome::{Failure, LoadResult};
use crate::lab::load::profile::{Profile, Rate, Shape, Who};
use crate::lab::load::spec::{LoadSpec, Tool};
use crate::lab::load::target::Target;
use crate::units::{Ns, saturating_u64};
use serde_json::{Value, json as object};

const TOOL: Tool = Tool::K6;
const SCRIPT: &str = "load.js";
const REPORT: &str = "report.json";

/// The stages of a profile: its rate goes to `target`, at once where the duration is zero.
/// Rates are in thousandths, so that they are whole.
fn stages(profile: &Profile) -> Option<(u64, Vec<Value>)> {
    let mut stages = Vec::new();
    let (mut begin, mut at) = (None, 0);
    for phase in profile.phases() {
        let (from, to) = match phase.shape {
            Shape::Nothing => (0, 0),
            Shape::Rate(Rate(from), Rate(to)) if phase.who == Who::Request => (from, to),
            _ => return None,
        };
        if begin.is_none() {
            (begin, at) = (Some(from), from);
        }
        if from != at {
            stages.push(object!({ "target": from, "duration": "0s" }));
        }
        // Microseconds are thousandths of its milliseconds.
        let ms = decimal(phase.time.0 / 1000);
        stages.push(object!({ "target": to, "duration": format!("{ms}ms") }));
        at = to;
    }
    Some((begin?, stages))
}

pub(super) fn plan(spec: &LoadSpec, target: &Target, profile: &Profile) -> Result<Plan, Refusal> {
    let url = http(TOOL, target)?;
    let knows = "'nothing', 'constant', 'ramp' and 'stairs' in requests";
    let (begin, stages) = stages(profile).ok_or(Refusal::Steps { tool: TOOL, knows })?;
    let options = object!({
        "scenarios": { "load": {
            "executor": "ramping-arrival-rate",
            "startRate": begin,
            "timeUnit": "1000s",
            "preAllocatedVUs": spec.connections,
            "maxVUs": spec.connections,
            "stages": stages,
            "gracefulStop": format!("{}ms", spec.timeout_ms),
        } },
        "summaryTrendStats": ["min", "avg", "med", "p(90)", "p(95)", "p(99)", "p(99.9)", "max"],
    });
    let settings = object!({ "timeout": format!("{}ms", spec.timeout_ms) });
    let script = format!(
        "import http from 'k6/http';\n\
         export const options = {options};\n\
         export default function () {{\n  http.get({}, {settings});\n}}\n\
         export function handleSummary(data) {{\n  \
         return {{ '{REPORT}': JSON.stringify(data) }};\n}}\n",
        Value::from(url)
    );
    let args = ["run", "--quiet", "--no-usage-report", SCRIPT].map(str::to_owned).to_vec();
    Ok(Plan { program: "k6", args, files: vec![(SCRIPT, script)], report: Report::File(REPORT) })
}

pub(super) fn read(report: &str, result: &mut LoadResult) -> Result<(), ReportError> {
    let report = json(TOOL, report)?;
    let missing = |what| ReportError::Missing { tool: TOOL, what };
    // `handleSummary` wraps the values of a metric, `--summary-export` does not.
    let metric = |name: &str| {
        let metric = &report["metrics"][name];
        if metric["values"].is_object() { &metric["values"] } else { metric }
    };
    let count = |value: &Value| value.as_f64().map(saturating_u64);
    let requests = metric("http_reqs");
    let sent = count(&requests["count"]).ok_or(missing("'http_reqs'"))?;
    let times = metric("http_req_duration").as_object().ok_or(missing("'http_req_duration'"))?;
    // It counts how often "this request failed" was true.
    let failed = count(&metric("http_req_failed")["passes"]).unwrap_or(0);
    let dropped = count(&metric("dropped_iterations")["count"]).unwrap_or(0);
    let quantile = |(name, value): (&String, &Value)| {
        let q = match name.as_str() {
            "med" => 0.5,
            "max" => 1.0,
            name => name.strip_prefix("p(")?.strip_suffix(')')?.parse::<f64>().ok()? / 100.0,
        };
        Some((q, Ns(saturating_u64(value.as_f64()? * 1e6))))
    };
    result.quantiles = times.iter().filter_map(quantile).collect();
    result.quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    result.sent = Some(sent);
    result.intended = Some(sent.saturating_add(dropped));
    result.completed = sent.saturating_sub(failed);
    let good = result.completed as f64 / sent.max(1) as f64;
    result.achieved_per_s = requests["rate"].as_f64().map(|rate| rate * good);
    for (kind, count) in [(Failure::Unnamed, failed), (Failure::QueueFull, dropped)] {
        if count > 0 {
            result.failed.insert(kind, count);
        }
    }
    result.notes.push(format!(
        "k6 counts latency from the real sending, and drops what no virtual user is free for: \
         {dropped} requests were never sent"
    ));
    Ok(())
}
