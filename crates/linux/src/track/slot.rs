//! DAMON's only slot: taken while it is free, and left as it was found.

use crate::kdamond::{self, COUNT, KDAMONDS, write};
use crate::reason::reason_of_io;
use crate::root::Root;
use crate::trail::Trail;
use hugewise_base::owner::Owner;
use hugewise_base::units::Ns;
use hugewise_manager::reason::SkipReason;
use std::io;
use std::path::{Path, PathBuf};

/// The tracker of accesses: it owns how many threads DAMON has.
pub const OWNER: Owner =
    Owner { trail: "damon.jsonl", owns: |file| file == COUNT, over_reboots: false };

/// What this manager may take, and has noted.
#[derive(Debug)]
pub(super) struct Slot {
    state_dir: PathBuf,
    /// Noted before DAMON is touched for the first time.
    noted: Option<Noted>,
}

/// Emptied when the manager ends: nothing is left to be put back then.
#[derive(Debug)]
struct Noted(Trail);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.restore();
    }
}

impl Slot {
    pub(super) fn new(state_dir: &Path) -> Self {
        Self { state_dir: state_dir.to_path_buf(), noted: None }
    }

    /// Takes DAMON if nobody has it.
    pub(super) fn take(&mut self, root: &Root) -> Result<Taken, SkipReason> {
        kdamond::is_free(root).map_err(|(reason, _)| reason)?;
        if self.noted.is_none() {
            let mut trail = Trail::open(root.clone(), &self.state_dir, OWNER);
            let noted = trail.as_mut().map_err(|error| error.to_string());
            noted
                .and_then(|trail| trail.begin(COUNT).map_err(|error| error.to_string()))
                // What could not be put back after a crash is not begun.
                .map_err(|_| SkipReason::NoPermission)?;
            self.noted = trail.ok().map(Noted);
        }
        write(root, "nr_kdamonds", "1").map_err(|error| reason_of_damon(&error))?;
        Ok(Taken { root: root.clone() })
    }
}

/// DAMON, ours until this is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    root: Root,
}

impl Taken {
    /// Whether it still is what was set up here.
    pub(super) fn is_ours(&self) -> bool {
        kdamond::is_ours(&self.root)
    }

    /// Writes a file of its only thread.
    pub(super) fn write(&self, file: &str, value: &str) -> Result<(), SkipReason> {
        write(&self.root, &format!("0/{file}"), value).map_err(|error| reason_of_damon(&error))
    }

    /// Reads one.
    pub(super) fn read(&self, file: &str) -> Option<String> {
        self.root.read_line(format!("{KDAMONDS}/0/{file}")).ok()
    }

    /// Names of folders in one.
    pub(super) fn folders(&self, folder: &str) -> Vec<String> {
        self.root.names(format!("{KDAMONDS}/0/{folder}"), true)
    }

    /// CPU time of its thread so far; 0 where the kernel does not say.
    pub(super) fn cpu(&self) -> Ns {
        let pid = self.read("pid").filter(|pid| pid.parse::<u32>().is_ok_and(|pid| pid > 0));
        let spent = pid.and_then(|pid| self.root.read_line(format!("proc/{pid}/schedstat")).ok());
        let spent = spent.and_then(|text| text.split(' ').next()?.parse().ok());
        Ns(spent.unwrap_or(0))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Somebody may have cleared it away, and have set up his own meanwhile.
        if self.is_ours() {
            kdamond::stop(&self.root);
            let _ = write(&self.root, "nr_kdamonds", "0");
        }
    }
}

/// EBUSY: somebody was quicker, or has DAMON for himself alone. A file or word that is not known:
/// this kernel's DAMON cannot do that.
fn reason_of_damon(error: &io::Error) -> SkipReason {
    use rustix::io::Errno;
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::BUSY) => SkipReason::TrackerBusy,
        Some(Errno::INVAL | Errno::NOENT | Errno::OPNOTSUPP) => SkipReason::NoMechanism,
        _ => reason_of_io(error),
    }
}

#[cfg(test)]
mod tests;
