//! The log of PgBouncer: its clients, and how long they wait for a connection to the server.

use super::event::{Minute, moment};
use crate::recording::readers::prelude::*;
use crate::recording::readers::statements;

const PGBOUNCER: &str = "pgbouncer";

/// What it says before a message (`lib/usual/logging.c`), and whether something failed.
const LEVELS: [(&str, bool); 6] = [
    ("LOG", false),
    ("DEBUG", false),
    ("NOISE", false),
    ("WARNING", false),
    ("ERROR", true),
    ("FATAL", true),
];

/// Words before a message: a date, a time, a zone, the process, the level; or syslog's head.
const HEAD_WORDS_MAX: usize = 7;

/// How messages of no client or server begin by which the log is known.
const KNOWN: [&str; 4] = ["stats: ", "Stats: ", "process up: pgbouncer ", "process up: PgBouncer "];

struct Message<'a> {
    at: Option<Stamp>,
    failed: bool,
    text: &'a str,
}

/// `2031-02-03 04:05:06.789 UTC [77] LOG C-0x5: shop/app@10.0.0.9:5099 closing because: ...`.
fn message(line: &str) -> Option<Message<'_>> {
    let (mut head, mut process) = (0, false);
    for word in line.split(' ').take(HEAD_WORDS_MAX) {
        let end = head + word.len();
        if let Some((_, failed)) = LEVELS.iter().find(|(level, _)| *level == word && process) {
            let text = line.get(end..)?.trim_start();
            return Some(Message { at: moment(line.get(..head)?), failed: *failed, text });
        }
        // `pgbouncer[77]:` has the level with syslog.
        if word.starts_with(PGBOUNCER) && word.ends_with("]:") {
            let at = moment(line.get(..head)?);
            return Some(Message { at, failed: false, text: line.get(end..)?.trim_start() });
        }
        process = count(word.trim_matches(['[', ']'])).is_some();
        head = end + 1;
    }
    None
}

/// The pool that a message of a client or server is about: `shop/app`, database and user.
fn pool(text: &str) -> Option<(bool, &str, &str)> {
    let is_client = text.starts_with("C-");
    if !(is_client || text.starts_with("S-")) {
        return None;
    }
    let (_, rest) = text.split_once(": ")?;
    let (whose, said) = rest.split_once(' ')?;
    Some((is_client, whose.rsplit_once('@').map_or(whose, |(pool, _)| pool), said))
}

/// Begins at a message of a client, a server, or one that only it has.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let ours = |line: &str| {
        let text = message(line).map_or("", |message| message.text);
        pool(text).is_some() || KNOWN.iter().any(|known| text.starts_with(known))
    };
    // It starts with what it listens to.
    message(lines.ahead(0))?;
    let begins = (0..4).any(|by| ours(lines.ahead(by)));
    begins.then(|| lines.resume(SourceKind::QueryLog, Log::default(), out))
}

#[derive(Default)]
struct Log {
    opened: Minute,
}

fn server() -> Subject {
    Subject::Service(PGBOUNCER.to_owned())
}

/// Means since the statistics before: `stats: 12 xacts/s, ..., query 820 us, wait 4507 us`.
fn stats(text: &str, at: Option<Stamp>, out: &mut Builder) {
    for part in text.split(", ") {
        let mut words = part.split([' ', ',']).filter(|word| !word.is_empty()).rev();
        let (unit, value, name) = (words.next(), words.next().and_then(number), words.next());
        let (field, factor) = match (unit, name) {
            (Some("queries/s" | "req/s"), _) => (Field::ServerRequests, 1.0),
            (Some("us"), Some("query" | "b/s,query")) => (Field::PoolQuery, 1e-3),
            // `wait time` in older versions.
            (Some("us"), Some("wait" | "time")) => (Field::PoolWait, 1e-3),
            _ => continue,
        };
        out.put_known(field, &server(), at, value.map(|value| value * factor));
    }
}

impl Log {
    fn put(&mut self, message: &Message<'_>, out: &mut Builder) {
        let (at, text) = (message.at, message.text);
        if message.failed {
            out.put(Field::ServerErrors, &Subject::part(PGBOUNCER, "error"), at, 1.0);
        }
        let Some((is_client, pool, said)) = pool(text) else {
            match text.get(1..).and_then(|text| text.strip_prefix("tats: ")) {
                Some(text) => stats(text, at, out),
                None => statements::put(&format!("LOG:  {text}"), out),
            }
            return;
        };
        if !is_client || said.contains("client close request") {
            return;
        }
        if said.starts_with("login attempt: ") {
            self.opened.count((Field::ConnOpened, &server()), at, out);
        } else if said.contains("query_wait_timeout") {
            out.put(Field::ConnTimeouts, &Subject::part(PGBOUNCER, pool), at, 1.0);
        } else if let Some((_, reason)) = said.split_once("because: ") {
            statements::put(&format!("LOG:  {reason}"), out);
        }
    }
}

impl Reader for Log {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.is_empty() {
            return Taken::Yes;
        }
        let Some(message) = message(line) else { return Taken::No };
        self.put(&message, out);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.opened.put((Field::ConnOpened, &server()), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read, values};

    #[test]
    fn clients_that_come_wait_and_give_up() {
        let client = "C-0x5: shop/app@192.0.2.9:5099";
        for head in ["2031-02-03 04:05:06.789 UTC [77] LOG ", "2031-02-03 04:05:06.789 77 LOG "] {
            let text = format!(
                "{head}listening on 127.0.0.1:6432\n\
                 {head}{client} login attempt: db=shop user=app tls=no\n\
                 {head}{client} login attempt: db=shop user=app tls=no\n\
                 {head}{client} closing because: query_wait_timeout (age=120s)\n\
                 {head}S-0x7: shop/app@127.0.0.1:5432 new connection to server (from 1:2)\n\
                 {head}{client} closing because: client close request (age=0s)\n\
                 {head}stats: 12 xacts/s, 30 queries/s, in 5 B/s, out 6 B/s, xact 9000 us, \
                 query 2000 us, wait 45000 us\n\
                 {head}stats: 1 xacts/s, 30 queries/s, in 5 B/s, out 6 B/s, xact 9000 us, query \
                 2000 us, wait time 45000 us\n"
            );
            let recording = read(&text);
            all_understood(&recording);
            let of = |field| values(&recording, field, &server());
            assert_eq!(of(Field::ConnOpened), [2.0]);
            assert_eq!(of(Field::PoolWait), [45.0, 45.0]);
            assert_eq!(of(Field::PoolQuery), [2.0, 2.0]);
            assert_eq!(of(Field::ServerRequests), [30.0, 30.0]);
            let pool = Subject::part(PGBOUNCER, "shop/app");
            assert_eq!(values(&recording, Field::ConnTimeouts, &pool), [1.0]);
        }
    }

    #[test]
    fn logs_of_others_are_none() {
        for text in ["2031-02-03 04:05:06 77 LOG started\n", "5 LOG C-0x5 x\n", "a LOG\n"] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
