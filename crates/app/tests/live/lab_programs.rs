//! Experiments with programs of others: each kind once, small, as `hugewise lab run` runs it.

use crate::init;
use crate::kit::{Said, Scratch, hugewise, lab_directories, skip, trial, unless_busy, wait_for};
use crate::machine::Turn;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("lab_redis_deletes_and_saves", redis_deletes_and_saves),
        trial("lab_redis_killed_for_memory_is_a_result", redis_killed_for_memory_is_a_result),
        trial("lab_memcached_keeps_its_values", memcached_keeps_its_values),
        trial("lab_postgres_serves_pgbench", postgres_serves_pgbench),
        trial("lab_killed_leaves_no_postgres", killed_leaves_no_postgres),
        trial("lab_java_allocates", java_allocates),
        trial("lab_java_builds_are_timed", java_builds_are_timed),
        trial("lab_command_is_measured", command_is_measured),
        trial("lab_command_ends_its_manager", command_ends_its_manager),
        trial("lab_what_is_given_back_is_measured", what_is_given_back_is_measured),
    ]
}

/// What every experiment here begins with.
const HEAD: &str = "name = 'trial'\nquestion = 'Does it run?'\nmeasure_s = 1\nmanage_s = 0\n\
                    stop = { repetitions = 1 }\nsettle = { still_s = 0, max_s = 1 }\n";

/// An experiment in a directory of its own.
struct Lab {
    scratch: Scratch,
}

impl Lab {
    fn new(rest: &str) -> anyhow::Result<Self> {
        if init::is_guest() {
            return Err(skip("a virtual machine holds no programs of others"));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(skip("needs root, for a cgroup"));
        }
        let scratch = Scratch::new()?;
        fs::write(scratch.join("trial.toml"), format!("{HEAD}{rest}"))?;
        Ok(Self { scratch })
    }

    fn args(&self) -> Vec<String> {
        let path = |name: &str| self.scratch.join(name).display().to_string();
        let words = ["lab", "run", &path("trial.toml"), "--noisy", "--output", &path("out")];
        let mut args: Vec<String> = words.map(str::to_owned).into();
        args.extend(["--state-dir".to_owned(), path("state")]);
        args
    }

    /// Runs it to its end.
    fn run(&self) -> anyhow::Result<Said> {
        unless_busy(hugewise(self.args())?)
    }

    /// The only run of a variant.
    fn record(&self, variant: &str) -> anyhow::Result<Value> {
        let path = self.scratch.join(format!("out/runs/0001-{variant}.json"));
        Ok(serde_json::from_slice(&fs::read(&path).with_context(|| format!("no {path:?}"))?)?)
    }

    /// A value of a run that went through.
    fn value(&self, variant: &str, key: &str) -> anyhow::Result<f64> {
        let record = self.record(variant)?;
        ensure!(record["outcome"]["result"] == "done", "{variant}: {}", record["outcome"]);
        let values = &record["measured"]["values"];
        values[key].as_f64().with_context(|| format!("{variant}: no {key} in {values}"))
    }
}

fn redis_deletes_and_saves(_: &Turn) -> anyhow::Result<()> {
    let lab = Lab::new(
        "[workload]\nkind = 'redis'\nkeys = 4000\nwatch_s = 1\nset_percent = 50\n\
         save_requests = 200\n\
         [[variant]]\nname = 'never'\nhuge_pages = 'never'\n\
         [[variant]]\nname = 'saving'\nhuge_pages = 'inherit'\n\
         workload = { scenario = 'bgsave', socket = 'tcp' }\n",
    )?;
    lab.run()?.expect(0)?;
    let (full, deleted) =
        (lab.value("never", "full.rss_mib")?, lab.value("never", "deleted.rss_mib")?);
    // 4,000 values of 8 KiB are 31 MiB. What is deleted goes back only after ten seconds.
    ensure!(full > 31.0 && deleted > 0.3 * full, "{full} MiB, then {deleted} MiB");
    ensure!(lab.value("never", "full.huge_mib")? <= 0.0);
    for key in ["before.ops_per_s", "during.ops_per_s", "during.p99_us", "save_s", "fork_ms"] {
        ensure!(lab.value("saving", key)? > 0.0, "{key}");
    }
    lab.value("saving", "copied_mib").map(drop)
}

fn redis_killed_for_memory_is_a_result(_: &Turn) -> anyhow::Result<()> {
    let lab = Lab::new(
        "memory_limit_mib = 64\n[workload]\nkind = 'redis'\nscenario = 'timeline'\nkeys = 2000\n\
         value_bytes = 4096\n[[variant]]\nname = 'fits'\nhuge_pages = 'never'\n\
         workload = { large_mib = 16 }\n[[variant]]\nname = 'toomuch'\nhuge_pages = 'never'\n\
         workload = { large_mib = 256 }\n",
    )?;
    lab.run()?.expect(0)?;
    ensure!(lab.value("fits", "survived")? > 0.5 && lab.value("fits", "large_mib")? > 15.5);
    ensure!(lab.value("toomuch", "survived")? < 0.5, "it has room for 256 MiB in 64 MiB");
    let room = lab.value("toomuch", "large_mib")?;
    ensure!((2.0..64.0).contains(&room), "{room} MiB found room");
    Ok(())
}

