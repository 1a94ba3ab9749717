//! Many workloads under the same variants: a file from which an experiment for each follows.
//!
//! Each experiment has its directory and its report as any other. What they say together:
//! [`super::regret`].

use super::check::is_name;
use super::metric::{self, Better};
use super::regret::{Bars, Figure, Kind};
use super::spec::{Experiment, START, Variant};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Version of [`SuitePlan`].
pub const SCHEMA: u32 = 1;
/// Reported of every workload, and compared with no bar where no phase names it: memory that is
/// given back was still taken.
const PEAK: &str = "peak_cgroup_mib";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Short name: letters, digits and '-'.
    pub name: String,
    /// What is asked, in a sentence.
    pub question: String,
    /// More about it.
    #[serde(default)]
    pub about: String,
    /// Rounds: each runs every variant of every workload once.
    pub rounds: u32,
    /// What is still as good as the best.
    pub bars: Bars,
    /// Keys of every experiment, where its row does not say otherwise.
    #[serde(default)]
    pub common: Map<String, Value>,
    /// What is compared: those with a manager against each other variant.
    #[serde(rename = "variant")]
    pub variants: Vec<Variant>,
    /// A workload each.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
    /// What `--quick` runs.
    #[serde(default)]
    pub quick: Quick,
}

/// A workload, the phases it goes through, and what is compared in each: keys of
/// [`super::metric`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Row {
    /// Short name: letters, digits and '-'.
    pub name: String,
    /// What is compared from the first second on.
    #[serde(default)]
    pub start: Vec<String>,
    /// ... once memory has settled.
    #[serde(default)]
    pub steady: Vec<String>,
    /// ... after most of the memory was freed.
    #[serde(default)]
    pub after: Vec<String>,
    /// The other keys of its experiment.
    #[serde(flatten)]
    pub experiment: Map<String, Value>,
}

/// What `--quick` runs of a suite. Its experiments say themselves what they change.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// These workloads; none: all.
    pub rows: Vec<String>,
    /// These variants; none: all.
    pub variants: Vec<String>,
    /// No run is begun that would be over later, minutes, unless the command line says otherwise.
    pub minutes: Option<u64>,
}

/// What a suite was when it began; later starts go on with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuitePlan {
    /// Version of this structure.
    pub schema: u32,
    /// The suite's file, word for word.
    pub text: String,
    /// Whether it is the quick form.
    pub quick: bool,
    /// Seed of the order and of the workloads.
    pub seed: u64,
    /// Rounds where the command line asked for others than the file.
    pub rounds: Option<u32>,
    /// Variants that the command line asked for; none: all, or those of `--quick`.
    pub variants: Vec<String>,
    /// Workloads that it asked for, likewise.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// The machine, as `lab` writes it down.
    pub environment: Value,
    /// Which program made the runs: another one may be as fast as it likes.
    pub build: String,
    /// When it began, in UTC.
    pub began: Option<String>,
    /// Workloads that cannot be run here: why.
    pub skipped: BTreeMap<String, String>,
}

/// What a command line asks for of a suite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asked {
    /// The quick form.
    pub quick: bool,
    /// These variants; none: all, or those of the quick form.
    pub variants: Vec<String>,
    /// These workloads, likewise.
    pub workloads: Vec<String>,
}

impl Asked {
    /// Names that are asked for, else those of the quick form in it.
    fn choose<'a>(&self, asked: &'a [String], quick: &'a [String]) -> &'a [String] {
        match asked.is_empty() {
            true if self.quick => quick,
            _ => asked,
        }
    }
}

impl From<&SuitePlan> for Asked {
    fn from(plan: &SuitePlan) -> Self {
        let SuitePlan { quick, variants, workloads, .. } = plan;
        Self { quick: *quick, variants: variants.clone(), workloads: workloads.clone() }
    }
}

/// A workload of a suite as an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What is compared.
    pub figures: Vec<Figure>,
    /// The experiment.
    pub experiment: Experiment,
}

