//! An experiment as its file says it. What is wrong with one: [`super::check`].

use super::kind::Value;
use super::load::LoadSpec;
use super::metric::Better;
use hugewise_manager::config::Mode;
use hugewise_manager::hints::Hint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An experiment: the whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Short name: letters, digits and '-'.
    pub name: String,
    /// What is asked, in a sentence.
    pub question: String,
    /// More about it.
    #[serde(default)]
    pub about: String,
    /// What runs.
    pub workload: Workload,
    /// What is compared; the first is the baseline unless `baseline` names another.
    #[serde(rename = "variant")]
    pub variants: Vec<Variant>,
    /// Name of the variant that the others are compared with.
    pub baseline: Option<String>,
    /// What decides. Without any: all metrics of the workload, as information.
    #[serde(default, rename = "metric")]
    pub metrics: Vec<MetricSpec>,
    /// Kernel settings of every variant; a variant's own come on top.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Requests that a server gets, where the workload is one and takes a load: [`super::load`].
    /// Target and seed are those of the run.
    pub load: Option<LoadSpec>,
    /// Length of one measurement, seconds. A load lasts as long as its steps.
    #[serde(default = "measure_s")]
    pub measure_s: u64,
    /// How long a manager may work before something is measured, seconds.
    #[serde(default = "manage_s")]
    pub manage_s: u64,
    /// Whether the workload works in that time: it is then measured as the phase [`START`].
    #[serde(default)]
    pub at_work: bool,
    /// When enough has been run.
    #[serde(default)]
    pub stop: Stop,
    /// What is waited for before each run.
    #[serde(default)]
    pub settle: Settle,
    /// When the machine is too busy to measure.
    #[serde(default)]
    pub noise: Noise,
    /// What runs beside the workload.
    #[serde(default)]
    pub beside: Vec<Workload>,
    /// Memory that is broken into pieces before each run.
    pub fragment: Option<Workload>,
    /// Seconds after the start of the workload when the broken memory is released; else after it.
    pub fragment_release_s: Option<u64>,
    /// Limit of the workload's cgroup, MiB; none unless given.
    pub memory_limit_mib: Option<u64>,
    /// Memory that is touched and freed before each run, MiB, so that a host that backs memory
    /// lazily has done so; without it nothing is touched.
    pub warm_mib: Option<u64>,
    /// Whether it is noted what the CPUs run while something is measured, by the kernel's
    /// functions: the report draws how variants differ from the baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chains: bool,
    /// A key of the configuration that the result is a value for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advise: Option<Advise>,
    /// What `--quick` changes.
    #[serde(default)]
    pub quick: Quick,
}

/// The phase from the end of the fill on, where a workload works from then on.
pub const START: &str = "start";

/// Keys that an experiment can find a value for: shares of time that huge pages save.
pub const ADVISABLE: [&str; 1] = ["policy.walk_percent"];

/// The time that a variant saves, percent, as the value of a key of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advise {
    /// The key: one of [`ADVISABLE`].
    pub key: String,
    /// The metric that tells it: a time, or work in a time.
    pub metric: String,
    /// The variant that saves it, against the baseline.
    pub variant: String,
}

const fn measure_s() -> u64 {
    5
}

const fn manage_s() -> u64 {
    20
}

impl Experiment {
    /// The level at which the deciding metrics are tested, all together: the error rate, or half of
    /// it where precision ends the experiment.
    ///
    /// An interval that is narrow by luck ends the experiment early and excludes the truth more
    /// often: at the full level a simulated rule of 4 % width over 5 to 20 repetitions claimed a
    /// difference in 6.7 % of 3,000 experiments without one, where 5 % were promised. With half of
    /// it the promise holds (`experiment/tests/stats/stopping.rs`).
    pub fn level(&self) -> f64 {
        let stop = &self.stop;
        let early = stop.interval_percent.is_some() && stop.max_repetitions > stop.repetitions;
        if early { stop.error_rate / 2.0 } else { stop.error_rate }
    }

    /// Most repetitions that may be run.
    pub fn repetitions_at_most(&self) -> u32 {
        self.stop.max_repetitions.max(self.stop.repetitions)
    }
}

/// A workload, or a part of it: its kind and parameters, the latter beside the former.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
// Not by `flatten`: an error would not know its line.
#[serde(try_from = "BTreeMap<String, Value>")]
pub struct Workload {
    /// Name of the kind.
    pub kind: String,
    /// Parameters.
    #[serde(flatten)]
    pub params: BTreeMap<String, Value>,
}

impl TryFrom<BTreeMap<String, Value>> for Workload {
    type Error = String;

    fn try_from(mut params: BTreeMap<String, Value>) -> Result<Self, String> {
        match params.remove("kind") {
            Some(Value::Text(kind)) => Ok(Self { kind, params }),
            Some(other) => Err(format!("kind = {other} is no kind: it is a name, as \"btree\"")),
            None => Err("missing field `kind`".to_owned()),
        }
    }
}

/// One of the things compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Short name: letters, digits, '-' and '.'.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub about: String,
    /// Huge pages of the workload alone, whatever the machine is set to.
    #[serde(default)]
    pub huge_pages: HugePages,
    /// Kernel settings (see [`super::settings::file`] for the keys).
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// `HugeTLB` pages on top of those that the pool has, by their size: `"2MiB" = 512`. A run that
    /// is not granted all of them fails.
    #[serde(default)]
    pub hugetlb: BTreeMap<String, u64>,
    /// A manager beside the workload.
    pub manage: Option<Manage>,
    /// Parameters of the workload that differ.
    #[serde(default)]
    pub workload: BTreeMap<String, Value>,
    /// Environment of the workload's programs.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Commands that change what no setting is: a flag of a product, the size of a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// A change by commands, with its way back. Whoever runs hugewise runs them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Program and arguments that make the change.
    pub apply: Vec<String>,
    /// Program and arguments that undo it, whether or not it was made, and however often.
    pub undo: Vec<String>,
}