fn memcached_keeps_its_values(_: &Turn) -> anyhow::Result<()> {
    let lab = Lab::new(
        "[workload]\nkind = 'memcached'\nhashpower = 20\nkeys = 1000\nwatch_s = 1\n\
         [[variant]]\nname = 'never'\nhuge_pages = 'never'\n",
    )?;
    lab.run()?.expect(0)?;
    ensure!(lab.value("never", "ops_per_s")? > 0.0 && lab.value("never", "p99_us")? > 0.0);
    ensure!(lab.value("never", "at_once.rss_mib")? > 1.0);
    Ok(())
}

const POSTGRES: &str = "[workload]\nkind = 'postgres'\nscale = 1\nclients = 2\nwarm_s = 0\n\
                        shared_buffers_mib = 16\n";

fn postgres_serves_pgbench(_: &Turn) -> anyhow::Result<()> {
    let variant = "[[variant]]\nname = 'small'\nworkload = { rate = 100, select_only = false }\n";
    let lab = Lab::new(&format!("{POSTGRES}{variant}"))?;
    lab.run()?.expect(0)?;
    let rate = lab.value("small", "ops_per_s")?;
    ensure!(rate > 0.0 && rate < 300.0, "100 transactions a second were asked for: {rate}");
    for key in ["p50_us", "mean_us", "rss_mib", "page_tables_mib"] {
        ensure!(lab.value("small", key)? > 0.0, "{key}");
    }
    Ok(())
}

/// Processes whose arguments hold this text.
fn processes_of(text: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let args = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let args = String::from_utf8_lossy(&args).replace('\0', " ");
        found.extend(Some(args).filter(|args| args.contains(text)));
    }
    Ok(found)
}

