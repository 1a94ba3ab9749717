//! `hugewise lab list`.

use crate::cli::{Global, LabListArgs};
use crate::exit;
use crate::output::Output;
use crate::render::text::wrap;
use hugewise_base::count::counted;
use hugewise_experiment::kind::{Default, Kind, Param};
use hugewise_experiment::spec::Experiment;
use hugewise_experiment::suite::Suite;
use hugewise_experiment::{kinds, metric};
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

fn parsed(texts: &[(&str, &str)]) -> anyhow::Result<Vec<Experiment>> {
    texts.iter().map(|(_, text)| Ok(toml::from_str(text)?)).collect()
}

fn suites() -> anyhow::Result<Vec<Suite>> {
    shipped::SUITES.iter().map(|(_, text)| Ok(toml::from_str(text)?)).collect()
}

fn overview() -> anyhow::Result<String> {
    let mut out = wrap(
        "",
        "Questions about your machine ('hugewise lab setup NAME' says what an experiment needs, \
         changes and takes):",
    );
    out.push('\n');
    push_experiments(&mut out, shipped::QUESTIONS)?;
    out += "\nBenchmarks of hugewise itself:\n\n";
    push_experiments(&mut out, shipped::BENCHMARKS)?;
    out += "\nMany workloads under the same variants, against the best of them:\n\n";
    for suite in suites()? {
        let rows = counted(suite.rows.len(), "workload", "workloads");
        out += &wrap(&format!("  {:<18} ", suite.name), &format!("{} ({rows})", suite.question));
    }
    out.push('\n');
    let own = "Kinds of workloads for an experiment of your own ('hugewise lab list KIND'):";
    out += &wrap("", own);
    out.push('\n');
    for kind in kinds::all() {
        out += &wrap(&format!("  {:<18} ", kind.name), kind.about);
    }
    Ok(out)
}

fn push_experiments(out: &mut String, texts: &[(&str, &str)]) -> anyhow::Result<()> {
    for experiment in parsed(texts)? {
        let Experiment { name, question, variants, workload, .. } = experiment;
        let kind = kinds::find(&workload.kind);
        let missing = kind.map(programs::missing).unwrap_or_default();
        *out += &wrap(&format!("  {name:<18} "), &question);
        let variants: Vec<_> = variants.into_iter().map(|variant| variant.name).collect();
        *out += &wrap(&format!("  {:<18} ", ""), &format!("variants: {}", variants.join(", ")));
        for text in missing {
            *out += &wrap(&format!("  {:<18} ", ""), &format!("skipped: {text}"));
        }
    }
    Ok(())
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
    let mut experiments = Vec::new();
    for (texts, benchmark) in [(shipped::QUESTIONS, false), (shipped::BENCHMARKS, true)] {
        experiments.extend(parsed(texts)?.into_iter().map(|experiment| {
            let missing = kinds::find(&experiment.workload.kind).map(programs::missing);
            json!({
                "experiment": experiment,
                "benchmark": benchmark,
                "missing": missing.unwrap_or_default(),
            })
        }));
    }
    let kinds: Vec<Value> = kinds::all().map(as_json).collect();
    let suites = suites()?.into_iter().map(|suite| {
        let workloads: Vec<String> = suite.rows.into_iter().map(|row| row.name).collect();
        json!({ "name": suite.name, "question": suite.question, "workloads": workloads })
    });
    let suites: Vec<Value> = suites.collect();
    Ok(json!({ "schema": 1, "experiments": experiments, "suites": suites, "kinds": kinds }))
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
