//! From a path to an opened directory and a name in it, one component after another.

use super::error::{SaveError, decided_by_others, io_error, is_ours};
use crate::nobody::random_hex;
use rustix::fs::{
    FileType, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, mkdirat, open, openat, readlinkat,
};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows (`MAXSYMLINKS`, `include/linux/namei.h`).
const LINKS: usize = 40;

/// Random bytes in the name of a file that is not whole.
const RANDOM: usize = 12;

/// Where a file goes.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory, opened for its names only.
    pub(super) folder: OwnedFd,
    /// The name there.
    pub(super) name: OsString,
    /// What has that name.
    pub(super) last: Last,
}

/// What is at the end of a path.
#[derive(Debug)]
pub(super) enum Last {
    /// Nothing.
    Nothing,
    /// A regular file: its owner and permissions.
    Regular(u32, u32),
    /// An open file of a process, as `/dev/stdout` leads to: the link stands for it, whatever it
    /// is, and only the kernel follows it.
    Descriptor,
    /// Anything else, and its owner.
    Other(FileType, u32),
}

/// A name that nobody knew.
pub(super) fn fresh_name(path: &Path) -> Result<String, SaveError> {
    let random = random_hex(RANDOM).map_err(|error| io_error(path, error))?;
    Ok(format!(".hugewise-{random}.new"))
}

/// Where a file goes, with all links followed that may be.
pub(super) fn place(path: &Path) -> Result<Place, SaveError> {
    Walk::new(path, true, None)?.finish()
}

/// The same, without following the last component.
pub(super) fn unfollowed(path: &Path) -> Result<Place, SaveError> {
    Walk::new(path, false, None)?.finish()
}

/// The same, in a directory of which nobody else decides what is in it, nor in those above.
pub(super) fn guarded(path: &Path) -> Result<Place, SaveError> {
    Walk::guarded(path, false, None)?.finish()
}

/// A directory, opened to be read.
pub(super) fn directory(path: &Path) -> Result<OwnedFd, SaveError> {
    Walk::new(path, true, None)?.directory()
}

/// The same, made where it is missing if a mode is given. It and those above are ones of which
/// nobody else decides what is in them.
pub(super) fn guarded_directory(path: &Path, make: Option<u32>) -> Result<OwnedFd, SaveError> {
    Walk::guarded(path, true, make)?.directory()
}

struct Walk<'a> {
    path: &'a Path,
    /// How far it is, opened and in words.
    folder: OwnedFd,
    shown: PathBuf,
    /// What is still to come.
    left: VecDeque<OsString>,
    links: usize,
    follow_last: bool,
    make: Option<u32>,
    /// Whether directories on the way are checked.
    guarded: bool,
}

impl<'a> Walk<'a> {
    fn new(path: &'a Path, follow_last: bool, make: Option<u32>) -> Result<Self, SaveError> {
        let start = Path::new(if path.is_absolute() { "/" } else { "." });
        let folder = open(start, FOLDER, Mode::empty()).map_err(|errno| io_error(path, errno))?;
        let shown = if path.is_absolute() { "/".into() } else { PathBuf::new() };
        let left = names(path);
        Ok(Self { path, folder, shown, left, links: 0, follow_last, make, guarded: false })
    }

    /// Directories on the way are checked, the one that it starts in too.
    fn guarded(path: &'a Path, follow_last: bool, make: Option<u32>) -> Result<Self, SaveError> {
        let walk = Self { guarded: true, ..Self::new(path, follow_last, make)? };
        walk.check(&walk.folder, &walk.shown)?;
        Ok(walk)
    }

    fn finish(mut self) -> Result<Place, SaveError> {
        loop {
            if let Some(place) = self.step()? {
                return Ok(place);
            }
        }
    }

    fn directory(mut self) -> Result<OwnedFd, SaveError> {
        // A name after it: all that was given is on the way then.
        self.left.push_back(".".into());
        while !self.left.is_empty() {
            self.step()?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.folder, ".", flags, Mode::empty()).map_err(|errno| self.error(errno))
    }

    fn error(&self, error: impl Into<std::io::Error>) -> SaveError {
        io_error(self.path, error)
    }

