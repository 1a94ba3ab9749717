//! What users and short kernel files say. Run with `cargo +nightly fuzz run user`.
#![no_main]

use hugewise_base::size;
use hugewise_base::parse::{cpulist, kernel_release};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(size) = size::parse(text) {
        assert_eq!(size::parse(&size.to_string()), Ok(size));
    }
    if let Ok(cpus) = cpulist::parse(text) {
        assert_eq!(cpulist::parse(&cpulist::format(&cpus)), Ok(cpus));
    }
    let _ = kernel_release::parse(text);
});
