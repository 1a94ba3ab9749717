//! Who sets a setting, by the files that say so, and where two of them want different values.

use super::setting::{Mode, Setting};
use hugewise_base::parse::sysctl;
use serde::Serialize;

/// Who can set a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The kernel's command line.
    KernelCommandLine,
    /// The active profile of tuned, or of a node tuning operator, which runs tuned.
    Tuned,
    /// A note of saptune.
    Saptune,
    /// systemd-tmpfiles.
    Tmpfiles,
    /// sysctl.d.
    Sysctl,
    /// sysfsutils.
    Sysfs,
    /// A unit of systemd that writes the file.
    Unit,
    /// A script that writes the file.
    Script,
    /// 'hugewise thp set', 'hugewise advise apply', or a manager.
    Hugewise,
}

impl Owner {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KernelCommandLine => "the kernel's command line",
            Self::Tuned => "tuned",
            Self::Saptune => "saptune",
            Self::Tmpfiles => "tmpfiles.d",
            Self::Sysctl => "sysctl.d",
            Self::Sysfs => "sysfs.d",
            Self::Unit => "a unit of systemd",
            Self::Script => "a script",
            Self::Hugewise => "hugewise",
        }
    }
}

/// A line that sets a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// Who.
    pub owner: Owner,
    /// Path of the file.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// What is set.
    pub setting: Setting,
    /// To which value.
    pub value: String,
    /// It has no effect, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<&'static str>,
}

/// Most statements of a file: a program that writes more is no configuration.
const STATEMENTS_MAX: usize = 1000;

/// The parameter that people write, and no kernel knows.
const TYPO: &str = "transparent_hugepages";

/// What a file sets. `path` is only shown.
pub fn statements(owner: Owner, path: &str, text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut section = String::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_ascii_lowercase();
            continue;
        }
        let pairs = match owner {
            Owner::KernelCommandLine => of_command_line(line),
            Owner::Tuned | Owner::Saptune => of_profile(&section, line).into_iter().collect(),
            Owner::Tmpfiles => of_tmpfiles(line).into_iter().collect(),
            Owner::Sysctl => of_sysctl(line),
            Owner::Sysfs => of_sysfs(line).into_iter().collect(),
            Owner::Unit | Owner::Script | Owner::Hugewise => of_command(line),
        };
        for (setting, value, ignored) in pairs {
            let file = path.to_owned();
            found.push(Statement { owner, file, line: at + 1, setting, value, ignored });
        }
        if found.len() >= STATEMENTS_MAX {
            break;
        }
    }
    found
}

type Pair = (Setting, String, Option<&'static str>);

fn of_command_line(line: &str) -> Vec<Pair> {
    let mut found = Vec::new();
    for (name, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
        let (is_switch, is_typo) = (name == "transparent_hugepage", name == TYPO);
        if is_switch || is_typo {
            let ignored = is_typo.then_some("no kernel knows this parameter: it has no 's'");
            found.push((Setting::Thp, value.to_owned(), ignored));
        } else if let Some(name) = name.strip_prefix("sysctl.")
            && let Ok(setting) = Setting::try_from(name.replace('/', "."))
        {
            found.push((setting, value.to_owned(), None));
        }
    }
    found
}

/// A line of a profile of tuned (`[vm] transparent_hugepages=never`, `[sysctl]`, `[sysfs]`), or of
/// a note of saptune (`[vm] THP=madvise`).
fn of_profile(section: &str, line: &str) -> Option<Pair> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.trim().trim_matches('"'));
    let setting = match (section, name) {
        (section, "transparent_hugepages" | "transparent_hugepage" | "THP")
            if section.starts_with("vm") =>
        {
            Setting::Thp
        }
        (section, "transparent_hugepage.defrag") if section.starts_with("vm") => {
            Setting::ThpFile("defrag".into())
        }
        (section, _) if section.starts_with("sysctl") => {
            Setting::try_from(name.replace('/', ".")).ok()?
        }
        (section, _) if section.starts_with("sys") => {
            let path = name.trim_start_matches('/');
            let path = path.strip_prefix("sys/").unwrap_or(path).replace('.', "/");
            Setting::of_file(&format!("sys/{path}"))?
        }
        _ => return None,
    };
    Some((setting, value.to_owned(), None))
}

/// `w /sys/... - - - - never` (tmpfiles.d(5)).
fn of_tmpfiles(line: &str) -> Option<Pair> {
    let mut words = line.split_whitespace();
    let kind = words.next()?;
    let setting = Setting::of_file(words.next()?).filter(|_| kind.starts_with('w'))?;
    // Mode, user, group and age stand before the text.
    let value: Vec<&str> = words.skip(4).collect();
    (!value.is_empty()).then(|| (setting, value.join(" "), None))
}

fn of_sysctl(line: &str) -> Vec<Pair> {
    let name = line.split_once('=').map(|(name, _)| name.trim().trim_start_matches('-').trim());
    let Some(name) = name.map(|name| name.replace('/', ".")) else { return Vec::new() };
    let Ok(setting) = Setting::try_from(name.clone()) else { return Vec::new() };
    let parsed = sysctl::parse(line, &[name.as_str()]).value;
    parsed.into_iter().map(|one| (setting.clone(), one.value, None)).collect()
}

/// `kernel/mm/transparent_hugepage/enabled = never` (sysfs.conf(5)).
fn of_sysfs(line: &str) -> Option<Pair> {
    let (name, value) = line.split_once('=')?;
    let setting = Setting::of_file(&format!("sys/{}", name.trim().trim_start_matches('/')))?;
    Some((setting, value.trim().to_owned(), None))
}

