//! A manager beside a workload, as a variant asks for it.

use super::program::{MIB, Memory, Program, cpu_s};
use super::run::Run;
use anyhow::{Context, bail};
use hugewise_core::lab::spec::Manage;
use hugewise_core::stats::Histogram;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long it may take to put its settings back and end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running manager. It is ended properly on drop, so that its settings go back.
#[derive(Debug)]
pub(crate) struct Manager {
    program: Program,
    directory: PathBuf,
    began: Instant,
}

impl Manager {
    /// Starts it on these processes. Its settings are kept in `state_dir`, where the next start of
    /// an experiment finds them if this one is killed.
    pub(super) fn start(
        run: &Run<'_>,
        manage: &Manage,
        pids: &[u32],
        state_dir: &Path,
    ) -> anyhow::Result<Self> {
        let directory = run.directory().join("manager");
        std::fs::create_dir_all(&directory)?;
        let mut command = run.own_program(true)?;
        command.args(["manage", "--in-experiment", "--mode", manage.mode.key()]);
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        command.arg("--pid").arg(pids.join(","));
        command.arg("--journal").arg(directory.join("journal.jsonl"));
        command.arg("--state-dir").arg(state_dir);
        command.arg("--run-dir").arg(&directory);
        if manage.keep_settings {
            command.arg("--keep-settings");
        }
        for (key, value) in &manage.set {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        // A file and no pipe: nobody has to read it while the manager runs.
        command.stderr(File::create(directory.join("stderr"))?);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let program = Program::start(&mut command)?;
        Ok(Self { program, directory, began: Instant::now() })
    }

    /// An error when it has ended by itself, with what it said.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        let Some(status) = self.program.0.try_wait()? else { return Ok(()) };
        bail!("'hugewise manage' ended by itself ({status}): {}", self.said())
    }

    fn said(&self) -> String {
        let said = std::fs::read_to_string(self.directory.join("stderr")).unwrap_or_default();
        said.trim().to_owned()
    }

    /// Whether it has ended as it should, as it does when its processes are gone; an error when it
    /// has ended in another way.
    pub(crate) fn has_ended_well(&mut self) -> anyhow::Result<bool> {
        // Asked once: between two questions it may end.
        match self.program.0.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(_) => self.check().map(|()| true),
        }
    }

    /// CPU time so far, seconds.
    pub(crate) fn cpu_s(&self) -> Option<f64> {
        cpu_s(self.program.pid()).map(|(user, kernel)| user + kernel)
    }

    /// Its resident memory, MiB.
    pub(crate) fn rss_mib(&self) -> f64 {
        Memory::read(None, self.program.pid()).rss
    }

    /// Ends it; what it used and did goes into `values`.
    pub(crate) fn stop(mut self, values: &mut BTreeMap<String, f64>) -> anyhow::Result<()> {
        self.check()?;
        let seconds = self.began.elapsed().as_secs_f64();
        let cpu = self.cpu_s();
        values.extend(cpu.map(|cpu| ("manager_cpu_s".into(), cpu)));
        values.extend(cpu.map(|cpu| ("manager_cpu_percent".into(), 100.0 * cpu / seconds)));
        values.insert("manager_rss_mib".into(), self.rss_mib());
        let status = self.program.end_in_time(PATIENCE)?;
        if !status.is_some_and(|status| status.success()) {
            let how = status.map_or("it had to be killed".into(), |status| status.to_string());
            bail!("'hugewise manage' did not put its settings back: {how}: {}", self.said());
        }
        self.note_deeds(values)
    }

    /// What an ended manager did, from its journal, goes into `values`.
    pub(crate) fn note_deeds(&self, values: &mut BTreeMap<String, f64>) -> anyhow::Result<()> {
        // A long journal was moved aside once.
        let old = self.directory.join("journal.jsonl.1");
        let mut text = std::fs::read_to_string(old).unwrap_or_default();
        let new = self.directory.join("journal.jsonl");
        text += &std::fs::read_to_string(&new).context("the manager left no journal")?;
        values.extend(deeds(&text));
        Ok(())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // One that had to be killed leaves its settings to `Stage::tidy`.
        let _ = self.program.end(PATIENCE);
    }
}

/// What a journal says was done. Lines that make no sense are passed over: it is a log.
fn deeds(journal: &str) -> BTreeMap<String, f64> {
    let names = ["promoted", "demoted", "failed", "freed_mib"];
    let mut done: BTreeMap<String, f64> = names.map(|name| (name.to_owned(), 0.0)).into();
    let mut calls = Histogram::default();
    let page = rustix::param::page_size() as f64;
    let mut add = |name: &str, by: f64| {
        done.entry(name.to_owned()).and_modify(|sum| *sum += by);
    };
    for line in journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if line["record"] == "action" {
            add(line["result"].as_str().unwrap_or(""), 1.0);
            add("freed_mib", line["freed_pages"].as_f64().unwrap_or(0.0) * page / MIB);
            line["call_ns"].as_u64().into_iter().for_each(|ns| calls.record(ns));
        }
    }
    for (name, q) in [("call_p50_us", 0.5), ("call_p99_us", 0.99)] {
        done.extend(calls.quantile(q).map(|ns| (name.to_owned(), ns as f64 / 1e3)));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_are_summed_up() {
        let text = concat!(
            r#"{"record":"action","result":"promoted","call_ns":9000}"#,
            "\nnot json\n",
            r#"{"record":"action","result":"demoted","freed_pages":256}"#,
            "\n",
            r#"{"record":"skips","result":"failed"}"#,
            "\n"
        );
        let done = deeds(text);
        assert_eq!((done["promoted"], done["demoted"], done["failed"]), (1.0, 1.0, 0.0));
        assert!((done["freed_mib"] - 1.0).abs() < 1e-9);
        // A histogram keeps values to a few percent.
        assert!((done["call_p50_us"] - 9.0).abs() < 0.5, "{}", done["call_p50_us"]);
        assert!(!deeds("").contains_key("call_p50_us"));
    }
}
