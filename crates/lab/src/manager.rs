//! A manager beside a workload, as a variant asks for it.

use crate::program::{MIB, Memory, Program, cpu_s};
use crate::program_output;
use anyhow::{Context, bail};
use hugewise_base::stats::Histogram;
use hugewise_base::units::Ns;
use hugewise_experiment::spec::Manage;
use hugewise_manager::decision::Outcome;
use hugewise_manager::reason::Limit;
use hugewise_manager::record::{self, Record};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to put its settings back and end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Where it answers questions, below its directory, as soon as its settings are made.
const SOCKET: &str = "control.sock";

/// The processes that a manager manages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Managed<'a> {
    /// These processes, whose end it notices.
    Pids(&'a [u32]),
    /// Whatever is in this cgroup.
    Group(&'a str),
}

/// A running manager. It is ended properly on drop, so that its settings go back.
#[derive(Debug)]
pub struct ManagerProcess {
    program: Program,
    directory: PathBuf,
    began: Instant,
    /// Whether it continues when its processes have ended.
    stays: bool,
}

impl ManagerProcess {
    /// Starts it. `command` is this program, which SIGTERM ends with its parent;
    /// its files go into `directory`. Its settings are kept in `state_dir`, where the next start of
    /// an experiment finds them if this one is killed.
    pub(super) fn start(
        mut command: Command,
        manage: &Manage,
        whom: Managed<'_>,
        directory: &Path,
        state_dir: &Path,
    ) -> anyhow::Result<Self> {
        // Programs of others pass through the directory above.
        DirBuilder::new().mode(0o700).create(directory)?;
        command.args(["manage", "--in-experiment", "--mode", manage.mode.key()]);
        let mut config = String::new();
        match whom {
            Managed::Pids(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                command.arg("--pid").arg(pids.join(","));
            }
            Managed::Group(path) => {
                command.args(["--set", "select.default=exclude"]);
                let rule = BTreeMap::from([("action", "manage"), ("cgroup", path)]);
                config += &toml::to_string(&BTreeMap::from([("rule", [rule])]))?;
            }
        }
        command.arg("--journal").arg(directory.join("journal.jsonl"));
        command.arg("--state-dir").arg(state_dir);
        command.arg("--run-dir").arg(directory);
        if manage.keep_settings {
            command.arg("--keep-settings");
        }
        if !manage.hints.is_empty() {
            config += &toml::to_string(&BTreeMap::from([("hint", &manage.hints)]))?;
        }
        if !config.is_empty() {
            let path = directory.join("hugewise.toml");
            std::fs::write(&path, config)?;
            command.arg("--config").arg(path);
        }
        for (key, value) in &manage.set {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        // A file and no pipe: nobody has to read it while the manager runs.
        command.stderr(File::create(directory.join("stderr"))?);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let program = Program::start(&mut command)?;
        let stays = matches!(whom, Managed::Group(_));
        Ok(Self { program, directory: directory.to_owned(), began: Instant::now(), stays })
    }

    /// Whether it has begun to work, and has therefore made its settings; an error when it has
    /// ended.
    pub(super) fn stands(&mut self) -> anyhow::Result<bool> {
        self.check()?;
        Ok(self.directory.join(SOCKET).exists())
    }

    /// Whether it continues when its processes have ended.
    pub(super) const fn stays(&self) -> bool {
        self.stays
    }

    /// An error when it has ended by itself, with what it said.
    pub fn check(&mut self) -> anyhow::Result<()> {
        let Some(status) = self.program.0.try_wait()? else { return Ok(()) };
        bail!("'hugewise manage' ended by itself ({status}): {}", self.said())
    }

    fn said(&self) -> String {
        program_output::end(&self.directory.join("stderr")).trim().to_owned()
    }

    /// Whether it has ended as it should, as it does when its processes are gone; an error when it
    /// has ended in another way.
    pub fn has_ended_well(&mut self) -> anyhow::Result<bool> {
        // Asked once: between two questions it may end.
        match self.program.0.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(_) => self.check().map(|()| true),
        }
    }

    /// CPU time so far, seconds.
    pub fn cpu_s(&self) -> Option<f64> {
        cpu_s(self.program.pid()).map(|(user, kernel)| user + kernel)
    }

    /// Its resident memory, MiB.
    pub fn rss_mib(&self) -> Option<f64> {
        Memory::read(None, self.program.pid()).rss
    }

    /// Ends it; what it used and did goes into `values`, and the latter is returned.
    pub fn stop(mut self, values: &mut BTreeMap<String, f64>) -> anyhow::Result<Actions> {
        self.check()?;
        let seconds = self.began.elapsed().as_secs_f64();
        let cpu = self.cpu_s();
        values.extend(cpu.map(|cpu| ("manager_cpu_s".into(), cpu)));
        values.extend(cpu.map(|cpu| ("manager_cpu_percent".into(), 100.0 * cpu / seconds)));
        values.extend(self.rss_mib().map(|mib| ("manager_rss_mib".into(), mib)));
        let status = self.program.end_in_time(PATIENCE)?;
        if !status.is_some_and(|status| status.success()) {
            let how = status.map_or("it had to be killed".into(), |status| status.to_string());
            bail!("'hugewise manage' did not put its settings back: {how}: {}", self.said());
        }
        self.note_actions(values)
    }

    /// What an ended manager did, from its journal, goes into `values`, and is returned.
    pub fn note_actions(&self, values: &mut BTreeMap<String, f64>) -> anyhow::Result<Actions> {
        // A long journal was moved aside once.
        let old = self.directory.join("journal.jsonl.1");
        let mut text = std::fs::read_to_string(old).unwrap_or_default();
        let new = self.directory.join("journal.jsonl");
        text += &std::fs::read_to_string(&new).context("the manager left no journal")?;
        let done = Actions::of(record::read(&text));
        values.extend(done.values());
        Ok(done)
    }
}

impl Drop for ManagerProcess {
    fn drop(&mut self) {
        // One that had to be killed leaves its settings to `Stage::tidy`.
        let _ = self.program.end(PATIENCE);
    }
}

/// What a journal says was done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Actions {
    /// Calls that promoted a region, nanoseconds.
    pub promoted: Histogram,
    /// Calls that split a huge page, nanoseconds.
    pub demoted: Histogram,
    /// Calls that failed, nanoseconds.
    pub failed: Histogram,
    /// The manager's own CPU time for the former two.
    pub cpu: [Ns; 2],
    /// Base pages that splits gave back.
    pub freed_pages: u64,
    /// What held the rate of promotions down last.
    pub limit: Option<Limit>,
}

