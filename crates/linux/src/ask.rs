//! Asks a program of the system a harmless question, such as which version it is.
//!
//! Only programs that nobody but root can change are started, as a user that is nobody else, in a
//! sandbox, with an empty environment and a deadline. What they answer is believed by nobody
//! without a check of its form.

use crate::nobody::Nobody;
use crate::root::Root;
use crate::running::{GRACE, Running, read_aside};
use crate::trust;
use hugewise_sys::sandbox::Sandbox;
use hugewise_sys::session;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long an answer may take: a Java program needs half a second on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(3);
/// Most bytes of an answer; the rest is cut off.
const BYTES_MAX: u64 = 4096;

/// What a program prints, to standard output or else to standard error.
///
/// # Errors
/// `PermissionDenied` where others than root can change the program or a directory above it;
/// otherwise as the system says, `TimedOut` after 3 s, and `InvalidData` for what is no text.
pub fn answer(program: &Path, arguments: &[String]) -> io::Result<String> {
    let program = trusted(program)?;
    let user = Nobody::pick(&Root::live())?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ids = user.map(|user| (user.uid, user.gid));
    session::without_privileges(&mut command, ids, Sandbox::of_reader()?);
    let mut running = Running(command.spawn()?);
    let Some((says, complains)) = running.0.stdout.take().zip(running.0.stderr.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    let until = Instant::now() + TIME_MAX;
    let (says, complains) = (read_aside(says, BYTES_MAX), read_aside(complains, BYTES_MAX));
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let says = says.recv_timeout(TIME_MAX).map_err(late)??;
    if running.wait(until)?.is_none() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let bytes = match says.is_empty() {
        true => complains.recv_timeout(GRACE).map_err(late)??,
        false => says,
    };
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no text"))
}

/// The path without links of a file that only root can change, as it can all directories above it.
///
/// # Errors
/// As the system says; `PermissionDenied` where others can change one of them.
pub fn trusted(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    for place in path.ancestors() {
        if !trust::is_roots(&place.metadata()?) {
            let what = format!("{} can be changed by others than root", place.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_of_the_system_answers() {
        let said = answer(Path::new("/bin/cat"), &["--version".to_owned()]).expect("an answer");
        assert!(said.contains("cat"), "{said}");
        let id = answer(Path::new("/usr/bin/id"), &["-u".to_owned()]).expect("an answer");
        assert!(id.trim() != "0", "{id}");
    }

    #[test]
    fn nothing_is_started_that_others_can_change() {
        let scratch = Scratch::new();
        let program = scratch.join("program");
        fs::write(&program, "#!/bin/sh\necho 8.0\n").expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
        // A temporary directory is everybody's.
        let error = answer(&program, &[]).expect_err("not trusted");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        let error = answer(Path::new("/nowhere/program"), &[]).expect_err("not there");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_answer_that_does_not_come_is_not_waited_for() {
        let error = answer(Path::new("/bin/sleep"), &["60".to_owned()]).expect_err("too late");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
