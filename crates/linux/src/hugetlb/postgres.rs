//! Asks a stopped PostgreSQL server how many HugeTLB pages its shared memory takes
//! (`postgres -C shared_memory_size_in_huge_pages`, version 15 and later).
//!
//! The server's own program answers, as the user whom its data directory belongs to, and never as
//! root. A running server refuses: its segment is seen in `/proc` then.

use hugewise_core::hugetlb::input::PostgresAnswer;
use hugewise_core::units::Bytes;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the answer may take: it is computed from the configuration alone.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Most bytes of an answer or a complaint.
const BYTES_MAX: u64 = 4096;
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
    let version = fs::read_to_string(directory.join("PG_VERSION")).map_err(no_directory)?;
    let version = version.trim().to_owned();
    let major: u32 = version.split('.').next().and_then(|v| v.parse().ok()).unwrap_or(0);
    if major < 15 {
        return Err(PostgresError::TooOld(version));
    }
    let meta = fs::metadata(&directory).map_err(no_directory)?;
    let (uid, gid) = (meta.uid(), meta.gid());
    let own = rustix::process::geteuid().as_raw();
    if uid == 0 || (own != 0 && own != uid) {
        return Err(PostgresError::NotOwner(uid));
    }
    let options = options(&directory);
    let program = program(options.first(), &version)?;
    let server = Server { directory, options, program, identity: (own == 0).then_some((uid, gid)) };
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
    identity: Option<(u32, u32)>,
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
        if let Some((uid, gid)) = self.identity {
            // Supplementary groups are dropped with it.
            command.uid(uid).gid(gid);
        }
        let mut child = command.spawn().map_err(failed)?;
        let until = Instant::now() + TIME_MAX;
        while child.try_wait().map_err(failed)?.is_none() {
            if Instant::now() > until {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(io::Error::other(format!("no answer in {TIME_MAX:?}"))));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let says = text(child.stdout.take());
        let complains = text(child.stderr.take());
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

fn text(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // What was not printed by now is not waited for.
        let _ = from.take(BYTES_MAX).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `postmaster.opts`: the last command line, each argument in quotes.
fn options(directory: &Path) -> Vec<String> {
    let line = fs::read_to_string(directory.join("postmaster.opts")).unwrap_or_default();
    let (program, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let quoted = rest.split('"').skip(1).step_by(2).map(str::to_owned);
    // The directory is given by whoever asks.
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
    let found = all.into_iter().find_map(|path| path.canonicalize().ok());
    let path = found.ok_or_else(|| PostgresError::NoProgram(version.to_owned()))?;
    let of_root = |path: &Path| {
        fs::metadata(path).is_ok_and(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0)
    };
    if of_root(&path) && path.parent().is_some_and(of_root) {
        return Ok(path);
    }
    Err(PostgresError::NotTrusted(path.display().to_string()))
}
