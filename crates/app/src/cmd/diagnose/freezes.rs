//! `hugewise diagnose --freezes`: watches this machine, and reports each freeze with who caused it.
//!
//! Counters that cost little are read every few seconds, whole samples now and then, and those of
//! the last seconds are kept in memory. After a freeze a whole sample is taken each second for a
//! while. Then all of them are written to a file.

use crate::cli::duration;
use crate::cli::{DiagnoseArgs, Global};
use crate::exit;
use crate::history::Ring;
use crate::output::{self, Output, paint};
use crate::render::view::freeze::{self, FreezeReport, Watched};
use crate::say::{Progress, note};
use crate::stop::Stop;
use hugewise_base::count::counted;
use hugewise_base::units::Ns;
use hugewise_collect::capture::{Options, Sampler};
use hugewise_collect::freeze::{Recorder, now};
use hugewise_evidence::freeze::{Freeze, What, explain};
use hugewise_linux::root::Root;
use hugewise_linux::{cpu, save};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

/// The shortest freeze that is reported, unless another one is asked for.
const LONGER_THAN: &str = "300ms";

/// Time between looks while nothing happens, each with the counters that cost little.
const LOOK: Duration = Duration::from_secs(5);
/// Time between whole samples during and after a freeze.
const SECOND: Duration = Duration::from_secs(1);
/// What came before a freeze and is kept, ...
const BEFORE: Duration = Duration::from_secs(25);
/// ... and what comes after.
const AFTER: Duration = Duration::from_secs(4);
/// Time between whole samples while nothing freezes, at least, and the share of a core that they
/// may take.
const WHOLE: Duration = Duration::from_secs(60);
const WHOLE_SHARE: f64 = 0.0005;
/// Most captures of one start, ...
const CAPTURES_MAX: usize = 50;
/// ... and of these for stopped programs alone: any user can stop programs of their own all day.
const CAPTURES_OF_STOPS_MAX: usize = 10;
/// Most stopped programs that are told at a time; the rest is counted.
const STOPS_TOLD_MAX: usize = 10;
/// The shortest freeze that can be asked for: an idle machine's timers are 1 ms late at most, a
/// busy one's threads wait some milliseconds for each other.
const LEAST: Ns = Ns::ms(20);

/// Runs until Ctrl-C, or for `length`.
pub(super) fn run(
    global: &Global,
    args: &DiagnoseArgs,
    length: Option<Duration>,
) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let usage = |text: String| exit::coded(exit::USAGE, text);
    if !root.is_live() {
        return Err(usage("a copy of /proc does not freeze: leave '--root' out".to_owned()));
    }
    let given = args.longer_than.as_deref().unwrap_or(LONGER_THAN);
    let bound = bound(given)?;
    if bound < LEAST {
        let text = format!("'--longer-than {given}': the shortest is {:.0}ms", LEAST.as_ms());
        return Err(usage(text));
    }
    let keep = args.keep.clone().unwrap_or_else(|| PathBuf::from("hugewise-freezes"));
    save::new_directory(&keep, 0o700).map_err(output::refused)?;
    let recorder = Recorder::start(&root, bound).map_err(anyhow::Error::msg)?;
    let stopped = Stop::on_signals()?.then(recorder.waker())?;
    let sampler = Sampler::new(&root, Options::default());
    let mut watcher = Watcher::new(global, keep, sampler, recorder, bound);
    watcher.greet();
    let began = Instant::now();
    let end = length.map(|length| began + length);
    while watcher.look()? {
        let now = Instant::now();
        if end.is_some_and(|end| now >= end) || stopped.load(Ordering::Relaxed) {
            break;
        }
        let left = end.map_or(LOOK, |end| end.saturating_duration_since(now));
        watcher.recorder.wait(left.min(watcher.pause()));
    }
    watcher.finish()
}

/// A bound, which may be less than a second.
fn bound(text: &str) -> anyhow::Result<Ns> {
    let Some(number) = text.strip_suffix("ms") else { return duration(text) };
    let ms: u64 = number.trim_end().parse().map_err(|_| {
        let text = format!("'{text}' is not a length of time: write one such as 300ms or 2s");
        exit::coded(exit::USAGE, text)
    })?;
    Ok(Ns(Ns::ms(1).0.saturating_mul(ms)))
}

