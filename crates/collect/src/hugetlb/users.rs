//! Names of users.

use hugewise_linux::process;
use hugewise_linux::root::Root;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The user whom a file or directory belongs to; `None` where either is not known.
pub fn owner(root: &Root, path: &Path) -> Option<String> {
    let uid = fs::metadata(path).ok()?.uid();
    process::users(root).remove(&uid)
}

/// Whether there is a user with this name; `None` where `/etc/passwd` does not have it and is
/// missing, or not the only place for users (nsswitch.conf(5)), such as a directory service.
pub fn exists(root: &Root, name: &str) -> Option<bool> {
    let users = process::users(root);
    if users.values().any(|user| user == name) {
        return Some(true);
    }
    let services = root.read("etc/nsswitch.conf").unwrap_or_default();
    let services = String::from_utf8_lossy(&services);
    let line = services.lines().find_map(|line| line.trim().strip_prefix("passwd:"));
    let mut places = line.unwrap_or("files").split_whitespace();
    // systemd's are users of services that run, and of containers.
    let local = places.all(|place| ["files", "compat", "systemd", "mymachines"].contains(&place));
    (local && !users.is_empty()).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn only_a_machine_that_has_all_users_in_a_file_lacks_one() {
        let scratch = Scratch::new();
        let root = Root::at(scratch.path());
        assert_eq!(exists(&root, "a"), None);
        fs::create_dir(root.path("etc")).expect("mkdir");
        fs::write(root.path("etc/passwd"), "a:x:7:7::/:/bin/sh\n").expect("write");
        assert_eq!((exists(&root, "a"), exists(&root, "b")), (Some(true), Some(false)));
        let switch = |line: &str| fs::write(root.path("etc/nsswitch.conf"), line).expect("write");
        switch("# x\npasswd:\tfiles systemd\ngroup: files\n");
        assert_eq!(exists(&root, "b"), Some(false));
        switch("passwd: files sss\n");
        assert_eq!((exists(&root, "a"), exists(&root, "b")), (Some(true), None));
    }
}
