//! What a manager made huge although it was not full, on disk for the one after it.
//!
//! It is a help and no promise: what cannot be read or written, or is of an earlier boot, is left
//! out, and its waste is then of unknown use.

use hugewise_base::format::Format;
use hugewise_base::units::Ns;
use hugewise_console::say::note;
use hugewise_linux::root::Root;
use hugewise_linux::{machine, regular, save};
use hugewise_manager::state::State;
use hugewise_manager::state::made::Made;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The file in the state directory; it contains addresses, and nobody but its owner enters there.
const FILE: &str = "made.json";
/// The format of its contents.
const FORMAT: Format = Format { what: "what an earlier manager made huge", version: 1 };
/// It is written this often while something changes, and at the end.
const INTERVAL: Ns = Ns::s(60);
/// More than the places of a manager hold.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    schema: u32,
    boot_id: Option<String>,
    made: Vec<Made>,
}

/// Keeps the file up to date.
#[derive(Debug)]
pub(crate) struct Keeper {
    path: PathBuf,
    boot_id: Option<String>,
    written: Vec<Made>,
    next: Ns,
}

impl Keeper {
    /// With what an earlier manager of this boot has left in `state_dir`.
    pub(crate) fn open(root: &Root, state_dir: &Path, now: Ns) -> (Self, Vec<Made>) {
        let (path, boot_id) = (state_dir.join(FILE), machine::boot_id(root));
        let stored = read(&path).unwrap_or_else(|error| {
            note(&format!(
                "'{}' cannot be read: {error:#}; what it says of earlier huge pages is lost",
                path.display()
            ));
            None
        });
        let of_this_boot = |stored: &Stored| stored.boot_id.is_some() && stored.boot_id == boot_id;
        let written = stored.filter(of_this_boot).map_or_else(Vec::new, |stored| stored.made);
        (Self { path, boot_id, written: written.clone(), next: now + INTERVAL }, written)
    }

    /// Writes what changed, where that is due.
    pub(crate) fn keep(&mut self, now: Ns, state: &State) {
        if now >= self.next {
            self.next = now + INTERVAL;
            self.write(state);
        }
    }

    /// Writes what changed.
    pub(crate) fn write(&mut self, state: &State) {
        let made = state.made();
        if made == self.written {
            return;
        }
        let stored = Stored { schema: FORMAT.version, boot_id: self.boot_id.clone(), made };
        // A disk that is full takes nothing from anybody but a later manager's knowledge.
        if let Ok(bytes) = serde_json::to_vec(&stored)
            && save::write(&self.path, &bytes).is_ok()
        {
            self.written = stored.made;
        }
    }
}

fn read(path: &Path) -> anyhow::Result<Option<Stored>> {
    let file = match regular::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let stored: Stored = serde_json::from_slice(&bytes)?;
    FORMAT.check(stored.schema)?;
    Ok(Some(stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::units::{Addr, Geometry, ProcId};
    use hugewise_manager::config::Config;
    use hugewise_scratch::Scratch;
    use std::collections::BTreeMap;

    fn state() -> State {
        let target = ProcId { pid: 7, start_ticks: 9 };
        let regions = BTreeMap::from([(Addr(1 << 21), 300), (Addr(2 << 21), 17)]);
        let mut state = State::new(&Config::default(), Geometry::X86_64, Ns(0));
        state.remember(vec![Made { target, regions }]);
        state
    }

    #[test]
    fn the_next_manager_knows_what_this_one_made() {
        let dir = Scratch::new();
        let open = || Keeper::open(&Root::live(), dir.path(), Ns(0));
        let (mut keeper, made) = open();
        assert_eq!(made, Vec::new());
        keeper.keep(Ns::s(59), &state());
        assert_eq!(open().1, Vec::new(), "not due");
        keeper.keep(Ns::s(60), &state());
        assert_eq!(open().1, state().made());
    }

    #[test]
    fn another_boot_and_damage_are_nothing_known() {
        let dir = Scratch::new();
        let stored =
            Stored { schema: FORMAT.version, boot_id: Some("x".into()), made: state().made() };
        let other = serde_json::to_vec(&stored).expect("JSON");
        for bytes in [&other[..], b"{", b"", b"{\"schema\":1}", &other[..other.len() / 2]] {
            save::write(&dir.join(FILE), bytes).expect("written");
            let (mut keeper, made) = Keeper::open(&Root::live(), dir.path(), Ns(0));
            assert_eq!(made, Vec::new());
            keeper.write(&state());
            assert_eq!(Keeper::open(&Root::live(), dir.path(), Ns(0)).1, state().made());
        }
    }
}
