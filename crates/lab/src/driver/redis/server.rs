//! A Redis server of one run, and its only client.

use crate::driver::common;
use crate::driver::wire::{Address, Meter, Wire};
use crate::program::Program;
use crate::redis_says::resp;
use crate::run::Run;
use anyhow::{Context, bail};
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::{Redis, Socket};
use hugewise_linux::nobody::random_hex;
use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Name of its program.
pub(super) const SERVER: &str = "redis-server";
/// Bytes sent before the answers are read, and requests at most.
const PIPELINE: (usize, usize) = (1 << 20, 64);
/// Keys of one `DEL`.
const BATCH: usize = 100;
/// Size of a large value, bytes.
pub(super) const LARGE: usize = 2 << 20;
/// No small value is written so often, so large ones hold other bytes.
const LARGE_VERSION: u32 = 0x00ff_ffff;
/// How often a save is asked whether it is done.
const ASK: Duration = Duration::from_millis(10);
/// A background save that takes longer hangs.
const SAVE: Duration = Duration::from_secs(600);
/// Commands that are taken away. All of them are in Redis 5 and later: a server does not start that
/// is set to rename one that it does not know.
const GONE: [&str; 15] = [
    "BGREWRITEAOF",
    "CLUSTER",
    "CONFIG",
    "DEBUG",
    "EVAL",
    "EVALSHA",
    "MIGRATE",
    "MODULE",
    "MONITOR",
    "REPLICAOF",
    "RESTORE",
    "SAVE",
    "SCRIPT",
    "SHUTDOWN",
    "SLAVEOF",
];
/// Random bytes of a password.
const PASSWORD_BYTES: usize = 16;

/// How a load was while a child saved.
#[derive(Debug)]
pub(super) struct Saved {
    /// Its latencies.
    pub(super) meter: Meter,
    /// How long the save took.
    pub(super) time: Duration,
    /// Whether all requests were answered before the save was over.
    pub(super) in_time: bool,
}

/// The server with a connection, and what it holds by now.
#[derive(Debug)]
pub(super) struct Server {
    /// The server; looked at when it may have been killed.
    pub(super) program: Program,
    wire: Wire,
    address: Address,
    password: Option<String>,
    log: PathBuf,
    value_bytes: usize,
    /// How often each key was written.
    versions: Vec<u32>,
    /// Numbers of the keys that are there.
    alive: Vec<usize>,
    answer: Vec<u8>,
    rng: Rng,
}

