//! Virtual machines: which programs run them, and which of their memory is the guest's.

use hugewise_base::units::{Addr, Bytes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Machine monitors, and the file names of their programs: whole, or up to a final `*`.
const MONITORS: [(&str, &[&str]); 5] = [
    ("qemu", &["qemu-system-*", "qemu-kvm", "kvm"]),
    ("firecracker", &["firecracker"]),
    ("cloud-hypervisor", &["cloud-hypervisor"]),
    ("crosvm", &["crosvm"]),
    ("kvmtool", &["lkvm", "vm-lkvm"]),
];

/// Whoever has `/dev/kvm` open and is none of these.
const OTHER: &str = "kvm";

/// A guest's memory is the largest mapping of its monitor, and those that are at least this part of
/// it: DIMMs, the memory of NUMA nodes. What a monitor has of its own is smaller.
const PART: u64 = 8;

/// The monitor that a program is; `None`: it runs no virtual machine. `kvm`: it has `/dev/kvm`
/// open, which emulators without the help of a processor have not.
pub fn monitor(exe: Option<&str>, kvm: bool) -> Option<&'static str> {
    let file = exe.and_then(|exe| exe.rsplit('/').next()).unwrap_or_default();
    let is_meant = |wanted: &&str| match wanted.strip_suffix('*') {
        Some(begin) => file.starts_with(begin),
        None => file == *wanted,
    };
    let known = MONITORS.iter().find(|(_, files)| files.iter().any(is_meant));
    known.map(|(name, _)| *name).or(kvm.then_some(OTHER))
}

/// The memory of a guest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestMemory {
    /// Populated.
    pub populated: Bytes,
    /// In huge pages.
    pub huge: Bytes,
}

impl GuestMemory {
    /// That of these regions: the start of each one's mapping, what of it is populated, and whether
    /// it is huge.
    pub fn of(regions: impl Iterator<Item = (Addr, Bytes, bool)>) -> Self {
        let mut mappings = BTreeMap::<Addr, Self>::new();
        for (mapping, populated, is_huge) in regions {
            let mapping = mappings.entry(mapping).or_default();
            mapping.populated += populated;
            mapping.huge += if is_huge { populated } else { Bytes(0) };
        }
        let largest = mappings.values().map(|one| one.populated.0).max().unwrap_or(0);
        let guest = mappings.values().filter(|one| one.populated.0 >= largest / PART);
        guest.fold(Self::default(), |sum, one| Self {
            populated: sum.populated + one.populated,
            huge: sum.huge + one.huge,
        })
    }

    /// Share that is huge, percent; `None` where nothing is populated.
    pub fn coverage_percent(&self) -> Option<f64> {
        (self.populated.0 > 0).then(|| 100.0 * self.huge.0 as f64 / self.populated.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monitors_are_known_by_their_file_or_by_the_device() {
        assert_eq!(monitor(Some("/usr/bin/qemu-system-x86_64"), false), Some("qemu"));
        assert_eq!(monitor(Some("/usr/libexec/qemu-kvm"), true), Some("qemu"));
        assert_eq!(monitor(Some("/opt/firecracker"), false), Some("firecracker"));
        assert_eq!(monitor(Some("/usr/bin/qemu-img"), false), None);
        assert_eq!(monitor(Some("/usr/bin/kvm-stat"), false), None);
        assert_eq!(monitor(Some("/usr/bin/mine"), true), Some("kvm"));
        assert_eq!(monitor(None, false), None);
    }

    #[test]
    fn small_mappings_are_the_monitors_own() {
        let region = |mapping, mib, huge| (Addr(mapping), Bytes::mib(mib), huge);
        let all = [region(1, 2, true), region(1, 2, true), region(9, 1, false)];
        let more = (0..20).map(|n| region(5, 2, n < 15));
        let guest = GuestMemory::of(all.into_iter().chain(more));
        assert_eq!((guest.populated, guest.huge), (Bytes::mib(40), Bytes::mib(30)));
        assert_eq!(guest.coverage_percent(), Some(75.0));
        let two = (0..20).map(|n| region(1 + n % 2, 2, n % 2 == 0));
        assert_eq!(GuestMemory::of(two).coverage_percent(), Some(50.0));
        assert_eq!(GuestMemory::of(std::iter::empty()).coverage_percent(), None);
    }
}
