//! `INFO`: one `name:value` a line, in sections, of any version since 2.8.

use crate::recording::readers::prelude::*;
use crate::recording::words::{REDIS_SECTIONS, REDIS_STARTS};
use std::collections::BTreeMap;

use super::super::served::{put_count, redis};

/// Most commands of one look: Redis 7 has 240 and as many subcommands; modules bring more.
const COMMANDS_MAX: usize = 2000;

/// Longest name: `latency_percentiles_usec_` with a subcommand of a module has some 60.
const NAME_BYTES_MAX: usize = 128;

fn section(line: &str) -> bool {
    line.trim().strip_prefix("# ").is_some_and(|name| REDIS_SECTIONS.contains(&name))
}

/// `name:value`. Only names of commands hold more than letters, digits and `_`.
fn pair(line: &str) -> Option<(&str, &str)> {
    let line = plain(line).trim();
    let of_command = ["cmdstat_", "latency_percentiles_usec_"].iter().any(|s| line.starts_with(s));
    // `cmdstat_x:calls=...`: a name may hold colons itself.
    let (name, value) = match of_command.then(|| line.rsplit_once(':')).flatten() {
        Some(parts) => parts,
        None => line.split_once(':')?,
    };
    let usual = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let named = of_command || name.bytes().all(usual);
    let tight = !value.starts_with(char::is_whitespace) && !value.starts_with("//");
    let short = name.len() <= NAME_BYTES_MAX;
    let sure = begins && named && tight && short && !name.contains(char::is_whitespace);
    sure.then_some((name, value))
}

fn is_own(line: &str) -> bool {
    pair(line).is_some_and(|(name, _)| REDIS_STARTS.iter().any(|start| name.starts_with(start)))
}

/// Begins at a name of its own, or at the heading of a section with a pair below it.
pub(in super::super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let headed = section(line) && (is_own(lines.ahead(1)) || section(lines.ahead(2)));
    (headed || is_own(line)).then(|| lines.resume(SourceKind::RedisInfo, Info::default(), out))
}

/// One look, put together when it ends: the age of its counts may stand behind them.
#[derive(Default)]
struct Info {
    values: BTreeMap<String, String>,
    commands: BTreeMap<String, (f64, f64)>,
    /// Behind a blank line only what is surely its own continues it.
    apart: bool,
}

impl Info {
    fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<f64> {
        number(self.text(name)?)
    }

    /// Bytes: the exact number, else as people read it, `19.02G`.
    fn bytes(&self, name: &str) -> Option<f64> {
        let rounded = || {
            let (value, unit) = number_and_unit(self.text(&format!("{name}_human"))?)?;
            binary_factor(unit.strip_suffix('B').unwrap_or(unit)).map(|factor| value * factor)
        };
        self.number(name).or_else(rounded)
    }

    /// Sum of two, where both are known.
    fn sum(&self, one: &str, other: &str) -> Option<f64> {
        Some(self.number(one)? + self.number(other)?)
    }

    fn put_commands(
        &mut self,
        name: &str,
        server: &Subject,
        age_s: Option<f64>,
        out: &mut Builder,
    ) {
        let commands = std::mem::take(&mut self.commands);
        let all: f64 = commands.values().map(|(_, milliseconds)| milliseconds).sum();
        for (command, (calls, milliseconds)) in &commands {
            let part = Subject::part(name, command);
            out.put(Field::CommandCalls, &part, None, *calls);
            // Called for the first time after the previous sample: that did not list it.
            out.was_absent(Field::CommandTime, &part, server);
            let busy = Some((Field::CommandBusy, 0.1));
            put_count(out, (Field::CommandTime, busy), &part, (*milliseconds, age_s));
        }
        if !commands.is_empty() {
            out.grown(Field::CommandTime, server, (all, age_s));
        }
    }

    fn put_states(&self, name: &str, server: &Subject, out: &mut Builder) {
        let refused = self.text("errorstat_OOM").and_then(|text| text.strip_prefix("count="));
        let copied = [self.number("rdb_last_cow_size"), self.number("aof_last_cow_size")];
        let copied = copied.into_iter().flatten().reduce(f64::max);
        let states = [
            (Field::ServerUptime, self.number("uptime_in_seconds").map(|s| s * 1000.0)),
            (Field::ServerRequests, self.number("instantaneous_ops_per_sec")),
            (Field::DataSize, self.bytes("used_memory")),
            (Field::DataRss, self.bytes("used_memory_rss")),
            // 0 stands for no limit.
            (Field::DataLimit, self.bytes("maxmemory").filter(|limit| *limit > 0.0)),
            (Field::RssRatio, self.number("mem_fragmentation_ratio")),
            (Field::AllocatorFragmentation, self.number("allocator_frag_ratio")),
            (Field::AllocatorRss, self.number("allocator_rss_ratio")),
            // 0 stands for no fork yet, and nothing saved yet.
            (
                Field::ForkTime,
                self.number("latest_fork_usec").filter(|us| *us > 0.0).map(|us| us / 1000.0),
            ),
            (Field::CowSize, copied.filter(|bytes| *bytes > 0.0)),
            (Field::RefusedWriteCount, refused.and_then(number)),
        ];
        for (field, value) in states {
            out.put_known(field, server, None, value);
        }
        let version = self.text("valkey_version").or_else(|| self.text("redis_version"));
        let settings = [("maxmemory_policy", self.text("maxmemory_policy")), ("version", version)];
        for (setting, text) in settings {
            if let Some(text) = text {
                out.setting(&format!("{name} {setting}"), text);
            }
        }
    }

