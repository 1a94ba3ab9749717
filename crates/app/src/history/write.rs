//! Appends samples to a file, and to the day files of a history.

use super::pack::pack;
use super::read::{check_version, index};
use super::{DayFile, SUFFIX};
use crate::exit::{self, coded};
use crate::output::refused;
use anyhow::Context;
use hugewise_base::units::Bytes;
use hugewise_evidence::history::frame::{CHAIN_MAX, Head, crc};
use hugewise_evidence::recording::readers::capture::sample;
use hugewise_linux::{save, trust};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, openat, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Permissions by which others put files in a directory.
const OTHERS_WRITE: u32 = 0o022;
/// A day's file goes on in another one at this share of the limit: what is deleted to stay within
/// it is then a small piece of the history.
const PIECES: u64 = 8;

/// What is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Days that were recorded, today included.
    pub(crate) days: u32,
    /// Size of all files.
    pub(crate) bytes: Bytes,
}

/// A file that samples are appended to.
#[derive(Debug)]
pub(crate) struct FrameFile {
    path: PathBuf,
    file: File,
    length: u64,
    last: Option<Last>,
}

/// The frame before.
#[derive(Debug)]
struct Last {
    head: Head,
    text: Vec<u8>,
}

impl FrameFile {
    /// A new file that only its owner reads.
    ///
    /// # Errors
    /// Exit code 6 where something has its name, or the path leads through a stranger's link; else
    /// as the system says.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        if path.exists() {
            let why = format!("'{}' is there already: give a new file", path.display());
            return Err(coded(exit::REFUSED, why));
        }
        let file = save::begin_anew(path).map_err(refused)?;
        Ok(Self { path: path.to_path_buf(), file, length: 0, last: None })
    }

    /// A file that may hold samples. A torn end, as of a machine that lost power, is cut off.
    fn reopen(path: PathBuf, mut file: File) -> anyhow::Result<Self> {
        let length = index(&file).context("cannot read")?.end();
        file.set_len(length).context("cannot cut off a torn end")?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Self { path, file, length, last: None })
    }

    /// Appends a sample; gives its size on disk.
    ///
    /// # Errors
    /// As the system says. What was written before stays whole, and the next sample may succeed.
    pub(crate) fn append(&mut self, text: &[u8]) -> anyhow::Result<u64> {
        let header = header_of(text)?;
        let before = self.last.take().filter(|last| last.head.number + 1 < CHAIN_MAX);
        let packed = pack(text, before.as_ref().map_or(&[], |last| &last.text))?;
        let size = |bytes: usize| u32::try_from(bytes).context("the sample is too large");
        let head = Head {
            number: before.as_ref().map_or(0, |last| last.head.number + 1),
            at_ms: header.at_ms,
            monotonic_ns: header.monotonic_ns,
            packed_bytes: size(packed.len())?,
            text_bytes: size(text.len())?,
            packed_crc: crc(&packed),
            text_crc: crc(text),
            before_crc: before.as_ref().map_or(0, |last| last.head.text_crc),
        };
        let bytes = [&head.bytes()[..], &packed].concat();
        if let Err(error) = self.file.write_all(&bytes) {
            // What is there of it is no frame. Where this fails, too, it is found when read.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            return Err(error).with_context(|| format!("cannot write '{}'", self.path.display()));
        }
        self.length += bytes.len() as u64;
        let mut old = before.map(|last| last.text).unwrap_or_default();
        old.clear();
        old.extend_from_slice(text);
        self.last = Some(Last { head, text: old });
        Ok(bytes.len() as u64)
    }
}

fn header_of(text: &[u8]) -> anyhow::Result<sample::Header> {
    sample::header_of(text).map_err(|why| anyhow::anyhow!("no sample: {why}"))
}

/// A history that is being written: day files within limits. Nobody else writes to it meanwhile.
#[derive(Debug)]
pub(crate) struct Book {
    path: PathBuf,
    /// Locked.
    folder: File,
    limits: Limits,
    current: Option<(DayFile, FrameFile)>,
    /// Files that were deleted to stay within the limits.
    deleted: u64,
}

