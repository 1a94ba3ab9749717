//! One run of a workload, as its driver sees it: parameters in, programs beside, values out.

use super::during;
use super::manager::Manager;
use super::program::{Leftovers, MIB, Memory, Program, available, cpu_s};
use crate::child::this_program;
use crate::group::Group;
use crate::session::Session;
use anyhow::Context;
use hugewise_core::lab::check::Checked;
use hugewise_core::lab::kind::Params;
use hugewise_core::lab::record::{Measured, Series};
use hugewise_core::lab::spec::{Experiment, HugePages, Variant};
use hugewise_core::stats::Histogram;
use hugewise_core::units::Bytes;
use hugewise_linux::root::Root;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Memory is looked at once in this time while it is watched.
const STEP: Duration = Duration::from_secs(1);

/// See the module's text. Programs that a driver starts must end before it does.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    session: &'a mut Session,
    checked: &'a Checked,
    index: usize,
    seed: u64,
    label: String,
    directory: PathBuf,
    state_dir: &'a Path,
    /// Before the group, which goes only when it is empty: a program may leave a child behind.
    leftovers: Leftovers,
    group: Option<Group>,
    /// Kernel settings while the manager ran, or when the measurement was over.
    settings: Option<BTreeMap<String, String>>,
    available: Option<f64>,
    measured: Measured,
}

