//! `hugewise diagnose` as a user meets it: exit codes, errors, JSON, the width of its text.
//! What it finds in which recording is tested in `crates/evidence/tests/diagnose.rs`.

use libtest_mimic::{Completion, Failed, Trial};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Test = fn() -> Result<Completion, Failed>;

const TESTS: &[(&str, Test)] = &[
    ("a_healthy_machine_gets_no_finding", a_healthy_machine_gets_no_finding),
    ("findings_decide_the_exit_code", findings_decide_the_exit_code),
    ("guests_with_other_pages_suffer_from_the_same", guests_with_other_pages),
    ("text_is_at_most_80_columns_wide", text_is_at_most_80_columns_wide),
    ("json_has_a_schema_and_every_question", json_has_a_schema_and_every_question),
    ("standard_input_is_read", standard_input_is_read),
    ("bad_input_says_what_it_is_and_what_was_wanted", bad_input_says_what_it_is),
    ("silence_about_unread_lines_is_no_all_clear", silence_is_no_all_clear),
    ("a_torn_recording_is_used_and_said", a_torn_recording_is_used_and_said),
    ("thresholds_are_set_by_name", thresholds_are_set_by_name),
    ("questions_are_explained", questions_are_explained),
    ("a_binary_file_of_sysstat_is_read_through_sadf", a_binary_file_is_read_through_sadf),
    ("this_machine_is_watched", this_machine_is_watched),
    ("a_live_look_names_the_system_call", a_live_look_names_the_call),
    ("redis_is_asked_and_its_slow_command_named", redis_is_asked),
    ("a_redis_without_answer_is_named", a_redis_without_answer_is_named),
    ("hostile_names_stay_harmless", hostile_names_stay_harmless),
    ("hostile_input_stays_within_256_mib", hostile_input_stays_within_256_mib),
    ("what_is_no_text_is_not_read_to_its_end", what_is_no_text_is_not_read_to_its_end),
    ("a_pipe_is_read_from_its_first_byte", a_pipe_is_read_from_its_first_byte),
];

pub(crate) fn trials() -> Vec<Trial> {
    TESTS
        .iter()
        .map(|(name, test)| Trial::ignorable_test(format!("diagnose::{name}"), *test))
        .collect()
}

fn recording(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../evidence/tests/recordings/real");
    folder.join(name).display().to_string()
}

fn hugewise(arguments: &[&str]) -> Result<Output, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    Ok(command.arg("diagnose").args(arguments).env_remove("NO_COLOR").output()?)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ends_with(arguments: &[&str], code: i32) -> Result<Output, Failed> {
    let done = hugewise(arguments)?;
    if done.status.code() == Some(code) {
        return Ok(done);
    }
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    Err(format!("{arguments:?}: {}, wanted exit code {code}\n{out}{err}", done.status).into())
}

/// A file of this test alone, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Result<Self, Failed> {
        let name = format!("hugewise-diagnose-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes)?;
        Ok(Self(path))
    }

    fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It is gone already where a test removed it.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn a_healthy_machine_gets_no_finding() -> Result<Completion, Failed> {
    for name in ["idle.sar", "cpu.sar"] {
        let done = ends_with(&[&recording(name)], 0)?;
        assert!(text(&done.stdout).contains("No finding."), "{}", text(&done.stdout));
    }
    Ok(Completion::Completed)
}

fn findings_decide_the_exit_code() -> Result<Completion, Failed> {
    ends_with(&[&recording("hundred.sar")], 3)?;
    let done = ends_with(&[&recording("vm.sar")], 4)?;
    let short = text(&done.stdout);
    for wanted in ["CRITICAL", "why", "sure", "do ", "--full"] {
        assert!(short.contains(wanted), "no '{wanted}' in:\n{short}");
    }
    let done = ends_with(&[&recording("vm.sar"), "--full"], 4)?;
    let shown = text(&done.stdout);
    for wanted in ["CRITICAL", "confidence", "ruled out", "what to do", "Questions"] {
        assert!(shown.contains(wanted), "no '{wanted}' in:\n{shown}");
    }
    // Both at once: the worse one decides.
    ends_with(&[&recording("hundred.sar"), &recording("vm.sar")], 4)?;
    Ok(Completion::Completed)
}