impl Actions {
    /// Summed up over the records of a journal.
    fn of(records: impl Iterator<Item = Record>) -> Self {
        let mut done = Self::default();
        for record in records {
            match record {
                Record::Action { outcome, .. } => done.add(&outcome),
                Record::Skips { limit, .. } => done.limit = limit.or(done.limit),
                _ => {}
            }
        }
        done
    }

    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Promoted { call, cpu, .. } => {
                self.promoted.record(call.took.0);
                self.cpu[0] += *cpu;
            }
            Outcome::Demoted { freed, call, cpu } => {
                self.demoted.record(call.took.0);
                self.cpu[1] += *cpu;
                self.freed_pages += u64::from(*freed);
            }
            Outcome::Failed { call, .. } => self.failed.record(call.took.0),
            Outcome::Skipped { .. } | Outcome::Withheld { .. } => {}
        }
    }

    /// As metrics.
    fn values(&self) -> BTreeMap<String, f64> {
        let mut calls = Histogram::default();
        for part in [&self.promoted, &self.demoted, &self.failed] {
            calls.merge(part);
        }
        let page = rustix::param::page_size() as f64;
        let sums = [
            ("promoted", self.promoted.count() as f64),
            ("demoted", self.demoted.count() as f64),
            ("failed", self.failed.count() as f64),
            ("freed_mib", self.freed_pages as f64 * page / MIB),
        ];
        let times = [("call_p50_us", 0.5), ("call_p99_us", 0.99)];
        let times = times.map(|(name, q)| Some((name, calls.quantile(q)? as f64 / 1e3)));
        let all = sums.into_iter().chain(times.into_iter().flatten());
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_manager::decision::FailureClass;
    use hugewise_manager::reason::SkipReason;

    #[test]
    fn actions_are_summed_up() {
        let (call, cpu) = (Ns(9_000).into(), Ns(20_000));
        let mut done = Actions::default();
        done.add(&Outcome::Promoted { populated: 512, warm: None, call, cpu });
        done.add(&Outcome::Demoted { freed: 256, call, cpu: Ns(5_000) });
        let (class, reason) = (FailureClass::Transient, SkipReason::RetryLater);
        done.add(&Outcome::Failed { class, reason, errno: Some(11), warm: None, call, cpu });
        done.add(&Outcome::Withheld { populated: 512 });
        assert_eq!(done.cpu, [Ns(20_000), Ns(5_000)]);
        let done = done.values();
        assert_eq!((done["promoted"], done["demoted"], done["failed"]), (1.0, 1.0, 1.0));
        assert!((done["freed_mib"] - 1.0).abs() < 1e-9);
        // A histogram keeps values to a few percent.
        assert!((done["call_p50_us"] - 9.0).abs() < 0.5, "{}", done["call_p50_us"]);
        assert!(!Actions::default().values().contains_key("call_p50_us"));
    }
}
