//! The corpus: tickets written without knowledge of this program, each with its cause. It is a
//! measure, not a list to be tuned to: what it shows is mended in the mechanism.

use hugewise_evidence::diagnose::{Diagnosis, Severity, Thresholds, diagnose, questions};
use hugewise_evidence::recording::Builder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct Corpus {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    file: String,
    /// The cause; empty: healthy; `unknown`: the ticket does not say enough.
    truth: Vec<String>,
}

impl Case {
    fn class(&self) -> &'static str {
        match self.truth.first().map(String::as_str) {
            None => "healthy",
            Some("unknown") => "too little",
            Some(_) => "a cause",
        }
    }
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

#[expect(clippy::disallowed_methods, reason = "the cases lie beside this test")]
fn corpus() -> Vec<Case> {
    let text = std::fs::read_to_string(folder().join("corpus.toml")).expect("a list of cases");
    toml::from_str::<Corpus>(&text).expect("cases").case
}

#[expect(clippy::disallowed_methods, reason = "the cases lie beside this test")]
fn text(case: &Case) -> String {
    std::fs::read_to_string(folder().join(&case.file)).expect("a ticket")
}

fn diagnosed(case: &Case, text: &str) -> Diagnosis {
    let mut builder = Builder::new();
    builder.read(&case.file, text.as_bytes()).expect("a text");
    diagnose(&builder.finish(), &Thresholds::default())
}

/// Makes another ticket of one that says the same.
type Vary = fn(&str) -> String;

/// What people do to a text on its way.
const VARIANTS: &[(&str, Vary)] = &[
    ("as written", str::to_owned),
    ("quoted in a mail", |text| each_line(text, |line| format!("> {line}"))),
    ("indented", |text| each_line(text, |line| format!("    {line}"))),
    ("with Windows line ends", |text| text.replace('\n', "\r\n")),
    ("commands in reverse", reversed),
    ("an hour later", later),
    ("without means", |text| without(text, is_mean)),
    ("without prose", |text| match text.split_once("\n\n") {
        Some((_, rest)) => rest.to_owned(),
        None => text.to_owned(),
    }),
    ("ends of lines cut", |text| each_line(text, |line| line.trim_end().to_owned())),
    ("in a journal", |text| {
        let clock = |at: usize| format!("{:02}:{:02}", at / 60, at % 60);
        let line = |(at, line)| format!("Nov 28 03:{} jump-2 run.sh[4121]: {line}\n", clock(at));
        text.lines().enumerate().map(line).collect()
    }),
    ("as a list of strings", |text| {
        let line = |line: &str| serde_json::to_string(line).expect("a string");
        let lines: Vec<String> = text.lines().map(line).collect();
        format!("ok: [db7] => {{\n    \"stdout_lines\": [\n{}\n    ]\n}}\n", lines.join(",\n"))
    }),
];

fn each_line(text: &str, vary: fn(&str) -> String) -> String {
    text.lines().map(|line| vary(line) + "\n").collect()
}

fn without(text: &str, out: fn(&str) -> bool) -> String {
    text.lines().filter(|line| !out(line)).map(|line| format!("{line}\n")).collect()
}

/// The last rows of a listing by sysstat, in the languages of the corpus.
fn is_mean(line: &str) -> bool {
    let bare = line.trim_start_matches(['>', ' ']);
    ["Average:", "Durchschn.:", "Moyenne"].iter().any(|start| bare.starts_with(start))
}

/// Whether a line looks as if somebody typed a command in it.
fn is_typed(line: &str) -> bool {
    let line = line.trim_start_matches("> ");
    let Some(end) = line.find(['$', '#']) else { return false };
    let before = &line[..end];
    let short = before.split_whitespace().count() <= 2 && line[end + 1..].starts_with(' ');
    let dollar = before.is_empty() && line.starts_with('$');
    short && (dollar || before.contains(['@', ':', ']']))
}

/// The same commands, the last one first; what stands before the first stays there.
fn reversed(text: &str) -> String {
    let mut blocks: Vec<String> = vec![String::new()];
    for line in text.lines() {
        if is_typed(line) {
            blocks.push(String::new());
        }
        let block = blocks.last_mut().expect("one at least");
        block.push_str(line);
        block.push('\n');
    }
    let prose = blocks.remove(0);
    prose + &blocks.into_iter().rev().collect::<String>()
}

/// All times of day of 24 hours an hour later, or earlier where that would be tomorrow.
fn later(text: &str) -> String {
    let hour = |word: &str| -> Option<u32> {
        let parts: Vec<&str> = word.split(':').collect();
        let two = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        (parts.len() == 3 && parts.iter().all(two)).then(|| parts[0].parse().ok())?
    };
    let half_days = text.contains(" AM") || text.contains(" PM");
    let last = text.split_whitespace().filter_map(hour).max().unwrap_or(0);
    let first = text.split_whitespace().filter_map(hour).min().unwrap_or(0);
    if half_days || (last >= 23 && first == 0) {
        return text.to_owned();
    }
    let vary = |word: &str| match hour(word) {
        Some(hour) if last >= 23 => format!("{:02}{}", hour - 1, &word[2..]),
        Some(hour) => format!("{:02}{}", hour + 1, &word[2..]),
        None => word.to_owned(),
    };
    text.split_inclusive(char::is_whitespace)
        .map(|part| {
            let word = part.trim_end();
            vary(word) + &part[word.len()..]
        })
        .collect()
}

