//! `advise run`: what programs of six kinds have in huge pages under each policy and each mode of
//! the machine. The mode is changed by `thp set`, and comes back by its trail.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, Skip, skip, trial, wait_for};
use crate::machine::{Kernel, Memory, Turn};
use crate::manager::Manage;
use crate::promote::FAST;
use crate::redis::Redis;
use crate::settings::thp_command;
use anyhow::{Context, bail, ensure};
use libtest_mimic::Trial;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = vec![
        trial("run_policy_of_an_except_advised_program_is_the_managers", managed),
        trial("run_policy_own_switches_under_always", own_switches),
    ];
    let kinds: [(&str, Make); 6] = [
        ("glibc", glibc),
        ("jemalloc", jemalloc),
        ("java", java),
        ("go", go),
        ("python", python),
        ("redis", |_| tool(&["redis-server"]).map(|_| Started::Redis)),
    ];
    all.extend(kinds.map(|(kind, make)| {
        trial(format!("run_policy_of_a_{kind}_program"), move |_: &Turn| each(kind, make))
    }));
    all
}

/// Makes a program ready to be started.
type Make = fn(&Scratch) -> anyhow::Result<Started>;

/// How a program is started.
enum Started {
    /// By this command, which says 'ready' when its memory is filled.
    By(Vec<String>),
    Redis,
}

/// The machine's mode, until dropped.
struct Mode<'a>(&'a Scratch);

impl<'a> Mode<'a> {
    fn set(scratch: &'a Scratch, mode: &str) -> anyhow::Result<Self> {
        thp_command(scratch, &format!("set enabled={mode}"))?.expect(0)?;
        Ok(Self(scratch))
    }
}

impl Drop for Mode<'_> {
    fn drop(&mut self) {
        let _ = thp_command(self.0, "revert");
    }
}

/// A program under a policy, ended with the trial.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// `hugewise advise run --thp POLICY --`.
fn under(policy: &str) -> Command {
    let mut command = Command::new(init::hugewise());
    command.args(["advise", "run", "--thp", policy, "--"]);
    for name in ["GLIBC_TUNABLES", "MALLOC_CONF", "JDK_JAVA_OPTIONS", "PYTHONMALLOC"] {
        command.env_remove(name);
    }
    command
}

/// Starts it, waits until it is ready, and looks at its memory.
fn memory(scratch: &Scratch, policy: &str, started: &Started) -> anyhow::Result<Memory> {
    let command = match started {
        Started::By(command) => command,
        Started::Redis => {
            let mut command = under(policy);
            let redis = Redis::start_by(command.arg("redis-server"), scratch, 16_384, &[])?;
            return redis.memory();
        }
    };
    Memory::of(ready(scratch, policy, command)?.0.id())
}

/// Starts it, and waits until its memory is filled. It has become what hugewise was: its pid is
/// the child's.
fn ready(scratch: &Scratch, policy: &str, command: &[String]) -> anyhow::Result<Running> {
    let said = scratch.join("said");
    let out = File::create(&said)?;
    let mut command_line = under(policy);
    command_line.args(command).stdin(Stdio::null()).stderr(out.try_clone()?).stdout(out);
    let mut running = Running(command_line.spawn().context("cannot run hugewise")?);
    wait_for(&format!("{command:?}"), || {
        let text = fs::read_to_string(&said)?;
        ensure!(running.0.try_wait()?.is_none(), "it ended: {text}");
        Ok(text.lines().any(|line| line == "ready"))
    })?;
    Ok(running)
}

/// What is expected of a policy under a mode.
enum Wanted {
    None,
    /// At least half of it.
    Half,
    /// Exit code 6 with this name.
    Refused(&'static str),
}

fn wanted(kind: &str, mode: &str, policy: &str) -> Wanted {
    match (policy, mode) {
        ("never", _) => Wanted::None,
        (_, "never") => Wanted::Refused("operator_never"),
        ("madvise", "always") if Kernel::running().is_ok_and(|kernel| kernel < Kernel(6, 18)) => {
            Wanted::Refused("needs_except_advised")
        }
        ("madvise", _) => Wanted::None,
        ("managed", _) => Wanted::Refused("no_manager"),
        ("always", "madvise") if kind == "go" => Wanted::Refused("no_manager"),
        _ => Wanted::Half,
    }
}

fn each(kind: &str, make: Make) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("needs programs that a virtual machine does not hold"));
    }
    let scratch = Scratch::new()?;
    let started = make(&scratch)?;
    for mode in ["always", "madvise", "never"] {
        let _mode = Mode::set(&scratch, mode)?;
        for policy in ["never", "madvise", "always", "managed"] {
            let what = format!("{kind} --thp {policy} under {mode}");
            let wanted = wanted(kind, mode, policy);
            if let Wanted::Refused(name) = wanted {
                refused(policy, &started, name).context(what)?;
                continue;
            }
            let Memory { rss, huge, .. } =
                memory(&scratch, policy, &started).context(what.clone())?;
            println!("{what}: {huge} of {rss} KiB huge");
            match wanted {
                Wanted::None => ensure!(huge == 0, "{what}: {huge} KiB huge"),
                _ => ensure!(huge * 2 >= rss, "{what}: {huge} of {rss} KiB huge"),
            }
        }
    }
    Ok(())
}

