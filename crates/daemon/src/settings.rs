//! Kernel settings of a running manager: old values on disk first, everything put back at the end.

use crate::journal::Journal;
use hugewise_console::say::note;
use hugewise_linux::root::Root;
use hugewise_linux::track;
use hugewise_linux::trail::{self, Restored, Trail};
use hugewise_manager::engine::Manager;
use hugewise_manager::ownership;
use hugewise_manager::record::Record;
use std::collections::BTreeSet;
use std::path::Path;

#[cfg(not(panic = "unwind"))]
compile_error!("a panic has to put settings back, which takes panic = \"unwind\"");

/// Kernel settings that this manager changed; dropping it puts them back, also on a panic.
pub(crate) struct OwnedSettings {
    trail: Trail,
    restored: bool,
}

impl OwnedSettings {
    /// Opens the trail, puts back what a crashed manager left, and reports that.
    pub(crate) fn open(
        root: &Root,
        state_dir: &Path,
        journal: &mut Journal,
    ) -> anyhow::Result<Self> {
        let trail = Trail::open(root.clone(), state_dir, ownership::OWNER)?;
        let mut settings = Self { trail, restored: false };
        if !settings.trail.entries().is_empty() {
            note("an earlier manager did not end properly: its settings go back");
            settings.put_back(journal);
            settings.restored = false;
        }
        Ok(settings)
    }

    /// Writes what the mode owns.
    pub(crate) fn take(
        &mut self,
        wanted: &[ownership::WantedSetting],
        journal: &mut Journal,
    ) -> anyhow::Result<()> {
        for want in wanted {
            if let Some(from) = self.trail.set(&want.file, &want.value)? {
                journal.write(&Record::Setting {
                    file: want.file.clone(),
                    from,
                    to: Some(want.value.clone()),
                    why: want.why.into(),
                });
            }
        }
        journal.flush();
        Ok(())
    }

    /// Whether this manager changed a setting.
    fn wrote(&self, file: &str) -> bool {
        self.trail.entries().iter().any(|entry| entry.file == file)
    }

    /// How many settings are changed now.
    pub(crate) fn changed(&self) -> usize {
        self.trail.entries().len()
    }

    /// Puts everything back, and says so in the journal. Returns what could not be put back.
    pub(crate) fn put_back(&mut self, journal: &mut Journal) -> Vec<Restored> {
        let done = self.trail.restore();
        self.restored = true;
        Self::told(done, journal)
    }

    /// The same of one setting; the others stay.
    pub(crate) fn put_back_file(&mut self, file: &str, journal: &mut Journal) -> Vec<Restored> {
        let done = self.trail.restore_file(file);
        Self::told(done, journal)
    }

    fn told(done: Vec<Restored>, journal: &mut Journal) -> Vec<Restored> {
        for step in &done {
            if let Some(record) = restored_record(step) {
                journal.write(&record);
            }
        }
        journal.flush();
        done.into_iter()
            .filter(|step| matches!(step, Restored::Failed { .. } | Restored::Foreign { .. }))
            .collect()
    }
}

/// Kernel settings of a running manager, and those that change with the state of memory.
pub(crate) struct Settings {
    /// Those that are changed; `None` where nothing may be, as in a dry run.
    pub(crate) owned: Option<OwnedSettings>,
    /// `--keep-settings`: none is, at any time.
    pub(crate) kept: bool,
    /// The file that decides about huge pages in faults.
    switch: Option<String>,
    /// What was last written because of the state of memory, or would have been.
    now: Vec<ownership::WantedSetting>,
    /// Of these, those that somebody else has changed.
    foreign: BTreeSet<String>,
    /// What would have been written because of the state of memory, at any time of a dry run.
    withheld: Vec<ownership::WantedSetting>,
}

impl Settings {
    pub(crate) fn new(owned: Option<OwnedSettings>, kept: bool, switch: Option<String>) -> Self {
        let (now, foreign, withheld) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { owned, kept, switch, now, foreign, withheld }
    }

    /// What would have been written because of the state of memory, the latest of each file.
    pub(crate) fn withheld(&self) -> &[ownership::WantedSetting] {
        &self.withheld
    }

    /// Writes what the mode wants at this moment, and puts back what it does not want any more.
    pub(crate) fn follow(&mut self, manager: &Manager, journal: &mut Journal) {
        if self.kept {
            return;
        }
        let (config, mode) = (manager.config(), manager.mode());
        let mut wanted =
            ownership::for_now(config, mode, self.switch.as_deref(), &manager.momentary());
        wanted.retain(|want| !self.foreign.contains(&want.file));
        if wanted == self.now {
            return;
        }
        self.find_foreign();
        wanted.retain(|want| !self.foreign.contains(&want.file));
        for before in std::mem::take(&mut self.now) {
            let stays = wanted.iter().any(|want| want.file == before.file);
            if let Some(owned) = self.owned.as_mut().filter(|_| !stays) {
                owned.put_back_file(&before.file, journal);
            } else if stays {
                self.now.push(before);
            }
        }
        let is_new = |want: &&ownership::WantedSetting| {
            self.now.iter().all(|before| (&before.file, &before.value) != (&want.file, &want.value))
        };
        let new: Vec<_> = wanted.iter().filter(is_new).cloned().collect();
        match &mut self.owned {
            None => {
                rehearse(&new, journal);
                for want in new {
                    self.withheld.retain(|old| old.file != want.file);
                    self.withheld.push(want);
                }
            }
            Some(owned) => {
                for want in &new {
                    if let Err(error) = owned.take(std::slice::from_ref(want), journal) {
                        note(&format!("{}: {error:#}", want.why));
                    }
                }
            }
        }
        // Not tried again as long as it is wanted, whatever came of it.
        self.now = wanted;
    }

