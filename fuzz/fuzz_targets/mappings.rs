//! Lists of mappings. Run with `cargo +nightly fuzz run mappings`.
#![no_main]

use hugewise_base::parse::{maps, smaps};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let entries = maps::parse(bytes).value;
    assert!(entries.iter().all(|entry| entry.start < entry.end));
    let _ = smaps::parse(bytes);
});
