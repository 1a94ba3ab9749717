//! `hugewise diagnose --follow`: watches this machine, and takes a closer look by itself when its
//! CPU time in the kernel, in waiting, in interrupts or in the hypervisor draws attention.
//!
//! Every second it reads `/proc/stat`; every few seconds it takes a whole sample, and keeps those
//! of the last minutes in memory. After an alarm it takes one each second for a while. Then all of
//! them are diagnosed and written to a file.

use super::report;
use crate::cli::{DiagnoseArgs, Global};
use crate::exit;
use crate::history::Ring;
use crate::output::{self, Output, paint};
use crate::render::view::diagnosis::{self, WATCHED};
use crate::say::{Progress, note};
use crate::stop::Stop;
use hugewise_base::parse::proc_stat;
use hugewise_collect::capture::{Options, Sampler};
use hugewise_evidence::diagnose::{Diagnosis, Thresholds, diagnose};
use hugewise_evidence::recording::readers::capture::Capture;
use hugewise_evidence::recording::{Builder, Recording};
use hugewise_evidence::watch::{Alarm, Share, Watch};
use hugewise_linux::root::Root;
use hugewise_linux::{cpu, save};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How often `/proc/stat` is read.
const LOOK: Duration = Duration::from_secs(1);
/// What came before an alarm and is kept.
const BEFORE: Duration = Duration::from_secs(5 * 60);
/// For so long after an alarm there is a sample each second: a java heap's collection, a burst of
/// khugepaged and a batch of writes last less.
const AFTER: Duration = Duration::from_secs(20);
/// Time between samples while all is well, at least.
const CALM: Duration = Duration::from_secs(5);
/// CPU time that samples may take while all is well, and after an alarm: so much of a core.
const CALM_SHARE: f64 = 0.008;
const CLOSE_SHARE: f64 = 0.1;
/// Most captures of one start: a machine that is never well would fill its disk.
const CAPTURES_MAX: usize = 50;

/// Runs until Ctrl-C, or for `length`.
pub(super) fn run(
    global: &Global,
    args: &DiagnoseArgs,
    thresholds: Thresholds,
    length: Option<Duration>,
) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let keep = args.keep.clone().unwrap_or_else(|| PathBuf::from("hugewise-captures"));
    save::new_directory(&keep, 0o700).map_err(output::refused)?;
    let stop = Stop::on_signals()?;
    let mut follower = Follower::new(global, root, keep, thresholds);
    if !global.json {
        note(&format!(
            "watching this machine each second{}; captures go to '{}'",
            if length.is_some() { "" } else { ", until Ctrl-C" },
            follower.keep.display()
        ));
    }
    stop.repeat(LOOK, length, || follower.second())?;
    follower.conclude()?;
    Ok(Output::text(String::new(), follower.code))
}

/// An alarm that is looked into.
#[derive(Debug)]
struct Event {
    alarms: Vec<Alarm>,
    at: SystemTime,
    until: Instant,
}

struct Follower<'a> {
    global: &'a Global,
    root: Root,
    keep: PathBuf,
    thresholds: Thresholds,
    watch: Watch,
    sampler: Sampler,
    ring: Ring,
    /// When the last sample was taken, when the next is due, and what the last one cost.
    sampled: Instant,
    due: Instant,
    cost: Duration,
    event: Option<Event>,
    began: Instant,
    events: usize,
    code: u8,
    progress: Progress,
    /// Nobody reads standard output any more.
    closed: bool,
}

impl<'a> Follower<'a> {
    fn new(global: &'a Global, root: Root, keep: PathBuf, thresholds: Thresholds) -> Self {
        let now = Instant::now();
        Self {
            global,
            sampler: Sampler::new(&root, Options::default()),
            root,
            keep,
            watch: Watch::new(thresholds.clone()),
            thresholds,
            ring: Ring::new(BEFORE + AFTER),
            sampled: now,
            due: now,
            cost: Duration::ZERO,
            event: None,
            began: now,
            events: 0,
            code: exit::OK,
            progress: Progress::new(!global.json),
            closed: false,
        }
    }

    /// One look, with all that follows from it; `false` when nobody listens any more.
    fn second(&mut self) -> anyhow::Result<bool> {
        let now = Instant::now();
        self.look(now);
        if now >= self.due || self.event.is_some() && now + self.between() <= self.due {
            self.sample(now)?;
        }
        if self.event.as_ref().is_some_and(|event| now >= event.until) {
            self.conclude()?;
        }
        self.show();
        Ok(!self.closed)
    }

