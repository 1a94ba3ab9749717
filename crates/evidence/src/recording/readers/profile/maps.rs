//! Maps of bpftrace whose keys are stacks: `@[kstack, comm]: 12`, the innermost function first.

use super::model::{FRAMES_MAX, Frame, Profile, unmarked};
use crate::recording::readers::prelude::*;

/// Lines between the head and the first entry.
const HEAD_LINES: usize = 12;

/// Probes that sample CPU time.
const SAMPLING: [&str; 4] = ["profile:", "cycles", "cpu-clock", "task-clock"];

/// What follows the map's name at the beginning of an entry.
fn opened(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('@')?.split_once('[')?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(rest)
}

/// The keys and the count at the end of an entry: `, java]: 12`; of `stats()` the sum, `, java]:
/// count 3, average 4, total 12`.
fn closed(line: &str) -> Option<(&str, f64)> {
    let (keys, count) = line.rsplit_once("]:")?;
    let count = count.rsplit_once(", total ").map_or(count, |(_, total)| total);
    Some((keys, number(count.trim())?))
}

/// `clear_page_erms+7`, or as `perf` prints it, `ffffffff9a0011aa clear_page_erms+7 ([k])`: the
/// function.
fn function(line: &str) -> &str {
    let line = super::script::frame(line).map_or(line.trim(), |frame| frame.name);
    let offset = |text: &str| number(text).is_some() || text.starts_with("0x");
    line.rsplit_once('+').filter(|(_, end)| offset(end)).map_or(line, |(name, _)| name)
}

/// The program among keys; ids are none.
fn program(keys: &str) -> Option<&str> {
    let mut keys = keys.split(',').map(str::trim);
    keys.find(|key| !key.is_empty() && number(key).is_none())
}

/// Begins at an entry with a stack, or with an empty one: `@[, java]: 12`; or at the head above it.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let head = line.starts_with("Attaching ") && line.trim_end().ends_with("...");
    let entry = |line: &str| {
        opened(line).is_some_and(|rest| rest.starts_with(',') || closed(rest).is_none())
    };
    let ours = match head {
        true => (1..HEAD_LINES).any(|by| entry(lines.ahead(by))),
        false => entry(line),
    };
    ours.then(|| {
        let sampling = SAMPLING.iter().any(|probe| out.latest_command().contains(probe));
        let probed = out.latest_command().contains("bpftrace -e") && !sampling;
        lines.begin(SourceKind::Stacks, Maps { probed, ..Maps::default() }, out)
    })
}

#[derive(Default)]
struct Maps {
    profile: Profile,
    /// Whether the command shows another probe than one that samples.
    probed: bool,
    /// Stacks of the open entry, the innermost function first; `None`: none is open.
    open: Option<Vec<Vec<String>>>,
    program: String,
}

impl Maps {
    fn keys(&mut self, keys: &str) {
        program(keys).into_iter().for_each(|program| program.clone_into(&mut self.program));
    }

    fn entry_ends(&mut self, count: f64) {
        let stacks = self.open.take().unwrap_or_default();
        let stacks: Vec<_> = stacks.iter().filter(|stack| !stack.is_empty()).collect();
        let named = !self.program.is_empty();
        let program = if named { self.program.as_str() } else { "all programs" };
        let outer = |at: usize| stacks.get(at).into_iter().flat_map(|stack| stack.iter().rev());
        let frames: Vec<Frame<'_>> = match stacks.len() {
            // The kernel's stack, then the program's.
            2.. => {
                let kernel = outer(0).map(|name| Frame { name, kernel: true });
                outer(1).map(|name| Frame { name, kernel: false }).chain(kernel).collect()
            }
            _ => unmarked(outer(0).map(String::as_str)),
        };
        self.profile.chain(program, &frames, count);
        self.program.clear();
    }
}

