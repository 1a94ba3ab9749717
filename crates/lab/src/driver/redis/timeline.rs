//! Small values, most of them deleted, then large ones: does what is free reach the large ones, or
//! does the kernel end the server for want of memory? The latter is a result and no failure.
//!
//! The course of the experiment is that of Kwon and others (Ingens, OSDI 2016) and Panwar and
//! others (`HawkEye`, ASPLOS 2019), in a cgroup with a limit instead of the whole machine.

use super::server::{LARGE, SERVER, Server};
use crate::driver::common;
use crate::manager::ManagerProcess;
use crate::program::Memory;
use crate::run::Run;
use anyhow::bail;
use hugewise_experiment::kinds::Redis;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// How often memory is looked at.
const STEP: Duration = Duration::from_millis(250);
/// Small values written between two looks at the clock.
const SMALL: usize = 64;
/// A killed server is gone after so long.
const END: Duration = Duration::from_secs(5);

/// Runs it.
pub(super) fn run(params: &Redis, run: &mut Run<'_>) -> anyhow::Result<()> {
    if run.experiment().memory_limit_mib.is_none() {
        bail!("the scenario 'timeline' fills memory: it runs only with memory_limit_mib");
    }
    run.step("starting Redis")?;
    let mut server = Server::start(params, run)?;
    let pid = server.pid();
    let mut manager = run.manage(&[pid])?;
    let kills = run.oom_kills();
    let mut course = Course { began: Instant::now(), last: None, seen: Vec::new(), room: 0 };
    let done = course.run(params, run, &mut server, &mut manager);
    let peak = course.seen.iter().filter_map(|(_, memory)| memory.group).fold(0.0, f64::max);
    let room = (course.room * LARGE) as f64 / crate::program::MIB;
    course.note(run);
    run.value("peak_cgroup_mib", peak);
    run.value("large_mib", room);
    match done {
        Ok(()) => {
            run.value("survived", 1.0);
            run.stop(manager)?;
            server.end(run)
        }
        Err(error) => {
            if !was_killed(run, &mut server, kills)? {
                return Err(error);
            }
            run.value("survived", 0.0);
            run.note(format!("the kernel ended Redis for want of memory: {error:#}"));
            // With its process it has ended as well, or will: what it did is not known.
            drop(manager);
            Ok(())
        }
    }
}

/// Whether the kernel killed the server because its cgroup was full.
fn was_killed(run: &Run<'_>, server: &mut Server, kills_before: u64) -> anyhow::Result<bool> {
    let until = Instant::now() + END;
    loop {
        if let Some(status) = server.program.0.try_wait()? {
            return Ok(status.signal() == Some(9) && run.oom_kills() > kills_before);
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        run.sleep(Duration::from_millis(20))?;
    }
}

/// What was held over time.
struct Course {
    began: Instant,
    last: Option<Instant>,
    seen: Vec<(f64, Memory)>,
    /// Large values that found room.
    room: usize,
}

impl Course {
    fn run(
        &mut self,
        params: &Redis,
        run: &mut Run<'_>,
        server: &mut Server,
        manager: &mut Option<ManagerProcess>,
    ) -> anyhow::Result<()> {
        let (keys, pid) = (params.keys, server.pid());
        run.step("writing small values")?;
        for first in (0..keys).step_by(SMALL) {
            server.write(first..keys.min(first + SMALL))?;
            self.look(run, pid)?;
        }
        common::check_huge(run, SERVER, &run.holds(pid))?;
        run.memory("full", pid);
        run.step("deleting")?;
        server.delete(run, params.delete_percent)?;
        common::check(manager)?;
        run.step("memory settles")?;
        let until = Instant::now() + common::settling(run);
        while Instant::now() < until {
            self.look(run, pid)?;
            run.sleep(STEP)?;
        }
        run.memory("deleted", pid);
        run.step("writing large values")?;
        for number in 0..params.large_mib * (1 << 20) / LARGE {
            server.write_large(number)?;
            self.room = number + 1;
            self.look(run, pid)?;
        }
        common::check(manager)?;
        run.memory("", pid);
        // Answers of 2 MiB take memory of their own, which is not what is asked about.
        run.lift_limit()?;
        run.step("comparing every value")?;
        let large: Vec<usize> = (0..self.room).collect();
        server.check_with(run, &large)
    }

    fn look(&mut self, run: &Run<'_>, pid: u32) -> anyhow::Result<()> {
        if self.last.is_none_or(|last| last.elapsed() >= STEP) {
            self.last = Some(Instant::now());
            self.seen.push((self.began.elapsed().as_secs_f64(), run.holds(pid)));
            run.beat()?;
        }
        Ok(())
    }

    fn note(&self, run: &mut Run<'_>) {
        let column = |of: &dyn Fn(&Memory) -> Option<f64>| {
            let points = self.seen.iter().filter_map(|(at, memory)| Some((*at, of(memory)?)));
            points.collect::<Vec<_>>()
        };
        run.series("rss_mib", column(&|memory| memory.rss));
        run.series("cgroup_mib", column(&|memory| memory.group));
        run.series("huge_mib", column(&|memory| memory.huge));
    }
}
