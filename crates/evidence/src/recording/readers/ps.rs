//! `ps`: states, what tasks wait for, and sizes. Its `%CPU` is a mean since a process began, which
//! says nothing of now, and is passed over.

use super::prelude::*;

/// Functions of the kernel in which tasks wait for a file server.
const REMOTE_WAITS: [&str; 6] = ["rpc_", "nfs", "__rpc_", "cifs", "ceph_", "wait_on_commit"];

/// Where things stand in the rows.
#[derive(Clone, Copy, Debug)]
struct Columns {
    pid: usize,
    state: Option<usize>,
    wait: Option<usize>,
    /// In kB.
    resident: Option<usize>,
    /// The class of scheduling, and the CPU since the start.
    class: Option<(usize, usize)>,
    /// The command and its arguments: all that is left.
    command: usize,
    /// Whether a count stands before each row: `uniq -c`.
    counted: bool,
}

/// Functions in which tasks wait for random numbers, in whatever state: `drivers/char/random.c`.
const RANDOM_WAITS: [&str; 4] =
    ["random_read", "_random_read", "wait_for_random_bytes", "getrandom"];

/// Reads a header: a process id, a state or a size, and last the command.
fn columns(line: &str) -> Option<Columns> {
    let words = words(line);
    let place = |names: &[&str]| words.iter().position(|word| names.contains(word));
    let command = place(&["COMMAND", "CMD", "COMD"]).filter(|at| at + 1 == words.len())?;
    let (pid, state) = (place(&["PID"])?, place(&["STAT", "S"]));
    // `top` has a header much like it, with columns of its own.
    let top = place(&["VIRT", "RES", "TIME+"]).is_some();
    let (wait, resident) = (place(&["WCHAN"]), place(&["RSS", "RSZ"]));
    let class = place(&["CLS", "POL"]).zip(place(&["%CPU"]));
    // What these say is for people, and passed over.
    let other = place(&["PSR", "%CPU", "%MEM", "PPID", "NLWP"]).is_some();
    let known = state.is_some() || resident.is_some() || other;
    let counted = false;
    (known && !top).then_some(Columns { pid, state, wait, resident, class, command, counted })
}

/// The columns that `ps -eo pid,stat,wchan:32,comm` asks for: a filter behind it may have taken the
/// header away.
fn asked(command: &str) -> Option<Columns> {
    let mut words = command.split_whitespace();
    if words.next().is_none_or(|name| name.rsplit('/').next() != Some("ps")) {
        return None;
    }
    let formats: Vec<&str> = words.filter(|word| word.contains(',')).collect();
    let [format] = formats.as_slice() else { return None };
    let header: Vec<&str> = format
        .trim_matches(['\'', '"'])
        .split(',')
        .map(|name| match name.split(':').next().unwrap_or("") {
            "pid" => "PID",
            "stat" | "s" | "state" => "STAT",
            "wchan" => "WCHAN",
            "rss" | "rssize" => "RSS",
            "cls" | "class" | "policy" => "CLS",
            "pcpu" | "%cpu" => "%CPU",
            "comm" | "cmd" | "args" | "command" | "ucmd" => "COMMAND",
            _ => "?",
        })
        .collect();
    columns(&header.join(" "))
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
    let shown = cells.len() <= 3 && is_state(state);
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
                waits(function, program, true, out);
            }
            if REMOTE_WAITS.iter().any(|start| function.starts_with(start)) {
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

/// Begins at a header, or below a command that says what the columns are.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let (line, command) = (lines.ahead(0), out.latest_command());
    let many = command.contains("uniq -c");
    let listed = asked(command).map(|columns| Columns { counted: many, ..columns });
    let listed = listed.filter(|columns| columns.is_row(line));
    if many && command.contains("ps ") && listed.is_none() && counted(line, command).is_some() {
        let command = command.to_owned();
        return Some(lines.begin(SourceKind::Ps, Counted { command, blocked: 0 }, out));
    }
    let columns = columns(line).or(listed)?;
    Some(lines.begin(SourceKind::Ps, PastBlanks(Ps { columns }), out))
}

struct Ps {
    columns: Columns,
}

impl Columns {
    /// Whether a line is a row of these columns.
    fn is_row(&self, line: &str) -> bool {
        let row = self.row(line);
        let pid = row.get(self.pid).is_some_and(|pid| pid.parse::<u32>().is_ok());
        let state = self.state.and_then(|at| row.get(at)).is_some_and(|word| is_state(word));
        pid && state
    }

    /// The cells of a row, without the count of equal ones.
    fn row<'a>(&self, line: &'a str) -> Vec<&'a str> {
        let mut row = words(line);
        if self.counted && !row.is_empty() {
            row.remove(0);
        }
        row
    }
}

/// A task that waits in a function of the kernel, by the program's name: the kernel's own ones are
/// no one's.
fn waits(function: &str, name: &str, blocked: bool, out: &mut Builder) {
    let named = function.len() > 2 && function.bytes().any(|byte| byte.is_ascii_lowercase());
    let random = RANDOM_WAITS.iter().any(|wait| function.contains(wait));
    if named && (blocked || random) {
        let subject = Subject::Calls { program: name.to_owned(), path: function.to_owned() };
        out.put(Field::TaskWaits, &subject, None, 1.0);
    }
}

/// Whether a word is a process's state, such as `Ssl+`.
fn is_state(word: &str) -> bool {
    let first = word.starts_with(|c: char| "RSDTtZXIWKP".contains(c));
    first && word.len() <= 6 && word.bytes().skip(1).all(|byte| b"<NLsl+".contains(&byte))
}

impl Ps {
    fn row(&self, line: &str, out: &mut Builder) -> Taken {
        let words = self.columns.row(line);
        let cell = |at: usize| words.get(at).copied().unwrap_or("");
        let Ok(pid) = cell(self.columns.pid).parse() else { return Taken::No };
        if cell(self.columns.command).is_empty() {
            out.problem("truncated: a row without a command; it is left out");
            return Taken::Yes;
        }
        let state = self.columns.state.map(cell);
        if state.is_some_and(|state| !is_state(state)) {
            out.problem("a row of 'ps' whose state is none; it is left out");
            return Taken::Yes;
        }
        let name = command_name(cell(self.columns.command));
        let subject = Subject::process(Some(pid), name);
        if let Some(state) = state {
            let blocked = if state.starts_with('D') { 1.0 } else { 0.0 };
            out.put(Field::ProcBlocked, &subject, None, blocked);
            if let Some(function) = self.columns.wait.map(cell) {
                waits(function, name, blocked > 0.0, out);
            }
            if let Some(waits) = self.columns.wait.map(cell).filter(|_| blocked > 0.0) {
                let remote = REMOTE_WAITS.iter().any(|start| waits.starts_with(start));
                let value = if remote { 1.0 } else { 0.0 };
                out.put(Field::ProcRemoteWait, &subject, None, value);
            }
        }
        if let Some((class, cpu)) = self.columns.class
            && ["FF", "RR", "DLN"].contains(&cell(class))
            && let Some(percent) = number(cell(cpu))
        {
            out.put(Field::RealTimeCpu, &subject, None, percent);
        }
        out.put_known(
            Field::ProcRss,
            &subject,
            None,
            self.columns.resident.and_then(|at| number(cell(at))).map(|kib| kib * 1024.0),
        );
        Taken::Yes
    }
}

impl Reader for Ps {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(columns) = columns(line) {
            self.columns = columns;
            return Taken::Yes;
        }
        self.row(line, out)
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