impl Book {
    /// Opens the history in this directory, which is made where it is missing.
    ///
    /// # Errors
    /// Exit code 6 for a directory of somebody else, or one that is written to by another recorder.
    pub(crate) fn open(path: &Path, limits: Limits) -> anyhow::Result<Self> {
        let context = || format!("cannot keep a history in '{}'", path.display());
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            // Nobody else's: a manager's lock may come to lie there.
            save::guarded_directory(parent, Some(0o700)).map_err(refused).with_context(context)?;
        }
        let folder = save::new_directory(path, 0o700).map_err(refused).with_context(context)?;
        if folder.metadata().with_context(context)?.mode() & OTHERS_WRITE != 0 {
            let shown = path.display();
            let why = format!("others may put files in '{shown}': chmod 700, or give another name");
            return Err(coded(exit::REFUSED, why));
        }
        flock(&folder, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            Errno::WOULDBLOCK => {
                let why = format!("another 'hugewise record' writes to '{}'", path.display());
                coded(exit::REFUSED, why)
            }
            other => anyhow::Error::new(other).context(context()),
        })?;
        let path = path.to_path_buf();
        let book = Self { path, folder, limits, current: None, deleted: 0 };
        // Before the first sample: a file that is refused later costs the samples of a day.
        for (day, _) in book.files()? {
            book.file(day, OFlags::empty())?;
        }
        Ok(book)
    }

    /// A day's file, opened, which is ours alone.
    fn file(&self, day: DayFile, more: OFlags) -> anyhow::Result<File> {
        let path = self.path.join(day.name());
        let context = || format!("cannot open '{}'", path.display());
        // NONBLOCK: opening a pipe must not hang.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
        let fd = openat(&self.folder, day.name(), flags, Mode::from_raw_mode(0o600));
        let file = File::from(fd.with_context(context)?);
        let meta = file.metadata().with_context(context)?;
        trust::check_alone("the file of a history", &path, &meta)?;
        if !meta.is_file() || meta.mode() & 0o077 != 0 {
            let shown = path.display();
            let why = format!("'{shown}' is not a file of its owner alone: chmod 600, or move it");
            return Err(coded(exit::REFUSED, why));
        }
        Ok(file)
    }

    /// Files that were deleted to stay within the limits.
    pub(crate) const fn deleted(&self) -> u64 {
        self.deleted
    }

    /// Appends a sample; gives its size on disk. Where there is no room, the oldest file makes it.
    ///
    /// # Errors
    /// As the system says. What was written before stays whole, and the next sample may succeed.
    pub(crate) fn append(&mut self, text: &[u8]) -> anyhow::Result<u64> {
        self.turn(DayFile::of_time(header_of(text)?.at_ms))?;
        let mut result = self.append_to_current(text);
        if result.as_ref().is_err_and(is_full) && self.delete_oldest()? {
            result = self.append_to_current(text);
        }
        result
    }

    fn append_to_current(&mut self, text: &[u8]) -> anyhow::Result<u64> {
        let (_, file) = self.current.as_mut().context("no file is open")?;
        file.append(text)
    }

    /// Goes on in the file of this day, within the limits.
    fn turn(&mut self, day: DayFile) -> anyhow::Result<()> {
        let piece_bytes = (self.limits.bytes.0 / PIECES).max(1);
        let goes_on = self
            .current
            .as_ref()
            .is_some_and(|(name, file)| name.day == day.day && file.length < piece_bytes);
        if goes_on {
            return Ok(());
        }
        let files = self.files()?;
        let last = files.iter().rev().find(|(name, _)| name.day == day.day);
        let name = match last {
            None => day,
            // What a later program began is not continued, and stays as it is.
            Some((name, length)) if *length < piece_bytes && self.is_known(*name) => *name,
            Some((name, _)) => DayFile { piece: name.piece.saturating_add(1), ..*name },
        };
        self.current = None;
        self.forget_old(day)?;
        let path = self.path.join(name.name());
        let file = self.file(name, OFlags::CREATE)?;
        let context = || format!("'{}'", path.display());
        let file = FrameFile::reopen(path.clone(), file).with_context(context)?;
        self.current = Some((name, file));
        Ok(())
    }

    /// Whether this program knows the version of a file.
    fn is_known(&self, file: DayFile) -> bool {
        check_version(&self.path.join(file.name())).is_ok()
    }

    /// Deletes what is beyond the limits; a piece is left free for what comes. Days count that were
    /// recorded, not those of the calendar: a clock that jumps years ahead costs one of them.
    fn forget_old(&mut self, today: DayFile) -> anyhow::Result<()> {
        let most = self.limits.bytes.0 - self.limits.bytes.0 / PIECES;
        loop {
            let files = self.files()?;
            let all: u64 = files.iter().map(|(_, length)| *length).sum();
            let days = files.iter().map(|(name, _)| name.day).chain([today.day]);
            let days = days.collect::<BTreeSet<_>>().len();
            let too_many = u32::try_from(days).is_ok_and(|days| days > self.limits.days);
            if !(too_many || all > most) || !self.delete_oldest()? {
                return Ok(());
            }
        }
    }

    /// Deletes the oldest file but the one that is being written; `false` where there is none.
    fn delete_oldest(&mut self) -> anyhow::Result<bool> {
        let current = self.current.as_ref().map(|(name, _)| *name);
        let files = self.files()?;
        let Some((name, _)) = files.iter().find(|(name, _)| Some(*name) != current) else {
            return Ok(false);
        };
        unlinkat(&self.folder, name.name(), AtFlags::empty()).with_context(|| {
            format!("cannot delete '{}'", self.path.join(name.name()).display())
        })?;
        self.deleted += 1;
        Ok(true)
    }

    /// All day files with their sizes, the oldest first.
    fn files(&self) -> anyhow::Result<Vec<(DayFile, u64)>> {
        let context = || format!("cannot list '{}'", self.path.display());
        let mut files = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.folder).with_context(context)? {
            let entry = entry.with_context(context)?;
            let Some(name) = entry.file_name().to_str().ok().filter(|n| n.ends_with(SUFFIX)) else {
                continue;
            };
            let Some(day) = DayFile::parse(name) else { continue };
            let stat = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
            let length = stat.map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
            files.push((day, length));
        }
        files.sort();
        Ok(files)
    }
}

/// Whether the disk, or its owner's share of it, is full.
fn is_full(error: &anyhow::Error) -> bool {
    let system = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    let code = system.and_then(std::io::Error::raw_os_error);
    [Errno::NOSPC, Errno::DQUOT].iter().any(|errno| code == Some(errno.raw_os_error()))
}
