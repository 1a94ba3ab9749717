//! Configuration files that hugewise writes: what stood there before is on disk first, and comes
//! back to the byte.
//!
//! Each owner's trail in the state directory, such as `hugetlb-files.jsonl`, holds one line per
//! file, synced before the file is touched. A file that somebody edited meanwhile is left alone.

use hugewise_base::format::Format;
use hugewise_base::owner::Owner;
use hugewise_evidence::hugetlb::files::WantedFile;
use hugewise_linux::lines::{self, Versioned};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{TrailError, make_dir, trusted};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// The format of a trail of files. Each line names its version, unless it is older than versions.
const FORMAT: Format = Format { what: "the trail of files", version: 1 };
/// Added to a file's name while it is written. Neither sysctl nor systemd nor pam_limits reads
/// names that end so.
const NEW: &str = ".hugewise-new";
/// Largest file that is read and saved: it is one of ours.
const BYTES_MAX: u64 = 1 << 20;

/// A file as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Old {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Permission bits.
    pub mode: u32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

/// One intended change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Path below the root.
    pub file: String,
    /// What stood there; `None`: nothing.
    pub old: Option<Old>,
    /// What was about to be written.
    pub new: String,
    /// Directories that had to be made, the outermost first.
    pub made: Vec<String>,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum RestoredFile {
    /// It is gone again.
    Removed {
        /// Path below the root.
        file: String,
    },
    /// It has its old content again.
    PutBack {
        /// Path below the root.
        file: String,
    },
    /// It had its old content already.
    Unchanged {
        /// Path below the root.
        file: String,
    },
    /// Somebody else changed it meanwhile: left alone.
    Foreign {
        /// Path below the root.
        file: String,
    },
    /// It could not be put back; the entry stays.
    Failed {
        /// Path below the root.
        file: String,
        /// Why.
        error: String,
    },
}

impl RestoredFile {
    fn file(&self) -> &str {
        match self {
            Self::Removed { file }
            | Self::PutBack { file }
            | Self::Unchanged { file }
            | Self::Foreign { file }
            | Self::Failed { file, .. } => file,
        }
    }
}

/// The files that were written, each with what stood there before.
#[derive(Debug)]
pub struct KeptFiles {
    root: Root,
    owner: Owner,
    path: PathBuf,
    entries: Vec<Entry>,
}

impl KeptFiles {
    /// As [`KeptFiles::open`], for who changes nothing: a trail that only root may read counts as
    /// empty.
    ///
    /// # Errors
    /// As [`KeptFiles::open`], for every other reason.
    pub fn seen(root: Root, state_dir: &Path, owner: Owner) -> Result<Self, TrailError> {
        match Self::open(root.clone(), state_dir, owner) {
            Err(error) if error.is_denied() => {
                let path = state_dir.join(owner.trail);
                Ok(Self { root, owner, path, entries: Vec::new() })
            }
            other => other,
        }
    }

