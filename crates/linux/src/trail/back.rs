//! The way back: which values are hugewise's own, and what is done with each.

use super::{Entry, Trail, TrailError, is_switch, is_watch};
use crate::kdamond;
use crate::pool_size;
use crate::root::Root;
use hugewise_base::owner::Owner;
use hugewise_base::parse::pool_path::is_size;
use hugewise_manager::ownership::MIN_FREE;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Where cgroups are, below the root.
const CGROUP_DIR: &str = "sys/fs/cgroup";

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
    /// The cgroup that it was a limit of is gone, and its limits with it.
    Gone {
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

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PutBack { file, from, to } => write!(f, "/{file}: '{from}' -> '{to}'"),
            Self::Unchanged { file } => write!(f, "/{file}: has its old value already"),
            Self::Foreign { file, found, written } => write!(
                f,
                "/{file}: left alone: '{found}' is neither the old value nor hugewise's '{written}'"
            ),
            Self::InUse { file, from, to, wanted } => write!(
                f,
                "/{file}: '{from}' -> '{to}', not '{wanted}': so many pages are in use or \
                 reserved; again when their programs have ended"
            ),
            Self::EarlierBoot { file } => write!(f, "/{file}: of an earlier boot: forgotten"),
            Self::Gone { file } => write!(f, "/{file}: its cgroup is gone: forgotten"),
            Self::Failed { file, error } => write!(f, "/{file}: NOT put back: {error}"),
        }
    }
}

/// Puts back what each of these owners has left, one after the other; in a dry run says what that
/// would be. Each one's trail is in its folder below the state directory.
///
/// # Errors
/// When one of the trails is there and cannot be read.
pub fn revert(
    root: &Root,
    state_dir: &Path,
    owners: &[(Owner, &str)],
    dry_run: bool,
) -> Result<Vec<Restored>, TrailError> {
    let mut all = Vec::new();
    for (owner, folder) in owners {
        let mut trail = Trail::existing(root.clone(), &state_dir.join(folder), *owner)?;
        all.extend(if dry_run { trail.plan() } else { trail.restore() });
    }
    Ok(all)
}

impl Trail {
    /// Puts every setting back, the last change first, and empties the trail of what is settled.
    pub fn restore(&mut self) -> Vec<Restored> {
        self.restore_those(|_| true)
    }

    /// Puts one setting back, and leaves the others as they are.
    pub fn restore_file(&mut self, file: &str) -> Vec<Restored> {
        self.restore_those(|one| one == file)
    }

    fn restore_those(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<Restored> {
        // Each is read once more when the one before is done: that may have changed it.
        let files = self.files_with_ours();
        let files = files.iter().filter(|(file, _)| wanted(file));
        let steps = files.map(|(file, ours)| self.carry_out(self.step(file, *ours)));
        let mut done: Vec<Restored> = steps.collect();
        let stays = |entry: &Entry| {
            !wanted(&entry.file)
                || done.iter().any(|step| match step {
                    Restored::Failed { file, .. } | Restored::InUse { file, .. } => {
                        *file == entry.file
                    }
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
        let counts = |entry: &Entry| self.owner.over_reboots || entry.boot_id == self.boot_id;
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
        // DAMON set up by somebody else has the same number of threads.
        if kdamond::is_count(file) && !kdamond::is_ours(&self.root) {
            return false;
        }
        // What was cut short by a crash was cut short in that boot only.
        let cut_short = is_watch(last) && last.boot_id == self.boot_id;
        let written = |found: &str| match self.owner.over_reboots {
            true => self.own(file).any(|(_, entry)| entry.new == found),
            false => found == last.new,
        };
        self.value(file).is_ok_and(|found| cut_short || found == first.old || written(&found))
    }

    /// A value that somebody else set since is the one to come back: what was before it is
    /// forgotten.
    pub(super) fn start_anew_if_foreign(&mut self, file: &str) -> Result<(), TrailError> {
        let known = self.own(file).next().is_some();
        if !self.owner.over_reboots || !known || self.is_ours(file) {
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
            Err(TrailError::Read { .. }) if self.is_gone(&file) => Restored::Gone { file },
            Err(error) => Restored::Failed { file, error: error.to_string() },
            Ok(found) if found == to => Restored::Unchanged { file },
            Ok(from) if ours => match self.least(&file, &from, &to) {
                Some(least) => Restored::InUse { file, from, to: least.to_string(), wanted: to },
                None => Restored::PutBack { file, from, to },
            },
            Ok(found) => Restored::Foreign { file, found, written: last.new.clone() },
        }
    }

    /// Whether the cgroup of a limit is gone while others are there: one can end in the middle.
    fn is_gone(&self, file: &str) -> bool {
        let group = Path::new(file).parent().filter(|_| file.starts_with(CGROUP_DIR));
        group.is_some_and(|group| self.root.has(CGROUP_DIR) && !self.root.has(group))
    }

    /// The size that a pool cannot be shrunk below, where that is more than it should get: never
    /// more than it has, as pages in use may be surplus ones.
    fn least(&self, file: &str, from: &str, to: &str) -> Option<u64> {
        let held = pool_size::floor(&self.root, file)?;
        let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
        (held > to && from > to).then_some(held.min(from))
    }

    /// Writes an old value. Needs no disk: a full one must not keep a setting from going back.
    fn put_back(&self, file: &str, value: &str) -> Result<(), TrailError> {
        let before = self.value(MIN_FREE).ok().filter(|_| is_switch(file));
        if kdamond::is_count(file) {
            kdamond::stop(&self.root);
        }
        self.write(file, value)?;
        match before {
            Some(before) if self.value(MIN_FREE)? != before => self.write(MIN_FREE, &before),
            _ => Ok(()),
        }
    }
}

/// Whether one of two files sizes a pool and the other a NUMA node's share of it.
fn same_pool(one: &str, other: &str) -> bool {
    let size = |file: &str| {
        let size = file.rsplit('/').nth(1).map(str::to_owned);
        size.filter(|_| is_size(file))
    };
    let whole = |file: &str| file.starts_with("sys/kernel/");
    whole(one) != whole(other) && size(one).is_some() && size(one) == size(other)
}
