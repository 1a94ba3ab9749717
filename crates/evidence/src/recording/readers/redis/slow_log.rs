//! `SLOWLOG GET`: the calls that took longest, as `redis-cli` prints them: numbered, or bare where
//! its output is no terminal.

use super::super::served::redis;
use super::super::words::count;
use super::{command, integer, item, quoted, unix_time};
use crate::recording::readers::prelude::*;

/// How far before the latest entry another one is of the same trouble: the log holds what was slow
/// since the server's start. An hour, as a load lasts.
const RECENT_S: u64 = 3600;

/// Most entries that are kept: `slowlog-max-len` is 128 by default.
const ENTRIES_MAX: usize = 10_000;

/// The begin of an entry: `1) 1) (integer) 14`.
fn numbered(line: &str) -> bool {
    let inner = item(line).and_then(|(_, rest)| item(rest));
    inner.is_some_and(|(number, rest)| number == 1 && integer(rest).is_some())
}

/// The begin of a bare entry: a number, its time, what it took, the command.
fn bare(lines: &Lines<'_>) -> bool {
    let number = |by: usize| count(lines.ahead(by).trim());
    number(0).is_some()
        && unix_time(lines.ahead(1).trim()).is_some()
        && number(2).is_some()
        && command(lines.ahead(3).trim()).is_some()
}

/// Begins at an entry.
pub(in super::super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let is_bare = bare(lines);
    let second = item(lines.ahead(1)).and_then(|(_, rest)| integer(rest));
    let listed = numbered(lines.ahead(0)) && second.is_some_and(|time| time > 1_000_000_000);
    (is_bare || listed).then(|| {
        lines.resume(SourceKind::RedisSlowLog, SlowLog { bare: is_bare, ..SlowLog::default() }, out)
    })
}

#[derive(Default)]
struct SlowLog {
    bare: bool,
    /// Which line of the entry comes next, from 0.
    at: usize,
    /// The entry's number, of a bare list.
    id: u64,
    time: u64,
    usec: u64,
    /// The line before, if it may be the number of the next entry.
    next_id: Option<u64>,
    /// Time, duration and command.
    found: Vec<(u64, u64, String)>,
}

impl SlowLog {
    fn keep(&mut self, name: &str) {
        // Arguments are not kept, and what is no name of a command is none.
        let name = command(name).unwrap_or_else(|| "?".to_owned());
        if self.found.len() < ENTRIES_MAX {
            self.found.push((self.time, self.usec, name));
        }
    }

    /// A line of a numbered list.
    fn listed(&mut self, line: &str) -> Taken {
        if numbered(line) {
            self.at = 1;
            return Taken::Yes;
        }
        let Some((number, rest)) = item(line) else { return Taken::No };
        let first = item(rest).filter(|(number, _)| *number == 1);
        match (self.at, number, integer(rest), first) {
            (1, 2, Some(time), _) => (self.at, self.time) = (2, time),
            (2, 3, Some(usec), _) => (self.at, self.usec) = (3, usec),
            (3, 4, _, Some((_, text))) => {
                self.at = 4;
                self.keep(quoted(text).unwrap_or_default());
            }
            // Its arguments, the client's address and name.
            (4, ..) => {}
            _ => return Taken::No,
        }
        Taken::Yes
    }

    /// Sees that the next entry began with the line before: entries are numbered, the latest first.
    /// What ends one is the client's name, and that is a blank line only where it has none.
    fn begin_next(&mut self, line: &str) {
        let id = std::mem::replace(&mut self.next_id, count(line));
        let follows = id.filter(|id| id.checked_add(1) == Some(self.id));
        let time = unix_time(line).filter(|time| *time <= self.time);
        if let Some((id, time)) = follows.zip(time) {
            (self.at, self.id, self.time, self.next_id) = (2, id, time, None);
        }
    }

