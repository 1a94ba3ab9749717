//! Experiments with programs of others: real servers under a short load.

use crate::init;
use crate::kit::{Scratch, hugewise, skip, trial};
use crate::machine::Turn;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;

/// Exit code of an experiment whose program is missing.
const SKIPPED: i32 = 5;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("lab_redis_load", lab_redis_load),
        trial("lab_http_load", lab_http_load),
        trial("lab_team_load", lab_team_load),
    ]
}

const REDIS: &str = r#"
workload = { kind = "redis", scenario = "load" }

[load]
steps = ["constant 100/s for 1 s", "stairs 100/s to 200/s in 2 steps of 500 ms"]
connections = 4
keys = 500
value_bytes = 100

[[variant]]
name = "tcp"
workload = { socket = "tcp" }

[[variant]]
name = "unix"
workload = { socket = "unix" }
"#;

const HTTP: &str = r#"
[workload]
kind = "http"
program = "python3"
args = ["-m", "http.server", "--bind", "127.0.0.1", "--directory", "{dir}", "{port}"]

[load]
steps = ["constant 100/s for 1 s"]
connections = 2

[[variant]]
name = "one"

[[variant]]
name = "same"
"#;

/// A tool of somebody's own, whose results are those of JMeter.
const TEAM: &str = r#"
[workload]
kind = "http"
program = "python3"
args = ["-m", "http.server", "--bind", "127.0.0.1", "--directory", "{dir}", "{port}"]

[load]
command = ["python3", "-c", """
import sys, time, urllib.request
rows = ['timeStamp,elapsed,label,responseCode,success']
for number in range(60):
    for path in ['', '?again']:
        begin = time.time()
        urllib.request.urlopen(sys.argv[1] + path).read()
        ms = (time.time() - begin) * 1000
        rows.append('%d,%.3f,%s,200,true' % (begin * 1000, ms, path[1:] or 'page'))
    time.sleep(0.02)
open('out.jtl', 'w').write('\\n'.join(rows) + '\\n')
""", "{url}"]
results = "out.jtl"

[[variant]]
name = "one"

[[variant]]
name = "same"
"#;

/// Runs an experiment of one repetition; its runs by variant.
fn run(name: &str, text: &str) -> anyhow::Result<Vec<(String, Value)>> {
    if init::is_guest() {
        return Err(skip("needs a server program, which a virtual machine does not hold"));
    }
    let scratch = Scratch::new()?;
    let head = format!(
        r#"
name = "{name}"
question = "Does it run?"
manage_s = 0
settle = {{ still_s = 0, max_s = 1 }}
stop = {{ repetitions = 1 }}
"#
    );
    let (path, output) = (scratch.join("load.toml"), scratch.join("results"));
    fs::write(&path, head + text)?;
    let mut words = vec!["lab".to_owned(), "run".to_owned(), path.display().to_string()];
    words.extend(["--noisy".into(), "--output".into(), output.display().to_string()]);
    words.extend(["--state-dir".into(), scratch.join("state").display().to_string()]);
    let said = hugewise(&words)?;
    if said.code == Some(SKIPPED) && said.err.contains("is not installed") {
        return Err(skip(said.err.trim().to_owned()));
    }
    said.expect(0)?;
    let mut all = Vec::new();
    for entry in fs::read_dir(output.join("runs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let record: Value = serde_json::from_slice(&fs::read(&path)?)?;
            ensure!(record["outcome"]["result"] == "done", "{record}");
            let variant = record["variant"].as_str().context("no variant")?.to_owned();
            all.push((variant, record["measured"].clone()));
        }
    }
    ensure!(all.len() == 2, "{} runs of 2", all.len());
    Ok(all)
}

fn value(measured: &Value, key: &str) -> anyhow::Result<f64> {
    measured["values"][key].as_f64().with_context(|| format!("no {key}: {measured}"))
}

/// What every load leaves, whatever was asked; `requests` in `seconds`.
fn check(measured: &Value, requests: f64, seconds: f64) -> anyhow::Result<()> {
    let offered = value(measured, "offered_per_s")?;
    ensure!((offered - requests / seconds).abs() < 0.5, "{offered}/s offered: {measured}");
    ensure!(value(measured, "failed_share_percent")? == 0.0, "requests failed: {measured}");
    let (latency, service) = (value(measured, "p50_us")?, value(measured, "service.p50_us")?);
    // Histograms round: a request alone waits for nobody, and both are the same.
    ensure!(latency > 0.0 && latency >= service * 0.9, "{latency} and {service} us");
    let kernel = value(measured, "kernel_cpu_percent")?;
    ensure!((0.0..=100.0).contains(&kernel), "{kernel} % in the kernel");
    ensure!(value(measured, "rss_mib")? > 0.0, "no memory: {measured}");
    for name in ["latency", "service"] {
        ensure!(measured["histograms"][name].is_object(), "no histogram {name}: {measured}");
    }
    let series = measured["series"].as_array().context("no values over time")?;
    for key in ["achieved_per_s", "p99_us", "worst_us"] {
        let one = series.iter().find(|series| series["key"] == key);
        let points = one.and_then(|series| series["points"].as_array()).map_or(0, Vec::len);
        ensure!(points > 0, "no {key} over time: {measured}");
    }
    Ok(())
}

fn lab_redis_load(_: &Turn) -> anyhow::Result<()> {
    let runs = run("load-of-redis", REDIS)?;
    for (variant, measured) in &runs {
        check(measured, 250.0, 2.0).context(variant.clone())?;
        // On a busy machine it may be anywhere, but it is always told.
        let notes = measured["notes"].to_string();
        let told = measured["values"]["knee_per_s"].is_number() || notes.contains("the knee ");
        ensure!(told, "{variant}: nothing of the knee: {measured}");
    }
    let names: Vec<_> = runs.iter().map(|(variant, _)| variant.as_str()).collect();
    ensure!(names.contains(&"tcp") && names.contains(&"unix"), "{names:?}");
    Ok(())
}

fn lab_http_load(_: &Turn) -> anyhow::Result<()> {
    let runs = run("load-of-http", HTTP)?;
    runs.iter().try_for_each(|(variant, measured)| {
        check(measured, 100.0, 1.0).with_context(|| variant.clone())
    })
}

fn lab_team_load(_: &Turn) -> anyhow::Result<()> {
    for (variant, measured) in run("load-of-the-team", TEAM)? {
        let (rate, failed) =
            (value(&measured, "achieved_per_s")?, value(&measured, "failed_share_percent")?);
        ensure!(rate > 1.0 && failed == 0.0, "{variant}: {rate}/s, {failed} %: {measured}");
        let (median, late) = (value(&measured, "p50_us")?, value(&measured, "p99_us")?);
        ensure!(median > 0.0 && late >= median, "{variant}: {median} and {late} us");
        ensure!(value(&measured, "rss_mib")? > 0.0, "{variant}: no memory: {measured}");
        let offered = &measured["values"]["offered_per_s"];
        ensure!(offered.is_null(), "{variant}: nobody knows what was offered: {offered}");
        let latency = &measured["histograms"]["latency"]["buckets"];
        let counted = latency.as_array().context("no latencies")?.iter();
        let counted: u64 = counted.filter_map(|bucket| bucket[1].as_u64()).sum();
        ensure!(counted == 120, "{variant}: {counted} of 120 requests");
        let notes = measured["notes"].to_string();
        ensure!(notes.contains("by request: ") && notes.contains("'page' 60"), "{notes}");
        ensure!(notes.contains("the load's command count from the real sending"), "{notes}");
    }
    Ok(())
}
