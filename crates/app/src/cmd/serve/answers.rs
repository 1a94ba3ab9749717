//! What is answered: a sample of the machine that is a second old at most, a moment that was
//! recorded, a map, what the journal says, metrics.

use super::journal;
use crate::cli::ServeArgs;
use crate::cmd::programs::Teller;
use crate::cmd::snapshot::{Counters, Snapshot, shown};
use crate::cmd::{diagnose, map, metrics, recorded};
use crate::history::History;
use crate::journal::{JOURNAL, rfc3339};
use crate::render::exposition::{self, Form};
use crate::render::flame;
use crate::render::view::metrics::metrics;
use crate::render::view::status::choose::Choice;
use crate::render::view::status::values::Recorded;
use crate::render::view::status::{self, View};
use crate::render::view::{map as picture, top};
use hugewise_base::units::Ns;
use hugewise_evidence::diagnose::{Diagnosis, Thresholds, diagnose as ask};
use hugewise_evidence::recording::Recording;
use hugewise_linux::root::Root;
use hugewise_serve::{Kind, Question, Reply, Search, Verdict, Wanted};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A sample that is as old is not taken again: whoever asks once a second gets a new one each time.
const FRESH: Duration = Duration::from_millis(900);
/// Programs that are told at a time, those that come first; the rest is counted.
const PROGRAMS_MAX: usize = 100;
/// Moments of a history that are told, evenly spread where there are more.
const MOMENTS_MAX: usize = 2000;
/// How much of the history before a moment is diagnosed.
const WINDOW_MS: i64 = 5 * 60_000;

/// What knows all answers.
pub(super) struct Answers {
    root: Root,
    teller: Teller,
    host: String,
    top: usize,
    history: PathBuf,
    journal: PathBuf,
    began: Instant,
    before: Counters,
    /// The last sample, and when it was taken.
    last: (Instant, top::values::Shown),
}

/// Why there is no answer.
type Refused = (Verdict, String);

impl Answers {
    /// Takes a first sample.
    pub(super) fn new(root: &Root, args: &ServeArgs) -> Self {
        let mut teller = Teller::new(root, &args.daemon, &args.state_dir);
        let host = root.read_line("proc/sys/kernel/hostname").unwrap_or_default();
        let began = Instant::now();
        let (shown, counters) = sample(root, &mut teller, &host, began, None);
        Self {
            root: root.clone(),
            teller,
            host,
            top: args.top,
            history: args.history.clone(),
            journal: args.journal.clone().unwrap_or_else(|| args.state_dir.join(JOURNAL)),
            began,
            before: counters,
            last: (began, shown),
        }
    }

    /// What could not be seen, one sentence each.
    pub(super) fn missing(&self) -> &[String] {
        &self.last.1.view.missing
    }

    /// The answer to a question.
    pub(super) fn answer(&mut self, question: &Question) -> Reply {
        let answer = match question {
            Question::Status(wanted) => self.status(wanted),
            Question::Map { pid } => self.map(*pid),
            Question::History => self.moments(),
            Question::Findings { at_ms } => self.findings(*at_ms),
            Question::Flame { at_ms } => self.flame(*at_ms),
            Question::Journal(search) => self.journal(search),
            Question::Metrics { open } => return self.metrics(*open),
        };
        match answer {
            Ok(value) => Reply::json(value.to_string()),
            Err((verdict, why)) => Reply::none(verdict, &why),
        }
    }

    /// Takes another sample where the last one is too old.
    fn renew(&mut self) {
        if self.last.0.elapsed() < FRESH {
            return;
        }
        let at = Instant::now();
        let before = Some(&self.before);
        let (shown, counters) =
            sample(&self.root, &mut self.teller, &self.host, self.began, before);
        (self.last, self.before) = ((at, shown), counters);
    }

    fn status(&mut self, wanted: &Wanted) -> Result<Value, Refused> {
        let filters: Vec<String> = wanted.filter.iter().cloned().collect();
        let choice = Choice::parse(None, wanted.sort.as_deref(), &filters);
        // It speaks of options of the command line.
        let choice = choice.map_err(|why| (Verdict::Wrong, why.replace("--", "")))?;
        let mut shown = match wanted.at_ms {
            Some(at_ms) => self.recorded(at_ms)?,
            None => {
                self.renew();
                self.last.1.clone()
            }
        };
        choice.apply_or_largest_first(&mut shown.view.processes);
        shown.view.more = shown.view.processes.len().saturating_sub(PROGRAMS_MAX);
        shown.view.processes.truncate(PROGRAMS_MAX);
        let mut value = status::json(&shown.view);
        value["host"] = json!(shown.host);
        value["time"] = json!(shown.time);
        value["cpu"] = json!(shown.cpu.as_ref().map(split));
        value["cpus"] = json!(shown.cpus);
        Ok(value)
    }

