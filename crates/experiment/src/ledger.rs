//! A ledger of hypotheses about a live service, as its file says it, and the experiment that puts
//! them to the test.
//!
//! A hypothesis says what to change, what that gains, and which counters it must move; an interval
//! that excludes one of these refutes it ([`super::verdict`]). Each one is a variant beside the
//! service as it is, so order, repetitions, trail and results are those of any experiment.

use super::check::{Checked, check};
use super::kind::Value;
use super::kinds::{self, Params};
use super::load::{LoadSpec, Operations};
use super::metric::{self, Better};
use super::spec::{Change, Experiment, MetricSpec, Noise, Settle, Stop, Variant, Workload};
use super::{counters, settings};
use hugewise_base::stats::mann_whitney::values_needed;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The variant without any change.
pub const AS_IS: &str = "as-is";
/// The kind of workload that every ledger has.
const KIND: &str = "service";
/// Most hypotheses of a ledger: each costs as many trials as there are repetitions.
pub const HYPOTHESES_MAX: usize = 16;
/// Trials of each beyond those without which no test could tell anything: one that others disturb
/// is not to decide.
const SPARE: usize = 1;

/// A ledger: the whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Short name: letters, digits and '-'.
    pub name: String,
    /// What is asked, in a sentence.
    pub question: String,
    /// What is slow, and how it is asked.
    #[serde(default)]
    pub service: Service,
    /// What is to become better.
    pub goal: Goal,
    /// Length and number of the trials.
    #[serde(default)]
    pub trials: Trials,
    /// What ends a trial at once.
    #[serde(default)]
    pub guard: Guard,
    /// What may be the cause.
    #[serde(rename = "hypothesis")]
    pub hypotheses: Vec<Hypothesis>,
}

/// The service, and the requests that it gets beside those of its users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Service {
    /// Where it answers; empty: no request is sent, and only the machine is watched.
    pub target: String,
    /// Requests a second; of Redis only `GET`.
    pub per_s: f64,
    /// Connections. A request needs one of its own.
    pub connections: u32,
    /// Time after which a request has failed, ms.
    pub timeout_ms: u64,
}

impl Default for Service {
    fn default() -> Self {
        Self { target: String::new(), per_s: 50.0, connections: 16, timeout_ms: 10_000 }
    }
}

/// What is to become better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// A metric of the requests, as `p99_us`, or a counter of the machine, as
    /// `cpu.system_percent`.
    pub metric: String,
    /// The good direction of a counter; without it less is better.
    pub better: Option<Better>,
}

/// Length and number of the trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Trials {
    /// Length of each, seconds.
    pub length_s: u64,
    /// Time between a change and what is measured of it, ms.
    pub settle_ms: u64,
    /// Trials of each hypothesis, and of the service as it is; without it as many as are needed to
    /// tell anything, and one more.
    pub repetitions: Option<u32>,
    /// Chance that any verdict is wrong where the trials are alike but for the change.
    pub error_rate: f64,
    /// Whether it is noted what the CPUs run meanwhile, by the kernel's functions, for pictures.
    pub chains: bool,
}

impl Default for Trials {
    fn default() -> Self {
        let chains = true;
        Self { length_s: 10, settle_ms: 2000, repetitions: None, error_rate: 0.05, chains }
    }
}

/// Bounds that protect the users of the service; without a value there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Guard {
    /// Latency that 1 % of the requests may exceed, ms.
    pub p99_ms: Option<u64>,
    /// Requests that may fail, percent.
    pub failed_percent: Option<u64>,
}

/// What may be the cause, and how that would show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypothesis {
    /// Short name: letters, digits and '-'.
    pub name: String,
    /// The cause, and why it is believed, in a sentence.
    pub because: String,
    /// How much better the goal gets at least, percent of what it is.
    pub gain_percent: f64,
    /// Metrics and counters that the change moves, and at least how far: `"-50%"`.
    #[serde(default)]
    pub moves: BTreeMap<String, Percent>,
    /// Settings that are changed, under the trail ([`settings::file`] has the keys).
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Program and arguments that change what no setting is.
    #[serde(default)]
    pub apply: Vec<String>,
    /// Program and arguments that undo it.
    #[serde(default)]
    pub undo: Vec<String>,
}

/// A signed percentage, written as `"-50%"`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Percent(pub f64);

impl From<Percent> for String {
    fn from(percent: Percent) -> Self {
        format!("{:+}%", percent.0)
    }
}

impl TryFrom<String> for Percent {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%').map(str::trim_end);
        let signed = number.filter(|number| number.starts_with(['+', '-']));
        let value = signed.and_then(|number| number.parse::<f64>().ok());
        let wrong = || format!("'{}' is no change: write one such as \"-50%\"", shown(&text));
        value.filter(|value| is_change(*value)).map(Self).ok_or_else(wrong)
    }
}

