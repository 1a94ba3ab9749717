//! Files that a user asks for by name: reports, pictures, recordings.
//!
//! Root is asked to write into `/tmp`, and whoever else writes there may have been first. So every
//! component of a path is opened on its own: a symbolic link is followed where it is ours or
//! root's, and else refused by name. A file is written under a name that nobody knows and then
//! renamed: what had its name before, a link or another name of a precious file, is replaced and
//! not written through.

mod error;
mod socket;
mod walk;

pub use error::SaveError;
use error::{io_error, is_ours};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
pub use socket::listen;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use walk::{Last, Place, fresh_name};

/// Mode of a file that nothing else is said about; the umask takes from it.
const MODE: u32 = 0o666;
/// Mode of directories on the way to a file.
pub const DIRECTORY: u32 = 0o755;

/// A file that is going to be written: by then it is known that it can be.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    way: Way,
}

/// How it is written.
#[derive(Debug)]
enum Way {
    /// Under another name, with this mode, and then renamed.
    Renamed(Place, u32),
    /// Into the file that is there, which is ours.
    InPlace(File),
    /// Into a pipe, a device, or what is open already.
    Stream(File),
}

impl Draft {
    /// Begins. Nothing is changed before [`Draft::finish`], but for a file that was named by an
    /// open descriptor.
    ///
    /// # Errors
    /// See [`SaveError`].
    pub fn begin(path: &Path) -> Result<Self, SaveError> {
        let place = walk::place(path)?;
        let way = match &place.last {
            Last::Nothing => {
                try_name(path, &place)?;
                Way::Renamed(place, MODE)
            }
            Last::Regular(owner, mode) => {
                let own = is_ours(*owner);
                // A file that only its owner reads stays one.
                let mode = if own { *mode } else { MODE };
                match try_name(path, &place) {
                    Ok(()) => Way::Renamed(place, mode),
                    // A file alone may be writable where its directory is not.
                    Err(SaveError::Io { error, .. }) if own && takes_no_names(&error) => {
                        Way::InPlace(in_place(path, &place)?)
                    }
                    Err(error) => return Err(error),
                }
            }
            Last::Descriptor => {
                let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOCTTY;
                let fd = openat(&place.folder, &place.name, flags, Mode::empty());
                Way::Stream(File::from(fd.map_err(|errno| io_error(path, errno))?))
            }
            Last::Other(kind, owner) => Way::Stream(stream(path, &place, *kind, *owner)?),
        };
        Ok(Self { path: path.to_owned(), way })
    }

    /// Writes it; it is whole, or as it was.
    ///
    /// # Errors
    /// As the system says.
    pub fn finish(self, bytes: &[u8]) -> Result<(), SaveError> {
        let failed = |error| io_error(&self.path, error);
        match self.way {
            Way::Stream(mut file) => file.write_all(bytes).map_err(failed),
            Way::InPlace(file) => overwrite(file, bytes).map_err(failed),
            Way::Renamed(place, mode) => match renamed(&self.path, &place, mode, bytes) {
                // A file that is mounted, as into a container, cannot be replaced.
                Err(SaveError::Io { error, .. })
                    if Errno::from_io_error(&error) == Some(Errno::BUSY) =>
                {
                    overwrite(in_place(&self.path, &place)?, bytes).map_err(failed)
                }
                done => done,
            },
        }
    }
}

/// Whether a directory takes a new name: tried now, so that a killed program leaves nothing.
fn try_name(path: &Path, place: &Place) -> Result<(), SaveError> {
    let (name, _) = fresh(path, place, 0o600)?;
    let removed = unlinkat(&place.folder, &name, AtFlags::empty());
    removed.map_err(|errno| io_error(path, errno))
}

/// A new file with these bytes, in place of what had its name.
fn renamed(path: &Path, place: &Place, mode: u32, bytes: &[u8]) -> Result<(), SaveError> {
    let (new, mut file) = fresh(path, place, mode)?;
    let written = file.write_all(bytes).and_then(|()| match &place.last {
        Last::Regular(owner, _) if is_ours(*owner) => {
            file.set_permissions(Permissions::from_mode(mode))
        }
        _ => Ok(()),
    });
    let renamed =
        written.and_then(|()| Ok(renameat(&place.folder, &new, &place.folder, &place.name)?));
    renamed.map_err(|error| {
        let _ = unlinkat(&place.folder, &new, AtFlags::empty());
        io_error(path, error)
    })
}

fn overwrite(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(bytes)
}

/// Writes a file.
///
/// # Errors
/// See [`SaveError`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), SaveError> {
    Draft::begin(path)?.finish(bytes)
}

