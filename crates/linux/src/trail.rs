//! The settings trail: no kernel setting is changed before its old value is on disk.
//!
//! `trail.jsonl` in the state directory holds one line per intended change, synced before the
//! write. Restoring compares what stands in the file now with what hugewise wrote: a setting that
//! somebody else changed meanwhile is left alone. So are a manager's entries of an earlier boot;
//! those of pools hold over reboots, as configuration files set pools again.
//!
//! A pool and its NUMA nodes' shares are views of one thing: changing one changes the other. What
//! is ours is settled before anything is put back, and what was changed first goes back last.
//!
//! Writing the THP switch makes the kernel raise `vm.min_free_kbytes` (kernel.md 9); that file is
//! noted beforehand and put back.
//!
//! Each [`Scope`] has a trail of its own: a manager that starts must not take away the pool that
//! an operator has applied.

use crate::hugetlb::pool;
use crate::lines;
use crate::machine;
use crate::root::Root;
use hugewise_core::ownership::THP_DIR;
use hugewise_core::parse::thp_choice;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file that the kernel changes on its own when THP is switched.
const MIN_FREE: &str = "proc/sys/vm/min_free_kbytes";

/// Who changes settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `manage`: THP settings, for as long as it runs.
    Manager,
    /// `hugetlb apply`: pools and limits of shared memory, until they are reverted, also over
    /// reboots: configuration files write them again.
    Hugetlb,
}

impl Scope {
    /// Name of the trail in the state directory.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Manager => "trail.jsonl",
            Self::Hugetlb => "hugetlb.jsonl",
        }
    }

    /// Whether a trail may name this file at all: nothing else is ever written, whoever wrote the
    /// trail.
    fn may_own(self, file: &str) -> bool {
        match self {
            _ if file.contains("..") => false,
            Self::Manager => file == MIN_FREE || file.starts_with(&format!("{THP_DIR}/")),
            Self::Hugetlb => pool::is_size(file) || LIMITS.contains(&file),
        }
    }
}

/// Settings of `hugetlb` beside the pools.
const LIMITS: [&str; 3] =
    ["proc/sys/vm/hugetlb_shm_group", "proc/sys/kernel/shmmax", "proc/sys/kernel/shmall"];

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

/// What became of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Restored {
    /// The old value stands again.
    PutBack {
        /// Path below the root.
        file: String,
        /// Value found.
        from: String,
        /// Value written.
        to: String,
    },
    /// The old value stood there already.
    Unchanged {
        /// Path below the root.
        file: String,
    },
    /// Somebody else changed it meanwhile: left alone.
    Foreign {
        /// Path below the root.
        file: String,
        /// What stands there.
        found: String,
        /// What hugewise had written.
        written: String,
    },
    /// Pages of this pool are in use or reserved: it was made as small as it can be, and the entry
    /// stays in the trail for another time.
    InUse {
        /// Path below the root.
        file: String,
        /// Value found.
        from: String,
        /// Value that can be had now.
        to: String,
        /// The old value.
        wanted: String,
    },
    /// The entry is of an earlier boot, whose settings are gone.
    EarlierBoot {
        /// Path below the root.
        file: String,
    },
    /// It could not be put back; the entry stays in the trail.
    Failed {
        /// Path below the root.
        file: String,
        /// Why.
        error: String,
    },
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
    /// A setting cannot be read.
    #[error("cannot read the setting '{file}': {error}")]
    Read {
        /// Path below the root.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A setting cannot be written.
    #[error("cannot write '{value}' to '{file}': {error}")]
    Write {
        /// Path below the root.
        file: String,
        /// Value.
        value: String,
        /// What the system says.
        error: io::Error,
    },
}

/// See the module's text.
#[derive(Debug)]
pub struct Trail {
    root: Root,
    scope: Scope,
    path: PathBuf,
    boot_id: Option<String>,
    entries: Vec<Entry>,
}

