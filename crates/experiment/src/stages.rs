//! A log of stages: what was to become better, what was changed, what came of it, and what proves
//! it. One JSON object a line, the oldest first, over as many days as the work takes.

use super::limit::{Limit, Outcome};
use super::summary::Summary;
use super::verdict::{Verdict, Verdicts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of a line's form.
pub const SCHEMA: u32 = 1;
/// The goal of `lab limit`: the highest rate that is served.
pub const SERVED: &str = "served_per_s";

/// Who measured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// `lab limit`.
    Limit,
    /// `investigate run`: the change was put back.
    Investigate,
    /// `lab run`: the change was put back.
    Lab,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Version of this form.
    pub schema: u32,
    /// When it was measured: seconds since 1970-01-01 UTC.
    pub at_s: i64,
    /// Who measured it.
    pub by: By,
    /// Of what: a URL, a ledger, an experiment.
    pub subject: String,
    /// The metric that was to become better, in the unit of its name.
    pub goal: String,
    /// What was changed.
    pub change: String,
    /// The goal without the change; `None` where nobody measured it.
    pub before: Option<f64>,
    /// The goal with it; `None` where no value came of it.
    pub after: Option<f64>,
    /// What follows.
    pub verdict: String,
    /// The file or directory that shows it.
    pub proof: String,
}

/// When and by whom something was measured, and where its proof is.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// Seconds since 1970-01-01 UTC.
    pub at_s: i64,
    /// A file or directory.
    pub proof: &'a str,
}

impl Stage {
    /// The limit of a server after a change; `before` is the result that it was compared with.
    pub fn of_limit(limit: &Limit, before: Option<&Limit>, change: &str, at: Measured<'_>) -> Self {
        let verdict = match limit.checked.as_ref().map(|checked| checked.outcome) {
            None => "measured",
            Some(Outcome::AsExpected) => "as expected",
            Some(Outcome::Less) => "less than expected",
            Some(Outcome::More) => "more than expected",
            Some(Outcome::StillTheLimit) => "still the limit",
        };
        Self {
            before: before.and_then(|before| before.judged.served_per_s),
            after: limit.judged.served_per_s,
            ..at.stage(By::Limit, (&limit.target, SERVED), change, verdict)
        }
    }

    /// Each hypothesis of a ledger.
    pub fn of_verdicts(verdicts: &Verdicts, at: Measured<'_>) -> Vec<Self> {
        let one = |tried: &super::verdict::Tried| {
            let verdict = match tried.verdict {
                Verdict::Accepted => "accepted",
                Verdict::Refuted { .. } => "refuted",
                Verdict::Harmful { .. } => "harmful",
                Verdict::Undecided { .. } => "undecided",
            };
            let goal = tried.effects.first();
            let of = (verdicts.name.as_str(), verdicts.goal.as_str());
            Self {
                before: goal.and_then(|goal| goal.as_is).or(verdicts.as_is),
                after: goal.and_then(|goal| goal.changed),
                ..at.stage(By::Investigate, of, &tried.name, verdict)
            }
        };
        verdicts.hypotheses.iter().map(one).collect()
    }

    /// Each variant of an experiment against its baseline, by the metrics that decide.
    pub fn of_summary(summary: &Summary, at: Measured<'_>) -> Vec<Self> {
        let baseline = summary.variants.iter().position(|variant| variant.is_baseline);
        let mut all = Vec::new();
        for row in summary.rows.iter().filter(|row| row.decides) {
            let median = |index: usize| Some(row.cells.get(index)?.spread.as_ref()?.median);
            for (index, variant) in summary.variants.iter().enumerate() {
                if variant.is_baseline {
                    continue;
                }
                let against = row.cells.get(index).and_then(|cell| cell.against.as_ref());
                let said = against.and_then(|against| against.sentence.as_deref());
                let of = (summary.name.as_str(), row.key.as_str());
                all.push(Self {
                    before: baseline.and_then(median),
                    after: median(index),
                    ..at.stage(By::Lab, of, &variant.name, said.unwrap_or("not compared"))
                });
            }
        }
        all
    }
}

impl Measured<'_> {
    fn stage(self, by: By, (subject, goal): (&str, &str), change: &str, verdict: &str) -> Stage {
        Stage {
            schema: SCHEMA,
            at_s: self.at_s,
            by,
            subject: subject.to_owned(),
            goal: goal.to_owned(),
            change: change.to_owned(),
            before: None,
            after: None,
            verdict: verdict.to_owned(),
            proof: self.proof.to_owned(),
        }
    }
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stages {
    /// The stages, in the order of the file.
    pub stages: Vec<Stage>,
    /// Lines that are none, or of another version, with their numbers from 1.
    pub problems: Vec<String>,
}

/// Reads the lines of a log; empty ones count for nothing.
pub fn read(text: &str) -> Stages {
    let mut found = Stages::default();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Stage>(line) {
            Ok(stage) if stage.schema == SCHEMA => found.stages.push(stage),
            Ok(stage) => {
                let other = stage.schema;
                found.problems.push(format!("line {number}: form {other}, not {SCHEMA}"));
            }
            Err(error) => found.problems.push(format!("line {number}: no stage: {error}")),
        }
    }
    found
}

impl Stages {
    /// By subject and goal, in the order of time.
    pub fn goals(&self) -> BTreeMap<(&str, &str), Vec<&Stage>> {
        let mut goals: BTreeMap<(&str, &str), Vec<&Stage>> = BTreeMap::new();
        for stage in &self.stages {
            goals.entry((&stage.subject, &stage.goal)).or_default().push(stage);
        }
        goals.values_mut().for_each(|all| all.sort_by_key(|stage| stage.at_s));
        goals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_and_others_are_told() {
        let at = Measured { at_s: 1_796_000_000, proof: "before.json" };
        let mut stage = at.stage(By::Limit, ("http://127.0.0.1/", SERVED), "as it is", "measured");
        stage.after = Some(174.0);
        let line = serde_json::to_string(&stage).expect("a stage");
        let later = line.replace("1796000000", "1796000900").replace("as it is", "16 workers");
        let other = line.replace("\"schema\":1", "\"schema\":9");
        let found = read(&format!("{later}\n\n{line}\n{other}\nno stage\n"));
        assert_eq!(found.stages[1], stage);
        let told: Vec<_> = found.problems.iter().map(|problem| &problem[..6]).collect();
        assert_eq!(told, ["line 4", "line 5"]);
        let goals = found.goals();
        let of = goals.get(&("http://127.0.0.1/", SERVED)).expect("a goal");
        let changes: Vec<_> = of.iter().map(|stage| stage.change.as_str()).collect();
        assert_eq!(changes, ["as it is", "16 workers"]);
    }
}
