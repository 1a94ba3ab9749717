//! The root below which `/proc`, `/sys` and `/etc` are read: the live machine, a captured
//! directory or a test's fixture are then the same thing.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Most of the kernel's files fit: one call reads them, and another finds their end.
const ONE_READ: usize = 4096;

/// Largest file read in one piece. `/proc/PID/maps` of a process with 65,530 mappings (the
/// default vm.max_map_count) is about 6 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// A directory in place of `/`; paths given to it are relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// The live machine.
    #[must_use]
    pub fn live() -> Self {
        Self(PathBuf::from("/"))
    }

    /// Any directory.
    #[must_use]
    pub fn at(directory: &Path) -> Self {
        Self(directory.to_path_buf())
    }

    /// Whether this is the machine that the program runs on: nothing is changed anywhere else.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// For people: the directory as it was given.
    #[must_use]
    pub fn shown(&self) -> String {
        self.0.display().to_string()
    }

    /// The path of a file, given as on the live machine: `proc/meminfo`, `sys/kernel/...`.
    #[must_use]
    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        let file = file.as_ref();
        self.0.join(file.strip_prefix("/").unwrap_or(file))
    }

    /// A file's bytes.
    ///
    /// # Errors
    /// As the system says; `InvalidData` for a file above 64 MiB.
    pub fn read(&self, file: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(ONE_READ);
        let mut from = fs::File::open(self.path(file))?.take(MAX_BYTES + 1);
        from.read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "larger than 64 MiB"));
        }
        Ok(bytes)
    }

    /// A file's text; bytes that are not UTF-8 are replaced, for kernel text may contain anything.
    ///
    /// # Errors
    /// As [`Root::read`].
    pub fn read_text(&self, file: impl AsRef<Path>) -> io::Result<String> {
        self.read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The first line of a small file, without its end.
    ///
    /// # Errors
    /// As [`Root::read`].
    pub fn read_line(&self, file: impl AsRef<Path>) -> io::Result<String> {
        self.read_text(file).map(|text| text.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Names in a directory that are plain text, in order: of its folders, or of everything else.
    /// Empty where it cannot be listed.
    #[must_use]
    pub fn names(&self, directory: impl AsRef<Path>, folders: bool) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).into_iter().flatten().flatten();
        let wanted = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir() == folders));
        let mut names: Vec<_> = wanted.filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether a plain file is there that its owner may write.
    #[must_use]
    pub fn is_setting(&self, file: impl AsRef<Path>) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::symlink_metadata(self.path(file));
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o200 != 0)
    }

    /// Whether a file or directory is there.
    #[must_use]
    pub fn has(&self, file: impl AsRef<Path>) -> bool {
        self.path(file).exists()
    }
}
