//! The load generator against a real Redis. Without `redis-server` it is reported as skipped.

#![forbid(unsafe_code)]

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

type Test = fn() -> Result<Completion, Failed>;

const TESTS: &[(&str, Test)] = &[
    ("redis_is_loaded_over_a_unix_socket", redis_is_loaded_over_a_unix_socket),
    ("redis_is_loaded_over_tcp", redis_is_loaded_over_tcp),
    ("a_tool_is_run_and_its_report_read", a_tool_is_run_and_its_report_read),
    ("a_tool_that_fails_is_quoted", a_tool_that_fails_is_quoted),
    ("a_load_that_is_none_says_what_is_wrong", a_load_that_is_none_says_what_is_wrong),
];

fn main() -> ExitCode {
    let trial = |(name, test): &(&str, Test)| {
        let test = *test;
        Trial::ignorable_test(*name, test)
    };
    libtest_mimic::run(&Arguments::from_args(), TESTS.iter().map(trial).collect()).exit_code()
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    Ok(command.args(["workload", "load"]).arg(file).output()?)
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
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
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

/// Runs a load whose tool is this script: the driving is tested, not the tool.
fn with_stand_in(name: &str, program: &str, script: &str) -> Result<std::process::Output, Failed> {
    use std::os::unix::fs::PermissionsExt;
    let place = Redis::new(name)?;
    let path = place.directory.join(program);
    std::fs::write(&path, format!("#!/bin/sh\n{script}"))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    let file = place.directory.join("load.toml");
    let text = "target = \"http://127.0.0.1:1/\"\nsteps = [\"constant 100/s for 60 s\"]\n";
    std::fs::write(&file, format!("{text}connections = 10\ntool = \"{program}\"\n"))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    let programs = format!("{}:/usr/bin:/bin", place.directory.display());
    Ok(command.args(["workload", "load"]).arg(file).env("PATH", programs).output()?)
}

fn report(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/load-tools");
    folder.join(name).display().to_string()
}

fn a_tool_is_run_and_its_report_read() -> Result<Completion, Failed> {
    // One reports on its output, one in a file of the directory it is started in.
    let wrk2 = format!("case \"$*\" in *--rate=100*) cat '{}' ;; esac\n", report("wrk2.txt"));
    let found = result(&with_stand_in("wrk2", "wrk2", &wrk2)?)?;
    assert_eq!((found["sent"].as_u64(), found["tool"].as_str()), (Some(119_904), Some("wrk2")));
    assert_eq!(found["from_intended_start"].as_bool(), Some(true));
    let k6 = format!("test -f load.js && cp '{}' report.json\n", report("k6-summary.json"));
    let found = result(&with_stand_in("k6", "k6", &k6)?)?;
    assert_eq!(
        (found["sent"].as_u64(), found["offered_per_s"].as_f64()),
        (Some(5900), Some(100.0))
    );
    Ok(Completion::Completed)
}

fn a_tool_that_fails_is_quoted() -> Result<Completion, Failed> {
    let fails = with_stand_in("fails", "k6", "echo 'no such option' >&2\nexit 7\n")?;
    let error = String::from_utf8_lossy(&fails.stderr).into_owned();
    assert!(error.contains("exit status: 7") && error.contains("no such option"), "{error}");
    let silent = with_stand_in("silent", "k6", "exit 0\n")?;
    let error = String::from_utf8_lossy(&silent.stderr).into_owned();
    assert!(error.contains("k6 left no report"), "{error}");
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
