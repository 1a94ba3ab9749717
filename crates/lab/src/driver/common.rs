//! What several drivers do alike.

use crate::environment::Environment;
use crate::manager::ManagerProcess;
use crate::program::{Memory, Program};
use crate::program_output;
use crate::run::Run;
use crate::session::BEAT;
use anyhow::{Context, bail};
use hugewise_experiment::kind::{Kind, Source};
use hugewise_experiment::spec::{HugePages, Variant};
use hugewise_linux::root::Root;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// jemalloc then advises all its memory (jemalloc(3), `thp:always`).
const JEMALLOC: (&str, &str) = ("MALLOC_CONF", "thp:always");
/// glibc then advises what it allocates (`glibc.malloc.hugetlb`, since 2.35).
const GLIBC: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// Tells the allocators of a program to ask for huge pages, where the variant wants them at every
/// fault and says nothing else itself.
pub(super) fn advise(run: &Run<'_>, command: &mut Command) {
    for (name, value) in [JEMALLOC, GLIBC] {
        if run.huge_pages() == HugePages::Always && !run.variant().env.contains_key(name) {
            command.env(name, value);
        }
    }
}

/// An error when the program has huge pages where the variant forbids them, or none where it asks.
pub(super) fn check_huge(run: &Run<'_>, name: &str, memory: &Memory) -> anyhow::Result<()> {
    match run.huge_pages() {
        HugePages::Inherit | HugePages::Later | HugePages::Khugepaged => return Ok(()),
        HugePages::Always | HugePages::Never => {}
    }
    let huge = memory.huge.with_context(|| {
        format!("whether {name} has huge pages is unknown: its smaps_rollup cannot be read")
    })?;
    match run.huge_pages() {
        HugePages::Always if huge <= 0.0 => {
            bail!("{name} was configured to ask for huge pages and has none")
        }
        HugePages::Never if huge > 0.0 => {
            bail!("{huge} MiB of {name} are huge although it may have none")
        }
        _ => Ok(()),
    }
}

/// The same as a note, for a program that may have no memory of a kind that can be huge.
pub(super) fn note_huge(run: &mut Run<'_>, name: &str, memory: &Memory) {
    if let Err(error) = check_huge(run, name, memory) {
        run.note(error.to_string());
    }
}

/// Notes where the huge pages of a variant come from that leaves it to the machine and has a
/// manager: under `always` the fill has them already, and the manager finds nothing to do.
pub(super) fn note_origin(run: &mut Run<'_>) {
    let switch = Environment::read(&Root::live()).switch();
    origin(run.variant(), run.kind(), switch.as_deref())
        .into_iter()
        .for_each(|text| run.note(text));
}

fn origin(variant: &Variant, kind: &Kind, switch: Option<&str>) -> Option<String> {
    let inherits = variant.huge_pages == HugePages::Inherit && variant.manage.is_some();
    let filled = inherits && kind.huge_pages != Source::Kind && switch == Some("always");
    filled.then(|| {
        format!(
            "filled under 'always', the machine's setting: the huge pages of {} come from faults \
             and not from its manager",
            variant.name
        )
    })
}

/// Notes what a client hides that sends the next request when it has the answer to the last.
pub(super) fn note_closed_loop(run: &mut Run<'_>) {
    run.note(
        "one client asks, each time after the last answer: a stall delays the requests that would \
         have shown it, so latencies beyond the median are too good"
            .into(),
    );
}

/// The last lines of a server's log.
pub(super) fn log_end(log: &Path) -> String {
    format!("'{}'", program_output::last_lines(&program_output::end(log), 3))
}

/// How long khugepaged and a manager may work before something is measured: the same for every
/// variant, as khugepaged works beside all of them.
pub(super) fn settling(run: &Run<'_>) -> Duration {
    Duration::from_secs(run.experiment().manage_s)
}

