//! Sessions of MySQL and MariaDB, as `SHOW [FULL] PROCESSLIST` and the views of the same rows list
//! them: between bars, one value a line (`\G`), or between tabs (`mysql -e`).

use std::collections::BTreeMap;

use super::prelude::*;
use super::psql::{Row, Table};

const SERVER: &str = "mysql";

/// Commands of threads that serve no statement.
const NO_STATEMENT: [&str; 5] = ["Sleep", "Daemon", "Binlog Dump", "Binlog Dump GTID", "Connect"];

/// Statements whose first word alone says little: `ALTER TABLE`.
const OF_TWO_WORDS: [&str; 8] =
    ["ALTER", "CREATE", "DROP", "FLUSH", "LOCK", "OPTIMIZE", "RENAME", "TRUNCATE"];

/// Most idle sessions that are reported, the longest ones.
const IDLE_MAX: usize = 8;

/// How the rows are printed.
enum Form {
    Bars(Table),
    /// The row that is not yet complete.
    Lines(Row),
    Tabs(Vec<String>),
}

/// `*************************** 1. row ***************************`.
fn is_record(line: &str) -> bool {
    let inner = line.trim().trim_matches('*').trim();
    let number = inner.strip_suffix(". row").and_then(count);
    number.is_some() && line.trim().starts_with("***")
}

/// Whether these columns are those of sessions.
fn are_sessions<'a>(columns: impl Iterator<Item = &'a str>) -> bool {
    let mut wanted = vec!["id", "command", "time", "state", "info"];
    columns.for_each(|name| wanted.retain(|one| !name.trim().eq_ignore_ascii_case(one)));
    wanted.is_empty()
}

/// `        Time: 612`.
fn value(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once(':')?;
    let usual = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().all(usual).then(|| (name, value.trim()))
}

/// Begins at the columns of such a list, or at its first row.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let form = if is_record(line) {
        let below = (1..LINES_AROUND).map(|by| lines.ahead(by)).take_while(|line| !is_record(line));
        are_sessions(below.map_while(value).map(|(name, _)| name))
            .then(|| Form::Lines(Row::new()))?
    } else if line.contains('\t') {
        let columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
        are_sessions(columns.iter().map(String::as_str)).then_some(Form::Tabs(columns))?
    } else {
        let table = Table::begins(lines)?;
        are_sessions(table.columns.iter().map(String::as_str)).then_some(Form::Bars(table))?
    };
    Some(lines.begin(SourceKind::Mysql, Sessions { form, ..Sessions::default() }, out))
}

#[derive(Default)]
struct Sessions {
    form: Form,
    all: u32,
    active: u32,
    /// The longest time that a session has been in what it does, s.
    longest: Option<u64>,
    /// By wait, and by wait and kind of statement: how many sessions, and the longest time, s.
    waits: BTreeMap<(String, Option<String>), (u32, f64)>,
    /// Of idle sessions how long, s, and their numbers.
    idle: Vec<(u64, String)>,
}

impl Default for Form {
    fn default() -> Self {
        Self::Lines(Row::new())
    }
}

/// What kind of statement it is: never its text.
fn kind(statement: &str) -> Option<String> {
    let rest = statement.trim_start();
    let rest = rest.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).map_or(rest, |s| s.1);
    let mut words = rest.split_whitespace();
    let mut word = || {
        let word = words.next()?;
        word.bytes().all(|byte| byte.is_ascii_alphabetic()).then(|| word.to_ascii_uppercase())
    };
    let first = word().filter(|first| first != "NULL")?;
    let second = if OF_TWO_WORDS.contains(&first.as_str()) { word() } else { None };
    Some(second.map_or(first.clone(), |second| format!("{first} {second}")))
}

impl Sessions {
    fn row(&mut self, row: &Row) {
        let cell = |wanted: &str| {
            let found = row.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map_or("", |(_, value)| value.as_str())
        };
        if row.is_empty() {
            return;
        }
        let known = cell("time").split('.').next().and_then(count);
        let seconds = known.unwrap_or(0);
        self.all = self.all.saturating_add(1);
        self.longest = self.longest.max(known);
        if cell("command") == "Sleep" {
            self.idle.push((seconds, cell("id").to_owned()));
            self.idle.sort_unstable_by(|one, other| other.cmp(one));
            self.idle.truncate(IDLE_MAX);
        }
        let state = cell("state");
        if NO_STATEMENT.contains(&cell("command")) || cell("command").is_empty() {
            return;
        }
        self.active = self.active.saturating_add(1);
        let lower = state.to_ascii_lowercase();
        if !(lower.contains("wait") || lower.contains("lock")) {
            return;
        }
        for kind in [None, kind(cell("info"))].into_iter().take(2) {
            let (sessions, longest) = self.waits.entry((state.to_owned(), kind)).or_default();
            *sessions = sessions.saturating_add(1);
            *longest = longest.max(seconds as f64);
        }
    }

    /// Takes a line; `None`: it is none of this list.
    fn line(&mut self, line: &str) -> Option<()> {
        let row = match &mut self.form {
            Form::Bars(table) => table.take(line)?,
            Form::Tabs(columns) => {
                let cells = line.split('\t').map(str::to_owned);
                let row: Row = columns.iter().cloned().zip(cells).collect();
                let head = row.iter().all(|(name, value)| name == value);
                (row.len() == columns.len()).then_some(())?;
                Some(row).filter(|_| !head)
            }
            Form::Lines(open) if is_record(line) => Some(std::mem::take(open)),
            Form::Lines(open) => {
                let (name, value) = value(line)?;
                open.insert(name.to_owned(), value.chars().take(VALUE_CHARS_MAX).collect());
                None
            }
        };
        if let Some(row) = row {
            self.row(&row);
        }
        Some(())
    }
}

