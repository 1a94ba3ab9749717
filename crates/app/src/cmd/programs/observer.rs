//! Who tells of processes where no manager runs: the manager's own loop, which only observes.

use hugewise_base::units::Ns;
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::engine::{Manager, Sink, TickEnd, Wake, World, tick};
use hugewise_manager::record::Record;
use hugewise_manager::select::Selection;
use hugewise_manager::status::{ManagerStatus, manager};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// The last status that was asked for.
type Shelf = Arc<Mutex<Option<ManagerStatus>>>;

/// A loop that observes, in a thread of its own; it ends with this.
#[derive(Debug)]
pub(super) struct Observer {
    events: Sender<Wake>,
    shelf: Shelf,
}

impl Observer {
    /// Begins to observe. It keeps to the budget of CPU time of the configuration.
    pub(super) fn start(root: &Root, config: Config) -> anyhow::Result<Self> {
        let (events, wakes) = mpsc::channel();
        let shelf = Shelf::default();
        let (root, mine) = (root.clone(), Arc::clone(&shelf));
        std::thread::Builder::new().name("observer".into()).spawn(move || {
            let mut world = Live::new(root, None, wakes);
            let now = world.now();
            let everybody = Selection { named: None };
            let mut manager = Manager::new(config, Mode::Observe, everybody, now);
            while tick(&mut world, &mut manager, &mut OnShelf(&mine)) != TickEnd::Stop {}
        })?;
        Ok(Self { events, shelf })
    }

    /// What it knows; the next time it is newer. `None` at the beginning.
    pub(super) fn status(&self) -> Option<ManagerStatus> {
        // A loop that is gone has nothing new to say.
        let _ = self.events.send(Wake::Show);
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let _ = self.events.send(Wake::Stop);
    }
}

struct OnShelf<'a>(&'a Shelf);

impl Sink for OnShelf<'_> {
    fn record(&mut self, _at: Ns, _record: &Record) {}

    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}

    fn shown(&mut self, at: Ns, now: &Manager) {
        let status = manager(now, false, at);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }
}
