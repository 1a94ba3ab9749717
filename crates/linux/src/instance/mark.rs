//! A mark that every hugewise of this kernel can see, whatever its state directory, its container,
//! its mounts, network and processes (`docs/adr/0015-a-lock-that-strangers-cannot-hold.md`).
//!
//! It is a record lock *for reading* on one byte of an object that all share and nobody may write:
//! only a lock for writing could be in its way. So a stranger can have the same mark and thereby
//! keep nobody from having it, and `/proc/locks` says whose marks there are.

use super::holder::{self, Seen};
use super::role::Role;
use hugewise_sys::Errno;
use hugewise_sys::record::{self, InTheWay};
use rustix::fs::{Mode, OFlags, major, minor};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Objects that are the same one for every process that may change settings: the initial user
/// namespace; for kernels without user namespaces a directory of sysfs, which each network
/// namespace has of its own. The first one that is there counts.
const PLACES: [&str; 2] = ["/proc/self/ns/user", "/sys/kernel/mm"];

/// Far outside of what anybody else locks: "hugewis" in ASCII, and a byte for the role.
const FIRST_BYTE: u64 = 0x0068_7567_6577_6973 << 8;

/// Anybody can fill `/proc/locks`, and the kernel needs quadratic time for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where marks are. Never closed: a process loses all record locks on a file as soon as it closes
/// one descriptor of it.
#[derive(Debug)]
struct Place {
    file: File,
    ids: (u32, u32, u64),
}

fn place() -> Option<&'static Place> {
    static PLACE: OnceLock<Option<Place>> = OnceLock::new();
    PLACE.get_or_init(|| PLACES.iter().find_map(|path| open(path).ok())).as_ref()
}

fn open(path: &str) -> std::io::Result<Place> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    Ok(Place { file, ids: (major(meta.dev()), minor(meta.dev()), meta.ino()) })
}

fn byte(role: Role) -> u64 {
    FIRST_BYTE + role as u64
}

/// How often this process has each mark: the kernel would take it away at the first that goes.
static HELD: Mutex<[u32; Role::COUNT]> = Mutex::new([0; Role::COUNT]);

/// This process's mark.
#[derive(Debug)]
pub(super) struct Mark(Role);

impl Mark {
    /// Sets it; `None` where there is no place for marks.
    pub(super) fn set(role: Role) -> Result<Option<Self>, Errno> {
        let Some(place) = place() else { return Ok(None) };
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        record::share(&place.file, byte(role))?;
        held[role as usize] += 1;
        Ok(Some(Self(role)))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held[self.0 as usize] -= 1;
        if held[self.0 as usize] == 0
            && let Some(place) = place()
        {
            let _ = record::give_back(&place.file, byte(self.0));
        }
    }
}

/// Looks whose marks there are, but for this process's own; ends at the first that counts.
pub(super) fn look(role: Role) -> Seen {
    let mut seen = Seen::default();
    let Some(place) = place() else { return seen };
    let Ok(table) = File::open("/proc/locks") else { return seen };
    let (own, began) = (std::process::id(), Instant::now());
    for line in BufReader::new(table).split(b'\n') {
        let Ok(line) = line else { break };
        if began.elapsed() > PATIENCE {
            seen.cut_short = true;
            break;
        }
        let line = String::from_utf8_lossy(&line);
        let lock = hugewise_base::parse::locks::record_lock(&line);
        let Some(lock) = lock.filter(|lock| lock.file == place.ids) else { continue };
        let Some(pid) = lock.pid.filter(|pid| lock.covers(byte(role)) && *pid != own) else {
            continue;
        };
        if holder::judge(pid, &mut seen) {
            return seen;
        }
    }
    // Who is outside of this pid namespace is not in the table.
    seen.outside = matches!(record::other(&place.file, byte(role)), Ok(Some(InTheWay::Outside)));
    seen
}
