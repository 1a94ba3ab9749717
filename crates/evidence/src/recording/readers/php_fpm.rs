//! The status page of php-fpm, as text and as JSON.

use super::prelude::*;
use serde_json::Value;

use super::json;
use super::served::short;
use super::words::count;

/// Its names (`fpm_status.c` of PHP 7.4 and 8.3).
const NAMES: [&str; 16] = [
    "pool",
    "process manager",
    "start time",
    "start since",
    "accepted conn",
    "listen queue",
    "max listen queue",
    "listen queue len",
    "idle processes",
    "active processes",
    "total processes",
    "max active processes",
    "max children reached",
    "slow requests",
    "memory peak",
    "processes",
];

/// Largest text that is tried as JSON: a page with 1,000 processes has 400 kB.
const JSON_BYTES_MAX: usize = 4 << 20;

fn pair(line: &str) -> Option<(&'static str, &str)> {
    let (name, value) = line.trim().split_once(':')?;
    let name = NAMES.iter().find(|known| **known == name)?;
    Some((name, value.trim()))
}

/// Begins at the pool's name above another line of it.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let (name, _) = pair(lines.ahead(0))?;
    // One line alone may be anything.
    let more = (1..=4).any(|by| pair(lines.ahead(by)).is_some());
    let sure = matches!(name, "max children reached" | "max listen queue" | "listen queue len");
    (sure || more).then(|| {
        lines.resume(SourceKind::FpmStatus, PastBlanks(Fpm { pool: "php-fpm".to_owned() }), out)
    })
}

struct Fpm {
    pool: String,
}

fn put(pool: &str, name: &str, value: &str, out: &mut Builder) {
    let field = match name {
        "listen queue" => Field::PoolQueue,
        // On a socket of the UNIX domain it is 0, as is the queue, whatever waits.
        "listen queue len" => Field::PoolQueueLimit,
        "idle processes" => Field::PoolIdle,
        "active processes" => Field::PoolActive,
        "max children reached" => Field::PoolFullCount,
        _ => return,
    };
    match count(value) {
        #[expect(clippy::cast_precision_loss, reason = "numbers of processes")]
        Some(value) => out.put(field, &Subject::Service(pool.to_owned()), None, value as f64),
        None => out.problem(format!("'{name}:' without a number: left out")),
    }
}

fn named(pool: &str) -> String {
    format!("php-fpm {}", short(pool))
}

impl Reader for Fpm {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let Some((name, value)) = pair(line) else { return Taken::No };
        if name == "pool" {
            self.pool = named(value);
        }
        put(&self.pool, name, value, out);
        Taken::Yes
    }
}

/// Its JSON, `/status?json`.
fn page(text: &[u8], out: &mut Builder) -> bool {
    let Ok(Value::Object(page)) = json::whole(text) else { return false };
    let known = page.contains_key("listen queue") && page.contains_key("active processes");
    let Some(pool) = page.get("pool").and_then(Value::as_str).filter(|_| known) else {
        return false;
    };
    out.resume(SourceKind::FpmStatus, 1);
    for name in NAMES {
        if let Some(value) = page.get(name).and_then(Value::as_u64) {
            put(&named(pool), name, &value.to_string(), out);
        }
    }
    true
}

/// Reads a text that is nothing but its JSON.
pub(super) fn read(bytes: &[u8], out: &mut Builder) -> bool {
    bytes.len() <= JSON_BYTES_MAX && page(bytes, out)
}

/// Its JSON on one line among others.
pub(super) fn begins_json(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0).trim();
    let likely = line.starts_with("{\"pool\":") && line.ends_with('}');
    (likely && page(line.as_bytes(), out)).then(|| Box::new(Json(false)) as Box<dyn Reader>)
}

/// Has its one line read already.
struct Json(bool);

impl Reader for Json {
    fn take(&mut self, _line: &str, _out: &mut Builder) -> Taken {
        if std::mem::replace(&mut self.0, true) { Taken::No } else { Taken::Yes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    const TEXT: &str = "\
pool:                 www
process manager:      dynamic
start time:           04/Nov/2025:10:02:11 +0100
start since:          86400
accepted conn:        1200345
listen queue:         37
max listen queue:     129
listen queue len:     511
idle processes:       0
active processes:     50
total processes:      50
max active processes: 50
max children reached: 12
slow requests:        0
";

    const JSON: &str = "{\"pool\":\"www\",\"process manager\":\"dynamic\",\"start since\":86400,\
        \"accepted conn\":1200345,\"listen queue\":37,\"max listen queue\":129,\
        \"listen queue len\":511,\"idle processes\":0,\"active processes\":50,\
        \"total processes\":50,\"max children reached\":12,\"slow requests\":0}\n";

    #[test]
    fn both_forms_say_the_same() {
        let among = format!("w1$ curl -s localhost/status?json\n{JSON}w1$ nproc\n8\n");
        for text in [TEXT, JSON, &among] {
            let recording = read(text);
            all_understood(&recording);
            let pool = Subject::Service("php-fpm www".to_owned());
            assert_eq!(values(&recording, Field::PoolQueue, &pool), [37.0]);
            assert_eq!(values(&recording, Field::PoolIdle, &pool), [0.0]);
            assert_eq!(values(&recording, Field::PoolActive, &pool), [50.0]);
            assert_eq!(values(&recording, Field::PoolFullCount, &pool), [12.0]);
        }
    }

    #[test]
    fn other_words_are_none() {
        assert!(read("pool: 5 m long\nprocesses everywhere\n").hosts.is_empty());
        assert!(read("{\"pool\": 5}").hosts.is_empty());
    }
}
