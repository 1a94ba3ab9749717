//! Logs of Java's garbage collection and safepoints: JDK 8 (`-XX:+PrintGCDetails`,
//! `-XX:+PrintGCApplicationStoppedTime`) and unified logging since JDK 9 (`-Xlog:gc*,safepoint`).

use super::prelude::*;

/// A time and on whose clock it is.
type Time = Option<(Stamp, Clock)>;

/// What a line says. Times are in milliseconds.
#[derive(Debug, PartialEq)]
enum Event {
    Pause(f64),
    /// CPU of the pause that ended last: user, system.
    Cpu(f64, f64),
    PauseAndCpu(f64, f64, f64),
    /// At a safepoint, and until all threads were there.
    Safepoint(f64, Option<f64>),
    /// Something else of the log: work beside the program, details, the beginning of a pause.
    Other,
    /// A pause whose end is on another line.
    Open,
}

/// Begins at a line of such a log that tells an event of its own.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    line_of_log(lines.ahead(0).trim_end())?;
    // Lines of the program may stand between those of its log.
    Some(lines.resume(SourceKind::GcLog, GcLog { clock: None, open: false, concurrent: None }, out))
}

struct GcLog {
    /// The clock of the first time; times of another one are left out.
    clock: Option<Clock>,
    /// Whether a pause of JDK 8 goes on over further lines.
    open: bool,
    /// Number of the collection that last did something beside the program.
    concurrent: Option<u64>,
}

impl GcLog {
    fn put(&mut self, at: Option<Stamp>, event: &Event, out: &mut Builder) {
        let subject = Subject::process(None, "java");
        let mut put = |field, value| out.put(field, &subject, at, value);
        match event {
            Event::Pause(pause) => put(Field::GcPause, *pause),
            Event::Cpu(user, system) => {
                put(Field::GcUser, *user);
                put(Field::GcSystem, *system);
            }
            Event::PauseAndCpu(pause, user, system) => {
                put(Field::GcPause, *pause);
                put(Field::GcUser, *user);
                put(Field::GcSystem, *system);
            }
            Event::Safepoint(all, reach) => {
                put(Field::Safepoint, *all);
                if let Some(reach) = reach {
                    put(Field::SafepointReach, *reach);
                }
            }
            Event::Other | Event::Open => {}
        }
    }
}

impl Reader for GcLog {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let line = line.trim_end();
        if line.is_empty() {
            return Taken::Yes;
        }
        // Details of an open pause are indented; its CPU times end it.
        if self.open && line.starts_with(char::is_whitespace) {
            if let Some((user, system)) = times(line) {
                self.open = false;
                self.put(None, &Event::Cpu(user, system), out);
            }
            return Taken::Yes;
        }
        let Some((time, event)) = line_of_log(line) else { return Taken::No };
        let id = collection(line);
        if event == Event::Other && line.contains(" Concurrent ") {
            self.concurrent = id;
        } else if matches!(event, Event::Pause(_)) {
            self.concurrent = None;
        } else if matches!(event, Event::Cpu(..)) && id.is_some() && id == self.concurrent {
            return Taken::Yes;
        }
        self.open = event == Event::Open || (self.open && !matches!(event, Event::Pause(_)));
        if line.contains("[GC pause") {
            // G1 of JDK 8: the pause is whole, its CPU times follow.
            self.open = matches!(event, Event::Pause(_) | Event::Open);
        }
        if let (Some((_, clock)), None) = (time, self.clock) {
            self.clock = Some(clock);
            out.clock(clock);
        }
        let at = time.filter(|(_, clock)| Some(*clock) == self.clock).map(|(stamp, _)| stamp);
        self.put(at, &event, out);
        if let (Event::Pause(_) | Event::PauseAndCpu(..), Some((after, size))) =
            (&event, full_heap(line))
        {
            let java = Subject::process(None, "java");
            out.put(Field::GcHeapAfter, &java, at, after);
            out.put(Field::GcHeapSize, &java, at, size);
        }
        Taken::Yes
    }
}