impl Row {
    /// What is compared, phase by phase; an error for a key that is neither good nor bad.
    fn figures(&self) -> Result<Vec<Figure>, String> {
        let named = [&self.start, &self.steady, &self.after];
        let is_named = named.iter().any(|keys| keys.iter().any(|key| key == PEAK));
        let peak: Vec<String> = (!is_named).then(|| PEAK.to_owned()).into_iter().collect();
        let phases = [
            ("start", &self.start[..]),
            ("steady", &self.steady[..]),
            ("after", &self.after[..]),
            ("whole", &peak[..]),
        ];
        let mut all = Vec::new();
        for (phase, keys) in phases {
            for key in keys {
                let known = metric::find(key).filter(|known| known.better != Better::Neither);
                let Some(known) = known else {
                    return Err(format!("'{key}' is no metric that is good or bad"));
                };
                let kind = match known.name {
                    PEAK if phase == "whole" => Kind::Reported,
                    "p999_us" => Kind::Tail,
                    name if name.ends_with("_mib") => Kind::Memory,
                    _ => Kind::Speed,
                };
                let (key, better) = (key.clone(), known.better);
                all.push(Figure { phase, key, kind, better, digits: known.digits });
            }
        }
        Ok(all)
    }
}

impl Suite {
    /// An experiment for each workload that is asked for, with the variants that are; none: all, or
    /// those of `--quick`.
    ///
    /// # Errors
    /// What is wrong with the file or the variants, all of it; what is wrong with an experiment
    /// alone its own check says.
    pub fn parts(&self, asked: &Asked) -> Result<Vec<Part>, Vec<String>> {
        let (mut parts, mut faults) = (Vec::new(), Vec::new());
        if !is_name(&self.name) {
            faults.push(format!("'{}' is no name of a suite", self.name.escape_debug()));
        }
        let names: BTreeSet<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        if names.len() < self.rows.len() {
            faults.push("two rows have the same name".to_owned());
        }
        let variants: BTreeSet<&str> = self.variants.iter().map(|one| one.name.as_str()).collect();
        let Quick { rows, variants: fewer, .. } = &self.quick;
        let wanted = [
            (&names, rows),
            (&names, &asked.workloads),
            (&variants, fewer),
            (&variants, &asked.variants),
        ];
        for (known, wanted) in wanted {
            let absent = wanted.iter().filter(|name| !known.contains(name.as_str()));
            faults.extend(absent.map(|name| format!("there is no '{}'", name.escape_debug())));
        }
        let (variants, rows) =
            (asked.choose(&asked.variants, fewer), asked.choose(&asked.workloads, rows));
        for row in &self.rows {
            if !rows.is_empty() && !rows.contains(&row.name) {
                continue;
            }
            match self.part(row, variants) {
                Ok(part) => parts.push(part),
                Err(fault) => faults.push(format!("row '{}': {fault}", row.name)),
            }
        }
        if faults.is_empty() { Ok(parts) } else { Err(faults) }
    }

