//! Shared memory, and private memory on HugeTLB pages: who maps it, and on which pages it is.
//!
//! Who maps what is in `maps`, which is cheap. The pages are only in `smaps`, for which the kernel
//! walks the page tables of a whole process: so that is read of as few processes as possible.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use hugewise_base::parse::maps::{self, MapEntry, MapName};
use hugewise_base::parse::mountinfo::MountEntry;
use hugewise_base::parse::smaps::{self, SmapsEntry};
use hugewise_base::parse::sysv_shm::{self, Segment};
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::facts::{Object, ObjectKind};

use super::devices::{Device, Devices, Pages};
use super::notes::Notes;
use super::processes::ProcessSelection;
use hugewise_linux::address_space::SpaceFile;
use hugewise_linux::root::Root;

/// Smaller objects are left out: no huge page would serve them.
const BYTES_MIN: u64 = 2 << 20;

/// How many processes are read for one object: one may have ended or unmapped it, and old
/// kernels do not tell what is touched whomever one asks.
const LOOKS_MAX: usize = 3;

const DELETED: &str = " (deleted)";

/// What makes two mappings the same memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// An inode. System V segments have numbers per IPC namespace, and all of them are
    /// on the same file system: theirs is named unless it is this program's.
    Shared { device: Device, inode: u64, space: Option<String> },
    /// All that a process has on a file system.
    Private { device: Device, pid: u32 },
}

impl Key {
    fn device(&self) -> Device {
        match self {
            Self::Shared { device, .. } | Self::Private { device, .. } => *device,
        }
    }
}

/// Memory, as far as it was seen.
#[derive(Debug)]
struct Found {
    kind: ObjectKind,
    name: String,
    bytes: u64,
    pids: BTreeSet<u32>,
    /// The most HugeTLB pages that one process has touched.
    touched: Option<u64>,
}