/// `6141M->6109M(6144M)`: bytes in use after a collection, and the size.
fn heap(word: &str) -> Option<(f64, f64)> {
    let (_, rest) = word.split_once("->")?;
    let (after, size) = rest.split_once('(')?;
    let bytes = |text: &str| {
        let (value, unit) = number_and_unit(text)?;
        Some(value * binary_factor(unit.trim_end_matches('B'))?)
    };
    Some((bytes(after)?, bytes(size.split(')').next()?)?))
}

/// Of a collection of the whole heap, the part of it that is fullest afterwards, but for the
/// classes': a full old part stops a program although the young one is empty.
fn full_heap(line: &str) -> Option<(f64, f64)> {
    /// A part below that size is none that matters.
    const BYTES_MIN: f64 = 16_777_216.0;
    if !line.contains("Full GC") && !line.contains("Pause Full") {
        return None;
    }
    let classes = ["[Metaspace", "[PSPermGen", "[CMS Perm", "[Perm"];
    let parts = classes.iter().filter_map(|name| line.find(name).map(|at| (at, name.len())));
    // The words behind their names.
    let skipped: Vec<&str> = parts
        .filter_map(|(at, length)| {
            line.get(at + length..)?.split_whitespace().find(|w| w.contains("->"))
        })
        .collect();
    let words = line.split([' ', '[', ']', ',']).filter(|word| word.contains("->"));
    let all = words.filter(|word| !skipped.iter().any(|other| other.starts_with(word)));
    let all = all.filter_map(heap).filter(|(_, size)| *size >= BYTES_MIN);
    all.reduce(|a, b| if b.0 / b.1 > a.0 / a.1 { b } else { a })
}