impl Server {
    /// Starts one and connects.
    pub(super) fn start(params: &Redis, run: &Run<'_>) -> anyhow::Result<Self> {
        let log = run.directory().join("redis.log");
        let mut command = run.command(SERVER)?;
        let password = password(params)?;
        // A file, as everybody sees the arguments of a program.
        command.arg(run.give("redis.conf", &closed(password.as_deref()))?);
        command.args(["--save", ""]);
        // It would switch huge pages off for itself.
        command.args(["--disable-thp", "no"]);
        command.arg("--dir").arg(run.own());
        let address = if params.socket == Socket::Tcp {
            Address::free_port()?
        } else {
            Address::Unix(run.own().join("redis.sock"))
        };
        match &address {
            Address::Unix(path) => {
                let closed = ["--port", "0", "--unixsocketperm", "700", "--unixsocket"];
                command.args(closed).arg(path)
            }
            Address::Tcp(port) => {
                command.args(["--bind", "127.0.0.1", "--port"]).arg(port.to_string())
            }
        };
        common::advise(run, &mut command);
        let mut program = Program::start(command.stdin(Stdio::null()).stdout(File::create(&log)?))?;
        let wire = Wire::connect(run, &mut program, SERVER, &address)
            .with_context(|| format!("its log ends with {}", common::log_end(&log)))?;
        let mut server = Self {
            program,
            wire,
            address,
            password,
            log,
            value_bytes: params.value_bytes,
            versions: Vec::new(),
            alive: Vec::new(),
            answer: Vec::new(),
            rng: Rng::new(run.seed()),
        };
        if let Some(password) = server.password.clone() {
            server.ask(&[b"AUTH", password.as_bytes()])?;
            server.expect(b"OK", "AUTH")?;
        }
        // The port may have gone to somebody else meanwhile.
        let info = server.info("server")?;
        if field(&info, "process_id") != Some(server.pid().to_string().as_str()) {
            bail!("another Redis answers on {:?}", server.address);
        }
        Ok(server)
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// Where it listens.
    pub(super) const fn address(&self) -> &Address {
        &self.address
    }

    /// What a client must say first, where the server can be reached by others.
    pub(super) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// How many keys there are.
    pub(super) fn keys(&mut self) -> anyhow::Result<u64> {
        self.ask(&[b"DBSIZE"])?;
        String::from_utf8_lossy(&self.answer).parse().context("no number of keys")
    }

    /// Asks it to end.
    pub(super) fn end(self, run: &Run<'_>) -> anyhow::Result<()> {
        run.end(self.program)
    }

    /// The last lines of its log.
    pub(super) fn log_end(&self) -> String {
        common::log_end(&self.log)
    }

    /// Writes `count` further keys.
    pub(super) fn fill(&mut self, run: &Run<'_>, count: usize) -> anyhow::Result<()> {
        let (first, last) = (self.versions.len(), self.versions.len() + count);
        let many = (PIPELINE.0 / self.value_bytes.max(1)).clamp(1, PIPELINE.1);
        let mut at = first;
        while at < last {
            self.write(at..last.min(at + many))?;
            at = last.min(at + many);
            run.beat()?;
        }
        Ok(())
    }

    /// Writes new keys, all of them before the answers are read.
    pub(super) fn write(&mut self, keys: Range<usize>) -> anyhow::Result<()> {
        let mut request = Vec::new();
        for key in keys.clone() {
            let value = value(key, 0, self.value_bytes);
            resp::command(&[b"SET", name(key).as_bytes(), &value], &mut request);
        }
        self.wire.send(&request)?;
        for key in keys {
            self.read()?;
            self.expect(b"OK", "SET")?;
            self.versions.push(0);
            self.alive.push(key);
        }
        Ok(())
    }

    /// Writes a value of [`LARGE`] bytes.
    pub(super) fn write_large(&mut self, number: usize) -> anyhow::Result<()> {
        let value = value(number, LARGE_VERSION, LARGE);
        self.ask(&[b"SET", large_name(number).as_bytes(), &value])?;
        self.expect(b"OK", "SET")
    }

    /// One command; its answer is kept until the next one.
    pub(super) fn ask(&mut self, command: &[&[u8]]) -> anyhow::Result<()> {
        let mut request = Vec::new();
        resp::command(command, &mut request);
        self.wire.send(&request)?;
        self.read()
    }

    fn read(&mut self) -> anyhow::Result<()> {
        let line = self.wire.line()?;
        self.answer.clear();
        match line.split_at_checked(1) {
            Some(("+" | ":", rest)) => self.answer.extend_from_slice(rest.as_bytes()),
            Some(("$", "-1")) => bail!("DATA MISMATCH in Redis: a key is not there"),
            Some(("$", length)) => {
                let length: usize = length.parse().context("a length")?;
                self.answer.resize(length.saturating_add(2), 0);
                self.wire.exact(&mut self.answer)?;
                self.answer.truncate(length);
            }
            _ => bail!("Redis answers '{line}'"),
        }
        Ok(())
    }

    fn expect(&self, wanted: &[u8], what: &str) -> anyhow::Result<()> {
        if self.answer == wanted {
            return Ok(());
        }
        bail!("Redis answers '{}' to {what}", String::from_utf8_lossy(&self.answer))
    }

    /// A section of `INFO`.
    pub(super) fn info(&mut self, section: &str) -> anyhow::Result<String> {
        self.ask(&[b"INFO", section.as_bytes()])?;
        Ok(String::from_utf8_lossy(&self.answer).into_owned())
    }

    /// Gets one value and looks at every byte of it; how long the answer took.
    fn get(&mut self, key: usize) -> anyhow::Result<Duration> {
        let name = name(key);
        let began = Instant::now();
        self.ask(&[b"GET", name.as_bytes()])?;
        let took = began.elapsed();
        if self.answer != value(key, self.versions[key], self.value_bytes) {
            bail!("DATA MISMATCH in Redis: {name} is not as written");
        }
        Ok(took)
    }

    /// Overwrites one value.
    fn set(&mut self, key: usize) -> anyhow::Result<Duration> {
        let version = self.versions[key].wrapping_add(1);
        let (name, value) = (name(key), value(key, version, self.value_bytes));
        let began = Instant::now();
        self.ask(&[b"SET", name.as_bytes(), &value])?;
        let took = began.elapsed();
        self.expect(b"OK", "SET")?;
        self.versions[key] = version;
        Ok(took)
    }

    /// One request: `SET` in this share of cases, else `GET`.
    fn request(&mut self, set_percent: u64) -> anyhow::Result<Duration> {
        let at = usize::try_from(self.rng.below(self.alive.len().max(1) as u64))?;
        let key = *self.alive.get(at).context("no keys are left")?;
        if self.rng.percent(set_percent) { self.set(key) } else { self.get(key) }
    }

    /// Requests, one after another, for so long.
    pub(super) fn load(
        &mut self,
        run: &Run<'_>,
        time: Duration,
        set_percent: u64,
    ) -> anyhow::Result<Meter> {
        let mut meter = Meter::start();
        while meter.elapsed() < time {
            let took = self.request(set_percent)?;
            meter.add(run, took)?;
        }
        Ok(meter)
    }

    /// Saves in the background and sends a number of requests meanwhile, the same ones whenever the
    /// seed is the same: a server that answers slowly would otherwise have less to copy.
    pub(super) fn load_while_saving(
        &mut self,
        run: &Run<'_>,
        set_percent: u64,
        requests: u64,
    ) -> anyhow::Result<Saved> {
        let mut meter = Meter::start();
        self.rng = Rng::new(run.seed());
        // The server stands still while it forks: that is the first request's latency.
        let began = Instant::now();
        self.ask(&[b"BGSAVE"])?;
        meter.add(run, began.elapsed())?;
        for _ in 0..requests {
            let took = self.request(set_percent)?;
            meter.add(run, took)?;
        }
        let in_time = self.is_saving()?;
        while self.is_saving()? {
            if began.elapsed() >= SAVE {
                bail!("Redis has not saved within {} s", SAVE.as_secs());
            }
            run.sleep(ASK)?;
        }
        Ok(Saved { meter, time: began.elapsed(), in_time })
    }

    fn is_saving(&mut self) -> anyhow::Result<bool> {
        let info = self.info("persistence")?;
        Ok(field(&info, "rdb_bgsave_in_progress") != Some("0"))
    }

    /// Every key that should be there is, with its value, and no other one.
    pub(super) fn check_all(&mut self, run: &Run<'_>) -> anyhow::Result<()> {
        self.check_with(run, &[])
    }

    /// The same, with keys that were written by [`Self::write_large`] as well.
    pub(super) fn check_with(&mut self, run: &Run<'_>, large: &[usize]) -> anyhow::Result<()> {
        self.ask(&[b"DBSIZE"])?;
        if self.answer != (self.alive.len() + large.len()).to_string().as_bytes() {
            bail!("DATA MISMATCH in Redis: another number of keys");
        }
        for number in large {
            let name = large_name(*number);
            self.ask(&[b"GET", name.as_bytes()])?;
            if self.answer != value(*number, LARGE_VERSION, LARGE) {
                bail!("DATA MISMATCH in Redis: {name} is not as written");
            }
            run.beat()?;
        }
        for at in 0..self.alive.len() {
            self.get(self.alive[at])?;
            if at.is_multiple_of(1000) {
                run.beat()?;
            }
        }
        Ok(())
    }

    /// Deletes this share of the keys, at random.
    pub(super) fn delete(&mut self, run: &Run<'_>, percent: usize) -> anyhow::Result<()> {
        for at in (1..self.alive.len()).rev() {
            let other = usize::try_from(self.rng.below(at as u64 + 1))?;
            self.alive.swap(at, other);
        }
        let left = self.alive.len() * 100_usize.saturating_sub(percent) / 100;
        let gone = self.alive.split_off(left);
        for keys in gone.chunks(BATCH) {
            let names: Vec<String> = keys.iter().map(|key| name(*key)).collect();
            let mut command = vec![b"DEL".as_slice()];
            command.extend(names.iter().map(String::as_bytes));
            self.ask(&command)?;
            self.expect(keys.len().to_string().as_bytes(), "DEL")?;
            run.beat()?;
        }
        Ok(())
    }
}

/// A password for a server that everybody on the machine can reach: they would write keys. A socket
/// in a directory that only its user enters needs none.
fn password(params: &Redis) -> anyhow::Result<Option<String>> {
    let random = || random_hex(PASSWORD_BYTES).context("no random bytes for a password");
    (params.socket == Socket::Tcp).then(random).transpose()
}

/// A configuration without what no driver asks for and a stranger would: code and files of the
/// server's user. A client that guesses the password, or gets at the socket, finds no such command.
fn closed(password: Option<&str>) -> String {
    let secret = password.map(|password| format!("requirepass {password}\n"));
    let gone = GONE.iter().map(|command| format!("rename-command {command} \"\"\n"));
    secret.into_iter().chain(gone).collect()
}

fn large_name(number: usize) -> String {
    format!("large:{number}")
}

fn name(key: usize) -> String {
    format!("key:{key}")
}

/// A field of `INFO`.
pub(super) fn field<'t>(info: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = info.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// What a key holds: random bytes, the same each time. What `DEBUG POPULATE` writes is mostly
/// zeros, which a split would give back although they are data.
pub(super) fn value(key: usize, version: u32, bytes: usize) -> Vec<u8> {
    let mut rng = Rng::new((key as u64) | (u64::from(version) << 40));
    let mut value = Vec::with_capacity(bytes + 8);
    while value.len() < bytes {
        value.extend_from_slice(&rng.next().to_le_bytes());
    }
    value.truncate(bytes);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let info = "# Persistence\r\nrdb_last_cow_size:12\r\nrdb_last_cow:3\r\n";
        assert_eq!(field(info, "rdb_last_cow"), Some("3"));
        assert_eq!(field(info, "rdb_last_cow_size"), Some("12"));
        assert_eq!(field(info, "rdb"), None);
    }

    #[test]
    fn values_differ_between_keys_and_versions() {
        assert_eq!(value(3, 1, 100), value(3, 1, 100));
        assert_eq!(value(3, 1, 13).len(), 13);
        assert_ne!(value(3, 1, 100), value(3, 2, 100));
        assert_ne!(value(3, 1, 100), value(4, 1, 100));
    }
}
