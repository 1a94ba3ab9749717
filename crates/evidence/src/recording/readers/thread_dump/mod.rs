//! Thread dumps. Of Java: what `jstack`, `jcmd PID Thread.print` and SIGQUIT print, from Java 8 on,
//! several after one another, and among the lines of a program's log. Of Go ([`go`]): what its
//! runtime prints of all goroutines.
//!
//! Of a dump only counts and names of classes, methods and pools are recorded: never arguments, nor
//! what a program writes into the names of its threads about its clients.

mod activity;
mod dump;
pub(super) mod go;
mod json;
mod known;
mod line;
mod name;

pub(super) use json::read as read_json;

use self::activity::Stack;
use self::dump::Dump;
use self::line::{DumpLine, First};
use super::{Lines, Reader, Taken};
use crate::recording::{Builder, SourceKind};

/// Most lines of something else in a row that do not end a dump: other threads of the program may
/// write to the same log meanwhile.
const STRANGERS_MAX: usize = 50;

/// Whether a dump begins in the first of these lines: its heading, or what stands right above that.
fn starts(lines: &[&str]) -> bool {
    let ahead = |by: usize| lines.get(by).copied().unwrap_or_default();
    match line::read(ahead(0)) {
        Some(DumpLine::Heading) => true,
        Some(DumpLine::At(_)) => line::is_heading(ahead(1)),
        Some(DumpLine::Pid(_)) => {
            line::is_heading(ahead(1)) || line::is_heading(ahead(2)) || line::is_file(lines)
        }
        // A part of a dump: a thread with its state, or one behind another.
        Some(DumpLine::First(_)) => (1..=2).any(|by| {
            matches!(line::read(ahead(by)), Some(DumpLine::State(_) | DumpLine::First(_)))
        }),
        _ => false,
    }
}

/// Begins at the heading of a dump, or at a thread.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let near = [0, 1, 2, 3, 4].map(|by| lines.ahead(by));
    if !starts(&near) {
        return None;
    }
    out.resume(SourceKind::ThreadDump, lines.number());
    // Its time stands above its heading.
    let above = lines.above(1).filter(|_| line::is_heading(near[0]));
    let at = above.and_then(line::at);
    let pid = asked(out.latest_command());
    Some(Box::new(Threads { pid, dump: Dump::of_java(at), ..Threads::default() }))
}

/// The process whose threads the last command asked for.
fn asked(command: &str) -> Option<u32> {
    let mut words = command.split([';', '|', '&', ' ']).filter(|word| !word.is_empty());
    let tool = |word: &&str| {
        ["jstack", "jcmd", "kill"].contains(&word.rsplit('/').next().unwrap_or_default())
    };
    words.find(tool)?;
    words.take_while(|word| !word.starts_with('>')).find_map(|word| word.parse().ok())
}

/// A thread's first line, kept until its others are read.
struct Open {
    name: String,
    first: First<'static>,
    stack: Stack,
}

#[derive(Default)]
struct Threads {
    dump: Dump,
    open: Option<Open>,
    pid: Option<u32>,
    /// Lines of something else: all, and since the last of the dump.
    strangers: usize,
    in_a_row: usize,
}

impl Threads {
    fn close(&mut self) {
        if let Some(Open { name, first, stack }) = self.open.take() {
            self.dump.thread(&First { name: &name, ..first }, stack);
        }
    }

    fn thread(&mut self, first: &First<'_>) {
        self.close();
        let name = first.name.to_owned();
        let First { cpu_ms, elapsed_ms, tid, is_java, .. } = *first;
        let first = First { name: "", cpu_ms, elapsed_ms, tid, is_java };
        self.open = Some(Open { name, first, stack: Stack::default() });
    }

    /// The stack that is read.
    fn stack(&mut self) -> Option<&mut Stack> {
        self.open.as_mut().map(|open| &mut open.stack)
    }

    /// What the line says, within the dump that is read.
    fn said(&mut self, line: DumpLine<'_>, out: &mut Builder) {
        match line {
            DumpLine::At(at) => {
                self.end(out);
                self.dump.at = Some(at);
            }
            DumpLine::Pid(pid) => {
                self.end(out);
                self.pid = Some(pid);
            }
            DumpLine::Heading if !self.dump.is_empty() || self.open.is_some() => self.end(out),
            DumpLine::First(first) => self.thread(&first),
            DumpLine::Numbered(first, state) => {
                self.thread(&first);
                if let Some(stack) = self.stack() {
                    stack.state = state;
                }
            }
            DumpLine::State(state) => {
                if let Some(stack) = self.stack() {
                    stack.state = Some(state);
                }
            }
            DumpLine::Frame(frame) => {
                if let Some(stack) = self.stack() {
                    stack.frame(frame);
                }
            }
            DumpLine::Object(relation, object) => {
                if let Some(stack) = self.stack() {
                    stack.object(relation, object);
                }
            }
            DumpLine::Deadlock => {
                self.close();
                self.dump.deadlock();
            }
            DumpLine::Member(name) => self.dump.member(name),
            // What follows is another listing, or the list of deadlocks.
            DumpLine::End => self.close(),
            DumpLine::Heading | DumpLine::Owns | DumpLine::Known | DumpLine::Blank => {}
        }
    }
}

/// How lines of logs begin that have no time in front.
const LEVELS: [&str; 6] = ["INFO", "WARN", "ERROR", "DEBUG", "TRACE", "FATAL"];

/// Whether a line looks like one of a log: it begins with a time, a level or a bracket.
fn is_of_log(line: &str) -> bool {
    let start = line.trim_start();
    let first = start.split_whitespace().next().unwrap_or_default();
    let digits = first.bytes().filter(u8::is_ascii_digit).count();
    let time = digits >= 4 && first.contains([':', '-', '.']) && first.len() >= 8;
    let bracket = start.starts_with('[') && start.contains(']');
    time || bracket || LEVELS.iter().any(|level| first.starts_with(level))
}

impl Reader for Threads {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(said) = line::read(line) {
            self.in_a_row = 0;
            self.said(said, out);
            return Taken::Yes;
        }
        let within = self.open.is_some() && self.in_a_row < STRANGERS_MAX;
        if within && is_of_log(line) {
            self.strangers += 1;
            self.in_a_row += 1;
            return Taken::Yes;
        }
        Taken::No
    }

    fn end(&mut self, out: &mut Builder) {
        self.close();
        self.dump.put(out, self.pid);
        self.dump = Dump::of_java(None);
        if self.strangers > 0 {
            out.input_problem(format!(
                "{} lines of something else within a thread dump: they are passed over",
                self.strangers
            ));
            self.strangers = 0;
        }
    }
}

#[cfg(test)]
mod tests;
