//! Where the token comes from.

use crate::exit;
use crate::output::refused;
use anyhow::Context;
use hugewise_linux::nobody::random_hex;
use hugewise_linux::save::{self, SaveError};
use hugewise_serve::Token;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Random bytes of a token: twice as many bits as nobody guesses.
const BYTES: usize = 32;
/// A longer file is none with a token in it.
const LONGEST: u64 = 4096;

/// A new token, or the one in a file, which is made where it is missing.
///
/// # Errors
/// The file cannot be read or made, or is no token; exit code 6 where others can read it.
pub(super) fn token(file: Option<&Path>) -> anyhow::Result<Token> {
    let Some(path) = file else { return new().map(|(token, _)| token) };
    let shown = path.display();
    match save::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0) {
        Ok(file) => read(path, file),
        Err(SaveError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let mut file = save::open(path, flags, 0o600).map_err(refused)?;
            let (token, text) = new()?;
            file.write_all(format!("{text}\n").as_bytes())
                .with_context(|| format!("cannot write the token to {shown}"))?;
            Ok(token)
        }
        Err(SaveError::Io { error, .. })
            if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) =>
        {
            let why = format!("the token file {shown} is a link: give the file that it leads to");
            Err(exit::coded(exit::REFUSED, why))
        }
        Err(SaveError::Io { error, .. }) => {
            Err(error).with_context(|| format!("cannot read the token in {shown}"))
        }
        Err(error) => Err(refused(error)),
    }
}

fn new() -> anyhow::Result<(Token, String)> {
    let text = random_hex(BYTES).context("the kernel gives no random numbers")?;
    let token = Token::new(&text).map_err(anyhow::Error::msg)?;
    Ok((token, text))
}

fn read(path: &Path, file: File) -> anyhow::Result<Token> {
    let shown = path.display();
    let meta = file.metadata()?;
    anyhow::ensure!(meta.is_file(), "{shown} is not a regular file: give the path of one");
    // A secret of Kubernetes belongs to root and to the group that reads it.
    let is_for_group = meta.gid() == rustix::process::getegid().as_raw() && meta.gid() != 0;
    let others = if is_for_group { 0o037 } else { 0o077 };
    let why = if meta.mode() & others != 0 {
        Some("can be read by others: chmod 600, and put another token in it")
    } else if ![0, rustix::process::geteuid().as_raw()].contains(&meta.uid()) {
        Some("belongs to another user: give a file of your own")
    } else {
        None
    };
    if let Some(why) = why {
        return Err(exit::coded(exit::REFUSED, format!("the token file {shown} {why}")));
    }
    let mut text = String::new();
    file.take(LONGEST)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read the token in {shown}"))?;
    let remedy = "remove the file, and it is made anew";
    Token::new(&text).map_err(|why| anyhow::anyhow!("{shown}: {why}; {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_has_the_same_token_each_time_and_nobody_else_reads_it() {
        let dir = Scratch::new();
        let path = dir.join("token");
        let first = token(Some(&path)).expect("made");
        assert_eq!(token(Some(&path)).expect("read"), first);
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode));
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&path).expect("ours").trim(), first.reveal());
        mode(0o640).expect("ours");
        let error = token(Some(&path)).expect_err("others read it");
        assert_eq!(exit::of_error(&error), exit::REFUSED);
        assert!(error.to_string().contains("chmod 600"), "{error:#}");
        mode(0o600).expect("ours");
        fs::write(&path, "short\n").expect("ours");
        let error = token(Some(&path)).expect_err("no token").to_string();
        assert!(error.contains("32 letters") && error.contains("made anew"), "{error}");
        assert_ne!(token(None).expect("made"), token(None).expect("made"));
    }

    #[test]
    fn links_and_what_is_no_file_are_refused() {
        let dir = Scratch::new();
        let (file, link) = (dir.join("token"), dir.join("link"));
        token(Some(&file)).expect("made");
        std::os::unix::fs::symlink(&file, &link).expect("made");
        let error = token(Some(&link)).expect_err("a link");
        assert_eq!(exit::of_error(&error), exit::REFUSED);
        assert!(error.to_string().contains("is a link"), "{error:#}");
        token(Some(dir.path())).expect_err("a directory");
    }
}