impl<'a> Run<'a> {
    /// Of the variant with this index; `label` is what progress says of it.
    pub(super) fn new(
        session: &'a mut Session,
        checked: &'a Checked,
        index: usize,
        seed: u64,
        label: String,
        state_dir: &'a Path,
    ) -> anyhow::Result<Self> {
        let directory = session.directory().join("run");
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory)?;
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
        let leftovers = Leftovers(group.as_ref().map(Group::procs));
        Ok(Self {
            session,
            checked,
            index,
            seed,
            label,
            directory,
            state_dir,
            leftovers,
            group,
            settings: None,
            available,
            measured,
        })
    }

    /// What was measured, and the kernel's settings meanwhile, where they were read.
    pub(super) fn finish(self) -> (Measured, Option<BTreeMap<String, String>>) {
        // They may still write there.
        drop(self.leftovers);
        let _ = std::fs::remove_dir_all(&self.directory);
        (self.measured, self.settings)
    }

    /// The variant.
    pub(crate) fn variant(&self) -> &'a Variant {
        &self.checked.variants()[self.index]
    }

    /// The experiment.
    pub(crate) fn experiment(&self) -> &'a Experiment {
        &self.checked.experiment
    }

    /// Parameters of the workload.
    pub(crate) fn params(&self) -> &'a Params {
        &self.checked.params[self.index]
    }

    /// Where huge pages come from.
    pub(crate) fn huge_pages(&self) -> HugePages {
        self.variant().huge_pages
    }

    /// Length of one measurement.
    pub(crate) fn measure(&self) -> Duration {
        Duration::from_secs(self.checked.experiment.measure_s)
    }

    /// The same for every variant of a repetition: they do the same work.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// An empty directory, removed after the run. Only this user can enter it.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A directory that all runs of this start share, removed after the last: for what is made
    /// once. Only this user can enter it.
    pub(crate) fn shared(&self) -> &Path {
        self.session.directory()
    }

    /// Says what is being done; an error after Ctrl-C.
    pub(crate) fn step(&mut self, text: &str) -> anyhow::Result<()> {
        self.session.step(format!("{}: {text}", self.label))
    }

    /// Renews the progress line; an error after Ctrl-C.
    pub(crate) fn beat(&self) -> anyhow::Result<()> {
        self.session.beat()
    }

    /// Waits; an error after Ctrl-C.
    pub(crate) fn sleep(&self, time: Duration) -> anyhow::Result<()> {
        self.session.sleep(time)
    }

    /// Notes a value.
    pub(crate) fn value(&mut self, key: &str, value: f64) {
        self.measured.values.insert(key.into(), value);
    }

    /// Notes several.
    pub(crate) fn values(&mut self, values: BTreeMap<String, f64>) {
        self.measured.values.extend(values);
    }

    /// Notes latencies in nanoseconds, also as quantiles `PHASE.p50_us` and so on; with an empty
    /// `phase` without it.
    pub(crate) fn latencies(&mut self, phase: &str, all: Histogram) {
        let quantiles = [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999), ("worst_us", 1.0)];
        for (name, q) in quantiles {
            if let Some(ns) = all.quantile(q) {
                self.value(&key(phase, name), ns as f64 / 1e3);
            }
        }
        self.histogram(if phase.is_empty() { "latency" } else { phase }, all);
    }

    /// Notes a distribution in nanoseconds.
    pub(crate) fn histogram(&mut self, name: &str, all: Histogram) {
        self.measured.histograms.insert(name.into(), all);
    }

    /// Notes values over time.
    pub(crate) fn series(&mut self, key: &str, points: Vec<(f64, f64)>) {
        self.measured.series.push(Series { key: key.into(), points });
    }

    /// Notes what else is worth knowing.
    pub(crate) fn note(&mut self, text: String) {
        self.measured.notes.push(text);
    }

    /// A program of the workload: in its cgroup, ended with hugewise, without huge pages where the
    /// variant says so, and with the variant's environment. Takes further arguments.
    pub(crate) fn command(&self, program: &str) -> anyhow::Result<Command> {
        let mut command = self.shim(false)?;
        if let Some(group) = &self.group {
            command.arg("--group").arg(group.procs());
        }
        if self.huge_pages() == HugePages::Never {
            command.arg("--never");
        }
        command.arg("--").arg(self.file(program));
        // What this shell says of allocators is no part of the experiment.
        command.env_remove("MALLOC_CONF").env_remove("GLIBC_TUNABLES");
        command.envs(&self.variant().env);
        Ok(command)
    }

    /// A program beside the workload, as a client is; ended with hugewise.
    pub(crate) fn tool(&self, program: &str) -> anyhow::Result<Command> {
        let mut command = self.shim(false)?;
        command.arg("--").arg(self.file(program));
        Ok(command)
    }

    /// The file that was looked for before the experiment began, so that no other is started;
    /// unless the variant names its own path.
    fn file(&self, program: &str) -> PathBuf {
        let fixed = !program.contains('/') && !self.variant().env.contains_key("PATH");
        let found = fixed.then(|| super::driver::find(program)).flatten();
        found.unwrap_or_else(|| program.into())
    }

    /// This program once more, beside the workload; with `tidy` it is asked to end and not killed.
    pub(super) fn own_program(&self, tidy: bool) -> anyhow::Result<Command> {
        let mut command = self.shim(tidy)?;
        command.arg("--").arg(this_program()?.get_program());
        Ok(command)
    }

    /// This program once more, as a program of the workload.
    pub(crate) fn own_workload(&self) -> anyhow::Result<Command> {
        let program = this_program()?.get_program().to_string_lossy().into_owned();
        // The workload switches huge pages itself, at the right moment.
        let mut command = self.shim(false)?;
        if let Some(group) = &self.group {
            command.arg("--group").arg(group.procs());
        }
        command.args(["--", &program, "workload"]).envs(&self.variant().env);
        Ok(command)
    }

    fn shim(&self, tidy: bool) -> anyhow::Result<Command> {
        let mut command = this_program()?;
        command.args(["workload", "exec", "--parent", &std::process::id().to_string()]);
        if tidy {
            command.args(["--end", "term"]);
        }
        Ok(command)
    }

    /// The variant's manager of these processes, where it has one.
    pub(crate) fn manage(&self, pids: &[u32]) -> anyhow::Result<Option<Manager>> {
        let manage = self.variant().manage.as_ref();
        manage.map(|manage| Manager::start(self, manage, pids, self.state_dir)).transpose()
    }

    /// Ends a manager; what it used and did becomes values.
    pub(crate) fn stop(&mut self, manager: Option<Manager>) -> anyhow::Result<()> {
        // With it goes what it made of the settings.
        if manager.is_some() || self.settings.is_none() {
            self.settings = Some(during::settings(&Root::live(), self.checked));
        }
        manager.map_or(Ok(()), |manager| manager.stop(&mut self.measured.values))
    }

    /// Notes what a manager did that has ended by itself.
    pub(crate) fn note_deeds(&mut self, manager: &Manager) -> anyhow::Result<()> {
        manager.note_deeds(&mut self.measured.values)
    }

    /// Notes what the workload holds now, and how much less is available than before the run.
    pub(crate) fn memory(&mut self, phase: &str, pid: u32) -> Memory {
        let memory = self.holds(pid);
        self.note_memory(phase, memory);
        memory
    }

    /// The same, of an earlier look.
    pub(crate) fn note_memory(&mut self, phase: &str, memory: Memory) {
        self.value(&key(phase, "rss_mib"), memory.rss);
        if let Some(group) = memory.group {
            self.value(&key(phase, "cgroup_mib"), group);
        }
        if let Some(less) = self.available.zip(available()).map(|(before, now)| before - now) {
            self.value(&key(phase, "mem_available_less_mib"), less);
        }
        self.value(&key(phase, "huge_mib"), memory.huge);
        self.value(&key(phase, "page_tables_mib"), memory.page_tables);
    }

    /// What the workload holds now, without noting it.
    pub(crate) fn holds(&self, pid: u32) -> Memory {
        Memory::read(self.group.as_ref(), pid)
    }

    /// Processes of the workload: those in its cgroup, or this one where there is no group.
    pub(crate) fn pids(&self, pid: u32) -> Vec<u32> {
        let pids = self.group.as_ref().map(Group::pids).unwrap_or_default();
        if pids.is_empty() { vec![pid] } else { pids }
    }

    /// Ends, when dropped, what is left in the workload's cgroup by then.
    pub(crate) fn leftovers(&self) -> Leftovers {
        Leftovers(self.group.as_ref().map(Group::procs))
    }

    /// Takes the limit of memory away, for what comes after a measurement.
    pub(crate) fn lift_limit(&self) -> anyhow::Result<()> {
        let lifted = self.group.as_ref().map_or(Ok(()), Group::unlimit);
        lifted.context("cannot lift the limit of memory")
    }

    /// How many processes of the workload the kernel has killed for want of memory.
    pub(crate) fn oom_kills(&self) -> u64 {
        self.group.as_ref().and_then(Group::oom_kills).unwrap_or(0)
    }

    /// What is charged to the workload's cgroup, MiB: one small file, for those who look often.
    pub(crate) fn charged(&self) -> Option<f64> {
        Some(self.group.as_ref()?.usage()?.0 as f64 / MIB)
    }

    /// Watches memory for so long, and notes it over time. Never shorter because it seems to stand
    /// still: all variants are to be measured equally long after what was done to them, and a
    /// manager on a busy machine begins late (Redis stood at 481 MiB for 15 s before it had).
    pub(crate) fn watch(&mut self, phase: &str, pid: u32, time: Duration) -> anyhow::Result<()> {
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
            ("rss_mib", column(&|memory| Some(memory.rss))),
            ("cgroup_mib", column(&|memory| memory.group)),
            ("huge_mib", column(&|memory| Some(memory.huge))),
        ];
        for (name, points) in columns.into_iter().filter(|(_, points)| !points.is_empty()) {
            self.series(&key(phase, name), points);
        }
        Ok(())
    }

    /// Notes the CPU time of a process since `before`, as [`cpu_s`] gives it.
    pub(crate) fn cpu_since(&mut self, phase: &str, pid: u32, before: Option<(f64, f64)>) {
        if let Some((before, now)) = before.zip(cpu_s(pid)) {
            self.value(&key(phase, "user_cpu_s"), now.0 - before.0);
            self.value(&key(phase, "kernel_cpu_s"), now.1 - before.1);
        }
    }

    /// Asks a program to end.
    pub(crate) fn end(&self, mut program: Program) -> anyhow::Result<()> {
        program.end(Duration::from_secs(20))
    }
}

/// Whether this machine can swap anything out.
fn has_swap() -> bool {
    let text = Root::live().read_text("proc/meminfo").unwrap_or_default();
    let total = hugewise_core::parse::meminfo::parse(&text).value.swap_total_bytes;
    total.is_some_and(|bytes| bytes > 0)
}

/// `PHASE.NAME`, or the name alone.
pub(crate) fn key(phase: &str, name: &str) -> String {
    if phase.is_empty() { name.into() } else { format!("{phase}.{name}") }
}
