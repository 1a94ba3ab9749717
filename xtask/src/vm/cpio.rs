//! Writes an initramfs: the `newc` form of cpio, which the kernel unpacks by itself.
//!
//! An entry is `070701`, thirteen fields of eight hex digits, the name with a closing zero byte,
//! and the data; name and data are each padded to four bytes. Source: the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst.

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    pub fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER, (0, 0), &[]);
    }

    /// A file that may be executed.
    pub fn file(&mut self, name: &str, data: &[u8]) {
        self.entry(name, PROGRAM, (0, 0), data);
    }

    /// The device that becomes standard input, output and error of init.
    pub fn console(&mut self, name: &str) {
        self.entry(name, CHARACTER_DEVICE, (5, 1), &[]);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), data: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(data.len()).expect("an initramfs file is smaller than 4 GiB");
        let name_size = u32::try_from(name.len() + 1).expect("a name is short");
        let links = 1;
        let (owner, group, time, checksum) = (0, 0, 0, 0);
        let (on_major, on_minor) = (0, 0);
        self.bytes.extend_from_slice(b"070701");
        for field in [
            self.entries,
            mode,
            owner,
            group,
            links,
            time,
            size,
            on_major,
            on_minor,
            device.0,
            device.1,
            name_size,
            checksum,
        ] {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_sized() {
        let mut archive = Archive::default();
        archive.folder("dev");
        archive.console("dev/console");
        archive.file("init", b"hello");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        let heads: Vec<usize> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(heads.len(), 4);
        assert!(heads.iter().all(|at| at % 4 == 0), "{heads:?}");
        let init = &text[heads[2]..];
        assert_eq!(&init[6 + 6 * 8..6 + 7 * 8], "00000005", "size of the data");
        assert_eq!(&init[6 + 11 * 8..6 + 12 * 8], "00000005", "size of the name");
        assert_eq!(&init[110..115], "init\0");
        assert_eq!(&init[116..121], "hello");
    }
}
