//! The experiments that come with hugewise.

macro_rules! shipped {
    ($($name:literal)*) => {
        /// Name and text of each, in the order in which they are listed.
        pub(crate) const ALL: &[(&str, &str)] = &[$(
            ($name, include_str!(concat!("../../experiments/", $name, ".toml")))
        ),*];
    };
}

shipped! {
    "gups"
    "promote"
    "tail"
    "scan-dense"
    "scan-sparse"
    "scan-huge"
    "rest"
    "recover"
    "tail-recover"
    "bloat-arena"
    "bloat-table"
    "bloat-purge"
    "bloat-numpy"
    "bloat-node"
    "diagnose"
}

/// The text of one.
pub(crate) fn find(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_core::lab::check::check;
    use hugewise_core::lab::spec::Experiment;
    use std::collections::BTreeSet;

    #[test]
    fn every_experiment_has_no_fault_full_and_quick() -> anyhow::Result<()> {
        for (name, text) in ALL {
            let experiment: Experiment = toml::from_str(text)?;
            assert_eq!(experiment.name, *name);
            for quick in [false, true] {
                let checked = check(experiment.clone(), quick);
                assert!(checked.is_ok(), "{name}, quick: {quick}: {:?}", checked.err());
            }
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
        let shipped = ALL.iter().map(|(name, _)| format!("{name}.toml"));
        assert_eq!(files, shipped.collect());
        Ok(())
    }

    /// What a workload notes under another name would be shown by nobody.
    #[test]
    fn what_decides_is_measured() -> anyhow::Result<()> {
        for (name, text) in ALL {
            let checked = check(toml::from_str(text)?, false).expect("no fault");
            for wanted in &checked.experiment.metrics {
                let known = checked.kind.metrics.contains(&wanted.key.as_str());
                assert!(known || wanted.better.is_some(), "{name}: {}", wanted.key);
            }
        }
        Ok(())
    }
}
