//! Texts of `atop -P` and `atop -J`: the input follows a row, or the beginning of an object, so
//! that the reader in question gets it. Run with `cargo +nightly fuzz run atop`.
#![no_main]

use hugewise_evidence::recording::Builder;
use libfuzzer_sys::fuzz_target;

const TEXT: &[u8] = b"CPL vm 1795318990 2026/11/22 03:43:10 695 2 4.20 2.43 1.09 3 2\n";
const JSON: &[u8] = b"{\"host\": \"vm\", \"timestamp\": 1795318990, \"elapsed\": 2}\n";

fuzz_target!(|bytes: &[u8]| {
    for start in [TEXT, JSON] {
        let mut builder = Builder::new();
        let _ = builder.read("fuzz", &[start, bytes].concat());
        let _ = builder.finish();
    }
});
