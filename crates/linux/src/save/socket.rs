//! A UNIX socket at a path that a user names: nobody else connects to it, and nobody else can have
//! its name, whether or not its owner lives.

use super::error::{SaveError, decided_by_others, io_error, is_ours};
use super::walk::{self, Last, Place, fresh_name};
use rustix::fs::{AtFlags, FileType, Mode, chmodat, fstat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Mode of the socket: who connects may write.
const MODE: u32 = 0o600;
/// Connections that may wait; the kernel has a limit of its own (`net.core.somaxconn`).
const WAITING: i32 = 4096;

/// Listens on a socket of its owner alone. One of ours that nobody listens on is replaced; its name
/// stays when this process ends.
///
/// # Errors
/// See [`SaveError`]; `AddrInUse` where somebody listens there.
pub fn listen(path: &Path) -> Result<OwnedFd, SaveError> {
    let place = walk::guarded(path)?;
    let failed = |errno: Errno| io_error(path, errno);
    let stat = fstat(&place.folder).map_err(failed)?;
    if let Some(what) = decided_by_others(stat.st_uid, stat.st_mode, true) {
        let directory = path.parent().unwrap_or(path).display().to_string();
        return Err(SaveError::OpenDirectory { path: path.display().to_string(), directory, what });
    }
    is_free(path, &place)?;
    let name = fresh_name(path)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let socket = socket.map_err(failed)?;
    net::bind(&socket, &address(&place, &name).map_err(failed)?).map_err(failed)?;
    // Until it listens nobody can connect, whatever its mode was at first.
    let done = chmodat(&place.folder, &name, Mode::from_raw_mode(MODE), AtFlags::empty())
        .and_then(|()| net::listen(&socket, WAITING))
        .and_then(|()| renameat(&place.folder, &name, &place.folder, &place.name));
    if let Err(errno) = done {
        let _ = unlinkat(&place.folder, &name, AtFlags::empty());
        return Err(failed(errno));
    }
    Ok(socket)
}

/// An error where something has the name, other than a socket of ours that nobody listens on.
fn is_free(path: &Path, place: &Place) -> Result<(), SaveError> {
    let shown = path.display().to_string();
    match place.last {
        Last::Nothing => return Ok(()),
        Last::Other(FileType::Socket, owner) if is_ours(owner) => {}
        Last::Other(FileType::Socket, owner) => {
            return Err(SaveError::Foreign { path: shown, what: "a socket", owner });
        }
        _ => return Err(SaveError::NotSocket { path: shown }),
    }
    let failed = |errno: Errno| io_error(path, errno);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let name = place.name.to_string_lossy();
    match net::connect(probe.map_err(failed)?, &address(place, &name).map_err(failed)?) {
        Err(Errno::CONNREFUSED) => Ok(()),
        // Whoever listens has a full queue.
        Ok(()) | Err(Errno::AGAIN) => Err(failed(Errno::ADDRINUSE)),
        Err(errno) => Err(failed(errno)),
    }
}

/// A name in the directory that was opened, whatever its path is by now, and however long.
fn address(place: &Place, name: &str) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", place.folder.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use std::os::unix::net::UnixStream;

    /// What is refused, in words.
    fn refused(path: &Path) -> String {
        let error = listen(path).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
        error.to_string()
    }

    #[test]
    fn a_socket_is_its_owners_alone_and_replaces_one_that_is_left() {
        let scratch = Scratch::new();
        let path = scratch.join("http.sock");
        let first = listen(&path).expect("listens");
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o7777, 0o600);
        UnixStream::connect(&path).expect("connects");
        let error = listen(&path).expect_err("in use");
        assert!(!error.is_refusal() && error.to_string().contains("in use"), "{error}");
        drop(first);
        // A child that another test forks has the socket, too, until it becomes another program.
        let is_gone = || {
            std::thread::sleep(std::time::Duration::from_millis(10));
            UnixStream::connect(&path).is_err()
        };
        assert!((0..200).any(|_| is_gone()), "nobody listens");
        let _second = listen(&path).expect("replaced");
        UnixStream::connect(&path).expect("connects");
        assert_eq!(
            fs::read_dir(&*scratch).expect("a directory").count(),
            1,
            "nothing else is left"
        );
    }

    #[test]
    fn what_is_no_socket_of_ours_is_not_replaced() {
        let scratch = Scratch::new();
        let path = scratch.join("http.sock");
        fs::write(&path, "as it was").expect("written");
        assert!(refused(&path).contains("no socket"));
        assert_eq!(fs::read_to_string(&path).expect("there"), "as it was");
        if rustix::process::geteuid().is_root() {
            let socket = scratch.join("s");
            drop(listen(&socket).expect("listens"));
            chown(&socket, Some(65_533), None).expect("root");
            assert!(refused(&socket).contains("65533"));
        }
        symlink("new", scratch.join("link")).expect("linked");
        assert!(refused(&scratch.join("link")).contains("no socket"));
    }

    #[test]
    fn a_directory_in_which_others_put_names_is_refused() {
        let scratch = Scratch::new();
        let folder = scratch.join("folder");
        fs::create_dir(&folder).expect("made");
        // Also with the sticky bit: a name that is free may be anybody's.
        for mode in [0o777, 0o1777] {
            fs::set_permissions(&folder, Permissions::from_mode(mode)).expect("a mode");
            assert!(refused(&folder.join("http.sock")).contains("others may change"));
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("a mode");
        listen(&folder.join("http.sock")).expect("listens");
        if rustix::process::geteuid().is_root() {
            fs::create_dir(folder.join("own")).expect("made");
            chown(&folder, Some(65_533), None).expect("root");
            for path in ["http.sock", "own/http.sock"] {
                assert!(refused(&folder.join(path)).contains("another user"), "{path}");
            }
        }
    }
}
