//! Logs of collections and of statements, and profiles, made of the pieces of their formats. Run
//! with `cargo +nightly fuzz run logs`.
#![no_main]

#[path = "../../crates/evidence/tests/alphabet/mod.rs"]
mod alphabet;

use hugewise_evidence::diagnose::{Thresholds, diagnose};
use hugewise_evidence::recording::{Builder, Field};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|choices: &[u8]| {
    for text in [alphabet::text(choices).into_bytes(), alphabet::pprof(choices)] {
        let mut builder = Builder::new();
        // Refusing a text is as good as reading it.
        let _ = builder.read("fuzz", &text);
        let recording = builder.finish();
        for host in &recording.hosts {
            for field in Field::ALL {
                let points = host.subjects(*field).flat_map(|(_, all)| all).flat_map(|s| &s.points);
                assert!(points.into_iter().all(|point| point.value.is_finite()));
            }
        }
        let _ = diagnose(&recording, &Thresholds::default());
    }
});
