//! Who sets the pools' sizes at boot: the kernel's command line, then sysctl's files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hugewise_base::parse::sysctl;
use hugewise_evidence::hugetlb::facts::ConfiguredLine;
use hugewise_evidence::hugetlb::recorded::{SETTINGS, configured_line};

use super::notes::Notes;
use hugewise_linux::root::Root;

/// The earlier one hides files of the same name in the later ones (sysctl.d(5), sysctl(8)).
const FOLDERS: [&str; 5] = [
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
    "/lib/sysctl.d",
];
/// Read last by `sysctl --system`; by systemd only where a link in a folder leads to it.
const LAST: &str = "/etc/sysctl.conf";
const PARAMETERS: &str = "/proc/cmdline";

/// The lines in the order in which they are applied.
pub(super) fn lines(root: &Root, notes: &mut Notes) -> Vec<ConfiguredLine> {
    let parameters = notes.text(root, PARAMETERS).unwrap_or_default();
    let found = sysctl::kernel_parameters(&parameters, &SETTINGS).into_iter();
    let mut lines: Vec<_> = found.map(|line| configured_line(PARAMETERS, line)).collect();
    for file in files(root) {
        let Some(text) = notes.text(root, &file) else { continue };
        let found = sysctl::parse(&text, &SETTINGS).value.into_iter();
        lines.extend(found.map(|line| configured_line(&file, line)));
    }
    lines
}

fn files(root: &Root) -> Vec<String> {
    let mut by_name: BTreeMap<String, &str> = BTreeMap::new();
    for folder in FOLDERS {
        for name in root.names(folder, false).into_iter().filter(|name| name.ends_with(".conf")) {
            by_name.entry(name).or_insert(folder);
        }
    }
    let last = root.has(LAST).then(|| fs::canonicalize(root.path(LAST)).ok()).flatten();
    let mut files: Vec<String> = Vec::new();
    for (name, folder) in by_name {
        match target(root, folder, &name) {
            // A link to /dev/null, or to nothing, only hides others of its name.
            None => {}
            Some(path) if last.as_ref() == Some(&path) => files.push(LAST.to_owned()),
            Some(_) => files.push(format!("{folder}/{name}")),
        }
    }
    if last.is_some() && !files.iter().any(|file| file == LAST) {
        files.push(LAST.to_owned());
    }
    files
}

/// The file behind a name; links lead to places below the root.
fn target(root: &Root, folder: &str, name: &str) -> Option<PathBuf> {
    let path = root.path(Path::new(folder).join(name));
    let target = match fs::read_link(&path) {
        Ok(target) if target == Path::new("/dev/null") => return None,
        Ok(target) if target.is_absolute() => root.path(target),
        _ => path,
    };
    // A file that must not be read is listed, and reported when it is read.
    match fs::canonicalize(&target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        found => Some(found.unwrap_or(target)),
    }
}
