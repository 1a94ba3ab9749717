//! Unified logging, since JDK 9: decorations in brackets, then a message, mostly of a collection
//! with its number: `GC(3) Pause Young (Normal) 12M->3M(64M) 3.456ms`.

use super::pause::{Pause, cpu, heap, in_parentheses, milliseconds, named, part};
use crate::recording::readers::prelude::*;

/// Most parts of a pause.
const PARTS_MAX: usize = 64;

/// What stands in parentheses and is no cause.
const NO_CAUSES: [&str; 8] = [
    "Normal",
    "Mixed",
    "Prepare Mixed",
    "Concurrent Start",
    "Concurrent End",
    "Evacuation Failure",
    "unload classes",
    "process weakrefs",
];

/// What only collectors say that work beside the program.
const BESIDE: [&str; 4] = ["Init Mark", "(Normal)", "Mixed)", "(Concurrent Start)"];

/// Collections so far.
#[derive(Debug, Default)]
pub(super) struct Collections {
    /// The pause that ended last, with the number of its collection: its CPU times follow.
    last: Option<(u64, Pause)>,
    /// Of the collection of this number, before its pause has ended.
    before: (u64, Pause),
    /// Whether the collector is one that works beside the program and stops it for all of its
    /// work only where that does not do.
    beside: bool,
    /// The collection that last did something beside the program.
    concurrent: Option<u64>,
}

/// The number in `GC(3) `, and what follows it.
fn numbered(message: &str) -> Option<(u64, &str)> {
    let (id, rest) = message.strip_prefix("GC(")?.split_once(')')?;
    let rest = rest.strip_prefix(' ')?.trim_start();
    // Generational ZGC names the generation: `Y: Pause Mark Start`.
    let inner = rest.split_once(": ").filter(|(name, _)| name.len() == 1);
    Some((count(id)?, inner.map_or(rest, |(_, rest)| rest)))
}

/// Threads that waited for memory, or for an object that is moved: ZGC stops no others.
const STALLS: [&str; 2] = ["Allocation Stall (", "Relocation Stall ("];

/// Whether a message is one of a collection, or of a thread that waits for one.
pub(super) fn is_of_collection(message: &str) -> bool {
    numbered(message).is_some() || STALLS.iter().any(|stall| message.starts_with(stall))
}

impl Collections {
    pub(super) fn ends(&mut self, out: &mut Builder) {
        self.last.take().into_iter().for_each(|(_, pause)| pause.put(out));
    }

    /// A thread's wait for a collection.
    fn stall(&self, at: Option<Stamp>, message: &str, out: &mut Builder) {
        out.put_known(Field::GcTrouble, &named("allocation stall"), at, milliseconds(message));
    }

    /// A message of a collection.
    pub(super) fn message(&mut self, at: Option<Stamp>, message: &str, out: &mut Builder) {
        let Some((id, message)) = numbered(message) else {
            self.stall(at, message, out);
            return;
        };
        if self.before.0 != id {
            self.before = (id, Pause::default());
        }
        if message.starts_with("Concurrent ") || message.starts_with("Phase Concurrent") {
            self.concurrent = Some(id);
        } else if let Some(stopped) = message.strip_prefix("Pause ") {
            if let Some(ms) = stopped.rsplit(' ').next().and_then(milliseconds) {
                self.ends(out);
                self.concurrent = None;
                let before = std::mem::take(&mut self.before.1);
                let mut pause = paused(at, stopped, ms, before);
                self.beside |= pause.is_of_g1() || BESIDE.iter().any(|mark| stopped.contains(mark));
                if self.beside {
                    pause.falls_back();
                }
                self.last = Some((id, pause));
            }
        } else if message.starts_with("User=") {
            let last = self.last.as_mut().filter(|(last, _)| *last == id);
            if self.concurrent != Some(id)
                && let Some((_, pause)) = last
            {
                pause.cpu = cpu(message, ["User=", "Sys="]);
            }
        } else {
            let pause = match &mut self.last {
                Some((last, pause)) if *last == id => pause,
                _ => &mut self.before.1,
            };
            pause.notes(message);
            let room = PARTS_MAX.saturating_sub(pause.parts.len());
            pause.parts.extend(part(message).into_iter().take(room));
        }
    }
}

/// The pause that ended with `Young (Normal) (G1 Evacuation Pause) 12M->3M(64M) 3.456ms`.
fn paused(at: Option<Stamp>, text: &str, ms: f64, before: Pause) -> Pause {
    let named = in_parentheses(text.split("->").next().unwrap_or(text));
    let is_cause = |name: &&&str| !NO_CAUSES.iter().any(|no| name.starts_with(no));
    let cause = named.iter().rfind(is_cause);
    let words = text.split(' ').take_while(|word| {
        word.starts_with(|c: char| c.is_ascii_alphabetic()) && !word.contains("->")
    });
    let mut kind = words.collect::<Vec<_>>().join(" ");
    if named.contains(&"Mixed") {
        "Mixed".clone_into(&mut kind);
    }
    let word = text.split(' ').find(|word| word.contains("->"));
    let mut pause = Pause { at, ms, kind, ..before };
    pause.cause = cause.map(|cause| cause.chars().take(60).collect());
    pause.heaps.extend(word.and_then(heap));
    pause.notes(text);
    pause
}
