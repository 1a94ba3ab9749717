//! `hugewise hugetlb` for PostgreSQL and Java: exactly as many pages as they take, and what one
//! page fewer does to them.

use crate::hugetlb_kit::{Hugetlb, Pool, pool_of};
use crate::kit::{Said, Scratch, number, skip, trial, wait_for};
use crate::machine::Turn;
use anyhow::{Context, bail, ensure};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("hugetlb_postgres_starts_with_exactly_its_pages", postgres_starts_with_its_pages),
        trial("hugetlb_postgres_one_page_short_does_not_start", postgres_one_page_short),
        trial("hugetlb_postgres_on_base_pages_is_found", postgres_on_base_pages_is_found),
        trial("hugetlb_java_holds_exactly_its_pages", java_holds_exactly_its_pages),
        trial("hugetlb_java_one_page_short_is_seen", java_one_page_short_is_seen),
    ]
}

/// A data directory of one trial, and its server. PostgreSQL does not run as root, and wants a
/// user with a name.
pub(crate) struct Postgres<'a> {
    scratch: &'a Scratch,
    pub(crate) programs: PathBuf,
    pub(crate) data: PathBuf,
    user: (u32, u32),
    process: Option<Child>,
}

/// The newest one that can say how many huge pages it takes.
fn postgres_programs() -> anyhow::Result<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in fs::read_dir("/usr/lib/postgresql").into_iter().flatten() {
        let entry = entry?;
        let version = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let programs = entry.path().join("bin");
        let whole = ["postgres", "initdb"].iter().all(|name| programs.join(name).exists());
        found.extend(version.filter(|version| whole && *version >= 15).map(|v| (v, programs)));
    }
    let missing = "no PostgreSQL of 15 or later: install Debian's package postgresql-15";
    found.into_iter().max().map(|(_, path)| path).ok_or_else(|| skip(missing))
}

/// User and group of `nobody`.
fn nobody() -> anyhow::Result<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = users.lines().find_map(|line| line.strip_prefix("nobody:x:"));
    let Some(line) = line else { return Err(skip("no user nobody here")) };
    let mut numbers = line.split(':');
    let mut number = || numbers.next().and_then(|n| n.parse().ok()).context("a number");
    Ok((number()?, number()?))
}

impl<'a> Postgres<'a> {
    pub(crate) fn new(scratch: &'a Scratch) -> anyhow::Result<Self> {
        let (programs, user) = (postgres_programs()?, nobody()?);
        let data = scratch.join("data");
        fs::create_dir(&data)?;
        chown(&data, Some(user.0), Some(user.1))?;
        let server = Self { scratch, programs, data, user, process: None };
        let mut initdb = server.command("initdb");
        initdb.args(["--no-sync", "--auth=trust", "--username=trial", "--locale=C"]);
        Said::of(&initdb.output().context("cannot run initdb")?).expect(0)?;
        let file = server.data.join("postgresql.conf");
        let mut text = fs::read_to_string(&file)?;
        text.push_str(&format!(
            "\nshared_buffers = 64MB\nlisten_addresses = ''\nfsync = off\n\
             unix_socket_directories = '{}'\n",
            server.data.display()
        ));
        fs::write(&file, text)?;
        Ok(server)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.arg("-D").arg(&self.data).uid(self.user.0).gid(self.user.1);
        command.env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
        command
    }

    /// What its own program says.
    fn pages(&self) -> anyhow::Result<u64> {
        let mut command = self.command("postgres");
        let said = command.args(["-C", "shared_memory_size_in_huge_pages"]).output()?;
        Ok(Said::of(&said).expect(0)?.out.trim().parse()?)
    }

    /// Starts it, and waits until it answers, or says why not.
    pub(crate) fn start(&mut self, huge_pages: &str) -> anyhow::Result<u32> {
        let log = self.scratch.join("postgres.log");
        let mut command = self.command("postgres");
        command.args(["-c", &format!("huge_pages={huge_pages}")]);
        command.stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?);
        let process = self.process.insert(command.spawn().context("cannot start postgres")?);
        let status = self.data.join("postmaster.pid");
        wait_for("postgres", || {
            if let Some(code) = process.try_wait()? {
                bail!("it ended with {code}: {}", fs::read_to_string(&log)?);
            }
            Ok(fs::read_to_string(&status).is_ok_and(|text| text.contains("\nready")))
        })?;
        Ok(process.id())
    }

    /// `INT`: as an operator does; `QUIT`: at once.
    pub(crate) fn stop(&mut self, signal: Signal) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        if process.try_wait()?.is_none() {
            let pid = Pid::from_raw(process.id().cast_signed()).context("a pid")?;
            kill_process(pid, signal)?;
        }
        process.wait()?;
        Ok(())
    }
}

impl Drop for Postgres<'_> {
    fn drop(&mut self) {
        let _ = self.stop(Signal::QUIT);
    }
}

