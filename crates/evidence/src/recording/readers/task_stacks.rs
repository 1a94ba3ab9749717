//! `/proc/PID/stack`, one after the other under the names of their tasks, as loops show them: in
//! which function of the kernel each of them waits.

use super::prelude::*;
use super::words::words;

/// Functions in which every waiting task is, whatever it waits for (`kernel/sched`).
const SCHEDULER: [&str; 8] = [
    "schedule",
    "__schedule",
    "schedule_timeout",
    "io_schedule",
    "io_schedule_timeout",
    "schedule_preempt_disabled",
    "__switch_to",
    "wait_for_completion",
];

/// `[<0>] balance_dirty_pages+0x2e6/0xd50`: the function.
fn frame(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("[<")?;
    let (address, rest) = rest.split_once(">] ")?;
    let (name, offset) = rest.split_once('+')?;
    let hexadecimal = address.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = name.trim_start_matches('?').trim();
    (hexadecimal && offset.starts_with("0x") && !name.contains(' ')).then_some(name)
}

/// The task of a heading: `== 20117 smbd`, `== PID 20117 (smbd) ==`, `--- smbd 20117`.
fn task(line: &str) -> Option<(u32, String)> {
    let ornament = |c: char| c.is_whitespace() || "=-#*>:[]|()".contains(c);
    let inner = line.trim_matches(ornament);
    if inner.len() == line.trim().len() {
        return None;
    }
    let words = words(inner);
    let pid = words.iter().find_map(|word| word.trim_matches(ornament).parse().ok())?;
    let label = |word: &str| {
        word.parse::<u32>().is_ok() || word.eq_ignore_ascii_case("pid") || word.is_empty()
    };
    let name = words.iter().map(|word| word.trim_matches(ornament)).find(|word| !label(word));
    (words.len() <= 4).then(|| (pid, name.unwrap_or("task").to_owned()))
}

/// Begins at a heading with a frame below it, or at a frame.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let headed = frame(lines.ahead(1)).is_some() && task(lines.ahead(0)).is_some();
    let bare = frame(lines.ahead(0)).is_some() && out.latest_command().contains("/stack");
    (headed || bare).then(|| {
        lines.begin(
            SourceKind::TaskStacks,
            TaskStacks { task: (None, "task".to_owned()), told: false },
            out,
        )
    })
}

struct TaskStacks {
    task: (Option<u32>, String),
    /// Whether it is known what this task waits in.
    told: bool,
}

impl Reader for TaskStacks {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(function) = frame(line) {
            if !self.told && !SCHEDULER.contains(&function) {
                self.told = true;
                let (pid, name) = self.task.clone();
                let calls = Subject::Calls { program: name.clone(), path: function.to_owned() };
                out.put(Field::TaskWaits, &calls, None, 1.0);
                out.put(Field::ProcBlocked, &Subject::process(pid, &name), None, 1.0);
            }
            return Taken::Yes;
        }
        match task(line) {
            Some((pid, name)) => {
                (self.task, self.told) = ((Some(pid), name), false);
                Taken::Yes
            }
            None if line.trim().is_empty() => Taken::Yes,
            None => Taken::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn tasks_by_the_function_in_which_they_wait() {
        let recording = read(
            "== 20117 smbd\n[<0>] balance_dirty_pages+0x2e6/0xd50\n\
             [<0>] balance_dirty_pages_ratelimited+0x2b6/0x390\n\
             == 20340 smbd\n[<0>] schedule+0x46/0xb0\n[<0>] balance_dirty_pages+0x2e6/0xd50\n",
        );
        all_understood(&recording);
        let calls = Subject::Calls { program: "smbd".into(), path: "balance_dirty_pages".into() };
        assert_eq!(values(&recording, Field::TaskWaits, &calls), [1.0, 1.0]);
        let smbd = Subject::process(Some(20340), "smbd");
        assert_eq!(values(&recording, Field::ProcBlocked, &smbd), [1.0]);
        assert!(read("== 5 things\nto do\n").hosts.is_empty());
    }
}