/// Time and event of a line; `None` when it is no line of such a log.
fn line_of_log(line: &str) -> Option<(Time, Event)> {
    if let Some(found) = unified(line) {
        return Some(found);
    }
    let (time, message) = old_time(line);
    old_event(message).map(|event| (time, event))
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

/// The times before a message of JDK 8: `DATE: UPTIME: `, one of them or none. A time wins whose
/// date is known.
fn old_time(line: &str) -> (Time, &str) {
    let mut rest = line;
    let mut found = None;
    for _ in 0..2 {
        let Some((head, after)) = rest.split_once(": ") else { break };
        if let Some(stamp) = iso(head) {
            found = Some((stamp, Clock::Local));
        } else if let Some(stamp) = uptime(head) {
            found = found.or(Some((stamp, Clock::Uptime)));
        } else {
            break;
        }
        rest = after;
    }
    (found, rest)
}

fn old_event(message: &str) -> Option<Event> {
    if let Some(event) = stopped(message) {
        return Some(event);
    }
    let message = message.trim_start();
    let concurrent =
        message.starts_with("[CMS-concurrent") || message.starts_with("[GC concurrent");
    if concurrent {
        return Some(Event::Other);
    }
    if message.starts_with("Application time: ") {
        return Some(Event::Other);
    }
    // Other programs write `[GC` too: the pause or the sizes must follow.
    if !message.starts_with("[GC") && !message.starts_with("[Full GC") {
        return None;
    }
    let cpu = times(message);
    let collected = message.split(" [Times:").next().unwrap_or(message);
    match (last_seconds(collected), cpu) {
        (Some(pause), Some((user, system))) => Some(Event::PauseAndCpu(pause, user, system)),
        (Some(pause), None) => Some(Event::Pause(pause)),
        (None, _) => collected.contains('(').then_some(Event::Open),
    }
}

/// `..., 0.0123 secs]` at the end, in milliseconds.
fn last_seconds(text: &str) -> Option<f64> {
    let head = text.trim_end().strip_suffix(']')?.trim_end().strip_suffix(" secs")?;
    let word = head.rsplit([' ', ',']).next()?;
    // A decimal comma: the whole part is before it.
    let whole = head.strip_suffix(word)?.strip_suffix(',');
    let comma = whole.and_then(|before| before.rsplit(' ').next());
    let value = match comma.filter(|part| count(part).is_some()) {
        Some(part) => number(&format!("{part}.{word}"))?,
        None => number(word)?,
    };
    Some(value * 1000.0)
}

/// `[Times: user=0.05 sys=0.90, real=0.95 secs]`: user and system in milliseconds.
fn times(text: &str) -> Option<(f64, f64)> {
    let (_, inside) = text.split_once("[Times: ")?;
    named_cpu(inside, "user=", "sys=")
}

fn named_cpu(text: &str, user: &str, system: &str) -> Option<(f64, f64)> {
    let value = |name: &str| {
        let word = text.split_whitespace().find_map(|word| word.strip_prefix(name))?;
        number(word.trim_end_matches([',', 's'])).map(|seconds| seconds * 1000.0)
    };
    Some((value(user)?, value(system)?))
}

/// The line that JDK 8 to 16 print after each safepoint.
fn stopped(message: &str) -> Option<Event> {
    const START: &str = "Total time for which application threads were stopped: ";
    let rest = message.trim_start().strip_prefix(START)?;
    let (all, rest) = rest.split_once(" seconds")?;
    let reach = rest.split_once("Stopping threads took: ").and_then(|(_, text)| {
        let (word, _) = text.split_once(" seconds")?;
        number(word)
    });
    let all = number(all)?;
    Some(Event::Safepoint(all * 1000.0, reach.map(|seconds| seconds * 1000.0)))
}

/// A line of unified logging: decorations in brackets, among them tags, then the message.
fn unified(line: &str) -> Option<(Time, Event)> {
    let mut rest = line.trim_start();
    let (mut time, mut tags) = (None, None);
    while let Some(inside) = rest.strip_prefix('[') {
        let (word, after) = inside.split_once(']')?;
        let word = word.trim();
        if let Some(stamp) = iso(word) {
            time = Some((stamp, Clock::Local));
        } else if let Some(stamp) = word.strip_suffix('s').and_then(uptime) {
            time = time.or(Some((stamp, Clock::Uptime)));
        } else if let Some(stamp) = word.strip_suffix("ms").and_then(count) {
            let seconds = i64::try_from(stamp / 1000).ok().map(Stamp);
            time = time.or(seconds.map(|stamp| (stamp, Clock::Uptime)));
        } else if word.split(',').next().is_some_and(|tag| matches!(tag, "gc" | "safepoint")) {
            tags = Some(word);
        }
        rest = after;
        // The message begins behind a blank; decorations follow each other without one.
        if rest.starts_with(' ') && tags.is_some() {
            break;
        }
    }
    let (tags, message) = (tags?, rest.trim());
    if tags.starts_with("safepoint") {
        return Some((
            time,
            stopped(message).or_else(|| safepoint(message)).unwrap_or(Event::Other),
        ));
    }
    let message = after_collection(message);
    let start = tags.split(',').any(|tag| tag.trim() == "start");
    let event = if message.starts_with("Pause ") && !start {
        pause(message).map(Event::Pause)
    } else if tags.split(',').any(|tag| tag.trim() == "cpu") {
        named_cpu(message, "User=", "Sys=").map(|(user, system)| Event::Cpu(user, system))
    } else {
        None
    };
    Some((time, event.unwrap_or(Event::Other)))
}

/// `Pause Young (Normal) 12M->3M(64M) 3.456ms`.
fn pause(message: &str) -> Option<f64> {
    number(message.rsplit(' ').next()?.strip_suffix("ms")?)
}

/// The number in `GC(3)`.
fn collection(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("GC(")?;
    count(rest.split(')').next()?)
}

fn after_collection(message: &str) -> &str {
    let rest = message.strip_prefix("GC(").and_then(|rest| rest.split_once(") "));
    let rest = rest.map_or(message, |(_, rest)| rest.trim_start());
    // Generational ZGC names the generation: `Y: Pause Mark Start`.
    rest.split_once(": ").filter(|(name, _)| name.len() == 1).map_or(rest, |(_, rest)| rest)
}

/// `Safepoint "G1CollectForAllocation", Time since last: 1 ns, Reaching safepoint: 2 ns, ...`.
fn safepoint(message: &str) -> Option<Event> {
    let rest = message.strip_prefix("Safepoint \"")?;
    let part = |name: &str| {
        let (_, text) = rest.split_once(name)?;
        let (word, _) = text.trim_start().split_once(" ns")?;
        number(word).map(|nanoseconds| nanoseconds / 1e6)
    };
    Some(Event::Safepoint(part(" Total:")?, part(" Reaching safepoint:")))
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    fn java(recording: &crate::recording::Recording, field: Field) -> Vec<f64> {
        values(recording, field, &Subject::process(None, "java"))
    }

    fn near(found: &[f64], wanted: &[f64]) {
        let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close && found.len() == wanted.len(), "{found:?} {wanted:?}");
    }

    #[test]
    fn jdk_8_with_dates() {
        let recording = read(
            "2020-12-26T00:12:28.123+0800: 12.345: [GC (Allocation Failure) [PSYoungGen: \
            65536K->10720K(76288K)] 65536K->10728K(251392K), 0.0123456 secs] [Times: user=0.05 \
            sys=0.90, real=0.95 secs]\n\
             2020-12-26T00:12:29.000+0800: 13.222: Total time for which application threads were \
             stopped: 3.1000000 seconds, Stopping threads took: 0.0001000 seconds\n\
             2020-12-26T00:12:30.000+0800: 14.222: [CMS-concurrent-mark: 0.100/0.100 secs] \
             [Times: user=9.99 sys=9.99, real=0.10 secs]\n\
             2020-12-26T00:12:31.000+0800: 15.222: [Full GC (Ergonomics) 1K->1K(2K), 0,5000000 \
             secs]\n",
        );
        all_understood(&recording);
        near(&java(&recording, Field::GcPause), &[12.3456, 500.0]);
        near(&java(&recording, Field::GcSystem), &[900.0]);
        near(&java(&recording, Field::Safepoint), &[3100.0]);
        near(&java(&recording, Field::SafepointReach), &[0.1]);
        assert_eq!(recording.sources[0].clock, Clock::Local);
        let subject = Subject::process(None, "java");
        let point = recording.hosts[0].series(Field::GcPause, &subject).expect("it").points[0];
        assert_eq!(point.at.expect("a time").to_string(), "2020-12-26 00:12:28");
    }

    #[test]
    fn what_full_collections_leave() {
        let mib = 1_048_576.0;
        for (line, wanted) in [
            (
                "[9.1s][info][gc] GC(7) Pause Full (G1 Compaction Pause) 6141M->6109M(6144M) 4.5ms",
                Some((6109.0 * mib, 6144.0 * mib)),
            ),
            (
                "12.3: [Full GC (Ergonomics) [PSYoungGen: 102400K->0K(204800K)] [ParOldGen: \
                 1048000K->1047552K(1048576K)] 1150400K->1047552K(1253376K), [Metaspace: \
                 35000K->35000K(35100K)], 1.5 secs]",
                Some((1023.0 * mib, 1024.0 * mib)),
            ),
            ("[9.1s][info][gc] GC(8) Pause Young (Normal) 6141M->6109M(6144M) 4.5ms", None),
            ("[9.1s][info][gc] GC(9) Pause Full (System.gc()) 3M->1M(8M) 1.5ms", None),
        ] {
            assert_eq!(full_heap(line), wanted, "{line}");
        }
        let log = "[9.1s][info][gc] GC(7) Pause Full (X) 6141M->6109M(6144M) 4.5ms\n";
        let after = java(&read(log), Field::GcHeapAfter);
        near(&after, &[6109.0 * mib]);
    }

    #[test]
    fn g1_of_jdk_8_over_several_lines() {
        let recording = read(
            "1.500: [GC pause (G1 Evacuation Pause) (young), 0.0456 secs]\n   \
             [Parallel Time: 40.0 ms, GC Workers: 4]\n   [Eden: 24.0M(24.0M)->0.0B(13.0M)]\n \
             [Times: user=0.10 sys=0.02, real=0.05 secs]\n\
             2.000: [GC concurrent-root-region-scan-start]\nhello from the program\n\
             2.500: [GC remark, 0.0100 secs]\n",
        );
        near(&java(&recording, Field::GcPause), &[45.6, 10.0]);
        near(&java(&recording, Field::GcUser), &[100.0]);
        assert_eq!(recording.sources.len(), 1);
        assert_eq!(recording.sources[0].clock, Clock::Uptime);
        assert_eq!(recording.unrecognised[0].start, "hello");
    }

    #[test]
    fn unified_logging() {
        let recording = read(
            "[2026-11-22T03:43:10.123+0000][12.345s][info][gc,start    ] GC(3) Pause Young \
            (Normal) (G1 Evacuation Pause)\n\
             [2026-11-22T03:43:10.123+0000][12.345s][info][gc          ] GC(3) Pause Young \
             (Normal) (G1 Evacuation Pause) 12M->3M(64M) 3.456ms\n\
             [2026-11-22T03:43:10.123+0000][12.345s][info][gc,cpu      ] GC(3) User=0.05s \
             Sys=0.90s Real=0.95s\n\
             [2026-11-22T03:43:10.123+0000][12.345s][info][safepoint   ] Safepoint \
             \"G1CollectForAllocation\", Time since last: 1000 ns, Reaching safepoint: 2500000 \
             ns, Cleanup: 5 ns, At safepoint: 500000 ns, Total: 3000005 ns\n\
             [2026-11-22T03:43:11.123+0000][13.345s][info][gc          ] GC(4) Concurrent Mark \
             Cycle 10.0ms\n\
             [2026-11-22T03:43:11.123+0000][13.345s][info][gc,cpu      ] GC(4) User=9.05s \
             Sys=9.90s Real=0.95s\n",
        );
        all_understood(&recording);
        near(&java(&recording, Field::GcPause), &[3.456]);
        near(&java(&recording, Field::GcSystem), &[900.0]);
        near(&java(&recording, Field::Safepoint), &[3.000_005]);
        near(&java(&recording, Field::SafepointReach), &[2.5]);
    }

    #[test]
    fn pauses_of_zgc_are_phases() {
        let recording = read(
            "[0.500s][info][gc,phases] GC(0) Y: Pause Mark Start 0.012ms\n\
             [0.501s][info][gc,phases] GC(0) Y: Concurrent Mark 5.000ms\n\
             [0.502s][info][gc,phases] GC(1) Pause Mark End 0,020ms\n",
        );
        all_understood(&recording);
        near(&java(&recording, Field::GcPause), &[0.012, 0.02]);
    }

    #[test]
    fn uptime_only_and_the_sentence_of_jdk_11() {
        let recording = read(
            "[0.521s][info][safepoint] Application time: 0.1 seconds\n\
             [1.521s][info][safepoint] Total time for which application threads were stopped: \
             0.0012 seconds, Stopping threads took: 0.0010 seconds\n",
        );
        near(&java(&recording, Field::Safepoint), &[1.2]);
        assert_eq!(recording.sources[0].clock, Clock::Uptime);
        let subject = Subject::process(None, "java");
        let point = recording.hosts[0].series(Field::Safepoint, &subject).expect("it").points[0];
        assert_eq!(point.at, Some(Stamp(1)));
    }
}
