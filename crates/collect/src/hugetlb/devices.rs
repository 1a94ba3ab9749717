//! Which file systems are on HugeTLB pages. One file system has one page size: a mounted
//! hugetlbfs, and each of those that the kernel keeps to itself for `SHM_HUGETLB`, `MAP_HUGETLB`
//! and `MFD_HUGETLB` (`fs/hugetlbfs/inode.c`). So one object shows it of all others on it.

use std::collections::{BTreeMap, BTreeSet};

use hugewise_base::parse::mountinfo::{self, MountEntry};
use hugewise_base::units::Bytes;

use hugewise_linux::root::Root;

/// Major and minor device number.
pub(super) type Device = (u32, u32);

/// The pages of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    Base,
    /// HugeTLB pages, of this size where it is known.
    Huge(Option<Bytes>),
}

/// Page sizes by device number, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Devices {
    known: BTreeMap<Device, Pages>,
    /// Searched for among the mounts of a process; not searched for again.
    sought: BTreeSet<Device>,
}

impl Devices {
    pub(super) fn add_mounts(&mut self, mounts: &[MountEntry]) {
        for mount in mounts {
            let huge = || Pages::Huge(mount.size_option("pagesize").map(Bytes));
            let pages = if mount.is_hugetlb() { huge() } else { Pages::Base };
            self.learn((mount.dev_major, mount.dev_minor), pages);
        }
    }

    /// A size that is known is not replaced.
    pub(super) fn learn(&mut self, device: Device, pages: Pages) {
        match (self.known.get(&device), pages) {
            (None | Some(Pages::Huge(None)), _) => self.known.insert(device, pages),
            (Some(_), _) => None,
        };
    }

    pub(super) fn get(&self, device: Device) -> Option<Pages> {
        self.known.get(&device).copied()
    }

    /// The same for a file that a process maps: it may be on a mount that only the process sees.
    pub(super) fn of_file(&mut self, root: &Root, pid: u32, device: Device) -> Option<Pages> {
        // Disks have major numbers; hugetlbfs, having no disk, has 0.
        if device.0 != 0 {
            return Some(Pages::Base);
        }
        if !self.known.contains_key(&device)
            && self.sought.insert(device)
            && let Ok(text) = root.read(format!("proc/{pid}/mountinfo"))
        {
            self.add_mounts(&mountinfo::parse(&text).value);
        }
        self.get(device)
    }
}
