//! Runs Gatling in a directory of its own, and reads its log.

use super::foreign::Foreign;
use super::progress::Beat;
use crate::program_output;
use crate::stranger::{self, Runner};
use anyhow::{Context, anyhow, bail};
use hugewise_experiment::load::gatling::{self, ARGS, LOG, PROGRAM, RESULTS};
use hugewise_experiment::load::{LoadResult, LoadSpec};
use hugewise_linux::nobody::Nobody;
use hugewise_linux::private::PrivateDir;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much longer than its steps it may run: two JVMs start, one compiles, and at its very first
/// run Maven fetches Gatling (a minute here).
const GRACE: Duration = Duration::from_secs(300);
/// Where Maven keeps its files, below a home.
const MAVEN: &str = ".m2";

pub(super) fn run(
    spec: &LoadSpec,
    user: Option<Nobody>,
    beat: &mut Beat<'_>,
) -> anyhow::Result<LoadResult> {
    let project = gatling::project(spec)?;
    let (_, profile) = spec.check()?;
    let place = WorkDir::new(&project, user)?;
    let time = profile.time();
    let longest = Duration::from_nanos(time.0) + Duration::from_millis(spec.timeout_ms) + GRACE;
    let status = start(&place, user)?.attend(time, longest, beat)?;
    let said = program_output::end(&place.output());
    if !status.success() {
        bail!("Gatling ended with {status}: {}", cause(&said));
    }
    let log = log(&place.project()).with_context(|| format!("Gatling said: {}", cause(&said)))?;
    Ok(gatling::read(spec, &profile, &log)?)
}

/// The lines of the output that say what went wrong: Maven's first errors, else its last lines.
fn cause(said: &str) -> String {
    let errors = said.lines().filter(|line| line.starts_with("[ERROR]"));
    let mut lines: Vec<&str> = errors.take(3).collect();
    if lines.is_empty() {
        lines = said.lines().filter(|line| !line.trim().is_empty()).collect();
        lines.drain(..lines.len().saturating_sub(3));
    }
    lines.join(" | ")
}

/// A directory of this run alone, gone with it: the project, which is only read, and what Maven and
/// Gatling write.
struct WorkDir(PrivateDir);

impl WorkDir {
    fn new(project: &[(&str, String)], user: Option<Nobody>) -> anyhow::Result<Self> {
        let place = Self(PrivateDir::new("hugewise-load-").context("no directory for Gatling")?);
        let folder = place.project();
        std::fs::create_dir(&folder)?;
        for (name, content) in project {
            let path = folder.join(name);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&path, content).with_context(|| format!("cannot write {name}"))?;
        }
        let written = RESULTS.split('/').next().context("a directory of results")?;
        stranger::place(&folder, written, user)?;
        if let Some(user) = user {
            let home = place.home();
            std::fs::create_dir(&home)?;
            // Nobody passes through yet: what is copied belongs to its reader before it can.
            kept(&home, user).context("copying what Maven has fetched before")?;
            everybody_reads(&folder)?;
            place.0.open_to(user.gid)?;
        }
        Ok(place)
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// Where Maven keeps what it fetches, when it runs as another user.
    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn output(&self) -> PathBuf {
        self.0.path().join("output.txt")
    }
}

/// Copies what Maven has of this user: another one cannot read it, and is not to write there.
fn kept(home: &Path, user: Nobody) -> anyhow::Result<()> {
    let from = std::env::var_os("HOME").map(|home| Path::new(&home).join(MAVEN));
    let to = home.join(MAVEN);
    std::fs::create_dir(&to)?;
    for name in ["repository", "settings.xml"] {
        if let Some(from) = from.as_ref().map(|from| from.join(name)).filter(|from| from.exists()) {
            copy(&from, &to.join(name), user)?;
        }
    }
    for path in [to.as_path(), home] {
        lchown(path, Some(user.uid), Some(user.gid))?;
    }
    Ok(())
}

/// Copies files and directories for a user. Links are left out.
fn copy(from: &Path, to: &Path, user: Nobody) -> std::io::Result<()> {
    let meta = std::fs::symlink_metadata(from)?;
    if meta.is_dir() {
        std::fs::create_dir(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()), user)?;
        }
    } else if meta.is_file() {
        std::fs::copy(from, to)?;
    } else {
        return Ok(());
    }
    lchown(to, Some(user.uid), Some(user.gid))
}

/// Whatever the umask has taken: who enters the directory above may read the project.
fn everybody_reads(path: &Path) -> std::io::Result<()> {
    let meta = std::fs::symlink_metadata(path)?;
    let own = meta.uid() == rustix::process::geteuid().as_raw();
    if own && meta.is_dir() {
        std::fs::set_permissions(path, Permissions::from_mode(0o755))?;
        for entry in std::fs::read_dir(path)? {
            everybody_reads(&entry?.path())?;
        }
    } else if own && meta.is_file() {
        std::fs::set_permissions(path, Permissions::from_mode(0o644))?;
    }
    Ok(())
}

fn start(place: &WorkDir, user: Option<Nobody>) -> anyhow::Result<Foreign> {
    let runner = Runner::Stranger(user);
    let missing = || {
        anyhow!(
            "{PROGRAM} is not installed, which 'tool = \"gatling\"' needs: install Maven and a \
             JDK, or use 'tool = \"own\"'"
        )
    };
    let program = runner.find(PROGRAM).ok_or_else(missing)?;
    let (home, named) = (place.home(), ("Gatling", program.as_path()));
    Foreign::start(named, runner, &home, &place.output(), |command| {
        if user.is_some() {
            // A JVM asks for the home of an account, and this user has none.
            command.env("MAVEN_OPTS", format!("-Duser.home={}", home.display()));
        }
        command.args(ARGS).current_dir(place.project());
    })
}

fn log(directory: &Path) -> anyhow::Result<Vec<u8>> {
    let runs = std::fs::read_dir(directory.join(RESULTS));
    let mut logs = runs.into_iter().flatten().flatten().map(|run| run.path().join(LOG));
    let log = logs.find(|log| log.is_file()).with_context(|| format!("it left no {LOG}"))?;
    stranger::read(&log)
}
