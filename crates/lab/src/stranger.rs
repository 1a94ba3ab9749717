//! Programs of others, and what they leave behind: they run without privileges, in directories of
//! their own, and nothing that they wrote is believed.

use crate::programs;
use anyhow::{Context, bail};
use hugewise_experiment::kinds::User;
use hugewise_linux::nobody::Nobody;
use hugewise_linux::{private, save};
use rustix::fs::OFlags;
use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A larger file that a program has left is not read.
const MAX_BYTES: u64 = 1 << 30;
/// Variables that a program of others is given; any other one may hold a secret of the user who
/// runs hugewise, or lead to one. Those of the locale begin with `LC_`.
const GIVEN: [&str; 7] = ["JAVA_HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PATH", "TERM", "TZ"];

/// Who runs a program of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// This user, without privileges; where there is none, who runs hugewise, and without any
    /// further privilege.
    Stranger(Option<Nobody>),
    /// Who runs hugewise: the experiment says so.
    Caller,
}

impl Runner {
    /// As the parameter `user` of an experiment says.
    pub(super) fn of(asked: User, user: Option<Nobody>) -> Self {
        match asked {
            User::Own => Self::Stranger(user),
            User::Root => Self::Caller,
        }
    }

    /// Adds the arguments of the shim. `home` is where it may leave files.
    pub(super) fn apply(self, command: &mut Command, home: &Path) {
        let Self::Stranger(user) = self else { return };
        command.arg("--foreign");
        let Some(Nobody { uid, gid }) = user else { return };
        command.arg("--user").args([uid, gid].map(|id| id.to_string()));
        for (name, _) in std::env::vars_os() {
            let known = name.to_str().is_some_and(|n| GIVEN.contains(&n) || n.starts_with("LC_"));
            if !known {
                command.env_remove(name);
            }
        }
        command.env("HOME", home).env("TMPDIR", home);
    }

    /// Where a program is that this user can start.
    pub(super) fn find(self, program: &str) -> Option<PathBuf> {
        match self {
            Self::Stranger(Some(user)) => programs::find_for(program, user),
            Self::Stranger(None) | Self::Caller => programs::find(program),
        }
    }
}

/// Makes a directory of ours that programs of others pass through, and nobody else.
pub(super) fn passage(path: &Path, user: Option<Nobody>) -> anyhow::Result<()> {
    let what = || format!("cannot create {}", path.display());
    DirBuilder::new().mode(0o700).create(path).with_context(what)?;
    user.map_or(Ok(()), |user| private::let_through(path, user.gid)).with_context(what)
}

/// Makes an empty directory of a user alone, in one of ours.
pub(super) fn place(folder: &Path, name: &str, user: Option<Nobody>) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    let what = || format!("cannot create {}", path.display());
    DirBuilder::new().mode(0o700).create(&path).with_context(what)?;
    if let Some(Nobody { uid, gid }) = user {
        std::os::unix::fs::lchown(&path, Some(uid), Some(gid)).with_context(what)?;
    }
    Ok(path)
}

/// Writes a new file of ours that a user's programs may read, and nobody else.
pub(super) fn give(
    folder: &Path,
    name: &str,
    text: &str,
    user: Option<Nobody>,
) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    let what = || format!("cannot write {}", path.display());
    let mode = if user.is_some() { 0o640 } else { 0o600 };
    let made = File::options().write(true).create_new(true).mode(mode).open(&path);
    let mut file = made.with_context(what)?;
    if let Some(user) = user {
        fchown(&file, None, Some(user.gid)).with_context(what)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        // Whatever the umask has taken.
        file.set_permissions(mode).with_context(what)?;
    }
    file.write_all(text.as_bytes()).with_context(what)?;
    Ok(path)
}

/// A file that a program has written, wherever it could put a link or a pipe in its place.
pub(super) fn open(path: &Path) -> anyhow::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = save::open(path, flags, 0)?;
    if !file.metadata()?.is_file() {
        bail!("{} is no file", path.display());
    }
    Ok(file)
}

/// All of it.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let file = open(path)?;
    if file.metadata()?.len() > MAX_BYTES {
        bail!("{} is larger than 1 GiB", path.display());
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn directories_and_files_are_their_users_alone() -> anyhow::Result<()> {
        let scratch = Scratch::new();
        let root = rustix::process::geteuid().is_root();
        let user = root.then_some(Nobody { uid: 65_533, gid: 65_532 });
        let way = scratch.join("way");
        passage(&way, user)?;
        let (own, file) = (place(&way, "own", user)?, give(&way, "secret", "x", user)?);
        assert!(place(&way, "own", user).is_err() && give(&way, "secret", "y", user).is_err());
        let of = |path: &Path| {
            let meta = fs::metadata(path).expect("there");
            (meta.uid(), meta.gid(), meta.mode() & 0o777)
        };
        let (uid, gid) = (of(&scratch).0, of(&scratch).1);
        let expected = if root {
            [(0, 65_532, 0o710), (65_533, 65_532, 0o700), (0, 65_532, 0o640)]
        } else {
            [(uid, gid, 0o700), (uid, gid, 0o700), (uid, gid, 0o600)]
        };
        assert_eq!([of(&way), of(&own), of(&file)], expected);
        Ok(())
    }

    #[test]
    fn what_they_left_is_read_only_where_it_is_a_file() -> anyhow::Result<()> {
        let scratch = Scratch::new();
        fs::write(scratch.join("log"), "x")?;
        assert_eq!(read(&scratch.join("log"))?, b"x");
        symlink("log", scratch.join("link"))?;
        assert!(read(&scratch.join("link")).is_err());
        let pipe = scratch.join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0)?;
        let error = read(&pipe).expect_err("no file").to_string();
        assert!(error.contains("is no file"), "{error}");
        Ok(())
    }
}
