//! What an experiment that was killed has left beside settings: its directory and its cgroup.

use crate::group::Group;
use hugewise_linux::root::Root;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What [`crate::session::Session`] and [`Group`] call those of an experiment, before its pid.
const PREFIX: &str = "hugewise-lab-";

/// Removes them. Whoever calls this holds the lock of experiments: no other one is running.
pub(crate) fn clear(root: &Root) {
    let is_dead = |name: &str| is_of_dead(root, name);
    directories(&std::env::temp_dir(), &is_dead);
    for parent in Group::parents() {
        for name in names(&parent).filter(|name| is_dead(name)) {
            // Only an empty one goes.
            let _ = std::fs::remove_dir(parent.join(name));
        }
    }
}

/// Removes this user's directories of dead experiments; what only looks like one is left alone.
fn directories(parent: &Path, is_dead: &dyn Fn(&str) -> bool) {
    let own = rustix::process::geteuid().as_raw();
    for name in names(parent).filter(|name| is_dead(name)) {
        let path = parent.join(name);
        let is_ours = |data: std::fs::Metadata| data.is_dir() && data.uid() == own;
        if std::fs::symlink_metadata(&path).is_ok_and(is_ours) {
            // It never follows symbolic links. What cannot be removed harms nobody.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn names(parent: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Whether a name is one of an experiment whose process is gone.
fn is_of_dead(root: &Root, name: &str) -> bool {
    let pid = name.strip_prefix(PREFIX).filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
    let pid = pid.and_then(|pid| pid.parse::<u32>().ok()).filter(|pid| *pid > 0);
    pid.is_some_and(|pid| !root.path(format!("proc/{pid}")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn only_directories_of_dead_experiments_go() {
        let scratch = Scratch::new();
        let root = Root::at(&scratch.join("root"));
        fs::create_dir_all(root.path("proc/7")).expect("mkdir");
        let temp = scratch.join("temp");
        for name in ["hugewise-lab-7", "hugewise-lab-8", "hugewise-lab-", "hugewise-lab-8x", "x"] {
            fs::create_dir_all(temp.join(name).join("run")).expect("mkdir");
        }
        fs::write(temp.join("hugewise-lab-8/run/dump.rdb"), "x").expect("write");
        fs::write(temp.join("hugewise-lab-9"), "a file").expect("write");
        std::os::unix::fs::symlink(temp.join("x"), temp.join("hugewise-lab-10")).expect("link");
        directories(&temp, &|name| is_of_dead(&root, name));
        let left: BTreeSet<String> = names(&temp).collect();
        let expected = [
            "hugewise-lab-",
            "hugewise-lab-10",
            "hugewise-lab-7",
            "hugewise-lab-8x",
            "hugewise-lab-9",
            "x",
        ];
        assert_eq!(left, expected.map(str::to_owned).into());
        assert!(temp.join("x/run").exists(), "a link was followed");
    }
}
