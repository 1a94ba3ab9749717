//! What runs beside a workload: stressors, and fragmenters of memory.

use crate::child::this_program;
use crate::program::Program;
use crate::program_output;
use crate::session::Session;
use crate::stranger::{self, Runner};
use crate::talk::Talk;
use anyhow::{Context, bail};
use hugewise_experiment::kind::Kind;
use hugewise_experiment::kinds::{self, BuiltIn, Params, STRESS_NG, Task};
use hugewise_experiment::record::Conditions;
use hugewise_experiment::spec::{HugePages, Workload};
use hugewise_workloads::protocol::{Report, Request};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longer than any run: what runs beside is ended with it.
const LONGEST: Duration = Duration::from_secs(86_400);
/// stress-ng gives back what it took before it ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A stressor or a fragmenter; ended when this is dropped.
#[derive(Debug)]
pub(super) struct Beside {
    name: String,
    child: Child,
    /// The file of its errors.
    errors: PathBuf,
}

#[derive(Debug)]
enum Child {
    /// One of ours.
    Own(Talk),
    /// stress-ng.
    StressNg(Program),
}

impl Beside {
    /// An error when it has ended by itself: what was measured then was not what was asked for.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        let program = match &mut self.child {
            Child::Own(talk) => &mut talk.program,
            Child::StressNg(program) => program,
        };
        let Some(status) = program.0.try_wait()? else { return Ok(()) };
        let said = last_line(&self.errors).map_or(String::new(), |line| format!(": {line}"));
        bail!("{} beside the workload ended by itself ({status}){said}", self.name)
    }

    /// Has a fragmenter give back what it holds, after some time.
    pub(super) fn release_later(&self, after: Duration) -> anyhow::Result<()> {
        match &self.child {
            Child::Own(talk) => talk.request_later(Request::Release, after),
            Child::StressNg(_) => bail!("{} holds nothing that it could release", self.name),
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Child::StressNg(program) = &mut self.child {
            // Its workers end with it when it is asked to end, and hardly so when it is killed.
            let _ = program.end(PATIENCE);
        }
    }
}

/// Starts a stressor, for as long as a run may take. Whether it asks for huge pages is said by
/// `huge_pages`. What it writes is in `scratch`, a directory of its own.
pub(super) fn stress(
    part: &Workload,
    huge_pages: HugePages,
    session: &mut Session,
    label: &str,
    scratch: &Path,
) -> anyhow::Result<Beside> {
    if let Task::Beside(kinds::Beside::StressNg(params)) = task(part)?.1.task() {
        let errors = errors_in(scratch)?;
        let runner = Runner::of(params.user, session.user());
        let own = match runner {
            Runner::Stranger(user) => stranger::place(scratch, "own", user)?,
            Runner::Caller => scratch.to_owned(),
        };
        let mut command = shim()?;
        command.args(["--end", "term"]);
        runner.apply(&mut command, &own);
        command.arg("--").arg(runner.find(STRESS_NG).unwrap_or_else(|| STRESS_NG.into()));
        command.args(&params.args);
        command.args(["--temp-path"]).arg(&own);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&errors)?);
        let child = Child::StressNg(Program::start(&mut command)?);
        return Ok(Beside { name: STRESS_NG.into(), child, errors });
    }
    let (mut talk, _, errors) = start(part, huge_pages, session, label, scratch)?;
    talk.measure(LONGEST)?;
    Ok(Beside { name: part.kind.clone(), child: Child::Own(talk), errors })
}

/// Starts a fragmenter and waits until it has done its work; what it reached goes into
/// `conditions`. With what it has to say.
pub(super) fn fragment(
    part: &Workload,
    session: &mut Session,
    label: &str,
    scratch: &Path,
    conditions: &mut Conditions,
) -> anyhow::Result<(Beside, Vec<String>)> {
    let (_, params) = task(part)?;
    let Task::BuiltIn(BuiltIn::FragmentHoles(asked) | BuiltIn::FragmentPageCache(asked)) =
        params.task()
    else {
        bail!("'{}' breaks no memory into pieces", part.kind);
    };
    let inherit = HugePages::Inherit;
    let (talk, report, errors) = start(part, inherit, session, label, scratch)?;
    reached(&report, asked.fmfi_percent as f64 / 100.0, asked.free_blocks_max, conditions);
    let notes = report.notes.iter().map(|note| format!("{}: {note}", part.kind)).collect();
    Ok((Beside { name: part.kind.clone(), child: Child::Own(talk), errors }, notes))
}

