//! A PostgreSQL server of one run.
//!
//! It refuses to run as root, and `initdb` wants a user that has a name: so it becomes `nobody`
//! then, with the group of the experiment alone. Other processes of `nobody` are not in that group:
//! they cannot get to its files, trace it or read its memory.

use crate::driver::common;
use crate::program::{KillGroup, Program};
use crate::program_output::{end, last_lines};
use crate::programs;
use crate::run::Run;
use crate::stranger::{self, Runner};
use anyhow::{Context, bail};
use hugewise_base::parse::passwd;
use hugewise_experiment::kinds::Postgres;
use hugewise_linux::nobody::Nobody;
use hugewise_linux::root::Root;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Its user with all rights, within the database.
pub(super) const USER: &str = "hugewise";
/// The database that is there from the start.
pub(super) const DATABASE: &str = "postgres";
/// The user that root becomes.
const NOBODY: &str = "nobody";
/// A server that is not ready by then never will be.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end.
const END: Duration = Duration::from_secs(20);

/// The server with its directories; ended when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    // Dropped in this order: the server is asked first, then what it left is ended.
    program: Ending,
    _kill_left: KillGroup,
    runner: Runner,
    programs: PathBuf,
    data: PathBuf,
    logs: PathBuf,
    log: PathBuf,
}

impl Server {
    /// Makes its directory and starts it.
    pub(super) fn start(params: &Postgres, run: &Run<'_>) -> anyhow::Result<Self> {
        let initdb = programs::find("initdb").context("no initdb")?.canonicalize()?;
        let programs = initdb.parent().context("a directory of programs")?.to_owned();
        let user = run.user().map(nobody).transpose()?;
        let runner = Runner::Stranger(user);
        let (data, logs) = (run.place("data", user)?, run.place("logs", user)?);
        let log = run.directory().join("postgres.log");
        let mut make = run.tool_as(runner, &initdb.to_string_lossy())?;
        make.arg("-D").arg(&data).args(["--no-sync", "--auth=trust", "--locale=C"]);
        make.arg(format!("--username={USER}")).env("LC_ALL", "C").current_dir("/");
        make.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
        let status = common::finish(run, &mut Program::start(&mut make)?)?;
        if !status.success() {
            bail!("initdb ended with {status}: {}", said(&log));
        }
        let postgres = programs.join("postgres");
        let mut command = run.command_as(runner, &postgres.to_string_lossy())?;
        settings(params, &mut command, &data);
        command.env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
        command.stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?);
        common::advise(run, &mut command);
        let kill_left = run.kill_left();
        let program = Ending(Program::start(&mut command)?);
        let mut server = Self { program, _kill_left: kill_left, runner, programs, data, logs, log };
        server.wait(run)?;
        Ok(server)
    }

    /// Until it takes connections.
    fn wait(&mut self, run: &Run<'_>) -> anyhow::Result<()> {
        let status = self.data.join("postmaster.pid");
        let until = Instant::now() + START;
        let ready = |text: Vec<u8>| String::from_utf8_lossy(&text).contains("\nready");
        while !stranger::read(&status).is_ok_and(ready) {
            self.check()?;
            if Instant::now() >= until {
                bail!("PostgreSQL is not ready after {} s: {}", START.as_secs(), said(&self.log));
            }
            run.sleep(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// An error when it has ended by itself.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        let checked = self.program.0.check("PostgreSQL");
        checked.with_context(|| said(&self.log))
    }

    /// Its first process.
    pub(super) fn pid(&self) -> u32 {
        self.program.0.pid()
    }

    /// Who runs it, and its clients.
    pub(super) fn runner(&self) -> Runner {
        self.runner
    }

    /// Its directory, where its socket is as well.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// Where its clients log.
    pub(super) fn logs(&self) -> &Path {
        &self.logs
    }

    /// Where a program of the same version is, or else of any.
    pub(super) fn program_path(&self, name: &str) -> String {
        let own = self.programs.join(name);
        let path =
            if own.is_file() { own } else { programs::find(name).unwrap_or_else(|| name.into()) };
        path.to_string_lossy().into_owned()
    }

    /// How many processes it has while nobody is connected.
    pub(super) fn alone(&self, run: &Run<'_>) -> anyhow::Result<usize> {
        // Who has just left takes a moment.
        run.sleep(Duration::from_millis(500))?;
        Ok(run.pids(self.pid()).len())
    }

    /// Waits until it has no more processes than that: what the others used then counts to it.
    pub(super) fn until_alone(
        &self,
        run: &Run<'_>,
        processes: usize,
        limit: Duration,
    ) -> anyhow::Result<()> {
        let until = Instant::now() + limit;
        while run.pids(self.pid()).len() > processes && Instant::now() < until {
            run.sleep(Duration::from_millis(20))?;
        }
        Ok(())
    }

    /// Ends it, as an operator does.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        self.program.0.end(END)
    }
}

/// A server that gets the signal to end at once when it is dropped: killed, it would leave its
/// interlock in shared memory behind.
#[derive(Debug)]
struct Ending(Program);

impl Drop for Ending {
    fn drop(&mut self) {
        let until = Instant::now() + END;
        let pid = i32::try_from(self.0.pid()).ok().and_then(Pid::from_raw);
        if let (Some(pid), Ok(None)) = (pid, self.0.0.try_wait()) {
            let _ = kill_process(pid, Signal::QUIT);
            while matches!(self.0.0.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// The user of PostgreSQL, for an experiment whose own user is this one.
fn nobody(own: Nobody) -> anyhow::Result<Nobody> {
    let text = Root::live().read("etc/passwd").context("no /etc/passwd")?;
    let users = passwd::parse(&text).value;
    let found = users.iter().find(|(_, user)| user.name == NOBODY);
    let (uid, _) = found.context("PostgreSQL does not run as root, and there is no nobody")?;
    Ok(Nobody { uid: *uid, gid: own.gid })
}

fn settings(params: &Postgres, command: &mut Command, data: &Path) {
    let (clients, mib) = (params.clients, params.shared_buffers_mib);
    command.arg("-D").arg(data);
    let own = [
        "listen_addresses=".to_owned(),
        format!("unix_socket_directories={}", data.display()),
        format!("shared_buffers={mib}MB"),
        format!("huge_pages={}", params.hugetlb.key()),
        format!("max_connections={}", clients.saturating_add(10)),
        // The disk is not what is measured.
        "fsync=off".into(),
        "synchronous_commit=off".into(),
        "full_page_writes=off".into(),
        "max_wal_size=4GB".into(),
        "autovacuum=off".into(),
        // In files of its directory, which goes away even when everything is killed.
        "dynamic_shared_memory_type=mmap".into(),
    ];
    for setting in own {
        command.arg("-c").arg(setting);
    }
}

/// The last lines of a file, in a line.
pub(super) fn said(path: &Path) -> String {
    last_lines(&end(path), 4)
}
