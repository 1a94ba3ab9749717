//! What another user of the machine does to an experiment of root's, and to files that root writes
//! where others write too.

use crate::init;
use crate::kit::{Said, Scratch, lab_directories, skip, trial, unless_busy, wait_for};
use crate::machine::Turn;
use anyhow::{Context, bail, ensure};
use hugewise_linux::save;
use libtest_mimic::Trial;
use rustix::fs::OFlags;
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The other user.
const STRANGER: u32 = 65_533;
/// Whatever hangs is ended after so long, seconds.
const HANGS: &str = "20";
/// Exit code of a refusal.
const REFUSED: i32 = 6;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("attack_redis_on_tcp_serves_no_stranger", redis_on_tcp_serves_no_stranger),
        trial("attack_programs_of_others_are_nobody", programs_of_others_are_nobody),
        trial("attack_a_directory_that_was_there_first", a_directory_that_was_there_first),
        trial("attack_planted_links_are_not_followed", planted_links_are_not_followed),
        trial("attack_links_of_others_are_refused", links_of_others_are_refused),
        trial("attack_pipes_and_hard_links", pipes_and_hard_links),
        trial("attack_directories_that_others_change", directories_that_others_change),
        trial("attack_recordings_are_read_by_nobody", recordings_are_read_by_nobody),
    ]
}

fn needs_root() -> anyhow::Result<()> {
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(skip("needs root, as there is nothing to take over otherwise")),
    }
}

fn needs_programs() -> anyhow::Result<()> {
    needs_root()?;
    match init::is_guest() {
        true => Err(skip("a virtual machine holds no programs of others")),
        false => Ok(()),
    }
}

/// What every experiment here begins with.
const HEAD: &str = "name = 'trial'\nquestion = 'Is it safe?'\nmeasure_s = 1\nmanage_s = 0\n\
                    stop = { repetitions = 1 }\nsettle = { still_s = 0, max_s = 1 }\n";

/// `lab run` of an experiment in a directory of its own.
fn arguments(scratch: &Scratch, rest: &str) -> anyhow::Result<Vec<String>> {
    fs::write(scratch.join("trial.toml"), format!("{HEAD}{rest}"))?;
    let path = |name: &str| scratch.join(name).display().to_string();
    let words = ["lab", "run", &path("trial.toml"), "--noisy", "--output", &path("out")];
    let mut args: Vec<String> = words.map(str::to_owned).into();
    args.extend(["--state-dir".to_owned(), path("state")]);
    Ok(args)
}

/// The values of the only run of a variant.
fn values(scratch: &Scratch, variant: &str) -> anyhow::Result<Value> {
    let path = scratch.join(format!("out/runs/0001-{variant}.json"));
    let record: Value =
        serde_json::from_slice(&fs::read(&path).with_context(|| format!("no {path:?}"))?)?;
    ensure!(record["outcome"]["result"] == "done", "{variant}: {}", record["outcome"]);
    Ok(record["measured"]["values"].clone())
}

/// A file that root has open.
const SECRET: &str = "secret";

/// An experiment that runs; ended with the trial.
struct Running(Child);

impl Running {
    fn start(scratch: &Scratch, rest: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(init::hugewise());
        command.args(arguments(scratch, rest)?).stdin(Stdio::null()).stdout(Stdio::null());
        // What root has open may come with the shell that root starts it from.
        let secret = File::create(scratch.join(SECRET))?;
        rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty())?;
        Ok(Self(command.stderr(File::create(scratch.join("err"))?).spawn()?))
    }

    fn check(&mut self, scratch: &Scratch) -> anyhow::Result<()> {
        let Some(status) = self.0.try_wait()? else { return Ok(()) };
        let err = fs::read_to_string(scratch.join("err"))?;
        unless_busy(Said { code: status.code(), out: String::new(), err: err.clone() })?;
        bail!("it ended: {status}: {err}")
    }

    fn finish(mut self, scratch: &Scratch) -> anyhow::Result<()> {
        let code = self.0.wait()?.code();
        let err = fs::read_to_string(scratch.join("err"))?;
        unless_busy(Said { code, out: String::new(), err })?.expect(0).map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes by name, of all users.
fn named(name: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_it = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
    };
    pids.filter(is_it).collect()
}

