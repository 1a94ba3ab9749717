//! Metrics as Prometheus reads them: its own text (version 0.0.4), or OpenMetrics 1.0.

use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    /// It goes up and down.
    Gauge,
    /// It only grows, until it starts again at 0. Its name ends in `_total`.
    Counter,
    /// Always 1: its labels say something. Its name ends in `_info`.
    Info,
}

impl Type {
    const fn key(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Info => "info",
        }
    }

    const fn ending(self) -> &'static str {
        match self {
            Self::Gauge => "",
            Self::Counter => "_total",
            Self::Info => "_info",
        }
    }
}

/// In which form it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Prometheus, and what writes files for node_exporter.
    Prometheus,
    /// OpenMetrics.
    OpenMetrics,
}

/// Labels by name.
pub(crate) type Labels = BTreeMap<&'static str, String>;

/// A metric: a value for each set of labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metric {
    /// Its name, without the ending of its type.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: Type,
    /// What it says.
    pub(crate) help: String,
    /// Its values; a metric without any is left out.
    pub(crate) values: BTreeMap<Labels, f64>,
}

impl Metric {
    fn full_name(&self) -> String {
        format!("{}{}", self.name, self.kind.ending())
    }
}

/// All of them as text.
pub(crate) fn text(metrics: &[Metric], form: Form) -> String {
    let mut out = String::new();
    for metric in metrics.iter().filter(|metric| !metric.values.is_empty()) {
        let name = metric.full_name();
        // OpenMetrics names the family; Prometheus knows no infos.
        let (family, kind) = match form {
            Form::OpenMetrics => (&metric.name, metric.kind),
            Form::Prometheus if metric.kind == Type::Info => (&name, Type::Gauge),
            Form::Prometheus => (&name, metric.kind),
        };
        let _ = writeln!(out, "# HELP {family} {}", help(&metric.help, form));
        let _ = writeln!(out, "# TYPE {family} {}", kind.key());
        for (labels, value) in &metric.values {
            let _ = writeln!(out, "{name}{} {value}", braces(labels));
        }
    }
    if form == Form::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

/// The same as JSON.
pub(crate) fn json(metrics: &[Metric]) -> Json {
    let values = |metric: &Metric| -> Json {
        let one = |(labels, value): (&Labels, &f64)| json!({ "labels": labels, "value": value });
        metric.values.iter().map(one).collect()
    };
    let full = metrics.iter().filter(|metric| !metric.values.is_empty());
    let metrics: Json = full
        .map(|metric| {
            json!({
                "name": metric.full_name(), "type": metric.kind.key(), "help": metric.help,
                "values": values(metric)
            })
        })
        .collect();
    json!({ "schema": 1, "metrics": metrics })
}

fn braces(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let one = |(name, value): (&&str, &String)| format!("{name}=\"{}\"", escaped(value));
    format!("{{{}}}", labels.iter().map(one).collect::<Vec<_>>().join(","))
}

/// Only OpenMetrics has quotation marks escaped in it.
fn help(text: &str, form: Form) -> String {
    match form {
        Form::Prometheus => lines(text),
        Form::OpenMetrics => escaped(text),
    }
}

/// Text that ends no line and no quotation, whoever chose it.
fn escaped(text: &str) -> String {
    lines(text).replace('"', r#"\""#)
}

fn lines(text: &str) -> String {
    text.replace('\\', r"\\").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn metric(kind: Type, label: &str, value: f64) -> Metric {
        let values = BTreeMap::from([(Labels::from([("who", label.to_owned())]), value)]);
        Metric { name: "hugewise_x".into(), kind, help: "What it \"is\".".into(), values }
    }

    #[test]
    fn each_type_has_its_ending() {
        let all = [metric(Type::Counter, "a", 3.0), metric(Type::Info, "b", 1.0)];
        let lines = "# HELP hugewise_x_total What it \"is\".\n\
                     # TYPE hugewise_x_total counter\n\
                     hugewise_x_total{who=\"a\"} 3\n\
                     # HELP hugewise_x_info What it \"is\".\n\
                     # TYPE hugewise_x_info gauge\n\
                     hugewise_x_info{who=\"b\"} 1\n";
        assert_eq!(text(&all, Form::Prometheus), lines);
        let open = text(&all[..1], Form::OpenMetrics);
        assert!(open.starts_with("# HELP hugewise_x What it \\\"is\\\".\n"), "{open}");
        assert!(open.contains("# TYPE hugewise_x counter\nhugewise_x_total{"), "{open}");
        assert!(open.ends_with("} 3\n# EOF\n"), "{open}");
        assert_eq!(
            text(&[Metric { values: BTreeMap::new(), ..all[0].clone() }], Form::Prometheus),
            ""
        );
    }

    proptest! {
        /// Whatever a program calls itself, it is one line, and reads back as it was.
        #[test]
        fn names_of_strangers_stay_in_their_quotes(name in ".*") {
            let written = text(&[metric(Type::Gauge, &name, 0.5)], Form::Prometheus);
            let line = written.strip_prefix("# HELP hugewise_x What it \"is\".\n");
            let line = line.and_then(|rest| rest.strip_prefix("# TYPE hugewise_x gauge\n"));
            let value = line.and_then(|rest| rest.strip_prefix("hugewise_x{who=\""));
            let value = value.and_then(|rest| rest.strip_suffix("\"} 0.5\n")).expect("one sample");
            prop_assert!(!value.contains('\n'));
            let (mut read, mut escape) = (String::new(), false);
            for letter in value.chars() {
                match (escape, letter) {
                    (false, '\\') => escape = true,
                    (false, '"') => prop_assert!(false, "the quotation ends early"),
                    (true, 'n') => { read.push('\n'); escape = false; }
                    (_, letter) => { read.push(letter); escape = false; }
                }
            }
            prop_assert_eq!(read, name);
        }
    }
}
