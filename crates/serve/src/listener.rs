//! Where a server listens: a socket that somebody has opened for it.

use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncWrite};

/// A socket that listens.
#[derive(Debug)]
pub struct Listener(Socket);

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener),
}

impl Listener {
    /// Listens on an address.
    ///
    /// # Errors
    /// The address is not this machine's, or somebody else listens there.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        Ok(Self(Socket::Tcp(listener, address)))
    }

    /// Takes one that was opened elsewhere.
    ///
    /// # Errors
    /// It is no socket, or none that listens for connections over TCP or on this machine.
    pub fn of(file: OwnedFd) -> io::Result<Self> {
        let is_stream = socket_type(&file)? == SocketType::STREAM;
        if !is_stream || !socket_acceptconn(&file)? {
            return Err(io::Error::other("it is no socket that listens for connections"));
        }
        match socket_domain(&file)? {
            AddressFamily::INET | AddressFamily::INET6 => {
                let listener = TcpListener::from(file);
                let address = listener.local_addr()?;
                Ok(Self(Socket::Tcp(listener, address)))
            }
            AddressFamily::UNIX => Ok(Self(Socket::Unix(UnixListener::from(file)))),
            _ => Err(io::Error::other("it is neither a TCP nor a UNIX socket")),
        }
    }

    /// The address of TCP; `None`: a UNIX socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self.0 {
            Socket::Tcp(_, address) => Some(address),
            Socket::Unix(_) => None,
        }
    }

    /// The path of a UNIX socket, as it was opened with; `None` where it has none.
    pub fn path(&self) -> Option<PathBuf> {
        let Socket::Unix(listener) = &self.0 else { return None };
        listener.local_addr().ok()?.as_pathname().map(Path::to_owned)
    }

    /// The same within a runtime.
    pub(crate) fn accepting(self) -> io::Result<Accepting> {
        match self.0 {
            Socket::Tcp(listener, _) => {
                listener.set_nonblocking(true)?;
                tokio::net::TcpListener::from_std(listener).map(Accepting::Tcp)
            }
            Socket::Unix(listener) => {
                listener.set_nonblocking(true)?;
                tokio::net::UnixListener::from_std(listener).map(Accepting::Unix)
            }
        }
    }
}

impl From<Listener> for OwnedFd {
    fn from(listener: Listener) -> Self {
        match listener.0 {
            Socket::Tcp(listener, _) => listener.into(),
            Socket::Unix(listener) => listener.into(),
        }
    }
}

/// A connection, over whatever it came.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A socket from which connections are taken.
pub(crate) enum Accepting {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

impl Accepting {
    pub(crate) async fn next(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                Ok(Box::new(stream))
            }
            Self::Unix(listener) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpStream, UdpSocket};
    use std::os::unix::net::{UnixDatagram, UnixStream};

    #[test]
    fn only_sockets_that_listen_for_connections_are_taken() {
        let tcp = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port is free");
        let address = tcp.address().expect("TCP");
        let connected = TcpStream::connect(address).expect("connects");
        assert_eq!(Listener::of(tcp.into()).expect("listens").address(), Some(address));
        let (unix, datagram) = (UnixStream::pair(), UnixDatagram::pair());
        let (pipe, _) = io::pipe().expect("a pipe");
        let others: [OwnedFd; 5] = [
            connected.into(),
            UdpSocket::bind("127.0.0.1:0").expect("a port is free").into(),
            unix.expect("a pair").0.into(),
            datagram.expect("a pair").0.into(),
            pipe.into(),
        ];
        for other in others {
            Listener::of(other).expect_err("does not listen");
        }
    }
}
