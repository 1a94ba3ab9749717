//! One run of a workload, as its driver sees it: parameters in, programs beside, values out.

use crate::chains::Sampled;
use crate::child::this_program;
use crate::during;
use crate::group::Group;
use crate::load::Access;
use crate::manager::{Actions, Managed, ManagerProcess};
use crate::program::{KillGroup, MIB, Memory, Program, Used, available};
use crate::session::{BEAT, Session};
use crate::stranger::{self, Runner};
use anyhow::Context;
use hugewise_base::stats::Histogram;
use hugewise_base::units::Bytes;
use hugewise_experiment::chains;
use hugewise_experiment::check::Checked;
use hugewise_experiment::kind::Kind;
use hugewise_experiment::kinds::Params;
use hugewise_experiment::record::{Measured, Series};
use hugewise_experiment::schedule::Turn;
use hugewise_experiment::spec::{Experiment, HugePages, Variant};
use hugewise_linux::nobody::Nobody;
use hugewise_linux::root::Root;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Memory is looked at once in this time while it is watched.
const STEP: Duration = Duration::from_secs(1);
/// A manager that has not changed its settings by then hangs.
const STANDS: Duration = Duration::from_secs(30);

/// One run. Programs that a driver starts must end before it does.
#[derive(Debug)]
pub struct Run<'a> {
    session: &'a mut Session,
    checked: &'a Checked,
    turn: Turn,
    seed: u64,
    label: String,
    directory: PathBuf,
    /// What programs of others may write in.
    own: PathBuf,
    state_dir: &'a Path,
    /// Before the group, which goes only when it is empty: a program may leave a child behind.
    kill_left: KillGroup,
    /// A manager that runs from the beginning, until a driver takes it over.
    standing: Option<ManagerProcess>,
    group: Option<Group>,
    /// Kernel settings while the manager ran, or when the measurement was over.
    settings: Option<BTreeMap<String, String>>,
    available: Option<f64>,
    measured: Measured,
    /// What the CPUs run, where the experiment asks for it.
    sampled: Option<Sampled>,
}

impl<'a> Run<'a> {
    /// Of this turn; `label` is what progress says of it.
    pub(super) fn new(
        session: &'a mut Session,
        checked: &'a Checked,
        turn: Turn,
        seed: u64,
        label: String,
        state_dir: &'a Path,
    ) -> anyhow::Result<Self> {
        let directory = session.directory().join("run");
        let _ = std::fs::remove_dir_all(&directory);
        stranger::passage(&directory, session.user())?;
        let own = stranger::place(&directory, "own", session.user())?;
        let group = Group::new(&format!("hugewise-lab-{}", std::process::id()));
        let mut measured = Measured::default();
        match (checked.experiment.memory_limit_mib, &group) {
            (Some(mib), Some(group)) => {
                if !group.limit(Bytes::mib(mib))? && has_swap() {
                    measured.notes.push("beyond memory_limit_mib it could use swap".into());
                }
            }
            (Some(_), None) => anyhow::bail!("memory_limit_mib needs a memory cgroup"),
            (None, None) => measured.notes.push("no memory cgroup: cgroup_mib is unknown".into()),
            (None, Some(_)) => {}
        }
        let available = available();
        let kill_left = KillGroup(group.as_ref().map(Group::procs));
        Ok(Self {
            session,
            checked,
            turn,
            seed,
            label,
            directory,
            own,
            state_dir,
            kill_left,
            standing: None,
            group,
            settings: None,
            available,
            measured,
            sampled: None,
        })
    }

    /// Begins to note what the CPUs run, where the experiment asks for it.
    pub(super) fn sample(&mut self) -> anyhow::Result<()> {
        if self.experiment().chains {
            self.sampled = Some(Sampled::start()?);
        }
        Ok(())
    }

    /// A measurement begins, or ends: what the CPUs run else is of no interest.
    pub(super) fn measuring(&self, is: bool) {
        self.sampled.iter().for_each(|sampled| sampled.measuring(is));
    }

    /// What was measured, and the kernel's settings meanwhile, where they were read.
    pub(super) fn finish(mut self) -> (Measured, Option<BTreeMap<String, String>>) {
        match self.sampled.take().map(Sampled::finish) {
            Some(Ok(chains)) => self.measured.chains = Some(chains),
            Some(Err(why)) => self.measured.notes.push(format!("{}{why}", chains::NONE)),
            None => {}
        }
        // They may still write there.
        drop((self.kill_left, self.standing));
        if let Some(peak) = self.group.as_ref().and_then(Group::peak) {
            let own = self.measured.values.entry("peak_cgroup_mib".into());
            own.or_insert(peak.0 as f64 / MIB);
        }
        let _ = std::fs::remove_dir_all(&self.directory);
        (self.measured, self.settings)
    }

