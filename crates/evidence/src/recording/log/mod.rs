//! Logs of programs that have no reader of their own: what repeats in them, and what stands out.
//!
//! Lines that no format claims and that have a time, a level or a program with its process id are a
//! log once there are some. Their messages are sorted by [shape](token), shapes by
//! [template](templates). It gives observations, and no causes.

mod clock;
pub(super) mod level;
mod line;
mod lines;
mod observe;
mod summary;
mod templates;
mod timeline;
mod token;
mod trouble;

use std::collections::BTreeMap;

use super::Builder;
use lines::LINES_MIN;
pub(super) use lines::Log;
pub use summary::{LogSummary, Observation, Observed, Topic};

/// Puts the log that an input was into the recording, or the lines that were none.
pub(super) fn end(log: &Log, out: &mut Builder) {
    if log.held.len() < LINES_MIN {
        for (number, line) in &log.held {
            out.unrecognised_late(*number, line);
        }
        return;
    }
    if let Some(source) = out.begin_log(log.first_line) {
        out.put_log(observe::summary(log, source));
    }
}

/// The number of the template of each line of a text that is a log; `None` for lines that are none.
pub fn sorted_by_template(text: &str) -> Vec<Option<usize>> {
    let mut log = Log::default();
    let mut places = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let before = log.lines;
        let taken = log.take(number + 1, line) && log.lines > before;
        places.push(log.latest.filter(|_| taken));
    }
    let templates = observe::templates(&log);
    let mut numbers = BTreeMap::new();
    let mut number = |place: usize| {
        let next = numbers.len();
        templates.get(place).map(|template| *numbers.entry(template).or_insert(next))
    };
    places.into_iter().map(|place| place.and_then(&mut number)).collect()
}

#[cfg(test)]
mod tests;