    /// Finds settings that were written because of the state of memory and that somebody else has
    /// changed meanwhile: they stay as they are from now on.
    fn find_foreign(&mut self) {
        let Some(owned) = &self.owned else { return };
        for before in &self.now {
            if owned.wrote(&before.file) && !owned.trail.has_value(&before.file, &before.value) {
                note(&format!("'/{}' was changed by somebody else: it stays", before.file));
                self.foreign.insert(before.file.clone());
            }
        }
        self.now.retain(|before| !self.foreign.contains(&before.file));
    }
}

/// Gives DAMON back where a crashed manager left it running.
pub(crate) fn give_damon_back(
    root: &Root,
    state_dir: &Path,
    journal: &mut Journal,
) -> anyhow::Result<()> {
    let done = trail::revert(root, state_dir, &[(track::OWNER, "")], false)?;
    done.iter().filter_map(restored_record).for_each(|record| journal.write(&record));
    Ok(())
}

/// Says in the journal what a mode would write, where nothing may be written.
pub(crate) fn rehearse(wanted: &[ownership::WantedSetting], journal: &mut Journal) {
    for want in wanted {
        journal.write(&Record::Setting {
            file: want.file.clone(),
            from: String::new(),
            to: None,
            why: format!("withheld: would be '{}': {}", want.value, want.why),
        });
    }
}

impl Drop for OwnedSettings {
    fn drop(&mut self) {
        if !self.restored {
            self.trail.restore();
        }
    }
}

fn restored_record(step: &Restored) -> Option<Record> {
    let (file, from, to, why) = match step {
        Restored::PutBack { file, from, to } => (file, from.clone(), Some(to.clone()), "put back"),
        Restored::Foreign { file, found, .. } => {
            (file, found.clone(), None, "changed by somebody else: left alone")
        }
        Restored::Failed { file, error } => (file, error.clone(), None, "could not be put back"),
        Restored::EarlierBoot { file } => (file, String::new(), None, "of an earlier boot"),
        // Pools and limits of cgroups are of other trails.
        Restored::Unchanged { .. } | Restored::InUse { .. } | Restored::Gone { .. } => return None,
    };
    Some(Record::Setting { file: file.clone(), from, to, why: why.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_puts_settings_back() {
        let scratch = Scratch::new();
        let (root, state) = (Root::at(&scratch), scratch.join("state"));
        let file = format!("{}/defrag", ownership::THP_DIR);
        fs::create_dir_all(root.path(ownership::THP_DIR)).expect("made");
        fs::create_dir_all(&state).expect("made");
        fs::write(root.path(&file), "always").expect("written");
        let mut journal = Journal::absent();
        let mut owned = OwnedSettings::open(&root, &state, &mut journal).expect("opens");
        let (value, why) = ("madvise".to_owned(), "a test");
        let wanted = ownership::WantedSetting { file: file.clone(), value, why };
        owned.take(&[wanted], &mut journal).expect("written");
        let now = || fs::read_to_string(root.path(&file)).expect("there");
        assert_eq!(now(), "madvise");
        let settings = Settings::new(Some(owned), false, None);
        let ended = catch_unwind(AssertUnwindSafe(move || {
            let _settings = settings;
            panic!("as a fault of the loop");
        }));
        assert!(ended.is_err());
        assert_eq!(now(), "always");
    }

    #[test]
    fn what_somebody_else_changed_stays() {
        let scratch = Scratch::new();
        let (root, state) = (Root::at(&scratch), scratch.join("state"));
        let file = format!("{}/hugepages-64kB/enabled", ownership::THP_DIR);
        let path = root.path(&file);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::create_dir_all(&state).expect("made");
        fs::write(&path, "never").expect("written");
        let mut journal = Journal::absent();
        let mut owned = OwnedSettings::open(&root, &state, &mut journal).expect("opens");
        let (value, why) = ("always".to_owned(), "a test");
        let want = ownership::WantedSetting { file: file.clone(), value, why };
        owned.take(std::slice::from_ref(&want), &mut journal).expect("written");
        let mut settings = Settings::new(Some(owned), false, None);
        settings.now = vec![want];
        settings.find_foreign();
        assert!(settings.foreign.is_empty() && settings.now.len() == 1);
        fs::write(&path, "madvise").expect("written");
        settings.find_foreign();
        assert!(settings.foreign.contains(&file) && settings.now.is_empty());
        drop(settings);
        assert_eq!(fs::read_to_string(&path).expect("there"), "madvise", "at the end, too");
    }
}
