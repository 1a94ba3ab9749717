//! A pause of a program for its collector of garbage, whatever logged it, and its facts.

use crate::recording::Mechanism;
use crate::recording::readers::prelude::*;

/// Most parts of one pause that are reported: those that take a tenth of it at least, and of a
/// pause that is felt.
const PARTS_MAX: usize = 8;
const PART_SHARE: f64 = 0.1;
const FELT_MS: f64 = 100.0;
/// Longest name of a part.
const PART_NAME_MAX: usize = 40;

/// A part of the heap below that size is none that matters.
const BYTES_MIN: f64 = 16_777_216.0;

/// What may go wrong in a pause, or is done in it beside the collection: how a bracket, a message
/// or a text in parentheses begins that says so, in old logs and in unified ones, and how it is
/// called.
const TROUBLES: [(&str, &str); 11] = [
    ("to-space exhausted", "to-space exhausted"),
    ("To-space exhausted", "to-space exhausted"),
    ("to-space overflow", "to-space exhausted"),
    ("Evacuation Failure", "to-space exhausted"),
    ("promotion failed", "promotion failed"),
    // Of the parallel collector.
    ("GC--", "promotion failed"),
    ("concurrent mode failure", "concurrent mode failure"),
    ("concurrent mode interrupted", "concurrent mode interrupted"),
    ("Heap Dump", "heap dump"),
    ("Class Histogram", "class histogram"),
    ("Degenerated GC", "degenerated collection"),
];

/// What causes, troubles and parts mean, by the names that the machines' logs and [`TROUBLES`] give
/// them. A trouble "heap dump" is no [`Mechanism::Dump`]: the part of that name has its time.
const MECHANISMS: [(Mechanism, &[&str]); 6] = [
    (
        Mechanism::Behind,
        &[
            "concurrent mode failure",
            "promotion failed",
            "to-space exhausted",
            "degenerated collection",
            "allocation stall",
            "full collection as a last resort",
        ],
    ),
    (
        Mechanism::Dump,
        &["Heap Dump", "Class Histogram", "Heap Dump Initiated GC", "Heap Inspection Initiated GC"],
    ),
    (
        Mechanism::Explicit,
        &[
            "System.gc()",
            "System",
            "Diagnostic Command",
            "JvmtiEnv ForceGarbageCollection",
            "concurrent mode interrupted",
        ],
    ),
    (Mechanism::Humongous, &["G1 Humongous Allocation"]),
    (
        Mechanism::Classes,
        &[
            "Metadata GC Threshold",
            "Metadata GC Clear Soft References",
            "Last ditch collection",
            "permanent generation full",
        ],
    ),
    (
        Mechanism::References,
        &[
            "Ref Proc",
            "Reference Processing",
            "weak refs processing",
            "SoftReference",
            "WeakReference",
            "FinalReference",
            "PhantomReference",
            "JNI Weak Reference",
            "Ref Enq",
        ],
    ),
];

/// A cause, a trouble or a part, by its name, and what it means.
pub(super) fn named(name: &str) -> Subject {
    let meant = MECHANISMS.iter().find(|(_, names)| names.contains(&name));
    let mechanism = meant.map(|(mechanism, _)| *mechanism);
    Subject::Pause { service: "java".to_owned(), name: name.to_owned(), mechanism }
}

/// How work beside the program, and notes, begin: they are no part of a pause.
const BESIDE: [&str; 5] =
    ["CMS-concurrent", "GC concurrent", "Concurrent ", "concurrent", "G1Ergonomics"];

/// A pause. Times are in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Pause {
    pub(super) at: Option<Stamp>,
    pub(super) ms: f64,
    /// `Young`, `Full`, `Remark` and the like.
    pub(super) kind: String,
    /// Why it was, where the log says that.
    pub(super) cause: Option<String>,
    /// CPU outside the kernel and in it.
    pub(super) cpu: Option<(f64, f64)>,
    /// Bytes in use afterwards, and the size, of the heap and its parts but for the classes'.
    pub(super) heaps: Vec<(f64, f64)>,
    /// What took how much of it.
    pub(super) parts: Vec<(String, f64)>,
    pub(super) troubles: Vec<&'static str>,
}

