//! What stands around a listing: decodings, escape sequences, marks, prefixes. Run with
//! `cargo +nightly fuzz run normalise`.
#![no_main]

use hugewise_evidence::recording::normalised;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = normalised(bytes);
    // At most a movement of the cursor, or a letter of UTF-16, is longer than what stood for it.
    assert!(text.len() <= 16 * bytes.len() + 16);
    assert!(!text.contains(['\x1b', '\r', '\u{feff}']));
});