impl Trail {
    /// Opens the trail in `state_dir` (created with mode 0750 when missing) and reads what an
    /// earlier manager left. A torn last line (a crash while it was written: the setting was not
    /// touched yet) is ignored.
    ///
    /// # Errors
    /// When the directory cannot be used or others may write it, the trail is a symbolic link, or
    /// one of its lines is damaged.
    pub fn open(root: Root, state_dir: &Path, scope: Scope) -> Result<Self, TrailError> {
        let path = state_dir.join(scope.file_name());
        let store = |error| TrailError::Store { path: path.display().to_string(), error };
        make_dir(state_dir).map_err(store)?;
        // What could not be read back later is not begun.
        File::open(state_dir).and_then(|dir| trusted(state_dir, &dir)).map_err(store)?;
        let trail = Self::existing(root, state_dir, scope)?;
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
    pub fn existing(root: Root, state_dir: &Path, scope: Scope) -> Result<Self, TrailError> {
        let path = state_dir.join(scope.file_name());
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        let read = |mut file: File| {
            trusted(state_dir, &file)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            lines::parse(&bytes)
        };
        let mut entries: Vec<Entry> = match options.open(&path).and_then(read) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(TrailError::Store { path: path.display().to_string(), error });
            }
        };
        entries.retain(|entry| scope.may_own(&entry.file));
        let boot_id = machine::boot_id(&root);
        Ok(Self { root, scope, path, boot_id, entries })
    }

    /// Entries not restored yet.
    #[must_use]
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

    /// Writes a value between [`Trail::begin`] and [`Trail::settle`], whatever becomes of it.
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

    /// Puts every setting back, the last change first, and empties the trail of what is settled.
    pub fn restore(&mut self) -> Vec<Restored> {
        // Each is looked at once more when the one before is done: it may have changed the other.
        let files = self.files_with_ours();
        let steps = files.iter().map(|(file, ours)| self.carry_out(self.step(file, *ours)));
        let mut done: Vec<Restored> = steps.collect();
        let stays = |entry: &Entry| {
            done.iter().any(|step| match step {
                Restored::Failed { file, .. } | Restored::InUse { file, .. } => *file == entry.file,
                _ => false,
            })
        };
        self.entries.retain(stays);
        // What a pool was shrunk to is ours, too: the next time is to recognise it.
        for step in &done {
            if let Restored::InUse { file, from, to, .. } = step {
                let (file, old, new) = (file.clone(), from.clone(), to.clone());
                self.entries.push(Entry { file, old, new, boot_id: self.boot_id.clone() });
            }
        }
        if let Err(error) = self.store() {
            done.push(Restored::Failed {
                file: self.path.display().to_string(),
                error: error.to_string(),
            });
        }
        done
    }

    fn carry_out(&self, step: Restored) -> Restored {
        let (Restored::PutBack { file, to, .. } | Restored::InUse { file, to, .. }) = &step else {
            return step;
        };
        match self.put_back(file, to) {
            Ok(()) => step,
            Err(error) => Restored::Failed { file: file.clone(), error: error.to_string() },
        }
    }

    /// What [`Trail::restore`] would do, in its order. Where several views of one pool go back,
    /// each step starts from what stands there now.
    #[must_use]
    pub fn plan(&self) -> Vec<Restored> {
        self.files_with_ours().iter().map(|(file, ours)| self.step(file, *ours)).collect()
    }

    /// All files, the one that was changed first last, and whether their values are ours.
    fn files_with_ours(&self) -> Vec<(String, bool)> {
        let mut files: Vec<(String, bool)> = Vec::new();
        for entry in &self.entries {
            if !files.iter().any(|(file, _)| *file == entry.file) {
                files.push((entry.file.clone(), self.is_ours(&entry.file)));
            }
        }
        files.reverse();
        files
    }

    /// Entries of a file that still count.
    fn own<'a>(&'a self, file: &'a str) -> impl DoubleEndedIterator<Item = (usize, &'a Entry)> {
        // Over a reboot configuration files have set the pools again.
        let counts = |entry: &Entry| self.scope == Scope::Hugetlb || entry.boot_id == self.boot_id;
        let all = self.entries.iter().enumerate();
        all.filter(move |(_, entry)| entry.file == file && counts(entry))
    }

    /// Whether the value of a file is its old one, one that hugewise wrote, or what became of it
    /// when hugewise changed another view of the same pool.
    fn is_ours(&self, file: &str) -> bool {
        let last = self.own(file).next_back().map(|(index, _)| index);
        let other = |(index, entry): (usize, &Entry)| {
            last.is_some_and(|last| index > last)
                && same_pool(file, &entry.file)
                && self.stands(&entry.file)
        };
        self.stands(file) || self.entries.iter().enumerate().any(other)
    }

    /// Whether one of the entries of a file accounts for its value.
    fn stands(&self, file: &str) -> bool {
        let (first, last) = (self.own(file).next(), self.own(file).next_back());
        let (Some((_, first)), Some((_, last))) = (first, last) else { return false };
        // What was cut short by a crash was cut short in that boot only.
        let cut_short = is_watch(last) && last.boot_id == self.boot_id;
        self.value(file).is_ok_and(|found| match self.scope {
            _ if cut_short || found == first.old => true,
            Scope::Manager => found == last.new,
            Scope::Hugetlb => self.own(file).any(|(_, entry)| entry.new == found),
        })
    }

    /// A value that somebody else set since is the one to come back: what was before it is
    /// forgotten.
    fn start_anew_if_foreign(&mut self, file: &str) -> Result<(), TrailError> {
        let known = self.own(file).next().is_some();
        if self.scope != Scope::Hugetlb || !known || self.is_ours(file) {
            return Ok(());
        }
        let all = self.entries.clone();
        self.entries.retain(|entry| entry.file != file);
        self.store().map_err(|error| {
            self.entries = all;
            TrailError::Store { path: self.path.display().to_string(), error }
        })
    }

    fn step(&self, file: &str, ours: bool) -> Restored {
        let (first, last) = (self.own(file).next(), self.own(file).next_back());
        let own_file = file.to_owned();
        let (Some((_, first)), Some((_, last))) = (first, last) else {
            return Restored::EarlierBoot { file: own_file };
        };
        let (file, to) = (own_file, first.old.clone());
        match self.value(&file) {
            Err(error) => Restored::Failed { file, error: error.to_string() },
            Ok(found) if found == to => Restored::Unchanged { file },
            Ok(from) if ours => match self.least(&file, &from, &to) {
                Some(least) => Restored::InUse { file, from, to: least.to_string(), wanted: to },
                None => Restored::PutBack { file, from, to },
            },
            Ok(found) => Restored::Foreign { file, found, written: last.new.clone() },
        }
    }

    /// The size that a pool cannot be shrunk below, where that is more than it should get: never
    /// more than it has, as pages in use may be surplus ones.
    fn least(&self, file: &str, from: &str, to: &str) -> Option<u64> {
        let held = pool::floor(&self.root, file)?;
        let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
        (held > to && from > to).then_some(held.min(from))
    }

    /// Writes an old value. Needs no disk: a full one must not keep a setting from going back.
    fn put_back(&self, file: &str, value: &str) -> Result<(), TrailError> {
        let before = self.value(MIN_FREE).ok().filter(|_| is_switch(file));
        self.write(file, value)?;
        match before {
            Some(before) if self.value(MIN_FREE)? != before => self.write(MIN_FREE, &before),
            _ => Ok(()),
        }
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

    /// The value in force: the selected word of a choice, a pool's size without its surplus, else
    /// the whole line.
    fn value(&self, file: &str) -> Result<String, TrailError> {
        let read = |error| TrailError::Read { file: file.into(), error };
        if pool::is_size(file) {
            return pool::size(&self.root, file).map(|pages| pages.to_string()).map_err(read);
        }
        let line = self.root.read_line(file).map_err(read)?;
        if !line.contains('[') {
            return Ok(line);
        }
        Ok(thp_choice::parse(&line).map_or(line, |choice| choice.selected))
    }

    fn note(&mut self, file: &str, old: &str, new: &str) -> Result<(), TrailError> {
        let store = |error| TrailError::Store { path: self.path.display().to_string(), error };
        let entry = Entry {
            file: file.into(),
            old: old.into(),
            new: new.into(),
            boot_id: self.boot_id.clone(),
        };
        let mut line = serde_json::to_vec(&entry).map_err(|e| store(e.into()))?;
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
            serde_json::to_writer(&mut out, entry)?;
            out.write_all(b"\n")?;
        }
        out.sync_all()?;
        fs::rename(new, &self.path)?;
        self.sync_dir()
    }
}

