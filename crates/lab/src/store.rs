//! An experiment's directory: the plan, and a file for each run, written before the next begins.
//!
//! Root believes what stands there, for it says what root runs, and writes there: so nobody else
//! may be able to change it. Everything is reached through the opened directory, so that nobody can
//! put another in its place after it was looked at.

use anyhow::{Context, bail};
use hugewise_base::exit::{self, Coded};
use hugewise_base::format::Format;
use hugewise_experiment::record::{Record, RunPlan, SCHEMA};
use hugewise_experiment::suite::{self, SuitePlan};
use hugewise_linux::save::{self, SaveError};
use hugewise_linux::trust;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const PLAN: &str = "plan.json";
const SUITE: &str = "suite.json";
const RUNS: &str = "runs";
/// What a file is called until it is whole.
const NEW: &str = "new";
/// A larger file was not written by hugewise.
const MAX_BYTES: u64 = 256 << 20;
/// Mode of directories: nobody else writes, whatever the umask says.
const DIRECTORY: u32 = 0o755;

/// The directory of an experiment's results.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// Whether what is read decides what is run.
    believes: bool,
}

impl Store {
    /// The directory of an experiment to run, there or not.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.into(), believes: true }
    }

    /// The same, made where it is missing.
    ///
    /// # Errors
    /// When it cannot be made, or root must not believe it.
    pub fn create(directory: &Path) -> anyhow::Result<Self> {
        let store = Self::create_plain(directory)?;
        store.folder_for(RUNS)?;
        Ok(store)
    }

    /// The same, of several experiments: each has its own below.
    ///
    /// # Errors
    /// As above.
    pub fn create_plain(directory: &Path) -> anyhow::Result<Self> {
        save::guarded_directory(directory, Some(DIRECTORY)).map_err(not_opened)?;
        Ok(Self::at(directory))
    }

    /// A directory that must be there already, only to be read: whatever user owns it.
    pub fn existing(directory: &Path) -> anyhow::Result<Self> {
        if ![PLAN, SUITE].iter().any(|plan| directory.join(plan).is_file()) {
            bail!(
                "{} holds no experiment ('{PLAN}' is missing): name a directory that 'hugewise lab \
                 run' has written",
                directory.display()
            );
        }
        Ok(Self { directory: directory.into(), believes: false })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The plan; `None` where nothing has begun.
    pub fn plan(&self) -> anyhow::Result<Option<RunPlan>> {
        let format = Format { what: "the plan of an experiment", version: SCHEMA };
        self.planned(PLAN, format, |plan: &RunPlan| plan.schema)
    }

    /// The plan of a suite; `None` where nothing has begun.
    pub fn suite(&self) -> anyhow::Result<Option<SuitePlan>> {
        let format = Format { what: "the plan of a suite", version: suite::SCHEMA };
        self.planned(SUITE, format, |plan: &SuitePlan| plan.schema)
    }

    fn planned<T: DeserializeOwned>(
        &self,
        name: &str,
        format: Format,
        of: fn(&T) -> u32,
    ) -> anyhow::Result<Option<T>> {
        let path = self.directory.join(name);
        if !self.directory.exists() {
            return Ok(None);
        }
        let folder = self.folder()?;
        let Some(text) = self.read(&folder, name, &path)? else { return Ok(None) };
        let plan = parse(&path, &text)?;
        format.check(of(&plan)).with_context(|| path.display().to_string())?;
        Ok(Some(plan))
    }

    /// Writes the plan.
    pub fn begin(&self, plan: &RunPlan) -> anyhow::Result<()> {
        self.write("experiment.toml", plan.text.as_bytes())?;
        self.write(PLAN, &serde_json::to_vec_pretty(plan)?)
    }

    /// Writes the plan of a suite.
    pub fn begin_suite(&self, plan: &SuitePlan) -> anyhow::Result<()> {
        self.write("suite.toml", plan.text.as_bytes())?;
        self.write(SUITE, &serde_json::to_vec_pretty(plan)?)
    }

    /// All runs so far, in the order of time.
    pub fn records(&self) -> anyhow::Result<Vec<Record>> {
        let path = self.directory.join(RUNS);
        let folder = self.below(&self.folder()?, RUNS)?;
        let list = || -> std::io::Result<Vec<String>> {
            let entries = Dir::read_from(&folder)?;
            let name = |entry: rustix::io::Result<rustix::fs::DirEntry>| {
                Ok(entry?.file_name().to_string_lossy().into_owned())
            };
            entries.map(name).collect()
        };
        let mut names = list().with_context(|| format!("cannot list {}", path.display()))?;
        // What a crash left half written has another ending.
        names.retain(|name| name.ends_with(".json"));
        names.sort_unstable();
        let record = |name: &String| {
            let path = path.join(name);
            parse(&path, &self.read(&folder, name, &path)?.unwrap_or_default())
        };
        let all: anyhow::Result<Vec<Record>> = names.iter().map(record).collect();
        let mut all = all?;
        // No two runs begin in the same second; where the clock was unknown names decide.
        all.sort_by(|a, b| (&a.began, a.repetition).cmp(&(&b.began, b.repetition)));
        Ok(all)
    }

    /// Writes a run; it is on disk when this returns.
    pub fn add(&self, record: &Record) -> anyhow::Result<()> {
        let name = format!("{:04}-{}.json", record.repetition + 1, record.variant);
        self.write_below(RUNS, &name, &serde_json::to_vec(record)?)
    }

    /// Writes another file of the experiment, as a report.
    pub fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let folder = self.folder_to_write()?;
        put(&folder, name, bytes).with_context(|| self.cannot("write", Path::new(name)))
    }

    /// The same, in a directory below, which is made where it is missing.
    pub fn write_below(&self, below: &str, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let folder = self.folder_for(below)?;
        let path = Path::new(below).join(name);
        put(&folder, name, bytes).with_context(|| self.cannot("write", &path))
    }

    fn cannot(&self, what: &str, path: &Path) -> String {
        format!("cannot {what} {}", self.directory.join(path).display())
    }

    /// The directory, opened.
    fn folder(&self) -> anyhow::Result<File> {
        let opened = match self.believes {
            true => save::guarded_directory(&self.directory, None),
            false => save::directory(&self.directory),
        };
        let folder = opened.map_err(not_opened)?;
        self.check(self.believes, &folder, &self.directory)?;
        Ok(folder)
    }

    /// The same, and root would write there.
    fn folder_to_write(&self) -> anyhow::Result<File> {
        let folder = self.folder()?;
        self.check(true, &folder, &self.directory)?;
        Ok(folder)
    }

    /// A directory in it to write to.
    fn folder_for(&self, below: &str) -> anyhow::Result<File> {
        let folder = self.folder_to_write()?;
        match mkdirat(&folder, below, Mode::from_raw_mode(DIRECTORY)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => {
                let error = std::io::Error::from(errno);
                return Err(error).with_context(|| self.cannot("create", Path::new(below)));
            }
        }
        let inner = self.below(&folder, below)?;
        self.check(true, &inner, &self.directory.join(below))?;
        Ok(inner)
    }

    /// A directory in it, opened.
    fn below(&self, folder: &File, name: &str) -> anyhow::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inner = openat(folder, name, flags, Mode::empty());
        let inner = File::from(inner.with_context(|| self.cannot("open", Path::new(name)))?);
        self.check(self.believes, &inner, &self.directory.join(name))?;
        Ok(inner)
    }

    fn check(&self, applies: bool, file: &File, path: &Path) -> anyhow::Result<()> {
        let what = "the experiment's results:";
        if applies {
            trust::check(what, path, &file.metadata()?)?;
        }
        Ok(())
    }

    fn read(&self, folder: &File, name: &str, path: &Path) -> anyhow::Result<Option<String>> {
        let context = || format!("cannot read {}", path.display());
        // NONBLOCK: opening a FIFO must not hang.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(folder, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(std::io::Error::from(errno)).with_context(context),
        };
        let metadata = file.metadata().with_context(context)?;
        if !metadata.is_file() {
            bail!("{} is no file", path.display());
        }
        self.check(self.believes, &file, path)?;
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).with_context(context)?;
        if text.len() as u64 > MAX_BYTES {
            bail!("{} is larger than hugewise writes any", path.display());
        }
        Ok(Some(text))
    }
}

