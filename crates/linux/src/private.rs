//! A directory for what a program needs while it runs: nobody else enters it, knows its name
//! beforehand, or can put something else in its place.
//!
//! Whether its owner still lives is told by a lock on the directory itself, which the kernel takes
//! away however the owner ends. A pid would be another process's one day.

use crate::nobody::random_hex;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// Random bytes in a name.
const RANDOM: usize = 8;
/// How often another name is tried.
const TRIES: u32 = 8;
/// Whoever has no id in this user namespace, as the owner of `/tmp` in some containers.
pub(crate) const OVERFLOW: u32 = 65_534;

/// The directory; removed on drop with all that is in it.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    /// Locked. Only its owner can open it, so that nobody else can hold the lock.
    _lock: File,
}

impl PrivateDir {
    /// Makes one where temporary files are; `prefix` is how its name begins. Those of this prefix
    /// whose owner was killed go away.
    ///
    /// # Errors
    /// When it cannot be made, or others could take it away there.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::below(&std::env::temp_dir(), prefix)
    }

    /// The same, in another directory.
    ///
    /// # Errors
    /// See [`PrivateDir::new`].
    pub fn below(parent: &Path, prefix: &str) -> io::Result<Self> {
        keeps_names(parent)?;
        clear(parent, prefix);
        for _ in 0..TRIES {
            let path = parent.join(format!("{prefix}{}", random_hex(RANDOM)?));
            // This call follows no link, and takes nothing that is there.
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                // `None`: whoever clears up was faster than the lock.
                Ok(()) => match locked(&path)? {
                    Some(lock) => return Ok(Self { path, _lock: lock }),
                    None => continue,
                },
            }
        }
        Err(io::Error::other(format!("no name is free in '{}'", parent.display())))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the members of a group pass through to what is theirs below. They cannot list it.
    ///
    /// # Errors
    /// As the system says.
    pub fn open_to(&self, gid: u32) -> io::Result<()> {
        let_through(&self.path, gid)
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Lets the members of a group pass through a directory of ours, without listing it.
///
/// # Errors
/// As the system says.
pub fn let_through(directory: &Path, gid: u32) -> io::Result<()> {
    chown(directory, None, Some(gid))?;
    std::fs::set_permissions(directory, Permissions::from_mode(0o710))
}

/// Removes the directories of this prefix whose owner is gone: ours alone, and never through a
/// link. What cannot be removed harms nobody.
fn clear(parent: &Path, prefix: &str) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let is_random = |text: &str| {
            text.len() == 2 * RANDOM && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if !random.is_some_and(is_random) {
            continue;
        }
        let path = entry.path();
        // Held while it is removed: a new owner cannot believe that it is there.
        if let Ok(Some(_lock)) = locked(&path) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// A directory of ours, opened and locked; `None` where somebody else has the lock, or it is gone.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let own = rustix::process::geteuid().as_raw();
    let meta = file.metadata()?;
    if meta.uid() != own || meta.mode() & 0o027 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not ours alone"));
    }
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    }
    // It may have been removed between the two calls.
    let there = std::fs::symlink_metadata(path).ok();
    let same = |now: std::fs::Metadata| (now.dev(), now.ino()) == (meta.dev(), meta.ino());
    Ok(there.is_some_and(same).then_some(file))
}

/// An error where others could rename what is in a directory.
fn keeps_names(parent: &Path) -> io::Result<()> {
    let meta = std::fs::metadata(parent)?;
    let own = rustix::process::geteuid().as_raw();
    let (sticky, open) = (meta.mode() & 0o1000 != 0, meta.mode() & 0o022 != 0);
    let trusted = [0, own].contains(&meta.uid()) || (sticky && meta.uid() == OVERFLOW);
    if trusted && (sticky || !open) {
        return Ok(());
    }
    let why = format!(
        "in '{}' others can rename what is ours: name another directory in TMPDIR, one of your own \
         or one with the sticky bit",
        parent.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::symlink;

    const PREFIX: &str = "hugewise-x-";

    #[test]
    fn it_is_ours_alone_and_goes_away() {
        let scratch = Scratch::new();
        let one = PrivateDir::below(&scratch, PREFIX).expect("made");
        let other = PrivateDir::below(&scratch, PREFIX).expect("made");
        assert_ne!(one.path(), other.path());
        let mode = fs::metadata(one.path()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(one.path().join("file"), "x").expect("written");
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }

    #[test]
    fn only_those_of_the_dead_are_cleared() {
        let scratch = Scratch::new();
        let named = |digit: &str| scratch.join(format!("{PREFIX}{}", digit.repeat(2 * RANDOM)));
        let (dead, link, open) = (named("a"), named("b"), named("c"));
        let living = PrivateDir::below(&scratch, PREFIX).expect("made");
        for path in [&dead, &open, &scratch.join(format!("{PREFIX}7"))] {
            DirBuilder::new().mode(0o700).create(path).expect("made");
            fs::write(path.join("file"), "x").expect("written");
        }
        fs::set_permissions(&open, Permissions::from_mode(0o755)).expect("a mode");
        let precious = scratch.join("precious");
        DirBuilder::new().mode(0o700).create(&precious).expect("made");
        symlink(&precious, &link).expect("linked");
        symlink(&precious, dead.join("link")).expect("linked");
        fs::write(named("d"), "a file").expect("written");
        let _other = PrivateDir::below(&scratch, PREFIX).expect("made");
        assert!(!dead.exists(), "a dead one was left");
        assert!(living.path().exists() && precious.exists() && link.exists() && open.exists());
        assert!(named("d").exists() && scratch.join(format!("{PREFIX}7")).exists());
    }

    #[test]
    fn a_place_where_names_can_be_taken_away_is_refused() {
        let scratch = Scratch::new();
        fs::set_permissions(&*scratch, Permissions::from_mode(0o777)).expect("a mode");
        let error = PrivateDir::below(&scratch, PREFIX).expect_err("refused").to_string();
        assert!(error.contains("TMPDIR"), "{error}");
        fs::set_permissions(&*scratch, Permissions::from_mode(0o1777)).expect("a mode");
        assert!(PrivateDir::below(&scratch, PREFIX).is_ok());
        if rustix::process::geteuid().is_root() {
            chown(&*scratch, Some(65_533), None).expect("root");
            assert!(PrivateDir::below(&scratch, PREFIX).is_err(), "its owner renames anything");
        }
    }
}
