//! Lists of bcc's `profile` and `offcputime`: a stack, the innermost function first, then the
//! program and how often it was met.

use super::model::{FRAMES_MAX, Frame, Profile, unmarked};
use crate::recording::readers::prelude::*;

/// `-                java (4120)`: the program.
fn program(line: &str) -> Option<&str> {
    let (name, id) = line.trim().strip_prefix("- ")?.rsplit_once(" (")?;
    count(id.strip_suffix(')')?).map(|_| name.trim())
}

/// A function of a stack, set in as the others.
fn function(line: &str, indent: usize) -> Option<&str> {
    let name = line.get(indent..).filter(|_| line[..indent].trim().is_empty())?;
    (!name.starts_with([' ', '-']) && !name.is_empty()).then(|| name.trim_end())
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// What the tools say first.
fn head(line: &str) -> bool {
    let sampling = line.starts_with("Sampling at ") && line.contains(" Hertz");
    sampling || line.starts_with("Tracing off-CPU time (us)")
}

/// Begins at what the tools say first, or at a stack with its program and count.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let first = lines.ahead(0);
    let set_in = indent(first);
    let named = (0..LINES_AROUND - 1).find(|by| {
        let line = lines.ahead(*by);
        !(function(line, set_in).is_some() || line.trim() == "--")
    });
    let counted = |by: usize| number(lines.ahead(by + 1).trim()).is_some();
    let whole = named.is_some_and(|by| by > 0 && program(lines.ahead(by)).is_some() && counted(by));
    let indent = (!head(first)).then_some(set_in);
    (whole || indent.is_none())
        .then(|| lines.begin(SourceKind::Stacks, Listed { indent, ..Listed::default() }, out))
}

#[derive(Default)]
struct Listed {
    profile: Profile,
    /// How far stacks are set in, once that is known.
    indent: Option<usize>,
    /// The innermost function first.
    stack: Vec<String>,
    /// Where the kernel's part ends, if a line says that.
    kernel: Option<usize>,
    program: String,
}

impl Listed {
    fn stack_ends(&mut self, count: f64) {
        let names = self.stack.iter().map(String::as_str);
        let frames: Vec<Frame<'_>> = match self.kernel {
            Some(end) => {
                let frames = names.enumerate();
                frames.map(|(at, name)| Frame { name, kernel: at < end }).rev().collect()
            }
            None => unmarked(names.rev()),
        };
        self.profile.chain(&self.program, &frames, count);
        (self.stack, self.kernel) = (Vec::new(), None);
        self.program.clear();
    }
}

impl Reader for Listed {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        if head(line) {
            let event = if line.starts_with("Sampling") { "" } else { "waiting off the CPU" };
            self.profile.head(None, event);
        } else if let Some(name) = program(line) {
            name.clone_into(&mut self.program);
        } else if let Some(count) = number(line.trim()).filter(|_| !self.program.is_empty()) {
            self.stack_ends(count);
        } else if line.trim() == "--" {
            self.kernel = Some(self.stack.len());
        } else if line.trim().is_empty() || line.starts_with("^C") {
            return Taken::Yes;
        } else if let Some(name) = function(line, *self.indent.get_or_insert_with(|| indent(line)))
        {
            if self.stack.len() < FRAMES_MAX {
                self.stack.push(name.to_owned());
            }
        } else {
            return Taken::No;
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        std::mem::take(&mut self.profile).put(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read, values};

    const STACKS: &str = "    copy_user_generic\n    vfs_read\n    do_syscall_64\n    --\n    \
                          read\n    main\n    -                web worker (31)\n        30\n\n    \
                          main\n    -                web worker (31)\n        10\n\n";

    #[test]
    fn stacks_with_their_programs() {
        let recording = read(&format!(
            "Sampling at 49 Hertz of all threads by user + kernel stack...\n^C\n{STACKS}"
        ));
        all_understood(&recording);
        let name = Subject::Symbol("copy_user_generic".to_owned());
        assert_eq!(values(&recording, Field::SymbolPercent, &name), [75.0]);
        assert!(!read(STACKS).hosts.is_empty());
    }

    #[test]
    fn time_off_the_cpu_is_no_cpu_time() {
        let recording =
            read(&format!("Tracing off-CPU time (us) of all threads by kernel stack...\n{STACKS}"));
        assert!(recording.hosts[0].subjects(Field::SymbolPercent).next().is_none());
        assert!(read("    some\n    words\n\n").hosts.is_empty());
    }
}
