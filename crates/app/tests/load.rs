//! Load generators for real: our own against Redis, Gatling against a server in this test. What is
//! not installed is reported as skipped.

use anyhow::{Context, bail};
use hugewise_experiment::load::LoadSpec;
use hugewise_lab::load::Access;
use hugewise_linux::nobody::Nobody;
use hugewise_linux::prctl;
use hugewise_linux::root::Root;
use libtest_mimic::{Completion, Failed, Trial};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Test = fn() -> Result<Completion, Failed>;

const TESTS: &[(&str, Test)] = &[
    ("redis_is_loaded_over_a_unix_socket", redis_is_loaded_over_a_unix_socket),
    ("redis_is_loaded_over_tcp", redis_is_loaded_over_tcp),
    ("gatling_sends_the_load_that_was_written", gatling_sends_the_load_that_was_written),
    ("a_gatling_that_fails_is_quoted", a_gatling_that_fails_is_quoted),
    ("a_command_of_the_team_sends_scenarios", a_command_of_the_team_sends_scenarios),
    ("a_command_that_fails_is_quoted", a_command_that_fails_is_quoted),
    ("a_command_that_lasts_is_ended", a_command_that_lasts_is_ended),
    ("ab_sends_a_load_as_a_command", ab_sends_a_load_as_a_command),
    ("a_load_that_is_none_says_what_is_wrong", a_load_that_is_none_says_what_is_wrong),
];

pub(crate) fn trials() -> Vec<Trial> {
    TESTS.iter().map(|(name, test)| Trial::ignorable_test(format!("load::{name}"), *test)).collect()
}

/// How long a server may take to begin.
const BEGIN: Duration = Duration::from_secs(20);

/// A directory of one test, and the server in it. Both end with it.
struct Redis {
    directory: PathBuf,
    child: Option<Child>,
}