fn status(pid: u32, key: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    Ok(line.with_context(|| format!("no {key}"))?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// An error where a process could do more than a user whom nothing belongs to. Its id.
fn is_nobody(pid: u32) -> anyhow::Result<u32> {
    let ids = status(pid, "Uid")?;
    let uid: u32 = ids.split(' ').next().unwrap_or_default().parse()?;
    ensure!(uid > 1000 && ids == vec![uid.to_string(); 4].join(" "), "uid {ids}");
    ensure!(status(pid, "Groups")?.is_empty(), "groups {}", status(pid, "Groups")?);
    ensure!(status(pid, "NoNewPrivs")? == "1", "it may gain privileges");
    for key in ["CapPrm", "CapEff", "CapAmb"] {
        ensure!(status(pid, key)? == "0000000000000000", "{key} {}", status(pid, key)?);
    }
    for file in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
        let file = fs::read_link(file.path()).unwrap_or_default();
        ensure!(!file.ends_with(SECRET), "it has {} of root's open", file.display());
    }
    let accounts = fs::read_to_string("/etc/passwd")?;
    let has_it = |line: &str| line.split(':').nth(2) == Some(&uid.to_string());
    ensure!(!accounts.lines().any(has_it), "uid {uid} has an account");
    Ok(uid)
}

/// The directory of an experiment and the Redis in it, which works in a directory there.
fn find_redis(
    running: &mut Running,
    scratch: &Scratch,
    before: &std::collections::BTreeSet<PathBuf>,
) -> anyhow::Result<(PathBuf, u32, u16)> {
    let mut found = None;
    wait_for("a Redis that listens", || {
        running.check(scratch)?;
        let made = lab_directories().difference(before).next().cloned();
        let Some(session) = made else { return Ok(false) };
        for pid in named("redis-server") {
            let within = fs::read_link(format!("/proc/{pid}/cwd"));
            let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).replace('\0', " ");
            let port = text.trim().rsplit(':').next().and_then(|port| port.parse().ok());
            if let (Ok(within), Some(port)) = (within, port)
                && within.starts_with(&session)
                && TcpStream::connect(("127.0.0.1", port)).is_ok()
            {
                found = Some((session.clone(), pid, port));
            }
        }
        Ok(found.is_some())
    })?;
    found.context("no Redis")
}

/// Says something to Redis; the first line of its answer.
fn ask(stream: &mut BufReader<TcpStream>, words: &[&str]) -> anyhow::Result<String> {
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    stream.get_mut().write_all(text.as_bytes())?;
    let mut line = String::new();
    stream.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn redis_on_tcp_serves_no_stranger(_: &Turn) -> anyhow::Result<()> {
    needs_programs()?;
    let (scratch, before) = (Scratch::new()?, lab_directories());
    let mut running = Running::start(
        &scratch,
        "[workload]\nkind = 'redis'\nscenario = 'load'\nsocket = 'tcp'\n\
         [load]\nsteps = ['constant 50/s for 3 s']\nconnections = 2\nkeys = 100\n\
         [[variant]]\nname = 'one'\n",
    )?;
    let (session, pid, port) = find_redis(&mut running, &scratch, &before)?;
    let uid = is_nobody(pid)?;
    let connect = || -> anyhow::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(BufReader::new(stream))
    };
    let target = scratch.join("taken");
    let taken = target.display().to_string();
    let attacks: [&[&str]; 9] = [
        &["CONFIG", "SET", "dir", &taken],
        &["SAVE"],
        &["MODULE", "LOAD", "/tmp/evil.so"],
        &["DEBUG", "SLEEP", "1"],
        &["EVAL", "return 1", "0"],
        &["SLAVEOF", "127.0.0.1", "1"],
        &["REPLICAOF", "127.0.0.1", "1"],
        &["SHUTDOWN", "NOSAVE"],
        &["MONITOR"],
    ];
    let mut stranger = connect()?;
    for words in attacks.iter().copied().chain([&["SET", "key:0", "x"][..], &["FLUSHALL"]]) {
        let said = ask(&mut stranger, words)?;
        ensure!(said.starts_with('-'), "a stranger's {words:?}: {said}");
    }
    // Whoever has the password, which only root and the server can read, finds no such command.
    let secret = session.join("run/redis.conf");
    ensure!(fs::metadata(&secret)?.mode() & 0o007 == 0, "everybody may read the password");
    let text = fs::read_to_string(&secret)?;
    let password = text.lines().find_map(|line| line.strip_prefix("requirepass "));
    let mut insider = connect()?;
    let said = ask(&mut insider, &["AUTH", password.context("no password")?])?;
    ensure!(said == "+OK", "{said}");
    for words in attacks {
        let said = ask(&mut insider, words)?;
        ensure!(said.starts_with("-ERR unknown command"), "an insider's {words:?}: {said}");
    }
    // Nobody else enters its directory, whatever they know of its name.
    for path in [session.clone(), session.join("run/own")] {
        let looked = Command::new("ls").arg(&path).uid(STRANGER).gid(STRANGER).output()?;
        ensure!(!looked.status.success(), "{} can be listed", path.display());
    }
    running.finish(&scratch)?;
    ensure!(!session.exists(), "{} was left", session.display());
    let left = named("redis-server")
        .into_iter()
        .filter(|pid| status(*pid, "Uid").is_ok_and(|ids| ids.starts_with(&format!("{uid} "))));
    ensure!(left.count() == 0, "a server was left");
    Ok(())
}