/// Whether something can change by so many percent of itself, and to a smaller number than that.
fn is_change(percent: f64) -> bool {
    percent.is_finite() && percent > -100.0 && percent != 0.0 && percent <= 1e6
}

fn shown(text: &str) -> String {
    text.escape_debug().to_string().chars().take(60).collect()
}

/// What a hypothesis says of one metric or counter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// Its key.
    pub key: String,
    /// At least how far it moves, percent of what it is; below 0 it falls.
    pub percent: f64,
}

impl Ledger {
    /// What a hypothesis says of the goal, and then of all else.
    pub fn claims(&self, hypothesis: &Hypothesis) -> Vec<Claim> {
        let percent = match self.better() {
            Better::Higher => hypothesis.gain_percent,
            Better::Lower | Better::Neither => -hypothesis.gain_percent,
        };
        let goal = Claim { key: self.goal.metric.clone(), percent };
        let moves = hypothesis.moves.iter();
        let others = moves.map(|(key, percent)| Claim { key: key.clone(), percent: percent.0 });
        [goal].into_iter().chain(others.filter(|claim| claim.key != self.goal.metric)).collect()
    }

    /// The good direction of the goal.
    pub fn better(&self) -> Better {
        let known = metric::find(&self.goal.metric).map(|metric| metric.better);
        let known = known.filter(|better| *better != Better::Neither);
        self.goal.better.or(known).unwrap_or(Better::Lower)
    }

    /// The share of the error rate that each claim has: of all hypotheses, and of all claims of
    /// the one that has most.
    pub fn level(&self) -> f64 {
        let claims = self.hypotheses.iter().map(|one| self.claims(one).len()).max().unwrap_or(1);
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let all = (self.hypotheses.len().max(1) * claims.max(1)) as f64;
        self.trials.error_rate / all
    }

    /// Trials of each hypothesis.
    pub fn repetitions(&self) -> u32 {
        let needed = values_needed(self.level()).map_or(usize::MAX, |needed| needed + SPARE);
        self.trials.repetitions.unwrap_or_else(|| u32::try_from(needed).unwrap_or(u32::MAX))
    }

    /// The experiment that puts all hypotheses to the test.
    ///
    /// # Errors
    /// Every fault of the ledger, each saying where it is and what is allowed.
    pub fn experiment(&self) -> Result<Checked, Vec<String>> {
        let faults = self.faults();
        if faults.is_empty() { check(self.made(), false) } else { Err(faults) }
    }

    fn made(&self) -> Experiment {
        let as_is = Variant { name: AS_IS.into(), ..Variant::default() };
        let variants = self.hypotheses.iter().map(variant);
        Experiment {
            name: self.name.clone(),
            question: self.question.clone(),
            about: String::new(),
            workload: Workload { kind: KIND.into(), params: self.params() },
            variants: [as_is].into_iter().chain(variants).collect(),
            baseline: Some(AS_IS.into()),
            metrics: vec![self.decides()],
            settings: BTreeMap::new(),
            load: (!self.service.target.is_empty()).then(|| self.load()),
            measure_s: self.trials.length_s,
            manage_s: 0,
            at_work: false,
            stop: Stop {
                repetitions: self.repetitions(),
                error_rate: self.trials.error_rate,
                ..Stop::default()
            },
            // A live machine neither comes to rest nor is left alone.
            settle: Settle { still_s: 0, within_percent: 100.0, max_s: 0 },
            noise: Noise {
                busy_percent: 100.0,
                refuse_busy_percent: 100.0,
                steal_percent: 100.0,
                refuse_steal_percent: 100.0,
                patience_s: 0,
            },
            beside: Vec::new(),
            fragment: None,
            fragment_release_s: None,
            memory_limit_mib: None,
            warm_mib: None,
            chains: self.trials.chains,
            advise: None,
            quick: super::spec::Quick::default(),
        }
    }