    /// One component; the place where it was the last one.
    fn step(&mut self) -> Result<Option<Place>, SaveError> {
        let Some(name) = self.left.pop_front() else {
            return Err(self.error(Errno::ISDIR));
        };
        let is_last = self.left.is_empty();
        if [".", ".."].iter().any(|dots| name == *dots) {
            return self.enter(&name).map(|()| None);
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match openat(&self.folder, &name, flags, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::NOENT) if is_last && self.make.is_none() => {
                return self.end(name, Last::Nothing).map(Some);
            }
            Err(Errno::NOENT) if self.make.is_some() => {
                self.make(&name)?;
                openat(&self.folder, &name, flags, Mode::empty()).map_err(|e| self.error(e))?
            }
            Err(errno) => return Err(self.error(errno)),
        };
        let stat = fstat(&opened).map_err(|errno| self.error(errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if !is_last || self.follow_last => {
                self.follow(&name, &opened, stat.st_uid, is_last)
            }
            FileType::Directory if !is_last => {
                let shown = self.shown.join(&name);
                self.check(&opened, &shown)?;
                (self.folder, self.shown) = (opened, shown);
                Ok(None)
            }
            _ if !is_last => Err(self.error(Errno::NOTDIR)),
            FileType::RegularFile => {
                self.end(name, Last::Regular(stat.st_uid, stat.st_mode & 0o777)).map(Some)
            }
            kind => self.end(name, Last::Other(kind, stat.st_uid)).map(Some),
        }
    }

    /// A directory on the way, which is not a link.
    fn enter(&mut self, name: &OsStr) -> Result<(), SaveError> {
        let next = openat(&self.folder, name, FOLDER, Mode::empty());
        let (next, shown) = (next.map_err(|errno| self.error(errno))?, self.shown.join(name));
        self.check(&next, &shown)?;
        (self.folder, self.shown) = (next, shown);
        Ok(())
    }

    /// An error where somebody else decides what is in a directory on the way.
    fn check(&self, folder: &OwnedFd, shown: &Path) -> Result<(), SaveError> {
        if !self.guarded {
            return Ok(());
        }
        let stat = fstat(folder).map_err(|errno| self.error(errno))?;
        match decided_by_others(stat.st_uid, stat.st_mode, false) {
            None => Ok(()),
            Some(what) => Err(SaveError::OpenDirectory {
                path: self.path.display().to_string(),
                directory: Path::new(".").join(shown).display().to_string(),
                what,
            }),
        }
    }

    fn make(&self, name: &OsStr) -> Result<(), SaveError> {
        let mode = Mode::from_raw_mode(self.make.unwrap_or_default());
        match mkdirat(&self.folder, name, mode) {
            // Somebody else was faster: what they made is looked at like anything else.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(self.error(errno)),
        }
    }

    /// A link: what was opened is what is looked at and read.
    fn follow(
        &mut self,
        name: &OsStr,
        link: &OwnedFd,
        owner: u32,
        is_last: bool,
    ) -> Result<Option<Place>, SaveError> {
        let system = fstatfs(&self.folder).map_err(|errno| self.error(errno))?;
        if system.f_type == PROC_SUPER_MAGIC {
            // Not a path, whatever it reads as. Whose files those are the kernel has checked.
            if is_last {
                return self.end(name.to_owned(), Last::Descriptor).map(Some);
            }
            return self.enter(name).map(|()| None);
        }
        if !is_ours(owner) {
            return Err(SaveError::ForeignLink {
                path: self.path.display().to_string(),
                link: self.shown.join(name).display().to_string(),
                owner,
            });
        }
        self.links += 1;
        if self.links > LINKS {
            return Err(self.error(Errno::LOOP));
        }
        let target = readlinkat(link, "", Vec::new()).map_err(|errno| self.error(errno))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            self.folder = open("/", FOLDER, Mode::empty()).map_err(|errno| self.error(errno))?;
            self.shown = "/".into();
        }
        for name in names(&target).into_iter().rev() {
            self.left.push_front(name);
        }
        Ok(None)
    }

    fn end(&self, name: OsString, last: Last) -> Result<Place, SaveError> {
        let folder = self.folder.as_fd().try_clone_to_owned();
        Ok(Place { folder: folder.map_err(|error| self.error(error))?, name, last })
    }
}

/// How a directory on the way is opened: for its names only.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::RootDir | Component::Prefix(_) => None,
        part => Some(part.as_os_str().to_owned()),
    };
    path.components().filter_map(name).collect()
}