fn programs_of_others_are_nobody(_: &Turn) -> anyhow::Result<()> {
    needs_programs()?;
    let scratch = Scratch::new()?;
    // What it is, whether it has a terminal to type into, and what it leaves running.
    let script = "uid=$(id -u); groups=$(id -G | wc -w); set -- $(cat /proc/$$/stat); \
                  nnp=$(grep NoNewPrivs /proc/$$/status | cut -f2); \
                  reads=$(head -c1 /etc/shadow 2>/dev/null | wc -c); touch {dir}/file; \
                  secrets=$(env | grep -c ^SECRET=); \
                  setsid sleep 417 & echo \"{\\\"uid\\\": $uid, \\\"groups\\\": $groups, \
                  \\\"tty\\\": $7, \\\"nnp\\\": $nnp, \\\"reads\\\": $reads, \
                  \\\"secrets\\\": $secrets}\"";
    let keys = ["uid", "groups", "tty", "nnp", "reads", "secrets"];
    let metrics =
        keys.map(|key| format!("[[metric]]\nkey = '{key}'\nbetter = 'neither'\nunit = 'count'\n"));
    let text = format!(
        "[workload]\nkind = 'command'\nprogram = 'sh'\nread = 'json'\n\
         args = ['-c', '''{script}''']\n{}\
         [[variant]]\nname = 'own'\n[[variant]]\nname = 'root'\n\
         workload = {{ user = 'root' }}\n",
        metrics.concat()
    );
    let mut command = Command::new(init::hugewise());
    command.args(arguments(&scratch, &text)?).env("SECRET", "of root");
    unless_busy(Said::of(&command.stdin(Stdio::null()).output()?))?.expect(0)?;
    let (own, root) = (values(&scratch, "own")?, values(&scratch, "root")?);
    ensure!(own["uid"].as_f64() > Some(1000.0) && own["reads"] == 0.0, "{own}");
    ensure!(own["groups"] == 1.0 && own["nnp"] == 1.0 && own["tty"] == 0.0, "{own}");
    ensure!(own["secrets"] == 0.0 && root["secrets"] == 1.0, "{own} {root}");
    ensure!(root["uid"] == 0.0 && root["reads"] == 1.0, "{root}");
    let left = named("sleep").into_iter().filter(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text.ends_with(b"\x00417\0"))
    });
    ensure!(left.count() == 0, "what it had started was left");
    Ok(())
}

/// A directory for temporary files that everybody writes to, as `/tmp`.
fn public(scratch: &Scratch) -> anyhow::Result<PathBuf> {
    let path = scratch.join("tmp");
    fs::create_dir(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o1777))?;
    Ok(path)
}

