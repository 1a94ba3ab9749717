//! Reports of k6, Gatling, memtier and wrk2, logs of pgbench, and the last line of any program.
//! Run with `cargo +nightly fuzz run load_reports`.
#![no_main]

use hugewise_core::lab::load::spec::{LoadSpec, Tool};
use hugewise_core::lab::load::tools::read;
use hugewise_core::lab::tools::output::last_line;
use hugewise_core::lab::tools::pgbench;
use libfuzzer_sys::fuzz_target;

const TOOLS: [(Tool, &str); 4] = [
    (Tool::Memtier, "redis://127.0.0.1:6379"),
    (Tool::Wrk2, "http://127.0.0.1:8080/"),
    (Tool::K6, "http://127.0.0.1:8080/"),
    (Tool::Gatling, "http://127.0.0.1:8080/"),
];

fuzz_target!(|text: &str| {
    for (tool, target) in TOOLS {
        let spec = LoadSpec { tool, ..LoadSpec::new(target, &["constant 100/s for 10 s"]) };
        let (_, profile) = spec.check().expect("a plain load");
        let _ = read(&spec, &profile, text);
    }
    if let Ok(numbers) = last_line(text) {
        assert!(numbers.values().all(|number| number.is_finite()));
    }
    let report = pgbench::Report::parse(text);
    assert!(report.tps.is_none_or(|tps| tps.is_finite()));
    pgbench::Log::default().add(text);
});
