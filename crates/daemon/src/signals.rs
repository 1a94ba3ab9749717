//! Signals of a running manager, as events of its loop.

use anyhow::Context;
use hugewise_linux::signals;
use hugewise_manager::engine::Wake;
use std::sync::mpsc::Sender;

/// Turns signals into events, so that none which can be handled ends the manager before its
/// settings are back; from then on a further one does nothing. Left as they are: those that mean a
/// fault of the program itself (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP), and Ctrl-Z.
pub(crate) fn listen(events: Sender<Wake>) -> anyhow::Result<()> {
    use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};
    signals::survive_harmless().context("cannot handle signals")?;
    // Who runs it in a terminal wants it to end with that, unless it was told to ignore it (nohup);
    // a daemon has none, and reads its configuration again.
    let outlives = !signals::has_terminal() || signals::is_ignored(SIGHUP);
    let hangup = if outlives { Wake::Reload } else { Wake::Stop };
    // SIGABRT comes from a watchdog; SIGXCPU, some time before SIGKILL, from a limit of CPU time.
    let handled = [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGABRT, SIGXCPU];
    let mut signals = signal_hook::iterator::Signals::new(handled)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let wake = if signal == SIGHUP { hangup } else { Wake::Stop };
            if events.send(wake).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}
