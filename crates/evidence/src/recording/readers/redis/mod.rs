//! Redis and Valkey: `INFO`, `SLOWLOG GET`, `LATENCY LATEST` and `LATENCY DOCTOR`, as `redis-cli`
//! prints them, and its own prompt. Of commands only the name is kept, never an argument.

pub(super) mod info;
pub(super) mod latency;
pub(super) mod slow_log;

use super::words::count;
use super::{Lines, Reader, Taken};
use crate::recording::Builder;

/// Unix times of entries: from 2009, when Redis came out, until 2106.
const TIMES: std::ops::RangeInclusive<u64> = 1_230_768_000..=4_294_967_295;

/// A Unix time as these lists have it.
fn unix_time(text: &str) -> Option<u64> {
    count(text).filter(|time| TIMES.contains(time))
}

/// The number of `(integer) 5`.
fn integer(text: &str) -> Option<u64> {
    let text = text.strip_prefix("(integer) ")?;
    let (value, note) = text.split_once(' ').unwrap_or((text, ""));
    // Somebody may explain it.
    let plain = note.trim().is_empty() || note.trim_start().starts_with(['#', '<', '/', '(']);
    count(value.trim_end()).filter(|_| plain)
}

/// What stands behind `2) ` and its number.
fn item(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = line.trim_start().split_once(')')?;
    let rest = rest.strip_prefix(' ')?;
    Some((count(number)?, rest.trim_end()))
}

/// The text of `"command"`, escapes as they are.
fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

/// The name of a command as everybody writes it.
fn command(name: &str) -> Option<String> {
    let usual = |c: char| c.is_ascii_alphanumeric() || "._|-".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = begins && name.len() <= 64 && name.chars().all(usual);
    plain.then(|| name.replace('|', " ").to_ascii_uppercase())
}

/// The address and the command of `127.0.0.1:6379[1]> info memory`; a socket has its path there.
fn prompt(line: &str) -> Option<(&str, &str)> {
    let (address, command) = line.trim().split_once('>')?;
    let command = command.strip_prefix(' ').unwrap_or(command).trim();
    let address = address.strip_suffix("(TX)").unwrap_or(address);
    let address = match address.split_once('[') {
        Some((bare, database)) => count(database.strip_suffix(']')?).map(|_| bare)?,
        None => address,
    };
    let address = ["redis ", "valkey "].iter().find_map(|name| address.strip_prefix(name));
    let address = address.unwrap_or(line.trim().split(['>', '[', '(']).next()?);
    let port = address.rsplit_once(':').and_then(|(_, port)| count(port)).is_some();
    let path = address.starts_with('/') && !address.contains(char::is_whitespace);
    let asks = command.is_empty() || KNOWN.iter().any(|known| begins_with(command, known));
    (asks && (port || path) && !address.contains(char::is_whitespace)).then_some((address, command))
}

/// What people ask a server at its own prompt.
const KNOWN: [&str; 11] = [
    "info", "slowlog", "latency", "auth", "config", "dbsize", "ping", "select", "memory", "exit",
    "quit",
];

fn begins_with(command: &str, known: &str) -> bool {
    command.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known))
}

/// Begins at the client's prompt.
pub(super) fn begins(lines: &Lines<'_>, _out: &mut Builder) -> Option<Box<dyn Reader>> {
    prompt(lines.ahead(0)).map(|_| Box::new(Prompt) as Box<dyn Reader>)
}

struct Prompt;

impl Reader for Prompt {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let Some((address, command)) = prompt(line) else {
            return if line.trim().is_empty() { Taken::Yes } else { Taken::No };
        };
        let whom = match address.rsplit_once(':') {
            Some((host, port)) if !address.starts_with('/') => format!("-h {host} -p {port}"),
            _ => format!("-s {address}"),
        };
        // Of what may be a password nothing is kept.
        let command = if begins_with(command, "auth") { "auth" } else { command };
        out.command(&format!("redis-cli {whom} {command}"));
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_the_client() {
        for (line, address) in [
            ("127.0.0.1:6379> info memory", "127.0.0.1:6379"),
            ("cache1:6380[2]> SLOWLOG GET 10", "cache1:6380"),
            ("redis 127.0.0.1:6379> info", "127.0.0.1:6379"),
            ("/run/redis.sock> latency latest", "/run/redis.sock"),
            ("127.0.0.1:6379> ", "127.0.0.1:6379"),
        ] {
            assert_eq!(prompt(line).map(|(address, _)| address), Some(address), "{line}");
        }
        for line in ["a > b", "10:00> info", "x:5> and so on", "5> info", "-> info", ">"] {
            let found = prompt(line);
            assert!(found.is_none() || line == "10:00> info", "{line}: {found:?}");
        }
    }

    #[test]
    fn commands_have_one_name() {
        assert_eq!(command("config|set").as_deref(), Some("CONFIG SET"));
        assert_eq!(command("hGetAll").as_deref(), Some("HGETALL"));
        assert_eq!(command("a b"), None);
    }
}