impl Pause {
    pub(super) fn is_full(&self) -> bool {
        self.kind == "Full"
    }

    /// Whether it is one of G1, by its cause.
    pub(super) fn is_of_g1(&self) -> bool {
        self.cause.as_ref().is_some_and(|cause| cause.starts_with("G1 "))
    }

    /// Of a collector that works beside the program: a collection of all the heap, for want of room
    /// and not because somebody asked, is its last resort.
    pub(super) fn falls_back(&mut self) {
        let wants = ["Allocation Failure", "GCLocker Initiated GC"];
        let room = self.cause.as_ref().is_some_and(|cause| wants.contains(&cause.as_str()));
        if self.is_full() && (room || self.is_of_g1()) {
            self.went_wrong(["full collection as a last resort"]);
        }
    }

    /// Notes what went wrong, as a text of it says.
    pub(super) fn notes(&mut self, text: &str) {
        let text = text.trim_start();
        self.begins(text.strip_prefix("Pause ").unwrap_or(text));
        for (place, _) in text.match_indices('(') {
            self.begins(text.get(place + 1..).unwrap_or_default());
        }
    }

    fn begins(&mut self, text: &str) {
        let first = text.as_bytes().first();
        let fits = |mark: &str| mark.as_bytes().first() == first && text.starts_with(mark);
        let found = TROUBLES.iter().filter(|(mark, _)| fits(mark));
        self.went_wrong(found.map(|(_, trouble)| *trouble));
    }

    /// Notes what went wrong.
    pub(super) fn went_wrong(&mut self, troubles: impl IntoIterator<Item = &'static str>) {
        for trouble in troubles {
            if !self.troubles.contains(&trouble) {
                self.troubles.push(trouble);
            }
        }
    }

    /// The facts.
    pub(super) fn put(mut self, out: &mut Builder) {
        let java = Subject::process(None, "java");
        let (at, ms) = (self.at, self.ms);
        out.put(Field::GcPause, &java, at, ms);
        if let Some((user, system)) = self.cpu {
            out.put(Field::GcUser, &java, at, user);
            out.put(Field::GcSystem, &java, at, system);
            out.put(Field::GcTimed, &java, at, ms);
        }
        out.put(Field::GcKind, &Subject::part("java", &self.kind), at, ms);
        if let Some(cause) = &self.cause {
            out.put(Field::GcCause, &named(cause), at, ms);
        }
        for trouble in &self.troubles {
            out.put(Field::GcTrouble, &named(trouble), at, ms);
        }
        self.parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        // Some are times since the start.
        let share = ms * PART_SHARE..=ms;
        let worth = |(_, part): &&(String, f64)| ms >= FELT_MS && share.contains(part);
        for (name, taken) in self.parts.iter().filter(worth).take(PARTS_MAX) {
            out.put(Field::GcPart, &named(name), at, *taken);
        }
        // Of the parts the fullest: a full old part stops a program though the young one is empty.
        let parts = self.heaps.iter().filter(|(_, size)| *size >= BYTES_MIN);
        let fullest = parts.reduce(|a, b| if b.0 / b.1 > a.0 / a.1 { b } else { a });
        if let Some((after, size)) = fullest.filter(|_| self.is_full()) {
            out.put(Field::GcHeapAfter, &java, at, *after);
            out.put(Field::GcHeapSize, &java, at, *size);
        }
    }
}

/// `6141M->6109M(6144M)` or `1.5G(2.0G)->1.0G(2.0G)`: bytes in use afterwards, and the size.
pub(super) fn heap(text: &str) -> Option<(f64, f64)> {
    let arrow = text.as_bytes().windows(2).position(|pair| pair == b"->")?;
    let (after, size) = text.get(arrow + 2..)?.split_once('(')?;
    Some((bytes(after)?, bytes(size.split(')').next()?)?))
}

