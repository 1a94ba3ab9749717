//! Gatling, a load generator for HTTP: the Maven project that sends a load, and the log it leaves.
//!
//! What Gatling cannot send is refused by name: a load that quietly became another one would
//! compare nothing.

mod error;
mod log;

pub use error::{LOG, LogError};

use super::number::decimal;
use super::outcome::LoadResult;
use super::profile::{Phase, Profile, Shape, Who};
use super::sent::Sent;
use super::spec::{ArrivalKind, LoadSpec, SpecError, ThinkTime};
use super::target::Target;
use hugewise_base::units::Ns;
use serde_json::Value;

/// The program that is started: Gatling is a library, and Maven fetches and starts it.
pub const PROGRAM: &str = "mvn";
/// Arguments of [`PROGRAM`].
pub const ARGS: [&str; 3] = ["--batch-mode", "-Dgatling.noReports=true", "gatling:test"];
/// Gatling's log, [`LOG`], is in the only directory inside this one.
pub const RESULTS: &str = "target/gatling";

/// The project of Maven, with the version of Gatling.
const POM: &str = include_str!("gatling/pom.xml");

/// Whether a file begins as a log of Gatling 3.15 does: its first record is that of the run, whose
/// first text is the version.
pub fn is_log(start: &[u8]) -> bool {
    let version = start.get(5..).unwrap_or_default();
    start.starts_with(&[0, 0, 0, 0]) && version.starts_with(b"3.")
}

/// The requests of a log, whatever simulation wrote it.
///
/// # Errors
/// Another version's log, or a torn one.
pub fn sent(log: &[u8]) -> Result<Vec<Sent>, LogError> {
    Ok(log::read(log)?.sent())
}

/// Why Gatling cannot send a load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The load itself is refused.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The server speaks another protocol.
    #[error("gatling speaks HTTP only, the target is {0}: use 'tool = \"own\"'")]
    Target(String),
    /// It has no such setting.
    #[error("gatling cannot express {0}: use 'tool = \"own\"', or leave it out")]
    Setting(&'static str),
}

/// The files to write into an empty directory before Maven is started there: path and content.
pub fn project(spec: &LoadSpec) -> Result<[(&'static str, String); 3], Refusal> {
    let (target, profile) = spec.check()?;
    let Target::Http(..) = target else { return Err(Refusal::Target(target.to_string())) };
    let url = target.to_string();
    expressible(spec, &url, &profile)?;
    // Gatling reports its use to its makers and warms up on their server, unless told not to.
    let settings = format!(
        "gatling {{\n  data.enableAnalytics = false\n  http.warmUpUrl = \"\"\n  \
         http.requestTimeout = {}\n}}\n",
        spec.timeout_ms
    );
    Ok([
        ("pom.xml", POM.to_owned()),
        ("src/test/resources/gatling.conf", settings),
        ("src/test/java/HugewiseLoad.java", simulation(spec, url, &profile)),
    ])
}

fn expressible(spec: &LoadSpec, url: &str, profile: &Profile) -> Result<(), Refusal> {
    let usual = LoadSpec::new("", &[]);
    let phases = profile.phases();
    let arrive = |who| phases.iter().any(|p| p.who == who && p.shape != Shape::Nothing);
    // A step of 500 ms sends nothing (3.15.1).
    let part = |phase: &Phase| !phase.time.0.is_multiple_of(1_000_000_000);
    for (asked, setting) in [
        (spec.arrivals == ArrivalKind::Poisson, "arrivals = \"poisson\""),
        (spec.preload, "preload = true"),
        (spec.connections != usual.connections, "connections: it opens as many as it needs"),
        (spec.max_waiting != usual.max_waiting, "max_waiting"),
        // Its strings are templates.
        (url.contains(['$', '#']), "a target with '$' or '#'"),
        (phases.iter().any(part), "steps that do not last whole seconds"),
        (
            arrive(Who::Request) && arrive(Who::User) && spec.requests_per_user > 1,
            "steps in requests beside steps in users",
        ),
    ] {
        if asked {
            return Err(Refusal::Setting(setting));
        }
    }
    Ok(())
}

fn duration(time: Ns) -> String {
    format!("Duration.ofMillis({})", time.0 / 1_000_000)
}

fn injection(phase: &Phase) -> String {
    let during = duration(phase.time);
    match phase.shape {
        Shape::Nothing => format!("nothingFor({during})"),
        Shape::Peak(count) => format!("atOnceUsers({count})"),
        Shape::Spread(count) => format!("rampUsers({count}).during({during})"),
        Shape::Rate(from, to) if from == to => {
            format!("constantUsersPerSec({}).during({during})", decimal(from.0))
        }
        Shape::Rate(from, to) => {
            let (from, to) = (decimal(from.0), decimal(to.0));
            format!("rampUsersPerSec({from}).to({to}).during({during})")
        }
    }
}

fn simulation(spec: &LoadSpec, url: String, profile: &Profile) -> String {
    let (pause, pauses) = match spec.think_time {
        ThinkTime::None => (String::new(), "disablePauses"),
        ThinkTime::Constant(time) => (format!(".pause({})", duration(time)), "constantPauses"),
        ThinkTime::Exponential(mean) => {
            (format!(".pause({})", duration(mean)), "exponentialPauses")
        }
    };
    let requests = if profile.users() > 0 { spec.requests_per_user } else { 1 };
    let steps: Vec<String> = profile.phases().iter().map(injection).collect();
    format!(
        "import static io.gatling.javaapi.core.CoreDsl.*;\n\
         import static io.gatling.javaapi.http.HttpDsl.*;\n\
         import io.gatling.javaapi.core.Simulation;\n\
         import java.time.Duration;\n\n\
         public class HugewiseLoad extends Simulation {{\n  {{\n    \
         var request = http(\"request\").get({url});\n    \
         var load = scenario(\"load\").repeat({requests}).on(exec(request){pause});\n    \
         setUp(load.injectOpen(\n      {steps}\n    )).{pauses}()\n      \
         .protocols(http.shareConnections());\n  }}\n}}\n",
        url = Value::from(url),
        steps = steps.join(",\n      ")
    )
}

/// What a log says about a load.
pub fn read(spec: &LoadSpec, profile: &Profile, log: &[u8]) -> Result<LoadResult, LogError> {
    Ok(log::read(log)?.result(spec, profile))
}

#[cfg(test)]
mod tests;
