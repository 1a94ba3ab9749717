//! `ps`: what tasks wait for, rows that a command lists without a heading, and tasks that were
//! counted by state. Its tables are in `data/listings.tsv`; its `%CPU` is a mean since a process
//! began, which says nothing of now.

use super::listing::measure::Measure;
use super::prelude::*;

/// Functions of the kernel in which tasks wait for a file server.
const REMOTE_WAITS: [&str; 6] = ["rpc_", "nfs", "__rpc_", "cifs", "ceph_", "wait_on_commit"];

/// Functions in which tasks wait for random numbers, in whatever state: `drivers/char/random.c`.
const RANDOM_WAITS: [&str; 4] =
    ["random_read", "_random_read", "wait_for_random_bytes", "getrandom"];

/// The names by which `ps -o` is asked for columns that matter, and their headings.
const ASKED: [(&[&str], &str); 6] = [
    (&["pid"], "PID"),
    (&["stat", "s", "state"], "STAT"),
    (&["wchan"], "WCHAN"),
    (&["rss", "rssize"], "RSS"),
    (&["cls", "class", "policy"], "CLS"),
    (&["comm", "cmd", "args", "command", "ucmd"], "COMMAND"),
];

/// The heading of what `ps -eo pid,stat,wchan:32,comm` prints: a filter behind it may have taken
/// that away, and `uniq -c` has put a count before each row.
pub(super) fn asked(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    if words.next().is_none_or(|name| name.rsplit('/').next() != Some("ps")) {
        return None;
    }
    let formats: Vec<&str> = words.filter(|word| word.contains(',')).collect();
    let [format] = formats.as_slice() else { return None };
    let heading = |name: &str| {
        let name = name.split([':', '=']).next().unwrap_or("");
        let known = ASKED.iter().find(|(names, _)| names.contains(&name));
        known.map_or_else(|| name.to_uppercase().replace("PCPU", "%CPU"), |(_, h)| (*h).to_owned())
    };
    let columns = format.trim_matches(['\'', '"']).split(',').map(heading);
    let counted = command.contains("uniq -c").then(|| "COUNT".to_owned());
    Some(counted.into_iter().chain(columns).collect::<Vec<_>>().join(" "))
}

/// Tasks that `uniq -c` counted: how many, their state, program and function, as far as shown.
#[derive(Debug, PartialEq)]
struct Many<'a> {
    tasks: u32,
    state: &'a str,
    program: Option<&'a str>,
    function: Option<&'a str>,
}

/// The columns of `ps -eo state,comm,wchan:30`, by name.
fn format(command: &str) -> Option<Vec<&str>> {
    let (_, rest) = command.split_once("ps ")?;
    let list = rest.split_whitespace().find(|word| word.contains(','))?;
    let names = list.trim_matches(['\'', '"']).split(',');
    Some(names.map(|name| name.split([':', '=']).next().unwrap_or(name)).collect())
}

/// `188 D rpc_wait_bit_killable`, `131 D php-fpm rpc_wait_bit_killable`.
fn counted<'a>(line: &'a str, command: &str) -> Option<Many<'a>> {
    let words = words(line);
    let (tasks, cells) = words.split_first()?;
    let tasks = tasks.parse().ok().filter(|tasks| (1..=TASKS_MAX).contains(tasks))?;
    let names = format(command).filter(|names| names.len() == cells.len());
    let cell = |wanted: &[&str]| {
        let at = names.as_ref()?.iter().position(|name| wanted.contains(name))?;
        cells.get(at).copied()
    };
    let state = cell(&["s", "stat", "state"]).or_else(|| cells.first().copied())?;
    let shown = cells.len() <= 3 && Measure::State.is_plain(state);
    // Without a format it is the function that has the underscores.
    let other = || cells.iter().skip(1).find(|word| word.contains('_')).copied();
    let function = cell(&["wchan"]).or_else(other);
    let program = cell(&["comm", "ucmd", "cmd", "args", "command"]);
    shown.then_some(Many { tasks, state, program, function })
}

/// More tasks in one state there are hardly on any machine.
const TASKS_MAX: u32 = 100_000;

/// Tasks that were counted by state, without their numbers.
struct Counted {
    command: String,
    blocked: u32,
}

impl Reader for Counted {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let Some(many) = counted(line, &self.command) else { return Taken::No };
        if many.state.starts_with('D') {
            self.blocked = self.blocked.saturating_add(many.tasks);
            let function = many.function.unwrap_or("");
            let program = many.program.unwrap_or("tasks");
            for _ in 0..many.tasks.min(COUNTED_MAX) {
                waits_in(function, program, true, out);
            }
            if is_remote(function) {
                out.put(Field::ProcRemoteWait, &Subject::process(None, program), None, 1.0);
            }
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        out.put(Field::Blocked, &Subject::Machine, None, f64::from(self.blocked));
    }
}

/// Tasks of one row that are kept.
const COUNTED_MAX: u32 = 1000;