/// What came of a case.
fn outcome(case: &Case, found: &Diagnosis) -> &'static str {
    let key = |index: usize| found.findings.get(index).map(|f| f.cause.about().key);
    let right = |key: &str| case.truth.iter().any(|truth| truth == key);
    let worst = found.worst().unwrap_or(Severity::Note);
    match case.class() {
        "a cause" if key(0).is_some_and(right) => "right",
        "a cause" if found.findings.iter().any(|f| right(f.cause.about().key)) => "not first",
        "a cause" => "missed",
        _ if worst > Severity::Note => "false alarm",
        _ => "quiet",
    }
}

/// A question that is ruled out although its cause is the truth.
fn contradicted(case: &Case, found: &Diagnosis) -> Option<&'static str> {
    let steps = found.findings.iter().flat_map(|finding| &finding.ruled_out);
    let cause = |node: &str| questions::find(node).and_then(|node| node.cause);
    let first = |node: &&str| {
        let key = cause(node).map(|cause| cause.about().key);
        key.is_some() && case.truth.first().map(String::as_str) == key
    };
    steps.map(|step| step.node).find(first)
}

/// Of all cases in one form: how many came to what, and which did not come out right.
#[derive(Default)]
struct Score {
    counts: BTreeMap<(&'static str, &'static str), usize>,
    wrong: Vec<String>,
    contradicted: Vec<String>,
}

impl Score {
    fn of(cases: &[Case], vary: Vary) -> Self {
        let mut score = Self::default();
        for case in cases {
            let found = diagnosed(case, &vary(&text(case)));
            let outcome = outcome(case, &found);
            *score.counts.entry((case.class(), outcome)).or_default() += 1;
            if !matches!(outcome, "right" | "quiet") {
                let first = found.findings.first().map_or("nothing", |f| f.cause.about().key);
                let truth = case.truth.first().map_or("healthy", String::as_str);
                score.wrong.push(format!("`{}`: {truth}; found {first}", case.file));
            }
            score.contradicted.extend(
                contradicted(case, &found).map(|node| format!("`{}`: `{node}`", case.file)),
            );
        }
        score
    }

    fn count(&self, class: &str, outcome: &str) -> usize {
        let all = self.counts.iter().filter(|((c, o), _)| *c == class && *o == outcome);
        all.map(|(_, count)| count).sum()
    }

    fn right_percent(&self) -> f64 {
        let all: usize =
            self.counts.iter().filter(|((class, _), _)| *class == "a cause").map(|(_, n)| n).sum();
        self.count("a cause", "right") as f64 / all as f64 * 100.0
    }
}

const INTRODUCTION: &str = "\
# How often the diagnosis is right

Written by `cargo run -p xtask -- score`. `make test` checks it.

The corpus in `crates/evidence/tests/corpus` has tickets that were written without knowledge of the
program, each with its cause; only those named app- and ok-app-, about what servers say of
themselves, threads- and ok-threads-, made by real programs, and join- and ok-join- are by the hand
that wrote their readers. A case is
*right* when the first finding is the cause, *not first* when a later one is. On a healthy machine,
and where a ticket says too little, a warning is a *false alarm*. *Ruled out* counts questions that
were answered \"no\" although they are the cause. Each ticket is also read in forms that people
give it on its way.

The table shows that what was mended stays mended, not how it does on what it has never seen: that
is what the public rounds below are for.

";

fn table(scores: &[(&str, Score)]) -> String {
    let mut out = INTRODUCTION.to_owned();
    out += "| form | right | not first | missed | first is right | healthy: quiet | false alarm ";
    out += "| too little: quiet | false alarm | ruled out |\n";
    out += &format!("{}|\n", "|---".repeat(10));
    for (name, score) in scores {
        let n = |class, outcome| score.count(class, outcome);
        let causes = ["right", "not first", "missed"].map(|o| n("a cause", o).to_string());
        let quiet = ["healthy", "too little"]
            .map(|class| format!("{} | {}", n(class, "quiet"), n(class, "false alarm")));
        out += &format!(
            "| {name} | {} | {:.0} % | {} | {} |\n",
            causes.join(" | "),
            score.right_percent(),
            quiet.join(" | "),
            score.contradicted.len()
        );
    }
    out += "\n## Cases that are not right\n\nThe truth, and what comes first instead.\n\n";
    let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, score) in scores {
        for wrong in &score.wrong {
            known.entry(wrong).or_default().push(name);
        }
    }
    for (wrong, forms) in known {
        let forms = match forms.len() == scores.len() {
            true => "in all forms".to_owned(),
            false => forms.join(", "),
        };
        out += &format!("- {wrong} ({forms})\n");
    }
    out + &super::public::section()
}

/// The goal for the tickets as written and in each other form, in percent.
const RIGHT_MIN: f64 = 95.0;

#[test]
#[expect(clippy::disallowed_methods, reason = "the table lies in docs")]
fn first_findings_are_right_and_healthy_machines_quiet() {
    let cases = corpus();
    let scores: Vec<(&str, Score)> =
        VARIANTS.iter().map(|(name, vary)| (*name, Score::of(&cases, *vary))).collect();
    let table = table(&scores);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/score.md");
    if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &table).expect("docs can be written");
    }
    println!("{table}");
    for (name, score) in &scores {
        for class in ["healthy", "too little"] {
            assert_eq!(score.count(class, "false alarm"), 0, "{name}: {:?}", score.wrong);
        }
        assert_eq!(score.contradicted, Vec::<String>::new(), "{name}: ruled out, and true");
        assert!(score.right_percent() >= RIGHT_MIN, "{name}: {:?}", score.wrong);
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, table, "docs/score.md is out of date: cargo run -p xtask -- score");
}
