//! What a service manager is told (sd_notify(3)): that the manager is ready, that its loop still
//! turns, that it ends. Without `NOTIFY_SOCKET` nobody is told anything.
//!
//! By hand, as it is one datagram to a UNIX socket whose name is in the environment.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The service manager's socket.
#[derive(Debug)]
pub(crate) struct Service {
    to: Option<(UnixDatagram, SocketAddr)>,
    ready: bool,
}

impl Service {
    /// The one that started this program, if it wants to be told.
    pub(crate) fn from_environment() -> Self {
        Self::at(std::env::var_os("NOTIFY_SOCKET").as_deref().and_then(address))
    }

    fn at(address: Option<SocketAddr>) -> Self {
        let socket = || {
            let socket = UnixDatagram::unbound().ok()?;
            // A service manager that does not listen must not stop the loop.
            socket.set_nonblocking(true).ok()?;
            Some(socket)
        };
        Self { to: address.and_then(|address| Some((socket()?, address))), ready: false }
    }

    /// The loop has gone round once more. The first time everything is set up; later it is what
    /// the watchdog waits for, and one message that is lost does no harm.
    pub(crate) fn alive(&mut self) {
        let said = if self.ready { "WATCHDOG=1" } else { "READY=1\nWATCHDOG=1" };
        self.ready |= self.say(said);
    }

    /// Settings are about to go back.
    pub(crate) fn ends(&self) {
        self.say("STOPPING=1");
    }

    fn say(&self, what: &str) -> bool {
        let Some((socket, address)) = &self.to else { return true };
        socket.send_to_addr(what.as_bytes(), address).is_ok()
    }
}

/// A path, or a name in the abstract name space, which begins with `@`.
fn address(name: &std::ffi::OsStr) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        // What systemd may add one day (vsock) is not for a service on the same machine.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    fn heard(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).expect("a datagram");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn it_is_ready_once_then_alive_then_ends() {
        let scratch = Scratch::new();
        let path = scratch.join("notify");
        let socket = UnixDatagram::bind(&path).expect("binds");
        let mut service = Service::at(address(path.as_os_str()));
        service.alive();
        service.alive();
        service.ends();
        assert_eq!(heard(&socket), "READY=1\nWATCHDOG=1");
        assert_eq!(heard(&socket), "WATCHDOG=1");
        assert_eq!(heard(&socket), "STOPPING=1");
    }

    #[test]
    fn an_abstract_name_is_understood_and_others_are_not() {
        let name = format!("@hugewise-test-{}", std::process::id());
        let bound = SocketAddr::from_abstract_name(&name.as_bytes()[1..]).expect("a name");
        let socket = UnixDatagram::bind_addr(&bound).expect("binds");
        Service::at(address(name.as_ref())).alive();
        assert_eq!(heard(&socket), "READY=1\nWATCHDOG=1");
        assert!(address("vsock:2:1234".as_ref()).is_none() && address("".as_ref()).is_none());
    }

    #[test]
    fn nobody_listening_stops_nothing() {
        let scratch = Scratch::new();
        let mut service = Service::at(address(scratch.join("gone").as_os_str()));
        service.alive();
        // Said again until somebody hears it.
        assert!(!service.ready);
        let mut nobody = Service::at(None);
        nobody.alive();
        assert!(nobody.ready);
    }
}
