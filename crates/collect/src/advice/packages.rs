//! Which package a file belongs to, from the lists of dpkg; of rpm, from its own answer.

use hugewise_linux::ask;
use hugewise_linux::root::Root;
use hugewise_linux::trust;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const LISTS: &str = "var/lib/dpkg/info";
const STATUS: &str = "var/lib/dpkg/status";
const RPM: &str = "/usr/bin/rpm";

/// Packages by file: name and version.
pub(super) fn of_files(
    root: &Root,
    files: &BTreeSet<String>,
) -> BTreeMap<String, (String, String)> {
    let mut found = of_dpkg(root, files);
    if root.is_live() && Path::new(RPM).is_file() && !root.has(STATUS) {
        for file in files {
            if let Some(package) = of_rpm(file) {
                found.insert(file.clone(), package);
            }
        }
    }
    found
}

/// The path without the `/usr` that links have made of `/bin`, `/lib` and `/sbin`.
fn plain(path: &str) -> &str {
    path.strip_prefix("/usr").unwrap_or(path)
}

fn of_dpkg(root: &Root, files: &BTreeSet<String>) -> BTreeMap<String, (String, String)> {
    let mut found = BTreeMap::new();
    if files.is_empty() || !is_roots(root, STATUS) {
        return found;
    }
    let versions = versions(&root.read_text(STATUS).unwrap_or_default());
    let wanted: BTreeMap<&str, &String> = files.iter().map(|file| (plain(file), file)).collect();
    for name in root.names(LISTS, false).into_iter().filter(|name| name.ends_with(".list")) {
        let path = format!("{LISTS}/{name}");
        if !is_roots(root, &path) {
            continue;
        }
        let text = root.read_text(&path).unwrap_or_default();
        // `libc6:amd64.list`
        let package = name.trim_end_matches(".list").split(':').next().unwrap_or_default();
        for file in text.lines().filter_map(|line| wanted.get(plain(line))) {
            if let Some(version) = versions.get(package) {
                found.insert((*file).clone(), (package.to_owned(), version.clone()));
            }
        }
    }
    found
}

fn is_roots(root: &Root, path: &str) -> bool {
    // Copies of another machine belong to the user who made them.
    !root.is_live() || fs::metadata(root.path(path)).is_ok_and(|meta| trust::is_roots(&meta))
}

/// Versions of installed packages (`/var/lib/dpkg/status`).
fn versions(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for paragraph in text.split("\n\n") {
        let field = |name: &str| {
            let mut lines = paragraph.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
        };
        let is_installed = field("Status").is_some_and(|status| status.ends_with(" installed"));
        if let (true, Some(name), Some(version)) =
            (is_installed, field("Package"), field("Version"))
        {
            found.insert(name, version);
        }
    }
    found
}

fn of_rpm(file: &str) -> Option<(String, String)> {
    let arguments = ["-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\\n", "--", file];
    let arguments = arguments.map(str::to_owned);
    let said = ask::answer(Path::new(RPM), &arguments).ok()?;
    let (name, version) = said.lines().next()?.split_once(' ')?;
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    (is_plain(name) && is_plain(version)).then(|| (name.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn a_file_belongs_to_the_package_that_lists_it() {
        let scratch = Scratch::new();
        let root = Root::at(scratch.path());
        fs::create_dir_all(scratch.join(LISTS)).expect("a folder");
        fs::write(scratch.join(LISTS).join("libc6:amd64.list"), "/.\n/lib/x/libc.so.6\n")
            .expect("");
        fs::write(scratch.join(LISTS).join("gone.list"), "/usr/bin/gone\n").expect("a file");
        let status = "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\n\n\
                      Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n";
        fs::write(scratch.join(STATUS), status).expect("a file");
        let files = ["/usr/lib/x/libc.so.6", "/usr/bin/gone", "/usr/bin/other"];
        let found = of_files(&root, &files.map(str::to_owned).into());
        assert_eq!(found.len(), 1, "{found:?}");
        let package = ("libc6".to_owned(), "2.36-9".to_owned());
        assert_eq!(found.get("/usr/lib/x/libc.so.6"), Some(&package));
    }
}
