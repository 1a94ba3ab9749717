//! Tables of the reference page of experiments: keys of files, settings, metrics, counters.

use super::{Made, head};
use hugewise_evidence::recording::Field;
use hugewise_experiment::counters;
use hugewise_experiment::load::LoadSpec;
use hugewise_experiment::load::profile::GRAMMAR;
use hugewise_experiment::metric::{Better, METRICS};
use hugewise_experiment::settings;
use hugewise_experiment::spec::Experiment;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Keys of an experiment's file and what they mean. Defaults are those of the program.
const KEYS: &[(&str, &str)] = &[
    ("name", "short name: 1 to 40 letters, digits, '-', '_' and '.'"),
    ("question", "what is asked, in a sentence"),
    ("about", "more about it"),
    ("baseline", "name of the variant that the others are compared with; else the first"),
    ("measure_s", "length of one measurement, seconds"),
    ("manage_s", "how long a manager may work before something is measured, seconds"),
    (
        "at_work",
        "whether the workload works in that time: it is then measured as the phase `start` \
         (built-in kinds, `redis`, `memcached`, `java`, `bloat`, `numpy`, `node`)",
    ),
    ("memory_limit_mib", "limit of the workload's cgroup, MiB"),
    (
        "warm_mib",
        "memory that is touched and freed before each run, MiB, so that a host that backs memory \
         lazily has done so; without it nothing is touched",
    ),
    ("settings", "kernel settings of every variant; a variant's own come on top"),
    ("workload.kind", "what runs; its parameters stand beside it"),
    ("load", "requests that a server gets (below), where the workload is one that takes a load"),
    ("variant.name", "short name, as above"),
    ("variant.about", "what it is"),
    (
        "variant.huge_pages",
        "`inherit`: what the machine and the program make of it; `never`: none, by \
         `PR_SET_THP_DISABLE`; `always`: at every fault, as far as the program has a switch; \
         `later`: none from faults, but a manager may promote (built-in kinds, `demo`, `bloat`, \
         `siblings`); `khugepaged`: as `later`, and khugepaged may, too",
    ),
    ("variant.settings", "kernel settings, on top of the experiment's"),
    ("variant.hugetlb", "HugeTLB pages on top of the pool's, by their size: `\"2MiB\" = 512`"),
    ("variant.manage.mode", "a manager beside the workload: `ingens`, `guard` or `observe`"),
    ("variant.manage.set", "keys of its configuration, as for `--set`"),
    ("variant.manage.keep_settings", "it leaves all kernel settings as they are"),
    (
        "variant.manage.standing",
        "it runs before the workload begins, as a daemon does, and manages the workload's cgroup; \
         else it is started on the filled program",
    ),
    ("variant.workload", "parameters of the workload that differ"),
    ("variant.env", "environment of the workload's programs"),
    ("variant.change.apply", "program and arguments that change what no setting is"),
    ("variant.change.undo", "program and arguments that undo it"),
    ("metric.key", "key of a metric, with its phase: `deleted.rss_mib`"),
    (
        "metric.equal_within_percent",
        "differences up to this do not matter, percent of the baseline: `the same` when the \
         whole interval lies within",
    ),
    ("metric.decides", "whether the verdict rests on it; only these share the error rate"),
    ("metric.unit", "unit of a metric that no table knows"),
    ("metric.better", "its good direction: `lower`, `higher` or `neither`"),
    ("stop.repetitions", "repetitions of every variant"),
    (
        "stop.max_repetitions",
        "continue up to this many until interval_percent is reached; 0: do not",
    ),
    (
        "stop.interval_percent",
        "enough when the ratio's interval of every deciding metric is narrower than this, percent",
    ),
    (
        "stop.max_minutes",
        "no further repetition is begun once all runs together took this many minutes",
    ),
    ("stop.error_rate", "chance that any difference is claimed where there is none"),
    ("settle.still_s", "MemAvailable and khugepaged's counters stood still for so long, ..."),
    ("settle.within_percent", "... within this, percent of the machine's memory"),
    ("settle.max_s", "waited for no longer than this, seconds; the run is then marked"),
    ("noise.busy_percent", "CPU time of others, percent of the machine: noted above this"),
    ("noise.refuse_busy_percent", "... and refused above this, unless `--noisy`"),
    ("noise.steal_percent", "CPU time that the hypervisor took, percent: noted above this"),
    ("noise.refuse_steal_percent", "... and refused above this, unless `--noisy`"),
    ("noise.patience_s", "a refusal waits so long for a quieter moment first, seconds"),
    ("beside.kind", "what runs beside the workload: a built-in kind, or `stress-ng`"),
    ("fragment.kind", "a fragmenter that breaks free memory into pieces before each run"),
    (
        "fragment_release_s",
        "seconds after the start of the workload when it releases them; else after the run",
    ),
    (
        "chains",
        "whether it is noted what the CPUs run while something is measured: the report draws how \
         variants differ from the baseline",
    ),
    (
        "advise.key",
        "key of hugewise's configuration that the result is a value for: `policy.walk_percent`,",
    ),
    ("advise.metric", "the metric that tells it: a time, or work in a time,"),
    ("advise.variant", "and the variant that saves time against the baseline"),
    ("quick.repetitions", "what `--quick` changes: repetitions,"),
    ("quick.measure_s", "the length of a measurement,"),
    ("quick.manage_s", "the time for a manager,"),
    ("quick.workload", "parameters of the workload,"),
    ("quick.load_steps", "the steps of the load,"),
    ("quick.without", "and variants that are left out"),
];