/// A command that writes a file: `echo never > /sys/...`, `echo never | tee /sys/...`,
/// `sysctl -w vm.x=1`.
fn of_command(line: &str) -> Vec<Pair> {
    let mut found = Vec::new();
    let separators = |letter: char| letter.is_whitespace() || "\"'=>|;&()".contains(letter);
    let words: Vec<&str> = line.split(separators).filter(|word| !word.is_empty()).collect();
    for (at, word) in words.iter().enumerate() {
        let path = word.trim_start_matches('/');
        let Some(setting) = Setting::of_file(path).filter(|_| word.starts_with('/')) else {
            continue;
        };
        let before = words.get(..at).unwrap_or_default();
        let is_value = |word: &&&str| {
            Mode::named(word).is_some()
                || word.starts_with("defer")
                || word.bytes().all(|byte| byte.is_ascii_digit())
        };
        if let Some(value) = before.iter().rev().find(is_value) {
            found.push((setting, (*value).to_owned(), None));
        }
    }
    found
}

/// Who sets a setting, as the files say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owned {
    /// The setting.
    pub setting: Setting,
    /// Its value now.
    pub value: Option<String>,
    /// Lines that set it to that.
    pub owners: Vec<Statement>,
    /// Lines that set it to something else, or have no effect.
    pub others: Vec<Statement>,
}

impl Owned {
    /// Whether two owners want different values.
    pub fn is_fight(&self) -> bool {
        let effective = |one: &&Statement| one.ignored.is_none();
        let values = self.owners.iter().chain(&self.others).filter(effective);
        let mut values = values.map(|one| &one.value);
        values.next().is_some_and(|first| values.any(|value| value != first))
    }
}

/// Sorts statements by setting: those that say what is there now, and the others. A setting that
/// nobody sets is the kernel's default, or was set by hand.
pub fn owned(
    statements: Vec<Statement>,
    values: impl Fn(&Setting) -> Option<String>,
) -> Vec<Owned> {
    let mut all: Vec<Owned> = Vec::new();
    for statement in statements {
        let place = match all.iter().position(|one| one.setting == statement.setting) {
            Some(place) => place,
            None => {
                let setting = statement.setting.clone();
                let value = values(&setting);
                all.push(Owned { setting, value, owners: Vec::new(), others: Vec::new() });
                all.len() - 1
            }
        };
        let Some(one) = all.get_mut(place) else { continue };
        let is_owner = statement.ignored.is_none() && one.value.as_ref() == Some(&statement.value);
        let list = if is_owner { &mut one.owners } else { &mut one.others };
        list.push(statement);
    }
    all.sort_by(|one, other| one.setting.cmp(&other.setting));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(owner: Owner, text: &str) -> Vec<(String, String)> {
        let found = statements(owner, "/x", text);
        found.into_iter().map(|one| (one.setting.to_string(), one.value)).collect()
    }

    fn pair(setting: &str, value: &str) -> (String, String) {
        (setting.to_owned(), value.to_owned())
    }

    #[test]
    fn each_owner_writes_in_its_own_way() {
        let never = [pair("thp", "never")];
        let path = "/sys/kernel/mm/transparent_hugepage/enabled";
        assert_eq!(said(Owner::KernelCommandLine, "quiet transparent_hugepage=never"), never);
        assert_eq!(said(Owner::Tuned, "[main]\nx=1\n[vm]\ntransparent_hugepages=never"), never);
        assert_eq!(said(Owner::Tuned, "[sysctl]\nvm.swappiness=3"), [pair("vm.swappiness", "3")]);
        assert_eq!(said(Owner::Saptune, "[vm]\nTHP=never"), never);
        assert_eq!(said(Owner::Tmpfiles, &format!("w! {path} - - - - never")), never);
        assert_eq!(said(Owner::Tmpfiles, &format!("d {path} - - - - never")), []);
        let sysfs = "kernel/mm/transparent_hugepage/khugepaged/defrag = 0";
        assert_eq!(said(Owner::Sysfs, sysfs), [pair("thp/khugepaged/defrag", "0")]);
        let sysctl = "# x\n-vm.overcommit_memory = 1\nnet.core.somaxconn=3";
        assert_eq!(said(Owner::Sysctl, sysctl), [pair("vm.overcommit_memory", "1")]);
        for command in [
            format!("ExecStart=/bin/sh -c \"echo never > {path}\""),
            format!("echo 'never' | sudo tee {path} >/dev/null"),
            format!("if test -f {path}; then echo never > {path}; fi"),
        ] {
            assert_eq!(said(Owner::Unit, &command).last(), never.last(), "{command}");
        }
        assert_eq!(said(Owner::Unit, &format!("ConditionPathExists={path}")), []);
    }

    #[test]
    fn a_typo_has_no_effect_and_two_values_are_a_fight() {
        let mut all = statements(Owner::KernelCommandLine, "/c", "transparent_hugepages=never");
        assert!(all[0].ignored.is_some());
        let now = |_: &Setting| Some("madvise".to_owned());
        assert!(!owned(all.clone(), now)[0].is_fight());
        all.extend(statements(Owner::Tuned, "/t", "[vm]\ntransparent_hugepages=madvise"));
        assert!(!owned(all.clone(), now)[0].is_fight());
        all.extend(statements(Owner::Saptune, "/s", "[vm]\nTHP=never"));
        let found = &owned(all, now)[0];
        assert!(found.is_fight());
        assert_eq!((found.owners.len(), found.others.len()), (1, 2));
    }
}