    /// Opens the trail; nothing is created.
    ///
    /// # Errors
    /// When it is there and cannot be read, others could have written it, or one of its lines is
    /// damaged.
    pub fn open(root: Root, state_dir: &Path, owner: Owner) -> Result<Self, TrailError> {
        let path = state_dir.join(owner.trail);
        let read = |mut file: File| {
            trusted(state_dir, &file)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            lines::parse_versioned(&bytes, FORMAT)
        };
        let opened = plain(OpenOptions::new().read(true)).open(&path);
        let mut entries: Vec<Entry> = match opened.and_then(read) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(TrailError::Load { path: path.display().to_string(), error });
            }
        };
        entries.retain(|entry| (owner.owns)(&entry.file));
        Ok(Self { root, owner, path, entries })
    }

    /// Files that were written and not put back.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What stands in a file; `None`: it is not there.
    ///
    /// # Errors
    /// As the system says; a symbolic link is an error.
    pub fn text(&self, file: &str) -> io::Result<Option<String>> {
        let old = self.read(file)?;
        Ok(old.map(|old| String::from_utf8_lossy(&old.bytes).into_owned()))
    }

    /// Writes a file in one step, after what stood there is on disk. Returns whether it was
    /// changed.
    ///
    /// # Errors
    /// The file is as it was.
    pub fn write(&mut self, wanted: &WantedFile) -> Result<bool, TrailError> {
        let failed = |error| TrailError::Write {
            file: wanted.path.clone(),
            value: "a configuration file".into(),
            error,
        };
        if !(self.owner.owns)(&wanted.path) {
            return Err(failed(io::Error::other("not a file of hugewise")));
        }
        let old = self.read(&wanted.path).map_err(failed)?;
        if old.as_ref().is_some_and(|old| old.bytes == wanted.text.as_bytes()) {
            return Ok(false);
        }
        let made = self.missing_folders(&wanted.path);
        self.note(Entry { file: wanted.path.clone(), old, new: wanted.text.clone(), made })?;
        let path = self.root.path(&wanted.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        replace(&path, wanted.text.as_bytes(), 0o644, None).map_err(failed)?;
        Ok(true)
    }

    /// What [`KeptFiles::restore`] would do.
    pub fn plan(&self) -> Vec<RestoredFile> {
        let mut names: Vec<&str> = Vec::new();
        for entry in self.entries.iter().rev() {
            if !names.contains(&entry.file.as_str()) {
                names.push(&entry.file);
            }
        }
        names.into_iter().map(|file| self.step(file)).collect()
    }

    /// Puts every file back, the last one first.
    pub fn restore(&mut self) -> Vec<RestoredFile> {
        let done: Vec<RestoredFile> =
            self.plan().into_iter().map(|step| self.carry(step)).collect();
        let failed = |entry: &Entry| {
            let is = |d: &RestoredFile| matches!(d, RestoredFile::Failed { .. });
            done.iter().any(|d| is(d) && d.file() == entry.file)
        };
        self.entries.retain(failed);
        let mut done = done;
        if let Err(error) = self.store() {
            let (file, error) = (self.path.display().to_string(), error.to_string());
            done.push(RestoredFile::Failed { file, error });
        }
        done
    }

    /// Puts one file back and forgets it.
    ///
    /// # Errors
    /// When it cannot be put back, or somebody edited it: then it stays as it is.
    pub fn restore_one(&mut self, file: &str) -> Result<(), TrailError> {
        let failed = |error: &str| TrailError::Write {
            file: file.to_owned(),
            value: "what stood there before".into(),
            error: io::Error::other(error.to_owned()),
        };
        match self.carry(self.step(file)) {
            RestoredFile::Failed { error, .. } => return Err(failed(&error)),
            RestoredFile::Foreign { .. } => {
                return Err(failed("somebody edited it meanwhile: look at it, and remove it"));
            }
            _ => {}
        }
        self.entries.retain(|entry| entry.file != file);
        let store = |error| TrailError::Store { path: self.path.display().to_string(), error };
        self.store().map_err(store)
    }

    /// The entries of a file: what stood there first, and whether what stands there is ours.
    fn step(&self, file: &str) -> RestoredFile {
        let own = || self.entries.iter().filter(|entry| entry.file == file);
        let first = own().next().and_then(|entry| entry.old.as_ref());
        let file = file.to_owned();
        match self.read(&file) {
            Err(error) => RestoredFile::Failed { file, error: error.to_string() },
            Ok(found) if found.as_ref() == first => RestoredFile::Unchanged { file },
            Ok(Some(found)) if own().any(|entry| entry.new.as_bytes() == found.bytes) => {
                if first.is_some() {
                    RestoredFile::PutBack { file }
                } else {
                    RestoredFile::Removed { file }
                }
            }
            Ok(_) => RestoredFile::Foreign { file },
        }
    }

    fn carry(&self, step: RestoredFile) -> RestoredFile {
        let path = self.root.path(step.file());
        // What a crash left half written.
        let _ = fs::remove_file(beside(&path));
        let first = self.entries.iter().find(|entry| entry.file == step.file());
        let old = first.and_then(|entry| entry.old.as_ref());
        let result = match (&step, old) {
            (RestoredFile::Removed { .. }, _) => fs::remove_file(&path),
            (RestoredFile::PutBack { .. }, Some(old)) => {
                replace(&path, &old.bytes, old.mode, Some((old.uid, old.gid)))
            }
            _ => Ok(()),
        };
        match result {
            Err(error) => {
                RestoredFile::Failed { file: step.file().to_owned(), error: error.to_string() }
            }
            Ok(()) => {
                // Only what is empty goes: others may have put something there.
                let made = self.entries.iter().filter(|entry| entry.file == step.file());
                for folder in made.flat_map(|entry| entry.made.iter().rev()) {
                    let _ = fs::remove_dir(self.root.path(folder));
                }
                step
            }
        }
    }

    fn read(&self, file: &str) -> io::Result<Option<Old>> {
        use std::os::unix::fs::MetadataExt;
        let opened = plain(OpenOptions::new().read(true)).open(self.root.path(file));
        let from = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                return Err(io::Error::other("it is a symbolic link, which is not followed"));
            }
            other => other?,
        };
        let metadata = from.metadata()?;
        if !metadata.is_file() || metadata.len() > BYTES_MAX {
            return Err(io::Error::other("no plain file of at most 1 MiB"));
        }
        let mut bytes = Vec::new();
        from.take(BYTES_MAX).read_to_end(&mut bytes)?;
        let (mode, uid, gid) = (metadata.mode() & 0o7777, metadata.uid(), metadata.gid());
        Ok(Some(Old { bytes, mode, uid, gid }))
    }

    fn missing_folders(&self, file: &str) -> Vec<String> {
        let folders = Path::new(file).ancestors().skip(1);
        let missing = folders.take_while(|folder| !self.root.has(folder));
        let mut missing: Vec<String> = missing.map(|f| f.display().to_string()).collect();
        missing.reverse();
        missing
    }

    fn note(&mut self, entry: Entry) -> Result<(), TrailError> {
        let store = |error| TrailError::Store { path: self.path.display().to_string(), error };
        let line = serde_json::to_vec(&Versioned::new(FORMAT, &entry));
        let mut line = line.map_err(|e| store(e.into()))?;
        line.push(b'\n');
        let folder = self.path.parent().unwrap_or(Path::new("."));
        make_dir(folder).map_err(store)?;
        let mut options = OpenOptions::new();
        let options = options.create(true).read(true).append(true).mode(0o600);
        let out = plain(options).open(&self.path).map_err(store)?;
        trusted(folder, &out).map_err(store)?;
        lines::mend_end(&out).and_then(|()| lines::append(&out, &line)).map_err(store)?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(store)?;
        self.entries.push(entry);
        Ok(())
    }

    fn store(&self) -> io::Result<()> {
        if self.entries.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let mut bytes = Vec::new();
        for entry in &self.entries {
            serde_json::to_writer(&mut bytes, &Versioned::new(FORMAT, entry))?;
            bytes.push(b'\n');
        }
        replace(&self.path, &bytes, 0o600, None)
    }
}

/// Opens nothing but what stands there itself.
fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(NEW);
    PathBuf::from(name)
}

/// Replaces a file in one step: whoever reads it sees the old text or the new one.
fn replace(path: &Path, bytes: &[u8], mode: u32, owner: Option<(u32, u32)>) -> io::Result<()> {
    let new = beside(path);
    let _ = fs::remove_file(&new);
    let mut options = OpenOptions::new();
    let mut out = plain(options.create_new(true).write(true).mode(mode)).open(&new)?;
    out.write_all(bytes)?;
    out.set_permissions(fs::Permissions::from_mode(mode))?;
    if let Some((uid, gid)) = owner {
        chown(&new, Some(uid), Some(gid))?;
    }
    out.sync_all()?;
    fs::rename(&new, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