/// Notes the index of fragmentation that a run meets, and when memory is less in pieces than was
/// asked for: by its index, or by blocks that nobody could take.
fn reached(report: &Report, wanted: f64, blocks_max: usize, conditions: &mut Conditions) {
    let value = |name| report.values.get(name).copied();
    conditions.fmfi = value("fmfi");
    if let Some(index) = conditions.fmfi.filter(|index| *index < wanted) {
        conditions.noisy.push(format!(
            "memory was less fragmented than asked for: index {index:.2}, not {wanted:.2}"
        ));
    }
    if let Some(blocks) = value("free_blocks").filter(|blocks| *blocks > blocks_max as f64) {
        conditions.noisy.push(format!(
            "memory was less fragmented than asked for: {blocks} blocks of a huge page were free, \
             not {blocks_max}"
        ));
    }
}

/// Starts a built-in workload and waits until it is ready, with what it says then.
fn start(
    part: &Workload,
    huge_pages: HugePages,
    session: &mut Session,
    label: &str,
    scratch: &Path,
) -> anyhow::Result<(Talk, Report, PathBuf)> {
    let (kind, params) = task(part)?;
    let errors = errors_in(scratch)?;
    let mut command = this_program()?;
    command.args(hugewise_workloads::COMMAND).args(["lab", kind.name, "--params"]);
    command.arg(serde_json::to_string(&params)?);
    command.args(["--huge-pages", huge_pages.key()]);
    command.arg("--scratch").arg(scratch).stderr(File::create(&errors)?);
    let mut talk = Talk::start(kind.name, &mut command)?;
    let ready = talk.ready(&mut |said| match said {
        Some(text) => session.step(format!("{label}: {}: {text}", kind.name)),
        None => session.beat(),
    });
    let report = match (ready, last_line(&errors)) {
        (Err(error), Some(line)) => return Err(error.context(line)),
        (ready, _) => ready?,
    };
    Ok((talk, report, errors))
}

/// The kind of what runs beside a workload, with its parameters.
fn task(part: &Workload) -> anyhow::Result<(&'static Kind, Params)> {
    let kind = kinds::find(&part.kind).context("an unknown kind")?;
    Ok((kind, Params::new(kind, &part.params)?))
}

/// Makes a directory; the file of errors in it.
fn errors_in(scratch: &Path) -> anyhow::Result<PathBuf> {
    let made = std::fs::create_dir_all(scratch);
    made.with_context(|| format!("cannot create {}", scratch.display()))?;
    Ok(scratch.join("stderr"))
}

/// The last line of a file that says something.
fn last_line(file: &Path) -> Option<String> {
    let line = program_output::last_lines(&program_output::end(file), 1);
    (!line.is_empty()).then_some(line)
}

fn shim() -> anyhow::Result<Command> {
    let mut command = this_program()?;
    command.args(hugewise_workloads::COMMAND).args([
        "exec",
        "--parent",
        &std::process::id().to_string(),
    ]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn a_stressor_that_ended_is_reported_with_its_last_line() {
        let scratch = Scratch::new();
        let errors = errors_in(&scratch.join("0")).expect("a directory");
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo first >&2; echo; echo 'no such stressor' >&2; exit 3"]);
        shell.stderr(File::create(&errors).expect("a file")).stdout(Stdio::null());
        let mut program = Program::start(&mut shell).expect("a shell");
        program.0.wait().expect("a child");
        let mut ended =
            Beside { name: "stress-ng".into(), child: Child::StressNg(program), errors };
        let error = ended.check().expect_err("it has ended").to_string();
        assert!(error.starts_with("stress-ng beside the workload ended by itself"), "{error}");
        assert!(error.ends_with("no such stressor"), "{error}");
        let program = Program::start(Command::new("sleep").arg("60")).expect("sleep");
        let errors = scratch.join("none");
        let mut runs = Beside { name: "x".into(), child: Child::StressNg(program), errors };
        assert!(runs.check().is_ok());
    }

    #[test]
    fn the_index_after_the_fragmenter_counts_and_a_missed_one_is_noise() {
        let mut conditions = Conditions { fmfi: Some(0.1), ..Conditions::default() };
        let said = |fmfi, blocks| {
            let values = [("fmfi", fmfi), ("free_blocks", blocks)];
            let values = values.map(|(name, value)| (name.to_owned(), value)).into();
            Report { values, ..Report::default() }
        };
        reached(&said(0.9, 16.0), 0.85, 16, &mut conditions);
        assert_eq!((conditions.fmfi, conditions.noisy.len()), (Some(0.9), 0));
        reached(&said(0.6, 0.0), 0.85, 16, &mut conditions);
        assert_eq!(conditions.fmfi, Some(0.6));
        assert!(conditions.noisy[0].ends_with("index 0.60, not 0.85"), "{conditions:?}");
        reached(&said(0.9, 1506.0), 0.85, 16, &mut conditions);
        assert!(conditions.noisy[1].contains(": 1506 blocks of a huge page"), "{conditions:?}");
    }
}
