//! The settings trail: no kernel setting is changed before its old value is on disk.
//!
//! `trail.jsonl` in the state directory holds one line per intended change, synced before the
//! write. Restoring compares what stands in the file now with what hugewise wrote: a setting that
//! somebody else changed meanwhile is left alone. So are a manager's entries of an earlier boot;
//! those of pools stay valid after a reboot, as configuration files set pools again.
//!
//! A pool and its NUMA nodes' shares are views of one thing: changing one changes the other. What
//! is ours is settled before anything is put back, and what was changed first goes back last.
//!
//! Writing the THP switch makes the kernel raise `vm.min_free_kbytes`
//! (`docs/measurements.md#thp-switch-and-min_free_kbytes`); that file is noted beforehand and put
//! back.
//!
//! Each [`Owner`] has a trail of its own: a manager that starts must not take away the pool that
//! an operator has applied.

mod back;

pub use back::{Restored, revert};

use crate::lines::{self, Versioned};
use crate::machine;
use crate::pool_size;
use crate::root::Root;
use hugewise_base::format::Format;
use hugewise_base::owner::Owner;
use hugewise_base::parse::pool_path::is_size;
use hugewise_base::parse::thp_choice;
use hugewise_manager::ownership::{MIN_FREE, THP_DIR};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The trail's format. Each line names its version; those before there were versions do not.
pub const FORMAT: Format = Format { what: "the settings trail", version: 1 };

/// One intended change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Path below the root.
    pub file: String,
    /// Value before.
    pub old: String,
    /// Value that hugewise was about to write.
    pub new: String,
    /// Boot in which this was; `None` where the kernel does not tell.
    pub boot_id: Option<String>,
}

/// Errors of the trail.
#[derive(Debug, thiserror::Error)]
pub enum TrailError {
    /// The state directory cannot be used.
    #[error("cannot keep the settings trail in '{path}': {error}")]
    Store {
        /// File or directory.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// The trail is there, and cannot be read or believed.
    #[error("cannot read the settings trail '{path}': {error}")]
    Load {
        /// The file.
        path: String,
        /// What the system says, or what is wrong with it.
        error: io::Error,
    },
    /// A setting cannot be read.
    #[error("cannot read the setting '/{file}': {error}")]
    Read {
        /// Path below the root.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A setting cannot be written.
    #[error("cannot set '/{file}' to '{value}': {error}")]
    Write {
        /// Path below the root.
        file: String,
        /// Value.
        value: String,
        /// What the system says.
        error: io::Error,
    },
}

impl TrailError {
    /// Whether it is for want of permission: root may.
    pub fn is_denied(&self) -> bool {
        let (Self::Store { error, .. }
        | Self::Load { error, .. }
        | Self::Read { error, .. }
        | Self::Write { error, .. }) = self;
        error.kind() == io::ErrorKind::PermissionDenied
    }
}

/// The trail of one scope: notes old values, writes new ones, puts the old ones back.
#[derive(Debug)]
pub struct Trail {
    root: Root,
    owner: Owner,
    path: PathBuf,
    boot_id: Option<String>,
    entries: Vec<Entry>,
}

impl Trail {
    /// Opens the trail in `state_dir` (created with mode 0700 when missing) and reads what an
    /// earlier manager left. A torn last line (a crash while it was written: the setting was not
    /// touched yet) is ignored.
    ///
    /// # Errors
    /// When the directory cannot be used or others may write it, the trail is a symbolic link, or
    /// one of its lines is damaged.
    pub fn open(root: Root, state_dir: &Path, owner: Owner) -> Result<Self, TrailError> {
        let path = state_dir.join(owner.trail);
        let store = |error| TrailError::Store { path: path.display().to_string(), error };
        make_dir(state_dir).map_err(store)?;
        // What could not be read back later is not begun.
        File::open(state_dir).and_then(|dir| trusted(state_dir, &dir)).map_err(store)?;
        let trail = Self::existing(root, state_dir, owner)?;
        // Prove now that the trail can be written, not when the first setting is due; and end a
        // line that a crash or a full disk left torn, or the next entry would be lost with it.
        let file = trail.file().map_err(store)?;
        lines::mend_end(&file).map_err(store)?;
        Ok(trail)
    }

    /// Reads the trail without creating anything, for `revert` and its dry run.
    ///
    /// # Errors
    /// When it is there and cannot be read, or one of its lines is damaged.
    pub fn existing(root: Root, state_dir: &Path, owner: Owner) -> Result<Self, TrailError> {
        let path = state_dir.join(owner.trail);
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        let read = |mut file: File| {
            trusted(state_dir, &file)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            lines::parse_versioned(&bytes, FORMAT)
        };
        let mut entries: Vec<Entry> = match options.open(&path).and_then(read) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(TrailError::Load { path: path.display().to_string(), error });
            }
        };
        entries.retain(|entry| !entry.file.contains("..") && (owner.owns)(&entry.file));
        let boot_id = machine::boot_id(&root);
        Ok(Self { root, owner, path, boot_id, entries })
    }

    /// Entries not restored yet.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Writes `value` to a setting, after its old value is on disk. Returns the old value; `None`
    /// when the value stood there already.
    ///
    /// # Errors
    /// Nothing was written, unless the error is of kind `Write`.
    pub fn set(&mut self, file: &str, value: &str) -> Result<Option<String>, TrailError> {
        let old = self.value(file)?;
        if old == value {
            return Ok(None);
        }
        self.start_anew_if_foreign(file)?;
        self.note(file, &old, value)?;
        self.write_watched(file, value)?;
        Ok(Some(old))
    }

    /// Whether a setting has this value now.
    pub fn has_value(&self, file: &str, value: &str) -> bool {
        self.value(file).is_ok_and(|now| now == value)
    }