    fn part(&self, row: &Row, asked: &[String]) -> Result<Part, String> {
        let mut keys = self.common.clone();
        for (key, value) in &row.experiment {
            match (keys.get_mut(key).and_then(Value::as_object_mut), value.as_object()) {
                (Some(common), Some(own)) => common.extend(own.clone()),
                _ => drop(keys.insert(key.clone(), value.clone())),
            }
        }
        let figures = row.figures()?;
        let mut metrics = keys.remove("metric").and_then(|own| own.as_array().cloned());
        let metrics = metrics.get_or_insert_default();
        metrics.extend(figures.iter().map(|figure| serde_json::json!({ "key": figure.key })));
        let wanted = |name: &String| asked.is_empty() || asked.contains(name);
        let variants = self.variants.iter().filter(|variant| wanted(&variant.name));
        let variants: Result<Vec<Value>, _> = variants.map(serde_json::to_value).collect();
        let more = [
            ("name", Value::from(row.name.clone())),
            ("question", Value::from(self.question.clone())),
            ("stop", serde_json::json!({ "repetitions": self.rounds })),
            ("metric", Value::from(std::mem::take(metrics))),
            ("variant", Value::from(variants.map_err(|error| error.to_string())?)),
        ];
        keys.extend(more.map(|(key, value)| (key.to_owned(), value)));
        let from_start = format!("{START}.");
        if figures.iter().any(|figure| figure.key.starts_with(&from_start)) {
            keys.insert("at_work".to_owned(), Value::Bool(true));
        }
        let experiment = serde_json::from_value(Value::Object(keys));
        let experiment = experiment.map_err(|error| error.to_string())?;
        Ok(Part { name: row.name.clone(), figures, experiment })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn suite(row: &Value) -> Suite {
        serde_json::from_value(json!({
            "name": "s", "question": "q", "rounds": 7,
            "bars": { "speed": 0.95, "memory": 1.05, "tail": 1.2 },
            "common": { "measure_s": 3, "settings": { "defrag": "never", "enabled": "always" } },
            "variant": [{ "name": "a" }, { "name": "b" }],
            "quick": { "variants": ["b"] },
            "row": [row],
        }))
        .expect("a suite")
    }

    fn row() -> Value {
        json!({
            "name": "r", "start": ["start.ops_per_s"], "steady": ["cgroup_mib", "p999_us"],
            "settings": { "enabled": "never" }, "workload": { "kind": "btree" },
        })
    }

    #[test]
    fn an_experiment_follows_from_what_is_common_and_the_row() {
        let part = suite(&row()).parts(&Asked::default()).expect("no faults").remove(0);
        let own = &part.experiment;
        assert_eq!((own.measure_s, own.stop.repetitions, own.at_work), (3, 7, true));
        assert_eq!((&own.settings["defrag"][..], &own.settings["enabled"][..]), ("never", "never"));
        let kinds: Vec<_> = part.figures.iter().map(|figure| (figure.phase, figure.kind)).collect();
        let [start, steady, whole] = ["start", "steady", "whole"];
        let wanted = [
            (start, Kind::Speed),
            (steady, Kind::Memory),
            (steady, Kind::Tail),
            (whole, Kind::Reported),
        ];
        assert_eq!(kinds, wanted);
        assert_eq!(own.metrics.len(), 4);
    }

    #[test]
    fn variants_are_those_that_are_asked_for() {
        let names = |quick, asked: &[&str]| -> Vec<String> {
            let variants: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
            let asked = Asked { quick, variants, ..Asked::default() };
            let part = suite(&row()).parts(&asked).expect("no faults").remove(0);
            part.experiment.variants.into_iter().map(|variant| variant.name).collect()
        };
        assert_eq!(names(false, &[]), ["a", "b"]);
        assert_eq!(names(true, &[]), ["b"]);
        assert_eq!(names(true, &["a"]), ["a"]);
        let of =
            |workload: &str| Asked { workloads: vec![workload.to_owned()], ..Asked::default() };
        assert_eq!(suite(&row()).parts(&of("r")).map(|parts| parts.len()), Ok(1));
        assert_eq!(suite(&row()).parts(&of("x")), Err(vec!["there is no 'x'".to_owned()]));
    }

    #[test]
    fn all_faults_are_told_with_their_row() {
        let mut wrong = row();
        wrong["steady"] = json!(["huge_mib"]);
        let said = suite(&wrong)
            .parts(&Asked { variants: vec!["c".into()], ..Asked::default() })
            .expect_err("faults");
        assert_eq!(
            said,
            ["there is no 'c'", "row 'r': 'huge_mib' is no metric that is good or bad"]
        );
        let mut wrong = row();
        wrong["measures"] = json!(1);
        let said = suite(&wrong).parts(&Asked::default()).expect_err("a fault");
        assert!(said[0].starts_with("row 'r': unknown field `measures`"), "{said:?}");
    }
}
