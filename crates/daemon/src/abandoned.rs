//! Settings that a manager which was killed has left changed.

use hugewise_base::owner::STATE_DIR;
use hugewise_console::say::note;
use hugewise_linux::instance::{Role, held_by};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, revert};
use hugewise_manager::ownership::OWNER;
use std::path::Path;

/// Their files; none while a manager lives, or where its state may not be read.
pub fn changed(root: &Root, state_dir: &Path) -> Vec<String> {
    if !root.is_live() || held_by(Role::Manager).is_some() {
        return Vec::new();
    }
    let left = match revert(root, state_dir, &[(OWNER, "")], true) {
        Ok(left) => left,
        Err(error) if error.is_denied() => return Vec::new(),
        // It is there and cannot be read: what it records is still changed, whatever that is.
        Err(_) => return vec![state_dir.join(OWNER.trail).display().to_string()],
    };
    let changed = left.into_iter().filter_map(|step| match step {
        Restored::PutBack { file, .. } | Restored::Failed { file, .. } => Some(file),
        _ => None,
    });
    changed.collect()
}

/// One sentence about them; nothing where there are none.
pub fn sentence(root: &Root, state_dir: &Path) -> Option<String> {
    let settings = match changed(root, state_dir).len() {
        0 => return None,
        1 => "a kernel setting is".to_owned(),
        n => format!("{n} kernel settings are"),
    };
    let place = match state_dir == Path::new(STATE_DIR) {
        true => String::new(),
        false => format!(" --state-dir {}", state_dir.display()),
    };
    Some(format!(
        "{settings} still changed by a manager that was killed: 'hugewise revert{place}' puts the \
         old values back"
    ))
}

/// Says so, for commands whose answer those settings may explain.
pub fn say(root: &Root, state_dir: &Path) {
    if let Some(sentence) = sentence(root, state_dir) {
        note(&sentence);
    }
}
