//! Logs of Java machines of one line a collection, or a few: `JRockit`, IBM's before 5.0, HP's.
//! What their lines look like is a table.

use std::sync::LazyLock;

use super::pause::{Pause, bytes};
use crate::recording::readers::kernel_log::date_and_time;
use crate::recording::readers::prelude::*;

/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// A pause, whole.
    Pause,
    /// The program stops, and what for.
    Stops(&'static str),
    /// A collection, in a pause or alone.
    Collection,
    /// Its parts.
    Parts,
    /// It continues.
    GoesOn,
}

/// Lines: fixed text, and holes that reach up to the next fixed text. Of several that fit the first
/// counts. `{_}` may be anything; `{after}` and `{heap}` are sizes with a unit, `{ms}` is a time.
const FORMS: [(&str, Meaning); 15] = [
    // JRockit since 1.5; a sum of the pauses of a collection is no pause where there were several.
    ("{at}-{_}: {kind}->{after} ({heap}){_}longest pause {ms} ms", Meaning::Pause),
    ("{at}-{_}: {kind}->{after} ({heap}){_}sum of pauses {ms} ms", Meaning::Pause),
    ("{at}-{_}: {kind}->{after} ({heap}), {ms} ms", Meaning::Pause),
    ("{at}: {kind}->{after} ({heap}), {ms} ms", Meaning::Pause),
    // IBM's and the classic machine.
    ("<AF{_}: Allocation Failure.", Meaning::Stops("Allocation Failure")),
    ("<CON{_}: Concurrent collection,", Meaning::Stops("Concurrent collection")),
    ("<GC{_}: GC cycle started {date}", Meaning::Stops("")),
    ("<GC{_}: freed {_} bytes in {ms} ms, {_}% free ({free}/{heap})", Meaning::Collection),
    ("<GC{_}: freed {_} bytes, {_}% free ({free}/{heap}), in {ms} ms", Meaning::Collection),
    ("<GC{_}: mark: {mark} ms, sweep: {sweep} ms, compact: {compact} ms", Meaning::Parts),
    ("<AF{_}: completed in {ms} ms", Meaning::GoesOn),
    ("<CON{_}: completed in {ms} ms", Meaning::GoesOn),
    // HP's: kind, uptime, number, bytes wanted, age, and before, after and size of eden, survivors,
    // old and permanent part; seconds. A later one has the reason, and the CPU time.
    (
        "<GC: {_} {at} {_} {_} {_} {_} {_} {_} {_} {_} {_} {_} {after} {heap} {_} {_} {_} {s} >",
        Meaning::Pause,
    ),
    (
        "<GC: {_} {_}  {at} {_} {_} {_} {_} {_} {_} {_} {_} {_} {_} {after} {heap} {_} {_} {_} {s} \
         {_} >",
        Meaning::Pause,
    ),
    ("<GC: {date}", Meaning::Stops("")),
];

/// A hole, and the fixed text around it; the one behind it may be empty at the end of a form.
struct Hole {
    before: &'static str,
    name: &'static str,
    behind: &'static str,
}

/// The forms in pieces.
static PIECES: LazyLock<Vec<(Vec<Hole>, Meaning)>> = LazyLock::new(|| {
    let holes = |form: &'static str| {
        let mut before = form.split('}').map(|piece| piece.split_once('{').unwrap_or((piece, "")));
        let mut all: Vec<Hole> = Vec::new();
        let mut open = before.next();
        while let Some((text, name)) = open.filter(|(_, name)| !name.is_empty()) {
            open = before.next();
            let behind = open.map_or("", |(text, _)| text);
            all.push(Hole { before: if all.is_empty() { text } else { "" }, name, behind });
        }
        all
    };
    FORMS.iter().map(|(form, meaning)| (holes(form), *meaning)).collect()
});

