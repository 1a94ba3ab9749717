//! Slow operations in the log of MongoDB: as JSON since version 4.4, as text before.

use serde_json::Value;

use super::event::{Event, QueryReader, Statements, moment};
use crate::recording::readers::prelude::*;

const MONGODB: &str = "mongodb";

/// Most fields of a filter that are named.
const FIELDS_MAX: usize = 8;

/// Commands whose filter is reported, with where it stands.
const FILTERS: [(&str, &str); 7] = [
    ("find", "filter"),
    ("count", "query"),
    ("distinct", "query"),
    ("findAndModify", "query"),
    ("aggregate", "pipeline"),
    ("update", "q"),
    ("remove", "q"),
];

/// Names of a filter's fields, without their values.
fn fields(filter: &Value) -> String {
    let object = match filter {
        Value::Array(stages) => stages.first().and_then(|stage| stage.get("$match")),
        other => Some(other),
    };
    let names = object.and_then(Value::as_object).into_iter().flat_map(|object| object.keys());
    let names: Vec<&str> = names.take(FIELDS_MAX).map(String::as_str).collect();
    if names.is_empty() { String::new() } else { format!(" {{{}}}", names.join(", ")) }
}

/// An operation of JSON: its event.
fn of_json(line: &str) -> Option<Event> {
    if !(line.starts_with('{') && line.contains("\"Slow query\"")) {
        return None;
    }
    let value: Value = serde_json::from_str(line).ok()?;
    let attr = value.get("attr")?;
    let amount = |name: &str| attr.get(name).and_then(Value::as_f64);
    let command = attr.get("command");
    let kind = attr.get("type").and_then(Value::as_str).unwrap_or("command");
    let known = FILTERS.iter().find(|(name, _)| {
        *name == kind || command.is_some_and(|command| command.get(name).is_some())
    });
    let filter = known.and_then(|(_, place)| command?.get(place)).map(fields).unwrap_or_default();
    let op = known.map_or(kind, |(name, _)| name);
    let collection = attr.get("ns").and_then(Value::as_str).unwrap_or_default();
    let waits = attr.get("locks").and_then(Value::as_object).map(|locks| {
        let micros = locks.values().filter_map(|lock| lock.get("timeAcquiringMicros"));
        let micros = micros.filter_map(Value::as_object).flat_map(|modes| modes.values());
        micros.filter_map(Value::as_f64).sum::<f64>() / 1e3
    });
    let at = value.get("t").and_then(|t| t.get("$date")).and_then(Value::as_str);
    Some(Event {
        at: at.and_then(moment),
        utc: at.is_some_and(|at| at.ends_with('Z') || at.ends_with("+00:00")),
        ms: amount("durationMillis"),
        locks: waits,
        examined: amount("docsExamined"),
        sent: amount("nreturned"),
        fingerprint: format!("{op} {collection}{filter}"),
        ..Event::default()
    })
}

/// An operation of text: `2019-01-01T00:00:00.000+0000 I COMMAND [conn1] command shop.t command:
/// find { ... } planSummary: COLLSCAN ... docsExamined:9 ... nreturned:2 ... 812ms`.
fn of_text(line: &str) -> Option<Event> {
    let (head, rest) = line.split_once("] ")?;
    if !head.contains("[conn") || !rest.contains("planSummary: ") {
        return None;
    }
    let mut words = rest.split_whitespace();
    let (kind, collection) = (words.next()?, words.next()?);
    let op = rest.split_once("command: ").and_then(|(_, op)| op.split_whitespace().next());
    let amount = |name: &str| {
        let word = rest.split_whitespace().rev().find_map(|word| word.strip_prefix(name))?;
        number(word)
    };
    let ms = number(rest.split_whitespace().next_back()?.strip_suffix("ms")?)?;
    Some(Event {
        at: moment(head),
        utc: head.contains("+0000"),
        ms: Some(ms),
        examined: amount("docsExamined:"),
        sent: amount("nreturned:"),
        fingerprint: format!("{} {collection}", op.unwrap_or(kind)),
        ..Event::default()
    })
}

fn operation(line: &str) -> Option<Event> {
    of_json(line).or_else(|| of_text(line))
}

/// Begins at a slow operation.
pub(super) fn opens(lines: &Lines<'_>) -> Option<Log> {
    operation(lines.ahead(0)).map(|_| Log::default())
}

#[derive(Default)]
pub(super) struct Log {
    statements: Statements,
}

impl QueryReader for Log {
    fn name(&self) -> (&'static str, &'static str) {
        (MONGODB, "MongoDB log")
    }

    fn statements(&mut self) -> &mut Statements {
        &mut self.statements
    }
}

impl Reader for Log {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let Some(event) = operation(line) else {
            // What else the server logs.
            let other = line.starts_with("{\"t\":{\"$date\":");
            return if other { Taken::Yes } else { Taken::No };
        };
        self.statements.put(MONGODB, &event, out);
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read, values};

    #[test]
    fn slow_operations_by_their_filter() {
        let json = "{\"t\":{\"$date\":\"2025-02-03T04:05:06.789+00:00\"},\"s\":\"I\",\"c\":\
                    \"COMMAND\",\"ctx\":\"conn9\",\"msg\":\"Slow query\",\"attr\":{\"type\":\
                    \"command\",\"ns\":\"shop.items\",\"command\":{\"find\":\"items\",\"filter\":\
                    {\"owner\":\"secret\",\"n\":{\"$gt\":5}}},\"docsExamined\":9000,\
                    \"nreturned\":3,\"locks\":{\"Global\":{\"timeAcquiringMicros\":{\"r\":2500}}},\
                    \"durationMillis\":412}}\n";
        let recording = read(&json.repeat(2));
        all_understood(&recording);
        let part = Subject::part(MONGODB, "find shop.items {n, owner}");
        let of = |field| values(&recording, field, &part);
        assert_eq!(of(Field::StatementTime), [412.0, 412.0]);
        assert_eq!(of(Field::StatementLocks), [2.5, 2.5]);
        assert_eq!(of(Field::StatementExamined), [9000.0, 9000.0]);
        let text = "2019-02-03T04:05:06.789+0000 I COMMAND [conn7] command shop.items \
                    command: find { find: \"items\", filter: { a: 1 } } planSummary: COLLSCAN \
                    keysExamined:0 docsExamined:70 nreturned:2 protocol:op_msg 152ms\n";
        let part = Subject::part(MONGODB, "find shop.items");
        assert_eq!(values(&read(text), Field::StatementTime, &part), [152.0]);
    }
}
