//! Settings that a rule can be about, and the values that it accepts.

use super::version::{Range, Version};
use hugewise_base::owner::THP_DIR;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mode of transparent huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// None.
    Never,
    /// Where a program asks for them.
    Madvise,
    /// Everywhere.
    Always,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Never, Self::Madvise, Self::Always];

    /// As the kernel writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Madvise => "madvise",
            Self::Always => "always",
        }
    }

    /// The mode of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Setting {
    /// The effective mode for a process.
    Thp,
    /// Another file below [`THP_DIR`], such as `khugepaged/defrag`.
    ThpFile(String),
    /// A sysctl, such as `vm.swappiness`.
    Sysctl(String),
    /// `ksm/run` and its like, below `/sys/kernel/mm`.
    Ksm(String),
    /// A parameter of the kernel's command line.
    Boot(String),
    /// Pools of HugeTLB pages.
    HugeTlb,
    /// An argument of the program.
    Argument(String),
    /// A variable of the program's environment.
    Environment(String),
    /// The base page, in KiB.
    PageKib,
}

impl Setting {
    /// Path of its file below the root; `None` where it is no file of the kernel's.
    pub fn file(&self) -> Option<String> {
        match self {
            Self::Thp => Some(format!("{THP_DIR}/enabled")),
            Self::ThpFile(name) => Some(format!("{THP_DIR}/{name}")),
            Self::Sysctl(name) => Some(format!("proc/sys/{}", name.replace('.', "/"))),
            Self::Ksm(name) => Some(format!("sys/kernel/mm/ksm/{name}")),
            _ => None,
        }
    }

    /// The setting that a file below the root is; the reverse of [`Setting::file`].
    pub fn of_file(path: &str) -> Option<Self> {
        let path = path.trim_start_matches('/');
        if let Some(name) = path.strip_prefix("proc/sys/") {
            return Self::try_from(name.replace('/', ".")).ok();
        }
        if let Some(name) = path.strip_prefix("sys/kernel/mm/ksm/") {
            return Self::try_from(format!("ksm/{name}")).ok();
        }
        match path.strip_prefix(THP_DIR)?.strip_prefix('/')? {
            "enabled" => Some(Self::Thp),
            name => Self::try_from(format!("thp/{name}")).ok(),
        }
    }
}

/// Sysctls that rules may be about: those that decide about memory.
const SYSCTLS: [&str; 2] = ["vm.", "kernel.numa_balancing"];

impl TryFrom<String> for Setting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(usual);
        let is_path = |name: &str| name.split('/').count() <= 2 && name.split('/').all(is_name);
        let known = match text.split_once('/') {
            None if text == "thp" => Some(Self::Thp),
            None if text == "hugetlb" => Some(Self::HugeTlb),
            None if text == "page_kib" => Some(Self::PageKib),
            None => {
                let is_known = SYSCTLS.iter().any(|start| text.starts_with(start));
                (is_known && text.split('.').all(is_name)).then(|| Self::Sysctl(text.clone()))
            }
            Some(("thp", "enabled")) => Some(Self::Thp),
            Some(("thp", name)) => is_path(name).then(|| Self::ThpFile(name.to_owned())),
            Some(("ksm", name)) => is_name(name).then(|| Self::Ksm(name.to_owned())),
            Some(("boot", name)) => is_name(name).then(|| Self::Boot(name.to_owned())),
            Some(("argument", name)) => (!name.is_empty()).then(|| Self::Argument(name.to_owned())),
            Some(("environment", name)) => {
                is_name(name).then(|| Self::Environment(name.to_owned()))
            }
            Some(_) => None,
        };
        known.ok_or_else(|| {
            format!(
                "'{text}' is no setting: expected thp, thp/FILE, vm.NAME, kernel.numa_balancing, \
                 ksm/FILE, boot/NAME, hugetlb, argument/TEXT, environment/NAME or page_kib"
            )
        })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thp => f.write_str("thp"),
            Self::ThpFile(name) => write!(f, "thp/{name}"),
            Self::Sysctl(name) => f.write_str(name),
            Self::Ksm(name) => write!(f, "ksm/{name}"),
            Self::Boot(name) => write!(f, "boot/{name}"),
            Self::HugeTlb => f.write_str("hugetlb"),
            Self::Argument(text) => write!(f, "argument/{text}"),
            Self::Environment(name) => write!(f, "environment/{name}"),
            Self::PageKib => f.write_str("page_kib"),
        }
    }
}

