//! What a run of a workload takes of the machine: memory, and time.

use crate::lab::kind::Params;
use crate::lab::load::Profile;
use crate::lab::spec::Experiment;
use crate::units::Bytes;

/// Bytes of an entry of memcached's hash table: a pointer.
const ENTRY: u64 = 8;
/// How long a recording for `diagnose` is read, seconds: guessed.
const READ_S: u64 = 2;

/// Memory that a workload takes, MiB, as far as its parameters say; `None` where nobody knows, as
/// of any command, or where it takes no more than there is, as a fragmenter.
#[must_use]
pub fn needs_mib(kind: &str, params: &Params) -> Option<u64> {
    let of = |name: &str| params.count(name);
    let values = || of("keys").saturating_mul(of("value_bytes"));
    let mib = match kind {
        "redis" if params.text("scenario") == "timeline" => {
            mib(values()).saturating_add(of("large_mib"))
        }
        "redis" => mib(values()),
        "memcached" => {
            let table = 1_u64.checked_shl(u32::try_from(of("hashpower")).unwrap_or(u32::MAX));
            let table = table.unwrap_or(u64::MAX).saturating_mul(ENTRY);
            // Its items have a limit; the table has not.
            mib(table).saturating_add(mib(values()).min(of("memory_mib")))
        }
        "postgres" => of("shared_buffers_mib"),
        "java" => of("heap_mib"),
        "allocator-churn" => of("live_mib"),
        "stress-vm" => of("workers").saturating_mul(of("mib")),
        // The child keeps what the parent rewrites.
        "fork-cow" => of("mib").saturating_add(of("mib") * of("rewrite_percent") / 100),
        _ => of("mib"),
    };
    (mib > 0).then_some(mib)
}

/// Time that a run takes beside its preparations, seconds, as far as its parameters say.
#[must_use]
pub fn run_seconds(kind: &str, params: &Params, experiment: &Experiment) -> u64 {
    let manage = experiment.manage_s;
    let load = experiment.load.as_ref().and_then(|load| Profile::parse(&load.steps).ok());
    let measure = load.map_or(experiment.measure_s, |load| load.time().0.div_ceil(1_000_000_000));
    let of = |name: &str| params.count(name);
    let parts = match (kind, params.text("scenario")) {
        ("redis", "bloat") => [manage, measure.saturating_mul(2), of("watch_s")],
        ("redis", "bgsave") => [manage, measure.saturating_mul(2), 0],
        // The program itself decides when it ends; a guess of the file is the best there is.
        ("command", _) => [measure, 0, 0],
        ("promote" | "recover", _) => [of("limit_s"), 0, 0],
        ("scan", _) => [READ_S, 0, 0],
        ("demo", _) => [measure.saturating_mul(2), 0, 0],
        ("diagnose", _) => [READ_S, 0, 0],
        _ => [manage, measure, of("watch_s").saturating_add(of("warm_s"))],
    };
    parts.into_iter().fold(0, u64::saturating_add)
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(Bytes::mib(1).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::kind::Value;
    use crate::lab::kinds::find;
    use std::collections::BTreeMap;

    fn params(kind: &str, given: &[(&str, Value)]) -> Params {
        let given: BTreeMap<_, _> =
            given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        find(kind).expect("a kind").params(&given).expect("allowed")
    }

    fn needs(kind: &str, given: &[(&str, Value)]) -> Option<u64> {
        needs_mib(kind, &params(kind, given))
    }

    #[test]
    fn memory_follows_from_the_parameters() {
        let count = Value::Count;
        assert_eq!(needs("rest", &[]), Some(16 << 10));
        assert_eq!(needs("gups", &[("mib", count(64))]), Some(64));
        assert_eq!(needs("java", &[]), Some(512));
        let redis = [("keys", count(1024)), ("value_bytes", count(1 << 20))];
        assert_eq!(needs("redis", &redis), Some(1024));
        let timeline = [&redis[..], &[("scenario", Value::Text("timeline".into()))]].concat();
        assert_eq!(needs("redis", &timeline), Some(1024 + 256));
        let memcached = [("hashpower", count(26)), ("keys", count(100))];
        assert_eq!(needs("memcached", &memcached), Some(512 + 1));
        assert_eq!(needs("fork-cow", &[("mib", count(100))]), Some(150));
        for kind in ["command", "diagnose", "fragment-holes", "stress-cpu"] {
            assert_eq!(needs(kind, &[]), None, "{kind}");
        }
    }

    #[test]
    fn time_counts_what_is_waited_for() {
        let text = r#"{ "name": "n", "question": "q", "workload": { "kind": "gups" },
                        "measure_s": 5, "manage_s": 20, "variant": [{ "name": "a" }] }"#;
        let experiment: Experiment = serde_json::from_str(text).expect("well-formed");
        let seconds = |kind| run_seconds(kind, &params(kind, &[]), &experiment);
        assert_eq!(seconds("gups"), 25);
        assert_eq!(seconds("redis"), 20 + 2 * 5 + 45);
        assert_eq!(seconds("bloat"), 20 + 5 + 45);
        assert_eq!((seconds("promote"), seconds("demo")), (300, 10));
    }
}