/// Longest value that is kept: of a statement its first words matter.
const VALUE_CHARS_MAX: usize = 400;

impl Reader for Sessions {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        let lines = matches!(self.form, Form::Lines(_));
        if matches!(&self.form, Form::Bars(table) if table.is_over(line)) {
            return Taken::No;
        }
        // What `\G` prints of a statement of several lines has no name.
        let goes_on = lines && line.starts_with(char::is_whitespace);
        if self.line(line).is_some() || goes_on { Taken::Yes } else { Taken::No }
    }

    fn end(&mut self, out: &mut Builder) {
        let last = match &mut self.form {
            Form::Bars(table) => table.last(),
            Form::Lines(open) => Some(std::mem::take(open)),
            Form::Tabs(_) => None,
        };
        if let Some(row) = last {
            self.row(&row);
        }
        let server = Subject::Service(SERVER.to_owned());
        out.put(Field::SessionsAll, &server, None, f64::from(self.all));
        let longest = self.longest.map(|seconds| seconds as f64 * 1e3);
        out.put_known(Field::SessionLongest, &server, None, longest);
        out.put(Field::Sessions, &server, None, f64::from(self.active));
        for ((wait, kind), (sessions, seconds)) in &self.waits {
            let (subject, field) = match kind {
                None => (Subject::part(SERVER, wait), Field::SessionsWaiting),
                Some(what) => {
                    let (service, group) = (SERVER.to_owned(), wait.clone());
                    let what = what.clone();
                    (Subject::Threads { service, group, what }, Field::SessionsIn)
                }
            };
            if let (None, Some(lock)) = (kind, lock(wait)) {
                out.put(
                    Field::LockWaiters,
                    &Subject::part(SERVER, lock),
                    None,
                    f64::from(*sessions),
                );
            }
            out.put(field, &subject, None, f64::from(*sessions));
            out.put(Field::SessionWait, &subject, None, seconds * 1e3);
        }
        for (seconds, id) in &self.idle {
            let session = Subject::part(SERVER, &format!("session {id}"));
            out.put(Field::SessionIdle, &session, None, *seconds as f64 * 1e3);
        }
    }
}

/// The lock that a session waits for, by its state (`sql/mdl.cc` names them).
fn lock(state: &str) -> Option<&str> {
    let lock = state.strip_prefix("Waiting for ")?;
    lock.ends_with("lock").then_some(lock)
}

#[cfg(test)]
mod tests {
    use super::super::check::{read, values};
    use super::*;

    const ROWS: [&str; 4] = [
        "31|app|10.0.0.7:4122|pay|Sleep|1204||NULL",
        "32|ddl|10.0.0.7:4123|pay|Query|95|Waiting for table metadata lock|alter table t add c int",
        "33|app|10.0.0.7:4124|pay|Query|93|Waiting for table metadata lock|select * from t",
        "34|app|10.0.0.7:4125|pay|Execute|0|executing|select 1",
    ];
    const COLUMNS: [&str; 8] = ["Id", "User", "Host", "db", "Command", "Time", "State", "Info"];

    #[test]
    fn a_wait_for_a_lock_in_each_form() {
        let cells = |row: &str| -> Vec<String> { row.split('|').map(str::to_owned).collect() };
        let bars = |row: &[String]| format!("| {} |\n", row.join(" | "));
        let head = bars(&COLUMNS.map(str::to_owned));
        let rule = "+----+------+---------+-----+--------+-----+-------+------+\n";
        let all: String = ROWS.iter().map(|row| bars(&cells(row))).collect();
        let table = format!("{rule}{head}{rule}{all}{rule}4 rows in set (0.00 sec)\n");
        let tabs: String = ROWS.iter().map(|row| format!("{}\n", cells(row).join("\t"))).collect();
        let tabs = format!("{}\n{tabs}", COLUMNS.join("\t"));
        let record = |(number, row): (usize, &&str)| {
            let named = COLUMNS.iter().zip(cells(row));
            let values: String = named.map(|(name, v)| format!("{name:>8}: {v}\n")).collect();
            format!("{0} {number}. row {0}\n{values}", "*".repeat(27))
        };
        let records: String = ROWS.iter().enumerate().map(record).collect();
        for text in [table, tabs, records] {
            let recording = read(&text);
            let wait = "Waiting for table metadata lock";
            let part = Subject::part(SERVER, wait);
            assert_eq!(values(&recording, Field::SessionsWaiting, &part), [2.0], "{text}");
            assert_eq!(values(&recording, Field::SessionWait, &part), [95_000.0]);
            let lock = Subject::part(SERVER, "table metadata lock");
            assert_eq!(values(&recording, Field::LockWaiters, &lock), [2.0]);
            let alter = Subject::Threads {
                service: SERVER.to_owned(),
                group: wait.to_owned(),
                what: "ALTER TABLE".to_owned(),
            };
            assert_eq!(values(&recording, Field::SessionsIn, &alter), [1.0]);
            let idle = Subject::part(SERVER, "session 31");
            assert_eq!(values(&recording, Field::SessionIdle, &idle), [1_204_000.0]);
            let server = Subject::Service(SERVER.to_owned());
            assert_eq!(values(&recording, Field::Sessions, &server), [3.0]);
        }
    }

    #[test]
    fn kinds_of_statements_and_other_records() {
        for (statement, wanted) in [
            ("/* job 5 */ update t set secret = 1", Some("UPDATE")),
            ("optimize table t", Some("OPTIMIZE TABLE")),
            ("NULL", None),
            ("", None),
        ] {
            assert_eq!(kind(statement).as_deref(), wanted, "{statement}");
        }
        assert!(read("*** 1. row ***\n  Name: x\n").sources.is_empty());
    }
}
