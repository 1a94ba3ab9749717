//! A real Redis server under management. Only on the host: a virtual machine has no room for it.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, number, promotes, skip, trial, wait_for};
use crate::machine::{Memory, Settings, THP, Turn, vmstat};
use crate::manager::{Manage, journal};
use crate::programs;
use crate::promote::target;
use anyhow::{Context, bail, ensure};
use libtest_mimic::Trial;
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = "redis-server";
/// Size of each value.
const VALUE: usize = 8192;
/// Values that are sent before their replies are read.
const AT_ONCE: usize = 64;

/// A value without zero pages: those of `DEBUG POPULATE` are nearly all zeros, which a manager that
/// has sampled them takes for memory that nobody wrote.
fn value(number: usize) -> Vec<u8> {
    let mut value = format!("value:{number}").into_bytes();
    value.resize(VALUE, b'v');
    value
}

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("redis_becomes_huge_and_keeps_its_data", redis_becomes_huge_and_keeps_its_data),
        trial("redis_as_shipped_is_left_alone", redis_as_shipped_is_left_alone),
        trial("redis_saving_stays_shared", redis_saving_stays_shared),
    ]
}

/// A server of one trial, on a socket of its own.
pub(crate) struct Redis {
    process: Child,
    connection: BufReader<UnixStream>,
    keys: usize,
}

impl Redis {
    /// Starts one with `keys` values of 8 KiB.
    fn start(scratch: &Scratch, keys: usize, more: &[&str]) -> anyhow::Result<Self> {
        Self::start_by(&mut Command::new(SERVER), scratch, keys, more)
    }

    /// Starts one by a command of which redis-server is the last word so far.
    pub(crate) fn start_by(
        command: &mut Command,
        scratch: &Scratch,
        keys: usize,
        more: &[&str],
    ) -> anyhow::Result<Self> {
        if init::is_guest() {
            return Err(skip("needs redis-server, which a virtual machine does not hold"));
        }
        let socket = scratch.join("redis.sock");
        command.args(["--port", "0", "--save", "", "--enable-debug-command", "local"]);
        command.arg("--unixsocket").arg(&socket).arg("--dir").arg(scratch.path()).args(more);
        command.stdin(Stdio::null()).stdout(File::create(scratch.join("redis.log"))?);
        let mut process = match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(skip(format!("no {SERVER}: install Debian's package redis-server")));
            }
            other => other.context("cannot start redis-server")?,
        };
        let connected = wait_for("redis-server", || {
            ensure!(process.try_wait()?.is_none(), "redis-server ended");
            Ok(UnixStream::connect(&socket).is_ok())
        });
        if let Err(error) = connected {
            let _ = process.kill();
            let _ = process.wait();
            return Err(error);
        }
        let connection = BufReader::new(UnixStream::connect(&socket)?);
        let mut redis = Self { process, connection, keys };
        redis.fill()?;
        redis.check(0)?;
        Ok(redis)
    }

    fn fill(&mut self) -> anyhow::Result<()> {
        for first in (0..self.keys).step_by(AT_ONCE) {
            let numbers = first..(first + AT_ONCE).min(self.keys);
            let mut request = Vec::new();
            for number in numbers.clone() {
                let key = format!("key:{number}");
                let head = format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${VALUE}\r\n", key.len());
                request.extend_from_slice(head.as_bytes());
                request.extend_from_slice(&value(number));
                request.extend_from_slice(b"\r\n");
            }
            self.connection.get_mut().write_all(&request)?;
            for number in numbers {
                let mut line = String::new();
                self.connection.read_line(&mut line)?;
                ensure!(line == "+OK\r\n", "SET key:{number}: {line}");
            }
        }
        Ok(())
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }

    /// One command, its simple or bulk reply.
    fn ask(&mut self, words: &[&str]) -> anyhow::Result<Vec<u8>> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.connection.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.connection.read_line(&mut line)?;
        match line.trim_end().split_at_checked(1) {
            Some(("+" | ":", rest)) => Ok(rest.into()),
            Some(("$", length)) => {
                let mut bytes = vec![0; length.parse::<usize>().context("no such key")? + 2];
                self.connection.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Ok(bytes)
            }
            _ => bail!("{words:?}: {line}"),
        }
    }

    /// Gets some hundred values, other ones each round, and looks at every byte of them.
    fn check(&mut self, round: usize) -> anyhow::Result<()> {
        for number in (round % 97..self.keys).step_by(self.keys / 200) {
            let got = self.ask(&["GET", &format!("key:{number}")])?;
            ensure!(got == value(number), "DATA CHANGED: key:{number}");
        }
        Ok(())
    }

    fn saving(&mut self) -> anyhow::Result<bool> {
        let info = self.ask(&["INFO", "persistence"])?;
        Ok(String::from_utf8_lossy(&info).contains("rdb_bgsave_in_progress:1"))
    }

    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        Memory::of(self.pid())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Share of what is eligible that is huge, percent; 0 while not everything was looked at.
