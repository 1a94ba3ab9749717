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
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
/// Another user.
const STRANGER: u32 = 65_533;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("serve_answers_from_a_process_without_rights", without_rights),
        trial("serve_leaves_no_process_behind", leaves_nobody),
        trial("attack_a_port_that_is_free_for_a_moment", a_port_that_is_free_for_a_moment),
        trial("serve_takes_only_a_socket_that_listens", takes_only_a_socket_that_listens),
        trial("attack_the_name_of_a_socket", the_name_of_a_socket),
        trial("prometheus_scrapes_two_instances_and_an_alert_fires", prometheus),
    ]
}

/// What every server here is started with.
fn arguments(scratch: &Scratch, name: &str) -> Vec<OsString> {
    let mut all: Vec<OsString> = ["--json", "serve"].map(OsString::from).into();
    for (option, name) in [
        ("--token-file", format!("{name}.token")),
        ("--history", "history".to_owned()),
        ("--state-dir", "state".to_owned()),
    ] {
        all.extend([option.into(), scratch.join(name).into()]);
    }
    all
}

/// hugewise as systemd starts it for so many sockets, of which this is the first: descriptor 3.
fn handed_over(socket: OwnedFd, count: usize) -> Command {
    let script = "exec 3<&0 </dev/null; export LISTEN_PID=$$; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(init::hugewise());
    command.env("LISTEN_FDS", count.to_string()).stdin(socket);
    command
}

/// A server that has said where it is.
pub(crate) struct Served {
    process: Child,
    pub(crate) address: String,
    socket: Option<PathBuf>,
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
        let mut command = Command::new(init::hugewise());
        command.args(arguments(scratch, name)).args(["--listen", "127.0.0.1:0"]).args(more);
        Self::begin(&mut command, scratch, name)
    }

    /// On a socket that is handed over, as systemd does.
    fn activated(scratch: &Scratch, name: &str, socket: OwnedFd) -> anyhow::Result<Self> {
        let mut command = handed_over(socket, 1);
        command.args(arguments(scratch, name));
        Self::begin(&mut command, scratch, name)
    }

    fn begin(command: &mut Command, scratch: &Scratch, name: &str) -> anyhow::Result<Self> {
        if init::is_guest() {
            return Err(skip("a guest has no network"));
        }
        let file = scratch.join(format!("{name}.token"));
        let mut process = command.stdout(Stdio::piped()).spawn().context("cannot start serve")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line).with_context(|| format!("said '{line}'"))?;
        let page = said["page"].as_str().context("no page")?;
        let address = page.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let token = fs::read_to_string(&file)?.trim().to_owned();
        ensure!(!line.contains(&token), "a token in a file is not printed");
        let uid = said["uid"].as_u64().context("no uid")?;
        let socket = said["socket"].as_str().map(PathBuf::from);
        Ok(Self { process, address, socket, token, uid })
    }

    /// Head and body of an answer.
    fn get(&self, target: &str) -> anyhow::Result<(String, String)> {
        match &self.socket {
            Some(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                self.get_over(stream, target)
            }
            None => {
                let stream = TcpStream::connect(&self.address)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                self.get_over(stream, target)
            }
        }
    }

    fn get_over(
        &self,
        mut stream: impl Read + Write,
        target: &str,
    ) -> anyhow::Result<(String, String)> {
        stream.write_all(self.request(target).as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        Ok((head.to_owned(), body.to_owned()))
    }

    fn request(&self, target: &str) -> String {
        let (host, token) = (&self.address, &self.token);
        format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        )
    }

    /// Ends it as a crash would.
    fn kill(&mut self) -> anyhow::Result<()> {
        let front = self.front()?;
        self.process.kill()?;
        self.process.wait()?;
        wait_for("the end of the process that answers HTTP", || {
            Ok(!Path::new(&format!("/proc/{front}")).exists())
        })
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

/// What reaches a stranger who listens there, of a client that goes on asking.
fn taken_by(stranger: &TcpListener, served: &Served) -> anyhow::Result<String> {
    let mut client = TcpStream::connect(&served.address)?;
    client.write_all(served.request("/metrics").as_bytes())?;
    let (mut taken, _) = stranger.accept()?;
    taken.set_read_timeout(Some(PATIENCE))?;
    let mut bytes = [0; 1024];
    let length = taken.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

fn a_port_that_is_free_for_a_moment(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    // A port of its own: whoever binds it while nothing runs gets the token.
    let mut served = Served::start(&scratch, "plain")?;
    served.kill()?;
    let stranger = TcpListener::bind(&served.address)?;
    ensure!(taken_by(&stranger, &served)?.contains(&served.token), "the control");
    drop(stranger);
    // One that is handed over: it is never free, and who asks meanwhile waits for the next server.
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut served = Served::activated(&scratch, "one", listener.try_clone()?.into())?;
    ensure!(served.address == listener.local_addr()?.to_string(), "{}", served.address);
    served.json("/api/v1/status")?;
    served.kill()?;
    let taken = TcpListener::bind(&served.address);
    ensure!(taken.is_err_and(|error| error.kind() == ErrorKind::AddrInUse), "a stranger has it");
    let waiting = TcpStream::connect(&served.address)?;
    waiting.set_read_timeout(Some(PATIENCE))?;
    let again = Served::activated(&scratch, "one", listener.try_clone()?.into())?;
    ensure!(again.token == served.token, "another token");
    let (head, _) = served.get_over(waiting, "/metrics")?;
    ensure!(head.starts_with("HTTP/1.1 200"), "{head}");
    // Nothing that it starts has the socket, but the process that answers.
    let front = again.front()?;
    let sockets = |pid: u32| -> anyhow::Result<usize> {
        let wanted = fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd()))?;
        let open = fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
        Ok(open.filter(|fd| fs::read_link(fd.path()).is_ok_and(|link| link == wanted)).count())
    };
    ensure!(sockets(front)? > 0 && sockets(again.process.id())? == 0, "who has the socket");
    Ok(())
}

