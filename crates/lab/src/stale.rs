//! What an experiment that was killed has left beside settings: its cgroup. (Its directory goes
//! with the next one of its kind: [`hugewise_linux::private`].)

use crate::group::Group;
use hugewise_linux::root::Root;
use std::path::Path;

/// What [`Group`] calls that of an experiment, before its pid.
const PREFIX: &str = "hugewise-lab-";

/// Removes them. The caller holds the lock of experiments: no other one is running.
pub fn clear(root: &Root) {
    for parent in Group::parents() {
        for name in names(&parent).filter(|name| is_of_dead(root, name)) {
            // Only an empty one goes.
            let _ = std::fs::remove_dir(parent.join(name));
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
    use hugewise_scratch::Scratch;
    use std::fs;

    #[test]
    fn only_groups_of_dead_experiments_are_told() {
        let scratch = Scratch::new();
        let root = Root::at(&scratch.join("root"));
        fs::create_dir_all(root.path("proc/7")).expect("mkdir");
        let all = ["hugewise-lab-7", "hugewise-lab-8", "hugewise-lab-", "hugewise-lab-8x", "x"];
        let dead: Vec<&str> = all.into_iter().filter(|name| is_of_dead(&root, name)).collect();
        assert_eq!(dead, ["hugewise-lab-8"]);
    }
}
