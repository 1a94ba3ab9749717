//! `hugewise lab list`.

use crate::cli::{Global, LabListArgs};
use crate::exit;
use crate::output::Output;
use crate::render::text::wrap;
use hugewise_core::experiment::kind::{Default, Kind, Param};
use hugewise_core::experiment::spec::Experiment;
use hugewise_core::experiment::{kinds, metric};
use hugewise_lab::{programs, shipped};
use serde_json::{Value, json};
use std::fmt::Write;

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabListArgs) -> anyhow::Result<Output> {
    let Some(name) = &args.kind else {
        return if global.json {
            Output::json(&everything()?, exit::OK)
        } else {
            Ok(Output::text(overview()?, exit::OK))
        };
    };
    let kind = kinds::find(name).ok_or_else(|| {
        let known: Vec<_> = kinds::all().map(|kind| kind.name).collect();
        let known = known.join(", ");
        let message = format!("there is no kind '{}': {known}", name.escape_debug());
        exit::coded(exit::USAGE, message)
    })?;
    if global.json {
        return Output::json(&alone(kind), exit::OK);
    }
    Ok(Output::text(explain(kind), exit::OK))
}

fn experiments() -> anyhow::Result<Vec<Experiment>> {
    shipped::ALL.iter().map(|(_, text)| Ok(toml::from_str(text)?)).collect()
}

fn overview() -> anyhow::Result<String> {
    let mut out = String::from("Experiments ('hugewise lab setup NAME' says what they need):\n\n");
    for experiment in experiments()? {
        let Experiment { name, question, variants, workload, .. } = experiment;
        let kind = kinds::find(&workload.kind);
        let missing = kind.map(programs::missing).unwrap_or_default();
        out += &wrap(&format!("  {name:<18} "), &question);
        let variants: Vec<_> = variants.into_iter().map(|variant| variant.name).collect();
        out += &wrap(&format!("  {:<18} ", ""), &format!("variants: {}", variants.join(", ")));
        for text in missing {
            out += &wrap(&format!("  {:<18} ", ""), &format!("skipped: {text}"));
        }
    }
    out += "\nKinds of workloads ('hugewise lab list KIND' explains one):\n\n";
    for kind in kinds::all() {
        out += &wrap(&format!("  {:<18} ", kind.name), kind.about);
    }
    Ok(out)
}

fn explain(kind: &Kind) -> String {
    let mut out = wrap("", &format!("{}: {}", kind.name, kind.about));
    let _ = writeln!(out, "\nParameters (name, default, allowed):\n");
    for param in kind.params {
        let default = match param.default {
            Default::Count(count, ..) => count.to_string(),
            Default::Word(words) => words.first().copied().unwrap_or_default().to_owned(),
            Default::Text(text) => format!("\"{text}\""),
            Default::Flag(flag) => flag.to_string(),
            Default::Texts => "[]".into(),
        };
        let first = format!("  {:<22} ", format!("{} = {default}", param.name));
        out += &wrap(&first, &format!("{} ({})", param.help, param.allowed()));
    }
    let _ = writeln!(out, "\nMetrics:\n");
    for key in kind.metrics {
        let help = metric::find(key).map_or("", |metric| metric.help);
        out += &wrap(&format!("  {key:<30} "), help);
    }
    for text in programs::missing(kind) {
        out += &wrap("\nMissing here: ", &text);
    }
    out
}

fn everything() -> anyhow::Result<Value> {
    let experiments: Vec<Value> = experiments()?
        .into_iter()
        .map(|experiment| {
            let missing = kinds::find(&experiment.workload.kind).map(programs::missing);
            json!({ "experiment": experiment, "missing": missing.unwrap_or_default() })
        })
        .collect();
    let kinds: Vec<Value> = kinds::all().map(as_json).collect();
    Ok(json!({ "schema": 1, "experiments": experiments, "kinds": kinds }))
}

/// One kind, as the whole of an output.
fn alone(kind: &Kind) -> Value {
    let mut all = as_json(kind);
    all["schema"] = json!(1);
    all
}

/// A default as JSON has it.
fn default(param: &Param) -> Value {
    match param.default {
        Default::Count(count, ..) => json!(count),
        Default::Word(words) => json!(words.first()),
        Default::Text(text) => json!(text),
        Default::Flag(flag) => json!(flag),
        Default::Texts => json!([]),
    }
}

fn as_json(kind: &Kind) -> Value {
    let params: Vec<Value> = kind
        .params
        .iter()
        .map(|param| {
            json!({
                "name": param.name, "default": default(param), "allowed": param.allowed(),
                "help": param.help,
            })
        })
        .collect();
    json!({
        "name": kind.name,
        "about": kind.about,
        "parameters": params,
        "metrics": kind.metrics,
        "missing": programs::missing(kind),
    })
}
