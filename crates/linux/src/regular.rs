//! Opens files that strangers may have put there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What this process opened before it gave up the right to.
static AHEAD: OnceLock<BTreeMap<PathBuf, Ahead>> = OnceLock::new();

#[derive(Debug)]
enum Ahead {
    File(File),
    /// Why there is no file.
    Refused(String),
    Directory(Vec<PathBuf>),
}

/// Opens files, and the files of directories, for a process that is about to lose the right to:
/// from then on [`open`], [`entries`] and [`is_directory`] know them by these paths.
pub fn open_ahead(paths: &[PathBuf]) {
    // A capture has a file for each sample.
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    let mut all = BTreeMap::new();
    for path in paths {
        if let Some(within) = path.is_dir().then(|| entries(path).ok()).flatten() {
            all.extend(within.iter().map(|file| (file.clone(), ahead(file))));
            all.insert(path.clone(), Ahead::Directory(within));
        } else {
            all.insert(path.clone(), ahead(path));
        }
    }
    let _ = AHEAD.set(all);
}

fn ahead(path: &Path) -> Ahead {
    open(path).map_or_else(|error| Ahead::Refused(error.to_string()), Ahead::File)
}

/// A file that was opened ahead, at its start; `None`: this path was not.
pub fn opened_ahead(path: &Path) -> Option<io::Result<File>> {
    match AHEAD.get()?.get(path)? {
        Ahead::File(file) => Some(file.try_clone().and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        })),
        Ahead::Refused(why) => Some(Err(io::Error::other(why.clone()))),
        Ahead::Directory(_) => None,
    }
}

/// Whether this is a directory, to [`entries`] of which this process has the right.
pub fn is_directory(path: &Path) -> bool {
    let ahead = AHEAD.get().and_then(|all| all.get(path));
    ahead.map_or_else(|| path.is_dir(), |ahead| matches!(ahead, Ahead::Directory(_)))
}

/// The paths of what is in a directory, in the order of their names.
///
/// # Errors
/// As the system says.
pub fn entries(path: &Path) -> io::Result<Vec<PathBuf>> {
    if let Some(Ahead::Directory(within)) = AHEAD.get().and_then(|all| all.get(path)) {
        return Ok(within.clone());
    }
    let entries = std::fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut all = entries.collect::<io::Result<Vec<_>>>()?;
    all.sort();
    Ok(all)
}

/// Opens a regular file for reading, also through a link. Anything else is refused without being
/// read: a pipe would wait for a writer, a device such as `/dev/zero` never ends.
///
/// # Errors
/// As the system says, and where it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    if let Some(ahead) = opened_ahead(path) {
        return ahead;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn only_regular_files_are_opened() {
        let scratch = Scratch::new();
        let (file, link, pipe) = (scratch.join("f"), scratch.join("l"), scratch.join("p"));
        std::fs::write(&file, "x").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .expect("a pipe");
        assert!(open(&file).is_ok() && open(&link).is_ok());
        for other in [pipe.as_path(), scratch.path(), Path::new("/dev/zero")] {
            let error = open(other).expect_err("no regular file");
            assert_eq!(error.to_string(), "not a regular file", "{}", other.display());
        }
    }
}
