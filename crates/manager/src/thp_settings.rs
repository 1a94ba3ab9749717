//! Settings of transparent huge pages, and of what they are made of, that an operator changes by
//! hand, with a way back.

use crate::ownership::{MIN_FREE, THP_DIR};
use hugewise_base::owner::Owner;
use hugewise_base::parse::thp_choice;
use serde::Serialize;

/// `thp set`: until `thp revert`, also over reboots where a file writes the values again.
pub const OWNER: Owner = Owner {
    trail: "thp.jsonl",
    owns: |file| file == MIN_FREE || key_of(file).is_some(),
    over_reboots: true,
};

/// The file of `thp set --persist`, which systemd-tmpfiles carries out at boot (tmpfiles.d(5)).
pub const FILE: &str = "etc/tmpfiles.d/hugewise-thp.conf";

/// Whose configuration files these are.
pub const FILES: Owner =
    Owner { trail: "thp-files.jsonl", owns: |file| file == FILE, over_reboots: true };

/// Settings elsewhere that decide whether the kernel has free blocks for huge pages.
pub const SYSCTLS: [(&str, &str); 2] = [
    ("vm.compaction_proactiveness", "proc/sys/vm/compaction_proactiveness"),
    ("vm.defrag_mode", "proc/sys/vm/defrag_mode"),
];

/// The key of a settings file: its path below the folder, such as `khugepaged/defrag`, or the name
/// of a sysctl.
fn key_of(file: &str) -> Option<&str> {
    if let Some((key, _)) = SYSCTLS.iter().find(|(_, path)| *path == file) {
        return Some(key);
    }
    file.strip_prefix(THP_DIR)?.strip_prefix('/').filter(|key| is_key(key))
}

/// Whether a text can be a key: nothing in it leads elsewhere.
fn is_key(key: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let name = |name: &str| !name.is_empty() && name.bytes().all(usual);
    let is_sysctl = SYSCTLS.iter().any(|(sysctl, _)| *sysctl == key);
    is_sysctl || (key.split('/').count() <= 2 && key.split('/').all(name))
}

/// The path below the root of a key's file.
pub fn file_of(key: &str) -> String {
    let sysctl = SYSCTLS.iter().find(|(sysctl, _)| *sysctl == key);
    sysctl.map_or_else(|| format!("{THP_DIR}/{key}"), |(_, path)| (*path).to_owned())
}

/// One change, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The key.
    pub key: String,
    /// The new value.
    pub value: String,
}

/// A setting as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Path below `/sys/kernel/mm/transparent_hugepage`, or the name of a sysctl.
    pub key: String,
    /// The value in force.
    pub value: String,
    /// The values that it can have; empty: a number.
    pub choices: Vec<String>,
    /// Its value before `thp set`; absent where that has not changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// A change that was made, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Path below `/sys/kernel/mm/transparent_hugepage`, or the name of a sysctl.
    pub key: String,
    /// Value before.
    pub from: String,
    /// Value that was asked for.
    pub to: String,
    /// What stands there now, read back; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

/// Whether a change leaves processes with huge pages that would not get them any more: the kernel
/// takes none away.
pub fn takes_away(change: &Changed) -> bool {
    let rank =
        |mode: &str| ["never", "madvise", "inherit", "always"].iter().position(|one| *one == mode);
    change.key.ends_with("enabled") && rank(&change.to) < rank(&change.from)
}

/// Reads `KEY=VALUE`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn asked(text: &str) -> Result<Asked, String> {
    let pair = text.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    let Some((key, value)) = pair.filter(|(key, value)| is_key(key) && !value.is_empty()) else {
        return Err(format!("'{text}': expected KEY=VALUE, such as enabled=madvise"));
    };
    Ok(Asked { key: key.to_owned(), value: value.to_owned() })
}

/// Whether a file that says `now` takes `value`: one of its choices, or a whole number.
///
/// # Errors
/// A sentence that says what it takes.
pub fn takes(key: &str, now: &str, value: &str) -> Result<(), String> {
    if let Ok(choice) = thp_choice::parse(now) {
        let all = choice.options.join(", ");
        return match choice.offers(value) {
            true => Ok(()),
            false => Err(format!("{key}: '{value}' is none of {all}")),
        };
    }
    match value.parse::<u64>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("{key}: '{value}' is no whole number")),
    }
}

/// The value in force, of what a file says.
pub fn value_of(text: &str) -> String {
    thp_choice::parse(text).map_or_else(|_| text.trim().to_owned(), |choice| choice.selected)
}

/// Text of the file that sets all of these at boot.
pub fn persistent(settings: &[Asked]) -> String {
    let mut text = String::from(
        "# Written by 'hugewise thp set --persist'; 'hugewise thp revert' removes it.\n",
    );
    for Asked { key, value } in settings {
        text += &format!("w /{} - - - - {value}\n", file_of(key));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_thp_are_owned() {
        for file in ["enabled", "khugepaged/defrag", "hugepages-2048kB/enabled"] {
            assert!((OWNER.owns)(&file_of(file)), "{file}");
        }
        for file in [
            "/../../x",
            "sys/kernel/mm/transparent_hugepage/../ksm/run",
            "sys/kernel/mm/transparent_hugepage/a/b/c",
            "sys/kernel/mm/transparent_hugepage/",
            "proc/sys/vm/swappiness",
        ] {
            assert!(!(OWNER.owns)(file), "{file}");
        }
        assert!((OWNER.owns)("proc/sys/vm/defrag_mode"));
        assert!((OWNER.owns)(MIN_FREE) && !(FILES.owns)("etc/passwd"));
    }

    #[test]
    fn values_are_what_the_file_takes() {
        let asked_for = asked("enabled = never");
        assert_eq!(asked_for, Ok(Asked { key: "enabled".into(), value: "never".into() }));
        for wrong in ["enabled", "=never", "enabled=", "../x=1", "a/b/c=1", "/x=1"] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
        assert!(asked("vm.defrag_mode=1").is_ok() && asked("vm.swappiness=1").is_err());
        let now = "always [madvise] never";
        assert_eq!(takes("enabled", now, "never"), Ok(()));
        assert!(takes("enabled", now, "often").is_err_and(|why| why.contains("always, madvise")));
        assert_eq!(takes("khugepaged/defrag", "1", "0"), Ok(()));
        assert!(takes("khugepaged/defrag", "1", "-1").is_err());
        assert_eq!((value_of(now), value_of("511\n")), ("madvise".into(), "511".into()));
    }

    #[test]
    fn a_file_sets_them_again_at_boot() {
        let text = persistent(&[Asked { key: "defrag".into(), value: "never".into() }]);
        assert!((FILES.owns)(FILE));
        let line = "w /sys/kernel/mm/transparent_hugepage/defrag - - - - never\n";
        assert!(text.ends_with(line), "{text}");
        let text = persistent(&[Asked { key: "vm.defrag_mode".into(), value: "1".into() }]);
        assert!(text.ends_with("w /proc/sys/vm/defrag_mode - - - - 1\n"), "{text}");
    }
}