fn refused(policy: &str, started: &Started, name: &str) -> anyhow::Result<()> {
    let mut command = under(policy);
    let Output { status, stderr, .. } = match started {
        Started::By(words) => command.args(words).output()?,
        Started::Redis => command.arg("redis-server").output()?,
    };
    let text = String::from_utf8_lossy(&stderr);
    ensure!(status.code() == Some(6) && text.contains(&format!("({name})")), "{status}: {text}");
    Ok(())
}

/// 128 MiB in blocks that faults can make huge.
const C: &str = "#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  for (int i = 0; i < 16; i++) {
    char *block = malloc(8 << 20);
    if (!block) return 1;
    memset(block, 1, 8 << 20);
  }
  puts(\"ready\");
  fflush(stdout);
  pause();
}
";

const JAVA: &str = "public class Fill {
  public static void main(String[] arguments) throws Exception {
    byte[][] all = new byte[160][];
    for (int i = 0; i < all.length; i++) {
      all[i] = new byte[900000];
      java.util.Arrays.fill(all[i], (byte) 1);
    }
    System.out.println(\"ready\");
    Thread.sleep(600000);
    System.out.println(all.length);
  }
}
";

const GO: &str = "package main

import \"time\"

func main() {
    var all [][]byte
    for i := 0; i < 128; i++ {
        b := make([]byte, 1<<20)
        for j := range b {
            b[j] = 1
        }
        all = append(all, b)
    }
    println(\"ready\")
    time.Sleep(time.Hour)
    println(len(all))
}
";

/// Blocks, as numeric programs have: small objects are the how-to's matter.
const PYTHON: &str = "import time\nall = [bytearray(b'x') * (8 << 20) for _ in range(16)]\n\
                      print('ready', flush=True)\ntime.sleep(600)\n";

/// Where a program is; a reason to skip where it is nowhere.
fn tool(names: &[&str]) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let within = |name: &&str| {
        let places = folders.iter().map(|folder| folder.join(name));
        places.into_iter().find(|file| file.is_file())
    };
    names
        .iter()
        .find_map(within)
        .with_context(String::new)
        .map_err(|_| skip(format!("no {} here", names.join(", "))))
}

