//! An experiment's directory: the plan, and a file for each run, written before the next begins.

use anyhow::{Context, bail};
use hugewise_core::lab::record::{Plan, Record, SCHEMA};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const PLAN: &str = "plan.json";
const RUNS: &str = "runs";
/// A larger file was not written by hugewise.
const MAX_BYTES: u64 = 256 << 20;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
}

impl Store {
    /// The directory of an experiment, made where it is missing.
    pub(crate) fn create(directory: &Path) -> anyhow::Result<Self> {
        let runs = directory.join(RUNS);
        fs::create_dir_all(&runs).with_context(|| format!("cannot create {}", runs.display()))?;
        Ok(Self { directory: directory.into() })
    }

    /// A directory that must be there already.
    pub(crate) fn existing(directory: &Path) -> anyhow::Result<Self> {
        if !directory.join(PLAN).is_file() {
            bail!(
                "{} holds no experiment ('{PLAN}' is missing): name a directory that 'hugewise lab \
                 run' has written",
                directory.display()
            );
        }
        Ok(Self { directory: directory.into() })
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The plan; `None` where nothing has begun.
    pub(crate) fn plan(&self) -> anyhow::Result<Option<Plan>> {
        let path = self.directory.join(PLAN);
        let Some(text) = read(&path)? else { return Ok(None) };
        let plan: Plan = parse(&path, &text)?;
        if plan.schema != SCHEMA {
            bail!("{} is of another version of hugewise ({})", path.display(), plan.schema);
        }
        Ok(Some(plan))
    }

    /// Writes the plan.
    pub(crate) fn begin(&self, plan: &Plan) -> anyhow::Result<()> {
        self.write(&self.directory.join("experiment.toml"), plan.text.as_bytes())?;
        self.write(&self.directory.join(PLAN), &serde_json::to_vec_pretty(plan)?)
    }

    /// All runs so far, in the order of time.
    pub(crate) fn records(&self) -> anyhow::Result<Vec<Record>> {
        let folder = self.directory.join(RUNS);
        let entries = fs::read_dir(&folder);
        let entries = entries.with_context(|| format!("cannot list {}", folder.display()))?;
        let paths: Result<Vec<_>, _> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths: Vec<PathBuf> = paths.map_err(|error: std::io::Error| error)?;
        // What a crash left half written has another ending.
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
        paths.sort_unstable();
        let read = |path: &PathBuf| parse(path, &read(path)?.unwrap_or_default());
        let all: anyhow::Result<Vec<Record>> = paths.iter().map(read).collect();
        let mut all = all?;
        // No two runs begin in the same second; where the clock was unknown names decide.
        all.sort_by(|a, b| (&a.began, a.repetition).cmp(&(&b.began, b.repetition)));
        Ok(all)
    }

    /// Writes a run; it is on disk when this returns.
    pub(crate) fn add(&self, record: &Record) -> anyhow::Result<()> {
        let name = format!("{:04}-{}.json", record.repetition + 1, record.variant);
        self.write(&self.directory.join(RUNS).join(name), &serde_json::to_vec(record)?)
    }

    /// Writes another file of the experiment, as a report.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
        let new = path.with_extension("new");
        let written = (|| {
            let mut file = File::create(&new)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&new, path)?;
            // A new name is on disk only when its directory is.
            path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        })();
        written.with_context(|| format!("cannot write {}", path.display()))
    }
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.with_context(|| format!("cannot read {}", path.display()))?,
    };
    if metadata.len() > MAX_BYTES {
        bail!("{} is larger than hugewise writes any", path.display());
    }
    let text = fs::read_to_string(path);
    text.map(Some).with_context(|| format!("cannot read {}", path.display()))
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> anyhow::Result<T> {
    serde_json::from_str(text).with_context(|| {
        format!("{} is damaged: remove it to have that run made again", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use hugewise_core::lab::record::{Conditions, Measured, Outcome};

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
}
