//! Pauses for garbage collection of Go (`GODEBUG=gctrace=1`) and V8 (`--trace-gc`).

use super::super::prelude::*;

/// A collection: its pauses in milliseconds, and the megabytes in use afterwards.
struct Collection {
    program: &'static str,
    pauses: Vec<f64>,
    after: Option<f64>,
}

/// `gc 14 @3.211s 2%: 0.018+1.3+0.076 ms clock, 0.29+0.35/1.2/0.6+1.2 ms cpu, 4->4->1 MB, ...`: the
/// program stands still in the first and the last part.
fn go(line: &str) -> Option<Collection> {
    let (head, rest) = line.strip_prefix("gc ")?.split_once(": ")?;
    let (_, when) = head.split_once(" @")?;
    when.split_whitespace().next()?.strip_suffix('s').and_then(number)?;
    let (clock, rest) = rest.split_once(" ms clock, ")?;
    let parts: Option<Vec<f64>> = clock.split('+').map(number).collect();
    let pauses = match parts?.as_slice() {
        [sweep, .., mark] => vec![*sweep, *mark],
        _ => return None,
    };
    let sizes = rest.split(", ").find(|part| part.contains("->"))?;
    let after = sizes.split_whitespace().next()?.rsplit("->").next().and_then(number);
    Some(Collection { program: "go", pauses, after })
}

/// `[12:0x55] 72319 ms: Mark-sweep 2041.3 (2083.2) -> 2040.9 (2083.4) MB, 1510.5 / 0.0 ms ...`.
fn v8(line: &str) -> Option<Collection> {
    let (id, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    count(id.split(':').next()?)?;
    let (when, rest) = rest.trim_start().split_once(" ms: ")?;
    number(when)?;
    let known = ["Scavenge", "Mark-sweep", "Mark-Compact", "Minor Mark-", "Mark-compact"];
    if !known.iter().any(|kind| rest.starts_with(kind)) {
        return None;
    }
    let (_, after) = rest.split_once("-> ")?;
    let (sizes, time) = after.split_once(" MB, ")?;
    let pause = number(time.split_whitespace().next()?)?;
    let after = number(sizes.split_whitespace().next()?);
    Some(Collection { program: "node", pauses: vec![pause], after })
}

fn collection(line: &str) -> Option<Collection> {
    go(line).or_else(|| v8(line))
}

/// Begins at such a line.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    collection(lines.ahead(0))?;
    Some(lines.resume(SourceKind::RuntimeGc, Runtime, out))
}

struct Runtime;

impl Reader for Runtime {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let Some(found) = collection(line) else { return Taken::No };
        let subject = Subject::process(None, found.program);
        for pause in found.pauses {
            out.put(Field::RuntimePause, &subject, None, pause);
        }
        let bytes = found.after.map(|megabytes| megabytes * 1_048_576.0);
        out.put_known(Field::RuntimeHeapAfter, &subject, None, bytes);
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use crate::recording::readers::check::{all_understood, read, values};
    use crate::recording::{Field, Subject};

    #[test]
    fn go_stands_still_in_the_first_and_the_last_part() {
        let recording = read(
            "gc 3 @0.512s 4%: 0.020+2.5+1.5 ms clock, 0.1+0.2/1.1/0.3+0.4 ms cpu, 12->13->7 MB, \
             14 MB goal, 4 P\n",
        );
        all_understood(&recording);
        let go = Subject::process(None, "go");
        assert_eq!(values(&recording, Field::RuntimePause, &go), [0.02, 1.5]);
        assert_eq!(values(&recording, Field::RuntimeHeapAfter, &go), [7_340_032.0]);
    }

    #[test]
    fn v8_scavenges_and_compacts() {
        let recording = read(
            "[31:0x6a80]     4120 ms: Scavenge 25.2 (38.7) -> 24.5 (39.7) MB, 1.8 / 0.0 ms  \
             (average mu = 0.9, current mu = 0.9) allocation failure;\n\
             [31:0x6a80]     9120 ms: Mark-Compact (reduce) 990.1 (999.0) -> 512.0 (998.0) MB, \
             1204.5 / 0.0 ms  (average mu = 0.2, current mu = 0.1) last resort; GC in old space\n",
        );
        all_understood(&recording);
        let node = Subject::process(None, "node");
        assert_eq!(values(&recording, Field::RuntimePause, &node), [1.8, 1204.5]);
    }
}
