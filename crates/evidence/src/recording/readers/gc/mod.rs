//! Logs of Java's garbage collection and safepoints: [`old`] before JDK 9 (`-XX:+PrintGCDetails`,
//! `-XX:+PrintGCApplicationStoppedTime`), [`unified`] since then (`-Xlog:gc*,safepoint`),
//! [`openj9`] of that machine, [`vendors`] of others. All give [`pause`]s. [`runtimes`] has the
//! pauses of other languages.

mod old;
pub(super) mod openj9;
mod pause;
pub(super) mod runtimes;
#[cfg(test)]
mod tests;
mod unified;
pub(super) mod vendors;

use super::prelude::*;
use old::Nested;
use unified::Collections;

/// The setting that names the version of Java.
const VERSION: &str = "java.version";

/// A time and on whose clock it is.
type Time = Option<(Stamp, Clock)>;

/// What old logs print outside brackets.
const NOTES: [&str; 10] = [
    "Memory: ",
    "CommandLine flags: ",
    "Application time: ",
    "Desired survivor size",
    "- age ",
    "AdaptiveSize",
    "PSAdaptiveSize",
    "PSYoungGen::",
    "Dumping heap to",
    "Heap dump file created",
];

/// What a line says. Times are in milliseconds.
#[derive(Debug)]
enum GcLine<'a> {
    /// Brackets of an old log.
    Brackets(&'a str),
    /// A message of unified logging.
    Message(&'a str),
    /// At a safepoint, and until all threads were there.
    Safepoint(f64, Option<f64>),
    /// What is done at the next safepoint.
    Work(&'a str),
    /// Which Java this is.
    Version(&'a str),
    /// Something else of such a log.
    Other,
}

/// Begins at a line of such a log that tells an event of its own.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0).trim_end();
    if !is_heap(line) {
        line_of_log(line)?;
    }
    // Lines of the program may stand between those of its log.
    Some(lines.resume(SourceKind::GcLog, GcLog::default(), out))
}

#[derive(Default)]
struct GcLog {
    /// Whether an event was seen.
    begun: bool,
    /// The clock of the first time; times of another one are left out.
    clock: Option<Clock>,
    nested: Nested,
    collections: Collections,
    /// The dump that is written at the safepoint.
    work: Option<&'static str>,
    /// Whether the lines of a heap's parts follow.
    heap: bool,
}

impl GcLog {
    /// Whether a line is of the parts of the heap, as they are printed around a collection.
    fn in_heap(&mut self, line: &str) -> bool {
        let head = is_heap(line) || line == "Heap";
        self.heap = head || self.heap && line.starts_with(' ');
        self.heap || line == "}" || line == "No shared spaces configured."
    }

    fn safepoint(&mut self, at: Option<Stamp>, all: f64, reach: Option<f64>, out: &mut Builder) {
        let java = Subject::process(None, "java");
        out.put(Field::Safepoint, &java, at, all);
        out.put_known(Field::SafepointReach, &java, at, reach);
        if let Some(work) = self.work.take() {
            out.put(Field::GcPart, &pause::named(work), at, all);
        }
    }

    fn at(&mut self, time: Time, out: &mut Builder) -> Option<Stamp> {
        if let (Some((_, clock)), None) = (time, self.clock) {
            self.clock = Some(clock);
            out.clock(clock);
        }
        time.filter(|(_, clock)| Some(*clock) == self.clock).map(|(stamp, _)| stamp)
    }
}

/// The work at a safepoint that is a dump, by the names of the machine's operations.
fn dump(text: &str) -> Option<&'static str> {
    const DUMPS: [(&str, &str); 3] = [
        ("HeapDumper", "Heap Dump"),
        ("GC_HeapInspection", "Class Histogram"),
        ("GC_Heap_Inspection", "Class Histogram"),
    ];
    DUMPS.iter().find(|(mark, _)| text.contains(mark)).map(|(_, name)| *name)
}

impl Reader for GcLog {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let line = line.trim_end();
        if line.is_empty() || self.in_heap(line) {
            return Taken::Yes;
        }
        let (time, said) = match line_of_log(line) {
            Some(found) => found,
            None if self.nested.is_open() && self.nested.goes_on(line) => {
                (None, GcLine::Brackets(line))
            }
            None if self.nested.has_ended() && is_detail(line) => (None, GcLine::Brackets(line)),
            None => match behind(line) {
                Some(text) => (None, GcLine::Brackets(text)),
                None => return Taken::No,
            },
        };
        let at = self.at(time, out);
        if !self.begun && !matches!(said, GcLine::Version(_)) {
            self.begun = true;
            // The head of the log says it better.
            let old = !matches!(said, GcLine::Message(_)) && unified(line).is_none();
            out.setting_unless_known(VERSION, if old { "8 or before" } else { "9 or later" });
        }
        match said {
            GcLine::Brackets(text) => {
                let rest = self.nested.line(at, text, out);
                // What is printed at a safepoint may come before the end of a line.
                if let Some(GcLine::Safepoint(all, reach)) = rest.and_then(stopped) {
                    self.safepoint(at, all, reach, out);
                }
            }
            GcLine::Work(name) => self.work = dump(name),
            GcLine::Message(text) => self.collections.message(at, text, out),
            GcLine::Safepoint(all, reach) => {
                self.work = self.work.or_else(|| dump(line));
                self.safepoint(at, all, reach, out);
            }
            GcLine::Version(name) => out.setting(VERSION, name),
            GcLine::Other => {}
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.nested.ends(out);
        self.collections.ends(out);
    }
}

/// A whole pause at the end of a line that a program has not ended.
fn behind(line: &str) -> Option<&str> {
    let text =
        line.strip_suffix("secs]").and_then(|text| text.find("[GC ").or(text.find("[Full GC ")));
    line.get(text?..).filter(|text| matches!(line_of_log(text), Some((_, GcLine::Brackets(_)))))
}

/// Whether a line may be a detail of a pause: those are set in, unless something was printed in
/// between, and then they stand behind a time of that.
fn is_detail(line: &str) -> bool {
    let (_, text) = old_time(line);
    let start = text.trim_start_matches([':', ' ']);
    let known = ["[Parallel Time", "[Times:", "[Eden", "[GC concurrent"];
    let set_in = start.len() < line.len() && start.starts_with('[');
    set_in || known.iter().any(|known| start.starts_with(known))
}

/// Whether parts of a heap follow.
fn is_heap(line: &str) -> bool {
    let line = line.trim_start_matches('{');
    line.starts_with("Heap before GC invocations=")
        || line.starts_with("Heap after GC invocations=")
}

/// Time and event of a line; `None` when it is no line of such a log by itself.
fn line_of_log(line: &str) -> Option<(Time, GcLine<'_>)> {
    if let Some(found) = unified(line) {
        return Some(found);
    }
    let (time, message) = old_time(line);
    let message = message.trim_start();
    let Some(inner) = message.strip_prefix('[') else {
        let said = match (version(message), stopped(message)) {
            (Some(name), _) => GcLine::Version(name),
            (_, Some(safepoint)) => safepoint,
            _ if NOTES.iter().any(|note| message.starts_with(note)) => GcLine::Other,
            _ => return None,
        };
        return Some((time, said));
    };
    let label = inner.split([' ', ':', ']']).next().unwrap_or_default();
    let beside = label.contains("CMS-concurrent") || inner.starts_with("GC concurrent");
    // Shenandoah, where it was ported to JDK 8.
    let shenandoah = inner.starts_with("Pause ") || inner.starts_with("Concurrent ");
    let collection = inner.starts_with("GC") || inner.starts_with("Full GC");
    let notes = time.is_some() && inner.starts_with("G1Ergonomics");
    // Other programs write `[GC` too: a time, or the pause and sizes, must be there.
    let sizes = inner.contains("->") || inner.contains(" secs]") || inner.contains('(');
    let known =
        beside || time.is_some() && shenandoah || notes || collection && (time.is_some() || sizes);
    known.then_some((time, GcLine::Brackets(message)))
}

/// `2020-12-26T00:12:28.123+0800` on the machine's own clock.
fn iso(text: &str) -> Option<Stamp> {
    let (day, time) = text.split_once('T')?;
    Some(joined(date(day)?, time_of_day(time.get(..8)?)?))
}

/// Whole seconds of an uptime such as `12.345`.
fn uptime(text: &str) -> Option<Stamp> {
    let (whole, fraction) = text.split_once(['.', ','])?;
    count(fraction)?;
    // No machine has been up for 100,000 years.
    count(whole).filter(|s| *s < 1 << 41).and_then(|s| i64::try_from(s).ok()).map(Stamp)
}

/// Longest time before a message: `2020-12-26T00:12:28.123+0800`, some bytes more.
const TIME_BYTES_MAX: usize = 40;

/// The times before a message of JDK 8: `DATE: UPTIME: #4: `, some of them or none. A time whose
/// date is known wins.
fn old_time(line: &str) -> (Time, &str) {
    let mut rest = line;
    let mut found = None;
    for _ in 0..3 {
        // No time is longer.
        let near = rest.as_bytes().iter().take(TIME_BYTES_MAX);
        let colon =
            near.zip(rest.as_bytes().iter().skip(1)).position(|pair| pair == (&b':', &b' '));
        let Some((head, after)) = colon.and_then(|at| rest.split_at_checked(at)) else { break };
        let after = after.get(2..).unwrap_or_default();
        if let Some(stamp) = iso(head) {
            found = Some((stamp, Clock::Local));
        } else if let Some(stamp) = uptime(head) {
            found = found.or(Some((stamp, Clock::Uptime)));
        } else if head.strip_prefix('#').and_then(count).is_none() {
            break;
        }
        rest = after;
    }
    (found, rest)
}

/// The version of Java in the head of a log: `... JRE (1.8.0_121-b13), built on ...`, or
/// `Version: 17.0.1+12-LTS`.
fn version(message: &str) -> Option<&str> {
    let vm = message.starts_with("Java HotSpot(TM) ") || message.starts_with("OpenJDK ");
    let old = if vm { message.split_once(" JRE (").map(|(_, rest)| rest) } else { None };
    let name = old.or_else(|| message.strip_prefix("Version: "))?;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"._".contains(c));
    name.get(..end.unwrap_or(name.len()))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
}