/// A directory that others decide about is refused.
fn not_opened(error: SaveError) -> anyhow::Error {
    match error.is_refusal() {
        true => Coded::new(exit::REFUSED, error.to_string()).into(),
        false => error.into(),
    }
}

/// Writes a file that is whole at any time; it is on disk when this returns.
fn put(folder: &File, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let new = Path::new(name).with_extension(NEW);
    // Left by a crash. Whatever else has this name is not written through.
    match unlinkat(folder, &new, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, &new, flags, Mode::from_raw_mode(0o644))?);
    file.write_all(bytes)?;
    file.sync_all()?;
    renameat(folder, &new, folder, name)?;
    // A new name is on disk only when its directory is.
    folder.sync_all()
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> anyhow::Result<T> {
    serde_json::from_str(text).with_context(|| {
        format!("{} is damaged: remove it to have that run made again", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::record::{Conditions, Measured, Outcome};
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn record(repetition: u32, variant: &str) -> Record {
        Record {
            schema: SCHEMA,
            repetition,
            variant: variant.into(),
            began: None,
            seconds: 1.0,
            outcome: Outcome::Done,
            measured: Measured::default(),
            conditions: Conditions::default(),
        }
    }

    #[test]
    fn what_is_written_is_read_again_and_half_a_file_is_none() -> anyhow::Result<()> {
        let scratch = Scratch::new();
        let store = Store::create(scratch.path())?;
        assert_eq!(store.plan()?, None);
        assert!(Store::existing(scratch.path()).is_err());
        store.add(&record(0, "never"))?;
        store.add(&record(0, "always"))?;
        fs::write(scratch.join("runs/0002-never.new"), "{")?;
        let names: Vec<_> = store.records()?.into_iter().map(|r| r.variant).collect();
        assert_eq!(names, ["always", "never"]);
        fs::write(scratch.join("runs/0002-never.json"), "{")?;
        let error = store.records().expect_err("damaged").to_string();
        assert!(error.contains("0002-never.json is damaged: remove it"), "{error}");
        Ok(())
    }

    #[test]
    fn root_believes_only_what_nobody_else_can_change() -> anyhow::Result<()> {
        let scratch = Scratch::new();
        let path = scratch.join("results");
        assert_eq!(Store::at(&path).plan()?, None);
        let store = Store::create(&path)?;
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, DIRECTORY);
        fs::write(path.join(PLAN), "{}")?;
        fs::set_permissions(path.join(PLAN), fs::Permissions::from_mode(0o666))?;
        // Only root must not believe it; to everybody it is no plan.
        let is_root = rustix::process::geteuid().is_root();
        let code = if is_root { exit::REFUSED } else { exit::ERROR };
        assert_eq!(exit::of(store.plan().expect_err("no plan").as_ref()), code);
        assert_eq!(exit::of(Store::existing(&path)?.plan().expect_err("no plan").as_ref()), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
        assert_eq!(store.add(&record(0, "never")).is_err(), is_root);
        assert_eq!(Store::existing(&path)?.write("report.md", b"x").is_err(), is_root);
        Ok(())
    }

    #[test]
    fn nothing_is_written_through_a_link() -> anyhow::Result<()> {
        let scratch = Scratch::new();
        let (path, other) = (scratch.join("results"), scratch.join("other"));
        let store = Store::create(&path)?;
        fs::write(&other, "as it was")?;
        symlink(&other, path.join("report.new"))?;
        symlink(&other, path.join("report.md"))?;
        store.write("report.md", b"new")?;
        assert_eq!(fs::read_to_string(&other)?, "as it was");
        assert_eq!(fs::read_to_string(path.join("report.md"))?, "new");
        fs::create_dir(scratch.join("elsewhere"))?;
        symlink(scratch.join("elsewhere"), path.join("plots"))?;
        assert!(store.write_below("plots", "a.svg", b"x").is_err());
        Ok(())
    }
}
