//! What readers of servers' own answers share: which server it is, and counts with their age.

use super::prelude::*;

/// The port of Redis where nobody says another one (redis.conf).
const REDIS_PORT: &str = "6379";

/// The name of PostgreSQL as a server: one paste is about one.
pub(super) const POSTGRES: &str = "postgres";

/// Longest name of a server or of a part of it.
const NAME_CHARS_MAX: usize = 60;

/// The name of a part, short enough for a line.
pub(super) fn short(name: &str) -> String {
    let mut text: String = name.chars().take(NAME_CHARS_MAX).collect();
    if text.len() < name.len() {
        text.push('\u{2026}');
    }
    text
}

/// Puts a count that grows since a server's start, or since somebody reset it, and its rate times
/// `factor` as another field, where the time since the previous sample is known.
pub(super) fn put_count(
    out: &mut Builder,
    (field, rate): (Field, Option<(Field, f64)>),
    subject: &Subject,
    (value, age_s): (f64, Option<f64>),
) {
    out.put(field, subject, None, value);
    let Some((grows, factor)) = rate else { return };
    let a_second = out.grown(field, subject, (value, age_s));
    out.put_known(grows, subject, None, a_second.map(|rate| rate * factor));
}

/// Whether a word is the client of Redis or of Valkey, wherever it lies.
fn is_client(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    ["redis-cli", "valkey-cli"].contains(&name)
}

/// Which Redis the last command asked, as far as it says: the ports, hosts and sockets of several
/// make several of them. `None` where nothing of that kind was typed.
fn asked(command: &str) -> Option<String> {
    let mut words = command.split([';', '|', '&', '\'', '"']).flat_map(str::split_whitespace);
    words.find(|word| is_client(word))?;
    let (mut host, mut port, mut socket) = (None, None, None);
    let mut words = words.take_while(|word| !is_client(word));
    while let Some(word) = words.next() {
        match word {
            "-h" => host = words.next(),
            "-p" => port = words.next(),
            "-s" => socket = words.next(),
            _ => {}
        }
    }
    let local = |host: &&str| !["localhost", "127.0.0.1", "::1"].contains(host);
    let other = |port: &&str| count(port).is_some() && *port != REDIS_PORT;
    let (host, port) = (host.filter(local), port.filter(other));
    Some(match (socket, host, port) {
        (Some(socket), ..) => format!("redis {}", short(socket)),
        (None, None, None) => return None,
        (None, host, port) => {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            format!("redis {}{port}", short(host.unwrap_or_default()))
        }
    })
}

/// The server that is spoken of: as it was asked, else by the port that it says, else just
/// `redis`, which on most machines is the only one.
pub(super) fn redis(out: &Builder, port: Option<&str>) -> String {
    let own = port.filter(|port| !["0", REDIS_PORT].contains(port) && count(port).is_some());
    let by_port = || own.map(|port| format!("redis :{port}"));
    asked(out.latest_command()).or_else(by_port).unwrap_or_else(|| "redis".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_apart_by_what_was_asked() {
        for (command, name) in [
            ("redis-cli info", None),
            ("redis-cli -p 6379 -h localhost info all", None),
            ("redis-cli -p 6380 info memory | grep frag", Some("redis :6380")),
            ("/opt/bin/redis-cli -h cache1 info", Some("redis cache1")),
            ("valkey-cli -s /run/v.sock slowlog get", Some("redis /run/v.sock")),
            ("redis-cli info; sleep 10; redis-cli -p 7000 info", None),
            ("cat /proc/meminfo", None),
            ("redis-cli -p", None),
        ] {
            assert_eq!(asked(command).as_deref(), name, "{command}");
        }
    }
}
