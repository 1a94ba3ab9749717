//! The manager as `try` runs it: the same program, on one process, changing no setting.

use super::{GivenBack, Promotion, Sample, Tail};
use crate::child::this_program;
use crate::session::{BEAT, Session};
use anyhow::{Context, bail};
use hugewise_core::reason::Limit;
use hugewise_core::stats::Histogram;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long it may promote: by default 20 regions a second, 205 in all, where nothing slows it.
pub(crate) const LIMIT: Duration = Duration::from_secs(25);
/// How long it may run while memory is freed: longer than anybody waits for it.
const GIVE_BACK_LIMIT: Duration = Duration::from_secs(60);
/// How much longer it may take to end.
const GRACE: Duration = Duration::from_secs(10);

/// What a manager is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// To promote, and to end when nothing is left.
    Promote,
    /// To take waste back until it is stopped.
    GiveBack,
}

/// A running manager; killed on drop.
#[derive(Debug)]
pub(crate) struct Manager {
    child: Child,
    begin: Instant,
    limit: Duration,
    journal: PathBuf,
    complaints: PathBuf,
}

impl Manager {
    /// Starts it on one process.
    pub(crate) fn start(session: &Session, pid: u32, task: Task) -> anyhow::Result<Self> {
        let (name, limit) = match task {
            Task::Promote => ("promote", LIMIT),
            Task::GiveBack => ("give-back", GIVE_BACK_LIMIT),
        };
        let base = session.directory().join(format!("{name}-{pid}"));
        std::fs::create_dir(&base)?;
        let (journal, complaints) = (base.join("journal.jsonl"), base.join("stderr"));
        let mut command = this_program()?;
        command.args(["manage", "--mode", "ingens", "--keep-settings"]);
        if task == Task::Promote {
            command.arg("--once");
        }
        command.arg("--for").arg(format!("{}s", limit.as_secs()));
        command.arg("--pid").arg(pid.to_string());
        command.arg("--journal").arg(&journal);
        command.arg("--state-dir").arg(base.join("state"));
        command.arg("--run-dir").arg(base.join("run"));
        // A file and no pipe: nobody has to read it while the manager runs.
        command.stderr(std::fs::File::create(&complaints)?);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().context("cannot start 'hugewise manage'")?;
        Ok(Self { child, begin: Instant::now(), limit, journal, complaints })
    }

    /// Seconds since it was started.
    pub(crate) fn age_s(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Whether it has ended; an error when it failed, with what it said about that.
    pub(crate) fn ended(&mut self) -> anyhow::Result<bool> {
        if let Some(status) = self.child.try_wait()? {
            return self.judge(status).map(|()| true);
        }
        if self.begin.elapsed() > self.limit + GRACE {
            bail!("'hugewise manage' does not end{}", self.said());
        }
        Ok(false)
    }

    /// Ends it and waits for that.
    pub(crate) fn stop(&mut self, session: &Session) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("the manager has no pid")?, Signal::TERM)?;
        self.limit = self.begin.elapsed();
        while !self.ended()? {
            session.sleep(BEAT)?;
        }
        Ok(())
    }

    fn judge(&self, status: ExitStatus) -> anyhow::Result<()> {
        // 5 is "partial": it worked with what this kernel offers, and says what is missing.
        let fine = status.success() || status.code() == Some(i32::from(crate::exit::PARTIAL));
        if fine { Ok(()) } else { bail!("'hugewise manage' ended with {status}{}", self.said()) }
    }

    fn said(&self) -> String {
        let text = std::fs::read_to_string(&self.complaints).unwrap_or_default();
        let text = text.trim();
        if text.is_empty() { String::new() } else { format!("; it said:\n  {text}") }
    }

    /// What it did, once it has ended.
    pub(crate) fn report(&self, samples: Vec<Sample>, tail: Tail) -> anyhow::Result<Promotion> {
        let seconds = self.age_s();
        let journal = read(&self.journal)?;
        let tail = Some(tail);
        Ok(Promotion {
            seconds,
            promoted: journal.calls.count(),
            end: journal.end,
            limit: journal.limit,
            cpu_s: journal.cpu_s,
            calls: journal.calls,
            samples,
            tail,
        })
    }

    /// What it gave back, once it has ended.
    pub(crate) fn given_back(&self, seconds: f64, settled: bool) -> anyhow::Result<GivenBack> {
        let Seen { demoted, demote_cpu_s: cpu_s, .. } = read(&self.journal)?;
        Ok(GivenBack { seconds, settled, demoted, cpu_s })
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `try` wants to know from a journal.
#[derive(Debug, Default)]
struct Seen {
    calls: Histogram,
    cpu_s: Option<f64>,
    end: Option<String>,
    limit: Option<Limit>,
    demoted: u64,
    demote_cpu_s: Option<f64>,
}

fn read(journal: &Path) -> anyhow::Result<Seen> {
    let text = std::fs::read_to_string(journal);
    let text = text.with_context(|| format!("no journal at {}", journal.display()))?;
    Ok(summary(&text))
}

/// Lines that make no sense are passed over: the journal is a log, not a contract with `try`.
fn summary(text: &str) -> Seen {
    let mut seen = Seen::default();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        match line["record"].as_str() {
            Some("action") if line["result"] == "promoted" => {
                seen.calls.record(line["call_ns"].as_u64().unwrap_or(0));
                if let Some(cpu) = line["cpu_ns"].as_u64() {
                    *seen.cpu_s.get_or_insert(0.0) += cpu as f64 / 1e9;
                }
            }
            Some("action") if line["result"] == "demoted" => {
                seen.demoted += 1;
                if let Some(cpu) = line["cpu_ns"].as_u64() {
                    *seen.demote_cpu_s.get_or_insert(0.0) += cpu as f64 / 1e9;
                }
            }
            Some("skips") => {
                seen.limit = Limit::deserialize(&line["limit"]).ok().or(seen.limit);
            }
            Some("stop") => seen.end = line["why"].as_str().map(str::to_owned),
            _ => {}
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_summed_up() {
        let text = concat!(
            r#"{"record":"start","mode":"ingens"}"#,
            "\n",
            r#"{"record":"action","result":"promoted","call_ns":700000,"cpu_ns":900000}"#,
            "\n",
            r#"{"record":"action","result":"failed","class":"transient","call_ns":1,"cpu_ns":1}"#,
            "\nnot json\n",
            r#"{"record":"action","result":"demoted","freed_pages":300,"cpu_ns":500000}"#,
            "\n",
            r#"{"record":"skips","limit":"lock_share"}"#,
            "\n",
            r#"{"record":"skips","limit":null}"#,
            "\n",
            r#"{"record":"stop","why":"nothing left","totals":{}}"#,
            "\n",
        );
        let seen = summary(text);
        assert_eq!((seen.calls.count(), seen.calls.max()), (1, Some(700_000)));
        assert_eq!(seen.end.as_deref(), Some("nothing left"));
        assert_eq!(seen.limit, Some(Limit::LockShare));
        assert_eq!(seen.demoted, 1);
        assert!(seen.demote_cpu_s.is_some_and(|s| (s - 0.0005).abs() < 1e-9));
        assert!(seen.cpu_s.is_some_and(|s| (s - 0.0009).abs() < 1e-9));
    }
}
