//! Which systemd this machine has, by its own library: nothing is run, nobody is asked.

use crate::root::Root;

/// Where distributions keep its private library; some below a directory of the architecture.
const FOLDERS: [&str; 4] = ["usr/lib", "usr/lib64", "lib", "lib64"];

/// Its version, such as 252; `None`: there is none, or it is not where it usually is.
pub fn version(root: &Root) -> Option<u32> {
    let mut found = None;
    for folder in FOLDERS {
        let within = root.names(folder, true);
        let inner = within.iter().map(|name| format!("{folder}/{name}/systemd"));
        for place in std::iter::once(format!("{folder}/systemd")).chain(inner) {
            let names = root.names(&place, false);
            found = names.iter().filter_map(|name| of_library(name)).max().max(found);
        }
    }
    found
}

/// `libsystemd-shared-252.so`, `libsystemd-shared-256.7-1.fc41.so`.
fn of_library(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("libsystemd-shared-")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn the_version_is_in_the_name_of_the_library() {
        let scratch = Scratch::new();
        let root = Root::at(&scratch);
        assert_eq!(version(&root), None);
        for (folder, name, expected) in [
            ("usr/lib/x86_64-linux-gnu/systemd", "libsystemd-shared-252.so", 252),
            ("usr/lib64/systemd", "libsystemd-shared-261.7-1.el.so", 261),
        ] {
            std::fs::create_dir_all(scratch.join(folder)).expect("a folder");
            std::fs::write(scratch.join(folder).join(name), "").expect("a file");
            assert_eq!(version(&root), Some(expected));
        }
        assert_eq!(of_library("libsystemd-core-252.so"), None);
    }
}