fn takes_only_a_socket_that_listens(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("a guest has no shell"));
    }
    let scratch = Scratch::new()?;
    let refused = |command: &mut Command, why: &str| -> anyhow::Result<()> {
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(2) && said.contains(why), "{output:?}");
        Ok(())
    };
    let args = arguments(&scratch, "one");
    let (end, _other) = UnixStream::pair()?;
    refused(handed_over(end.into(), 1).args(&args), "something else than a socket")?;
    let file = File::open("/dev/null")?;
    refused(handed_over(file.into(), 1).args(&args), "something else than a socket")?;
    let listener = UnixListener::bind(scratch.join("s"))?;
    let listens = || listener.try_clone().map(OwnedFd::from);
    refused(handed_over(listens()?, 2).args(&args), "2 sockets")?;
    let both = ["--listen", "127.0.0.1:0"];
    refused(handed_over(listens()?, 1).args(&args).args(both), "leave this option out")?;
    // A UNIX socket does as well, and is asked as 'localhost'.
    let served = Served::activated(&scratch, "one", listens()?)?;
    ensure!(served.socket == Some(scratch.join("s")), "{:?}", served.socket);
    served.json("/api/v1/status").map(drop)
}

/// The directory is root's: while no server runs, nobody else can have the name of its socket.
fn the_name_of_a_socket(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let (folder, path) = (scratch.join("page"), scratch.join("page/http.sock"));
    fs::create_dir(&folder)?;
    let listen = OsString::from(format!("--listen=unix:{}", path.display()));
    let command = || {
        let mut command = Command::new(init::hugewise());
        command.args(arguments(&scratch, "one")).arg(&listen);
        command
    };
    let start = || Served::begin(&mut command(), &scratch, "one");
    let mut served = start()?;
    served.json("/api/v1/status")?;
    ensure!(fs::metadata(&path)?.permissions().mode() & 0o7777 == 0o600, "others connect");
    let second = command().output()?;
    ensure!(second.status.code() == Some(1), "two servers at one socket: {second:?}");
    served.kill()?;
    if rustix::process::geteuid().is_root() {
        let script = "mv \"$0\" \"$0.old\" || rm -f \"$0\" || touch \"$0.new\"";
        let mut stranger = Command::new("sh");
        stranger.args(["-c", script]).arg(&path).uid(STRANGER).gid(STRANGER);
        ensure!(!stranger.output()?.status.success(), "a stranger changed names there");
    }
    ensure!(UnixStream::connect(&path).is_err(), "nobody listens");
    start()?.json("/api/v1/status")?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777))?;
    let open = command().output()?;
    ensure!(open.status.code() == Some(6), "{open:?}");
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