fn plan_of_postgres(hugetlb: &Hugetlb<'_>, server: &Postgres<'_>) -> anyhow::Result<u64> {
    let directory = server.data.to_str().context("a plain path")?;
    let plan = hugetlb.plan(&format!("--leave 64M --postgres {directory}"))?;
    let pool = pool_of(&plan)?;
    let (planned, own) = (number(pool, "/target_pages")?, server.pages()?);
    ensure!(planned == own && planned > 32, "{planned} planned, it says {own}: {plan}");
    ensure!(pool["demands"][0]["users"][0] == "nobody", "{plan}");
    Ok(planned)
}

/// The row of a check, by the begin of its name.
fn row<'v>(told: &'v Value, what: &str) -> anyhow::Result<&'v Value> {
    let rows = told["result"]["checks"].as_array().context("checks")?;
    let named = |row: &&Value| row["what"].as_str().is_some_and(|name| name.contains(what));
    rows.iter().find(named).with_context(|| format!("no row '{what}' in {told}"))
}

fn postgres_starts_with_its_pages(_: &Turn) -> anyhow::Result<()> {
    postgres_programs()?;
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 1024)?;
    let mut server = Postgres::new(&scratch)?;
    let planned = plan_of_postgres(&hugetlb, &server)?;
    let directory = server.data.display().to_string();
    hugetlb.run(&format!("apply --leave 64M --postgres {directory}"))?.expect(0)?;
    ensure!(Pool::now()?.total == planned, "{:?}", Pool::now()?);
    server.start("on")?;
    let told = hugetlb.run("verify --json")?.expect(0)?.json()?;
    ensure!(row(&told, "PostgreSQL")?["actual"] == format!("{planned} huge"), "{told}");
    let held = row(&told, "held")?["actual"].as_str().unwrap_or_default().to_owned();
    ensure!(held.starts_with(&format!("{planned} ")), "{told}");
    // Its answer needs the directory to itself.
    let said = hugetlb.run(&format!("plan --postgres {directory}"))?.expect(1)?;
    ensure!(said.err.contains("the server is running"), "{said:?}");
    // What it holds and what was promised to it stays.
    let said = hugetlb.run("revert")?.expect(5)?;
    ensure!(said.out.contains("in use or reserved"), "{said:?}");
    ensure!(Pool::now()?.total == planned, "{:?}", Pool::now()?);
    Said::of(&query(&server).output().context("cannot run psql")?).expect(0)?;
    server.stop(Signal::INT)?;
    hugetlb.revert()
}

/// A query that touches most of the buffers.
fn query(server: &Postgres<'_>) -> Command {
    let mut command = Command::new(server.programs.join("psql"));
    let query = "create table t as select repeat('x', 1000) || n as v from \
        generate_series(1, 40000) n; select sum(length(v)) from t";
    command.arg("-h").arg(&server.data).args(["-U", "trial", "-d", "postgres", "-qtAc", query]);
    command
}

fn postgres_one_page_short(_: &Turn) -> anyhow::Result<()> {
    postgres_programs()?;
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 1024)?;
    let mut server = Postgres::new(&scratch)?;
    let planned = plan_of_postgres(&hugetlb, &server)?;
    let directory = server.data.display().to_string();
    hugetlb.run(&format!("apply --leave 64M --postgres {directory}"))?.expect(0)?;
    Pool::write(planned - 1)?;
    let told = hugetlb.run("verify")?.expect(3)?;
    let says = ["1 short", "PostgreSQL", "on: does not start"];
    ensure!(says.iter().all(|text| told.out.contains(text)), "{told:?}");
    let error = server.start("on").err().context("it started with one page too few")?;
    let error = format!("{error:#}");
    ensure!(error.contains("could not map anonymous shared memory"), "{error}");
    // With `try` it starts, and sits on base pages without a word.
    server.start("try")?;
    let told = hugetlb.run("verify")?.expect(3)?;
    ensure!(told.out.contains("on base pages"), "{told:?}");
    server.stop(Signal::INT)?;
    let told = hugetlb.run(&format!("apply --leave 64M --postgres {directory}"))?.expect(0)?;
    ensure!(told.out.contains(&format!("{} -> {planned} pages", planned - 1)), "{told:?}");
    server.start("on")?;
    hugetlb.run("verify")?.expect(0)?;
    server.stop(Signal::INT)?;
    // What somebody had set in between is the old value now.
    let said = hugetlb.run("revert")?.expect(0)?;
    ensure!(said.out.contains(&format!("-> '{}'", planned - 1)), "{said:?}");
    ensure!(Pool::now()?.total == planned - 1, "{:?}", Pool::now()?);
    Pool::write(0)
}

