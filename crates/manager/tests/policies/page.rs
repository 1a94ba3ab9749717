//! The comparison of policies: `docs/policies.md`. It is written by a test, and each of its tables
//! is checked by one.

use super::text::{AFTER, BEFORE, about};
use hugewise_manager::access::Tracker;
use hugewise_manager::config::PolicyKind;
use hugewise_manager::sim::baseline::Kernel;
use hugewise_manager::sim::contest::{Course, Decider, Knowledge, run};
use hugewise_manager::sim::scenario::Scenario;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

const SEEDS: u64 = 20;

/// Who takes part: in words, and what it is.
const ENTRIES: [(&str, &str, Decider, Knowledge); 15] = [
    ("linux-always", "", Decider::Kernel(Kernel::LinuxAlways), Knowledge::Nothing),
    ("khugepaged", "", Decider::Kernel(Kernel::Khugepaged), Knowledge::Nothing),
    ("freebsd", "", Decider::Kernel(Kernel::FreeBsd), Knowledge::Nothing),
    ("hawkeye", "regions", Decider::HawkEye, Knowledge::By(Tracker::IdlePages)),
    ("hawkeye", "DAMON", Decider::HawkEye, Knowledge::By(Tracker::Damon)),
    ("paper", "", Decider::Ours(PolicyKind::Paper), Knowledge::Nothing),
    ("utilization", "", Decider::Ours(PolicyKind::Utilization), Knowledge::Nothing),
    ("worth", "nothing", WORTH, Knowledge::Nothing),
    ("worth", "mappings", WORTH, Knowledge::By(Tracker::Referenced)),
    ("worth", "mappings, longer", WORTH, Knowledge::Longer(Tracker::Referenced)),
    ("worth", "DAMON", WORTH, Knowledge::By(Tracker::Damon)),
    ("worth", "regions", WORTH, Knowledge::By(Tracker::IdlePages)),
    ("worth", "hints", WORTH, Knowledge::Hints),
    ("worth, 10 %", "DAMON", Decider::Generous, Knowledge::By(Tracker::Damon)),
    ("worth, 10 %", "regions", Decider::Generous, Knowledge::By(Tracker::IdlePages)),
];
const WORTH: Decider = Decider::Ours(PolicyKind::Worth);

/// A column: its head, how a course is measured, and digits behind the point.
type Column = (&'static str, fn(&Course) -> Option<f64>, usize);

const COLUMNS: [Column; 7] = [
    ("90 % of the gain, s", |c| c.seconds_until(0.9), 0),
    ("gain at a quarter, %", |c| Some(100.0 * c.gain_after(c.regions / 4)), 0),
    ("75 % of the gain at, %", |c| c.footprint_at(0.75).map(|share| 100.0 * share), 0),
    ("gain in the end, %", |c| Some(100.0 * c.gain()), 0),
    ("memory", |c| Some(c.held), 2),
    ("promotions", |c| Some(c.promoted() as f64), 0),
    ("own CPU, s", |c| Some(c.cpu.as_s()), 2),
];

/// Median, least and most over the seeds; what was never reached is more than anything.
fn spread(courses: &[Course], (_, measure, digits): &Column) -> String {
    let mut all: Vec<Option<f64>> = courses.iter().map(measure).collect();
    all.sort_by(|a, b| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(b),
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Greater,
        (_, None) => Ordering::Less,
    });
    let text = |value: Option<f64>| match value {
        // Without it -0.0 is another text than 0.0.
        Some(value) => format!("{:.digits$}", value.max(0.0)),
        None => "never".to_owned(),
    };
    // Of an even number the lower one of the two in the middle.
    let median = text(all[(all.len() - 1) / 2]);
    let (least, most) = (text(all[0]), text(all[all.len() - 1]));
    if least == most { median } else { format!("{median} [{least}..{most}]") }
}

/// One scenario's part of the page.
fn section(scenario: Scenario) -> String {
    let (title, about) = about(scenario);
    let mut out = format!("### {title}\n\n{about}\n\n| policy | knows |");
    out += &COLUMNS.map(|(head, ..)| format!(" {head} |")).concat();
    out += &format!("\n{}|\n", "|---".repeat(COLUMNS.len() + 2));
    // Where the bloat budget decides nothing a larger one is of no interest.
    let sparse = matches!(scenario, Scenario::Sparse | Scenario::Deleted);
    let entries = ENTRIES.into_iter().filter(|(.., by, _)| sparse || *by != Decider::Generous);
    for (policy, knows, decider, knowledge) in entries {
        let courses: Vec<_> =
            (0..SEEDS).map(|seed| run(scenario, decider, knowledge, seed)).collect();
        let cells = COLUMNS.map(|column| format!(" {} |", spread(&courses, &column)));
        out += &format!("| {policy} | {knows} |{}\n", cells.concat());
    }
    out + "\n"
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.md")
}

#[expect(clippy::disallowed_methods, reason = "said by 'cargo run -p xtask -- policies'")]
fn updates() -> bool {
    std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the page lies in docs")]
fn the_page_is_written_on_request() {
    if updates() {
        let sections: String = Scenario::ALL.map(section).concat();
        let page = format!("{BEFORE}{sections}{AFTER}");
        std::fs::write(path(), page).expect("docs can be written");
    }
}

#[track_caller]
#[expect(clippy::disallowed_methods, reason = "the page lies in docs")]
fn check(scenario: Scenario) {
    if updates() {
        return;
    }
    let written = std::fs::read_to_string(path()).expect("docs/policies.md");
    assert!(written.starts_with(BEFORE) && written.ends_with(AFTER), "{OUTDATED}");
    let section = section(scenario);
    assert!(written.contains(&section), "{OUTDATED}: now\n{section}");
}

const OUTDATED: &str = "docs/policies.md is out of date: cargo run -p xtask -- policies";

#[test]
fn a_hot_tail() {
    check(Scenario::HotTail);
}

#[test]
fn a_sparse_table() {
    check(Scenario::Sparse);
}

#[test]
fn a_deletion() {
    check(Scenario::Deleted);
}

#[test]
fn scarce_blocks() {
    check(Scenario::Scarce);
}

#[test]
fn even_accesses() {
    check(Scenario::Uniform);
}

#[test]
fn a_tree() {
    check(Scenario::Skewed);
}
