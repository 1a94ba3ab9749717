//! What `hugewise lab simulate` says: the columns of `docs/policies.md`, for one seed.

use crate::render::colour::Paint;
use crate::render::text::{left, right, trimmed};
use hugewise_manager::sim::contest::Course;
use serde::Serialize;
use serde_json::{Value, json};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// One scenario, and what came of it under each policy.
#[derive(Debug, Serialize)]
pub(crate) struct Contest {
    /// Its name.
    pub(crate) scenario: &'static str,
    /// A policy each.
    pub(crate) entries: Vec<Entry>,
}

/// What came of a policy; shares of the gain are those of what is attainable.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    policy: &'static str,
    knows: Option<&'static str>,
    seconds_to_90_percent: Option<f64>,
    gain_at_a_quarter_percent: f64,
    regions_at_75_percent: Option<f64>,
    gain_percent: f64,
    held_ratio: f64,
    promotions: u64,
    own_cpu_ns: u64,
}

impl Entry {
    /// The measures of a course.
    pub(crate) fn of(policy: &'static str, knows: Option<&'static str>, course: &Course) -> Self {
        Self {
            policy,
            knows,
            seconds_to_90_percent: course.seconds_until(0.9),
            gain_at_a_quarter_percent: 100.0 * course.gain_after(course.regions / 4),
            regions_at_75_percent: course.footprint_at(0.75).map(|share| 100.0 * share),
            gain_percent: 100.0 * course.gain(),
            held_ratio: course.held,
            promotions: course.promoted(),
            own_cpu_ns: course.cpu.0,
        }
    }

    fn cells(&self) -> [String; 7] {
        let until = |value: Option<f64>| {
            value.map_or_else(|| "never".to_owned(), |value| format!("{value:.0}"))
        };
        [
            until(self.seconds_to_90_percent),
            format!("{:.0}", self.gain_at_a_quarter_percent.max(0.0)),
            until(self.regions_at_75_percent),
            format!("{:.0}", self.gain_percent.max(0.0)),
            format!("{:.2}", self.held_ratio),
            self.promotions.to_string(),
            format!("{:.2}", self.own_cpu_ns as f64 / 1e9),
        ]
    }
}

/// Heads of the columns.
const HEADS: [&str; 7] = ["90% s", "1/4 %", "75% at", "gain %", "memory", "huge", "CPU s"];

/// What the heads mean.
const LEGEND: &str = "\
90% s   seconds until 90 % of the attainable gain is reached
1/4 %   gain when a quarter of all regions is huge
75% at  percent of all regions that is huge when 75 % of the gain is reached
gain %  gain after 120 s
memory  held in the end against what is used: 1.00 is as much as with base pages
huge    promotions in 120 s
CPU s   own CPU time of the manager, or of khugepaged
";

/// The tables as text.
pub(crate) fn text(seed: u64, contests: &[Contest], paint: Paint) -> String {
    let mut text = format!("Simulated machines, seed {seed}: a model, not a measurement.\n");
    for contest in contests {
        text += &format!("\n{}\n", paint.bold(contest.scenario));
        text += &row("policy", "knows", &HEADS.map(str::to_owned));
        for entry in &contest.entries {
            text += &row(entry.policy, entry.knows.unwrap_or_default(), &entry.cells());
        }
    }
    text + "\n" + LEGEND
}

fn row(policy: &str, knows: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| right(cell, 8)).collect();
    trimmed(&format!("{} {}{cells}\n", left(policy, 13), left(knows, 6)))
}

/// The tables as JSON.
pub(crate) fn json(seed: u64, contests: &[Contest]) -> Value {
    json!({ "schema": SCHEMA, "seed": seed, "contests": contests })
}
