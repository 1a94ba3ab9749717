//! The root below which `/proc`, `/sys` and `/etc` are read: the live machine, a directory of
//! copies, the files of a recorded sample or a test's fixture are then the same thing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most of the kernel's files fit: one call reads them, and another finds their end.
const ONE_READ: usize = 4096;

/// Largest file read in one piece. `/proc/PID/maps` of a process with 65,530 mappings (the
/// default vm.max_map_count) is about 6 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// Where nothing is: a device is no directory.
const NOWHERE: &str = "/dev/null";

/// What stands in place of `/`; paths given to it are relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(Place);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Directory(PathBuf),
    /// By path, without the first slash.
    Files(Arc<BTreeMap<String, Vec<u8>>>),
}

impl Root {
    /// The live machine.
    pub fn live() -> Self {
        Self::at(Path::new("/"))
    }

    /// Any directory.
    pub fn at(directory: &Path) -> Self {
        Self(Place::Directory(directory.to_path_buf()))
    }

    /// Files in memory, by path, such as those of a recorded sample.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let plain = |path: &str| path.strip_prefix('/').unwrap_or(path).to_owned();
        let files = files.into_iter().map(|(path, bytes)| (plain(path), bytes.to_vec()));
        Self(Place::Files(Arc::new(files.collect())))
    }

    /// Whether this is the machine that the program runs on: nothing is changed anywhere else.
    pub fn is_live(&self) -> bool {
        matches!(&self.0, Place::Directory(directory) if directory == Path::new("/"))
    }

    /// For people: the directory as it was given.
    pub fn shown(&self) -> String {
        match &self.0 {
            Place::Directory(directory) => directory.display().to_string(),
            Place::Files(_) => "a recorded sample".to_owned(),
        }
    }

    /// The path of a file, given as on the live machine: `proc/meminfo`, `sys/kernel/...`. Files in
    /// memory have none: nothing is at the one that they get.
    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        let file = file.as_ref();
        let directory = match &self.0 {
            Place::Directory(directory) => directory,
            Place::Files(_) => Path::new(NOWHERE),
        };
        directory.join(file.strip_prefix("/").unwrap_or(file))
    }

    /// Bytes of a file in memory; `None` for a directory.
    fn in_memory(&self, file: &Path) -> Option<io::Result<&Vec<u8>>> {
        let Place::Files(files) = &self.0 else { return None };
        let name = file.strip_prefix("/").unwrap_or(file).to_str();
        let found = name.and_then(|name| files.get(name));
        Some(found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not recorded")))
    }

    /// A file's bytes.
    ///
    /// # Errors
    /// As the system says; `InvalidData` for a file above 64 MiB.
    pub fn read(&self, file: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        if let Some(found) = self.in_memory(file.as_ref()) {
            return found.cloned();
        }
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
    pub fn names(&self, directory: impl AsRef<Path>, folders: bool) -> Vec<String> {
        if let Place::Files(files) = &self.0 {
            return names_in(files, directory.as_ref(), folders);
        }
        let entries = fs::read_dir(self.path(directory)).into_iter().flatten().flatten();
        let wanted = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir() == folders));
        let mut names: Vec<_> = wanted.filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether a plain file is there that its owner may write.
    pub fn is_setting(&self, file: impl AsRef<Path>) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::symlink_metadata(self.path(file));
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o200 != 0)
    }

    /// Whether a file or directory is there.
    pub fn has(&self, file: impl AsRef<Path>) -> bool {
        let file = file.as_ref();
        match &self.0 {
            Place::Directory(_) => self.path(file).exists(),
            Place::Files(files) => {
                let name = file.strip_prefix("/").unwrap_or(file);
                files.keys().any(|path| Path::new(path).starts_with(name))
            }
        }
    }
}

/// Names below a directory of files in memory.
fn names_in(files: &BTreeMap<String, Vec<u8>>, directory: &Path, folders: bool) -> Vec<String> {
    let directory = directory.strip_prefix("/").unwrap_or(directory);
    let below = files.keys().filter_map(|path| Path::new(path).strip_prefix(directory).ok());
    let names = below.filter_map(|path| {
        let mut parts = path.iter();
        let name = parts.next()?.to_str()?;
        (parts.next().is_some() == folders).then(|| name.to_owned())
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_memory_are_read_like_a_directory() {
        let files =
            [("/proc/stat", &b"cpu 1\nx"[..]), ("/sys/a/b/enabled", b"y"), ("/sys/a/c", b"")];
        let root = Root::of_files(files);
        assert!(!root.is_live());
        assert_eq!(root.read_line("proc/stat").expect("recorded"), "cpu 1");
        assert_eq!(root.read_text("/proc/stat").expect("recorded"), "cpu 1\nx");
        let missing = root.read("proc/meminfo").expect_err("not recorded");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_eq!(root.names("sys/a", true), ["b"]);
        assert_eq!(root.names("sys/a", false), ["c"]);
        assert_eq!(root.names("sys/x", false), [""; 0]);
        assert!(root.has("sys/a/b") && root.has("/sys/a/c") && !root.has("sys/a/d"));
        assert!(!root.path("proc/stat").exists(), "no other file is read in its place");
        assert!(!root.is_setting("sys/a/c"));
    }
}
