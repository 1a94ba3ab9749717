//! What `hugewise advise --estimate` says.

use crate::render::colour::Paint;
use crate::render::number::short;
use crate::render::text::{left, right, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::{Bytes, saturating_u64};
use hugewise_evidence::bill::{Bill, Check, Estimate, Growth, Row, Scored, Way};
use serde_json::{Value, json};

/// Most programs that are shown.
const PROGRAMS_MAX: usize = 8;

/// The answer for one host.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The bill.
    pub(crate) bill: Bill,
    /// What came of it.
    pub(crate) check: Option<Check>,
    /// What could not be read.
    pub(crate) problems: Vec<String>,
}

impl Answer {
    /// As one JSON object.
    pub(crate) fn json(&self) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(&self.bill)?;
        value["check"] = serde_json::to_value(&self.check)?;
        value["problems"] = json!(self.problems);
        Ok(value)
    }
}

/// The answer in words.
pub(crate) fn text(answer: &Answer, paint: Paint) -> String {
    let bill = &answer.bill;
    let mut text = head(bill, paint);
    text += &paint.bold(&line(["", "memory", "stalls, ms/s", "speed"].map(str::to_owned)));
    for row in bill.rows.iter().filter(|row| !(bill.no_pool && row.way == Way::Hugetlb)) {
        text += &line([name(row.way).to_owned(), memory(row), stalls(row), speed(row)]);
    }
    if bill.no_pool {
        text += &wrap("", "HugeTLB: nothing in the recording would use more of a pool");
    }
    text += &growth(&bill.programs, paint);
    if let Some(check) = &answer.check {
        text.push('\n');
        text += &checked(check, paint);
    }
    for why in &bill.missing {
        text += &paint.dim(&wrap("unknown: ", why));
    }
    for problem in &answer.problems {
        text += &paint.warn(&wrap("not read: ", &printable(problem)));
    }
    text
}

fn head(bill: &Bill, paint: Paint) -> String {
    let huge = bill.coverage_percent;
    let huge = huge.map(|percent| format!("{percent:.0} % of anonymous memory huge"));
    let enabled = bill.enabled.as_deref().map(|word| format!("THP '{}'", printable(word)));
    let facts: Vec<String> = enabled.into_iter().chain(huge).collect();
    let head = paint.bold(&wrap("", "What each way would take and give: likely [least..most]"));
    let now = if facts.is_empty() { String::new() } else { wrap("now ", &facts.join(", ")) };
    format!("{head}{now}\n")
}

fn line([way, memory, stalls, speed]: [String; 4]) -> String {
    let line = format!("{} {} {}  {speed}", left(&way, 8), right(&memory, 22), right(&stalls, 24));
    format!("{}\n", line.trim_end())
}

const fn name(way: Way) -> &'static str {
    match way {
        Way::Hugetlb => "HugeTLB",
        Way::Worth => "hugewise",
        other => other.name(),
    }
}

fn amount(bytes: f64) -> String {
    short(Bytes(saturating_u64(bytes)))
}

/// A figure with its error bars, where it has any.
fn ranged(estimate: Estimate, said: impl Fn(f64) -> String) -> String {
    let (low, likely, high) = (said(estimate.low), said(estimate.likely), said(estimate.high));
    if low == high { likely } else { format!("{likely} [{low}..{high}]") }
}

fn memory(row: &Row) -> String {
    row.memory_bytes.map_or_else(|| "?".to_owned(), |bytes| ranged(bytes, amount))
}

fn ms(ms: f64) -> String {
    match ms {
        ms if ms >= 9.95 => format!("{ms:.0}"),
        ms if ms >= 0.995 => format!("{ms:.1}"),
        ms => format!("{ms:.2}"),
    }
}

fn stalls(row: &Row) -> String {
    row.stall_ms_per_s.map_or_else(|| "?".to_owned(), |stall| ranged(stall, ms))
}

fn speed(row: &Row) -> String {
    let percent = |percent: f64| match percent.round() {
        0.0 => "0".to_owned(),
        whole => format!("{whole:+.0}"),
    };
    match row.speed_percent {
        Some(speed) if speed == Estimate::exact(0.0) => "as now".to_owned(),
        Some(speed) => format!("{} %", ranged(speed, percent)),
        None => "?".to_owned(),
    }
}

/// Programs that `always` may make larger.
fn growth(programs: &[Growth], paint: Paint) -> String {
    let more = |one: &&Growth| one.always_bytes.high > one.now_bytes;
    let all: Vec<&Growth> = programs.iter().filter(more).collect();
    if all.is_empty() {
        return String::new();
    }
    let row = |name: &str, now: &str, always: &str, note: &str| {
        let line = format!("{} {}  {}  {note}", left(name, 28), right(now, 6), left(always, 20));
        format!("{}\n", line.trim_end())
    };
    let mut text = "\n".to_owned();
    text += &paint.bold(&row("anonymous memory of", "now", "under always", ""));
    for one in all.iter().take(PROGRAMS_MAX) {
        let count = match one.processes {
            1 => String::new(),
            many => format!(" ({many})"),
        };
        let name = format!("{}{count}", printable(&one.name));
        let off = match one.huge_off {
            0 => String::new(),
            off => format!("{off} without huge pages"),
        };
        text += &row(&name, &amount(one.now_bytes), &ranged(one.always_bytes, amount), &off);
    }
    if let Some(rest @ 1..) = all.len().checked_sub(PROGRAMS_MAX) {
        text += &format!("and {} (--json has all)\n", counted(rest as u64, "other", "others"));
    }
    text
}

fn checked(check: &Check, paint: Paint) -> String {
    let mut text = paint.bold(&wrap("", &format!("What came under {}", name(check.way))));
    let both = [
        ("memory", check.memory_bytes.map(|one| (one, scored(one, amount, "")))),
        ("stalls", check.stall_ms_per_s.map(|one| (one, scored(one, ms, " ms/s")))),
    ];
    for (what, one) in both {
        text += &match one {
            Some((one, said)) if one.inside => paint.good(&wrap(&format!("  {what}  "), &said)),
            Some((_, said)) => paint.bad(&wrap(&format!("  {what}  "), &said)),
            None => paint.dim(&wrap(&format!("  {what}  "), "not in both recordings")),
        };
    }
    if let (Some(false), Some((before, after))) = (check.same_load, check.busy_percent) {
        let text_of = format!(
            "programs did not do the same: {before:.0} % CPU before, {after:.0} % after; a bill \
             holds for the same load only"
        );
        text += &paint.warn(&wrap("  load    ", &text_of));
    }
    text
}

fn scored(one: Scored, said: impl Fn(f64) -> String + Copy, unit: &str) -> String {
    let Scored { estimated, came, inside, miss_percent } = one;
    let place = if inside { "within the error bars" } else { "beyond the error bars" };
    let off = match miss_percent {
        Some(off) if off >= 100.0 => {
            format!("; the likely figure was {:.1} times as high", 1.0 + off / 100.0)
        }
        Some(off) if off.abs() >= 1.0 => format!(
            "; the likely figure was {:.0} % too {}",
            off.abs(),
            if off > 0.0 { "high" } else { "low" }
        ),
        Some(_) => "; the likely figure was right".to_owned(),
        None => String::new(),
    };
    let (came, estimated) = (ranged(came, said), ranged(estimated, said));
    format!("{came}{unit} came, {estimated} was estimated: {place}{off}")
}
