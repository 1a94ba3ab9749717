//! What a run leaves on disk before the next one begins.

use super::chains::Chains;
use hugewise_base::stats::Histogram;
use hugewise_base::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of these structures.
pub const SCHEMA: u32 = 1;

/// What an experiment was when it began; later starts go on with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Version of this structure.
    pub schema: u32,
    /// The experiment's file, word for word.
    pub text: String,
    /// Whether it is the quick form.
    pub quick: bool,
    /// Seed of the order and of the workloads.
    pub seed: u64,
    /// Repetitions where the command line asked for others than the file.
    pub repetitions: Option<u32>,
    /// Variants that are left out, as the command line asked or for want of something: why.
    pub without: BTreeMap<String, String>,
    /// The machine, as `app` writes it down.
    pub environment: serde_json::Value,
    /// When it began, in UTC.
    pub began: Option<String>,
    /// Later starts that went on with it, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
}

/// A start that went on with an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// When, in UTC.
    pub began: Option<String>,
    /// How many runs there were by then.
    pub runs: usize,
    /// The repetitions that were asked for from then on, where they are others than before. Who
    /// adds some because of what was seen finds a difference by chance more often.
    pub repetitions: Option<u32>,
    /// What of the machine or of hugewise had changed since the begin: `KEY: BEFORE -> NOW`.
    pub environment_changed: Vec<String>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this structure.
    pub schema: u32,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Name of the variant.
    pub variant: String,
    /// When it began, in UTC.
    pub began: Option<String>,
    /// How long it took, with all preparations.
    pub seconds: f64,
    /// What became of it.
    pub outcome: Outcome,
    /// What was measured.
    pub measured: Measured,
    /// What the machine was like.
    pub conditions: Conditions,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Outcome {
    /// It went through, and its data were as written.
    Done,
    /// It did not go through; its values do not count.
    Failed {
        /// What was wrong.
        error: String,
    },
    /// A bound that protects a live service ended it; its values do not count.
    Guarded {
        /// Which bound, and what was found.
        bound: String,
    },
}

impl Outcome {
    /// Why its values do not count; `None` where they do.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Done => None,
            Self::Failed { error: problem } | Self::Guarded { bound: problem } => Some(problem),
        }
    }
}

/// What was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Values by the keys of [`super::metric`].
    pub values: BTreeMap<String, f64>,
    /// Values over time.
    pub series: Vec<Series>,
    /// Latencies in nanoseconds, by what they are of.
    pub histograms: BTreeMap<String, Histogram>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// What the CPUs ran meanwhile, where that was asked for and could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chains: Option<Chains>,
}

/// Values over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Key of the metric.
    pub key: String,
    /// Seconds since the phase began, and the value.
    pub points: Vec<(f64, f64)>,
}

/// What the machine was like before a run and during it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// How long it took until the machine stood still; `None` when it did not within the limit.
    pub settled_s: Option<f64>,
    /// CPU time of others meanwhile, percent of the machine.
    pub busy_percent: Option<f64>,
    /// CPU time taken by the hypervisor meanwhile, percent.
    pub steal_percent: Option<f64>,
    /// Memory available before.
    pub mem_available: Option<Bytes>,
    /// Unusable free space index before; where a fragmenter runs, the one that it reached.
    pub fmfi: Option<f64>,
    /// CPU time taken by the hypervisor during the run, percent of the machine.
    pub run_steal_percent: Option<f64>,
    /// Kernel settings during the run, where a manager runs with what it made of them.
    pub settings: BTreeMap<String, String>,
    /// Why this run was not on a quiet machine.
    pub noisy: Vec<String>,
}

impl Record {
    /// A run that went through, and in which nothing was measured.
    pub fn new(repetition: u32, variant: &str) -> Self {
        Self {
            schema: SCHEMA,
            repetition,
            variant: variant.to_owned(),
            began: None,
            seconds: 0.0,
            outcome: Outcome::Done,
            measured: Measured::default(),
            conditions: Conditions::default(),
        }
    }

    /// Whether its values count.
    pub fn is_done(&self) -> bool {
        self.outcome == Outcome::Done
    }
}

/// Values of a metric by variant, each in the order of repetitions; failed runs leave a gap.
pub fn values<'a>(records: &'a [Record], key: &str) -> BTreeMap<&'a str, Vec<f64>> {
    let mut all: BTreeMap<&str, Vec<(u32, f64)>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.is_done()) {
        if let Some(value) = record.measured.values.get(key) {
            all.entry(&record.variant).or_default().push((record.repetition, *value));
        }
    }
    let sorted = all.into_iter().map(|(variant, mut values)| {
        values.sort_by_key(|(repetition, _)| *repetition);
        (variant, values.into_iter().map(|(_, value)| value).collect())
    });
    sorted.collect()
}

/// What the CPUs ran in the runs of a variant, those that count; `None` where that is unknown.
pub fn chains(records: &[Record], variant: &str) -> Option<Chains> {
    let own = records.iter().filter(|record| record.is_done() && record.variant == variant);
    Chains::pooled(own.filter_map(|record| record.measured.chains.as_ref()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run with one value.
    pub(crate) fn record(repetition: u32, variant: &str, key: &str, value: f64) -> Record {
        let mut record = Record::new(repetition, variant);
        record.seconds = 1.0;
        record.measured.values.insert(key.to_owned(), value);
        record
    }

    #[test]
    fn values_are_in_the_order_of_repetitions_and_failures_do_not_count() {
        let mut all = vec![
            record(1, "a", "rss_mib", 2.0),
            record(0, "a", "rss_mib", 1.0),
            record(0, "b", "rss_mib", 9.0),
            record(2, "a", "rss_mib", 3.0),
        ];
        all[3].outcome = Outcome::Failed { error: "gone".into() };
        let values = values(&all, "rss_mib");
        assert_eq!(values["a"], [1.0, 2.0]);
        assert_eq!(values["b"], [9.0]);
    }

    #[test]
    fn chains_are_of_the_runs_of_a_variant_that_count() {
        let of = |variant: &str, samples: u64| {
            let mut one = Record::new(0, variant);
            let samples = [("p;f".to_owned(), samples)].into();
            one.measured.chains = Some(Chains { seconds: 2.0, samples, left_out: 0 });
            one
        };
        let mut all = vec![of("a", 3), of("a", 5), of("b", 50), of("a", 90), Record::new(3, "a")];
        all[3].outcome = Outcome::Failed { error: "gone".into() };
        let pooled = chains(&all, "a").expect("chains");
        assert_eq!((pooled.seconds, pooled.samples["p;f"]), (4.0, 8));
        assert_eq!(chains(&all[3..], "a"), None);
    }

    #[test]
    fn a_record_survives_json() {
        let mut one = record(0, "a", "rss_mib", 1.5);
        one.measured.series.push(Series { key: "rss_mib".into(), points: vec![(0.0, 1.0)] });
        one.outcome = Outcome::Failed { error: "x".into() };
        let text = serde_json::to_string(&one).expect("plain data");
        assert_eq!(serde_json::from_str::<Record>(&text).expect("own output"), one);
    }
}