    /// `calls=21,usec=175,usec_per_call=8.33,...`
    fn command(&mut self, name: &str, value: &str, out: &mut Builder) {
        let field = |wanted: &str| {
            let mut parts = value.split(',').filter_map(|part| part.split_once('='));
            parts.find(|(key, _)| *key == wanted).and_then(|(_, text)| number(text))
        };
        let (calls, usec) = (field("calls"), field("usec"));
        let (Some(calls), Some(usec), Some(name)) = (calls, usec, super::command(name)) else {
            return out.problem("a command without 'calls=' and 'usec=': left out");
        };
        if self.commands.len() < COMMANDS_MAX {
            self.commands.insert(name, (calls, usec / 1000.0));
        }
    }
}

impl Reader for Info {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            self.apart = true;
            return Taken::Yes;
        }
        if section(line) {
            self.apart = false;
            return Taken::Yes;
        }
        if elided(line) {
            return Taken::Yes;
        }
        let Some((name, value)) = pair(line).filter(|_| !self.apart || is_own(line)) else {
            return Taken::No;
        };
        self.apart = false;
        if let Some(command) = name.strip_prefix("cmdstat_") {
            if super::command(command).is_some_and(|name| self.commands.contains_key(&name)) {
                self.end(out);
            }
            self.command(command, value, out);
            return Taken::Yes;
        }
        // The same name again: the next look.
        if self.values.contains_key(name) {
            self.end(out);
        }
        if self.values.len() < COMMANDS_MAX {
            self.values.insert(name.to_owned(), value.chars().take(80).collect());
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        if self.values.is_empty() && self.commands.is_empty() {
            return;
        }
        let name = redis(out, self.text("tcp_port"));
        let server = Subject::Service(name.clone());
        self.put_states(&name, &server, out);
        // The server's own clock is finer than its age in seconds.
        let clock = self.number("server_time_usec").map(|usec| usec / 1e6);
        let age_s = clock.or_else(|| self.number("uptime_in_seconds"));
        let cpu = self
            .sum("used_cpu_sys_main_thread", "used_cpu_user_main_thread")
            .or_else(|| self.sum("used_cpu_sys", "used_cpu_user"));
        let kernel =
            self.number("used_cpu_sys_main_thread").or_else(|| self.number("used_cpu_sys"));
        let counts = [
            // Milliseconds in a second are tenths of a percent.
            (Field::ServerCpuTime, Some((Field::ServerCpu, 0.1)), cpu.map(|s| s * 1000.0)),
            (Field::ServerSystemTime, Some((Field::ServerSystem, 0.1)), kernel.map(|s| s * 1000.0)),
            (Field::EvictedCount, Some((Field::Evictions, 1.0)), self.number("evicted_keys")),
            (
                Field::FsyncDelayCount,
                Some((Field::FsyncDelays, 1.0)),
                self.number("aof_delayed_fsync"),
            ),
            (Field::CacheHitCount, None, self.number("keyspace_hits")),
            (Field::CacheMissCount, None, self.number("keyspace_misses")),
        ];
        for (field, rate, value) in counts {
            if let Some(value) = value {
                put_count(out, (field, rate), &server, (value, age_s));
            }
        }
        self.put_commands(&name, &server, age_s, out);
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{all_understood, read, values};
    use super::*;

    fn redis() -> Subject {
        Subject::Service("redis".to_owned())
    }

    /// Redis 5: no server_time_usec, no main thread, no errorstats.
    const FIVE: &str = "\
# Server\r
redis_version:5.0.7\r
redis_mode:standalone\r
os:Linux 5.4.0-100-generic x86_64\r
tcp_port:6379\r
uptime_in_seconds:1000\r
executable:/usr/bin/redis-server\r
config_file:/etc/redis/redis.conf\r
\r
# Memory\r
used_memory:4294967296\r
used_memory_rss:5368709120\r
maxmemory:0\r
maxmemory_human:0B\r
mem_fragmentation_ratio:1.25\r
mem_allocator:jemalloc-5.2.1\r
\r
# Persistence\r
rdb_last_cow_size:104857600\r
aof_last_cow_size:0\r
aof_delayed_fsync:3\r
\r
# Stats\r
evicted_keys:0\r
latest_fork_usec:41000\r
keyspace_hits:900\r
keyspace_misses:100\r
\r
# CPU\r
used_cpu_sys:10.500000\r
used_cpu_user:39.500000\r
\r
# Commandstats\r
cmdstat_get:calls=1000,usec=2000,usec_per_call=2.00\r
cmdstat_keys:calls=10,usec=8000000,usec_per_call=800000.00\r
\r
# Keyspace\r
db0:keys=12,expires=0,avg_ttl=0\r
";

    #[test]
    fn all_sections_of_redis_5() {
        let recording = read(FIVE);
        all_understood(&recording);
        for (field, value) in [
            (Field::ServerUptime, 1e6),
            (Field::DataSize, 4_294_967_296.0),
            (Field::DataRss, 5_368_709_120.0),
            (Field::RssRatio, 1.25),
            (Field::ForkTime, 41.0),
            (Field::CowSize, 104_857_600.0),
            (Field::FsyncDelayCount, 3.0),
            (Field::CacheHitCount, 900.0),
            (Field::ServerCpuTime, 50_000.0),
            (Field::ServerSystemTime, 10_500.0),
        ] {
            assert_eq!(values(&recording, field, &redis()), [value], "{field:?}");
        }
        assert!(values(&recording, Field::DataLimit, &redis()).is_empty(), "0 is no limit");
        let keys = Subject::part("redis", "KEYS");
        assert_eq!(values(&recording, Field::CommandTime, &keys), [8000.0]);
        assert_eq!(values(&recording, Field::CommandCalls, &keys), [10.0]);
    }

    #[test]
    fn two_looks_give_rates_by_the_server_s_own_clock() {
        let look = |second: u64, keys: u64| {
            format!(
                "# Server\nvalkey_version:8.0.1\ntcp_port:7000\n\
                 server_time_usec:17000000{second:02}000000\nuptime_in_seconds:{second}\n\n\
                 # CPU\nused_cpu_sys:1\nused_cpu_user:1\nused_cpu_sys_main_thread:{second}.0\n\
                 used_cpu_user_main_thread:0.5\n\n# Commandstats\n\
                 cmdstat_json.get:calls=1,usec=5,usec_per_call=5.00,rejected_calls=0\n\
                 cmdstat_keys:calls=2,usec={keys},usec_per_call=5.00,rejected_calls=0\n\n"
            )
        };
        for text in [
            look(10, 1_000_000) + &look(20, 7_000_000),
            // Other commands in between; the later one first.
            format!(
                "$ redis-cli info all\n{}$ top -b -n 1\n{}",
                look(10, 1_000_000),
                look(20, 7_000_000)
            ),
            look(20, 7_000_000) + &look(10, 1_000_000),
        ] {
            let recording = read(&text);
            all_understood(&recording);
            let keys = Subject::part("redis :7000", "KEYS");
            assert_eq!(values(&recording, Field::CommandBusy, &keys), [60.0]);
            let server = Subject::Service("redis :7000".to_owned());
            assert_eq!(values(&recording, Field::ServerCpu, &server), [100.0]);
        }
        // Called for the first time in between.
        let first =
            look(10, 0).replace("cmdstat_keys:calls=2,usec=0", "cmdstat_set:calls=2,usec=9");
        let recording = read(&(first + &look(20, 6_000_000)));
        let keys = Subject::part("redis :7000", "KEYS");
        assert_eq!(values(&recording, Field::CommandBusy, &keys), [60.0]);
        // A restart in between.
        let recording = read(&(look(20, 5) + &look(30, 1)));
        let keys = Subject::part("redis :7000", "KEYS");
        assert!(values(&recording, Field::CommandBusy, &keys).is_empty());
    }

    #[test]
    fn some_lines_of_it_in_words_for_people() {
        let recording = read(
            "c5$ redis-cli -p 6399 info memory | egrep 'human|frag'\nused_memory_human:19.02G\n\
             used_memory_rss_human:46.11G\nmaxmemory_human:0B\nmem_fragmentation_ratio:2.42\n\n\
             And this is what I do not understand at all in this output:\nnote:nothing\n",
        );
        let server = Subject::Service("redis :6399".to_owned());
        let size = values(&recording, Field::DataSize, &server);
        assert_eq!(size, [19.02 * 1024.0 * 1024.0 * 1024.0]);
        assert_eq!(values(&recording, Field::RssRatio, &server), [2.42]);
        assert_eq!(recording.unrecognised.len(), 1);
    }
}
