//! Listings and JSON of sysstat's tools, and of vmstat. Run with
//! `cargo +nightly fuzz run sysstat`.
#![no_main]

use hugewise_evidence::recording::Builder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut builder = Builder::new();
    // Refusing is as good as reading.
    let _ = builder.read("fuzz", bytes);
    let recording = builder.finish();
    let fields = recording.hosts.iter().flat_map(|host| host.series.values());
    for series in fields.flat_map(|subjects| subjects.values()).flatten() {
        assert!(series.points.iter().all(|point| point.value.is_finite()));
    }
});
