//! Opens files that strangers may have put there.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file for reading, also through a link. Anything else is refused without being
/// read: a pipe would wait for a writer, a device such as `/dev/zero` never ends.
///
/// # Errors
/// As the system says, and where it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
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
