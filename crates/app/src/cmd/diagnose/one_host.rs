//! Recordings that must be of one machine.

use super::{input, watched};
use crate::cli::Global;
use crate::exit::{self, coded};
use hugewise_evidence::recording::{Field, Host, Recording};
use hugewise_linux::root::Root;
use std::path::PathBuf;

/// A machine, and what could not be read of it.
#[derive(Debug)]
pub(in crate::cmd) struct OneHost {
    /// What is known of it.
    pub(in crate::cmd) host: Host,
    /// What was read.
    pub(in crate::cmd) name: String,
    /// What could not be read.
    pub(in crate::cmd) problems: Vec<String>,
}

/// The one machine of these files whose memory they tell; others may be named on the way.
///
/// # Errors
/// A file that could not be read, no machine whose memory is known, or several.
pub(in crate::cmd) fn one_host(files: &[PathBuf]) -> anyhow::Result<OneHost> {
    let name = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
    of(input::read(files)?, name)
}

/// This machine, watched for a while.
pub(in crate::cmd) fn this_host(global: &Global) -> anyhow::Result<OneHost> {
    of(watched(&Root::at(&global.root))?, "this machine".to_owned())
}

/// How an input is told that could not be read, beside others.
const LEFT_OUT: &str = "left out: ";

fn of(mut recording: Recording, name: String) -> anyhow::Result<OneHost> {
    // What is said of a part of what was named would be something else.
    if let Some(problem) = recording.problems.iter().find(|p| p.text.starts_with(LEFT_OUT)) {
        let why = problem.text.trim_start_matches(LEFT_OUT);
        return Err(coded(exit::ERROR, format!("{}: {why}", problem.input)));
    }
    let problems = recording.problems.iter().map(|one| match one.line {
        Some(line) => format!("{}, line {line}: {}", one.input, one.text),
        None => format!("{}: {}", one.input, one.text),
    });
    let problems = problems.collect();
    // A pool alone is a machine, too, where nobody tells its memory.
    let tells = |host: &Host, field| host.subjects(field).next().is_some();
    let field = match recording.hosts.iter().any(|host| tells(host, Field::MemTotal)) {
        true => Field::MemTotal,
        false => Field::HugetlbTotal,
    };
    recording.hosts.retain(|host| tells(host, field));
    match (recording.hosts.pop(), recording.hosts.len()) {
        (Some(host), 0) => Ok(OneHost { host, name, problems }),
        (None, _) => {
            let wanted = "wanted /proc/meminfo, or a file of 'hugewise record'";
            Err(coded(exit::ERROR, format!("{name}: it does not say how much memory: {wanted}")))
        }
        (Some(_), others) => {
            let count = others + 1;
            let text = format!("{name}: {count} machines; this is for one: give its files");
            Err(coded(exit::ERROR, text))
        }
    }
}