impl Redis {
    fn new(name: &str) -> Result<Self, Failed> {
        let name = format!("hugewise-load-{}-{name}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir(&directory)?;
        Ok(Self { directory, child: None })
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("redis.sock")
    }

    /// `None` where it is not installed.
    fn start(&mut self, port: u16) -> Result<Option<()>, Failed> {
        let mut command = Command::new("redis-server");
        command.args(["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port"]);
        command.arg(port.to_string()).arg("--unixsocket").arg(self.socket());
        command.current_dir(&self.directory).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => self.child = Some(child),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let begun = Instant::now();
        while self.ask("PING")? != "+PONG" {
            if begun.elapsed() > BEGIN {
                return Err("redis-server does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Some(()))
    }

    /// One command, its answer in one line. Empty while there is no server.
    fn ask(&self, command: &str) -> Result<String, Failed> {
        let Ok(mut stream) = UnixStream::connect(self.socket()) else { return Ok(String::new()) };
        stream.set_read_timeout(Some(BEGIN))?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        let mut answer = [0; 256];
        let length = stream.read(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer[..length]).trim().to_owned())
    }

    fn load(&self, text: &str) -> Result<std::process::Output, Failed> {
        load(&self.directory, text)
    }
}

fn load(directory: &Path, text: &str) -> Result<std::process::Output, Failed> {
    let file = directory.join("load.toml");
    std::fs::write(&file, text)?;
    Ok(loader(&file).output()?)
}

/// What this program is called with to send a load, as an experiment does.
pub(crate) const SEND: [&str; 2] = ["send", "load"];

/// A program that sends the load of a file.
fn loader(file: &Path) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(SEND).arg(file);
    command
}

/// Is that program: a load in TOML in, a result in JSON out.
pub(crate) fn send(arguments: &[String]) -> anyhow::Result<()> {
    prctl::set_parent_death_signal()?;
    let [file] = arguments else { bail!("one file is expected") };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let spec: LoadSpec = toml::from_str(&text).with_context(|| format!("{file} is not a load"))?;
    let user = Nobody::pick(&Root::live())?;
    let access = Access { password: None, user };
    let result = hugewise_lab::load::run(&spec, &access, &mut |_| Ok(()))?;
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn skipped() -> Completion {
    Completion::ignored_with("redis-server is not installed")
}

fn result(output: &std::process::Output) -> Result<serde_json::Value, Failed> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn redis_is_loaded_over_a_unix_socket() -> Result<Completion, Failed> {
    let mut redis = Redis::new("unix")?;
    let Some(()) = redis.start(0)? else { return Ok(skipped()) };
    let settings = format!(
        "target = \"redis+unix://{}\"\nsteps = [\"constant 500/s for 1 s\", \"peak 100 at once\"]\n\
         connections = 5\nkeys = 2500\nvalue_bytes = 100\narrivals = \"even\"\n\
         operations = {{ get_percent = 50, set_percent = 50 }}\n",
        redis.socket().display()
    );
    let found = result(&redis.load(&format!("{settings}preload = true\n"))?)?;
    assert_eq!((found["intended"].as_u64(), found["completed"].as_u64()), (Some(600), Some(600)));
    assert_eq!(found["misses"].as_u64(), Some(0), "every key was set");
    assert_eq!(redis.ask("DBSIZE")?, ":2500");
    assert_eq!(redis.ask("STRLEN key:000000002499")?, ":100");
    redis.ask("FLUSHALL")?;
    let empty = result(&redis.load(&settings)?)?;
    let misses = empty["misses"].as_u64().ok_or("GETs")?;
    assert!((100..=400).contains(&misses), "{misses} of about 300 GETs found nothing");
    assert!(empty["notes"].to_string().contains("preload"), "{}", empty["notes"]);
    Ok(Completion::Completed)
}

fn redis_is_loaded_over_tcp() -> Result<Completion, Failed> {
    // Freed and taken at once: another program could only get it in between.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut redis = Redis::new("tcp")?;
    let Some(()) = redis.start(port)? else { return Ok(skipped()) };
    let text = format!(
        "target = \"redis://127.0.0.1:{port}\"\nsteps = [\"ramp 20 users over 500 ms\", \
         \"nothing for 1 s\"]\nconnections = 4\nrequests_per_user = 3\n\
         think_time = \"exponential 10 ms\"\nkeys = 10\narrivals = \"poisson\"\n\
         operations = {{ get_percent = 0, set_percent = 100 }}\n"
    );
    let found = result(&redis.load(&text)?)?;
    let completed = found["completed"].as_u64().ok_or("completed")?;
    assert!(completed > 0 && completed.is_multiple_of(3), "{completed}, three for each user");
    assert_eq!(found["failed"], serde_json::json!({}));
    let keys: u64 = redis.ask("DBSIZE")?.trim_start_matches(':').parse()?;
    assert!((1..=10).contains(&keys), "{keys} different keys");
    Ok(Completion::Completed)
}

/// Where Maven keeps the version of Gatling that is run. Without it Maven would fetch it, or wait
/// for a network that is not there.
fn gatling_is_there() -> Result<(), String> {
    let missing = |program: &str| {
        let mut asked = Command::new(program);
        asked.arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
    };
    if let Some(program) = ["mvn", "javac"].into_iter().find(|program| missing(program)) {
        return Err(format!("{program} is not installed"));
    }
    let home = std::env::var_os("HOME").unwrap_or_default();
    let kept = Path::new(&home).join(".m2/repository/io/gatling/gatling-maven-plugin/4.21.12");
    let there = kept.join("gatling-maven-plugin-4.21.12.jar").is_file();
    there.then_some(()).ok_or("Maven has not fetched Gatling: scripts/deps.sh test does".into())
}

/// What a server was asked.
#[derive(Default)]
struct Asked {
    requests: AtomicU64,
    /// Requests of another resource than the one that the load names.
    others: AtomicU64,
}

/// A server that answers every tenth request with an error, and ends with the test's process.
fn http_server() -> Result<(SocketAddr, Arc<Asked>), Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (address, asked) = (listener.local_addr()?, Arc::new(Asked::default()));
    let shared = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = Arc::clone(&shared);
            std::thread::spawn(move || answer(stream, &asked));
        }
    });
    Ok((address, asked))
}