/// The stranger knows the process id: the shell that says it becomes the experiment.
fn a_directory_that_was_there_first(_: &Turn) -> anyhow::Result<()> {
    needs_root()?;
    let scratch = Scratch::new()?;
    let (tmp, precious) = (public(&scratch)?, scratch.join("precious"));
    fs::create_dir(&precious)?;
    let args =
        arguments(&scratch, "[workload]\nkind = 'gups'\nmib = 8\n[[variant]]\nname = 'one'\n")?;
    let mut command = Command::new("sh");
    command.args(["-c", "echo $$; read line; exec \"$0\" \"$@\""]).arg(init::hugewise()).args(args);
    command.env("TMPDIR", &tmp).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child =
        command.stderr(File::create(scratch.join("err"))?).spawn().map_err(|error| match error
            .kind()
        {
            std::io::ErrorKind::NotFound => skip("no shell"),
            _ => error.into(),
        })?;
    let mut pid = String::new();
    BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut pid)?;
    let planted = tmp.join(format!("hugewise-lab-{}", pid.trim()));
    symlink(&precious, &planted)?;
    lchown(&planted, Some(STRANGER), Some(STRANGER))?;
    child.stdin.take().context("a pipe")?.write_all(b"go\n")?;
    // Nobody reads what it says.
    let code = child.wait()?.code();
    let err = fs::read_to_string(scratch.join("err"))?;
    unless_busy(Said { code, out: String::new(), err })?.expect(0)?;
    values(&scratch, "one")?;
    ensure!(fs::read_dir(&precious)?.count() == 0, "a link was followed");
    let left: Vec<_> = fs::read_dir(&tmp)?.flatten().map(|entry| entry.path()).collect();
    ensure!(left == [planted], "{left:?}");
    Ok(())
}

/// A path in a directory of everybody's, at which the stranger has put a link.
fn plant(tmp: &Path, name: &str, target: &Path) -> anyhow::Result<String> {
    let path = tmp.join(name);
    symlink(target, &path)?;
    lchown(&path, Some(STRANGER), Some(STRANGER))?;
    Ok(path.display().to_string())
}

/// Runs hugewise, and ends it when it hangs.
fn bounded(args: &[&str]) -> anyhow::Result<Said> {
    let mut command = Command::new("timeout");
    command.arg(HANGS).arg(init::hugewise()).args(args).stdin(Stdio::null());
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(skip("no 'timeout'")),
        output => Ok(Said::of(&output?)),
    }
}

fn planted_links_are_not_followed(_: &Turn) -> anyhow::Result<()> {
    needs_root()?;
    let scratch = Scratch::new()?;
    let (tmp, precious) = (public(&scratch)?, scratch.join("precious"));
    fs::create_dir(&precious)?;
    let text = scratch.join("meminfo");
    fs::copy("/proc/meminfo", &text)?;
    let (text, own) = (text.display().to_string(), std::process::id().to_string());
    let (file, folder) =
        (plant(&tmp, "file", &precious.join("file"))?, plant(&tmp, "folder", &precious)?);
    let below = format!("{folder}/new");
    let state = scratch.join("state").display().to_string();
    let run_dir = scratch.join("run").display().to_string();
    let experiment =
        arguments(&scratch, "[workload]\nkind = 'gups'\nmib = 8\n[[variant]]\nname = 'a'\n")?;
    let observe = ["manage", "--mode", "observe", "--once", "--pid", &own];
    let observe: Vec<&str> = observe.into_iter().chain(["--state-dir", &state]).collect();
    for path in [&file, &below] {
        let run: Vec<&str> = experiment.iter().map(String::as_str).collect();
        let lab: Vec<&str> = [&run[..5], &[path.as_str()], &run[6..]].concat();
        let manage = |option| [&observe[..], &["--run-dir", &run_dir, option, path]].concat();
        for args in [
            vec!["diagnose", &text, "--report", path],
            vec!["status", "--map", &own, "--svg", path],
            vec!["try", "--report", path],
            vec!["lab", "setup", "gups", "--write", path],
            vec!["record", "--for", "1s", "--output", path],
            lab,
            manage("--record"),
            manage("--journal"),
        ] {
            let said = bounded(&args)?;
            ensure!(said.code == Some(REFUSED), "{args:?}: {said:#?}");
            ensure!(said.err.contains("link"), "{args:?}: {said:#?}");
            let made = fs::read_dir(&precious)?.count();
            ensure!(made == 0, "{args:?} followed a link: {said:#?}");
        }
    }
    // A link of one's own means what it says, and so do names of what is open already.
    let link = tmp.join("mine");
    symlink(scratch.join("report.html"), &link)?;
    let diagnosed = |path: &str| bounded(&["diagnose", &text, "--report", path]);
    let said = diagnosed(&link.display().to_string())?;
    ensure!(said.code != Some(REFUSED) && said.code != Some(1), "{said:#?}");
    let page = fs::read_to_string(scratch.join("report.html"))?;
    ensure!(page.to_lowercase().starts_with("<!doctype html"), "no page");
    for name in ["-", "/dev/stdout"] {
        let said = diagnosed(name)?;
        ensure!(said.out.to_lowercase().starts_with("<!doctype html"), "{name}: {said:#?}");
    }
    Ok(())
}

