//! Gatling: HTTP, open injection of users; the bundle with `gatling.sh`, which takes Scala.

use super::{Plan, Refusal, Report, ReportError, http, json};
use crate::lab::load::number::decimal;
use crate::lab::load::outcome::{Failure, LoadResult};
use crate::lab::load::profile::{Phase, Profile, Shape, Who};
use crate::lab::load::spec::{LoadSpec, ThinkTime, Tool};
use crate::lab::load::target::Target;
use crate::units::{Ns, saturating_u64};
use serde_json::Value;

const TOOL: Tool = Tool::Gatling;
const SIMULATION: &str = "HugewiseLoad";
const FILE: &str = "HugewiseLoad.scala";

fn milliseconds(time: Ns) -> String {
    format!("{}.milliseconds", time.0 / 1_000_000)
}

fn injection(phase: &Phase) -> String {
    let during = milliseconds(phase.time);
    match phase.shape {
        Shape::Nothing => format!("nothingFor({during})"),
        Shape::Peak(count) => format!("atOnceUsers({count})"),
        Shape::Spread(count) => format!("rampUsers({count}).during({during})"),
        Shape::Rate(from, to) if from == to => {
            format!("constantUsersPerSec({}).during({during})", decimal(from.0))
        }
        Shape::Rate(from, to) => {
            let (from, to) = (decimal(from.0), decimal(to.0));
            format!("rampUsersPerSec({from}).to({to}).during({during})")
        }
    }
}

pub(super) fn plan(spec: &LoadSpec, target: &Target, profile: &Profile) -> Result<Plan, Refusal> {
    let url = http(TOOL, target)?;
    let setting = |setting| Refusal::Setting { tool: TOOL, setting };
    // Its strings are templates.
    if url.contains(['$', '#']) {
        return Err(setting("a target with '$' or '#'"));
    }
    let arrive = |who| profile.phases().iter().any(|p| p.who == who && p.shape != Shape::Nothing);
    if arrive(Who::Request) && arrive(Who::User) && spec.requests_per_user > 1 {
        return Err(setting("steps in requests beside steps in users"));
    }
    if profile.phases().iter().any(|phase| !phase.time.0.is_multiple_of(1_000_000)) {
        return Err(setting("times below a millisecond"));
    }
    let request = format!("http(\"request\").get({})", Value::from(url));
    let (pause, pauses) = match spec.think_time {
        ThinkTime::None => (String::new(), "disablePauses"),
        ThinkTime::Constant(time) => (format!(".pause({})", milliseconds(time)), "constantPauses"),
        ThinkTime::Exponential(mean) => {
            (format!(".pause({})", milliseconds(mean)), "exponentialPauses")
        }
    };
    let requests = if arrive(Who::User) { spec.requests_per_user } else { 1 };
    let steps: Vec<String> = profile.phases().iter().map(injection).collect();
    let simulation = format!(
        "import io.gatling.core.Predef._\n\
         import io.gatling.http.Predef._\n\
         import scala.concurrent.duration._\n\n\
         class {SIMULATION} extends Simulation {{\n  \
         val load = scenario(\"load\").repeat({requests}) {{ exec({request}){pause} }}\n  \
         setUp(load.inject(\n    {}\n  )).{pauses}.protocols(http.shareConnections)\n}}\n",
        steps.join(",\n    ")
    );
    let args = ["-rm", "local", "-sf", ".", "-rf", "results", "-s", SIMULATION];
    Ok(Plan {
        program: "gatling.sh",
        args: args.map(str::to_owned).to_vec(),
        files: vec![(FILE, simulation)],
        report: Report::Inside("results", "js/stats.json"),
    })
}

/// A number, or text of one: `"1,046"`, and `"-"` for none.
fn number(value: &Value) -> Option<f64> {
    let text = || value.as_str()?.replace([',', ' '], "").parse().ok();
    value.as_f64().or_else(text)
}

pub(super) fn read(report: &str, result: &mut LoadResult) -> Result<(), ReportError> {
    let report = json(TOOL, report)?;
    let missing = |what| ReportError::Missing { tool: TOOL, what };
    // `stats.json` has the statistics inside a group, `global_stats.json` by themselves.
    let stats = if report["stats"].is_object() { &report["stats"] } else { &report };
    let requests = &stats["numberOfRequests"];
    let count = |name: &str| number(&requests[name]).map(saturating_u64);
    let ok = count("ok").ok_or(missing("'numberOfRequests'"))?;
    let failed = count("ko").unwrap_or(0);
    let of = |name: &str| number(&stats[name]["ok"]);
    // Its percentiles are settings, and these the defaults.
    let names = [
        (0.5, "percentiles1"),
        (0.75, "percentiles2"),
        (0.95, "percentiles3"),
        (0.99, "percentiles4"),
        (1.0, "maxResponseTime"),
    ];
    let quantile = |(q, name): (f64, &str)| Some((q, Ns(saturating_u64(of(name)? * 1e6))));
    result.quantiles = names.into_iter().filter_map(quantile).collect();
    result.completed = ok;
    result.sent = Some(ok.saturating_add(failed));
    result.achieved_per_s = of("meanNumberOfRequestsPerSecond");
    if failed > 0 {
        result.failed.insert(Failure::Unnamed, failed);
    }
    result.notes.push(
        "Gatling counts latency from the real sending, in whole milliseconds; users arrive at \
         their time, but those that its engine is late for hide it"
            .to_owned(),
    );
    Ok(())
}