/// A size with its unit, `512K` or `1.5GB`; without one in bytes.
pub(super) fn bytes(text: &str) -> Option<f64> {
    let (value, unit) = number_and_unit(text.trim())?;
    Some(value * binary_factor(unit.trim_end_matches('B'))?)
}

/// Texts in parentheses, the outermost ones: `System.gc()` of `Full GC (System.gc())`.
pub(super) fn in_parentheses(text: &str) -> Vec<&str> {
    let (mut found, mut depth, mut begin) = (Vec::new(), 0_u32, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => {
                begin = if depth == 0 { at + 1 } else { begin };
                depth += 1;
            }
            b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && at > begin {
                    found.extend(text.get(begin..at));
                }
            }
            _ => {}
        }
    }
    found
}

/// A shorter part of a pause is not reported.
const PART_MS_MIN: f64 = FELT_MS * PART_SHARE;

/// What a part of a pause is called, and its time, if that is one to tell: `Ref Proc: 71.3 ms`,
/// `Heap Dump, 37.2 secs`, `Object Copy (ms): Min: 1.0, Avg: 2.0, Max: 4.0`,
/// `Phase 4: Compact heap 12.1ms`.
pub(super) fn part(text: &str) -> Option<(String, f64)> {
    let text = text.trim();
    let workers = || text.split_once("(ms):").filter(|(name, _)| name.len() <= PART_NAME_MAX);
    let ms = match seconds_at_end(text) {
        Some(seconds) => seconds * 1e3,
        None if !text.contains("ms") => return None,
        None => match workers() {
            Some((_, workers)) => {
                let (_, longest) = workers.split_once("Max: ")?;
                number(longest.split(',').next()?.trim())?
            }
            None => milliseconds(text)?,
        },
    };
    if ms < PART_MS_MIN || BESIDE.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let name = match text.strip_prefix("Phase ") {
        Some(phase) => phase.split_once(": ")?.1,
        None => text,
    };
    let digits =
        |pair: &[u8]| pair[0].is_ascii_digit() && (pair[1].is_ascii_digit() || pair[1] == b'.');
    let time = name.as_bytes().windows(2).position(digits).unwrap_or(name.len());
    let mark = name.find(|c: char| ",:(".contains(c)).unwrap_or(name.len());
    let name = name.get(..time.min(mark))?.trim();
    // A short time in milliseconds has one digit before its point.
    let name = name
        .rsplit_once(' ')
        .filter(|(_, end)| number(end).is_some() || end.is_empty())
        .map_or(name, |(n, _)| n);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    (!name.is_empty()).then(|| (name.chars().take(PART_NAME_MAX).collect(), ms))
}

/// The number in front of a unit at a text's end, without what is glued before it.
fn number_before(text: &str) -> Option<f64> {
    let text = text.trim_end();
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let start = text.trim_end_matches(digits).len();
    number(text.get(start..)?.trim_start_matches([',', '.']))
}

/// `..., 0.0123 secs`.
pub(super) fn seconds_at_end(text: &str) -> Option<f64> {
    number_before(text.trim_end().strip_suffix("secs")?)
}

/// `..., 12.3ms`, `Parallel Time: 9.1 ms, GC Workers: 8`.
pub(super) fn milliseconds(text: &str) -> Option<f64> {
    // Most texts have none: that is seen much sooner than where it is.
    let text = Some(text).filter(|text| text.contains("ms"))?;
    let (before, _) = text.rsplit_once("ms").filter(|(_, rest)| !rest.starts_with('_'))?;
    number_before(before)
}

/// User and system time of `user=0.05 sys=0.90, real=0.95 secs`, or `User=0.05s Sys=0.90s`.
pub(super) fn cpu(text: &str, names: [&str; 2]) -> Option<(f64, f64)> {
    let mut found = [None; 2];
    for word in text.split_ascii_whitespace() {
        for (name, found) in names.iter().zip(&mut found) {
            let value = word.strip_prefix(name).map(|text| text.trim_end_matches([',', 's']));
            *found = value.and_then(number).map(|seconds| seconds * 1e3).or(*found);
        }
    }
    found[0].zip(found[1])
}
