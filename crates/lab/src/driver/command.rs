//! Drives any program: from its start to its end.

use super::common;
use crate::manager::ManagerProcess;
use crate::program::{MIB, Program, cpu_of_tree_s};
use crate::program_output;
use crate::run::Run;
use crate::session::BEAT;
use crate::stranger::Runner;
use anyhow::bail;
use hugewise_base::parse::pid_status;
use hugewise_experiment::kinds::{Command, Output};
use hugewise_experiment::spec::HugePages;
use hugewise_experiment::tools::output;
use hugewise_linux::root::Root;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A manager notices within this time that its process has ended: it looks for processes every
/// five seconds, and a busy machine delays it.
const MOMENT: Duration = Duration::from_secs(15);
/// The first reading of a program's memory; each further one after twice the time: a reading takes
/// the program's lock.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// Lines of its errors that are repeated when it fails.
const SAID: usize = 5;

/// Runs it.
pub(super) fn drive(params: &Command, run: &mut Run<'_>) -> anyhow::Result<()> {
    let name = params.program.as_str();
    let runner = Runner::of(params.user, run.user());
    if !name.contains('/') && runner.find(name).is_none() {
        bail!("there is no program '{name}' on the path");
    }
    run.step(name)?;
    let scratch = match runner {
        Runner::Stranger(_) => run.own().to_owned(),
        Runner::Caller => run.place("dir", None)?,
    };
    let (out, err) = (run.directory().join("stdout"), run.directory().join("stderr"));
    let mut command = run.command_as(runner, name)?;
    command.args(params.args.iter().map(|arg| filled_in(run, arg, &scratch)));
    command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
    common::advise(run, &mut command);
    let _kill_left = run.kill_left();
    let began = Instant::now();
    let mut program = Program::start(&mut command)?;
    let mut manager = run.manage(&[program.pid()])?;
    let ended = wait(params, run, &program, &mut manager, began)?;
    let status = program.0.wait()?;
    if !is_ok(status.code(), &params.ok_codes) {
        let said = program_output::last_lines(&program_output::end(&err), SAID);
        let colon = if said.is_empty() { "" } else { ": " };
        bail!("{name} ended with {status}{colon}{said}");
    }
    run.value("wall_s", ended.wall.as_secs_f64());
    if let Some((user, kernel)) = ended.cpu {
        run.value("user_cpu_s", user);
        run.value("kernel_cpu_s", kernel);
    }
    if run.huge_pages() == HugePages::Always && !ended.huge {
        run.note(format!("{name} was configured to ask for huge pages, and none were seen"));
    }
    match ended.peak {
        Some(mib) => run.value("peak_rss_mib", mib),
        None => run.note(format!("{name} ended before its memory was inspected")),
    }
    if params.read == Output::Json {
        let values = output::last_line(&program_output::end(&out))?;
        if let Some(own) = run.kind().metrics.iter().find(|own| values.contains_key(**own)) {
            bail!("{name} prints '{own}', which hugewise measures itself: use another name");
        }
        run.values(values);
    }
    end(run, manager)
}

/// A manager of a named process ends with it, after a moment; otherwise it is ended here. Any end
/// of another kind is an error.
fn end(run: &mut Run<'_>, manager: Option<ManagerProcess>) -> anyhow::Result<()> {
    let Some(mut manager) = manager else { return Ok(()) };
    let until = Instant::now() + MOMENT;
    while !manager.stays() && Instant::now() < until {
        if manager.has_ended_well()? {
            return run.note_actions(&manager);
        }
        run.sleep(BEAT / 5)?;
    }
    run.stop(Some(manager)).map(drop)
}

fn filled_in(run: &Run<'_>, arg: &str, scratch: &Path) -> String {
    arg.replace("{seed}", &run.seed().to_string())
        .replace("{measure_s}", &run.measure().as_secs().to_string())
        .replace("{dir}", &scratch.to_string_lossy())
}

fn is_ok(code: Option<i32>, ok: &[String]) -> bool {
    let Some(code) = code.map(|code| code.to_string()) else { return false };
    if ok.is_empty() { code == "0" } else { ok.contains(&code) }
}

/// Since when a program has been without its manager, which may see its end first.
struct Alone(Option<Instant>);

impl Alone {
    /// An error when the manager failed, or ended long before the program.
    fn check(&mut self, manager: &mut Option<ManagerProcess>) -> anyhow::Result<()> {
        let Some(manager) = manager else { return Ok(()) };
        if manager.has_ended_well()? && self.0.get_or_insert_with(Instant::now).elapsed() > MOMENT {
            manager.check()?;
        }
        Ok(())
    }
}

/// What is known of a program that has ended.
struct Ended {
    wall: Duration,
    /// CPU time in user mode and in the kernel, of it and of children that it waited for, seconds.
    cpu: Option<(f64, f64)>,
    /// Largest resident memory of its own process as last seen, MiB.
    peak: Option<f64>,
    /// Whether it was seen with huge pages.
    huge: bool,
}

/// Waits for its end, and looks at what it used before it is reaped: afterwards that is gone.
fn wait(
    params: &Command,
    run: &Run<'_>,
    program: &Program,
    manager: &mut Option<ManagerProcess>,
    began: Instant,
) -> anyhow::Result<Ended> {
    let pid = program.pid();
    let limit = Duration::from_secs(params.limit_s);
    let end = common::watch_end(pid)?;
    let (mut peak, mut huge, mut look) = (None, false, FIRST_LOOK);
    let mut alone = Alone(None);
    let at = loop {
        if let Some(at) = end.within(BEAT / 5)? {
            break at;
        }
        peak = high_water_mib(pid).or(peak);
        if began.elapsed() >= look {
            look *= 2;
            huge |= run.holds(pid).huge.is_some_and(|mib| mib > 0.0);
        }
        run.beat()?;
        alone.check(manager)?;
        if began.elapsed() >= limit {
            bail!("it has not ended within {} s (limit_s)", limit.as_secs());
        }
    };
    Ok(Ended { wall: at - began, cpu: cpu_of_tree_s(pid), peak, huge })
}

fn high_water_mib(pid: u32) -> Option<f64> {
    let text = Root::live().read(format!("proc/{pid}/status")).ok()?;
    Some(pid_status::parse(&text).value.vm_hwm_bytes? as f64 / MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_codes_are_fine() {
        let some = ["0".to_owned(), "3".to_owned()];
        assert!(is_ok(Some(0), &[]) && !is_ok(Some(1), &[]) && !is_ok(None, &[]));
        assert!(is_ok(Some(3), &some) && !is_ok(Some(2), &some));
        // A signal is never fine.
        assert!(!is_ok(None, &some));
    }
}
