//! Writes a capture: a directory of its own, a file a sample.

use super::{MANIFEST, Manifest};
use crate::exit;
use crate::output::refused;
use anyhow::Context;
use hugewise_linux::save;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// zstd's own default: its higher levels save little on such texts and cost several times the CPU.
const LEVEL: i32 = 3;
/// The manifest while it is written.
const DRAFT: &str = "manifest.json.new";

/// A sample as it is kept.
pub(super) fn pack(text: &[u8]) -> anyhow::Result<Vec<u8>> {
    zstd::bulk::compress(text, LEVEL).context("cannot compress a sample")
}

/// A directory that samples are written to. Everything in it is its owner's alone.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// All files are made in this directory, also when its path changes meanwhile.
    fd: OwnedFd,
    number: u64,
}

impl Directory {
    /// Makes the directory, or takes an empty one.
    ///
    /// # Errors
    /// Exit code 6 for a directory that is not empty; else as the system says.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let opened = save::new_directory(path, 0o700).map_err(refused);
        let fd = OwnedFd::from(opened.with_context(|| {
            format!("cannot use '{}' for a capture; give another with '-o'", path.display())
        })?);
        let mut entries = rustix::fs::Dir::read_from(&fd)
            .with_context(|| format!("cannot look into '{}'", path.display()))?;
        let taken = entries.any(|entry| {
            entry.map_or(true, |entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
        });
        if taken {
            return Err(exit::coded(
                exit::REFUSED,
                format!(
                    "'{}' is not empty: a capture gets a directory of its own; give a new one \
                     with '-o'",
                    path.display()
                ),
            ));
        }
        Ok(Self { path: path.to_path_buf(), fd, number: 0 })
    }

    fn file(&self, name: &str) -> anyhow::Result<File> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600));
        let fd =
            fd.with_context(|| format!("cannot create '{}'", self.path.join(name).display()))?;
        Ok(File::from(fd))
    }

    /// Writes a sample; gives its size on disk.
    pub(crate) fn sample(&mut self, text: &[u8]) -> anyhow::Result<u64> {
        self.packed(&pack(text)?)
    }

    /// The same of a sample that is packed already.
    pub(super) fn packed(&mut self, packed: &[u8]) -> anyhow::Result<u64> {
        let number = self.number + 1;
        let name = format!("{number:06}.zst");
        let written = self.file(&name)?.write_all(packed);
        written.with_context(|| format!("cannot write '{}'", self.path.join(&name).display()))?;
        self.number = number;
        Ok(packed.len() as u64)
    }

    /// Writes the manifest, in place of an earlier one. It is whole at any time.
    pub(crate) fn manifest(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let context = || format!("cannot write '{}'", self.path.join(MANIFEST).display());
        // Left over where writing it failed before, such as on a full disk.
        let _ = rustix::fs::unlinkat(&self.fd, DRAFT, rustix::fs::AtFlags::empty());
        let mut file = self.file(DRAFT)?;
        let mut text = serde_json::to_vec_pretty(manifest)?;
        text.push(b'\n');
        file.write_all(&text).and_then(|()| file.sync_all()).with_context(context)?;
        rustix::fs::renameat(&self.fd, DRAFT, &self.fd, MANIFEST).with_context(context)
    }
}