/// Recordings of arm64 guests with base pages of 4 and of 16 KiB in three states, made by
/// `crates/app/tests/live/twins.rs`.
fn guests_with_other_pages() -> Result<Completion, Failed> {
    let causes = |pages: &str, state: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/twins");
        let file = folder.join(format!("arm64-{pages}-{state}.history")).display().to_string();
        let json: serde_json::Value =
            serde_json::from_slice(&hugewise(&["--json", &file])?.stdout)?;
        let findings = json["findings"].as_array().ok_or("findings")?.iter();
        let of = |one: &serde_json::Value| [one["cause"].to_string(), one["severity"].to_string()];
        Ok::<BTreeSet<_>, Failed>(findings.map(of).collect())
    };
    for (state, wanted) in
        [("healthy", None), ("fragmented", Some("fragmentation")), ("stalls", Some("huge_faults"))]
    {
        let (usual, large) = (causes("4k", state)?, causes("16k", state)?);
        assert_eq!(usual, large, "{state}");
        let found = |cause: &str| large.iter().any(|[one, _]| one.trim_matches('"') == cause);
        assert!(wanted.map_or_else(|| large.is_empty(), found), "{state}: {large:?}");
    }
    Ok(Completion::Completed)
}

fn text_is_at_most_80_columns_wide() -> Result<Completion, Failed> {
    for name in ["vm.sar", "hdd.sar", "onecpu.atop", "idle.sar"] {
        let file = recording(name);
        let done = hugewise(&["--tree", &file])?;
        let shown = text(&done.stdout);
        for line in shown.lines() {
            // Commands and names of files are never broken: they could not be copied.
            let must_stay_whole = line.trim_start().starts_with('$') || line.contains(&file);
            assert!(must_stay_whole || line.chars().count() <= 80, "{name}: {line}");
        }
        assert!(!shown.contains('\x1b'), "no colour into a pipe");
    }
    Ok(Completion::Completed)
}

fn json_has_a_schema_and_every_question() -> Result<Completion, Failed> {
    let done = ends_with(&["--json", &recording("vm.sar")], 4)?;
    let json: serde_json::Value = serde_json::from_slice(&done.stdout)?;
    assert_eq!((json["schema"].as_u64(), json["command"].as_str()), (Some(1), Some("diagnose")));
    let questions = json["hosts"][0]["tree"].as_array().ok_or("questions")?;
    assert_eq!(questions.len(), hugewise_evidence::diagnose::questions::ALL.len());
    let finding = &json["findings"][0];
    for key in ["cause", "severity", "title", "chain", "ruled_out", "missing", "remedies"] {
        assert!(!finding[key].is_null(), "{key}");
    }
    let evidence = &finding["chain"][1]["evidence"][0];
    let source = evidence["source"].as_u64().ok_or("a source")?;
    let source = &json["sources"][usize::try_from(source)?];
    assert_eq!(source["kind"].as_str(), Some("sar"));
    Ok(Completion::Completed)
}

