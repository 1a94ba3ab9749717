//! Installed load generators: the command line of a load, and what their reports say.
//!
//! A tool that cannot do what a load asks for is refused by name: a load that quietly became
//! another one would compare nothing.

mod gatling;
mod k6;
mod memtier;
mod wrk2;

use super::outcome::LoadResult;
use super::profile::{Phase, Profile, Rate, Shape, Who};
use super::spec::{ArrivalKind, LoadSpec, SpecError, Tool};
use super::target::Target;
use serde_json::Value;

/// How a tool is started, in an empty directory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The program's name.
    pub program: &'static str,
    /// Its arguments. Paths in them are inside the directory.
    pub args: Vec<String>,
    /// Files to write into the directory before: name and content.
    pub files: Vec<(&'static str, String)>,
    /// Where it reports.
    pub report: Report,
}

/// Where a tool reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// On standard output.
    Output,
    /// In this file of the directory.
    File(&'static str),
    /// In a file below the only directory inside this one.
    Inside(&'static str, &'static str),
}

/// Why a tool cannot send a load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The load itself is refused.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It speaks another protocol.
    #[error("{} speaks {speaks} only, the target is {target}", tool.name())]
    Target {
        /// The tool.
        tool: Tool,
        /// What it speaks.
        speaks: &'static str,
        /// The target.
        target: String,
    },
    /// It knows no such steps.
    #[error("{} knows {knows} only: use 'tool = \"own\"', or other steps", tool.name())]
    Steps {
        /// The tool.
        tool: Tool,
        /// What it knows.
        knows: &'static str,
    },
    /// It has no such setting.
    #[error("{} cannot express '{setting}': use 'tool = \"own\"', or leave it out", tool.name())]
    Setting {
        /// The tool.
        tool: Tool,
        /// The setting.
        setting: &'static str,
    },
}

/// Why a report could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// It is no JSON.
    #[error("the report of {} is no JSON: {problem}", tool.name())]
    Json {
        /// The tool.
        tool: Tool,
        /// What its reader said.
        problem: String,
    },
    /// Something is not there: the tool was ended, or is another version.
    #[error("the report of {} has no {what}: was it ended early, or is it another version?",
        tool.name())]
    Missing {
        /// The tool.
        tool: Tool,
        /// What was looked for.
        what: &'static str,
    },
    /// A report of this program's own generator, which writes none.
    #[error("the own load generator writes no report")]
    Own,
}

/// How a tool is started for a load.
pub fn plan(spec: &LoadSpec) -> Result<Plan, Refusal> {
    let tool = spec.tool;
    if spec.arrivals == ArrivalKind::Poisson {
        return Err(Refusal::Setting { tool, setting: "arrivals = \"poisson\"" });
    }
    if spec.preload {
        return Err(Refusal::Setting { tool, setting: "preload = true" });
    }
    let (target, profile) = spec.check()?;
    match tool {
        Tool::Own => Err(Refusal::Setting { tool, setting: "a command line" }),
        Tool::Memtier => memtier::plan(spec, &target, &profile),
        Tool::Wrk2 => wrk2::plan(spec, &target, &profile),
        Tool::K6 => k6::plan(spec, &target, &profile),
        Tool::Gatling => gatling::plan(spec, &target, &profile),
    }
}

/// What a tool's report says about a load.
pub fn read(spec: &LoadSpec, profile: &Profile, report: &str) -> Result<LoadResult, ReportError> {
    let mut result = LoadResult::empty(spec.tool, profile.time());
    match spec.tool {
        Tool::Own => Err(ReportError::Own),
        Tool::Memtier => memtier::read(report, &mut result),
        Tool::Wrk2 => wrk2::read(report, &mut result),
        Tool::K6 => k6::read(report, &mut result),
        Tool::Gatling => gatling::read(report, &mut result),
    }?;
    let seconds = profile.time().as_s();
    if result.offered_per_s.is_none() && profile.users() == 0 && seconds > 0.0 {
        result.offered_per_s = Some(profile.arrivals() as f64 / seconds);
    }
    Ok(result)
}

/// The only step, when it is a constant rate of requests over whole seconds.
fn constant(profile: &Profile) -> Option<(Rate, u64)> {
    let [Phase { who: Who::Request, shape: Shape::Rate(from, to), time, .. }] = profile.phases()
    else {
        return None;
    };
    let whole = time.0.is_multiple_of(1_000_000_000);
    (from == to && whole).then_some((*from, time.0 / 1_000_000_000))
}

/// The resource of an HTTP target.
fn http(tool: Tool, target: &Target) -> Result<String, Refusal> {
    match target {
        Target::Http(..) => Ok(target.to_string()),
        _ => Err(Refusal::Target { tool, speaks: "HTTP", target: target.to_string() }),
    }
}

fn json(tool: Tool, report: &str) -> Result<Value, ReportError> {
    let problem = |error: serde_json::Error| error.to_string();
    serde_json::from_str(report).map_err(|e| ReportError::Json { tool, problem: problem(e) })
}

#[cfg(test)]
mod tests;