/// The line that JDK 8 to 16 print after each safepoint.
fn stopped(message: &str) -> Option<GcLine<'_>> {
    const START: &str = "Total time for which application threads were stopped: ";
    let rest = message.trim_start().strip_prefix(START)?;
    let (all, rest) = rest.split_once(" seconds")?;
    let reach = rest.split_once("Stopping threads took: ").and_then(|(_, text)| {
        let (word, _) = text.split_once(" seconds")?;
        number(word)
    });
    let all = number(all)?;
    Some(GcLine::Safepoint(all * 1000.0, reach.map(|seconds| seconds * 1000.0)))
}

/// Most milliseconds of an uptime: more of them are a date.
const UPTIME_MS_MAX: u64 = 100_000_000_000;

/// A line of unified logging: decorations in brackets, then the message, which is one of a
/// collection or of a safepoint.
fn unified(line: &str) -> Option<(Time, GcLine<'_>)> {
    let mut rest = line.trim_start();
    if !rest.starts_with('[') {
        return None;
    }
    let (mut time, mut tags, mut decorated) = (None, false, false);
    while let Some(inside) = rest.strip_prefix('[') {
        let (word, after) = inside.split_once(']')?;
        let word = word.trim();
        if let Some(stamp) = iso(word) {
            time = Some((stamp, Clock::Local));
        } else if let Some(stamp) = word.strip_suffix('s').and_then(uptime) {
            time = time.or(Some((stamp, Clock::Uptime)));
        } else if let Some(stamp) = word.strip_suffix("ms").and_then(count) {
            let seconds = i64::try_from(stamp / 1000).ok().filter(|_| stamp < UPTIME_MS_MAX);
            time = time.or(seconds.map(|stamp| (Stamp(stamp), Clock::Uptime)));
        } else if word.split(',').next().is_some_and(|tag| matches!(tag, "gc" | "safepoint")) {
            tags = true;
        }
        (rest, decorated) = (after, true);
        // The message begins behind a blank; decorations follow each other without one.
        if rest.starts_with(' ') && !rest.trim_start().starts_with('[') {
            break;
        }
    }
    let message = rest.trim();
    let found = stopped(message).or_else(|| safepoint(message)).filter(|_| decorated);
    let collection = unified::is_of_collection(message);
    let said = match found {
        Some(found) => found,
        None if message.starts_with("Entering safepoint region: ") => GcLine::Work(message),
        None if decorated && version(message).is_some() => GcLine::Version(version(message)?),
        None if collection => GcLine::Message(message),
        None if tags => GcLine::Other,
        None => return None,
    };
    Some((time, said))
}

/// `Safepoint "G1CollectForAllocation", Time since last: 1 ns, Reaching safepoint: 2 ns, ...`.
fn safepoint(message: &str) -> Option<GcLine<'_>> {
    let rest = message.strip_prefix("Safepoint \"")?;
    let part = |name: &str| {
        let (_, text) = rest.split_once(name)?;
        let (word, _) = text.trim_start().split_once(" ns")?;
        number(word).map(|nanoseconds| nanoseconds / 1e6)
    };
    Some(GcLine::Safepoint(part(" Total:")?, part(" Reaching safepoint:")))
}
