//! The experiments that come with hugewise.

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../experiments/", $name, ".toml")))),*]
    };
}

/// Name and text of each that answers a question about somebody's own machine or program, in the
/// order in which they are listed.
pub const QUESTIONS: &[(&str, &str)] = shipped! {
    "gups"
    "redis-bloat"
    "redis-budget"
    "redis-threshold"
    "pointer-chase"
    "btree"
    "calibrate"
    "graph"
    "allocator-churn"
    "shared-segment"
    "fault-latency"
    "fragmented-faults"
    "fragmented-gups"
    "fragmented-graph"
    "fragmented-redis"
    "stall"
    "fork-cow"
    "fork-prefork"
    "ksm"
    "text"
    "redis-load"
    "redis-knee"
    "redis-stress"
    "redis-bgsave"
    "redis-hawkeye"
    "memcached-table"
    "postgres-pgbench"
    "postgres-shared"
    "java-allocation"
    "java-heap"
    "java-builds"
    "bloat-arena"
    "bloat-table"
    "bloat-purge"
    "bloat-numpy"
    "bloat-node"
};

/// As [`QUESTIONS`]: what hugewise itself costs and achieves, measured by `make bench`.
pub const BENCHMARKS: &[(&str, &str)] = shipped! {
    "promote"
    "promote-parts"
    "hot-end"
    "hot-join"
    "three-programs"
    "tail"
    "scan-dense"
    "scan-sparse"
    "scan-huge"
    "rest"
    "scale"
    "recover"
    "tail-recover"
    "try"
    "diagnose"
};

/// Suites: many workloads under the same variants.
pub const SUITES: &[(&str, &str)] = &[("no-regret", include_str!("../suites/no-regret.toml"))];

/// Name and text of all.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    QUESTIONS.iter().chain(BENCHMARKS).copied()
}

/// The text of one, or of a suite.
pub fn find(name: &str) -> Option<&'static str> {
    all().chain(SUITES.iter().copied()).find(|(known, _)| *known == name).map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::stats::mann_whitney::values_needed;
    use hugewise_experiment::check::check;
    use hugewise_experiment::regret::Kind;
    use hugewise_experiment::spec::Experiment;
    use hugewise_experiment::suite::{Asked, Suite};
    use std::collections::BTreeSet;

    #[test]
    fn each_is_without_faults_in_full_and_quickly() {
        for (name, text) in all() {
            let experiment: Experiment = toml::from_str(text).expect(name);
            assert_eq!(experiment.name, name);
            for quick in [false, true] {
                let checked = check(experiment.clone(), quick);
                let checked = checked.unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
                assert!(checked.metrics.iter().any(|metric| metric.decides), "{name}");
                assert!(checked.variants().len() > 1, "{name}: nothing is compared");
            }
        }
    }

    #[test]
    fn each_can_show_a_difference_whatever_the_others_show() {
        for (name, text) in all() {
            let experiment: Experiment = toml::from_str(text).expect(name);
            for quick in [false, true] {
                let checked = check(experiment.clone(), quick).expect(name);
                let deciding = checked.metrics.iter().filter(|metric| metric.decides).count();
                let comparisons = deciding * (checked.variants().len() - 1);
                let repetitions = checked.experiment.stop.repetitions;
                // Holm's correction asks this of the clearest of them.
                let alpha = checked.experiment.stop.error_rate / comparisons as f64;
                let needed = values_needed(alpha).expect("a number");
                assert!(
                    usize::try_from(repetitions).is_ok_and(|has| has >= needed),
                    "{name}: {comparisons} comparisons need {needed} repetitions"
                );
            }
        }
    }

    #[test]
    fn suites_are_without_faults_and_their_figures_are_measured() -> anyhow::Result<()> {
        for (name, text) in SUITES {
            let suite: Suite = toml::from_str(text)?;
            assert_eq!(suite.name, *name);
            for quick in [false, true] {
                let parts = suite
                    .parts(&Asked { quick, ..Asked::default() })
                    .unwrap_or_else(|faults| panic!("{faults:#?}"));
                let (rows, variants) = if quick { (8, 5) } else { (24, 9) };
                assert!(parts.len() >= rows, "{name}: {} workloads", parts.len());
                for part in parts {
                    // As it is written into the directory of its results.
                    let own = toml::to_string(&part.experiment)?;
                    let checked = check(toml::from_str(&own)?, quick);
                    let checked = checked.unwrap_or_else(|faults| panic!("{own}: {faults:#?}"));
                    assert!(checked.variants().len() >= variants, "{}", part.name);
                    for figure in &part.figures {
                        // A reading of memory notes all of it, and each run its peak.
                        let key = figure.key.strip_prefix("start.").unwrap_or(&figure.key);
                        let always = ["peak_cgroup_mib", "page_tables_mib", "fill_s"];
                        let known = checked.kind.metrics.contains(&key) || always.contains(&key);
                        assert!(known, "{}: {}", part.name, figure.key);
                    }
                    assert!(part.figures.iter().any(|one| one.kind == Kind::Memory));
                }
            }
            let modes = suite.variants.iter().filter(|one| one.manage.is_some());
            assert!(modes.count() >= 2, "{name} compares hugewise's modes");
        }
        Ok(())
    }

    #[test]
    fn every_file_is_shipped() -> anyhow::Result<()> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments");
        let mut files = BTreeSet::new();
        for entry in std::fs::read_dir(folder)? {
            files.insert(entry?.file_name().to_string_lossy().into_owned());
        }
        let shipped = all().map(|(name, _)| format!("{name}.toml"));
        assert_eq!(files, shipped.collect());
        Ok(())
    }

    /// What a workload notes under another name would be shown by nobody.
    #[test]
    fn what_decides_is_measured() -> anyhow::Result<()> {
        for (name, text) in all() {
            let checked = check(toml::from_str(text)?, false).expect("no fault");
            for wanted in &checked.experiment.metrics {
                let known = checked.kind.metrics.contains(&wanted.key.as_str());
                assert!(known || wanted.better.is_some(), "{name}: {}", wanted.key);
            }
        }
        Ok(())
    }
}
