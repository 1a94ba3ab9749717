//! Asks a stopped PostgreSQL server how many HugeTLB pages its shared memory takes
//! (`postgres -C shared_memory_size_in_huge_pages`, version 15 and later).
//!
//! The server's own program answers, as the user whom its data directory belongs to and in that
//! user's groups, never as root, and in a session of its own. The directory is the user's: its
//! files are read with care, as they may be links to something, or no files at all. A running
//! server refuses: its segment is seen in `/proc` then.

use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::input::PostgresAnswer;
use hugewise_linux::account;
use hugewise_linux::root::Root;
use hugewise_sys::session::{self, Identity};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the answer may take: it is computed from the configuration alone.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Most bytes of an answer or a complaint, and of `postmaster.opts`.
const BYTES_MAX: u64 = 4096;
/// Most bytes of `PG_VERSION`: one short number.
const VERSION_BYTES_MAX: u64 = 64;
/// Names of the server's program; `postmaster` is the older one.
const NAMES: [&str; 2] = ["postgres", "postmaster"];
/// Where distributions put the program of a major version.
const PLACES: [&str; 2] = ["/usr/lib/postgresql/{}/bin/postgres", "/usr/pgsql-{}/bin/postgres"];

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// No data directory.
    #[error("'{0}' is no PostgreSQL data directory: it has no readable file PG_VERSION ({1})")]
    NoDirectory(String, io::Error),
    /// Too old.
    #[error(
        "PostgreSQL {0} cannot say how many huge pages it needs (15 and later can): start it \
         with huge_pages=off and plan from what runs"
    )]
    TooOld(String),
    /// No program.
    #[error("the program 'postgres' of version {0} was not found")]
    NoProgram(String),
    /// It belongs to somebody else, or to root.
    #[error("the data directory belongs to user {0}: run this as root, or as that user")]
    NotOwner(u32),
    /// Root is to ask as somebody whose group is not known, or is root's.
    #[error(
        "the data directory belongs to user {0}, who is not in /etc/passwd or has root's group: \
         run this as that user"
    )]
    NoGroup(u32),
    /// The program is no program of the system's.
    #[error("'{0}' is not run: it and its directory must belong to root alone")]
    NotTrusted(String),
    /// It could not be run.
    #[error("cannot run '{0}': {1}")]
    Run(String, io::Error),
    /// It runs.
    #[error(
        "the server is running: stop it and ask again, or plan from what runs (without --postgres)"
    )]
    Running,
    /// It did not answer.
    #[error("'{program}' said no number: {message}")]
    Refused {
        /// The program.
        program: String,
        /// What it said instead.
        message: String,
    },
}

/// Asks the server of `directory`.
///
/// # Errors
/// See [`PostgresError`].
pub fn ask(directory: &Path, user: Option<String>) -> Result<PostgresAnswer, PostgresError> {
    let name = directory.display().to_string();
    let no_directory = |error| PostgresError::NoDirectory(name.clone(), error);
    let directory = directory.canonicalize().map_err(no_directory)?;
    let folder = open_directory(&directory).map_err(no_directory)?;
    let version = version(&folder).map_err(no_directory)?;
    let major: u32 = version.split('.').next().and_then(|v| v.parse().ok()).unwrap_or(0);
    if major < 15 {
        return Err(PostgresError::TooOld(version));
    }
    let uid = folder.metadata().map_err(no_directory)?.uid();
    let own = rustix::process::geteuid().as_raw();
    if uid == 0 || (own != 0 && own != uid) {
        return Err(PostgresError::NotOwner(uid));
    }
    let identity = if own == 0 { Some(identity(&Root::live(), uid)?) } else { None };
    let options = options(&folder);
    let program = program(options.first(), &version)?;
    let server = Server { directory, options, program, identity };
    let pages = server.number("shared_memory_size_in_huge_pages")?;
    let pages = u64::try_from(pages).map_err(|_| PostgresError::Refused {
        program: server.program.display().to_string(),
        message: "huge pages are not supported here (-1)".into(),
    })?;
    // In kB; 0 is the machine's default.
    let page = server.number("huge_page_size")?;
    let page = u64::try_from(page).ok().filter(|kb| *kb > 0).map(Bytes::kib);
    let connections = u64::try_from(server.number("max_connections")?).ok();
    Ok(PostgresAnswer { directory: name, pages, page, connections, user })
}

#[derive(Debug)]
struct Server {
    directory: PathBuf,
    /// Its last command line: the program and its arguments.
    options: Vec<String>,
    program: PathBuf,
    identity: Option<Identity>,
}

impl Server {
    fn number(&self, parameter: &str) -> Result<i64, PostgresError> {
        let failed = |error| PostgresError::Run(self.program.display().to_string(), error);
        let mut command = Command::new(&self.program);
        command.arg("-D").arg(&self.directory).args(self.options.get(1..).unwrap_or_default());
        if let Some(config) = self.config() {
            command.arg("-c").arg(format!("config_file={}", config.display()));
        }
        command.args(["-C", parameter]).env_clear().env("LC_ALL", "C");
        command.current_dir("/").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let command = match &self.identity {
            Some(identity) => session::as_user(&mut command, identity),
            None => session::own(&mut command),
        };
        let (says, complains) = answer(command, TIME_MAX).map_err(failed)?;
        says.trim().parse().map_err(|_| self.refused(&complains))
    }