/// Freezes that are looked into.
#[derive(Debug)]
struct Event {
    freezes: Vec<Freeze>,
    until: Instant,
}

struct Watcher<'a> {
    global: &'a Global,
    keep: PathBuf,
    sampler: Sampler,
    recorder: Recorder,
    bound: Ns,
    ring: Ring,
    /// When the last sample was taken, and the last whole one with what it cost.
    sampled: Option<Instant>,
    whole: Option<(Instant, Duration)>,
    event: Option<Event>,
    began: Instant,
    cpu_ns: u64,
    freezes: usize,
    captures: usize,
    captures_of_stops: usize,
    progress: Progress,
    /// Nobody reads standard output any more.
    closed: bool,
}

impl<'a> Watcher<'a> {
    fn new(
        global: &'a Global,
        keep: PathBuf,
        sampler: Sampler,
        recorder: Recorder,
        bound: Ns,
    ) -> Self {
        Self {
            global,
            keep,
            sampler,
            recorder,
            bound,
            ring: Ring::new(BEFORE),
            sampled: None,
            whole: None,
            event: None,
            began: Instant::now(),
            // Without the start, which reads the kernel's list of functions once.
            cpu_ns: cpu::process_cpu_time_ns(),
            freezes: 0,
            captures: 0,
            captures_of_stops: 0,
            progress: Progress::new(!global.json),
            closed: false,
        }
    }

    /// Says what is watched, and what is not.
    fn greet(&self) {
        let cpus = self.recorder.cpus();
        for missing in self.recorder.missing() {
            note(&format!("not watched: {missing}"));
        }
        if !self.global.json {
            note(&format!(
                "watching {} for freezes of {:.0} ms and more; captures go to '{}'",
                counted(cpus.len() as u64, "CPU", "CPUs"),
                self.bound.as_ms(),
                self.keep.display()
            ));
        }
    }

    /// Takes what came, with all that follows from it; `false` when nobody listens any more.
    fn look(&mut self) -> anyhow::Result<bool> {
        let found = self.recorder.look();
        let at = Instant::now();
        // Whoever runs in the middle of a freeze shows in what its CPU time grows by.
        self.sample(at, self.recorder.hurries() || !found.is_empty())?;
        self.add(found, at + AFTER);
        if self.event.as_ref().is_some_and(|event| at >= event.until) {
            self.conclude()?;
        }
        self.show();
        Ok(!self.closed)
    }

    /// Takes freezes into the event that goes on, or a new one.
    fn add(&mut self, found: Vec<Freeze>, until: Instant) {
        if !found.is_empty() {
            let fresh = || Event { freezes: Vec::new(), until };
            self.event.get_or_insert_with(fresh).freezes.extend(found);
        }
    }

    /// Until the next look, unless something happens.
    const fn pause(&self) -> Duration {
        if self.event.is_some() { SECOND } else { LOOK }
    }

    /// Takes the sample that is due. `close`: something happens just now.
    fn sample(&mut self, at: Instant, close: bool) -> anyhow::Result<()> {
        let close = close || self.event.is_some();
        let (fast, whole) = match (close, self.whole) {
            (true, _) => (SECOND, SECOND),
            (false, Some((_, cost))) => (LOOK, cost.div_f64(WHOLE_SHARE).max(WHOLE)),
            (false, None) => (LOOK, Duration::ZERO),
        };
        // A moment early is as good as a moment late.
        let due =
            |last: Instant, wait: Duration| at.saturating_duration_since(last) >= wait.mul_f64(0.8);
        if self.sampled.is_some_and(|last| !due(last, fast)) {
            return Ok(());
        }
        self.sampled = Some(at);
        if self.whole.is_some_and(|(last, _)| !due(last, whole)) {
            self.ring.push_text(at, self.sampler.fast());
            return Ok(());
        }
        let before = cpu::process_cpu_time_ns();
        let text = self.sampler.sample();
        self.ring.push(at, &text)?;
        let cost = cpu::process_cpu_time_ns().saturating_sub(before);
        self.whole = Some((at, Duration::from_nanos(cost)));
        Ok(())
    }