fn answer(mut stream: TcpStream, asked: &Asked) {
    let mut head = vec![0; 64 << 10];
    while let Ok(length @ 1..) = stream.read(&mut head) {
        let other = !head[..length].starts_with(b"GET /page?a=%22b%22 HTTP/1.1\r\n");
        asked.others.fetch_add(u64::from(other), Ordering::Relaxed);
        let number = asked.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let status = if number.is_multiple_of(10) { "500 Broken" } else { "200 OK" };
        let answer = format!(
            "HTTP/1.1 {status}\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello"
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn gatling_sends_the_load_that_was_written() -> Result<Completion, Failed> {
    if let Err(reason) = gatling_is_there() {
        return Ok(Completion::ignored_with(reason));
    }
    let place = Redis::new("gatling")?;
    let (address, asked) = http_server()?;
    let text = format!(
        "target = \"http://{address}/page?a=%22b%22\"\ntool = \"gatling\"\n\
         steps = [\"nothing for 1 s\", \"constant 50/s for 2 s\", \"ramp 50/s to 100/s over 2 s\", \
         \"peak 20 at once\", \"ramp 30 users over 1 s\"]\n"
    );
    let found = result(&load(&place.directory, &text)?)?;
    // 100 of the constant rate, 150 of the ramp, the peak, the users.
    let sent = asked.requests.load(Ordering::Relaxed);
    assert_eq!(sent, 300, "{found}");
    assert_eq!(asked.others.load(Ordering::Relaxed), 0, "another resource was asked for");
    assert_eq!((found["sent"].as_u64(), found["completed"].as_u64()), (Some(300), Some(270)));
    assert_eq!(found["failed"], serde_json::json!({ "status": 30 }));
    assert!(found["errors"].to_string().contains("found 500"), "{}", found["errors"]);
    let buckets = found["latency"]["buckets"].as_array().ok_or("no latencies")?;
    let counted: u64 = buckets.iter().filter_map(|bucket| bucket[1].as_u64()).sum();
    assert_eq!(counted, 270, "a latency for each good answer");
    let offered: Vec<_> = found["phases"].as_array().ok_or("no steps")?.iter().collect();
    let offered: Vec<_> = offered.iter().map(|phase| phase["offered"].as_u64()).collect();
    assert_eq!(offered.first(), Some(&Some(0)), "nobody comes before their time: {offered:?}");
    Ok(Completion::Completed)
}

fn a_gatling_that_fails_is_quoted() -> Result<Completion, Failed> {
    use std::os::unix::fs::PermissionsExt;
    // Our driving is looked at, with a script in Maven's place.
    let with = |name: &str, script: &str| -> Result<String, Failed> {
        let place = Redis::new(name)?;
        let path = place.directory.join("mvn");
        std::fs::write(&path, format!("#!/bin/sh\n{script}"))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        let file = place.directory.join("load.toml");
        let text = "target = \"http://127.0.0.1:1/\"\nsteps = [\"constant 100/s for 60 s\"]\n";
        std::fs::write(&file, format!("{text}tool = \"gatling\"\n"))?;
        let programs = format!("{}:/usr/bin:/bin", place.directory.display());
        let output = loader(&file).env("PATH", programs).output()?;
        assert!(!output.status.success());
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let said = "echo '[ERROR] cannot resolve io.gatling'\necho more\nexit 7\n";
    let error = with("fails", said)?;
    assert!(error.contains("exit status: 7: [ERROR] cannot resolve io.gatling\n"), "{error}");
    let error = with("silent", "test -f src/test/java/HugewiseLoad.java && echo done\n")?;
    assert!(error.contains("Gatling said: done: it left no simulation.log"), "{error}");
    let torn = "mkdir -p target/gatling/run && printf torn > target/gatling/run/simulation.log\n";
    let error = with("torn", torn)?;
    assert!(error.contains("simulation.log cannot be read at byte"), "{error}");
    Ok(Completion::Completed)
}

/// What a team might use: a page with its resources and a redirect, over TLS, a second population
/// that comes late, and a heavy operation beside; its results are those of JMeter.
const TEAM: &str = include_str!("load/team.py");

/// A load that is a command, in a directory that anybody may read.
fn command(place: &Path, results: &str, command: &[&str], more: &str) -> Result<String, Failed> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755))?;
    let command = serde_json::to_string(command)?;
    let target = "target = \"http://127.0.0.1:1/page\"";
    Ok(format!("{target}\nresults = \"{results}\"\ncommand = {command}\n{more}"))
}

fn a_command_of_the_team_sends_scenarios() -> Result<Completion, Failed> {
    let place = Redis::new("team")?;
    let script = place.directory.join("team.py");
    std::fs::write(&script, TEAM)?;
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"];
    let Some(python) = python.into_iter().find(|file| Path::new(file).is_file()) else {
        return Ok(Completion::ignored_with("python3 is not installed"));
    };
    let words = [python, &script.display().to_string(), "{dir}", "{seed}"];
    let text = command(&place.directory, "runs/*/results.jtl", &words, "")?;
    let output = load(&place.directory, &text)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("needs openssl") {
        return Ok(Completion::ignored_with("openssl is not installed"));
    }
    let found = result(&output)?;
    // Ten pages of three requests and a redirect each, five late users, two heavy operations of
    // which one fails.
    assert_eq!((found["completed"].as_u64(), found["sent"].as_u64()), (Some(46), Some(47)));
    assert_eq!(found["failed"], serde_json::json!({ "status": 1 }));
    assert_eq!(found["errors"], serde_json::json!({ "status 503": 1 }));
    assert_eq!((&found["tool"], &found["intended"]), (&"command".into(), &().into()));
    assert!(found["achieved_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{found}");
    let buckets = found["latency"]["buckets"].as_array().ok_or("no latencies")?;
    let counted: u64 = buckets.iter().filter_map(|bucket| bucket[1].as_u64()).sum();
    assert_eq!(counted, 46, "a latency for each good answer");
    let notes = found["notes"].to_string();
    for name in ["'/page' 10,", "'/style.css' 10,", "'/old' 10,", "'late' 5,", "'/heavy' 2,"] {
        assert!(notes.contains(name), "{name}: {notes}");
    }
    // Of two files that it writes the newest is read.
    assert!(!notes.contains("earlier"), "{notes}");
    Ok(Completion::Completed)
}

fn a_command_that_fails_is_quoted() -> Result<Completion, Failed> {
    let place = Redis::new("command-fails")?;
    let with = |script: &str, more: &str| -> Result<String, Failed> {
        let text = command(&place.directory, "out.jtl", &["sh", "-c", script], more)?;
        let output = load(&place.directory, &text)?;
        assert!(!output.status.success(), "{script}");
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let said = with("echo thresholds were crossed; exit 99", "")?;
    assert!(said.contains("exit status: 99; it said: thresholds were crossed"), "{said}");
    let said = with("echo done", "")?;
    assert!(said.contains("sh ended well and wrote no results 'out.jtl' in "), "{said}");
    let said = with("echo hello > out.jtl", "")?;
    assert!(said.contains("it begins with 'hello'"), "{said}");
    let heading = "timeStamp,elapsed,label,responseCode,success";
    let said = with(&format!("echo {heading} > out.jtl"), "")?;
    assert!(said.contains("no request is in them"), "{said}");
    let long = format!(
        "echo {heading} > out.jtl; echo 1700000000000,5,a,200,true >> out.jtl; \
         echo 1700009000000,5,a,200,true >> out.jtl; exit 99"
    );
    let said = with(&long, "ok_codes = [0, 99]\n")?;
    assert!(said.contains("they are of other runs, too"), "{said}");
    // What was there before the command began is not of this run.
    let old = place.directory.join("old.jtl");
    std::fs::write(&old, format!("{heading}\n1700000000000,5,a,200,true\n"))?;
    let text = command(&place.directory, &old.display().to_string(), &["true"], "")?;
    let output = load(&place.directory, &text)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("true ended well and wrote no results"), "{said}");
    let text = command(&place.directory, "out", &["no-such-tool", "run"], "")?;
    let said = String::from_utf8_lossy(&load(&place.directory, &text)?.stderr).into_owned();
    assert!(said.contains("no-such-tool is not installed: install it, or name its file"), "{said}");
    // A link leads nowhere, whoever reads.
    let link = "ln -s /etc/passwd out.jtl";
    let said = with(link, "")?;
    assert!(said.contains("wrote no results"), "{said}");
    Ok(Completion::Completed)
}

fn a_command_that_lasts_is_ended() -> Result<Completion, Failed> {
    let place = Redis::new("command-lasts")?;
    let pids = place.directory.join("pids");
    std::fs::create_dir(&pids)?;
    std::fs::set_permissions(&pids, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    let script = format!("sleep 600 & echo $! > {0}/child; id -u > {0}/user; wait", pids.display());
    let text = command(&place.directory, "out", &["sh", "-c", &script], "longest_s = 2\n")?;
    let output = load(&place.directory, &text)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("sh did not end within 2 s"), "{said}");
    let child = std::fs::read_to_string(pids.join("child"))?;
    let gone = || !Path::new("/proc").join(child.trim()).join("exe").exists();
    let begun = Instant::now();
    while !gone() && begun.elapsed() < BEGIN {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(gone(), "the tool's child {} still runs", child.trim());
    let user = std::fs::read_to_string(pids.join("user"))?;
    if Nobody::pick(&Root::live())?.is_some() {
        assert_ne!(user.trim(), "0", "no tool of others runs as root");
    }
    Ok(Completion::Completed)
}

fn ab_sends_a_load_as_a_command() -> Result<Completion, Failed> {
    if Command::new("ab").arg("-V").stdout(Stdio::null()).status().is_err() {
        return Ok(Completion::ignored_with("ab is not installed (Debian: apache2-utils)"));
    }
    let place = Redis::new("ab")?;
    let (address, asked) = http_server()?;
    let words = ["ab", "-k", "-n", "200", "-c", "4", "-g", "out.tsv", "{url}"];
    let text = command(&place.directory, "out.tsv", &words, "")?;
    let url = format!("http://{address}/page?a=%22b%22");
    let found = result(&load(&place.directory, &text.replace("http://127.0.0.1:1/page", &url))?)?;
    assert!(asked.requests.load(Ordering::Relaxed) >= 200, "{found}");
    assert_eq!(found["completed"].as_u64(), Some(200), "{found}");
    // Every tenth answer is an error, and ab writes no status.
    assert_eq!(found["failures_untold"].as_bool(), Some(true), "{found}");
    Ok(Completion::Completed)
}

fn a_load_that_is_none_says_what_is_wrong() -> Result<Completion, Failed> {
    let redis = Redis::new("wrong")?;
    for (text, wanted) in [
        ("target = \"redis://10.1.2.3:6379\"\nsteps = [\"peak 1 at once\"]", "not on this machine"),
        ("target = \"redis://localhost\"\nsteps = [\"quickly\"]", "step 1, 'quickly'"),
        ("target = \"redis://localhost\"\nsteps = []\nconections = 1", "conections"),
    ] {
        let output = redis.load(text)?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(wanted), "{error}");
    }
    Ok(Completion::Completed)
}