/// Keys of `[load]`.
const LOAD: &[(&str, &str)] = &[
    ("target", "the server; an experiment leaves it out, as it starts the server itself"),
    ("steps", "what arrives when, one text a step; required without `command`"),
    ("arrivals", "`even` gaps, or `poisson`: independent of each other, with bursts"),
    ("connections", "connections, opened before the begin; a request needs one of its own"),
    ("requests_per_user", "requests of each user that arrives"),
    (
        "think_time",
        "time between a user's answer and the next request: `none`, `constant 100 ms` or \
         `exponential 100 ms`",
    ),
    ("operations.get_percent", "share of `GET` among the requests to Redis, percent; the rest ..."),
    ("operations.set_percent", "... is `SET`"),
    ("keys", "keys of Redis, each as likely as the others"),
    ("value_bytes", "length of a value, random bytes"),
    ("preload", "whether every key is set before the begin"),
    ("timeout_ms", "time from its intended start after which a request has failed, ms"),
    ("max_waiting", "requests that may wait for a connection, and users that may think"),
    ("seed", "decides arrivals, keys, values and think times; an experiment leaves it out"),
    ("tool", "who sends: `own` (hugewise), or `gatling` (HTTP; needs Maven and a JDK)"),
    (
        "command",
        "a load tool of yours and its arguments, instead of steps, without a shell; filled in: \
         `{url}`, `{host}` and `{port}` of the server, `{seed}` and `{measure_s}` of the run, \
         `{dir}`, an empty directory of the run",
    ),
    (
        "results",
        "the file that it writes, from its directory: results of Gatling, JMeter (CSV), k6 \
         (`--out json`), `ab -g`; `*` stands for anything within a name, and the newest is read",
    ),
    ("directory", "its working directory, an absolute path; else `{dir}`"),
    ("ok_codes", "exit codes of it that are no failure; 99 is that of crossed thresholds of k6"),
    ("longest_s", "it is ended after so long, with all that it started, s"),
];

/// The paths of all values; those of a list's items without their places.
fn paths(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, inner) in map {
                let dot = if prefix.is_empty() { "" } else { "." };
                paths(inner, &format!("{prefix}{dot}{name}"), found);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().for_each(|item| paths(item, prefix, found));
        }
        _ => {
            found.insert(prefix.to_owned());
        }
    }
}