fn compiled(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn c_program(scratch: &Scratch, libraries: &[&Path]) -> anyhow::Result<Started> {
    let (source, program) = (scratch.join("fill.c"), scratch.join("fill"));
    fs::write(&source, C)?;
    let mut command = Command::new(tool(&["cc"])?);
    command.arg(&source).arg("-o").arg(&program).arg("-Wl,--no-as-needed").args(libraries);
    compiled(&mut command)?;
    Ok(Started::By(words(&[&program.display().to_string()])))
}

fn glibc(scratch: &Scratch) -> anyhow::Result<Started> {
    c_program(scratch, &[])
}

fn jemalloc(scratch: &Scratch) -> anyhow::Result<Started> {
    let folders = fs::read_dir("/usr/lib")?.flatten().map(|entry| entry.path());
    let mut places = folders.chain(["/usr/lib".into(), "/usr/lib64".into()]);
    let library = places
        .find_map(|folder| Some(folder.join("libjemalloc.so.2")).filter(|file| file.is_file()));
    match library {
        Some(library) => c_program(scratch, &[&library]),
        None => Err(skip("no libjemalloc.so.2: install Debian's package libjemalloc2")),
    }
}

fn java(scratch: &Scratch) -> anyhow::Result<Started> {
    let source = scratch.join("Fill.java");
    fs::write(&source, JAVA)?;
    let (javac, java) = (tool(&["javac"])?, tool(&["java"])?);
    compiled(Command::new(javac).args(["--release", "11", "-d"]).arg(scratch.path()).arg(source))?;
    let (java, place) = (java.display().to_string(), scratch.path().display().to_string());
    let heap = ["-Xms320m", "-Xmx320m", "-XX:-UsePerfData", "-cp"];
    Ok(Started::By(words(&[&[java.as_str()], &heap[..], &[&place, "Fill"]].concat())))
}

fn go(scratch: &Scratch) -> anyhow::Result<Started> {
    let (source, program) = (scratch.join("fill.go"), scratch.join("fill"));
    fs::write(&source, GO)?;
    let compiler = tool(&["go"]).or_else(|error| {
        let usual = PathBuf::from("/usr/local/go/bin/go");
        if usual.is_file() { Ok(usual) } else { Err(error) }
    })?;
    let mut command = Command::new(compiler);
    command.env("GOCACHE", scratch.join("cache")).env("GO111MODULE", "off").env("GOFLAGS", "");
    compiled(command.args(["build", "-o"]).arg(&program).arg(&source))?;
    Ok(Started::By(words(&[&program.display().to_string()])))
}

fn python(_: &Scratch) -> anyhow::Result<Started> {
    // One that is no script which looks for another.
    let usual = Path::new("/usr/bin/python3");
    if !usual.is_file() {
        return Err(skip("no /usr/bin/python3"));
    }
    Ok(Started::By(words(&["/usr/bin/python3", "-c", PYTHON])))
}

/// A program with its own switch for no huge pages, and whether that takes any away.
type OwnSwitch = (Make, &'static str, bool);

/// What the remedies of a diagnosis say of switches, under `always`: those of Java and of glibc
/// only say whether the program asks, and take nothing away. `--thp never` always does.
fn own_switches(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("needs programs that a virtual machine does not hold"));
    }
    let all: [OwnSwitch; 4] = [
        (java, "JDK_JAVA_OPTIONS=-XX:-UseTransparentHugePages", false),
        (glibc, "GLIBC_TUNABLES=glibc.malloc.hugetlb=0", false),
        (jemalloc, "MALLOC_CONF=thp:never", true),
        (go, "GODEBUG=disablethp=1", true),
    ];
    let scratch = Scratch::new()?;
    let _mode = Mode::set(&scratch, "always")?;
    for (make, switch, takes) in all {
        let command = match make(&scratch) {
            Ok(Started::By(command)) => command,
            Ok(Started::Redis) => bail!("a command"),
            Err(why) if why.is::<Skip>() => {
                println!("{switch}: {why}");
                continue;
            }
            Err(error) => return Err(error),
        };
        let started = Started::By([words(&["env", switch]), command].concat());
        let own = memory(&scratch, "always", &started).context(switch)?;
        let never = memory(&scratch, "never", &started).context(switch)?;
        println!("{switch} under always: {own:?}; --thp never: {never:?}");
        ensure!((own.huge == 0) == takes, "{switch}: {own:?}");
        ensure!(takes || own.huge * 2 >= own.rss, "{switch}: {own:?}");
        ensure!(never.huge == 0, "{switch}: {never:?}");
    }
    Ok(())
}

/// Faults leave such a program small, and a manager makes it huge.
fn managed(_: &Turn) -> anyhow::Result<()> {
    if Kernel::running()? < Kernel(6, 18) {
        return Err(skip("before 6.18 the kernel cannot leave out one program"));
    }
    if init::is_guest() {
        return Err(skip("needs a compiler, which a virtual machine does not hold"));
    }
    let scratch = Scratch::new()?;
    let Started::By(command) = glibc(&scratch)? else { bail!("a command") };
    let _mode = Mode::set(&scratch, "always")?;
    let other = Hold::start("--mib 8")?;
    let args = format!("--pid {} --for 1h --keep-settings {FAST}", other.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    let running = ready(&scratch, "managed", &command)?;
    let pid = running.0.id();
    let faulted = Memory::of(pid)?;
    manager.stop()?.expect(0)?;
    ensure!(faulted.huge == 0, "faults did not leave it alone: {faulted:?}");
    let args = format!("--pid {pid} --once --keep-settings {FAST}");
    let status = Manage::new(&scratch, &args).run()?.expect(0)?.json()?;
    let promoted = Memory::of(pid)?;
    println!("except-advised: {faulted:?}, after a manager: {promoted:?}");
    ensure!(promoted.huge * 10 >= promoted.rss * 8, "{promoted:?}: {status}");
    Ok(())
}
