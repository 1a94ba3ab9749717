//! Expected against actual.

use crate::render::colour::Paint;
use crate::render::text::{left, right, trimmed, wrap};
use hugewise_base::escape::printable;
use hugewise_evidence::hugetlb::verify::{Check, Verified};
use std::fmt::Write;

/// Width of the column of names.
const NAME: usize = 34;
/// Width of the column of what is: with the sum that it comes from.
const ACTUAL: usize = 26;

/// A row a check, its advice below it, and page tables then and now.
pub(crate) fn render(verified: &Verified, paint: Paint) -> String {
    let mut out = String::new();
    let head =
        format!("{} {} {}  ok", left("", NAME), right("expected", 12), right("actual", ACTUAL));
    let _ = writeln!(out, "{}", paint.bold(&head));
    for check in &verified.checks {
        push(&mut out, check, paint);
    }
    push_tables(&mut out, verified);
    for missing in &verified.missing {
        let text = format!("{}: {}", printable(&missing.what), printable(&missing.why));
        out.push_str(&paint.dim(&wrap("Not seen: ", &text)));
    }
    let verdict = match verified.ok() {
        Some(true) => paint.good("As planned."),
        Some(false) => paint.bad("NOT as planned."),
        None => paint.warn("As planned, as far as known."),
    };
    let _ = writeln!(out, "\n{verdict}");
    trimmed(&out)
}

fn push(out: &mut String, check: &Check, paint: Paint) {
    let ok = match check.ok {
        Some(true) => paint.good("yes"),
        Some(false) => paint.bad("NO"),
        None => paint.warn("?"),
    };
    let name = printable(&check.what);
    if check.expected.len() > 12 || check.actual.len() > ACTUAL {
        let text = format!("expected {}, found {}  {ok}", check.expected, check.actual);
        let _ = writeln!(out, "{name}");
        out.push_str(&wrap("    ", &text));
        return push_advice(out, check);
    }
    let (expected, actual) = (right(&check.expected, 12), right(&check.actual, ACTUAL));
    // A long name has a line of its own: cut, it might equal its neighbour.
    if name.chars().count() > NAME {
        let _ = writeln!(out, "{name}\n{} {expected} {actual}  {ok}", left("", NAME));
    } else {
        let _ = writeln!(out, "{} {expected} {actual}  {ok}", left(&name, NAME));
    }
    push_advice(out, check);
}

fn push_advice(out: &mut String, check: &Check) {
    if !check.advice.is_empty() {
        out.push_str(&wrap("    ", &check.advice));
    }
}

fn push_tables(out: &mut String, verified: &Verified) {
    if verified.tables.is_some() || verified.machine_tables.1.is_some() {
        let _ = writeln!(out);
    }
    if let Some(change) = &verified.tables {
        let (before, now) = (change.before_bytes, change.now_bytes);
        let (then, today) = (change.before_processes, change.now_processes);
        let times = change.times_smaller;
        let much = match times {
            t if t >= 1.05 => format!("{t:.1} times smaller by process"),
            t if t <= 0.95 => format!("{:.1} times larger by process", 1.0 / t),
            _ => "about the same by process".to_owned(),
        };
        let text = format!(
            "{before} of {then} processes when planned, {now} of {today} now: {much} (VmPTE)"
        );
        out.push_str(&wrap("page tables  ", &text));
    }
    if let (Some(then), Some(now)) = verified.machine_tables {
        let text = format!("{then} on the whole machine when planned, {now} now");
        out.push_str(&wrap("page tables  ", &text));
    }
}