/// What stands in the holes of a form that are no `{_}`, by their names, if a text has that form:
/// where the number of a hole is none, it has not.
fn fill<'a>(holes: &[Hole], text: &'a str, found: &mut Vec<(&'static str, &'a str)>) -> bool {
    found.clear();
    let mut text = text;
    for hole in holes {
        // A call to compare nothing takes longer than what is compared elsewhere.
        let first = !hole.before.is_empty();
        let rest = if first { text.strip_prefix(hole.before) } else { Some(text) };
        let Some(rest) = rest else { return false };
        let end = match hole.behind.as_bytes() {
            [] => Some(rest.len()),
            [one] => rest.bytes().position(|byte| byte == *one),
            _ => rest.find(hole.behind),
        };
        let Some((inside, rest)) = end.and_then(|end| rest.split_at_checked(end)) else {
            return false;
        };
        let numeric = matches!(hole.name, "ms" | "s" | "at");
        if numeric && number(inside.trim()).is_none() {
            return false;
        }
        if hole.name != "_" {
            found.push((hole.name, inside));
        }
        text = rest.get(hole.behind.len()..).unwrap_or_default();
    }
    true
}

/// Kinds by the words of `JRockit`.
const KINDS: [(&str, &str); 4] =
    [("ursery", "Young"), ("YC", "Young"), ("OC", "Full"), ("GC", "Full")];

/// What a line says of a pause, and what it means.
fn said(message: &str) -> Option<(Pause, Meaning)> {
    let mut holes = Vec::new();
    let (_, meaning) = PIECES.iter().find(|(form, _)| fill(form, message, &mut holes))?;
    let mut pause = Pause::default();
    let (mut after, mut free, mut size) = (None, None, None);
    for (name, text) in holes {
        match name {
            "at" => pause.at = super::uptime(text),
            "date" => pause.at = date_and_time(text),
            "ms" => pause.ms = number(text)?,
            "s" => pause.ms = number(text.trim())? * 1e3,
            "after" => after = bytes(text),
            "free" => free = bytes(text),
            "heap" => size = bytes(text),
            "kind" => {
                let (_, kind) = KINDS.iter().find(|(word, _)| text.contains(word))?;
                (*kind).clone_into(&mut pause.kind);
            }
            part => pause.parts.extend(number(text).map(|ms| (part.to_owned(), ms))),
        }
    }
    let after = after.or_else(|| Some(size? - free?));
    pause.heaps.extend(after.zip(size));
    Some((pause, *meaning))
}

/// The message behind the decorations of a line of `JRockit`, `[memory ][DATE][PID] [OC#3] `, with
/// the time in them, if one of them names the part of the log.
fn undecorated(line: &str) -> Option<(Option<Stamp>, &str)> {
    let (mut rest, mut at, mut named) = (line, None, false);
    while let Some((inside, after)) = rest.strip_prefix('[').and_then(|text| text.split_once(']')) {
        named |= matches!(inside.trim_end(), "memory" | "gcpause" | "nursery");
        at = at.or_else(|| Some(inside).filter(|text| text.contains(':')).and_then(date_and_time));
        rest = after.trim_start();
    }
    named.then_some((at, rest))
}

/// Begins at a line of such a log.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0).trim();
    // Other logs have parts of these names too: one line says it all, or one soon after.
    let near = (0..LINES_AROUND).map(|by| lines.ahead(by).trim());
    let decorated = undecorated(line).is_some() && {
        let mut messages = near.filter_map(undecorated);
        messages.any(|(_, text)| said(text).is_some())
    };
    let known = decorated || line.starts_with('<') && said(line).is_some();
    known.then(|| lines.resume(SourceKind::GcLog, Vendors::default(), out))
}

#[derive(Default)]
struct Vendors {
    /// The clock of the first time; times of another one are left out.
    clock: Option<Clock>,
    /// Stopped, and not known to continue.
    stopped: Option<Pause>,
}

impl Vendors {
    fn put(&mut self, out: &mut Builder) {
        let stopped = self.stopped.take().filter(|pause| pause.ms > 0.0);
        stopped.into_iter().for_each(|pause| pause.put(out));
    }

    /// The program stops, if it has not yet: a collection may be one of several in a pause with a
    /// cause, and is a pause by itself where nothing was said before it.
    fn stops(&mut self, found: Pause, out: &mut Builder) {
        let goes_on = |open: &&mut Pause| open.cause.is_some() || open.ms == 0.0;
        match self.stopped.as_mut().filter(goes_on).filter(|_| found.cause.is_none()) {
            Some(open) => open.at = open.at.or(found.at),
            None => {
                self.put(out);
                self.stopped = Some(found);
            }
        }
    }