/// What is believed later goes neither below a stranger's directory, nor where he plants files.
fn directories_that_others_change(_: &Turn) -> anyhow::Result<()> {
    needs_root()?;
    let scratch = Scratch::new()?;
    let (theirs, open) = (scratch.join("theirs"), scratch.join("open"));
    for (path, mode) in [(&theirs, 0o755), (&open, 0o777), (&theirs.join("own"), 0o700)] {
        fs::create_dir(path)?;
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    chown(&theirs, Some(STRANGER), Some(STRANGER))?;
    let experiment =
        arguments(&scratch, "[workload]\nkind = 'gups'\nmib = 8\n[[variant]]\nname = 'a'\n")?;
    let run: Vec<&str> = experiment.iter().map(String::as_str).collect();
    let run_dir = scratch.join("run").display().to_string();
    let record = ["record", "--for", "1s", "--every", "1s", "--run-dir", &run_dir, "--history"];
    for path in [theirs.join("new"), theirs.join("own"), open.join("new")] {
        let path = path.display().to_string();
        let lab: Vec<&str> = [&run[..5], &[path.as_str()], &run[6..]].concat();
        for args in [lab, [&record[..], &[&path]].concat()] {
            let said = bounded(&args)?.expect(REFUSED)?;
            let named = said.err.contains("theirs', which") || said.err.contains("open', which");
            ensure!(named, "{args:?}: {said:#?}");
        }
    }
    // Who calls sudo may do what root may: below a home of theirs nobody else decides.
    let mut called = Command::new(init::hugewise());
    called.args(record).arg(theirs.join("new")).env("SUDO_UID", STRANGER.to_string());
    Said::of(&called.output()?).expect(0)?;
    // Files of a day that are planted, or are something else as well.
    let (day, history) = ("2036-01-01.1.history", scratch.join("history"));
    let with_history = || bounded(&[&record[..], &[&history.display().to_string()]].concat());
    fs::create_dir(&history)?;
    fs::write(history.join(day), "")?;
    chown(history.join(day), Some(STRANGER), Some(STRANGER))?;
    for (mode, why) in [(0o777, "others may change"), (0o1777, "others may put files")] {
        fs::set_permissions(&history, Permissions::from_mode(mode))?;
        let said = with_history()?.expect(REFUSED)?;
        ensure!(said.err.contains(why), "{mode:o}: {said:#?}");
    }
    fs::set_permissions(&history, Permissions::from_mode(0o700))?;
    ensure!(with_history()?.expect(REFUSED)?.err.contains("belongs to another user"), "the file");
    fs::remove_file(history.join(day))?;
    fs::write(scratch.join("precious"), "as it was")?;
    fs::hard_link(scratch.join("precious"), history.join(day))?;
    ensure!(with_history()?.expect(REFUSED)?.err.contains("another name"), "the second name");
    ensure!(fs::read_to_string(scratch.join("precious"))? == "as it was", "it was written to");
    fs::remove_file(history.join(day))?;
    with_history()?.expect(0).map(drop)
}

fn pipes_and_hard_links(_: &Turn) -> anyhow::Result<()> {
    needs_root()?;
    let scratch = Scratch::new()?;
    let (tmp, precious) = (public(&scratch)?, scratch.join("precious"));
    let (pipe, linked) = (tmp.join("pipe"), tmp.join("linked"));
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0)?;
    chown(&pipe, Some(STRANGER), Some(STRANGER))?;
    fs::write(&precious, "as it was\n")?;
    // As a stranger may where fs.protected_hardlinks is 0.
    fs::hard_link(&precious, &linked)?;
    let (own, state) = (std::process::id().to_string(), scratch.join("state"));
    let (state, run_dir) = (state.display().to_string(), scratch.join("run").display().to_string());
    let manage = |option: &str, path: &Path| {
        let path = path.display().to_string();
        let base = ["manage", "--mode", "observe", "--once", "--pid", &own, "--run-dir", &run_dir];
        bounded(&[&base[..], &["--state-dir", &state, option, &path]].concat())
    };
    for (option, path, what) in [
        ("--record", &pipe, "a pipe"),
        ("--journal", &pipe, "not a regular file"),
        ("--journal", &linked, "another name"),
    ] {
        let said = manage(option, path)?.expect(REFUSED)?;
        ensure!(said.err.contains(what), "{option} {path:?}: {said:#?}");
    }
    manage("--record", &linked)?.expect(0)?;
    ensure!(fs::read_to_string(&linked)?.starts_with('{'), "nothing was recorded");
    ensure!(fs::metadata(&linked)?.mode() & 0o777 == 0o600, "others read it");
    ensure!(fs::read_to_string(&precious)? == "as it was\n", "another name was written through");
    let own = std::process::id().to_string();
    let said = bounded(&["status", "--map", &own, "--svg", &pipe.display().to_string()])?
        .expect(REFUSED)?;
    ensure!(said.err.contains("of another user"), "{said:#?}");
    Ok(())
}