    /// The variant.
    pub fn variant(&self) -> &'a Variant {
        &self.checked.variants()[self.turn.variant]
    }

    /// The experiment.
    pub fn experiment(&self) -> &'a Experiment {
        &self.checked.experiment
    }

    /// The kind of the workload.
    pub fn kind(&self) -> &'static Kind {
        self.checked.kind
    }

    /// Parameters of the workload.
    pub fn params(&self) -> &'a Params {
        &self.checked.params[self.turn.variant]
    }

    /// Where huge pages come from.
    pub fn huge_pages(&self) -> HugePages {
        self.variant().huge_pages
    }

    /// Length of one measurement.
    pub fn measure(&self) -> Duration {
        Duration::from_secs(self.checked.experiment.measure_s)
    }

    /// The repetition, from 0.
    pub fn repetition(&self) -> u32 {
        self.turn.repetition
    }

    /// The same for every variant of a repetition: they do the same work.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A directory, removed after the run, that only this user writes to. Programs of others pass
    /// through it.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// An empty directory of those who run programs of others, removed after the run. What stands
    /// there is theirs: it is read by [`stranger::read`] alone.
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// Another one, of this user.
    pub fn place(&self, name: &str, user: Option<Nobody>) -> anyhow::Result<PathBuf> {
        stranger::place(&self.directory, name, user)
    }

    /// Writes a file that programs of others may read, and nobody else.
    pub fn give(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        stranger::give(&self.directory, name, text, self.user())
    }

    /// A directory that all runs of this start share, removed after the last: for what is made
    /// once. Only this user writes to it.
    pub fn shared(&self) -> &Path {
        self.session.directory()
    }

    /// How a load generator works here, for a server without a password.
    pub fn access(&self) -> Access {
        Access { password: None, user: self.user() }
    }

    /// The user that external programs run as; `None` where that is who runs hugewise.
    pub fn user(&self) -> Option<Nobody> {
        self.session.user()
    }

    /// Says what is being done; an error after Ctrl-C.
    pub fn step(&mut self, text: &str) -> anyhow::Result<()> {
        self.session.step(format!("{}: {text}", self.label))
    }

    /// Renews the progress line; an error after Ctrl-C.
    pub fn beat(&self) -> anyhow::Result<()> {
        self.session.beat()
    }

    /// Waits; an error after Ctrl-C.
    pub fn sleep(&self, time: Duration) -> anyhow::Result<()> {
        self.session.sleep(time)
    }

    /// Notes a value.
    pub fn value(&mut self, key: &str, value: f64) {
        self.measured.values.insert(key.into(), value);
    }

    /// Notes a value, unless it is unknown.
    pub fn known(&mut self, key: &str, value: Option<f64>) {
        value.into_iter().for_each(|value| self.value(key, value));
    }

    /// Notes several.
    pub fn values(&mut self, values: BTreeMap<String, f64>) {
        self.measured.values.extend(values);
    }

    /// Notes latencies in nanoseconds, also as quantiles `PHASE.p50_us` and so on; with an empty
    /// `phase` without it.
    pub fn latencies(&mut self, phase: &str, all: Histogram) {
        let quantiles = [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999), ("worst_us", 1.0)];
        for (name, q) in quantiles {
            if let Some(ns) = all.quantile(q) {
                self.value(&key(phase, name), ns as f64 / 1e3);
            }
        }
        self.histogram(if phase.is_empty() { "latency" } else { phase }, all);
    }

    /// Notes a distribution in nanoseconds.
    pub fn histogram(&mut self, name: &str, all: Histogram) {
        self.measured.histograms.insert(name.into(), all);
    }

    /// Notes values over time.
    pub fn series(&mut self, key: &str, points: Vec<(f64, f64)>) {
        self.measured.series.push(Series { key: key.into(), points });
    }

    /// Notes what else is worth knowing.
    pub fn note(&mut self, text: String) {
        self.measured.notes.push(text);
    }

    /// A program of the workload: in its cgroup, ended with hugewise, without huge pages where the
    /// variant says so, and with the variant's environment. It runs as the experiment's own user.
    /// Takes further arguments.
    pub fn command(&self, program: &str) -> anyhow::Result<Command> {
        self.command_as(Runner::Stranger(self.user()), program)
    }

    /// The same, by the user that the experiment names.
    pub fn command_as(&self, runner: Runner, program: &str) -> anyhow::Result<Command> {
        let mut command = self.shim(false)?;
        runner.apply(&mut command, &self.own);
        if let Some(group) = &self.group {
            command.arg("--group").arg(group.procs());
        }
        if self.huge_pages() == HugePages::Never {
            command.arg("--never");
        }
        command.arg("--").arg(self.file(runner, program));
        // What this shell says of allocators is no part of the experiment.
        command.env_remove("MALLOC_CONF").env_remove("GLIBC_TUNABLES");
        command.envs(&self.variant().env);
        Ok(command)
    }

    /// A program beside the workload, as a client is; ended with hugewise. It runs as the
    /// experiment's own user.
    pub fn tool(&self, program: &str) -> anyhow::Result<Command> {
        self.tool_as(Runner::Stranger(self.user()), program)
    }

    /// The same, as somebody else.
    pub fn tool_as(&self, runner: Runner, program: &str) -> anyhow::Result<Command> {
        let mut command = self.shim(false)?;
        runner.apply(&mut command, &self.own);
        command.arg("--").arg(self.file(runner, program));
        Ok(command)
    }

    /// The file that was looked for before the experiment began, so that no other is started;
    /// unless the variant names its own path.
    fn file(&self, runner: Runner, program: &str) -> PathBuf {
        let fixed = !program.contains('/') && !self.variant().env.contains_key("PATH");
        let found = fixed.then(|| runner.find(program)).flatten();
        found.unwrap_or_else(|| program.into())
    }

    /// This program once more, beside the workload; with `tidy` it is asked to end and not killed.
    pub(super) fn own_program(&self, tidy: bool) -> anyhow::Result<Command> {
        let mut command = self.shim(tidy)?;
        command.arg("--").arg(this_program()?.get_program());
        Ok(command)
    }

    /// This program once more, as a program of the workload.
    pub fn own_workload(&self) -> anyhow::Result<Command> {
        let program = this_program()?.get_program().to_string_lossy().into_owned();
        // The workload switches huge pages itself, at the right moment.
        let mut command = self.shim(false)?;
        if let Some(group) = &self.group {
            command.arg("--group").arg(group.procs());
        }
        command.args(["--", &program]).args(hugewise_workloads::COMMAND).envs(&self.variant().env);
        Ok(command)
    }

    fn shim(&self, tidy: bool) -> anyhow::Result<Command> {
        let mut command = this_program()?;
        command.args(hugewise_workloads::COMMAND).args([
            "exec",
            "--parent",
            &std::process::id().to_string(),
        ]);
        if tidy {
            command.args(["--end", "term"]);
        }
        Ok(command)
    }

    /// Starts the variant's manager where it is to be there before the workload.
    pub(super) fn stand(&mut self) -> anyhow::Result<()> {
        if self.variant().manage.as_ref().is_some_and(|manage| manage.standing) {
            self.step("starting its manager")?;
            let group = self.group.as_ref().and_then(Group::path);
            let group = group.context("a standing manager needs a memory cgroup")?;
            self.standing = self.managed(Managed::Group(&group))?;
            let mut left = STANDS;
            while !self.standing.as_mut().map_or(Ok(true), ManagerProcess::stands)? {
                left = left.checked_sub(BEAT).context("its manager does not begin to work")?;
                self.sleep(BEAT)?;
            }
        }
        Ok(())
    }

    /// The variant's manager of these processes, where it has one.
    pub fn manage(&mut self, pids: &[u32]) -> anyhow::Result<Option<ManagerProcess>> {
        match self.standing.take() {
            Some(manager) => Ok(Some(manager)),
            None => self.managed(Managed::Pids(pids)),
        }
    }

    fn managed(&self, whom: Managed<'_>) -> anyhow::Result<Option<ManagerProcess>> {
        let Some(manage) = self.variant().manage.as_ref() else { return Ok(None) };
        let (command, directory) = (self.own_program(true)?, self.directory.join("manager"));
        ManagerProcess::start(command, manage, whom, &directory, self.state_dir).map(Some)
    }

    /// Ends a manager; what it used and did becomes values, and is returned.
    pub fn stop(&mut self, manager: Option<ManagerProcess>) -> anyhow::Result<Option<Actions>> {
        // With it goes what it made of the settings.
        if manager.is_some() || self.settings.is_none() {
            self.settings = Some(during::settings(&Root::live(), self.checked));
        }
        manager.map(|manager| manager.stop(&mut self.measured.values)).transpose()
    }

    /// Notes what a manager did that has ended by itself.
    pub fn note_actions(&mut self, manager: &ManagerProcess) -> anyhow::Result<()> {
        manager.note_actions(&mut self.measured.values).map(drop)
    }

    /// Notes what the workload holds now, and how much less is available than before the run.
    pub fn memory(&mut self, phase: &str, pid: u32) -> Memory {
        let memory = self.holds(pid);
        self.note_memory(phase, memory);
        memory
    }

    /// The same, of an earlier look.
    pub fn note_memory(&mut self, phase: &str, memory: Memory) {
        let less = self.available.zip(available()).map(|(before, now)| before - now);
        let all = [
            ("rss_mib", memory.rss),
            ("cgroup_mib", memory.group),
            ("mem_available_less_mib", less),
            ("huge_mib", memory.huge),
            ("page_tables_mib", memory.page_tables),
        ];
        for (name, value) in all {
            self.known(&key(phase, name), value);
        }
    }

    /// What the workload holds now, without noting it.
    pub fn holds(&self, pid: u32) -> Memory {
        Memory::read(self.group.as_ref(), pid)
    }

    /// What one of its processes holds alone.
    pub fn holds_alone(&self, pid: u32) -> Memory {
        Memory::read(None, pid)
    }

    /// Processes of the workload: those in its cgroup, or this one where there is no group.
    pub fn pids(&self, pid: u32) -> Vec<u32> {
        let pids = self.group.as_ref().map(Group::pids).unwrap_or_default();
        if pids.is_empty() { vec![pid] } else { pids }
    }

    /// Kills, when dropped, what is left in the workload's cgroup by then.
    pub fn kill_left(&self) -> KillGroup {
        KillGroup(self.group.as_ref().map(Group::procs))
    }

    /// Takes the limit of memory away, for what comes after a measurement.
    pub fn lift_limit(&self) -> anyhow::Result<()> {
        let lifted = self.group.as_ref().map_or(Ok(()), Group::unlimit);
        lifted.context("cannot lift the limit of memory")
    }

    /// How many processes of the workload the kernel has killed for want of memory.
    pub fn oom_kills(&self) -> u64 {
        self.group.as_ref().and_then(Group::oom_kills).unwrap_or(0)
    }

    /// What is charged to the workload's cgroup, MiB: one small file, for those who look often.
    pub fn charged(&self) -> Option<f64> {
        Some(self.group.as_ref()?.usage()?.0 as f64 / MIB)
    }

    /// Memory of the workload's cgroup in huge pages, MiB: one small file, as above.
    pub fn huge(&self) -> Option<f64> {
        Some(self.group.as_ref()?.huge()?.0 as f64 / MIB)
    }

    /// Watches memory for so long, and notes it over time. Never shorter because it seems to stand
    /// still: all variants are to be measured equally long after what was done to them, and a
    /// manager on a busy machine begins late (Redis stood at 481 MiB for 15 s before it had).
    pub fn watch(&mut self, phase: &str, pid: u32, time: Duration) -> anyhow::Result<()> {
        let (began, mut seen) = (Instant::now(), Vec::new());
        loop {
            seen.push((began.elapsed().as_secs_f64(), self.holds(pid)));
            if began.elapsed() >= time {
                break;
            }
            self.sleep(STEP)?;
        }
        let column = |of: &dyn Fn(&Memory) -> Option<f64>| {
            seen.iter().filter_map(|(at, memory)| Some((*at, of(memory)?))).collect::<Vec<_>>()
        };
        let columns = [
            ("rss_mib", column(&|memory| memory.rss)),
            ("cgroup_mib", column(&|memory| memory.group)),
            ("huge_mib", column(&|memory| memory.huge)),
        ];
        for (name, points) in columns.into_iter().filter(|(_, points)| !points.is_empty()) {
            self.series(&key(phase, name), points);
        }
        Ok(())
    }

    /// Notes the CPU time of a process since `before`, and what it waited for.
    pub fn used_since(&mut self, phase: &str, pid: u32, before: &Used) {
        let now = Used::of(pid);
        if let Some((before, now)) = before.cpu_s.zip(now.cpu_s) {
            self.value(&key(phase, "user_cpu_s"), now.0 - before.0);
            self.value(&key(phase, "kernel_cpu_s"), now.1 - before.1);
        }
        let Some((before, now)) = before.delays.zip(now.delays) else { return };
        let waits = [
            ("compactions", "compacting_ms", before.compaction, now.compaction),
            ("reclaims", "reclaiming_ms", before.reclaim, now.reclaim),
        ];
        for (count, time_ms, before, now) in waits {
            let Some((before, now)) = before.zip(now) else { continue };
            self.value(&key(phase, count), now.count.saturating_sub(before.count) as f64);
            let spent = now.time.0.saturating_sub(before.time.0);
            self.value(&key(phase, time_ms), spent as f64 / 1e6);
        }
    }

    /// Asks a program to end.
    pub fn end(&self, mut program: Program) -> anyhow::Result<()> {
        program.end(Duration::from_secs(20))
    }
}

/// Whether this machine can swap anything out.
fn has_swap() -> bool {
    let text = Root::live().read_text("proc/meminfo").unwrap_or_default();
    let total = hugewise_base::parse::meminfo::parse(&text).value.swap_total_bytes;
    total.is_some_and(|bytes| bytes > 0)
}

/// `PHASE.NAME`, or the name alone.
pub fn key(phase: &str, name: &str) -> String {
    if phase.is_empty() { name.into() } else { format!("{phase}.{name}") }
}