fn coverage(status: &Value) -> u64 {
    let target = &status["targets"][0];
    let part = |key: &str| target[key].as_u64().unwrap_or(0);
    match target["scanned"] == true {
        true => (part("huge") * 100).checked_div(part("eligible")).unwrap_or(0),
        false => 0,
    }
}

fn redis_becomes_huge_and_keeps_its_data(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    // A host that backs memory lazily does so now, and not while Redis is measured.
    if !init::is_guest() {
        drop(Hold::start("--mib 1536 --advise huge")?);
    }
    let mut redis = Redis::start(&scratch, 131_072, &["--disable-thp", "no"])?;
    let (settings, before) = (Settings::read()?, redis.memory()?);
    ensure!(before.huge == 0 && before.rss > 1 << 20, "1 GiB of base pages: {before:?}");
    let faults = vmstat("thp_fault_alloc")?;
    let began = Instant::now();
    let args = format!("--mode ingens --pid {} --for 60s", redis.pid());
    let mut manager = Manage::new(&scratch, &args).start()?;
    ensure!(!settings.differences().is_empty(), "settings are owned");
    for round in 1.. {
        redis.check(round)?;
        // Some hundred requests a second: a server at work, and a processor left for others.
        std::thread::sleep(Duration::from_millis(200));
        // The end of its 60 s also ends its socket.
        if manager.status().is_ok_and(|status| coverage(&status) >= 98) || manager.has_ended()? {
            break;
        }
    }
    let seconds = began.elapsed().as_secs();
    let status = manager.stop()?.expect(0)?.json()?;
    let faults = vmstat("thp_fault_alloc")? - faults;
    ensure!(settings.differences().is_empty(), "{:?}", settings.differences());
    let (target, covered) = (target(&status, redis.pid())?, coverage(&status));
    let promoted = number(&status, "/promoted")?;
    let warm_ups = number(&status, "/warm_ups")?;
    println!(
        "redis: {covered} % of eligible huge, {promoted} regions, {seconds} s, {}",
        target["limit"]
    );
    let records = journal(&scratch)?;
    for warmed in [true, false] {
        let calls = records.iter().filter(|r| r["warm_ns"].is_u64() == warmed);
        let mut calls: Vec<_> = calls.filter_map(|r| r["call_ns"].as_u64()).collect();
        calls.sort_unstable();
        let (count, sum) = (calls.len(), calls.iter().sum::<u64>() / 1000);
        let median = calls.get(count / 2).copied().unwrap_or(0) / 1000;
        println!("redis: {count} calls, warmed: {warmed}: median {median} us, sum {sum} us");
    }
    let named = !target["limit"].is_null()
        || target["skips"].as_object().is_some_and(|skips| !skips.is_empty());
    ensure!(number(target, "/eligible")? > 1 << 30, "all of it is eligible: {status}");
    ensure!(promoted > 0 && (covered >= 90 || named), "no reason for the rest: {status}");
    let after = redis.memory()?;
    // All of its huge pages are ours: its faults gave it none.
    ensure!(after.huge == promoted * 2048, "{} KiB huge: {status}", after.huge);
    // The kernel counts faults for the whole machine: what others faulted in cannot be told
    // apart, so more is only reported.
    ensure!(faults >= warm_ups, "{faults} huge faults, {warm_ups} warm-ups");
    if faults > warm_ups {
        println!("redis: {} huge page faults of other programs meanwhile", faults - warm_ups);
    }
    ensure!(after.rss * 100 < before.rss * 103, "{before:?} -> {after:?}");
    for round in 0..5 {
        redis.check(round)?;
    }
    Ok(())
}