    fn past(&self) -> Result<History, Refused> {
        History::open(&self.history).map_err(|error| (Verdict::Absent, format!("{error:#}")))
    }

    fn recorded(&self, at_ms: i64) -> Result<top::values::Shown, Refused> {
        let mut all = self.past()?;
        let at = all.at(at_ms);
        let shown = recorded::shown_at(&mut all, at);
        let mut shown = shown.map_err(|error| (Verdict::Absent, format!("{error:#}")))?;
        let recorded = Recorded { at: shown.time.clone(), host: shown.host.clone() };
        shown.view.recorded = Some(recorded);
        shown.view.missing.append(&mut all.problems);
        Ok(shown)
    }

    /// The times of the moments.
    fn moments(&self) -> Result<Value, Refused> {
        let all = self.past()?;
        let times: Vec<i64> = all.moments().iter().map(|moment| moment.at_ms).collect();
        let step = times.len().div_ceil(MOMENTS_MAX).max(1);
        // The last one is always there.
        let mut told: Vec<i64> = times.iter().rev().step_by(step).copied().collect();
        told.reverse();
        Ok(json!({ "moments": times.len(), "at_ms": told, "problems": all.problems }))
    }

    /// What was recorded before a moment, and what was wrong then.
    fn diagnosed(&self, at_ms: i64) -> Result<(Recording, Diagnosis), Refused> {
        let mut all = self.past()?;
        let window = at_ms.saturating_sub(WINDOW_MS)..=at_ms;
        let recording = diagnose::of_past(&mut all, window);
        let recording = recording.map_err(|error| (Verdict::Absent, format!("{error:#}")))?;
        let found = ask(&recording, &Thresholds::default());
        Ok((recording, found))
    }

    fn findings(&self, at_ms: i64) -> Result<Value, Refused> {
        let (_, found) = self.diagnosed(at_ms)?;
        diagnose::as_json(&found).map_err(|error| (Verdict::Unavailable, format!("{error:#}")))
    }

    fn flame(&self, at_ms: i64) -> Result<Value, Refused> {
        let (recording, found) = self.diagnosed(at_ms)?;
        let none = "What the CPUs ran was not recorded then, or hardly anything ran in the kernel: \
                    'hugewise record --stacks' records it.";
        let told = flame::json(&recording, &found);
        Ok(told.unwrap_or_else(|| json!({ "frames": [], "none": none })))
    }

    fn map(&self, pid: u32) -> Result<Value, Refused> {
        let map = map::look(&self.root, pid, false);
        let map = map.map_err(|error| (Verdict::Absent, format!("{error:#}")))?;
        Ok(picture::json(&map))
    }

    fn journal(&self, search: &Search) -> Result<Value, Refused> {
        let text = journal::tail(&self.journal).map_err(|error| {
            (Verdict::Absent, format!("There is no journal that can be read: {error:#}"))
        })?;
        let since = |at_ms| Duration::from_millis(u64::try_from(at_ms).unwrap_or(0));
        let until = search.at_ms.map(|at_ms| rfc3339(UNIX_EPOCH + since(at_ms)));
        Ok(journal::found(&text, search, until.as_deref()))
    }

    fn metrics(&mut self, open: bool) -> Reply {
        self.renew();
        let view: &View = &self.last.1.view;
        let (form, kind) = match open {
            true => (Form::OpenMetrics, Kind::OpenMetrics),
            false => (Form::Prometheus, Kind::Prometheus),
        };
        let (machine, manager) = (view.machine.clone(), view.manager.clone());
        let facts = metrics::with_files(&self.root, machine, manager, self.top);
        let body = exposition::text(&metrics(&facts), form);
        Reply { verdict: Verdict::Done, kind, body }
    }
}

/// What the CPUs did.
fn split(cpu: &top::values::CpuSplit) -> Value {
    json!({
        "user_percent": cpu.user,
        "system_percent": cpu.system,
        "interrupts_percent": cpu.interrupts,
        "iowait_percent": cpu.iowait,
        "steal_percent": cpu.steal,
        "idle_percent": cpu.idle,
    })
}

/// The machine and its programs as they are now.
fn sample(
    root: &Root,
    teller: &mut Teller,
    host: &str,
    began: Instant,
    before: Option<&Counters>,
) -> (top::values::Shown, Counters) {
    let told = teller.ask();
    let elapsed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let time = rfc3339(SystemTime::now());
    let host = host.to_owned();
    let moment = Snapshot { root, told, at: Ns(elapsed), base_page: None, host, time };
    shown(moment, before)
}
