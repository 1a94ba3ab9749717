//! Logs before JDK 9: nested brackets over several lines, most with a time at their end. What runs
//! beside the program prints its own brackets in between, and those do not stop it.

use super::pause::{Pause, cpu, heap, in_parentheses, milliseconds, part, seconds_at_end};
use crate::recording::readers::prelude::*;

/// Deepest nesting, and longest text of a bracket that is kept.
const DEPTH_MAX: usize = 32;
const TEXT_BYTES_MAX: usize = 2048;

/// Most parts of a pause, and heaps in it.
const PARTS_MAX: usize = 64;

/// Most lines without any bracket inside an open one: tables of ages have 15, notes on sizes some
/// more.
const QUIET_LINES_MAX: usize = 64;

/// The areas of classes, which are no part of the heap.
const CLASSES: [&str; 4] = ["Metaspace", "PSPermGen", "CMS Perm", "Perm"];

/// What G1's and other collectors' lines say of the kind of a pause.
const KINDS: [(&str, &str); 8] = [
    ("Full GC", "Full"),
    ("Inc GC", "Incremental"),
    ("emark", "Remark"),
    ("nitial Mark", "Initial Mark"),
    ("nitial-mark", "Initial Mark"),
    ("cleanup", "Cleanup"),
    ("(mixed)", "Mixed"),
    ("GC", "Young"),
];

/// An open bracket.
#[derive(Debug, Default)]
struct Record {
    at: Option<Stamp>,
    /// Its own text, without that of brackets in it.
    text: String,
    parts: Vec<(String, f64)>,
    heaps: Vec<(f64, f64)>,
    /// Of itself and what is in it.
    pause: Pause,
    /// Whether it begins its line, behind a time.
    begins: bool,
}

impl Record {
    /// A bracket in it, with its text, ended; `found` is what it tells of itself as a part.
    fn holds(&mut self, inner: Self, found: Option<(String, f64)>, text: &str) {
        let left = PARTS_MAX.saturating_sub(self.parts.len());
        self.parts.extend(found.into_iter().chain(inner.parts).take(left));
        let left = PARTS_MAX.saturating_sub(self.heaps.len());
        self.heaps.extend(inner.heaps.into_iter().take(left));
        self.pause.went_wrong(inner.pause.troubles);
        self.pause.kind = inner.pause.kind;
        if text.contains("CMS-remark") {
            "Remark".clone_into(&mut self.pause.kind);
        } else if text.contains("CMS-initial-mark") {
            "Initial Mark".clone_into(&mut self.pause.kind);
        }
    }
}

/// What is open, and the pause that ended last: its details follow it.
#[derive(Debug, Default)]
pub(super) struct Nested {
    open: Vec<Record>,
    last: Option<Pause>,
    /// Brackets that are too deep.
    deeper: usize,
    quiet: usize,
    /// Whether something beside the program was logged in this line.
    beside: bool,
    /// Pauses that ended inside of one that is still open.
    inner: Vec<Pause>,
    /// Whether this is a log of G1.
    g1: bool,
}

/// Most pauses inside another one: a young collection before a remark. More say that the end of the
/// outer one is missing.
const INNER_MAX: usize = 1;

/// The kind of pause that a bracket's text tells, if it is one.
fn kind(text: &str) -> Option<&'static str> {
    let text = text.trim_start();
    if text.starts_with("Pause ") {
        return Some(if text.starts_with("Pause Full") { "Full" } else { "Pause" });
    }
    let rest = ["Full GC", "GC", "Inc GC"].iter().find_map(|start| text.strip_prefix(start))?;
    let rest = rest.trim_start();
    let no = ["concurrent", "Worker"].iter().any(|no| rest.starts_with(no));
    let letter = rest.starts_with(|c: char| c.is_ascii_uppercase()) && !rest.contains("secs");
    let glued = text.strip_prefix("GC").is_some_and(|t| t.starts_with(|c: char| c.is_lowercase()));
    if no || letter && !rest.starts_with(['D', 'A', 'P', 'B']) || glued {
        return None;
    }
    KINDS.iter().find(|(mark, _)| text.contains(mark)).map(|(_, kind)| *kind)
}

/// A row of a histogram of classes: their names contain brackets.
fn is_class(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let rank = words.next().and_then(|word| word.strip_suffix(':')).and_then(count);
    let counts = [words.next(), words.next()].map(|word| word.and_then(count));
    rank.is_some() && counts.iter().all(Option::is_some)
}

impl Nested {
    /// Whether a bracket is open: what follows belongs to it.
    pub(super) const fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether a pause has ended whose details may follow.
    pub(super) const fn has_ended(&self) -> bool {
        self.last.is_some()
    }

    /// The end of a log, or of what is known of one: a pause whose end is missing is left out.
    pub(super) fn ends(&mut self, out: &mut Builder) {
        self.open.clear();
        (self.deeper, self.quiet) = (0, 0);
        let inner = std::mem::take(&mut self.inner);
        self.last.take().into_iter().chain(inner).for_each(|pause| pause.put(out));
    }

    /// Whether a line may continue what is open.
    pub(super) fn goes_on(&mut self, line: &str) -> bool {
        self.quiet = if line.contains(['[', ']']) { 0 } else { self.quiet + 1 };
        is_class(line) || self.quiet <= QUIET_LINES_MAX
    }