/// Writes a file that is not there yet.
///
/// # Errors
/// See [`SaveError`]; `AlreadyExists` where something has its name.
pub fn create(path: &Path, bytes: &[u8]) -> Result<(), SaveError> {
    let place = walk::place(path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(&place.folder, &place.name, flags, Mode::from_raw_mode(MODE));
    let mut file = File::from(fd.map_err(|errno| io_error(path, errno))?);
    file.write_all(bytes).map_err(|error| io_error(path, error))
}

/// A new, empty file that is written bit by bit, and that only its owner reads. A regular file that
/// had its name is replaced at once; nothing else is.
///
/// # Errors
/// See [`SaveError`].
pub fn begin_anew(path: &Path) -> Result<File, SaveError> {
    let place = walk::place(path)?;
    let what = match &place.last {
        Last::Nothing | Last::Regular(..) => None,
        Last::Descriptor => Some("an open file of this process"),
        Last::Other(kind, _) => Some(name_of(*kind)),
    };
    if let Some(what) = what {
        return Err(SaveError::NotRegular { path: path.display().to_string(), what });
    }
    let (new, file) = fresh(path, &place, 0o600)?;
    if let Err(errno) = renameat(&place.folder, &new, &place.folder, &place.name) {
        let _ = unlinkat(&place.folder, &new, AtFlags::empty());
        return Err(io_error(path, errno));
    }
    Ok(file)
}

/// Opens a file to write to it or to read it, as these flags say, with the last component of its
/// path not followed.
///
/// # Errors
/// See [`SaveError`].
pub fn open(path: &Path, flags: OFlags, mode: u32) -> Result<File, SaveError> {
    let place = walk::unfollowed(path)?;
    if matches!(place.last, Last::Other(FileType::Symlink, _)) {
        // In /tmp the kernel itself says only that permission is denied.
        return Err(io_error(path, Errno::LOOP));
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(&place.folder, &place.name, flags, Mode::from_raw_mode(mode));
    fd.map(File::from).map_err(|errno| io_error(path, errno))
}

/// A directory, opened to be read, whoever decides what is in it.
///
/// # Errors
/// See [`SaveError`].
pub fn directory(path: &Path) -> Result<File, SaveError> {
    walk::directory(path).map(File::from)
}

/// A directory, opened; with `make` it and those above it are made with that mode where they are
/// missing. Refused where somebody else than root and this user decides what is in one of them, for
/// what is written there is believed later.
///
/// # Errors
/// See [`SaveError`].
pub fn guarded_directory(path: &Path, make: Option<u32>) -> Result<File, SaveError> {
    walk::guarded_directory(path, make).map(File::from)
}

/// The same for a directory of our own, made where it is missing; those above it must be there. One
/// of somebody else is refused: they could take away or exchange what is written there.
///
/// # Errors
/// See [`SaveError`].
pub fn new_directory(path: &Path, mode: u32) -> Result<File, SaveError> {
    let folder = match guarded_directory(path, None) {
        Err(SaveError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            let place = walk::place(path)?;
            let made = mkdirat(&place.folder, &place.name, Mode::from_raw_mode(mode));
            made.map_err(|errno| io_error(path, errno))?;
            guarded_directory(path, None)?
        }
        found => found?,
    };
    let owner = folder.metadata().map_err(|error| io_error(path, error))?.uid();
    if owner == rustix::process::geteuid().as_raw() {
        return Ok(folder);
    }
    Err(SaveError::Foreign { path: path.display().to_string(), what: "a directory", owner })
}

/// A file of our own, with a name that nobody knew.
fn fresh(path: &Path, place: &Place, mode: u32) -> Result<(String, File), SaveError> {
    let name = fresh_name(path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(&place.folder, &name, flags, Mode::from_raw_mode(mode));
    Ok((name, File::from(fd.map_err(|errno| io_error(path, errno))?)))
}

/// Whether an error means that a directory takes no name, whatever a file in it takes.
fn takes_no_names(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::ACCESS, Errno::PERM, Errno::ROFS].contains(&errno))
}

/// A regular file of ours to write into; never one that has another name as well.
fn in_place(path: &Path, place: &Place) -> Result<File, SaveError> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = openat(&place.folder, &place.name, flags, Mode::empty());
    let file = File::from(fd.map_err(|errno| io_error(path, errno))?);
    let meta = file.metadata().map_err(|error| io_error(path, error))?;
    if meta.is_file() && is_ours(meta.uid()) && meta.nlink() == 1 {
        return Ok(file);
    }
    let what = "a file with another name, or of another user";
    Err(SaveError::NotRegular { path: path.display().to_string(), what })
}

/// A pipe or a character device: what was looked at is what is opened.
fn stream(path: &Path, place: &Place, kind: FileType, owner: u32) -> Result<File, SaveError> {
    let (shown, what) = (path.display().to_string(), name_of(kind));
    if !matches!(kind, FileType::Fifo | FileType::CharacterDevice) {
        return Err(SaveError::NotRegular { path: shown, what });
    }
    if !is_ours(owner) {
        return Err(SaveError::Foreign { path: shown, what, owner });
    }
    // A pipe that nobody reads would otherwise hold us up for ever.
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = openat(&place.folder, &place.name, flags | OFlags::CLOEXEC, Mode::empty());
    let file = File::from(fd.map_err(|errno| match errno {
        Errno::NXIO => io_error(path, io::Error::other("nobody reads from this pipe")),
        errno => io_error(path, errno),
    })?);
    let meta = file.metadata().map_err(|error| io_error(path, error))?;
    let same = meta.file_type().is_fifo() || meta.file_type().is_char_device();
    if !same || !is_ours(meta.uid()) {
        return Err(SaveError::NotRegular { path: shown, what: "another one than a moment ago" });
    }
    let blocking = rustix::fs::fcntl_setfl(&file, OFlags::empty());
    blocking.map_err(|errno| io_error(path, errno))?;
    Ok(file)
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a pipe",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a disk",
        FileType::Socket => "a socket",
        FileType::Directory => "a directory",
        _ => "no regular file",
    }
}

#[cfg(test)]
mod tests;