/// The least that a file can hold, with an empty one of everything that may be absent.
fn filled() -> (Value, Value) {
    let given = json!({
        "name": "n",
        "question": "q",
        "workload": { "kind": "gups" },
        "variant": [{
            "name": "a", "manage": {}, "change": { "apply": ["x"], "undo": ["x"] },
        }],
        "metric": [{ "key": "ops_per_s" }],
        "beside": [{ "kind": "stress-cpu" }],
        "fragment": { "kind": "fragment-holes" },
    });
    let experiment: Experiment = serde_json::from_value(given.clone()).expect("well-formed");
    (given, serde_json::to_value(experiment).expect("plain data"))
}

/// The value at a path, as [`paths`] writes it.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| {
        let value = value.get(0).unwrap_or(value);
        value.get(name)
    })
}

fn default(given: &Value, all: &Value, path: &str) -> String {
    match at(all, path) {
        _ if at(given, path).is_some() => "required".into(),
        None | Some(Value::Null) => String::new(),
        Some(Value::Object(map)) if map.is_empty() => String::new(),
        Some(Value::Array(list)) if list.is_empty() => String::new(),
        Some(Value::String(text)) if text.is_empty() => String::new(),
        Some(Value::String(text)) => format!("`\"{text}\"`"),
        Some(value) => format!("`{value}`"),
    }
}

fn keys() -> String {
    let (given, all) = filled();
    let mut known = BTreeSet::new();
    paths(&all, "", &mut known);
    let told: BTreeSet<&str> = KEYS.iter().map(|(key, _)| *key).collect();
    let silent: Vec<_> = known.iter().filter(|key| !told.contains(key.as_str())).collect();
    assert!(
        silent.is_empty(),
        "keys of an experiment's file that KEYS does not explain: {silent:?}"
    );
    let mut table = head("key | default | meaning");
    for (key, means) in KEYS {
        let _ = writeln!(table, "| `{key}` | {} | {means} |", default(&given, &all, key));
    }
    table
}

fn load() -> String {
    let step = "constant 100/s for 10 s";
    let all = serde_json::to_value(LoadSpec::new("redis://127.0.0.1", &[step])).expect("plain");
    let (mut known, given) = (BTreeSet::new(), json!({}));
    paths(&all, "", &mut known);
    let told: BTreeSet<String> = LOAD.iter().map(|(key, _)| (*key).to_owned()).collect();
    assert_eq!(told, known, "LOAD explains each key of a load");
    let mut table = head("key | default | meaning");
    for (key, means) in LOAD {
        let none = matches!(*key, "target" | "steps");
        let default = if none { String::new() } else { default(&given, &all, key) };
        let _ = writeln!(table, "| `load.{key}` | {default} | {means} |");
    }
    table
}

fn metrics() -> String {
    let mut table = head("name | unit | better | meaning");
    for metric in METRICS {
        let better = match metric.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "",
        };
        let _ =
            writeln!(table, "| `{}` | {} | {better} | {} |", metric.name, metric.unit, metric.help);
    }
    table
}

fn counted() -> String {
    let mut table = head("key | meaning");
    for about in counters::fields().map(Field::about) {
        let _ = writeln!(table, "| `{}` | {} |", about.key, about.name);
    }
    table
}

fn changeable() -> String {
    let mut table = head("key | file | needs `--machine-wide`");
    for key in settings::keys() {
        let file = settings::file(&key).expect("a key that is listed has a file");
        let wide = if settings::is_machine_wide(&key) { "yes" } else { "" };
        let _ = writeln!(table, "| `{key}` | `/{file}` | {wide} |");
    }
    table.push_str(
        "| `hugepages-<size>kB/enabled`, `.../shmem_enabled` | of each size of the kernel | yes \
         |\n| `cgroup/<path>/cpu.max` and other limits | below `/sys/fs/cgroup` | |\n",
    );
    table
}

/// The tables of the page.
pub(crate) fn tables() -> Vec<Made> {
    [
        ("keys", keys()),
        ("steps", format!("Steps: {GRAMMAR}.\n")),
        ("load", load()),
        ("settings", changeable()),
        ("metrics", metrics()),
        ("counters", counted()),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into()
}
