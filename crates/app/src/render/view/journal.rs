//! A record of a manager's journal as text.

use crate::render::text::wrap;
use hugewise_base::escape::printable;
use serde_json::{Map, Value};

/// Its time, its kind and its process, then everything else by name.
pub(crate) fn text(record: &Map<String, Value>) -> String {
    let word = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
    let time = word("time").split('.').next().unwrap_or_default().replace('T', " ");
    let mut parts = Vec::new();
    if let Some(pid) = record.get("target").and_then(|target| target["pid"].as_u64()) {
        parts.push(format!("pid {pid}"));
    }
    for (key, value) in record {
        if !["time", "record", "target"].contains(&key.as_str()) {
            named(key, value, &mut parts);
        }
    }
    let head = format!("{time} {:<10} ", word("record"));
    wrap(&printable(&head), &printable(&parts.join(", ")))
}

/// A value with its name, and each member of an object; nothing of what is unknown or empty.
fn named(name: &str, value: &Value, parts: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::Object(members) => {
            for (key, member) in members {
                named(&format!("{name}.{key}"), member, parts);
            }
        }
        Value::String(text) => parts.push(format!("{name} {text}")),
        other => parts.push(format!("{name} {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_at_a_glance() {
        let line = r#"{"time":"2026-11-28T03:00:12.345Z","record":"action",
            "target":{"pid":812,"start_ticks":9},"action":"promote","populated":500,
            "outlook":null,"warm":{"took_ns":7}}"#;
        let record = serde_json::from_str(line).expect("JSON");
        assert_eq!(
            text(&record),
            "2026-11-28 03:00:12 action     pid 812, action promote, populated 500,\n\
             \x20                              warm.took_ns 7\n"
        );
        let record = serde_json::from_str(r#"{"record":"\u001b[31m"}"#).expect("JSON");
        assert!(!text(&record).contains('\u{1b}'));
    }
}
