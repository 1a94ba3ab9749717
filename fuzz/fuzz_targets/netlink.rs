//! Answers of the kernel's netlink sockets. Run with `cargo +nightly fuzz run netlink`.
#![no_main]

use hugewise_base::parse::{taskstats, unix_diag};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = (taskstats::family(bytes), taskstats::delays(bytes));
    assert!(unix_diag::parse(bytes).listeners.len() <= bytes.len() / 16);
});