fn postgres_on_base_pages_is_found(_: &Turn) -> anyhow::Result<()> {
    postgres_programs()?;
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 1024)?;
    let mut server = Postgres::new(&scratch)?;
    let own = server.pages()?;
    let pid = server.start("off")?;
    for args in [format!("--leave 64M --pid {pid}"), "--leave 64M".to_owned()] {
        let plan = hugetlb.plan(&args)?;
        let demands = pool_of(&plan)?["demands"].as_array().context("demands")?.clone();
        let its = |demand: &&Value| {
            demand["pids"].as_array().is_some_and(|pids| pids.iter().any(|other| *other == pid))
        };
        let its: Vec<&Value> = demands.iter().filter(its).collect();
        ensure!(its.len() == 1 && its[0]["pages"] == own, "{own} pages: {plan}");
        ensure!(its[0]["product"] == "postgre_sql" && its[0]["origin"] == "small", "{plan}");
    }
    let said = hugetlb.run(&format!("apply --leave 64M --pid {pid}"))?.expect(0)?;
    ensure!(said.out.contains(&format!("0 -> {own} pages")), "{said:?}");
    hugetlb.run("verify")?.expect(3)?;
    server.stop(Signal::INT)?;
    server.start("on")?;
    let told = hugetlb.run("verify")?.expect(0)?;
    ensure!(told.out.contains("times smaller") || told.out.contains("by process"), "{told:?}");
    server.stop(Signal::INT)?;
    hugetlb.revert()
}

/// A JVM that waits for a password, as `keytool` does.
struct Java {
    process: Child,
    errors: PathBuf,
}

impl Java {
    fn start(scratch: &Scratch, flags: &str) -> anyhow::Result<Self> {
        let errors = scratch.join("java.errors");
        let mut command = java();
        command.arg("-XX:+UseLargePages").args(flags.split_whitespace());
        command.args(["-m", "java.base/sun.security.tools.keytool.Main", "-genkeypair"]);
        command.args(["-keyalg", "RSA", "-dname", "CN=trial", "-alias", "trial", "-keystore"]);
        command.arg(scratch.join("none")).stdin(Stdio::piped());
        command.stdout(File::create(scratch.join("java.out"))?).stderr(File::create(&errors)?);
        let process = command.spawn().context("cannot start java")?;
        let mut java = Self { process, errors };
        wait_for("java", || {
            ensure!(java.process.try_wait()?.is_none(), "java ended: {}", java.said()?);
            Ok(java.said()?.contains("password"))
        })?;
        Ok(java)
    }

    /// Its standard error.
    fn said(&self) -> anyhow::Result<String> {
        Ok(fs::read_to_string(&self.errors)?)
    }
}

impl Drop for Java {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Without flags from elsewhere.
fn java() -> Command {
    let mut command = Command::new("java");
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C");
    command
}

/// The formulas were measured with one version.
fn needs_java() -> anyhow::Result<()> {
    let said = match java().arg("-version").output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(skip("no java: install Debian's package openjdk-17-jre-headless"));
        }
        other => Said::of(&other.context("cannot run java")?),
    };
    if said.err.contains(" version \"17.") {
        return Ok(());
    }
    let found = said.err.lines().next().unwrap_or_default().to_owned();
    Err(skip(format!("the number of pages is known of OpenJDK 17, here is {found}")))
}

/// Collectors of two kinds, and the pages that OpenJDK 17 takes.
const HEAPS: [(&str, u64); 2] =
    [("-Xmx256m -XX:+UseSerialGC", 248), ("-Xmx256m -XX:+UseG1GC", 252)];

fn java_holds_exactly_its_pages(_: &Turn) -> anyhow::Result<()> {
    needs_java()?;
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 2048)?;
    for (flags, pages) in HEAPS {
        hugetlb.run_with("apply --leave 64M --java", flags)?.expect(0)?;
        ensure!(Pool::now()?.total == pages, "{flags}: {:?}", Pool::now()?);
        let java = Java::start(&scratch, flags)?;
        let said = java.said()?;
        ensure!(!said.contains("warning"), "{flags}: {said}");
        let told = hugetlb.run("verify --json")?.expect(0)?.json()?;
        ensure!(row(&told, "Java")?["actual"] == format!("{pages} huge"), "{told}");
        // It is found by its flags, too.
        let plan = hugetlb.plan(&format!("--pid {}", java.process.id()))?;
        let demand = &pool_of(&plan)?["demands"][0];
        ensure!(demand["pages"] == pages && demand["held_pages"] == pages, "{plan}");
        drop(java);
        hugetlb.revert()?;
    }
    Ok(())
}

fn java_one_page_short_is_seen(_: &Turn) -> anyhow::Result<()> {
    needs_java()?;
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 2048)?;
    for (flags, pages) in HEAPS {
        hugetlb.run_with("apply --leave 64M --java", flags)?.expect(0)?;
        Pool::write(pages - 1)?;
        let java = Java::start(&scratch, flags)?;
        let said = java.said()?;
        ensure!(said.contains("Failed to reserve and commit memory"), "{flags}: {said}");
        let told = hugetlb.run("verify")?.expect(3)?;
        ensure!(told.out.contains("only a part of it is on huge pages"), "{flags}: {told:?}");
        drop(java);
        // The size that somebody else wrote is left to them.
        let said = hugetlb.run("revert")?.expect(0)?;
        ensure!(Pool::now()?.total == pages - 1 && said.out.contains("left alone"), "{said:?}");
        Pool::write(0)?;
    }
    Ok(())
}
