//! Drives memcached: few keys in a large hash table, which huge pages fill with zeros.

use super::common;
use super::wire::{Address, Meter, Wire};
use crate::program::Program;
use crate::run::Run;
use anyhow::bail;
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::Memcached;
use hugewise_experiment::spec::START;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SERVER: &str = "memcached";

/// Runs it: filled, managed where the variant says so, measured, every value compared.
pub(super) fn drive(params: &Memcached, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("starting memcached")?;
    let mut server = Server::start(params, run)?;
    let began = Instant::now();
    server.fill(run)?;
    run.value("fill_s", began.elapsed().as_secs_f64());
    let pid = server.program.pid();
    let memory = run.memory("at_once", pid);
    common::check_huge(run, SERVER, &memory)?;
    let mut manager = run.manage(&[pid])?;
    // It works meanwhile: khugepaged passes over what nobody has touched.
    run.step("memory settles under load")?;
    server.load(run, common::settling(run))?.note(run, START);
    common::check(&mut manager)?;
    run.step("watching its memory")?;
    run.watch("later", pid, Duration::from_secs(params.watch_s))?;
    run.memory("later", pid);
    run.step("measuring")?;
    server.load(run, run.measure())?.note(run, "");
    common::note_closed_loop(run);
    common::check(&mut manager)?;
    run.step("comparing every value")?;
    for key in 0..server.keys {
        server.get(key)?;
        if key.is_multiple_of(1000) {
            run.beat()?;
        }
    }
    run.stop(manager)?;
    run.end(server.program)
}

/// A server, and which keys it is asked for.
struct Server {
    program: Program,
    wire: Wire,
    keys: u64,
    value_bytes: usize,
    rng: Rng,
}

impl Server {
    fn start(params: &Memcached, run: &Run<'_>) -> anyhow::Result<Self> {
        let socket = run.own().join("memcached.sock");
        let mut command = run.command(SERVER)?;
        if rustix::process::geteuid().is_root() && run.user().is_none() {
            // Root of a namespace without anybody else: it would look for another user.
            command.args(["-u", "root"]);
        }
        let (mib, threads) = (params.memory_mib, params.threads);
        command.args(["-m", &mib.to_string(), "-t", &threads.to_string()]);
        command.args(["-o", &format!("hashpower={}", params.hashpower)]);
        command.args(["-a", "0700", "-s"]).arg(&socket).stdin(Stdio::null());
        common::advise(run, &mut command);
        let mut program = Program::start(&mut command)?;
        let wire = Wire::connect(run, &mut program, SERVER, &Address::Unix(socket))?;
        let (keys, value_bytes) = (params.keys, params.value_bytes);
        Ok(Self { program, wire, keys, value_bytes, rng: Rng::new(run.seed()) })
    }

    fn fill(&mut self, run: &Run<'_>) -> anyhow::Result<()> {
        for key in 0..self.keys {
            let mut request = format!("set key:{key} 0 0 {}\r\n", self.value_bytes).into_bytes();
            request.extend_from_slice(&value(key, self.value_bytes));
            request.extend_from_slice(b"\r\n");
            self.wire.send(&request)?;
            let line = self.wire.line()?;
            if line != "STORED" {
                bail!("memcached says '{line}' to set; is memory_mib too small for all keys?");
            }
            if key.is_multiple_of(1000) {
                run.beat()?;
            }
        }
        Ok(())
    }

    /// Asks for one value and looks at every byte of it; how long the answer took.
    fn get(&mut self, key: u64) -> anyhow::Result<Duration> {
        let mut wanted = format!("VALUE key:{key} 0 {}\r\n", self.value_bytes).into_bytes();
        wanted.extend_from_slice(&value(key, self.value_bytes));
        wanted.extend_from_slice(b"\r\nEND\r\n");
        let mut answer = vec![0; wanted.len()];
        let began = Instant::now();
        self.wire.send(format!("get key:{key}\r\n").as_bytes())?;
        let line = self.wire.line()?;
        if line == "END" {
            bail!("memcached has evicted key:{key}: memory_mib is too small for all keys");
        }
        let head = line.len() + 2;
        self.wire.exact(answer.get_mut(head..).unwrap_or_default())?;
        let took = began.elapsed();
        if line.as_bytes() != &wanted[..line.len().min(wanted.len())]
            || answer.get(head..) != wanted.get(head..)
        {
            bail!("DATA MISMATCH in memcached: key:{key} is not as written");
        }
        Ok(took)
    }

    fn load(&mut self, run: &Run<'_>, time: Duration) -> anyhow::Result<Meter> {
        let mut meter = Meter::start();
        while meter.elapsed() < time {
            let key = self.rng.below(self.keys);
            let took = self.get(key)?;
            meter.add(run, took)?;
        }
        Ok(meter)
    }
}

/// Differs between keys.
fn value(key: u64, bytes: usize) -> Vec<u8> {
    let mut value = format!("value of {key}").into_bytes();
    value.resize(bytes, b'.');
    value
}