fn redis_as_shipped_is_left_alone(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    // Redis 7 switches huge pages off for itself only where THP is 'always': it is shown such a
    // machine, in a mount namespace of its own.
    let shown = scratch.join("enabled");
    std::fs::write(&shown, "[always] madvise never\n")?;
    let script = format!("mount --bind \"$0\" {THP}/enabled && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).arg(&shown).arg(SERVER);
    let redis = Redis::start_by(&mut command, &scratch, 8_192, &[])?;
    let args = format!("--pid {} --once --keep-settings", redis.pid());
    let status = Manage::new(&scratch, &args).run()?.expect(0)?.json()?;
    let alone = &status["left_alone"][0];
    ensure!(alone["pid"] == redis.pid(), "{status}");
    ensure!(alone["reason"] == "thp_disabled_by_program", "{status}");
    let said = Manage::new(&scratch, &args).text().run()?.expect(0)?;
    ensure!(said.out.contains("disable-thp no"), "the remedy: {said:?}");
    ensure!(redis.memory()?.huge == 0, "nothing was promoted");
    Ok(())
}

/// Processes that `pid` started.
fn children(pid: u32) -> anyhow::Result<Vec<u32>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    text.split_whitespace().map(|child| Ok(child.parse()?)).collect()
}

fn redis_saving_stays_shared(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    // A delay for each of 32,768 keys: the child lives for at least ten seconds.
    let slow = ["--disable-thp", "no", "--rdb-key-save-delay", "300"];
    let mut redis = Redis::start(&scratch, 32_768, &slow)?;
    let before = redis.memory()?;
    // Slow enough to be caught in the middle, although Redis mostly sleeps through it.
    let config = scratch.join("hugewise.toml");
    let at_lock_share = |percent: &str| {
        let controller =
            format!("[controller]\ncpu_percent = 50\nlock_share_percent = {percent}\n");
        let scan = "[scan]\ncpu_percent = 50\ninterval_ms = 100\nlist_interval_ms = 200\n";
        std::fs::write(&config, controller + scan)
    };
    at_lock_share("0.25")?;
    let (pid, config) = (redis.pid(), config.display());
    let args = format!("--pid {pid} --for 1h --keep-settings --config {config}");
    let manager = Manage::new(&scratch, &args).through(&programs::words("no-terminal")).start()?;
    manager.wait("a promotion", |s| s["promoted"].as_u64() > Some(0))?;
    redis.ask(&["BGSAVE"])?;
    let child = children(redis.pid())?;
    ensure!(child.len() == 1 && redis.saving()?, "one child saves: {child:?}");
    let first = redis.memory()?;
    let shared = |s: &Value| s["targets"][0]["skips"]["shared_pages"].as_u64() > Some(20);
    let status = manager.wait("regions left alone because they are shared", shared)?;
    let (parent, copy) = (redis.memory()?, Memory::of(child[0])?);
    ensure!(redis.saving()?, "the child must have lived until here: {status}");
    // At most what was unshared by Redis itself, and what was under way at the fork.
    let grown = parent.huge.saturating_sub(first.huge) / 2048;
    ensure!(grown <= 4, "{grown} regions were promoted although shared: {status}");
    let sum = parent.pss + copy.pss;
    ensure!(sum * 100 < before.anon * 110, "{before:?} became {parent:?} and {copy:?}");
    redis.check(1)?;
    wait_for("the end of BGSAVE", || Ok(!redis.saving()?))?;
    at_lock_share("100")?;
    manager.signal(Signal::HUP)?;
    manager.wait("the rest", |s| coverage(s) >= 90 && !shared(s))?;
    let status = manager.stop()?.expect(0)?.json()?;
    // The kernel splits a huge page when one of the two writes to it: fewer, but never more.
    let (huge, promoted) = (redis.memory()?.huge / 2048, number(&status, "/promoted")?);
    ensure!(huge <= promoted && huge * 10 >= promoted * 9, "{huge} left: {status}");
    redis.check(2)?;
    let journal = journal(&scratch)?;
    let named = journal.iter().filter(|r| r["reason"] == "shared_pages").count();
    ensure!(named > 20, "the journal names the reason {named} times");
    Ok(())
}
