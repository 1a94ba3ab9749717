//! Where it is asked: on an address, on a socket of the command line's choice, or on one that the
//! service manager opened. The last two can become nobody else's while no server runs.

use crate::cli::Listen;
use crate::exit;
use crate::output::refused;
use anyhow::Context;
use hugewise_linux::handed_over;
use hugewise_linux::save;
use hugewise_serve::Listener;
use std::path::PathBuf;

/// Opens it, or takes the one that was handed over; with its path, where it is a UNIX socket.
///
/// # Errors
/// Exit code 2 where both are meant, or what was handed over is of no use; 6 where others could
/// have the name of a socket; else as the system says.
pub(super) fn open(wanted: Option<&Listen>) -> anyhow::Result<(Listener, Option<PathBuf>)> {
    if let Some(listener) = handed_over()? {
        if wanted.is_some() {
            let why = "--listen: systemd has handed a socket over: leave this option out, or \
                       disable the socket unit";
            return Err(exit::coded(exit::USAGE, why));
        }
        let path = listener.path();
        return Ok((listener, path));
    }
    match wanted.cloned().unwrap_or_default() {
        Listen::Address(address) => {
            let listener = Listener::bind(address).map_err(|error| {
                let other = "give another address with --listen";
                anyhow::anyhow!("cannot listen on {address} ({error}); {other}")
            })?;
            Ok((listener, None))
        }
        Listen::Socket(path) => {
            let socket = save::listen(&path).map_err(refused).context("--listen")?;
            Ok((Listener::of(socket)?, Some(path)))
        }
    }
}

/// The socket that systemd started this process with (`sd_listen_fds(3)`).
fn handed_over() -> anyhow::Result<Option<Listener>> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    // Else they were for the process that started this one.
    let is_ours = number("LISTEN_PID") == Some(std::process::id());
    let count = number("LISTEN_FDS").filter(|_| is_ours).unwrap_or(0);
    let useless = |why: String| exit::coded(exit::USAGE, format!("systemd has handed over {why}"));
    match count {
        0 => Ok(None),
        1 => handed_over::first().and_then(Listener::of).map(Some).map_err(|error| {
            useless(format!("something else than a socket to listen on ({error})"))
        }),
        _ => Err(useless(format!("{count} sockets: give its unit one ListenStream= only"))),
    }
}
