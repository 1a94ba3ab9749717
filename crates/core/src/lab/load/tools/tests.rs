use super::*;
use crate::units::Ns;
use proptest::prelude::*;

const MEMTIER: &str = include_str!("../../../../tests/load-tools/memtier.json");
const WRK2: &str = include_str!("../../../../tests/load-tools/wrk2.txt");
const K6: &str = include_str!("../../../../tests/load-tools/k6-summary.json");
const GATLING: &str = include_str!("../../../../tests/load-tools/gatling-stats.json");

fn spec(tool: Tool, target: &str, steps: &[&str]) -> LoadSpec {
    LoadSpec { tool, connections: 10, ..LoadSpec::new(target, steps) }
}

fn redis(steps: &[&str]) -> LoadSpec {
    spec(Tool::Memtier, "redis://127.0.0.1:6379", steps)
}

fn http(tool: Tool, steps: &[&str]) -> LoadSpec {
    spec(tool, "http://127.0.0.1:8080/a?b=\"c\"", steps)
}

fn found(spec: &LoadSpec, report: &str) -> LoadResult {
    let (_, profile) = spec.check().expect("allowed");
    read(spec, &profile, report).expect("a whole report")
}

#[test]
fn memtier_gets_a_rate_for_each_connection() {
    let mut spec = redis(&["constant 1000/s for 30 s"]);
    let args = plan(&spec).expect("one rate").args.join(" ");
    for wanted in ["--rate-limiting=100 ", "--test-time=30", "--ratio=1:9", "--key-maximum=99999"] {
        assert!(args.contains(wanted), "no {wanted} in {args}");
    }
    spec.target = "redis+unix:///run/redis.sock".into();
    assert!(plan(&spec).expect("a socket").args.contains(&"--unix-socket=/run/redis.sock".into()));
    for steps in ["ramp 1/s to 2/s over 1 s", "constant 1005/s for 1 s", "constant 10/s for 10 ms"]
    {
        assert!(matches!(plan(&redis(&[steps])), Err(Refusal::Steps { .. })), "{steps}");
    }
    spec.target = "http://127.0.0.1/".into();
    assert!(matches!(plan(&spec), Err(Refusal::Target { speaks: "Redis", .. })));
}

#[test]
fn memtier_reports_percentiles_and_seconds() {
    let result = found(&redis(&["constant 1000/s for 2 s"]), MEMTIER);
    assert_eq!((result.completed, result.sent), (2000, Some(2000)));
    assert_eq!((result.achieved_per_s, result.offered_per_s), (Some(999.5), Some(1000.0)));
    assert_eq!(result.quantile(0.99), Some(Ns(1_207_000)));
    assert_eq!((result.misses, result.from_intended_start), (Some(450), false));
    let seconds: Vec<_> = result.seconds.iter().map(|s| (s.achieved, s.p99, s.max)).collect();
    let us = |us| Some(Ns::us(us));
    assert_eq!(seconds, [(1002, us(1175), us(2343)), (998, us(1255), us(3199))]);
}

#[test]
fn wrk2_knows_one_rate_and_counts_from_the_intended_start() {
    let spec = http(Tool::Wrk2, &["constant 2000/s for 60 s"]);
    let plan_ = plan(&spec).expect("one rate");
    assert_eq!(plan_.args.last().map(String::as_str), Some("http://127.0.0.1:8080/a?b=\"c\""));
    assert!(plan_.args.contains(&"--rate=2000".to_owned()));
    let refused = plan(&http(Tool::Wrk2, &["constant 1/s for 1 s", "constant 2/s for 1 s"]));
    assert!(refused.expect_err("two rates").to_string().contains("one constant rate"));
    let result = found(&spec, WRK2);
    assert!(result.from_intended_start);
    assert_eq!((result.sent, result.completed, result.failures()), (Some(119_904), 119_892, 19));
    assert_eq!(result.quantile(0.5), Some(Ns::us(1420)));
    assert_eq!(result.quantile(0.99999), Some(Ns::ms(1100)));
    assert_eq!(result.quantiles.len(), 8);
    let wrk = WRK2.replace("(HdrHistogram - Recorded Latency)", "");
    let (_, profile) = spec.check().expect("allowed");
    let error = read(&spec, &profile, &wrk).expect_err("another program").to_string();
    assert!(error.contains("wrk is not wrk2"), "{error}");
}