    /// Tells what froze, and keeps the samples around it.
    fn conclude(&mut self) -> anyhow::Result<()> {
        let Some(event) = self.event.take() else { return Ok(()) };
        let kept = self.kept(&event);
        if let Err(error) = &kept {
            note(&format!("not kept: {error:#}"));
        }
        let kept = kept.ok().flatten();
        self.progress.show("");
        let mut stops = 0;
        for freeze in event.freezes {
            self.freezes += 1;
            stops += usize::from(is_stop(&freeze));
            if is_stop(&freeze) && stops > STOPS_TOLD_MAX {
                continue;
            }
            let account = explain(&freeze, &self.recorder.facts(&freeze));
            let told = FreezeReport { at: began(&freeze), freeze, account, kept: kept.clone() };
            let text = match self.global.json {
                true => serde_json::to_string(&told.json())? + "\n",
                false => freeze::text(&told, paint(self.global)),
            };
            self.closed |= !output::now(&text)?;
        }
        if stops > STOPS_TOLD_MAX {
            let more = (stops - STOPS_TOLD_MAX) as u64;
            let more = counted(more, "more program was", "more programs were");
            note(&format!("{more} stopped at about that time, and not told one by one"));
        }
        Ok(())
    }

    /// Writes the samples down; `None` where there are enough captures.
    fn kept(&mut self, event: &Event) -> anyhow::Result<Option<PathBuf>> {
        let stops_only = event.freezes.iter().all(is_stop);
        let enough = self.captures >= CAPTURES_MAX
            || (stops_only && self.captures_of_stops >= CAPTURES_OF_STOPS_MAX);
        let Some(first) = event.freezes.first().filter(|_| !enough) else {
            return Ok(None);
        };
        self.captures += 1;
        self.captures_of_stops += usize::from(stops_only);
        self.ring.save(&self.keep, began(first), &self.captures.to_string()).map(Some)
    }

    /// The end: what goes on counts as it is.
    fn finish(mut self) -> anyhow::Result<Output> {
        let found = self.recorder.end();
        self.add(found, Instant::now());
        self.conclude()?;
        let elapsed = self.began.elapsed();
        let cpu_ns = cpu::process_cpu_time_ns().saturating_sub(self.cpu_ns);
        let watched = Watched {
            length: elapsed,
            freezes: self.freezes,
            own_cpu_percent: 100.0 * cpu_ns as f64 / elapsed.as_nanos().max(1) as f64,
            missing: self.recorder.missing().to_vec(),
        };
        let code = match self.freezes {
            0 if watched.missing.is_empty() => exit::OK,
            0 => exit::PARTIAL,
            _ => exit::WARNING,
        };
        self.progress.show("");
        match self.global.json {
            true => Output::json(&watched.json(), code),
            false => Ok(Output::text(watched.text(), code)),
        }
    }

    fn show(&self) {
        let minutes = self.began.elapsed().as_secs() / 60;
        let state = match &self.event {
            Some(_) => "taking a closer look".to_owned(),
            None => counted(self.freezes as u64, "freeze", "freezes"),
        };
        self.progress.show(&format!("{minutes} min: {state}"));
    }
}

/// Whether it is a stopped program, which anybody can have as often as they like.
const fn is_stop(freeze: &Freeze) -> bool {
    matches!(freeze.what, What::Stopped { .. })
}

/// When it began, by the clock on the wall.
fn began(freeze: &Freeze) -> SystemTime {
    SystemTime::now() - Duration::from_nanos(now().since(freeze.began).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_may_be_less_than_a_second() {
        assert_eq!(bound("300ms").ok(), Some(Ns::ms(300)));
        assert_eq!(bound("2s").ok(), Some(Ns::s(2)));
        for wrong in ["ms", "-3ms", "0.5s", "soon", "3"] {
            assert_eq!(exit::of_error(&bound(wrong).expect_err(wrong)), exit::USAGE, "{wrong}");
        }
    }
}