impl From<Setting> for String {
    fn from(setting: Setting) -> Self {
        setting.to_string()
    }
}

/// The value of a setting that is not there: an argument, a variable, a parameter.
pub const ABSENT: &str = "absent";
/// The value of an argument that is there, and has none.
pub const PRESENT: &str = "present";

/// Whether a value is one that is accepted: the value itself, a number in a range, or, of a
/// variable, a part of it.
pub fn accepts(setting: &Setting, accept: &[String], value: &str) -> bool {
    let is_part = matches!(setting, Setting::Environment(_));
    accept.iter().any(|wanted| {
        if is_part && wanted != ABSENT {
            return has_option(value, wanted);
        }
        value == wanted || range_of(wanted).is_some_and(|range| lies_in(&range, value))
    })
}

/// Whether a variable has an option: `thp:always` is none of `metadata_thp:always`.
pub(super) fn has_option(value: &str, option: &str) -> bool {
    let is_between = |letter: char| ",:; ".contains(letter);
    value.match_indices(option).any(|(at, _)| {
        let before = value.get(..at).and_then(|text| text.chars().next_back());
        let after = value.get(at + option.len()..).and_then(|text| text.chars().next());
        before.is_none_or(is_between) && after.is_none_or(is_between)
    })
}

/// The range of an accepted value that is one.
pub(super) fn range_of(wanted: &str) -> Option<Range> {
    let is_range = wanted.starts_with(['<', '>', '=']);
    is_range.then(|| Range::try_from(wanted.to_owned()).ok()).flatten()
}

fn lies_in(range: &Range, value: &str) -> bool {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number && Version::of(value).is_some_and(|number| range.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(text: &str) -> Setting {
        Setting::try_from(text.to_owned()).expect(text)
    }

    #[test]
    fn every_setting_has_one_name_and_at_most_one_file() {
        for text in ["thp", "thp/khugepaged/defrag", "vm.swappiness", "ksm/run"] {
            let setting = setting(text);
            assert_eq!(setting.to_string(), text);
            let file = setting.file().expect("a file");
            assert_eq!(Setting::of_file(&file), Some(setting), "{file}");
        }
        for text in ["boot/transparent_hugepage", "hugetlb", "argument/-XX:+UseZGC", "page_kib"] {
            assert_eq!((setting(text).to_string().as_str(), setting(text).file()), (text, None));
        }
        assert_eq!(setting("thp/enabled"), Setting::Thp);
    }

    #[test]
    fn no_setting_leads_elsewhere() {
        for wrong in [
            "thp/../x",
            "thp/a/b/c",
            "vm.../x",
            "kernel.core_pattern",
            "net.core.x",
            "thp/",
            "",
            "x",
        ] {
            assert!(Setting::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
        assert_eq!(Setting::of_file("proc/sys/kernel/core_pattern"), None);
        assert_eq!(Setting::of_file("etc/passwd"), None);
    }

    #[test]
    fn values_are_words_numbers_in_ranges_or_parts() {
        let wanted = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        assert!(accepts(&Setting::Thp, &wanted(&["madvise", "never"]), "never"));
        assert!(!accepts(&Setting::Thp, &wanted(&["madvise"]), "always"));
        let least = setting("vm.min_free_kbytes");
        assert!(accepts(&least, &wanted(&[">=1000"]), "1000"));
        assert!(!accepts(&least, &wanted(&[">=1000"]), "999"));
        let debug = setting("environment/GODEBUG");
        assert!(accepts(&debug, &wanted(&["disablethp=1"]), "madvdontneed=1,disablethp=1"));
        assert!(!has_option("metadata_thp:always", "thp:always"));
        assert!(!has_option("glibc.malloc.hugetlb=10", "glibc.malloc.hugetlb=1"));
        assert!(has_option("a:b,thp:always", "thp:always"));
        assert!(accepts(&debug, &wanted(&["absent"]), "absent"));
        assert!(!accepts(&debug, &wanted(&["absent"]), "x=absent"));
    }
}