/// Waits so long where any variant has a manager: those without one then get just as old before
/// they are measured. Without any manager there is nothing to wait for.
pub(super) fn settle_alike(
    run: &mut Run<'_>,
    manager: &mut Option<ManagerProcess>,
) -> anyhow::Result<()> {
    let managed = run.experiment().variants.iter().any(|variant| variant.manage.is_some());
    if managed { settle(run, manager) } else { Ok(()) }
}

/// Waits for that.
pub(super) fn settle(
    run: &mut Run<'_>,
    manager: &mut Option<ManagerProcess>,
) -> anyhow::Result<()> {
    run.step("memory settles")?;
    run.sleep(settling(run))?;
    check(manager)
}

/// An error when the manager, if there is one, has ended by itself.
pub(super) fn check(manager: &mut Option<ManagerProcess>) -> anyhow::Result<()> {
    manager.as_mut().map_or(Ok(()), ManagerProcess::check)
}

/// Waits for the end of a program, with beats, and without reaping it; when it came.
pub(super) fn ended(run: &Run<'_>, program: &Program) -> anyhow::Result<Instant> {
    let end = watch_end(program.pid())?;
    loop {
        if let Some(at) = end.within(BEAT)? {
            return Ok(at);
        }
        run.beat()?;
    }
}

/// The same; its exit status.
pub(super) fn finish(run: &Run<'_>, program: &mut Program) -> anyhow::Result<ExitStatus> {
    ended(run, program)?;
    Ok(program.0.wait()?)
}

/// The end of a program, which is noticed at once.
#[derive(Debug)]
pub(super) struct End(Receiver<(Instant, rustix::io::Result<()>)>);

/// Begins to wait for the end of a child of this program.
pub(super) fn watch_end(pid: u32) -> anyhow::Result<End> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).context("no pid")?;
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        let kept = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let waited = waitid(WaitId::Pid(raw), kept).map(drop);
        let _ = sender.send((Instant::now(), waited));
    });
    Ok(End(ended))
}

impl End {
    /// When it came, if it comes within so long.
    pub(super) fn within(&self, time: Duration) -> anyhow::Result<Option<Instant>> {
        match self.0.recv_timeout(time) {
            Ok((at, waited)) => {
                waited.context("waiting for the program")?;
                Ok(Some(at))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("nobody waits for the program"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::kinds;
    use hugewise_experiment::spec::Manage;
    use std::process::Stdio;

    #[test]
    fn huge_pages_from_the_fill_are_noted_where_a_manager_follows() {
        let manage = Some(Manage::default());
        let managed = Variant { name: "ingens".into(), manage, ..Variant::default() };
        let (redis, promote) = (kinds::find("redis"), kinds::find("promote"));
        let (redis, promote) = (redis.expect("a kind"), promote.expect("a kind"));
        let said = origin(&managed, redis, Some("always")).expect("a note");
        assert!(said.contains("the huge pages of ingens come from faults"), "{said}");
        assert_eq!(origin(&managed, redis, Some("madvise")), None);
        assert_eq!(origin(&managed, redis, None), None);
        // Its program has base pages whatever the machine is set to.
        assert_eq!(origin(&managed, promote, Some("always")), None);
        let asks = Variant { huge_pages: HugePages::Always, ..managed.clone() };
        assert_eq!(origin(&asks, redis, Some("always")), None);
        let alone = Variant { manage: None, ..managed };
        assert_eq!(origin(&alone, redis, Some("always")), None);
    }

    #[test]
    fn an_end_is_noticed_and_leaves_the_status() -> anyhow::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; exit 3"]).stdin(Stdio::piped());
        let mut program = Program::start(&mut command)?;
        let end = watch_end(program.pid())?;
        assert_eq!(end.within(Duration::from_millis(20))?, None);
        drop(program.0.stdin.take());
        while end.within(Duration::from_millis(20))?.is_none() {}
        assert_eq!(program.0.wait()?.code(), Some(3));
        Ok(())
    }
}
