//! Files that set settings of memory, by who reads them.

use hugewise_base::owner::Owner as TrailOwner;
use hugewise_evidence::advice::owners::{Owner, Statement, statements as of_text};
use hugewise_evidence::advice::setting::Setting;
use hugewise_linux::root::Root;
use hugewise_linux::trail::Trail;
use std::path::Path;

/// Folders, and what the names of their files end with.
const FOLDERS: [(Owner, &str, &str); 14] = [
    (Owner::Tmpfiles, "etc/tmpfiles.d", ".conf"),
    (Owner::Tmpfiles, "run/tmpfiles.d", ".conf"),
    (Owner::Tmpfiles, "usr/lib/tmpfiles.d", ".conf"),
    (Owner::Sysctl, "usr/lib/sysctl.d", ".conf"),
    (Owner::Sysctl, "run/sysctl.d", ".conf"),
    (Owner::Sysctl, "etc/sysctl.d", ".conf"),
    (Owner::Sysfs, "etc/sysfs.d", ".conf"),
    (Owner::Unit, "etc/systemd/system", ".service"),
    (Owner::Unit, "run/systemd/system", ".service"),
    (Owner::Unit, "usr/lib/systemd/system", ".service"),
    (Owner::Script, "etc/init.d", ""),
    (Owner::Script, "etc/rc.d/init.d", ""),
    (Owner::Saptune, "var/lib/saptune/working/notes", ""),
    (Owner::Saptune, "etc/saptune/extra", ".conf"),
];

const FILES: [(Owner, &str); 5] = [
    (Owner::KernelCommandLine, "proc/cmdline"),
    (Owner::Sysctl, "etc/sysctl.conf"),
    (Owner::Sysfs, "etc/sysfs.conf"),
    (Owner::Script, "etc/rc.local"),
    (Owner::Script, "etc/rc.d/rc.local"),
];

/// Where tuned has its profiles; the earlier one hides those of the same name in the later ones.
const PROFILES: [&str; 3] = ["etc/tuned/profiles", "etc/tuned", "usr/lib/tuned/profiles"];
const PROFILES_OLD: &str = "usr/lib/tuned";
/// The names of tuned's active profiles.
const ACTIVE: &str = "etc/tuned/active_profile";
/// Most profiles that include one another.
const PROFILES_MAX: usize = 16;
/// Larger files are no configuration.
const BYTES_MAX: usize = 1 << 20;

/// Lines that set settings of memory; `trails` are those of hugewise itself.
pub fn statements(root: &Root, state_dir: &Path, trails: &[TrailOwner]) -> Vec<Statement> {
    let mut all = Vec::new();
    let mut files: Vec<(Owner, String)> =
        FILES.iter().map(|(owner, file)| (*owner, (*file).to_owned())).collect();
    for (owner, folder, end) in FOLDERS {
        let names = root.names(folder, false).into_iter().filter(|name| name.ends_with(end));
        files.extend(names.map(|name| (owner, format!("{folder}/{name}"))));
    }
    for (owner, file) in files {
        let text = root.read_text(&file).unwrap_or_default();
        if text.len() <= BYTES_MAX {
            all.extend(of_text(owner, &format!("/{file}"), &text));
        }
    }
    all.extend(of_tuned(root));
    all.extend(of_own(root, state_dir, trails));
    all
}

fn of_tuned(root: &Root) -> Vec<Statement> {
    let mut all = Vec::new();
    let active = root.read_line(ACTIVE).unwrap_or_default();
    let mut names: Vec<String> = active.split_whitespace().map(str::to_owned).collect();
    let mut at = 0;
    while let Some(name) = names.get(at).cloned() {
        at += 1;
        let is_name = !name.contains('/') && !name.contains("..");
        let places = PROFILES.iter().chain([&PROFILES_OLD]);
        let mut paths = places.map(|place| format!("{place}/{name}/tuned.conf"));
        let Some(path) = paths.find(|path| is_name && root.has(path)) else { continue };
        let text = root.read_text(&path).unwrap_or_default();
        for line in text.lines().filter_map(|line| line.split_once('=')) {
            let included = line.1.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
            if line.0.trim() == "include" && names.len() < PROFILES_MAX {
                names.extend(included.map(str::to_owned));
            }
        }
        all.extend(of_text(Owner::Tuned, &format!("/{path}"), &text));
    }
    // What a profile includes is overridden by what it says itself: the first one counts.
    let mut seen = Vec::new();
    all.retain(|statement: &Statement| {
        let is_first = !seen.contains(&statement.setting);
        seen.push(statement.setting.clone());
        is_first
    });
    all
}

/// What hugewise itself has set and not put back.
fn of_own(root: &Root, state_dir: &Path, trails: &[TrailOwner]) -> Vec<Statement> {
    let mut all = Vec::new();
    for owner in trails {
        let Ok(trail) = Trail::existing(root.clone(), state_dir, *owner) else { continue };
        for (at, entry) in trail.entries().iter().enumerate() {
            let Some(setting) = Setting::of_file(&entry.file).filter(|_| entry.new != "*") else {
                continue;
            };
            all.push(Statement {
                owner: Owner::Hugewise,
                file: state_dir.join(owner.trail).display().to_string(),
                line: at + 1,
                setting,
                value: entry.new.clone(),
                ignored: None,
            });
        }
    }
    all
}