    /// A line's text behind its times; what follows the last bracket, if none is open then.
    pub(super) fn line<'a>(
        &mut self,
        at: Option<Stamp>,
        text: &'a str,
        out: &mut Builder,
    ) -> Option<&'a str> {
        if self.is_open() && is_class(text) {
            return None;
        }
        self.beside = false;
        let mut rest = text;
        while let Some(place) = rest.bytes().position(|byte| matches!(byte, b'[' | b']')) {
            let (before, after) = rest.split_at(place);
            self.own(before);
            let opens = after.starts_with('[');
            rest = after.get(1..).unwrap_or_default();
            // An address: its bracket has no end.
            if opens && rest.starts_with("0x") {
                continue;
            }
            match opens {
                true if self.open.len() >= DEPTH_MAX => self.deeper += 1,
                true => {
                    let begins = at.is_some() && place == 0 && rest.len() + 1 == text.len();
                    self.open.push(Record { at, begins, ..Record::default() });
                }
                false if self.deeper > 0 => self.deeper -= 1,
                false => self.close(out),
            }
        }
        self.own(rest);
        self.own(" ");
        Some(rest).filter(|_| !self.is_open())
    }

    fn own(&mut self, text: &str) {
        let Some(record) = self.open.last_mut().filter(|_| self.deeper == 0) else { return };
        if record.text.len() + text.len() <= TEXT_BYTES_MAX {
            record.text.push_str(text);
        } else if let Some(end) = text.get(text.len().saturating_sub(64)..) {
            // The time stands at its end.
            let mut middle = TEXT_BYTES_MAX / 2;
            while !record.text.is_char_boundary(middle) {
                middle -= 1;
            }
            record.text.truncate(middle);
            record.text.push_str(end);
        }
    }

    fn close(&mut self, out: &mut Builder) {
        let Some(mut record) = self.open.pop() else { return };
        let text = std::mem::take(&mut record.text);
        let text = text.trim();
        record.pause.notes(text);
        if let Some(times) = text.strip_prefix("Times:") {
            if self.open.is_empty()
                && !self.beside
                && let Some(last) = &mut self.last
            {
                last.cpu = cpu(times, ["user=", "sys="]);
            }
            return;
        }
        let found = part(text);
        let classes = CLASSES.iter().any(|name| text.starts_with(name));
        let sizes = Some(text).filter(|text| !classes && text.contains('>'));
        // Where it is takes longer to see than whether it is there.
        let of_all = sizes.filter(|text| text.contains("Heap:"));
        let of_all = of_all.and_then(|text| text.rsplit("Heap:").next());
        let heap = of_all.or(sizes).and_then(heap);
        record.heaps.extend(heap);
        let ends = seconds_at_end(text).map(|seconds| seconds * 1e3);
        let shenandoah = || Some(text).filter(|text| text.starts_with("Pause "));
        let ends = ends.or_else(|| shenandoah().and_then(milliseconds));
        let pause = kind(text).zip(ends);
        if let Some((kind, ms)) = pause.filter(|_| record.begins && self.is_open()) {
            self.inner.push(finished(record, kind, text, ms));
            if self.inner.len() > INNER_MAX {
                // The last one's times and details may follow.
                let last = self.inner.pop();
                self.ends(out);
                self.last = last;
            }
            return;
        }
        if let Some(above) = self.open.last_mut() {
            above.holds(record, found, text);
            return;
        }
        match pause {
            Some((kind, ms)) => {
                // Those inside of it are parts of it.
                self.inner.clear();
                self.ends(out);
                self.g1 |= text.starts_with("GC pause");
                let mut pause = finished(record, kind, text, ms);
                if self.g1 {
                    pause.falls_back();
                }
                self.last = Some(pause);
            }
            None if text.contains("oncurrent") => self.beside = true,
            // Details of the pause before it.
            _ => {
                let Some(last) = &mut self.last else { return };
                last.notes(text);
                last.went_wrong(record.pause.troubles);
                let left = PARTS_MAX.saturating_sub(last.parts.len());
                last.parts.extend(found.into_iter().chain(record.parts).take(left));
                if last.is_full() && text.contains("Heap:") {
                    last.heaps.extend(record.heaps);
                }
            }
        }
    }
}

fn finished(record: Record, kind: &str, text: &str, ms: f64) -> Pause {
    let kinds = ["young", "mixed", "initial-mark", "to-space exhausted"];
    let named = in_parentheses(text.split("->").next().unwrap_or(text));
    let cause = named.into_iter().find(|name| name.len() > 2 && !kinds.contains(name));
    let cause = cause.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
    // A table of the heap may stand there.
    let cause = cause.filter(|name| !name.contains(['{', '=', ':']));
    let marked = Some(record.pause.kind).filter(|marked| !marked.is_empty() && kind != "Full");
    Pause {
        at: record.at,
        ms,
        kind: marked.unwrap_or_else(|| kind.to_owned()),
        cause: cause.map(|cause| cause.chars().take(60).collect()),
        heaps: record.heaps,
        parts: record.parts,
        ..record.pause
    }
}
