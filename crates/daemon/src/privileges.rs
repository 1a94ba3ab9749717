//! What root would add to a command.

use hugewise_console::say::note;
use hugewise_linux::probe;
use hugewise_linux::root::Root;

/// Says in one line what a command would do beyond this for root; nothing where nothing is missing.
pub fn say_what_root_adds(root: &Root, command: &str, what: &str) {
    if !root.is_live() {
        return;
    }
    if let Some(shortfall) = probe::privileges(root).shortfall() {
        note(&format!("{shortfall}: as root, 'hugewise {command}' also {what}"));
    }
}

/// Whether this process is root's.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
