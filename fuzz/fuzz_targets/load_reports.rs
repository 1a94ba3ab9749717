//! Logs of Gatling and pgbench, and the last line of any program.
//! Run with `cargo +nightly fuzz run load_reports`.
#![no_main]

use hugewise_experiment::load::{LoadSpec, Tool, gatling};
use hugewise_experiment::tools::output::last_line;
use hugewise_experiment::tools::pgbench;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let spec = LoadSpec {
        tool: Tool::Gatling,
        ..LoadSpec::new("http://127.0.0.1:8080/", &["constant 100/s for 10 s"])
    };
    let (_, profile) = spec.check().expect("a plain load");
    let _ = gatling::read(&spec, &profile, bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(numbers) = last_line(text) {
        assert!(numbers.values().all(|number| number.is_finite()));
    }
    let report = pgbench::Report::parse(text);
    assert!(report.tps.is_none_or(|tps| tps.is_finite()));
    pgbench::Log::default().add(text);
});