impl Reader for Maps {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        if let Some(rest) = opened(line) {
            self.program.clear();
            self.open = Some(vec![Vec::new()]);
            if let Some((keys, count)) = closed(rest) {
                // Without an empty stack among its keys it is a count of something else.
                if !keys.trim_start().starts_with(',') {
                    return Taken::No;
                }
                self.keys(keys);
                self.entry_ends(count);
            } else {
                self.keys(rest);
            }
            return Taken::Yes;
        }
        let Some(stacks) = &mut self.open else {
            let between = line.trim().is_empty() || line.starts_with("^C");
            let head = line.starts_with("Attaching ");
            return if between || head { Taken::Yes } else { Taken::No };
        };
        if let Some((keys, count)) = closed(line) {
            self.keys(keys);
            self.entry_ends(count);
        } else if line.starts_with([' ', '\t']) {
            let stack = stacks.last_mut().filter(|stack| stack.len() < FRAMES_MAX);
            stack.into_iter().for_each(|stack| stack.push(function(line).to_owned()));
        } else if line.starts_with(',') && stacks.len() < 2 {
            stacks.push(Vec::new());
            self.keys(line);
        } else if !line.trim().is_empty() {
            return Taken::No;
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        let mut profile = std::mem::take(&mut self.profile);
        let one = profile.one_call().map(str::to_owned);
        if let Some(event) = one.or(self.probed.then(|| "a probe".to_owned())) {
            profile.head(None, &format!("calls of {event}"));
        }
        profile.put(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read, values};

    #[test]
    fn stacks_of_the_kernel_by_program() {
        let recording = read(
            "Attaching 2 probes...\n^C\n\n@cpu[\n    clear_page_erms+7\n    do_anon+31\n    \
             asm_exc_page_fault+30\n, web, 31]: 60\n@cpu[\n    fput+2\n    \
             do_syscall_64+59\n, web, 31]: 20\n@cpu[, web, 31]: 20\n",
        );
        all_understood(&recording);
        let of = |field, name: &str| values(&recording, field, &Subject::Symbol(name.to_owned()));
        assert_eq!(of(Field::SymbolPercent, "clear_page_erms"), [60.0]);
        assert_eq!(of(Field::WithinPercent, "do_anon"), [60.0]);
        assert_eq!(values(&recording, Field::ProfileKernel, &Subject::Machine), [80.0]);
    }

    #[test]
    fn two_stacks_are_the_kernels_and_the_programs() {
        let recording = read(
            "@[\n    vfs_read+9\n    x+1\n,\n    read+16\n    main+3\n, cat]: 3\n\
             @[\n    fput+9\n,\n    close+16\n, cat]: 1\n",
        );
        all_understood(&recording);
        let name = Subject::Symbol("vfs_read".to_owned());
        assert_eq!(values(&recording, Field::SymbolPercent, &name), [75.0]);
        assert!(
            values(&recording, Field::SymbolPercent, &Subject::Symbol("read".into())).is_empty()
        );
    }

    #[test]
    fn stacks_as_perf_prints_them_and_sums() {
        let recording = read(
            "@[\n\tffffffff9a0011aa clear_page+7 ([kernel.kallsyms])\n\tffffffff9a0022bb \
             asm_exc_page_fault+31 ([kernel.kallsyms])\n, web]: count 2, average 30, total 60\n\
             @[\n\t5581aa main+3 (/bin/web)\n, web]: 20\n",
        );
        all_understood(&recording);
        let name = Subject::Symbol("clear_page".to_owned());
        assert_eq!(values(&recording, Field::SymbolPercent, &name), [75.0]);
    }

    #[test]
    fn calls_of_one_function_are_no_time() {
        let recording = read(
            "@[\n    vfs_read+0\n    ksys_read+9\n    do_syscall_64+1\n]: 70\n\
             @[\n    vfs_read+0\n    kernel_read+9\n    do_syscall_64+1\n]: 9\n",
        );
        assert!(recording.hosts[0].subjects(Field::SymbolPercent).next().is_none());
        assert!(read("@[java]: 12\n@[web]: 3\n").hosts.is_empty());
    }
}
