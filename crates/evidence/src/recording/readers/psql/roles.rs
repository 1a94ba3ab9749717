//! Columns that somebody renamed (`select wait_event_type wt`): known by what stands in them.

use super::table::{Row, Table};
use crate::recording::readers::prelude::*;

/// States of `pg_stat_activity` (PostgreSQL 17's manual, monitoring-stats).
const STATES: [&str; 7] = [
    "active",
    "idle",
    "idle in transaction",
    "idle in transaction (aborted)",
    "fastpath function call",
    "disabled",
    "starting",
];

/// Types of wait events, of version 9.6 as well (table "Wait Event Types" of the same page).
const WAIT_TYPES: [&str; 13] = [
    "Activity",
    "BufferPin",
    "Client",
    "Extension",
    "InjectionPoint",
    "IO",
    "IPC",
    "Lock",
    "LWLock",
    "LWLockNamed",
    "LWLockTranche",
    "Timeout",
    "SSL",
];

/// The columns by their own names, as far as the rows ahead tell what renamed ones hold.
pub(super) fn names(table: &Table, lines: &Lines<'_>) -> Vec<String> {
    let mut names = table.columns.clone();
    let Some(mut ahead) = Table::begins(lines) else { return names };
    let mut rows: Vec<Row> = Vec::new();
    for line in (0..=LINES_AROUND).map(|by| lines.ahead(by)) {
        if ahead.is_over(line) {
            break;
        }
        let Some(row) = ahead.take(line) else { break };
        rows.extend(row);
    }
    rows.extend(ahead.last());
    rename(&mut names, &rows);
    names
}

fn rename(columns: &mut [String], rows: &[Row]) {
    let holds = |column: &String, is: &dyn Fn(&str) -> bool| {
        let mut values = rows.iter().filter_map(|row| row.get(column)).peekable();
        values.peek().is_some() && values.all(|value| is(value))
    };
    let find = |columns: &[String], name: &str, is: &dyn Fn(&str) -> bool| {
        let known = columns.iter().any(|column| column == name);
        columns.iter().position(|column| holds(column, is)).filter(|_| !known)
    };
    let state = find(columns, "state", &|value| STATES.contains(&value));
    let kind = find(columns, "wait_event_type", &|value| WAIT_TYPES.contains(&value));
    let both = find(columns, "wait_event_type", &|value| split_wait(value).is_some());
    let blockers = find(columns, "pg_blocking_pids", &is_list);
    let about = state.is_some()
        || kind.is_some()
        || both.is_some()
        || columns.iter().any(|column| ["state", "wait_event_type"].contains(&column.as_str()));
    // Of a table that is grouped, the one number is how many there are.
    let numbers = columns.iter().enumerate().filter(|(_, c)| holds(c, &|v| count(v).is_some()));
    let numbers: Vec<usize> = numbers.map(|(at, _)| at).collect();
    let number = (about && numbers.len() == 1).then(|| numbers[0]);
    let number = number.filter(|at| !matches!(columns[*at].as_str(), "pid" | "count"));
    // Session by session its number is the process.
    let grouped = number.filter(|at| repeats(&columns[*at], rows) || !has_text(columns, rows));
    let event = kind.map(|at| at + 1).filter(|at| *at < columns.len());
    let event = event.filter(|_| !columns.iter().any(|column| column == "wait_event"));
    for (at, name) in [
        (state, "state"),
        (kind, "wait_event_type"),
        (both.filter(|_| kind.is_none()), "wait_event_type"),
        (event, "wait_event"),
        (blockers, "pg_blocking_pids"),
        (grouped, "count"),
        (number.filter(|_| grouped.is_none()), "pid"),
    ] {
        if let Some(column) = at.and_then(|at| columns.get_mut(at)) {
            name.clone_into(column);
        }
    }
}

/// `Lock:relation`, `Lock/relation` or `Lock.relation`: both columns in one.
pub(super) fn split_wait(value: &str) -> Option<(&str, &str)> {
    let (kind, event) = value.split_once([':', '/', '.', '-'])?;
    let event = event.trim();
    (WAIT_TYPES.contains(&kind.trim()) && !event.is_empty()).then(|| (kind.trim(), event))
}

/// `{31002,20114}`.
fn is_list(value: &str) -> bool {
    let inner = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| inner.split(',').all(|pid| pid.is_empty() || count(pid).is_some()))
}

fn repeats(column: &str, rows: &[Row]) -> bool {
    let mut seen: Vec<&String> = rows.iter().filter_map(|row| row.get(column)).collect();
    let all = seen.len();
    seen.sort();
    seen.dedup();
    seen.len() < all
}

/// Whether there is a statement among the columns: then a row is a session.
fn has_text(columns: &[String], rows: &[Row]) -> bool {
    let long = |value: &String| value.split_whitespace().count() > 2 && count(value).is_none();
    let states = |value: &String| STATES.contains(&value.as_str());
    let texts = columns.iter().filter(|column| {
        rows.iter().filter_map(|row| row.get(*column)).any(|value| long(value) && !states(value))
    });
    texts.count() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(columns: &[&str], rows: &[&[&str]]) -> Vec<String> {
        let mut names: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let row = |values: &&[&str]| {
            let pairs = names.iter().cloned().zip(values.iter().map(|value| (*value).to_owned()));
            pairs.filter(|(_, value)| !value.is_empty()).collect::<Row>()
        };
        let rows: Vec<Row> = rows.iter().map(row).collect();
        rename(&mut names, &rows);
        names
    }

    #[test]
    fn columns_are_known_by_what_they_hold() {
        let grouped = renamed(&["st", "wt", "we", "n"], &[&["active", "Lock", "relation", "188"]]);
        assert_eq!(grouped, ["state", "wait_event_type", "wait_event", "count"]);
        let sessions: &[&[&str]] = &[
            &["31002", "active", "Lock", "relation", "{20114}", "ALTER TABLE orders ADD x int"],
            &["20114", "idle in transaction", "Client", "ClientRead", "{}", "SELECT 1 FROM t"],
        ];
        let columns = ["p", "s", "wt", "we", "blk", "q"];
        let wanted = ["pid", "state", "wait_event_type", "wait_event", "pg_blocking_pids", "q"];
        assert_eq!(renamed(&columns, sessions), wanted);
        let both = renamed(&["w", "n"], &[&["IO:WALWrite", "41"], &["LWLock:WALWrite", "3"]]);
        assert_eq!(both, ["wait_event_type", "count"]);
    }

    #[test]
    fn names_that_are_right_stay_and_other_tables_too() {
        for (columns, rows) in [
            (["state", "wait_event_type", "wait_event"], ["active", "Lock", "tuple"]),
            (["name", "size", "owner"], ["active users", "5", "Lock smith"]),
        ] {
            assert_eq!(renamed(&columns, &[&rows]), columns);
        }
    }
}