    fn look(&mut self, now: Instant) {
        let text = self.root.read_text("proc/stat").unwrap_or_default();
        let stat = proc_stat::parse(&text).value;
        let Some(times) = stat.all else { return };
        let passed = now.saturating_duration_since(self.began);
        let at = u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX);
        let alarm = self.watch.look(hugewise_base::units::Ns(at), times, stat.cpus.len());
        let Some(alarm) = alarm else { return };
        self.sampler.start_stacks(LOOK);
        let fresh = || Event { alarms: Vec::new(), at: SystemTime::now(), until: now + AFTER };
        self.event.get_or_insert_with(fresh).alarms.push(alarm);
    }

    /// Time between samples, by what one costs.
    fn between(&self) -> Duration {
        match self.event {
            Some(_) => self.cost.div_f64(CLOSE_SHARE).max(LOOK),
            None => self.cost.div_f64(CALM_SHARE).max(CALM),
        }
    }

    fn sample(&mut self, now: Instant) -> anyhow::Result<()> {
        let before = cpu::process_cpu_time_ns();
        let text = self.sampler.sample();
        self.ring.push(now, &text)?;
        self.cost = Duration::from_nanos(cpu::process_cpu_time_ns().saturating_sub(before));
        self.sampled = now;
        // A tick early is as good as a tick late.
        self.due = now + self.between() - LOOK / 2;
        Ok(())
    }

    /// Diagnoses what was seen around an alarm, and keeps it.
    fn conclude(&mut self) -> anyhow::Result<()> {
        let Some(event) = self.event.take() else { return Ok(()) };
        // Two samples at nearly the same time would give wild rates.
        let now = Instant::now();
        if now.saturating_duration_since(self.sampled) >= LOOK / 2 {
            self.sample(now)?;
        }
        self.sampler.stop_stacks();
        self.events += 1;
        let recording = self.recording()?;
        let found = diagnose(&recording, &self.thresholds);
        self.code = worse(self.code, report::code(&found, None, false));
        let kept = self.kept(&event);
        if let Err(error) = &kept {
            note(&format!("not kept: {error:#}"));
        }
        let kept = kept.ok().flatten();
        let text = match self.global.json {
            true => self.as_json(&event, &found, kept.as_deref())?,
            false => self.as_text(&event, &recording, &found, kept.as_deref()),
        };
        self.progress.show("");
        self.closed = !output::now(&text)?;
        self.ring.clear();
        Ok(())
    }

    fn recording(&self) -> anyhow::Result<Recording> {
        let (mut builder, mut capture) = (Builder::new(), Capture::new(WATCHED));
        self.ring.each(|text| {
            capture.take(text, &mut builder);
            Ok(())
        })?;
        capture.end(&mut builder);
        Ok(builder.finish())
    }

    /// Writes the samples down; `None` where there are enough captures.
    fn kept(&self, event: &Event) -> anyhow::Result<Option<PathBuf>> {
        if self.events > CAPTURES_MAX {
            return Ok(None);
        }
        let share = event.alarms.first().map_or("event", |alarm| alarm.share.key());
        let name = format!("{share}-{}", self.events);
        self.ring.save(&self.keep, event.at, &name).map(Some)
    }

    fn as_text(
        &self,
        event: &Event,
        recording: &Recording,
        found: &Diagnosis,
        kept: Option<&Path>,
    ) -> String {
        let at = crate::journal::rfc3339(event.at);
        let at = at.split('.').next().unwrap_or_default().replace('T', " ");
        let alarms: Vec<String> = event.alarms.iter().map(ToString::to_string).collect();
        let paint = paint(self.global);
        let head = paint.bold(&format!("{at} UTC  {}", alarms.join("; ")));
        let shown = diagnosis::render(recording, found, "", diagnosis::Detail::Short, paint);
        let kept = match kept {
            Some(path) => format!("Kept: {}", path.display()),
            None => format!("Not kept: there are {CAPTURES_MAX} captures of this start"),
        };
        format!("{head}\n{shown}{kept}\n\n")
    }

    fn as_json(
        &self,
        event: &Event,
        found: &Diagnosis,
        kept: Option<&Path>,
    ) -> anyhow::Result<String> {
        let value = json!({
            "schema": 1,
            "at": crate::journal::rfc3339(event.at),
            "alarms": event.alarms,
            "kept": kept.map(|path| path.display().to_string()),
            "diagnosis": report::as_json(found)?,
        });
        Ok(serde_json::to_string(&value)? + "\n")
    }

    fn show(&self) {
        let Some(shares) = self.watch.latest() else { return };
        let shares = Share::ALL.iter().zip(shares);
        let shares: Vec<String> =
            shares.map(|(share, value)| format!("{} {value:.0} %", share.key())).collect();
        let state = match &self.event {
            Some(_) => "taking a closer look".to_owned(),
            None => format!("{} so far", self.events),
        };
        let minutes = self.began.elapsed().as_secs() / 60;
        let shares = shares.join(", ");
        self.progress.show(&format!("{minutes} min: {shares}; events: {state}"));
    }
}

/// The graver of two exit codes of diagnoses.
fn worse(one: u8, other: u8) -> u8 {
    let grave = [exit::OK, exit::PARTIAL, exit::WARNING, exit::CRITICAL];
    let rank = |code: u8| grave.iter().position(|known| *known == code);
    if rank(other) > rank(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_finding_decides_how_it_ends() {
        assert_eq!(worse(exit::OK, exit::PARTIAL), exit::PARTIAL);
        assert_eq!(worse(exit::CRITICAL, exit::WARNING), exit::CRITICAL);
        assert_eq!(worse(exit::PARTIAL, exit::WARNING), exit::WARNING);
        assert_eq!(worse(exit::WARNING, exit::OK), exit::WARNING);
    }
}
