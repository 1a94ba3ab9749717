//! Whether a process maps files whose server may be anybody's.
//!
//! Whoever mounts FUSE, which every user may in a namespace of his own, decides how long a page
//! fault in a file of it takes; the fault holds the address space's lock for as long. A promotion
//! that queues for that lock holds up `ps` and every other reader behind it: so address spaces
//! that map such files are left alone. What is mapped after the check is met by the deadline.

use crate::address_space::{self, SpaceFile};
use crate::bounded::BoundedLines;
use crate::root::Root;
use hugewise_base::parse::mountinfo;
use rustix::event::EventfdFlags;
use rustix::fs::MemfdFlags;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;

/// A device as `/proc/PID/maps` and `mountinfo` show it: major and minor number.
type Device = (u32, u32);

/// More devices than a process maps that has nothing to hide.
const MOST_DEVICES: usize = 256;

/// Whether process `pid` maps a file of FUSE, or of a file system that neither it nor this process
/// has mounted. The second is how FUSE can be hidden: mounted elsewhere, or not any more.
///
/// # Errors
/// As the system says.
pub(crate) fn maps_fuse(root: &Root, pid: u32) -> io::Result<bool> {
    let mut open = devices(root, pid)?;
    open.retain(|device| !kernel_devices().contains(device));
    if open.is_empty() {
        return Ok(false);
    }
    // A process that changed its root sees less than this one does.
    for process in ["self".to_owned(), pid.to_string()] {
        let text = root.read(format!("proc/{process}/mountinfo")).unwrap_or_default();
        for mount in mountinfo::parse(&text).value {
            if !is_fuse(&mount.kind) {
                open.remove(&(mount.dev_major, mount.dev_minor));
            }
        }
    }
    Ok(!open.is_empty())
}

/// `fuse`, `fuse.NAME` and `fuseblk` (`fs/fuse/inode.c`).
fn is_fuse(kind: &str) -> bool {
    kind == "fuseblk" || kind == "fuse" || kind.starts_with("fuse.")
}

/// Devices of mapped files that are no block devices' (major number 0).
fn devices(root: &Root, pid: u32) -> io::Result<BTreeSet<Device>> {
    let mut lines = BoundedLines::new(address_space::open(root, pid, SpaceFile::Maps)?);
    let mut found = BTreeSet::new();
    while let Some(line) = lines.next()? {
        if let Some(device) = device(line)
            && found.len() < MOST_DEVICES
        {
            found.insert(device);
        }
    }
    Ok(found)
}

/// The device of a line: its fourth word, where the fifth, the inode, is not 0.
fn device(line: &[u8]) -> Option<Device> {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let device = std::str::from_utf8(words.nth(3)?).ok()?;
    let inode = words.next()?;
    let (major, minor) = device.split_once(':')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    let (major, minor) = (number(major)?, number(minor)?);
    (major == 0 && inode != b"0").then_some((major, minor))
}

/// File systems of the kernel itself, which are mounted nowhere: of shared memory, of huge pages,
/// of descriptors without a file.
fn kernel_devices() -> BTreeSet<Device> {
    let plain = rustix::fs::memfd_create("device", MemfdFlags::CLOEXEC);
    let huge = rustix::fs::memfd_create("device", MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB);
    let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC);
    let mut all = BTreeSet::new();
    for file in [plain, huge, event].into_iter().flatten() {
        if let Ok(stat) = rustix::fs::fstat(file.as_fd()) {
            all.insert((rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    const MAPS: &str = "\
55d1c0000000-55d1c0001000 r--p 00000000 fe:01 12 /usr/bin/cat
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\
7f1000000000-7f1000001000 r--p 00000000 00:2e 7 /mnt/data file\n";

    fn root(scratch: &Scratch, mountinfo: &str) -> Root {
        let folder = scratch.path().join("proc/7");
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, text) in [("maps", MAPS), ("mountinfo", mountinfo)] {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        Root::at(scratch.path())
    }

    #[test]
    fn files_of_fuse_and_of_what_cannot_be_seen_are_found() {
        let line = |device, kind| format!("36 35 {device} / /mnt rw - {kind} server rw\n");
        let scratch = Scratch::new();
        let maps = |text: String| maps_fuse(&root(&scratch, &text), 7).expect("readable");
        assert!(maps(line("0:46", "fuse.sshfs")));
        assert!(maps(line("0:46", "fuseblk")));
        assert!(maps(line("0:45", "tmpfs")), "the device is mounted nowhere");
        assert!(!maps(line("0:46", "overlay")));
        assert!(!maps(line("0:46", "nfs4")), "whoever runs it trusts the server");
    }

    #[test]
    fn what_the_kernel_maps_itself_is_no_file_server() {
        assert!(!kernel_devices().is_empty());
        assert!(!maps_fuse(&Root::live(), std::process::id()).expect("readable"));
    }
}