    fn params(&self) -> BTreeMap<String, Value> {
        let guard = &self.guard;
        let all = [
            ("target", Value::Text(self.service.target.clone())),
            ("settle_ms", Value::Count(self.trials.settle_ms)),
            ("guard_p99_ms", Value::Count(guard.p99_ms.unwrap_or(0))),
            ("guard_failed_percent", Value::Count(guard.failed_percent.unwrap_or(0))),
        ];
        all.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn load(&self) -> LoadSpec {
        let Service { per_s, connections, timeout_ms, .. } = self.service;
        let steps = [format!("constant {per_s}/s for {} s", self.trials.length_s)];
        LoadSpec {
            steps: steps.into(),
            connections,
            timeout_ms,
            // Nothing is written into somebody's database.
            operations: Operations { get_percent: 100, set_percent: 0 },
            ..LoadSpec::new("", &[])
        }
    }

    fn decides(&self) -> MetricSpec {
        let better = Some(self.better());
        MetricSpec { decides: true, better, ..MetricSpec::shown(&self.goal.metric) }
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(fault) = fault_of_key(&self.goal.metric) {
            faults.push(format!("[goal] metric: {fault}"));
        }
        if self.goal.better == Some(Better::Neither) {
            faults.push("[goal] better is 'lower' or 'higher'".into());
        }
        if !(self.trials.error_rate > 0.0 && self.trials.error_rate < 0.5) {
            faults.push("[trials] error_rate must be above 0 and below 0.5".into());
        }
        let count = self.hypotheses.len();
        if count == 0 || count > HYPOTHESES_MAX {
            faults
                .push(format!("there are {count} hypotheses: 1 to {HYPOTHESES_MAX} can be tried"));
        }
        let names: BTreeSet<&str> = self.hypotheses.iter().map(|one| one.name.as_str()).collect();
        if names.len() < count || names.contains(AS_IS) {
            faults.push(format!("hypotheses need names of their own, and none is '{AS_IS}'"));
        }
        self.hypotheses.iter().for_each(|one| faults_of(one, &mut faults));
        let asks = self.hypotheses.iter().flat_map(|one| self.claims(one)).map(|claim| claim.key);
        let of_requests = |key: &String| !is_counted(key) && is_measured(key);
        let asked = asks.into_iter().find(of_requests);
        if let Some(key) = asked.filter(|_| self.service.target.is_empty()) {
            faults.push(format!("'{key}' is of requests, and [service] has no target to ask"));
        }
        faults
    }
}

fn variant(hypothesis: &Hypothesis) -> Variant {
    let Hypothesis { name, because, set, apply, undo, .. } = hypothesis;
    let change = Change { apply: apply.clone(), undo: undo.clone() };
    Variant {
        name: name.clone(),
        about: because.clone(),
        settings: set.clone(),
        change: (!apply.is_empty()).then_some(change),
        ..Variant::default()
    }
}

fn faults_of(hypothesis: &Hypothesis, faults: &mut Vec<String>) {
    let Hypothesis { name, because, gain_percent, moves, set, apply, undo } = hypothesis;
    let mut fault = |text: String| faults.push(format!("hypothesis '{}': {text}", shown(name)));
    if because.trim().is_empty() {
        fault("'because' says what the cause may be".into());
    }
    if !(*gain_percent > 0.0 && *gain_percent < 100.0) {
        fault("gain_percent must be above 0 and below 100".into());
    }
    let unknown = moves.keys().filter_map(|key| fault_of_key(key));
    unknown.for_each(|text| fault(format!("moves: {text}")));
    if set.is_empty() && apply.is_empty() {
        fault("it changes nothing: give 'set', or 'apply' with 'undo'".into());
    }
    if apply.is_empty() != undo.is_empty() {
        fault("'apply' and 'undo' come together: without a way back nothing is changed".into());
    }
    for key in set.keys().filter(|key| settings::file(key).is_none()) {
        fault(format!(
            "'{}' is no setting that can be changed with a way back; known are paths below \
             /sys/kernel/mm/transparent_hugepage, as 'enabled', sysctls of memory, as \
             'vm.swappiness', and limits of cgroups, as 'cgroup/batch.slice/cpu.max'",
            shown(key)
        ));
    }
}

/// Whether a run measures it, of requests or of the machine.
fn is_measured(key: &str) -> bool {
    kinds::find(KIND).is_some_and(|kind| kind.metrics.contains(&key))
}

fn is_counted(key: &str) -> bool {
    counters::find(key).is_some() || super::machine::is_known(key)
}

fn fault_of_key(key: &str) -> Option<String> {
    if is_measured(key) || is_counted(key) {
        return None;
    }
    let like: Vec<&str> = counters::like(key).collect();
    let known = match like[..] {
        [] => "requests have p50_us, p99_us, failed_share_percent and so on, and the machine has \
               counters such as cpu.system_percent (all of them: docs/reference/lab.md)"
            .to_owned(),
        _ => format!("there are {}", like.join(", ")),
    };
    Some(format!("nothing measures '{}'; {known}", shown(key)))
}

/// The parameters of the service of a checked ledger.
pub fn service(params: &Params) -> Option<&kinds::Service> {
    match params.task() {
        kinds::Task::Measurement(kinds::Measurement::Service(service)) => Some(service),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
