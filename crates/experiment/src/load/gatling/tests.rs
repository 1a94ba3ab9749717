use super::*;
use crate::load::{Failure, Tool};
use proptest::prelude::*;

const REAL: &[u8] = include_bytes!("../../../tests/gatling/simulation.log");
const STEPS: [&str; 4] =
    ["nothing for 1 s", "constant 50/s for 2 s", "ramp 50/s to 100/s over 1 s", "peak 5 at once"];

fn spec(steps: &[&str]) -> LoadSpec {
    LoadSpec { tool: Tool::Gatling, ..LoadSpec::new("http://127.0.0.1:8080/a?b=\"c\"", steps) }
}

fn simulation_of(spec: &LoadSpec) -> String {
    let files = project(spec).expect("Gatling can");
    let [.., (_, simulation)] = files;
    simulation
}

fn found(log: &[u8]) -> Result<LoadResult, LogError> {
    let spec = spec(&STEPS);
    let (_, profile) = spec.check().expect("allowed");
    read(&spec, &profile, log)
}

#[test]
fn each_step_is_in_the_simulation() {
    let steps = ["nothing for 20 s", "ramp 100 users over 200 s", "peak 5 users at once"];
    let mut users = spec(&steps);
    (users.requests_per_user, users.timeout_ms) = (3, 700);
    users.think_time = ThinkTime::Exponential(Ns::ms(250));
    let simulation = simulation_of(&users);
    for wanted in [
        "nothingFor(Duration.ofMillis(20000))",
        "rampUsers(100).during(Duration.ofMillis(200000))",
        "atOnceUsers(5)",
        "repeat(3)",
        ".pause(Duration.ofMillis(250))",
        ".exponentialPauses()",
        r#"get("http://127.0.0.1:8080/a?b=\"c\"")"#,
    ] {
        assert!(simulation.contains(wanted), "no {wanted} in {simulation}");
    }
    let [(_, pom), (_, settings), _] = project(&users).expect("Gatling can");
    assert!(settings.contains("requestTimeout = 700\n"), "{settings}");
    assert!(settings.contains("enableAnalytics = false") && settings.contains("warmUpUrl = \"\""));
    assert!(pom.contains("<version>3.15.1</version>"), "{pom}");
    let rates = simulation_of(&spec(&["constant 2.5/s for 1 s", "ramp 1/s to 2/s over 1 s"]));
    assert!(rates.contains("constantUsersPerSec(2.5)"), "{rates}");
    assert!(rates.contains("rampUsersPerSec(1).to(2)"), "{rates}");
}

#[test]
fn what_gatling_cannot_do_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut LoadSpec)| {
        let mut spec = spec(&["constant 10/s for 1 s", "ramp 5 users over 1 s"]);
        change(&mut spec);
        project(&spec).expect_err("refused").to_string()
    };
    assert!(refused(&|spec| spec.target = "redis://localhost".into()).contains("HTTP only"));
    for (change, setting) in [
        (
            &(|spec: &mut LoadSpec| spec.arrivals = ArrivalKind::Poisson) as &dyn Fn(&mut LoadSpec),
            "poisson",
        ),
        (&|spec| spec.connections = 10, "connections"),
        (&|spec| spec.max_waiting = 10, "max_waiting"),
        (&|spec| spec.target.push('$'), "'$'"),
        (&|spec| spec.requests_per_user = 2, "beside steps in users"),
        // Gatling would send nothing at all, and say so nowhere.
        (&|spec| spec.steps.push("constant 10/s for 500 ms".into()), "whole seconds"),
        (&|spec| spec.steps.push("nothing for 1.5 s".into()), "whole seconds"),
    ] {
        let error = refused(change);
        assert!(error.contains("cannot express") && error.contains(setting), "{error}");
        assert!(error.contains("use 'tool = \"own\"'"), "{error}");
    }
    let preload = LoadSpec { preload: true, ..spec(&["constant 10/s for 1 s"]) };
    assert!(matches!(project(&preload), Err(Refusal::Spec(SpecError::Preload(_)))));
    assert!(project(&spec(&STEPS)).is_ok());
}

/// The figures are those that Gatling printed itself: see the README beside the log.
#[test]
fn a_real_log_is_understood() {
    let result = found(REAL).expect("a whole log");
    assert_eq!((result.sent, result.intended, result.completed), (Some(180), Some(180), 42));
    let failed = [(Failure::Timeout, 136), (Failure::Closed, 1), (Failure::Status, 1)];
    assert_eq!(result.failed, failed.into_iter().collect());
    assert_eq!(result.errors["Request timeout after 700 ms"], 98);
    assert_eq!(result.errors["status.find.in([200, 209], 304), found 500"], 1);
    assert!(!result.from_intended_start && result.service.is_none() && result.late_start.is_none());
    let latency = result.latency.as_ref().expect("of each request");
    assert_eq!(latency.count(), 42);
    let offered: u64 = result.seconds.iter().map(|second| second.offered).sum();
    assert_eq!((offered, result.seconds[0].offered), (180, 0), "nobody comes in the first second");
    assert_eq!((result.phases.len(), result.phases[0].offered), (4, 0));
}

#[test]
fn another_version_and_a_torn_log_are_errors() {
    let mut other = REAL.to_vec();
    let at = other.windows(6).position(|bytes| bytes == b"3.15.1").expect("the version");
    other[at + 3] = b'6';
    let error = found(&other).expect_err("another version").to_string();
    assert!(error.contains("Gatling 3.16.1"), "{error}");
    assert_eq!(found(&[]), Err(LogError::Torn(0)));
    assert_eq!(found(&[9]), Err(LogError::Torn(0)));
    let error = found(&REAL[..REAL.len() - 1]).expect_err("torn");
    assert!(matches!(error, LogError::Torn(_)), "{error}");
}

proptest! {
    #[test]
    fn no_log_panics(cut in 0..REAL.len(), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = found(&bytes);
        let mut torn = REAL.to_vec();
        torn.splice(cut..(cut + bytes.len()).min(REAL.len()), bytes);
        let _ = found(&torn);
    }
}