    fn refused(&self, complains: &str) -> PostgresError {
        if complains.contains("postmaster.pid") {
            return PostgresError::Running;
        }
        let program = self.program.display().to_string();
        let message = complains.lines().next().unwrap_or("it said nothing").trim().to_owned();
        PostgresError::Refused { program, message }
    }

    /// Debian keeps the configuration of `/var/lib/postgresql/V/NAME` in `/etc/postgresql/V/NAME`.
    fn config(&self) -> Option<PathBuf> {
        let given = self.options.iter().any(|option| option.contains("config_file"));
        if given || self.directory.join("postgresql.conf").exists() {
            return None;
        }
        let below = self.directory.strip_prefix("/var/lib/postgresql").ok()?;
        let file = Path::new("/etc/postgresql").join(below).join("postgresql.conf");
        file.exists().then_some(file)
    }
}

/// Runs a program to its end: what it printed, and what it complained about. Whatever it started
/// ends with it, and what was not printed by then is not waited for.
fn answer(command: &mut Command, time_max: Duration) -> io::Result<(String, String)> {
    let mut child = command.spawn()?;
    let ended = wait(&child, Instant::now() + time_max);
    // It is not reaped yet, so that no other group can have this number.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    child.wait()?;
    if !ended? {
        return Err(io::Error::other(format!("no answer in {time_max:?}")));
    }
    Ok((text(child.stdout.take())?, text(child.stderr.take())?))
}

/// Whether the program ended in time. It stays to be reaped.
fn wait(child: &Child, until: Instant) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_none() {
        if Instant::now() > until {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(true)
}

/// What is in a pipe now, without waiting for others that have its other end open.
fn text(from: Option<impl Read + AsFd>) -> io::Result<String> {
    let Some(from) = from else { return Ok(String::new()) };
    rustix::fs::fcntl_setfl(&from, OFlags::NONBLOCK)?;
    let mut bytes = Vec::new();
    match from.take(BYTES_MAX).read_to_end(&mut bytes) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Reads a short plain file of a directory, which must belong to the directory's owner. No link
/// is followed: it may lead to what only root may read.
fn read_plain(folder: &File, name: &str, bytes_max: u64) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() || meta.uid() != folder.metadata()?.uid() || meta.len() > bytes_max {
        return Err(io::Error::other("no short plain file of the directory's owner"));
    }
    let mut text = String::new();
    file.take(bytes_max).read_to_string(&mut text)?;
    Ok(text)
}

/// `PG_VERSION`: digits and dots. Anything else is not shown to anybody.
fn version(folder: &File) -> io::Result<String> {
    let text = read_plain(folder, "PG_VERSION", VERSION_BYTES_MAX)?;
    let version = text.trim();
    if version.is_empty() || !version.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(io::Error::other("it holds no version number"));
    }
    Ok(version.to_owned())
}

/// The user with its groups, of which none is root's.
fn identity(root: &Root, uid: u32) -> Result<Identity, PostgresError> {
    let user = account::users(root).remove(&uid).ok_or(PostgresError::NoGroup(uid))?;
    let gid = user.gid.filter(|gid| *gid != 0).ok_or(PostgresError::NoGroup(uid))?;
    Ok(Identity { uid, gid, groups: account::supplementary_groups(root, &user) })
}

/// `postmaster.opts`: the last command line, each argument in quotes.
fn options(folder: &File) -> Vec<String> {
    let line = read_plain(folder, "postmaster.opts", BYTES_MAX).unwrap_or_default();
    let (program, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let quoted = rest.split('"').skip(1).step_by(2).map(str::to_owned);
    // The directory comes from the command line.
    let mut all = vec![program.to_owned()];
    let mut skip = false;
    for option in quoted {
        if std::mem::take(&mut skip) {
            continue;
        }
        skip = option == "-D";
        if !skip && !option.starts_with("-D") {
            all.push(option);
        }
    }
    all
}

/// The server's program: the one that ran last, else that of the version.
fn program(last: Option<&String>, version: &str) -> Result<PathBuf, PostgresError> {
    let last = last.filter(|path| path.starts_with('/')).map(PathBuf::from);
    let usual = PLACES.iter().map(|place| PathBuf::from(place.replace("{}", version)));
    let plain = ["/usr/bin/postgres", "/usr/local/bin/postgres"].map(PathBuf::from);
    let all = last.into_iter().chain(usual).chain(plain);
    // What a link leads to counts: the last command line is the user's to write.
    let is_server = |path: &PathBuf| {
        path.file_name().is_some_and(|name| NAMES.iter().any(|known| name == *known))
    };
    let mut found = all.filter_map(|path| path.canonicalize().ok());
    let path = found.find(is_server).ok_or_else(|| PostgresError::NoProgram(version.to_owned()))?;
    let of_root = |path: &Path| {
        fs::metadata(path).is_ok_and(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0)
    };
    if of_root(&path) && path.parent().is_some_and(of_root) {
        return Ok(path);
    }
    Err(PostgresError::NotTrusted(path.display().to_string()))
}

#[cfg(test)]
#[path = "postgres_tests.rs"]
mod tests;