/// A recording that only root reads is handed to sysstat's own tool, which runs as nobody.
fn recordings_are_read_by_nobody(_: &Turn) -> anyhow::Result<()> {
    needs_programs()?;
    let collector = Path::new("/usr/lib/sysstat/sadc");
    if !collector.exists() || !Path::new("/usr/bin/sadf").exists() {
        return Err(skip("no sysstat: install Debian's package of that name"));
    }
    let scratch = Scratch::new()?;
    let (folder, file) = (scratch.join("closed"), scratch.join("closed/recording"));
    fs::create_dir(&folder)?;
    let made = Command::new(collector).args(["1", "2"]).arg(&file).status()?;
    ensure!(made.success(), "sadc ended with {made}");
    fs::set_permissions(&file, Permissions::from_mode(0o600))?;
    fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
    let said = bounded(&["diagnose", &file.display().to_string(), "--json"])?;
    let json = said.json()?;
    let text = json.to_string();
    ensure!(said.code != Some(1) && !text.contains("left out"), "{said:#?}");
    Ok(())
}

/// Every way of writing a file that a user names, and links of a stranger at each place in its
/// path.
fn links_of_others_are_refused(_: &Turn) -> anyhow::Result<()> {
    needs_root()?;
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.join("precious"))?;
    for (link, target) in [("last", "precious/file"), ("folder", "precious"), ("none", "new")] {
        symlink(target, scratch.join(link))?;
        lchown(scratch.join(link), Some(STRANGER), Some(STRANGER))?;
    }
    for path in ["last", "folder/file", "none"].map(|name| scratch.join(name)) {
        for result in [save::write(&path, b"x"), save::begin_anew(&path).map(drop)] {
            let error = result.err().with_context(|| format!("{path:?} was written"))?;
            let said = error.to_string();
            let named = said.contains("65533") && said.contains("symbolic link");
            ensure!(error.is_refusal() && named, "{said}");
        }
    }
    let (file, log) = (scratch.join("folder/file"), scratch.join("folder/j"));
    let flags = OFlags::RDWR | OFlags::CREATE;
    let directory =
        |name| save::guarded_directory(&scratch.join(name), Some(save::DIRECTORY)).map(drop);
    for result in [
        directory("folder"),
        directory("folder/new"),
        save::create(&file, b"x"),
        save::open(&log, flags, 0o640).map(drop),
    ] {
        let error = result.err().context("a stranger's link was followed")?;
        ensure!(error.is_refusal(), "{error}");
    }
    ensure!(fs::read_dir(scratch.join("precious"))?.count() == 0, "something was written there");
    Ok(())
}