/// Begins at tasks that were counted, below the command that did.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let command = out.latest_command();
    let many = command.contains("uniq -c") && command.contains("ps ");
    counted(lines.ahead(0), command).filter(|_| many)?;
    let command = command.to_owned();
    Some(lines.begin(SourceKind::Ps, Counted { command, blocked: 0 }, out))
}

fn is_remote(function: &str) -> bool {
    REMOTE_WAITS.iter().any(|start| function.starts_with(start))
}

/// A task that waits in a function of the kernel, by the program's name: the kernel's own ones are
/// no one's.
fn waits_in(function: &str, name: &str, blocked: bool, out: &mut Builder) {
    let named = function.len() > 2 && function.bytes().any(|byte| byte.is_ascii_lowercase());
    let random = RANDOM_WAITS.iter().any(|wait| function.contains(wait));
    if named && (blocked || random) {
        let subject = Subject::Calls { program: name.to_owned(), path: function.to_owned() };
        out.put(Field::TaskWaits, &subject, None, 1.0);
    }
}

/// What a process waits in.
pub(super) fn waits(function: &str, process: &Subject, blocked: bool, out: &mut Builder) {
    waits_in(function, process.process_name().unwrap_or(""), blocked, out);
    if blocked {
        let remote = if is_remote(function) { 1.0 } else { 0.0 };
        out.put(Field::ProcRemoteWait, process, None, remote);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    #[test]
    fn states_that_were_counted() {
        let recording = read(
            "$ ps -eo state,wchan:30 | sort | uniq -c | sort -rn | head\n    402 S -\n    \
             188 D rpc_wait_bit_killable\n      3 R -\n      2 D io_schedule\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::Blocked), [190.0]);
        let wait = Subject::Calls {
            program: "tasks".to_owned(),
            path: "rpc_wait_bit_killable".to_owned(),
        };
        assert_eq!(values(&recording, Field::TaskWaits, &wait).len(), 188);
        let command = "ps -eo state,comm,wchan:30 | sort | uniq -c";
        let many = counted("    131 D php-fpm  rpc_wait_bit_killable", command).expect("a row");
        assert_eq!((many.tasks, many.program), (131, Some("php-fpm")));
        assert_eq!(many.function, Some("rpc_wait_bit_killable"));
    }

    #[test]
    fn tasks_by_the_function_in_which_they_wait() {
        let recording = read(
            "[root@tc ~]# ps -eLo pid,tid,stat,wchan:30,comm | grep java | sort | uniq -c\n      \
             1   2210    2211 Sl   random_read                    java\n      \
             1   2210    2230 Sl   futex_wait_queue_me            java\n\
             [root@tc ~]# ps -eo pid,stat,wchan:32,comm | awk '$2 ~ /D/'\n    \
             8 D    balance_dirty_pages   touch\n    9 D    balance_dirty_pages   touch\n",
        );
        all_understood(&recording);
        let waits = |program: &str, path: &str| {
            let (program, path) = (program.to_owned(), path.to_owned());
            values(&recording, Field::TaskWaits, &Subject::Calls { program, path }).len()
        };
        assert_eq!(waits("java", "random_read"), 1);
        assert_eq!(waits("java", "futex_wait_queue_me"), 0);
        assert_eq!(waits("touch", "balance_dirty_pages"), 2);
    }

    #[test]
    fn states_and_what_is_waited_for() {
        let recording = read(
            "  PID STAT WCHAN                            COMMAND\n    \
             812 D    rpc_wait_bit_killable            /usr/bin/php -f x\n    \
             813 Ssl+ -                                java\n",
        );
        all_understood(&recording);
        let php = Subject::process(Some(812), "php");
        assert_eq!(values(&recording, Field::ProcBlocked, &php), [1.0]);
        assert_eq!(values(&recording, Field::ProcRemoteWait, &php), [1.0]);
        let java = Subject::process(Some(813), "java");
        assert_eq!(values(&recording, Field::ProcBlocked, &java), [0.0]);
    }

    #[test]
    fn a_filter_took_the_header() {
        let recording = read(
            "[root@web4 ~]# ps -eo pid,stat,wchan:30,cmd | awk '$2 ~ /^D/'\n  \
             4711 D    rpc_wait_bit_killable          php-fpm: pool www\n",
        );
        all_understood(&recording);
        let php = Subject::process(Some(4711), "php-fpm");
        assert_eq!(values(&recording, Field::ProcRemoteWait, &php), [1.0]);
    }

    #[test]
    fn the_usual_list() {
        let recording = read(
            "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n\
             root         1  0.0  0.1 168000 12800 ?        Ss   Nov20   0:12 /sbin/init splash\n\
             root       300  0.0  0.0      0     0 ?        D    Nov20   0:00 [jbd2/sda1-8]\n",
        );
        all_understood(&recording);
        let init = Subject::process(Some(1), "init");
        assert_eq!(values(&recording, Field::ProcRss, &init), [12_800.0 * 1024.0]);
        let journal = Subject::process(Some(300), "jbd2/sda1-8");
        assert_eq!(values(&recording, Field::ProcBlocked, &journal), [1.0]);
    }
}
