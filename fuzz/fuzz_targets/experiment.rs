//! Experiment files: TOML, then what the lab makes of it. Run with
//! `cargo +nightly fuzz run experiment`.
#![no_main]

use hugewise_experiment::check::check;
use hugewise_experiment::spec::Experiment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(experiment) = toml::from_str::<Experiment>(text) else { return };
    for quick in [false, true] {
        match check(experiment.clone(), quick) {
            Ok(checked) => {
                for variant in checked.variants() {
                    assert!(checked.variant(&variant.name).is_some());
                    let _ = checked.settings(variant);
                }
                let _ = (checked.machine_wide(), checked.changes_machine());
            }
            // A refusal says why.
            Err(faults) => assert!(!faults.is_empty()),
        }
    }
});