/// What is found so far while processes are gone through.
pub(super) struct Search<'a> {
    root: &'a Root,
    notes: &'a mut Notes,
    devices: Devices,
    found: BTreeMap<Key, Found>,
    /// This program's IPC namespace.
    own_space: Option<String>,
    /// Those of other processes, where they are others.
    spaces: BTreeMap<u32, Option<String>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(root: &'a Root, mounts: &[MountEntry], notes: &'a mut Notes) -> Self {
        let mut devices = Devices::default();
        devices.add_mounts(mounts);
        let own_space = space(root, "self");
        let (found, spaces) = (BTreeMap::new(), BTreeMap::new());
        Self { root, notes, devices, found, own_space, spaces }
    }

    /// All memory of `pids`; of System V segments those that nobody maps, too, unless only some
    /// processes are asked for. `pages` are the page sizes of this machine's pools.
    pub(super) fn all(
        mut self,
        wanted: &ProcessSelection,
        pids: &[u32],
        pages: &[Bytes],
    ) -> Vec<Object> {
        for pid in pids {
            self.read_maps(*pid);
        }
        let segments = self.segments();
        self.found.retain(|key, found| {
            let segment = segment_of(key, found, &segments).map(|segment| segment.bytes);
            segment.unwrap_or(found.bytes) >= BYTES_MIN
        });
        let base = Bytes(rustix::param::page_size() as u64);
        self.read_smaps(base);
        let mut objects = Vec::new();
        let mut seen = BTreeSet::new();
        for (key, found) in &self.found {
            let segment = segment_of(key, found, &segments);
            seen.extend(segment.map(|segment| segment.id));
            objects.extend(self.object(key, found, segment, base, pages));
        }
        if wanted.pids.is_empty() {
            let others = segments.values().filter(|s| !seen.contains(&s.id));
            let others = others.filter(|segment| segment.bytes >= BYTES_MIN);
            objects.extend(others.map(|segment| unmapped(segment, base, pages)));
        }
        let order = |object: &Object| {
            (object.kind.clone(), object.name.clone(), object.pids.first().copied())
        };
        objects.sort_by_cached_key(order);
        objects
    }

    fn segments(&mut self) -> BTreeMap<u32, Segment> {
        let text = self.notes.text(self.root, "/proc/sysvipc/shm").unwrap_or_default();
        let parsed = sysv_shm::parse(&text);
        if let Some(problem) = parsed.problems.first() {
            self.notes.add("/proc/sysvipc/shm", &problem.to_string());
        }
        parsed.value.into_iter().map(|segment| (segment.id, segment)).collect()
    }

    fn read_maps(&mut self, pid: u32) {
        let Some(text) = self.notes.of_space(self.root, pid, SpaceFile::Maps) else { return };
        let parsed = maps::parse(&text);
        if !parsed.problems.is_empty() {
            self.notes.odd("maps", "some lines make no sense");
        }
        for entry in parsed.value {
            if let Some((kind, name)) = self.kind(pid, &entry) {
                self.add(pid, &entry, kind, name);
            }
        }
    }

    /// What a mapping is, with its name; `None` for all that is of no interest. Private memory
    /// may turn out to be on base pages.
    fn kind(&mut self, pid: u32, entry: &MapEntry) -> Option<(ObjectKind, String)> {
        // Without a file; but the number of the first System V segment since boot is 0, too.
        if entry.inode == 0 && !matches!(&entry.name, MapName::File(path) if is_segment(path)) {
            return None;
        }
        let (device, shared) = ((entry.dev_major, entry.dev_minor), entry.perms.shared);
        let path = match &entry.name {
            MapName::AnonShmem(name) if shared => {
                self.devices.learn(device, Pages::Base);
                return Some((ObjectKind::SharedAnonymous, format!("[anon_shmem:{name}]")));
            }
            MapName::File(path) => path,
            _ => return None,
        };
        let deleted = path.strip_suffix(DELETED);
        let name = deleted.unwrap_or(path).to_owned();
        let kind = match deleted {
            Some("/dev/zero") if shared => {
                self.devices.learn(device, Pages::Base);
                ObjectKind::SharedAnonymous
            }
            Some("/anon_hugepage") => {
                self.devices.learn(device, Pages::Huge(None));
                if shared { ObjectKind::SharedAnonymous } else { ObjectKind::PrivateHuge }
            }
            Some(path) if shared && is_sysv(path) => {
                ObjectKind::SysV(u32::try_from(entry.inode).ok()?)
            }
            Some(path) if path.starts_with("/memfd:") => {
                if shared {
                    ObjectKind::Memfd
                } else {
                    ObjectKind::PrivateHuge
                }
            }
            // A private mapping that nobody can write to has no pages of its own.
            _ if !shared && !entry.perms.write => return None,
            _ => match self.devices.of_file(self.root, pid, device) {
                Some(Pages::Huge(_)) if shared => ObjectKind::HugetlbFile,
                Some(Pages::Huge(_)) => ObjectKind::PrivateHuge,
                _ if shared && path.starts_with("/dev/shm/") => ObjectKind::Posix,
                _ => return None,
            },
        };
        Some((kind, name))
    }

    fn key(&mut self, pid: u32, entry: &MapEntry) -> Key {
        let device = (entry.dev_major, entry.dev_minor);
        if !entry.perms.shared {
            return Key::Private { device, pid };
        }
        let is_sysv = matches!(&entry.name, MapName::File(path) if path.starts_with("/SYSV"));
        let space = if is_sysv { self.space(pid) } else { None };
        Key::Shared { device, inode: entry.inode, space }
    }

    fn space(&mut self, pid: u32) -> Option<String> {
        let (root, own) = (self.root, &self.own_space);
        let look = || space(root, &pid.to_string()).filter(|_| own.is_some());
        let other =
            self.spaces.entry(pid).or_insert_with(|| look().filter(|s| Some(s) != own.as_ref()));
        other.clone()
    }

    fn add(&mut self, pid: u32, entry: &MapEntry, kind: ObjectKind, name: String) {
        let key = self.key(pid, entry);
        let private = matches!(key, Key::Private { .. });
        let fresh = || Found { kind, name, bytes: 0, pids: BTreeSet::new(), touched: None };
        let found = self.found.entry(key).or_insert_with(fresh);
        found.bytes = if private {
            found.bytes.saturating_add(entry.len_bytes())
        } else {
            found.bytes.max(entry.offset.saturating_add(entry.len_bytes()))
        };
        found.pids.insert(pid);
    }

    /// Whether only smaps can tell more.
    fn is_open(&self, key: &Key, found: &Found) -> bool {
        match self.devices.get(key.device()) {
            Some(Pages::Base) => false,
            Some(Pages::Huge(page)) => page.is_none() || found.touched.is_none(),
            None => true,
        }
    }

    fn read_smaps(&mut self, base: Bytes) {
        let open = |search: &Self, key: &Key| {
            search.found.get(key).is_some_and(|found| search.is_open(key, found))
        };
        let keys: Vec<Key> = self.found.keys().filter(|key| open(self, key)).cloned().collect();
        // The more objects a process maps, the more its smaps shows.
        let mut weight: BTreeMap<u32, usize> = BTreeMap::new();
        for pid in keys.iter().filter_map(|key| self.found.get(key)).flat_map(|found| &found.pids) {
            *weight.entry(*pid).or_default() += 1;
        }
        let mut tried = BTreeSet::new();
        for key in keys {
            for _ in 0..LOOKS_MAX {
                if !open(self, &key) {
                    break;
                }
                let pids = self.found.get(&key).into_iter().flat_map(|found| &found.pids);
                let left = pids.filter(|pid| !tried.contains(*pid)).copied();
                let best = left.max_by_key(|pid| (weight.get(pid), std::cmp::Reverse(*pid)));
                let Some(pid) = best else { break };
                tried.insert(pid);
                if let Some(text) = self.notes.of_space(self.root, pid, SpaceFile::Smaps) {
                    self.learn(pid, smaps::parse(&text).value, base);
                }
            }
        }
    }

    /// What one process's smaps tell.
    fn learn(&mut self, pid: u32, entries: Vec<SmapsEntry>, base: Bytes) {
        // A program may map a piece of an object more than once, as Java's ZGC does three times:
        // its pages are counted once. Private mappings have pages of their own each.
        let mut touched: BTreeMap<Key, BTreeMap<u64, u64>> = BTreeMap::new();
        for entry in entries {
            let key = self.key(pid, &entry.map);
            if !self.found.contains_key(&key) {
                continue;
            }
            match entry.is_hugetlb(base.0) {
                Some(true) => {
                    let page = entry.kernel_page_bytes.filter(|page| *page > base.0);
                    self.devices.learn(key.device(), Pages::Huge(page.map(Bytes)));
                    if let Some(bytes) = entry.hugetlb_bytes() {
                        let shared = entry.map.perms.shared;
                        let piece = if shared { entry.map.offset } else { entry.map.start };
                        let most = touched.entry(key).or_default().entry(piece).or_default();
                        *most = bytes.max(*most);
                    }
                }
                Some(false) => self.devices.learn(key.device(), Pages::Base),
                None => {}
            }
        }
        for (key, pieces) in touched {
            if let Some(found) = self.found.get_mut(&key) {
                let sum = pieces.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
                found.touched = found.touched.max(Some(sum));
            }
        }
    }

    fn object(
        &self,
        key: &Key,
        found: &Found,
        segment: Option<&Segment>,
        base: Bytes,
        pages: &[Bytes],
    ) -> Option<Object> {
        let page = match self.devices.get(key.device()) {
            Some(Pages::Base) => Some(base),
            Some(Pages::Huge(page)) => page,
            None => segment.and_then(|segment| page_of(segment, base, pages)),
        };
        let is_huge = matches!(self.devices.get(key.device()), Some(Pages::Huge(_)));
        if found.kind == ObjectKind::PrivateHuge && !is_huge {
            return None;
        }
        Some(Object {
            kind: found.kind.clone(),
            name: found.name.clone(),
            bytes: Bytes(segment.map_or(found.bytes, |segment| segment.bytes)),
            page,
            uid: segment.and_then(|segment| segment.creator_uid),
            pids: found.pids.iter().copied().collect(),
            attached: segment.map_or(found.pids.len() as u64, |segment| segment.attached),
            touched: found.touched.map(Bytes),
        })
    }
}