    /// A line of a bare list.
    fn plain(&mut self, line: &str) -> Taken {
        let line = line.trim();
        let at = self.at;
        self.at = at.saturating_add(1);
        match at {
            0 if line.is_empty() => self.at = 0,
            0 => match count(line) {
                Some(id) => (self.id, self.next_id) = (id, None),
                None => return Taken::No,
            },
            1 => match unix_time(line) {
                Some(time) => self.time = time,
                None => return Taken::No,
            },
            2 => match count(line) {
                Some(usec) => self.usec = usec,
                None => return Taken::No,
            },
            3 => self.keep(line),
            _ if line.is_empty() => self.at = 0,
            _ => self.begin_next(line),
        }
        Taken::Yes
    }
}

impl Reader for SlowLog {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        match self.bare {
            // A prompt ends it in the middle of an entry, too.
            true if super::super::prompt::prompt(line).is_some() => Taken::No,
            true => self.plain(line),
            false if line.trim().is_empty() => Taken::Yes,
            false => self.listed(line),
        }
    }

    fn end(&mut self, out: &mut Builder) {
        let server = redis(out, None);
        let latest = self.found.iter().map(|(time, ..)| *time).max().unwrap_or(0);
        let recent = self.found.iter().filter(|(time, ..)| latest - time <= RECENT_S);
        for (_, usec, name) in recent {
            let part = Subject::part(&server, name);
            #[expect(clippy::cast_precision_loss, reason = "microseconds of one call")]
            out.put(Field::CommandSlow, &part, None, *usec as f64 / 1000.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{all_understood, read, values};
    use super::*;

    const LIST: &str = "\
127.0.0.1:6379> SLOWLOG GET 3
1) 1) (integer) 300005
   2) (integer) 1795477745
   3) (integer) 77117
   4) 1) \"sort\"
      2) \"secret-list\"
   5) \"127.0.0.1:44012\"
   6) \"\"
2) 1) (integer) 300004
   2) (integer) 1795477740
   3) (integer) 120135
   4)  1) \"LRANGE\"
       2) \"l\"
       3) \"0\"
       4) \"... (22 more arguments)\"
   5) \"127.0.0.1:44012\"
   6) \"app\"
3) 1) (integer) 12
   2) (integer) 1795400000
   3) (integer) 900000
   4) 1) \"KEYS\"
      2) \"*\"
";

    fn slow(text: &str, name: &str) -> Vec<f64> {
        values(&read(text), Field::CommandSlow, &Subject::part("redis", name))
    }

    #[test]
    fn numbered_lists() {
        all_understood(&read(LIST));
        assert_eq!(slow(LIST, "SORT"), [77.117]);
        assert_eq!(slow(LIST, "LRANGE"), [120.135]);
        assert!(slow(LIST, "KEYS").is_empty(), "the day before");
    }

    #[test]
    fn bare_lists() {
        let text = "$ redis-cli slowlog get > x; cat x\n300005\n1795477745\n77117\nsort\nl\n\
                    127.0.0.1:1\n\n300004\n1795477740\n120135\nlrange\nl\n0\n-1\n127.0.0.1:1\n\n\
                    \n$ free -m\n";
        all_understood(&read(text));
        assert_eq!(slow(text, "SORT"), [77.117]);
        assert_eq!(slow(text, "LRANGE"), [120.135]);
    }

    #[test]
    fn bare_entries_of_clients_with_names() {
        let text = "300005\n1795477745\n77117\nsort\nl\n1\n127.0.0.1:1\nweb1\n300004\n\
                    1795477740\n920135\nkeys\n*\n127.0.0.1:2\nweb1\n300003\n1795477739\n\
                    15000\nzadd\nk\n5\n1795477000\na\n127.0.0.1:2\nweb1\n";
        all_understood(&read(text));
        assert_eq!((slow(text, "SORT"), slow(text, "KEYS")), (vec![77.117], vec![920.135]));
        assert_eq!(slow(text, "ZADD"), [15.0]);
    }

    #[test]
    fn cut_lists_give_what_they_have() {
        let cut = LIST.lines().take(12).collect::<Vec<_>>().join("\n");
        assert_eq!(slow(&cut, "SORT"), [77.117]);
        assert!(read("1) 1) (integer) 5\n   2) (integer) 7\n").hosts.is_empty());
    }
}