/// Huge pages of one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HugePages {
    /// What the machine's settings and the program make of it.
    #[default]
    Inherit,
    /// None, by `PR_SET_THP_DISABLE`.
    Never,
    /// At every fault, as far as the program has a switch: its own memory is advised, jemalloc and
    /// glibc are told, Java gets `-XX:+UseTransparentHugePages`.
    Always,
    /// None from faults, but a manager may promote; only kinds with
    /// [`super::kind::Source::VariantOrLater`] can do that.
    Later,
    /// As `later`, and asked for, so that khugepaged serves the program after its fill.
    Khugepaged,
}

impl HugePages {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Inherit, Self::Never, Self::Always, Self::Later, Self::Khugepaged];

    /// From the word in files and on command lines.
    ///
    /// # Errors
    /// The words that there are.
    pub fn parse(word: &str) -> Result<Self, String> {
        let words = Self::ALL.map(Self::key).join(", ");
        let found = Self::ALL.into_iter().find(|one| one.key() == word);
        found.ok_or_else(|| format!("it is one of {words}"))
    }

    /// The word in files and on command lines.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Inherit => "inherit",
            Self::Never => "never",
            Self::Always => "always",
            Self::Later => "later",
            Self::Khugepaged => "khugepaged",
        }
    }

    /// Whether the program has them switched off while it is filled, and then no more.
    pub const fn come_later(self) -> bool {
        matches!(self, Self::Later | Self::Khugepaged)
    }
}

/// A manager of the workload's processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manage {
    /// Its mode.
    #[serde(default)]
    pub mode: Mode,
    /// Keys of its configuration, as for `--set`.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Hints of its configuration; `user = "*"` means the workload, whoever runs it.
    #[serde(default, rename = "hint", skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hint>,
    /// Whether it leaves all kernel settings as they are.
    #[serde(default)]
    pub keep_settings: bool,
    /// Whether it runs before the workload begins, as a daemon does, and manages whatever is in the
    /// workload's cgroup; else it is started on the filled program.
    #[serde(default)]
    pub standing: bool,
}

/// A metric that is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// Its key.
    pub key: String,
    /// Differences up to this count as none, percent of the baseline; a variant is called the same
    /// when the whole interval lies within.
    pub equal_within_percent: Option<f64>,
    /// Whether the verdict rests on it. Only these share the error rate.
    #[serde(default = "yes")]
    pub decides: bool,
    /// Unit of a metric that the file defines.
    pub unit: Option<String>,
    /// Good direction of a metric that the file defines.
    pub better: Option<Better>,
}

const fn yes() -> bool {
    true
}

impl MetricSpec {
    /// One that is shown and decides nothing.
    pub fn shown(key: &str) -> Self {
        let key = key.to_owned();
        Self { key, equal_within_percent: None, decides: false, unit: None, better: None }
    }
}

/// When enough has been run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Repetitions of every variant.
    pub repetitions: u32,
    /// Go on up to this many until `interval_percent` is reached.
    pub max_repetitions: u32,
    /// Enough when the ratio's interval of every deciding metric is narrower than this, percent.
    /// A width says nothing about which variant is better, and what it does to the error rate is
    /// made up for: see [`Experiment::level`].
    pub interval_percent: Option<f64>,
    /// No further repetition is begun once all runs, those of earlier starts too, have taken this
    /// many minutes.
    pub max_minutes: Option<u64>,
    /// Chance that any difference is claimed where there is none.
    pub error_rate: f64,
}

impl std::default::Default for Stop {
    fn default() -> Self {
        Self {
            repetitions: 5,
            max_repetitions: 0,
            interval_percent: None,
            max_minutes: None,
            error_rate: 0.05,
        }
    }
}

/// What is waited for before a run: memory of earlier ones to be free, khugepaged to be idle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settle {
    /// `MemAvailable` and khugepaged's counters stood still for so long, seconds, ...
    pub still_s: u64,
    /// ... within this, percent of the machine's memory.
    pub within_percent: f64,
    /// Waited for no longer than this, seconds; the run is then marked.
    pub max_s: u64,
}

impl std::default::Default for Settle {
    fn default() -> Self {
        Self { still_s: 2, within_percent: 0.5, max_s: 30 }
    }
}

/// What others do on the machine while it settles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// CPU time of others, percent of the machine: noted above this.
    pub busy_percent: f64,
    /// ... and refused above this.
    pub refuse_busy_percent: f64,
    /// CPU time that the hypervisor took, percent: noted above this.
    pub steal_percent: f64,
    /// ... and refused above this.
    pub refuse_steal_percent: f64,
    /// A refusal waits so long for a quieter moment first, seconds.
    pub patience_s: u64,
}

impl std::default::Default for Noise {
    fn default() -> Self {
        Self {
            busy_percent: 10.0,
            refuse_busy_percent: 50.0,
            steal_percent: 2.0,
            refuse_steal_percent: 20.0,
            patience_s: 60,
        }
    }
}

/// What `--quick` changes: less, for a first look.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// Repetitions.
    pub repetitions: Option<u32>,
    /// Length of one measurement.
    pub measure_s: Option<u64>,
    /// How long a manager may work before something is measured.
    pub manage_s: Option<u64>,
    /// Parameters of the workload.
    pub workload: BTreeMap<String, Value>,
    /// Steps of the load, instead of all others.
    pub load_steps: Option<Vec<String>>,
    /// Variants that are left out.
    pub without: Vec<String>,
}