    /// What a setting has now; `None`: it cannot be read.
    pub fn current(&self, file: &str) -> Option<String> {
        self.value(file).ok()
    }

    /// Notes that a setting is about to change to whatever the kernel makes of it: a pool is given
    /// as many pages as there are. [`Trail::write_step`] may follow many times, and
    /// [`Trail::settle`] at the end.
    ///
    /// # Errors
    /// Nothing was noted.
    pub fn begin(&mut self, file: &str) -> Result<(), TrailError> {
        let old = self.value(file)?;
        self.start_anew_if_foreign(file)?;
        self.note(file, &old, WATCHED)
    }

    /// Writes a value between [`Trail::begin`] and [`Trail::settle`], whether or not it succeeds.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_step(&self, file: &str, value: &str) -> Result<(), TrailError> {
        let failed = |error| TrailError::Write { file: file.into(), value: value.into(), error };
        self.write_raw(file, value).map_err(failed)
    }

    /// Notes what the setting is now: from here on a change is somebody else's. `meant` is the
    /// value that it may also have later, as configuration files set it when the machine starts.
    ///
    /// # Errors
    /// As [`Trail::begin`].
    pub fn settle(&mut self, file: &str, meant: &str) -> Result<(), TrailError> {
        let now = self.value(file)?;
        if now != meant {
            self.note(file, &now, meant)?;
        }
        self.note(file, meant, &now)
    }

    /// Writes a setting; around a THP switch, notes and puts back `vm.min_free_kbytes`.
    fn write_watched(&mut self, file: &str, value: &str) -> Result<(), TrailError> {
        let Ok(before) = self.value(MIN_FREE) else { return self.write(file, value) };
        if !is_switch(file) {
            return self.write(file, value);
        }
        self.note(MIN_FREE, &before, WATCHED)?;
        self.write(file, value)?;
        if self.value(MIN_FREE)? != before {
            self.write(MIN_FREE, &before)?;
        }
        // Settled: from here on a change is somebody else's.
        self.note(MIN_FREE, &before, &before)
    }

    fn write(&self, file: &str, value: &str) -> Result<(), TrailError> {
        let failed = |error| TrailError::Write { file: file.into(), value: value.into(), error };
        self.write_raw(file, value).map_err(failed)?;
        let found = self.value(file)?;
        if found == value {
            return Ok(());
        }
        Err(failed(io::Error::other(format!("the kernel made '{found}' of it"))))
    }

    fn write_raw(&self, file: &str, value: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut open = options.write(true).truncate(true).open(self.root.path(file))?;
        open.write_all(value.as_bytes())
    }

    fn value(&self, file: &str) -> Result<String, TrailError> {
        value(&self.root, file).map_err(|error| TrailError::Read { file: file.into(), error })
    }

    fn note(&mut self, file: &str, old: &str, new: &str) -> Result<(), TrailError> {
        let store = |error| TrailError::Store { path: self.path.display().to_string(), error };
        let entry = Entry {
            file: file.into(),
            old: old.into(),
            new: new.into(),
            boot_id: self.boot_id.clone(),
        };
        let line = serde_json::to_vec(&Versioned::new(FORMAT, &entry));
        let mut line = line.map_err(|e| store(e.into()))?;
        line.push(b'\n');
        let out = self.file().map_err(store)?;
        lines::append(&out, &line).map_err(store)?;
        self.entries.push(entry);
        Ok(())
    }

    fn file(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true).mode(0o600);
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        let file = options.open(&self.path)?;
        self.sync_dir()?;
        Ok(file)
    }

    /// A new or replaced name is on disk only when its directory is.
    fn sync_dir(&self) -> io::Result<()> {
        match self.path.parent() {
            Some(dir) => File::open(dir)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Replaces the file by the entries that are left, in one step.
    fn store(&self) -> io::Result<()> {
        if self.entries.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let new = self.path.with_extension("new");
        let mut out =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        for entry in &self.entries {
            serde_json::to_writer(&mut out, &Versioned::new(FORMAT, entry))?;
            out.write_all(b"\n")?;
        }
        out.sync_all()?;
        fs::rename(new, &self.path)?;
        self.sync_dir()
    }
}

/// The value of a setting in force: the selected word of a choice, a pool's size without its
/// surplus, else the whole line.
///
/// # Errors
/// It cannot be read.
pub fn value(root: &Root, file: &str) -> io::Result<String> {
    if is_size(file) {
        return pool_size::size(root, file).map(|pages| pages.to_string());
    }
    let line = root.read_line(file)?;
    if !line.contains('[') {
        return Ok(line);
    }
    Ok(thp_choice::parse(&line).map_or(line, |choice| choice.selected))
}

/// Stands for "whatever the kernel makes of it" until the watched file is settled.
const WATCHED: &str = "*";

fn is_watch(entry: &Entry) -> bool {
    entry.new == WATCHED
}

/// Whether writing this file makes the kernel change [`MIN_FREE`].
fn is_switch(file: &str) -> bool {
    file.starts_with(THP_DIR) && file.ends_with("/enabled")
}

/// A trail says what root is to write: it and its directory must belong to the user who runs
/// this, and be writable by no other.
///
/// # Errors
/// When one of them is not so, or cannot be looked at.
pub fn trusted(state_dir: &Path, file: &File) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    for metadata in [fs::metadata(state_dir)?, file.metadata()?] {
        if metadata.uid() != own || metadata.mode() & 0o022 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "not trusted: it and its directory must belong to this user alone",
            ));
        }
    }
    Ok(())
}

/// Makes a state directory, this user's alone; nothing where there is one.
///
/// # Errors
/// As the system says.
pub fn make_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests;
