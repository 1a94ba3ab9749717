//! Listings of every tool that has a reader, servers' answers and logs, one after the other as
//! people paste them. Run with `cargo +nightly fuzz run listings`.
#![no_main]

use hugewise_evidence::recording::{Builder, Field};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut builder = Builder::new();
    // Refusing a text is as good as reading it.
    let _ = builder.read("fuzz", bytes);
    for host in &builder.finish().hosts {
        for field in Field::ALL {
            let points = host.subjects(*field).flat_map(|(_, all)| all).flat_map(|s| &s.points);
            assert!(points.into_iter().all(|point| point.value.is_finite()));
        }
    }
});
