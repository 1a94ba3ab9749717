//! `hugewise serve` on the real kernel: two processes, one of them without rights, and Prometheus
//! that asks them.

use crate::init;
use crate::kit::{Scratch, skip, trial, wait_for};
use crate::machine::Turn;
use crate::metrics::RULES;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("serve_answers_from_a_process_without_rights", without_rights),
        trial("serve_leaves_no_process_behind", leaves_nobody),
        trial("prometheus_scrapes_two_instances_and_an_alert_fires", prometheus),
    ]
}

/// A server that has said where it is.
pub(crate) struct Served {
    process: Child,
    pub(crate) address: String,
    pub(crate) token: String,
    uid: u64,
}

impl Served {
    fn start(scratch: &Scratch, name: &str) -> anyhow::Result<Self> {
        Self::start_beside(scratch, name, &[])
    }

    /// With more arguments.
    pub(crate) fn start_beside(
        scratch: &Scratch,
        name: &str,
        more: &[&str],
    ) -> anyhow::Result<Self> {
        if init::is_guest() {
            return Err(skip("a guest has no network"));
        }
        let file = scratch.join(format!("{name}.token"));
        let mut command = Command::new(init::hugewise());
        command.args(["--json", "serve", "--listen", "127.0.0.1:0", "--token-file"]);
        command.arg(&file).arg("--history").arg(scratch.join("history"));
        command.arg("--state-dir").arg(scratch.join("state")).args(more);
        let mut process = command.stdout(Stdio::piped()).spawn().context("cannot start serve")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line).with_context(|| format!("said '{line}'"))?;
        let page = said["page"].as_str().context("no page")?;
        let address = page.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let token = fs::read_to_string(&file)?.trim().to_owned();
        ensure!(!line.contains(&token), "a token in a file is not printed");
        let uid = said["uid"].as_u64().context("no uid")?;
        Ok(Self { process, address, token, uid })
    }

    /// Head and body of an answer.
    fn get(&self, target: &str) -> anyhow::Result<(String, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (host, token) = (&self.address, &self.token);
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n")?;
        write!(stream, "Authorization: Bearer {token}\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        Ok((head.to_owned(), body.to_owned()))
    }

    fn json(&self, target: &str) -> anyhow::Result<Value> {
        let (head, body) = self.get(target)?;
        ensure!(head.starts_with("HTTP/1.1 200"), "{target}: {head}\n{body}");
        Ok(serde_json::from_str(&body)?)
    }

    /// The process that answers HTTP.
    fn front(&self) -> anyhow::Result<u32> {
        let of = self.process.id();
        let children = fs::read_to_string(format!("/proc/{of}/task/{of}/children"))?;
        children.trim().parse().with_context(|| format!("not one child: '{children}'"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}

/// The value of a line of `/proc/PID/status`.
fn status(pid: u32, key: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)).context("no such line")?;
    Ok(line.trim().to_owned())
}

fn without_rights(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let served = Served::start(&scratch, "one")?;
    let front = served.front()?;
    if rustix::process::geteuid().is_root() {
        let uids = status(front, "Uid:")?;
        ensure!(uids.split_whitespace().all(|uid| uid == served.uid.to_string()), "{uids}");
        ensure!(served.uid != 0 && status(front, "Groups:")?.is_empty());
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            ensure!(status(front, set)?.trim_matches('0').is_empty(), "{set} has something");
        }
        ensure!(status(front, "NoNewPrivs:")? == "1");
        ensure!(status(front, "Seccomp:")? == "2", "it makes every system call");
    }
    let told = served.json("/api/v1/status")?;
    ensure!(told["machine"]["mem_total"].as_u64().is_some(), "{told}");
    let own = std::process::id();
    let map = served.json(&format!("/api/v1/map?pid={own}"))?;
    ensure!(map["pid"] == own && map["mappings"].as_array().is_some_and(|all| !all.is_empty()));
    let (head, why) = served.get("/api/v1/history")?;
    ensure!(head.starts_with("HTTP/1.1 404") && !why.is_empty(), "{head}\n{why}");
    let (head, why) = served.get("/api/v1/status?sort=nonsense")?;
    ensure!(head.starts_with("HTTP/1.1 400") && why.contains("no field"), "{head}\n{why}");
    let (head, _) = served.get("/metrics")?;
    ensure!(head.contains("text/plain; version=0.0.4"), "{head}");
    Ok(())
}

fn leaves_nobody(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    for signal in [Signal::TERM, Signal::KILL] {
        let mut served = Served::start(&scratch, "one")?;
        let front = served.front()?;
        kill_process(Pid::from_child(&served.process), signal)?;
        let ended = served.process.wait()?;
        ensure!(signal == Signal::KILL || ended.success(), "{ended}");
        wait_for("the end of the process that answers HTTP", || {
            Ok(!Path::new(&format!("/proc/{front}")).exists())
        })?;
    }
    // And the other way round.
    let mut served = Served::start(&scratch, "one")?;
    let front = i32::try_from(served.front()?)?;
    kill_process(Pid::from_raw(front).context("a pid")?, Signal::KILL)?;
    ensure!(served.process.wait()?.code() == Some(1), "it says that something went wrong");
    Ok(())
}

/// A server that ends with this.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What is asked of Prometheus by its own API.
fn asked(address: &str, path: &str) -> anyhow::Result<Value> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    Ok(serde_json::from_str(body)?)
}

/// No manager runs: the shipped alert for that, which waits no time here, fires for both.
fn prometheus(_: &Turn) -> anyhow::Result<()> {
    let found = Command::new("prometheus").arg("--version").stderr(Stdio::null()).output();
    found.map_err(|error| skip(format!("prometheus of Debian: {error}")))?;
    let scratch = Scratch::new()?;
    let both = [Served::start(&scratch, "one")?, Served::start(&scratch, "two")?];
    fs::write(scratch.join("rules.yml"), RULES.replace("for: 5m", "for: 0s"))?;
    let mut config = "global: {scrape_interval: 1s, evaluation_interval: 1s}\n".to_owned();
    config += "rule_files: [rules.yml]\nscrape_configs:\n";
    for (served, name) in both.iter().zip(["one", "two"]) {
        config += &format!(
            "  - job_name: {name}\n    authorization: {{credentials_file: {name}.token}}\n    \
             static_configs: [{{targets: ['{}']}}]\n",
            served.address
        );
    }
    fs::write(scratch.join("prometheus.yml"), config)?;
    // A port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", scratch.join("prometheus.yml").display()));
    command.arg(format!("--storage.tsdb.path={}", scratch.join("data").display()));
    command.arg(format!("--web.listen-address={address}"));
    let log = scratch.join("prometheus.log");
    command.stdout(Stdio::null()).stderr(File::create(&log)?);
    let _running = Prometheus(command.spawn()?);
    let said = || fs::read_to_string(&log).unwrap_or_default();
    let fires = || {
        let Ok(told) = asked(&address, "/api/v1/alerts") else { return Ok(false) };
        let alerts = told["data"]["alerts"].as_array().cloned().unwrap_or_default();
        let mute = alerts.iter().filter(|alert| {
            alert["labels"]["alertname"] == "HugewiseManagerMute" && alert["state"] == "firing"
        });
        Ok(mute.count() == 2)
    };
    wait_for("the alert of both", fires).with_context(said)?;
    let both_up = || {
        let up = asked(&address, "/api/v1/query?query=up")?;
        let up = up["data"]["result"].as_array().context("no result")?;
        Ok(up.len() == 2 && up.iter().all(|one| one["value"][1] == "1"))
    };
    wait_for("both to be up", both_up).with_context(said)
}