/// An experiment that runs; what a failed trial leaves of it is ended with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Killed without a chance to tidy up: a change of user has taken the parent's-death signal away
/// from the server, unless it was asked for again.
fn killed_leaves_no_postgres(_: &Turn) -> anyhow::Result<()> {
    let variant = "[[variant]]\nname = 'small'\n";
    // The first run finds out whether the programs are there.
    let lab = Lab::new(&format!("{POSTGRES}{variant}"))?;
    hugewise(["lab", "setup", &lab.args()[2]]).and_then(|said| {
        match said.out.contains("Missing: ") {
            true => Err(skip("PostgreSQL is not installed")),
            false => Ok(()),
        }
    })?;
    let text = fs::read_to_string(lab.scratch.join("trial.toml"))?;
    fs::write(lab.scratch.join("trial.toml"), text.replace("measure_s = 1", "measure_s = 60"))?;
    let log = fs::File::create(lab.scratch.join("log"))?;
    let mut command = Command::new(init::hugewise());
    command.args(lab.args()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let before = lab_directories();
    let mut running = Running(command.spawn()?);
    let mut session = PathBuf::new();
    let mut directory = String::new();
    wait_for("pgbench", || {
        if let Some(status) = running.0.try_wait()? {
            let said = fs::read_to_string(lab.scratch.join("log"))?;
            if said.contains("another hugewise") {
                return Err(skip("somebody else runs an experiment on this machine"));
            }
            anyhow::bail!("it ended with {status}: {said}");
        }
        let made = lab_directories().difference(&before).next().cloned();
        let Some(made) = made else { return Ok(false) };
        session = made;
        directory = session.join("run").display().to_string();
        Ok(processes_of(&directory)?.iter().any(|args| args.contains("--log-prefix")))
    })?;
    ensure!(processes_of(&directory)?.iter().any(|args| args.contains("listen_addresses")));
    let group = group_of(running.0.id())?;
    let interlock = interlock(&session.join("run/data"))?;
    running.0.kill()?;
    running.0.wait()?;
    wait_for("the server's end", || Ok(processes_of(&directory)?.is_empty()))?;
    // Without a server the group is empty, and what is left of the run is files.
    if let Some(group) = group {
        wait_for("an empty cgroup", || Ok(fs::remove_dir(&group).is_ok()))?;
    }
    fs::remove_dir_all(session)?;
    // The only thing that outlives a killed PostgreSQL: 56 bytes of System V shared memory.
    Said::of(&Command::new("ipcrm").args(["-m", &interlock]).output()?).expect(0).map(drop)
}

/// Id of the shared memory by which a server protects its directory (`postmaster.pid`, line 7).
fn interlock(data: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(data.join("postmaster.pid"))?;
    let id = text.lines().nth(6).and_then(|line| line.split_ascii_whitespace().nth(1));
    Ok(id.context("no shared memory in postmaster.pid")?.to_owned())
}

/// The cgroup that an experiment has made, wherever the controllers are.
fn group_of(pid: u32) -> anyhow::Result<Option<PathBuf>> {
    let name = format!("hugewise-lab-{pid}");
    fn below(folder: &Path, name: &str, depth: u32) -> Option<PathBuf> {
        let own = folder.join(name);
        if own.is_dir() {
            return Some(own);
        }
        let entries = fs::read_dir(folder).ok()?.flatten();
        let mut folders = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        (depth > 0).then(|| folders.find_map(|folder| below(&folder, name, depth - 1)))?
    }
    Ok(below(Path::new("/sys/fs/cgroup"), &name, 5))
}

fn java_allocates(_: &Turn) -> anyhow::Result<()> {
    let lab = Lab::new(
        "[workload]\nkind = 'java'\nheap_mib = 64\nlive_mib = 16\n\
         [[variant]]\nname = 'never'\nhuge_pages = 'never'\nworkload = { gc = 'serial' }\n",
    )?;
    lab.run()?.expect(0)?;
    for key in ["allocated_mib_per_s", "gc_count", "p50_us", "user_cpu_s"] {
        ensure!(lab.value("never", key)? > 0.0, "{key}");
    }
    Ok(())
}

/// The workload of the experiment that is shipped, over a tree of a few classes.
fn java_builds_are_timed(_: &Turn) -> anyhow::Result<()> {
    let shipped = include_str!("../../../lab/experiments/java-builds.toml");
    let from = shipped.find("[workload]").context("a workload")?;
    let end = shipped.find("[settings]").context("settings")?;
    let workload = shipped.get(from..end).context("a table")?;
    let metrics = ["four_s", "eight_s", "freeze_ms"];
    let metric = |key| format!("[[metric]]\nkey = '{key}'\nbetter = 'lower'\nunit = ''\n");
    let lab = Lab::new(&format!(
        "{workload}{}[[variant]]\nname = 'never'\nhuge_pages = 'never'\n",
        metrics.map(metric).concat()
    ))?;
    lab.run()?.expect(0)?;
    for key in metrics {
        ensure!(lab.value("never", key)? > 0.0, "{key}");
    }
    // Twice as many builds of the same tree.
    ensure!(lab.value("never", "eight_s")? > lab.value("never", "four_s")?);
    ensure!(lab.value("never", "user_cpu_s")? > 1.0, "javac takes CPU time");
    Ok(())
}

fn command_is_measured(_: &Turn) -> anyhow::Result<()> {
    let lab = Lab::new(
        "[workload]\nkind = 'command'\nprogram = 'sh'\nread = 'json'\nok_codes = ['3']\n\
         args = ['-c', 'sleep 100 & sleep 0.3; echo \"{\\\"mine\\\": {measure_s}}\"; exit 3']\n\
         [[metric]]\nkey = 'mine'\nbetter = 'neither'\nunit = 's'\n\
         [[variant]]\nname = 'fine'\n[[variant]]\nname = 'failed'\n\
         workload = { ok_codes = ['0'] }\n",
    )?;
    lab.run()?.expect(5)?;
    ensure!(lab.value("fine", "mine")? > 0.5 && lab.value("fine", "wall_s")? >= 0.3);
    let failed = lab.record("failed")?["outcome"].clone();
    let error = failed["error"].as_str().context("an error")?;
    ensure!(error.contains("sh ended with exit status: 3"), "{failed}");
    Ok(())
}

fn command_ends_its_manager(_: &Turn) -> anyhow::Result<()> {
    let lab = Lab::new(
        "[workload]\nkind = 'command'\nprogram = 'sleep'\nargs = ['2']\n\
         [[variant]]\nname = 'seen'\nmanage = { mode = 'observe' }\n\
         [[variant]]\nname = 'broken'\nmanage = { mode = 'observe', set = { nothing = 1 } }\n",
    )?;
    lab.run()?.expect(5)?;
    ensure!(lab.value("seen", "wall_s")? >= 2.0);
    // From its journal: by then it had ended with the program.
    ensure!(lab.value("seen", "promoted")? <= 0.0);
    let broken = lab.record("broken")?["outcome"].clone();
    let error = broken["error"].as_str().context("a manager that cannot start is no failure")?;
    ensure!(error.contains("'hugewise manage' ended by itself"), "{broken}");
    Ok(())
}

fn what_is_given_back_is_measured(_: &Turn) -> anyhow::Result<()> {
    let lab = Lab::new(
        "[workload]\nkind = 'sparse-touch'\nmib = 32\npages_per_region = 256\n\
         [[variant]]\nname = 'never'\nhuge_pages = 'never'\n",
    )?;
    lab.run()?.expect(0)?;
    let (before, after) =
        (lab.value("never", "touched_mib")?, lab.value("never", "after.touched_mib")?);
    ensure!(after < before * 0.75 && after > before * 0.25, "{before} MiB, then {after} MiB");
    let less = lab.value("never", "rss_mib")? - lab.value("never", "after.rss_mib")?;
    ensure!(less > 4.0, "about 8 MiB went back, and {less} MiB were seen to");
    ensure!(lab.value("never", "after.ops_per_s")? > 0.0);
    Ok(())
}