fn standard_input_is_read() -> Result<Completion, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    let piped = command.args(["diagnose", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn()?;
    let bytes = std::fs::read(recording("vm.sar"))?;
    child.stdin.take().ok_or("a pipe")?.write_all(&bytes)?;
    assert_eq!(child.wait_with_output()?.status.code(), Some(4));
    Ok(Completion::Completed)
}

fn bad_input_says_what_it_is() -> Result<Completion, Failed> {
    let cases: [(&str, &[u8], &str); 8] = [
        ("empty", b" \n\n", "is empty"),
        ("program", b"\x7fELF\x02\x01\x01\0\0\0", "is a program (ELF)"),
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0", "is compressed with gzip"),
        ("zip", b"PK\x03\x04\x14\0\0\0", "is a zip archive"),
        ("zeros", &[0; 4096], "is a binary file"),
        ("prose", b"The machine is slow.\nPlease help.\n", "nothing in it was recognised"),
        ("json", b"{\"cpu\": 3}", "nothing in it was recognised"),
        ("log", b"Nov 22 03:00:00 vm sshd[1]: Accepted\n", "nothing in it was recognised"),
    ];
    for (name, bytes, wanted) in cases {
        let file = Scratch::new(name, bytes)?;
        let done = ends_with(&[&file.name()], 1)?;
        let said = text(&done.stderr);
        assert!(said.contains(wanted) && said.contains(&file.name()), "{name}: {said}");
        assert!(said.contains("wanted text of sar"), "{name}: {said}");
    }
    let done = ends_with(&["/nonexistent/file"], 1)?;
    assert!(text(&done.stderr).contains("cannot open '/nonexistent/file'"));
    let done = ends_with(&["/"], 1)?;
    assert!(text(&done.stderr).contains("'/'"), "{}", text(&done.stderr));
    ends_with(&["--for", "soon"], 2)?;
    // A report over its own input would be the end of the evidence.
    let file = Scratch::new("kept", b"MemTotal: 8000000 kB\nMemFree: 6000000 kB\n")?;
    let done = ends_with(&[&file.name(), "--report", &file.name()], 2)?;
    assert!(text(&done.stderr).contains("one of the files to read"), "{}", text(&done.stderr));
    assert!(std::fs::read_to_string(file.name())?.starts_with("MemTotal"));
    Ok(Completion::Completed)
}

/// A healthy listing below words and tables: few lines that nobody knows are talk, many may have
/// held the cause.
fn silence_is_no_all_clear() -> Result<Completion, Failed> {
    let healthy = "10:00:01 CPU %user %nice %system %iowait %steal %idle\n\
                   10:10:01 all 1.00 0.00 1.00 0.00 0.00 98.00\n";
    for (lines, code, said) in [(7, 0, "7 lines"), (8, 5, "8 lines"), (30, 5, "30 lines")] {
        let unread = "zqx 17 widgets per gizmo, rising\n".repeat(lines);
        let file = Scratch::new("unread", format!("{healthy}\n{unread}").as_bytes())?;
        let done = text(&ends_with(&[&file.name()], code)?.stdout);
        assert!(done.contains(&format!("{said} were not recognised and left out")), "{done}");
    }
    Ok(Completion::Completed)
}

fn a_torn_recording_is_used_and_said() -> Result<Completion, Failed> {
    let whole = std::fs::read(recording("idle.sar"))?;
    // In the middle of a row.
    let cut = 1_500;
    let row = whole[cut..].iter().position(|byte| *byte == b'\n').ok_or("a line's end")?;
    let file = Scratch::new("torn", &whole[..cut + row + 30])?;
    let done = ends_with(&[&file.name()], 5)?;
    let shown = text(&done.stdout);
    assert!(shown.contains("Problem: ") && shown.contains("No finding."), "{shown}");
    Ok(Completion::Completed)
}

fn thresholds_are_set_by_name() -> Result<Completion, Failed> {
    let file = recording("vm.sar");
    let both = ["--set", "kernel_high_percent=99", "--set", "kernel_cpu_high_percent=99", &file];
    ends_with(&both, 0)?;
    let done = ends_with(&["--set", "kernel_high=99", &file], 2)?;
    assert!(text(&done.stderr).contains("kernel_high_percent"), "{}", text(&done.stderr));
    ends_with(&["--set", "kernel_high_percent=much", &file], 2)?;
    ends_with(&["--set", "kernel_high_percent", &file], 2)?;
    Ok(Completion::Completed)
}

fn questions_are_explained() -> Result<Completion, Failed> {
    let done = ends_with(&["--explain", "kernel.reclaim"], 0)?;
    let shown = text(&done.stdout);
    for wanted in ["Does memory run out", "free_low_percent", "yes means"] {
        assert!(shown.contains(wanted), "no '{wanted}' in:\n{shown}");
    }
    assert!(!shown.contains("**") && !shown.contains("###"), "Markdown in:\n{shown}");
    let done = ends_with(&["--explain", "kernel.reclam"], 2)?;
    let said = text(&done.stderr);
    assert!(
        said.contains("did you mean 'kernel.reclaim'? ('hugewise diagnose --rules' lists all)"),
        "{said}"
    );
    let done = ends_with(&["--explain", "kernel.nothing"], 2)?;
    let said = text(&done.stderr);
    assert!(said.contains("'hugewise diagnose --rules' lists all") && said.len() < 200, "{said}");
    Ok(Completion::Completed)
}

fn a_binary_file_is_read_through_sadf() -> Result<Completion, Failed> {
    let file = recording("vm.sa");
    if !Path::new("/usr/bin/sadf").exists() {
        let done = ends_with(&[&file], 1)?;
        assert!(text(&done.stderr).contains("sysstat"), "{}", text(&done.stderr));
        return Ok(Completion::ignored_with("no sadf: only the error was looked at"));
    }
    let done = hugewise(&["--json", &file])?;
    let said = text(&done.stderr);
    // Each release of sysstat reads its own format and some older ones.
    if said.contains("sadf") && done.status.code() == Some(1) {
        return Ok(Completion::ignored_with("this sadf does not read a file of 12.6.1"));
    }
    let json: serde_json::Value = serde_json::from_slice(&done.stdout)?;
    // It is the file that `vm.sar` was printed from: every finding is the same, in its place.
    let text = hugewise(&["--json", &recording("vm.sar")])?;
    let text: serde_json::Value = serde_json::from_slice(&text.stdout)?;
    let findings = |json: &serde_json::Value| -> Vec<String> {
        let all = json["findings"].as_array().cloned().unwrap_or_default();
        all.iter().map(|found| format!("{} {}", found["severity"], found["cause"])).collect()
    };
    assert_eq!(findings(&json), findings(&text), "{said}");
    assert!(findings(&json).iter().any(|found| found.contains("allocation_churn")), "{said}");
    Ok(Completion::Completed)
}

fn this_machine_is_watched() -> Result<Completion, Failed> {
    let done = hugewise(&["--for", "2s", "--json"])?;
    let json: serde_json::Value = serde_json::from_slice(&done.stdout)?;
    // Whatever else runs here: what every Linux tells is answered one way or the other.
    let tree = json["hosts"][0]["tree"].as_array().ok_or("questions")?;
    for id in ["cpu", "cpu.kernel", "cpu.steal", "network.listen", "memory.page_tables"] {
        let asked = tree.iter().find(|asked| asked["id"] == id).ok_or(id)?;
        let verdict = asked["answer"]["verdict"].as_str().unwrap_or("not asked");
        // Only a no of the CPU as a whole leaves the questions below it out.
        let fine = matches!(verdict, "yes" | "no") || (id != "cpu" && verdict == "not asked");
        assert!(fine, "{id}: {verdict}");
    }
    Ok(Completion::Completed)
}

/// A Redis of this test alone, on a socket in a directory of its own; ended when dropped.
struct Redis {
    folder: hugewise_scratch::Scratch,
    server: std::process::Child,
}

impl Redis {
    /// `None` where none is installed.
    fn start(options: &[&str]) -> Result<Option<Self>, Failed> {
        let folder = hugewise_scratch::Scratch::new();
        let mut command = Command::new("redis-server");
        let socket = folder.path().join("s");
        command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(&socket).args(options);
        let quiet = command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = match quiet.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let redis = Self { folder, server };
        for _ in 0..100 {
            if UnixStream::connect(redis.socket()).is_ok() {
                return Ok(Some(redis));
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Err("redis-server does not listen after 5 s".into())
    }

    fn socket(&self) -> String {
        self.folder.path().join("s").display().to_string()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

const NO_REDIS: &str = "redis-server is not installed";

fn redis_is_asked() -> Result<Completion, Failed> {
    let Some(redis) = Redis::start(&[])? else { return Ok(Completion::ignored_with(NO_REDIS)) };
    let mut client = UnixStream::connect(redis.socket())?;
    let fill = "EVAL \"for i = 1, 300000 do redis.call('SET', 'k' .. i, i) end\" 0\r\n";
    client.write_all(fill.as_bytes())?;
    let mut answer = [0; 64];
    let _ = client.read(&mut answer)?;
    let stop = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&stop);
    // One client asks for all keys that match nothing, again and again.
    let load = std::thread::spawn(move || {
        while !ends.load(Ordering::Relaxed) {
            let asked = client.write_all(b"KEYS secret-*\r\n");
            if asked.is_err() || client.read(&mut answer).is_err() {
                break;
            }
        }
    });
    let done = hugewise(&["--redis", &redis.socket(), "--for", "3s", "--json"]);
    stop.store(true, Ordering::Relaxed);
    let _ = load.join();
    let done = text(&done?.stdout);
    let json: serde_json::Value = serde_json::from_str(&done)?;
    let findings = json["findings"].as_array().ok_or("findings")?;
    let slow = findings.iter().find(|finding| finding["cause"] == "slow_commands");
    let slow = slow.ok_or_else(|| format!("no slow command in {done}"))?.to_string();
    assert!(slow.contains("KEYS takes") && slow.contains("of its one thread"), "{slow}");
    assert!(!done.contains("secret-"), "an argument is not kept");
    assert!(done.contains("INFO of Redis") && done.contains("hugewise record"));
    Ok(Completion::Completed)
}

fn a_redis_without_answer_is_named() -> Result<Completion, Failed> {
    let silent = hugewise_scratch::Scratch::new();
    let path = silent.path().join("silent");
    let _listener = std::os::unix::net::UnixListener::bind(&path)?;
    let mut addresses = vec![
        ("/nowhere/redis.sock".to_owned(), "cannot connect"),
        (path.display().to_string(), "no answer"),
    ];
    let locked = Redis::start(&["--requirepass", "x"])?;
    addresses.extend(locked.iter().map(|redis| (redis.socket(), "REDISCLI_AUTH")));
    for (address, why) in &addresses {
        let done = hugewise(&["--redis", address, "--for", "1s", "--json"])?;
        let json: serde_json::Value = serde_json::from_slice(&done.stdout)?;
        let problems = json["problems"].to_string();
        assert!(problems.contains(why) && problems.contains(address.as_str()), "{problems}");
        // The machine is diagnosed all the same.
        assert!(!json["hosts"][0]["tree"][0]["answer"].is_null());
    }
    let wrong = hugewise(&["--redis", "redis://:secret@host:1"])?;
    assert_eq!(wrong.status.code(), Some(2));
    match locked {
        Some(_) => Ok(Completion::Completed),
        None => {
            Ok(Completion::ignored_with("redis-server is not installed: no password was asked"))
        }
    }
}

fn hostile_names_stay_harmless() -> Result<Completion, Failed> {
    let hostile = "Linux 6.1.0 (evil\x1b[31m<b>) \t11/22/2026 \t_x86_64_\t(2 CPU)\n\n\
                   10:00:01 CPU %user %nice %system %iowait %steal %idle\n\
                   10:10:01 all 1.00 0.00 88.00 0.00 0.00 11.00\n";
    let file = Scratch::new("hostile", hostile.as_bytes())?;
    let done = ends_with(&[&file.name()], 4)?;
    assert!(!text(&done.stdout).contains('\x1b'), "{}", text(&done.stdout));
    Ok(Completion::Completed)
}

/// Address space that a hostile input may take. Reading a text of 1 GiB takes as much and no more.
const HOSTILE_KIB: u64 = 256 << 10;

/// Runs `hugewise diagnose` in so little memory; it must end by itself, with one of its exit codes.
fn confined(file: &Path, codes: &[i32]) -> Result<Output, Failed> {
    let script = format!("ulimit -v {HOSTILE_KIB}; exec \"$0\" diagnose --json \"$1\"");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_hugewise")]).arg(file);
    let done = command.output()?;
    if done.status.code().is_some_and(|code| codes.contains(&code)) {
        return Ok(done);
    }
    let (file, err) = (file.display(), text(&done.stderr));
    Err(format!("{file}: {}, wanted {codes:?}\n{err}", done.status).into())
}

/// A compressed sample of one file.
fn packed(path: &str, body: &str) -> Result<Vec<u8>, Failed> {
    let head = "hugewise-capture 1 at_ms=1795305600000 utc_offset_s=0 monotonic_ns=5 files=1";
    let sample = format!("{head}\n@@ {} {path}\n{body}\n", body.len());
    Ok(zstd::bulk::compress(sample.as_bytes(), 3)?)
}

fn hostile_input_stays_within_256_mib() -> Result<Completion, Failed> {
    let rows = |count: usize, row: fn(usize) -> String| (0..count).map(row).collect::<String>();
    let interrupts = format!("CPU0 CPU1\n{}", rows(2_000_000, |n| format!("{n}: 1 1\n")));
    let columns = format!("{}\n1: {}\n", "CPU0 ".repeat(2_000_000), "1 ".repeat(2_000_000));
    let zeros = format!(r#"{{"timestamp":1,"elapsed":1,"x":[{}0]}}"#, "0,".repeat(8_000_000));
    for (name, bytes, said) in [
        ("interrupts.zst", packed("/proc/interrupts", &interrupts)?, "more than 16 MiB"),
        (
            "zeros.zst",
            packed("/proc/loadavg", &"\0".repeat(300 << 20))?,
            "bytes expand to more than",
        ),
        ("lines", format!("x{}", "\n".repeat(16 << 20)).into(), "nothing in it was recognised"),
        ("columns", columns.into_bytes(), "nothing in it was recognised"),
        ("zeros.json", zeros.into_bytes(), "nothing in it was recognised"),
        ("free", format!("total used free\n{}", "Mem: 4 4 4\n".repeat(1 << 20)).into(), ""),
    ] {
        let file = Scratch::new(name, &bytes)?;
        let done = confined(&file.0, &[1, 5])?;
        let all = text(&done.stdout) + &text(&done.stderr);
        if !all.contains(said) || all.len() > 4 << 20 {
            return Err(format!("{name}: no '{said}', or too much of it:\n{all:.2000}").into());
        }
    }
    Ok(Completion::Completed)
}

fn what_is_no_text_is_not_read_to_its_end() -> Result<Completion, Failed> {
    confined(Path::new("/dev/zero"), &[1])?;
    let hole = Scratch::new("hole", b"")?;
    std::fs::File::options().write(true).open(&hole.0)?.set_len(1 << 40)?;
    confined(&hole.0, &[1])?;
    Ok(Completion::Completed)
}

/// One CPU's worth of system calls, ended on drop.
struct Reads(std::process::Child);

impl Drop for Reads {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn a_live_look_names_the_call() -> Result<Completion, Failed> {
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "of=/dev/null", "bs=1"]);
    let _reads = Reads(dd.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    // However many CPUs there are, and whatever else runs.
    let low = ["kernel_high_percent=0", "kernel_keep_percent=0", "way_share_percent=0"];
    let low = low.iter().flat_map(|limit| ["--set", limit]);
    let arguments: Vec<&str> = ["--for", "5s", "--json"].into_iter().chain(low).collect();
    let done = hugewise(&arguments)?;
    let said = text(&done.stdout);
    if !said.contains("profile.path_percent") {
        let allowed = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        let allowed = allowed.unwrap_or_else(|error| error.to_string());
        if !rustix::process::geteuid().is_root() {
            let reason = format!("not root; kernel.perf_event_paranoid {}", allowed.trim());
            return Ok(Completion::ignored_with(reason));
        }
        return Err(said.into());
    }
    let named = said.contains("dd: read()") || said.contains("dd: entry and exit of system calls");
    if named { Ok(Completion::Completed) } else { Err(said.into()) }
}

fn a_pipe_is_read_from_its_first_byte() -> Result<Completion, Failed> {
    let script = "echo 'MemTotal: 20549012 kB' | exec \"$0\" diagnose --json /dev/stdin";
    let mut command = Command::new("/bin/sh");
    let done = command.args(["-c", script, env!("CARGO_BIN_EXE_hugewise")]).output()?;
    let said = text(&done.stdout);
    // One byte less, and it is no line of that file.
    let understood = said.contains("\"kind\": \"/proc/meminfo\"");
    if understood { Ok(Completion::Completed) } else { Err(said.into()) }
}
