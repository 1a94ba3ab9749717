//! `LATENCY LATEST` and `LATENCY DOCTOR`: stalls that the server measured itself.

use super::super::served::redis;
use super::{integer, item, quoted, unix_time};
use crate::recording::readers::prelude::*;

/// Lines of the doctor that tell no event (`createLatencyReport` in latency.c of Redis 7.0).
const ADVICE: [&str; 6] =
    ["Dave, ", "I'm sorry, Dave", "I have a few advice", "- ", "While there are time", "You are "];

/// Names of events: `fork`, `aof-fsync-always`, `expire-cycle`.
fn is_event(name: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    begins && name.len() <= 40 && name.bytes().all(usual)
}

/// `1) 1) "command"`: an entry of the list.
fn listed(line: &str) -> Option<&str> {
    let (_, rest) = item(line)?;
    let (number, text) = item(rest)?;
    quoted(text).filter(|name| number == 1 && is_event(name))
}

/// Most stalls of one event that are put down, each with their mean.
const SPIKES_MAX: u64 = 10;

/// `2. fork: 5 latency spikes (average 300ms, ...`: an event, how many, and their mean.
fn told(line: &str) -> Option<(&str, u64, f64)> {
    let (place, rest) = line.trim_start().split_once(". ")?;
    let (name, rest) = rest.split_once(": ")?;
    let (spikes, rest) = rest.split_once(" latency spikes (average ")?;
    let (mean, _) = rest.split_once("ms")?;
    count(place)?;
    Some((name, count(spikes)?, number(mean)?)).filter(|(name, ..)| is_event(name))
}

/// A bare entry, where the client's output is no terminal.
fn bare(lines: &Lines<'_>) -> bool {
    let name = lines.ahead(0).trim();
    let is_number = |by: &usize| count(lines.ahead(*by).trim()).is_some();
    is_event(name) && unix_time(lines.ahead(1).trim()).is_some() && [2, 3].iter().all(is_number)
}

/// Begins at an entry, or at the doctor's greeting.
pub(in super::super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let list =
        listed(line).is_some() && item(lines.ahead(1)).is_some_and(|(_, i)| integer(i) > None);
    let doctor = told(line).is_some() || ADVICE[..2].iter().any(|start| line.starts_with(start));
    // What another command prints line by line looks much like it.
    let is_bare = bare(lines) && !out.meets(line);
    (list || doctor || is_bare).then(|| {
        lines.resume(
            SourceKind::RedisLatency,
            Latency { doctor, bare: is_bare, event: None, at: 0 },
            out,
        )
    })
}

struct Latency {
    doctor: bool,
    bare: bool,
    event: Option<String>,
    /// Which line of the entry comes next, from 0.
    at: usize,
}

impl Latency {
    fn put(&mut self, milliseconds: f64, out: &mut Builder) {
        let Some(event) = &self.event else { return };
        let part = Subject::part(&redis(out, None), event);
        // The latest comes before the worst.
        let field = if self.at > 3 { Field::LatencyWorst } else { Field::LatencyEvent };
        out.put(field, &part, None, milliseconds);
    }

    fn doctor(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some((name, spikes, mean)) = told(line) {
            for _ in 0..spikes.min(SPIKES_MAX) {
                self.event = Some(name.to_owned());
                self.put(mean, out);
            }
            let worst = line.split_once("Worst all time event ").map(|(_, rest)| rest);
            let worst = worst.and_then(|rest| number(rest.split("ms").next()?));
            let part = Subject::part(&redis(out, None), name);
            out.put_known(Field::LatencyWorst, &part, None, worst);
            return Taken::Yes;
        }
        if line.starts_with("- I detected a non zero amount of anonymous huge pages") {
            out.put(Field::HugeFound, &Subject::Service(redis(out, None)), None, 1.0);
        }
        let inner = line.starts_with("  ") && item(line).is_some();
        let advice = ADVICE.iter().any(|start| line.starts_with(start));
        if inner || advice { Taken::Yes } else { Taken::No }
    }

    #[expect(clippy::cast_precision_loss, reason = "milliseconds of one stall")]
    fn list(&mut self, line: &str, out: &mut Builder) -> Taken {
        let line = line.trim();
        let name = if self.bare {
            Some(line).filter(|l| is_event(l) && count(l).is_none())
        } else {
            listed(line)
        };
        if let Some(name) = name {
            (self.event, self.at) = (Some(name.to_owned()), 1);
            return Taken::Yes;
        }
        let value = match self.bare {
            true => count(line),
            false => item(line).and_then(|(_, rest)| integer(rest)),
        };
        let Some(value) = value.filter(|_| (1..=4).contains(&self.at)) else { return Taken::No };
        self.at += 1;
        // Its time, the latest, the worst.
        if self.at >= 3 {
            self.put(value as f64, out);
        }
        Taken::Yes
    }
}

impl Reader for Latency {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            return Taken::Yes;
        }
        if self.doctor { self.doctor(line, out) } else { self.list(line, out) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{all_understood, read, values};
    use super::*;

    fn stall(text: &str, event: &str) -> Vec<f64> {
        let recording = read(text);
        all_understood(&recording);
        values(&recording, Field::LatencyEvent, &Subject::part("redis", event))
    }

    #[test]
    fn lists_numbered_and_bare() {
        let list = [
            "1) 1) \"command\"",
            "   2) (integer) 1795477745",
            "   3) (integer) 497",
            "   4) (integer) 900",
            "2) 1) \"fork\"",
            "   2) (integer) 1795477745",
            "   3) (integer) 80",
            "   4) (integer) 81",
        ];
        let list = &list.join("\n");
        assert_eq!(stall(list, "command"), [497.0]);
        assert_eq!(stall(list, "fork"), [80.0]);
        let bare = "$ redis-cli latency latest | cat\ncommand\n1795477745\n497\n900\nfork\n\
                    1795477745\n80\n81\n";
        assert_eq!(stall(bare, "fork"), [80.0]);
    }

    #[test]
    fn the_doctor_in_full() {
        let spikes = "latency spikes (average";
        let text = [
            "Dave, I have observed latency spikes in this Redis instance. You don't mind",
            "",
            &format!("1. command: 5 {spikes} 300ms, mean deviation 120ms, period 73.40 sec)."),
            &format!("2. fork: 1 {spikes} 40ms, mean deviation 0ms). Fork rate is 10.20 GB/sec."),
            "",
            "I have a few advices for you:",
            "",
            "3. fork: 2 latency spikes (average 9ms). Worst all time event 90ms.",
            "- I detected a non zero amount of anonymous huge pages used by your process.",
            "- Check your Slow Log to understand what.",
            "- The system is slow to execute:",
            "  1) Lower the system load.",
        ];
        let text = &text.join("\n");
        assert_eq!(stall(text, "command"), [300.0; 5]);
        assert_eq!(stall(text, "fork"), [40.0, 9.0, 9.0]);
        let recording = read(text);
        let of = |field, subject: Subject| values(&recording, field, &subject);
        assert_eq!(of(Field::LatencyWorst, Subject::part("redis", "fork")), [90.0]);
        assert_eq!(of(Field::HugeFound, Subject::Service("redis".to_owned())), [1.0]);
        let calm = "Dave, no latency spike was observed during the lifetime of this Redis \
                    instance, not in the slightest bit. I honestly think you ought to sit down \
                    calmly, take a stress pill, and think things over.\n";
        assert!(stall(calm, "fork").is_empty());
    }
}