    /// What a line says, with the time before it.
    fn event(
        &mut self,
        mut found: Pause,
        meaning: Meaning,
        date: Option<Stamp>,
        out: &mut Builder,
    ) {
        found.at = date.or(found.at);
        if let (Some(at), None) = (found.at, self.clock) {
            let clock = if at.has_date() { Clock::Local } else { Clock::Uptime };
            self.clock = Some(clock);
            out.clock(clock);
        }
        found.at = found.at.filter(|at| at.has_date() == (self.clock == Some(Clock::Local)));
        match meaning {
            Meaning::Pause => found.put(out),
            Meaning::Stops(cause) => {
                found.cause = Some(cause.to_owned()).filter(|cause| !cause.is_empty());
                self.stops(found, out);
            }
            Meaning::Collection => {
                self.stops(Pause::default(), out);
                let Some(open) = &mut self.stopped else { return };
                open.ms += found.ms;
                "Full".clone_into(&mut open.kind);
                open.heaps = found.heaps;
            }
            Meaning::Parts => {
                let Some(open) = &mut self.stopped else { return };
                open.parts = found.parts;
            }
            Meaning::GoesOn => {
                let Some(open) = &mut self.stopped else { return };
                open.ms = found.ms.max(open.ms);
                self.put(out);
            }
        }
    }
}

impl Reader for Vendors {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let line = line.trim();
        let (date, message) = match undecorated(line) {
            Some(found) => found,
            None if line.is_empty() => return Taken::Yes,
            None if ["<AF", "<GC", "<CON", "<  Stop"]
                .iter()
                .any(|start| line.starts_with(start)) =>
            {
                (None, line)
            }
            None => return Taken::No,
        };
        if let Some((pause, meaning)) = said(message) {
            self.event(pause, meaning, date, out);
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.put(out);
    }
}

#[cfg(test)]
mod tests {
    use crate::recording::readers::check::{all_understood, read, values};
    use crate::recording::{Field, Subject};

    #[test]
    fn a_line_or_a_few_are_a_pause() {
        for (text, wanted) in [
            (
                "[memory ] GC strategy: parallel\n[memory ] 3.250-3.500: GC 900K->300K (2048K), \
                 250.125 ms\n[memory ] 7.000: Nursery GC 700K->400K (2048K), 12.5 ms\n",
                vec![250.125, 12.5],
            ),
            (
                "[INFO ][memory ] [OC#1] 4.5-4.9: OC 700KB->300KB (900KB), 0.4 s, sum of pauses \
                 90.5 ms, longest pause 70.25 ms.\n",
                vec![70.25],
            ),
            (
                "<AF[1]: Allocation Failure. need 64 bytes, 7 ms since last AF or CON>\n\
                 <AF[1]: managing allocation failure, action=1 (0/900) (30/30)>\n  <GC(1): GC \
                 cycle started Tue Jan  7 08:09:10 2003\n  <GC(1): freed 500 bytes, 55% free \
                 (500/900), in 1200 ms>\n  <GC(1): mark: 1100 ms, sweep: 90 ms, compact: 10 ms>\n\
                 <AF[1]: completed in 1250 ms>\n\n<GC(2): GC cycle started Tue Jan  7 08:10:10 \
                 2003\n\
                 <GC(2): freed 5 bytes, 50% free (450/900), in 30 ms>\n",
                vec![1250.0, 30.0],
            ),
            ("<GC: freed 70 objects, 900 bytes in 8 ms, 70% free (70/100)>\n", vec![8.0]),
            (
                "<GC: 1 9.250 1 64 32 90 0 100 0 0 20 30 40 200 7 7 9 0.125 >\n\
                 <GC: 2 1  9.750 2 64 32 90 0 100 0 0 20 30 40 200 7 7 9 1.5 1.25 >\n",
                vec![125.0, 1500.0],
            ),
        ] {
            let recording = read(text);
            all_understood(&recording);
            let java = Subject::process(None, "java");
            assert_eq!(values(&recording, Field::GcPause, &java), wanted, "{text}");
        }
    }
}