#[test]
fn k6_gets_a_script_and_says_what_it_dropped() {
    let steps = ["nothing for 1 s", "constant 0.5/s for 2 s", "ramp 1/s to 3/s over 1.5 s"];
    let spec = http(Tool::K6, &steps);
    let plan_ = plan(&spec).expect("rates");
    let (name, script) = &plan_.files[0];
    assert!(plan_.args.contains(&(*name).to_owned()));
    let stages = r#""stages":[{"duration":"1000ms","target":0},{"duration":"0s","target":500},"#;
    assert!(script.contains(stages), "{script}");
    assert!(script.contains(r#"http.get("http://127.0.0.1:8080/a?b=\"c\"", "#), "{script}");
    let users = plan(&http(Tool::K6, &["ramp 5 users over 1 s"]));
    assert!(matches!(users, Err(Refusal::Steps { .. })));
    for report in [K6.to_owned(), flat(K6)] {
        let result = found(&spec, &report);
        assert_eq!((result.sent, result.intended), (Some(5900), Some(6000)));
        assert_eq!((result.completed, result.failures()), (5880, 120));
        assert_eq!(result.quantile(0.99), Some(Ns::us(14_250)));
        assert!(!result.from_intended_start && result.notes[0].contains("100 requests"));
    }
}

/// The same summary as `--summary-export` writes it.
fn flat(report: &str) -> String {
    let mut report: Value = serde_json::from_str(report).expect("a fixture");
    for (_, metric) in report["metrics"].as_object_mut().expect("metrics") {
        *metric = metric["values"].take();
    }
    report.to_string()
}

#[test]
fn gatling_gets_a_simulation_of_every_step() {
    let steps = ["nothing for 20 s", "ramp 100 users over 200 s", "peak 5 users at once"];
    let mut spec = http(Tool::Gatling, &steps);
    spec.requests_per_user = 3;
    spec.think_time = super::super::ThinkTime::Exponential(Ns::ms(250));
    let (_, simulation) = &plan(&spec).expect("users").files[0];
    for wanted in [
        "nothingFor(20000.milliseconds)",
        "rampUsers(100).during(200000.milliseconds)",
        "atOnceUsers(5)",
        "repeat(3)",
        ".pause(250.milliseconds)",
        ".exponentialPauses",
    ] {
        assert!(simulation.contains(wanted), "no {wanted} in {simulation}");
    }
    let rates = plan(&http(Tool::Gatling, &["constant 2.5/s for 1 s", "ramp 1/s to 2/s over 1 s"]));
    let (_, simulation) = &rates.expect("rates").files[0];
    assert!(simulation.contains("constantUsersPerSec(2.5)"), "{simulation}");
    assert!(simulation.contains("rampUsersPerSec(1).to(2)"), "{simulation}");
    spec.steps.push("constant 5/s for 1 s".into());
    assert!(matches!(plan(&spec), Err(Refusal::Setting { .. })));

    let result = found(&spec, GATLING);
    assert_eq!((result.sent, result.completed, result.failures()), (Some(1500), 1488, 12));
    assert_eq!(result.quantile(0.99), Some(Ns::ms(1046)));
    assert_eq!((result.achieved_per_s, result.from_intended_start), (Some(49.6), false));
}

#[test]
fn what_no_tool_can_do_is_refused_by_name() {
    for tool in [Tool::Memtier, Tool::Wrk2, Tool::K6, Tool::Gatling] {
        let target = if tool == Tool::Memtier { "redis://localhost" } else { "http://localhost/" };
        let mut spec = spec(tool, target, &["constant 1000/s for 1 s"]);
        assert!(plan(&spec).is_ok(), "{tool:?}");
        spec.preload = true;
        let error = plan(&spec).expect_err("refused").to_string();
        assert_eq!(
            error,
            format!(
                "{} cannot express 'preload = true': use 'tool = \"own\"', or leave it out",
                tool.name()
            )
        );
        spec.preload = false;
        spec.arrivals = ArrivalKind::Poisson;
        assert!(matches!(plan(&spec), Err(Refusal::Setting { .. })), "{tool:?}");
    }
}

#[test]
fn a_torn_report_is_an_error() {
    for (tool, report) in
        [(Tool::Memtier, MEMTIER), (Tool::K6, K6), (Tool::Gatling, GATLING), (Tool::Wrk2, WRK2)]
    {
        let spec = spec(tool, "http://localhost/", &["constant 1/s for 1 s"]);
        let (_, profile) = spec.check().expect("allowed");
        assert!(read(&spec, &profile, &report[..report.len() / 3]).is_err(), "{tool:?}");
        assert!(read(&spec, &profile, "{}").is_err(), "{tool:?}");
    }
}

proptest! {
    #[test]
    fn no_report_panics(text in "\\PC{0,200}", cut in 0usize..4000, which in 0usize..4) {
        let tools = [(Tool::Memtier, MEMTIER), (Tool::Wrk2, WRK2), (Tool::K6, K6)];
        let (tool, report) = tools.get(which).copied().unwrap_or((Tool::Gatling, GATLING));
        let spec = spec(tool, "http://localhost/", &["constant 1/s for 1 s"]);
        let (_, profile) = spec.check().expect("allowed");
        let _ = read(&spec, &profile, &text);
        let cut = cut.min(report.len());
        if let (Some(head), Some(tail)) = (report.get(..cut), report.get(cut..)) {
            let _ = read(&spec, &profile, &format!("{head}{text}{tail}"));
        }
    }
}
