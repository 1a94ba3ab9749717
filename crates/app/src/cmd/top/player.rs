//! Goes back in what was recorded, in a thread of its own.

use super::diagnosis;
use super::news::News;
use crate::cmd::recorded::{clock, parse, shown_at};
use crate::history::{History, SampleRef};
use crate::render::view::top::values::{MapPane, PastAt, Report, Shown};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time between samples while it plays.
const FRAME: Duration = Duration::from_millis(200);
/// How much of the history before a moment is diagnosed.
const WINDOW_MS: i64 = 5 * 60_000;

/// A moment to the minute.
fn minute(moment: Option<&SampleRef>) -> String {
    moment.and_then(|at| clock(at.at_ms).get(..16).map(str::to_owned)).unwrap_or_default()
}

/// Where to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Go {
    /// So many samples.
    Samples(i64),
    /// So many seconds.
    Seconds(i64),
    /// To a time, as a user names it.
    To(String),
    /// Plays, or stands still again.
    Play,
    /// Diagnoses what came before.
    Diagnose,
}

/// Where we are.
pub(super) struct Player {
    past: History,
    at: usize,
    playing: bool,
    problem: Option<String>,
    /// What is shown where a moment is damaged.
    shown: Option<Shown>,
}

impl Player {
    pub(super) fn new(past: History, at: usize) -> Self {
        let problem = past.problems.first().cloned();
        Self { past, at, playing: false, problem, shown: None }
    }

    /// Tells moments until nobody listens.
    pub(super) fn run(mut self, orders: &Receiver<Go>, news: &Sender<News>) {
        loop {
            let shown = self.show();
            if shown.is_some_and(|shown| news.send(News::Shown(Box::new(shown))).is_err()) {
                return;
            }
            let order = match self.playing {
                true => orders.recv_timeout(FRAME),
                false => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Ok(Go::Diagnose) => {
                    let report = self.diagnose();
                    if news.send(News::Report(report)).is_err() {
                        return;
                    }
                }
                Ok(go) => self.go(&go),
                Err(RecvTimeoutError::Timeout) => self.play(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn go(&mut self, go: &Go) {
        self.problem = None;
        let last = self.past.moments().len().saturating_sub(1);
        match go {
            Go::Samples(by) => {
                let by = isize::try_from(*by).unwrap_or(0);
                self.at = self.at.saturating_add_signed(by).min(last);
            }
            Go::Seconds(by) => {
                let now = self.past.moments().get(self.at).map_or(0, |moment| moment.at_ms);
                let at = self.past.at(now.saturating_add(by.saturating_mul(1000)));
                // Across a gap it is one sample at least.
                self.at = match by.signum() {
                    1 if at <= self.at => (self.at + 1).min(last),
                    -1 if at >= self.at => self.at.saturating_sub(1),
                    _ => at,
                };
            }
            Go::To(text) => match parse(&self.past, "", text) {
                Ok(at_ms) => self.at = self.past.at(at_ms),
                Err(error) => self.problem = Some(format!("{error:#}").trim_start().to_owned()),
            },
            Go::Play => self.playing = !self.playing,
            Go::Diagnose => {}
        }
    }

    fn play(&mut self) {
        let last = self.past.moments().len().saturating_sub(1);
        self.at = (self.at + 1).min(last);
        self.playing &= self.at < last;
    }

    fn show(&mut self) -> Option<Shown> {
        match shown_at(&mut self.past, self.at) {
            Ok(shown) => self.shown = Some(shown),
            Err(error) => self.problem = Some(format!("{error:#}")),
        }
        let moments = self.past.moments();
        let past = PastAt {
            number: self.at + 1,
            count: moments.len(),
            first: minute(moments.first()),
            last: minute(moments.last()),
            playing: self.playing,
            problem: self.problem.clone(),
        };
        let why = "A recorded sample has no page tables: maps are of running programs.".to_owned();
        let shown = self.shown.clone()?;
        Some(Shown { past: Some(past), map: MapPane::Refused(why), ..shown })
    }

    fn diagnose(&mut self) -> Report {
        let Some(moment) = self.past.moments().get(self.at).copied() else { return Report::None };
        let window = moment.at_ms.saturating_sub(WINDOW_MS)..=moment.at_ms;
        match crate::cmd::diagnose::of_past(&mut self.past, window) {
            Ok(recording) => diagnosis::of(&recording, clock(moment.at_ms)),
            Err(error) => Report::Failed(format!("{error:#}")),
        }
    }
}