/// Stands for "whatever the kernel makes of it" until the watched file is settled.
const WATCHED: &str = "*";

fn is_watch(entry: &Entry) -> bool {
    entry.new == WATCHED
}

/// Whether one of two files sizes a pool and the other a NUMA node's share of it.
fn same_pool(one: &str, other: &str) -> bool {
    let size = |file: &str| {
        let size = file.rsplit('/').nth(1).map(str::to_owned);
        size.filter(|_| pool::is_size(file))
    };
    let whole = |file: &str| file.starts_with("sys/kernel/");
    whole(one) != whole(other) && size(one).is_some() && size(one) == size(other)
}

/// Whether writing this file makes the kernel change [`MIN_FREE`].
fn is_switch(file: &str) -> bool {
    file.starts_with(THP_DIR) && file.ends_with("/enabled")
}

/// A trail says what root is to write: it and its directory must belong to whoever runs this, and
/// be writable by nobody else.
pub(crate) fn trusted(state_dir: &Path, file: &File) -> io::Result<()> {
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

pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o750).create(path)
}

#[cfg(test)]
#[path = "trail_pool_tests.rs"]
mod pool_tests;

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        dir: PathBuf,
        root: Root,
    }

    impl Fixture {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("hugewise-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            let root = Root::at(&dir.join("root"));
            for (file, value) in [
                ("proc/sys/kernel/random/boot_id", "boot-1\n"),
                (MIN_FREE, "5000\n"),
                ("sys/kernel/mm/transparent_hugepage/enabled", "always\n"),
                ("sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none", "511\n"),
            ] {
                let path = root.path(file);
                fs::create_dir_all(path.parent().expect("has a parent")).expect("mkdir");
                fs::write(path, value).expect("write");
            }
            Self { dir, root }
        }

        fn trail(&self) -> Trail {
            Trail::open(self.root.clone(), &self.dir.join("state"), Scope::Manager).expect("opens")
        }

        fn get(&self, file: &str) -> String {
            self.root.read_line(file).expect("reads")
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }

    const NONE: &str = "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none";
    const ENABLED: &str = "sys/kernel/mm/transparent_hugepage/enabled";

    #[test]
    fn the_old_value_is_on_disk_and_comes_back_after_a_crash() {
        let fixture = Fixture::new("crash");
        assert_eq!(fixture.trail().set(NONE, "51").expect("sets"), Some("511".into()));
        assert_eq!(fixture.trail().set(NONE, "9").expect("sets"), Some("51".into()));
        // The first trail value is forgotten with the process; the next one reads the file.
        let done = fixture.trail().restore();
        assert!(matches!(&done[..], [Restored::PutBack { to, .. }] if to == "511"), "{done:?}");
        assert_eq!(fixture.get(NONE), "511");
        assert!(fixture.trail().restore().is_empty(), "the trail is empty now");
    }

    #[test]
    fn a_foreign_change_is_left_alone() {
        let fixture = Fixture::new("foreign");
        let mut trail = fixture.trail();
        trail.set(NONE, "51").expect("sets");
        fs::write(fixture.root.path(NONE), "300\n").expect("write");
        let done = trail.restore();
        assert!(matches!(&done[..], [Restored::Foreign { found, .. }] if found == "300"));
        assert_eq!(fixture.get(NONE), "300");
    }

    #[test]
    fn an_earlier_boot_is_forgotten() {
        let fixture = Fixture::new("boot");
        fixture.trail().set(NONE, "51").expect("sets");
        fs::write(fixture.root.path("proc/sys/kernel/random/boot_id"), "boot-2\n").expect("write");
        assert!(matches!(&fixture.trail().restore()[..], [Restored::EarlierBoot { .. }]));
        assert_eq!(fixture.get(NONE), "51");
    }

    #[test]
    fn a_crash_around_the_switch_puts_min_free_back() {
        let fixture = Fixture::new("watch");
        let mut trail = fixture.trail();
        trail.set(ENABLED, "madvise").expect("sets");
        assert_eq!(fixture.get(MIN_FREE), "5000");
        // The kernel raised it, and we were killed before it was put back.
        trail.note(MIN_FREE, "5000", WATCHED).expect("notes");
        fs::write(fixture.root.path(MIN_FREE), "45056\n").expect("write");
        fixture.trail().restore();
        assert_eq!(fixture.get(MIN_FREE), "5000");
        assert_eq!(fixture.get(ENABLED), "always");
    }

    #[test]
    fn a_torn_line_is_ignored() {
        let fixture = Fixture::new("torn");
        fixture.trail().set(NONE, "51").expect("sets");
        let path = fixture.dir.join("state/trail.jsonl");
        let mut text = fs::read_to_string(&path).expect("reads");
        text.push_str("{\"file\":\"sys/ker");
        fs::write(&path, text).expect("write");
        assert_eq!(fixture.trail().restore().len(), 1);
        assert_eq!(fixture.get(NONE), "511");
    }

    #[test]
    fn a_full_disk_does_not_keep_a_setting_from_going_back() {
        let fixture = Fixture::new("restore");
        let mut trail = fixture.trail();
        trail.set(ENABLED, "madvise").expect("sets");
        trail.path = PathBuf::from("/dev/full/trail.jsonl");
        trail.restore();
        assert_eq!(fixture.get(ENABLED), "always");
    }

    #[test]
    fn a_trail_that_others_can_write_or_that_names_other_files_is_not_followed() {
        let fixture = Fixture::new("trust");
        fixture.trail().set(NONE, "51").expect("sets");
        let path = fixture.dir.join("state/trail.jsonl");
        let text = fs::read_to_string(&path).expect("reads").replace(NONE, "etc/passwd");
        fs::write(&path, text).expect("write");
        assert!(fixture.trail().entries().is_empty());
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("chmod");
        let opened = Trail::open(fixture.root.clone(), &fixture.dir.join("state"), Scope::Manager);
        assert!(matches!(opened, Err(TrailError::Store { .. })));
    }

    #[test]
    fn nothing_is_written_when_the_trail_cannot_be() {
        let fixture = Fixture::new("full");
        let mut trail = fixture.trail();
        trail.path = PathBuf::from("/dev/full/trail.jsonl");
        assert!(matches!(trail.set(NONE, "51"), Err(TrailError::Store { .. })));
        assert_eq!(fixture.get(NONE), "511");
    }
}
