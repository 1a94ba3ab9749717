//! Samples of `hugewise record`. Run with `cargo +nightly fuzz run capture`.
#![no_main]

use hugewise_evidence::recording::Builder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut out = Builder::new();
    let _ = out.read("x", bytes);
    let text = [&b"hugewise-capture 1 at_ms=1 monotonic_ns=1\n@@ "[..], bytes].concat();
    let _ = out.read("y", &text);
    let recording = out.finish();
    for host in &recording.hosts {
        let series = host.series.values().flat_map(|subjects| subjects.values()).flatten();
        assert!(series.flat_map(|series| &series.points).all(|point| point.value.is_finite()));
    }
});
