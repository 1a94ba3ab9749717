//! Public rounds: what strangers reported, as a table of the first run of each round
//! (`tests/public/README.md` has the rules).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The verdicts of the first runs, and the cases that were frozen before them.
const VERDICTS: &str = include_str!("public/verdicts.tsv");
const FROZEN: &str = include_str!("public/frozen.tsv");

const INTRODUCTION: &str = "
## Public rounds

What strangers reported with the cause that they found, drawn at random from what queries find that
were written first; texts (retold) and truths are frozen before the first run, and a run counts
once (`crates/evidence/tests/public`). After each round its mechanisms were mended, and the next one
drawn. *Right*: the first finding is the cause; *wrong*: a finding contradicts the truth.

";

/// A case of a round.
struct Case<'a> {
    round: &'a str,
    query: &'a str,
    expected: &'a str,
    evidence: &'a str,
    verdict: &'a str,
    first: &'a str,
    confidence: &'a str,
    truth: &'a str,
    source: &'a str,
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn cases() -> Vec<Case<'static>> {
    let sources: BTreeMap<(&str, &str), &str> =
        rows(FROZEN).map(|row| ((row[0], row[1]), row[6])).collect();
    let case = |row: Vec<&'static str>| {
        let [round, query, expected, evidence, verdict, first, confidence, truth] = row[..] else {
            panic!("{row:?}")
        };
        let source = sources[&(round, query)];
        Case { round, query, expected, evidence, verdict, first, confidence, truth, source }
    };
    rows(VERDICTS).map(case).collect()
}

impl Case<'_> {
    /// Whether its evidence stands in listings or in the kernel's log.
    fn is_listed(&self) -> bool {
        ["listing", "kernel log"].contains(&self.evidence)
    }

    /// The squared error of the confidence that was stated, as Brier scored forecasts.
    fn error(&self) -> Option<f64> {
        let stated = match self.confidence {
            "strong" => 0.9,
            "likely" => 0.7,
            "possible" => 0.4,
            _ => return None,
        };
        let right = if self.verdict == "right" { 1.0_f64 } else { 0.0 };
        (self.expected == "cause").then_some((right - stated).powi(2))
    }
}

/// A part of all, as `14 of 20`.
fn of(cases: &[&Case<'_>], verdict: &str) -> String {
    let part = cases.iter().filter(|case| case.verdict == verdict).count();
    format!("{part} of {}", cases.len())
}

/// The section of docs/score.md.
pub(crate) fn section() -> String {
    let all = cases();
    let mut out = INTRODUCTION.to_owned();
    out += "| round | cases | listings, kernel logs: right | other logs: right | wrong | ";
    out += "healthy: quiet | too little: quiet | Brier |\n";
    out += &format!("{}|\n", "|---".repeat(8));
    let rounds: BTreeSet<&str> = all.iter().map(|case| case.round).collect();
    let mut rounds: Vec<&str> = rounds.into_iter().collect();
    rounds.sort_by_key(|round| round.parse::<u32>().unwrap_or(0));
    for round in &rounds {
        let mine: Vec<&Case<'_>> = all.iter().filter(|case| case.round == *round).collect();
        let of_kind = |expected: &str, listed: Option<bool>| -> Vec<&Case<'_>> {
            let fits = |case: &&&Case<'_>| {
                case.expected == expected && listed.is_none_or(|listed| case.is_listed() == listed)
            };
            mine.iter().filter(fits).copied().collect()
        };
        let errors: Vec<f64> = mine.iter().filter_map(|case| case.error()).collect();
        let brier = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        let wrong = mine.iter().filter(|case| case.verdict == "wrong").count();
        let _ = writeln!(
            out,
            "| {round} | {} | {} | {} | {wrong} | {} | {} | {brier:.2} |",
            mine.len(),
            of(&of_kind("cause", Some(true)), "right"),
            of(&of_kind("cause", Some(false)), "right"),
            of(&of_kind("quiet", None), "quiet"),
            of(&of_kind("open", None), "quiet"),
        );
    }
    out += "\nBrier: of the confidence in first findings, strong taken as 0.9, likely as 0.7 and ";
    out += "possible as 0.4.\n";
    for round in &rounds {
        let _ = write!(out, "\n### Round {round}\n\n");
        out += "| query | expected | evidence | verdict | first finding | truth | source |\n";
        out += &format!("{}|\n", "|---".repeat(7));
        for case in all.iter().filter(|case| case.round == *round) {
            let truth = case.truth.replace('|', "\\|");
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {truth} | <{}> |",
                case.query, case.expected, case.evidence, case.verdict, case.first, case.source
            );
        }
    }
    out
}

/// Every case that was frozen has a verdict, and none has two.
#[test]
fn every_case_of_a_round_that_was_run_has_a_verdict() {
    let all = cases();
    let run: BTreeSet<&str> = all.iter().map(|case| case.round).collect();
    let seen: BTreeSet<(&str, &str)> = all.iter().map(|case| (case.round, case.query)).collect();
    assert_eq!(seen.len(), all.len());
    for row in rows(FROZEN).filter(|row| run.contains(row[0])) {
        assert!(seen.contains(&(row[0], row[1])), "{row:?}");
    }
}