/// Name of a process's IPC namespace.
fn space(root: &Root, process: &str) -> Option<String> {
    let link = fs::read_link(root.path(format!("proc/{process}/ns/ipc"))).ok()?;
    link.into_os_string().into_string().ok()
}

/// A System V segment's name in `maps`: the kernel always calls it deleted.
fn is_segment(path: &str) -> bool {
    path.strip_suffix(DELETED).is_some_and(is_sysv)
}

/// `/SYSV` and the key's eight digits (`newseg` of `ipc/shm.c`).
fn is_sysv(path: &str) -> bool {
    let key = path.strip_prefix("/SYSV");
    key.is_some_and(|key| key.len() == 8 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The kernel's row of a System V segment of this program's namespace.
fn segment_of<'s>(
    key: &Key,
    found: &Found,
    segments: &'s BTreeMap<u32, Segment>,
) -> Option<&'s Segment> {
    match (&found.kind, key) {
        (ObjectKind::SysV(id), Key::Shared { space: None, .. }) => segments.get(id),
        _ => None,
    }
}

fn page_of(segment: &Segment, base: Bytes, pages: &[Bytes]) -> Option<Bytes> {
    let pages: Vec<u64> = pages.iter().map(|page| page.0).collect();
    segment.hugetlb_page(base.0, &pages).map(Bytes)
}

/// A segment of which nobody, or nobody who can be seen, has a mapping.
fn unmapped(segment: &Segment, base: Bytes, pages: &[Bytes]) -> Object {
    let by_key = segment.key.map(|key| format!("/SYSV{key:08x}"));
    Object {
        kind: ObjectKind::SysV(segment.id),
        name: by_key.unwrap_or_else(|| format!("segment {}", segment.id)),
        bytes: Bytes(segment.bytes),
        page: page_of(segment, base, pages),
        uid: segment.creator_uid,
        pids: Vec::new(),
        attached: segment.attached,
        touched: None,
    }
}
