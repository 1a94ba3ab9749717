//! Files about one process. Run with `cargo +nightly fuzz run process`.
#![no_main]

use hugewise_base::parse::{cgroup, pid_stat, pid_status, statm};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = pid_stat::parse(bytes);
    let _ = pid_status::parse(bytes);
    let _ = cgroup::parse(bytes).value.unit();
    let _ = statm::parse(&String::from_utf8_lossy(bytes));
});
