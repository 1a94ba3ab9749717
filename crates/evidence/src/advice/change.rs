//! What 'advise apply' changes: settings of the machine and drop-ins of units. What it cannot
//! change is listed with the reason.

use super::resolve::{Resolution, Step, Way};
use super::setting::Setting;
use hugewise_base::owner::{MIN_FREE, Owner};
use serde::Serialize;
use std::collections::BTreeMap;

/// Settings that 'advise apply' changed, until 'advise revert'.
pub const OWNER: Owner = Owner {
    trail: "advice.jsonl",
    owns: |file| file == MIN_FREE || Setting::of_file(file).is_some(),
    over_reboots: true,
};

/// Files that 'advise apply' wrote.
pub const FILES: Owner = Owner {
    trail: "advice-files.jsonl",
    owns: |file| file == TMPFILES || file == SYSCTL || is_drop_in(file),
    over_reboots: true,
};

/// Sets files below `/sys` at boot.
pub const TMPFILES: &str = "etc/tmpfiles.d/hugewise-advice.conf";
/// Sets sysctls at boot.
pub const SYSCTL: &str = "etc/sysctl.d/90-hugewise-advice.conf";
const UNITS: &str = "etc/systemd/system/";
const DROP_IN: &str = ".d/50-hugewise-advice.conf";
/// First line of each file.
const HEAD: &str = "# Written by 'hugewise advise apply'; 'hugewise advise revert' removes it.\n";

fn is_drop_in(file: &str) -> bool {
    file.strip_prefix(UNITS).and_then(|rest| rest.strip_suffix(DROP_IN)).is_some_and(is_unit)
}

/// Whether a text is the name of a service, and leads nowhere else (systemd.unit(5)).
pub fn is_unit(name: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte);
    let stem = name.strip_suffix(".service");
    stem.is_some_and(|stem| !stem.is_empty() && stem.bytes().all(usual)) && !name.contains("..")
}

/// A setting that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The setting.
    pub setting: Setting,
    /// Path of its file below the root.
    pub file: String,
    /// Its value.
    pub from: Option<String>,
    /// Its new value.
    pub to: String,
    /// Ids of the rules that ask for it.
    pub rules: Vec<String>,
}

/// A drop-in of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DropIn {
    /// The unit.
    pub unit: String,
    /// Path below the root.
    pub path: String,
    /// The whole file.
    pub text: String,
}

/// What has to be done by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ByHand {
    /// The product.
    pub product: String,
    /// Its rule.
    pub rule: String,
    /// How.
    pub way: Way,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Settings.
    pub settings: Vec<Change>,
    /// Drop-ins; a unit takes them when it is restarted.
    pub drop_ins: Vec<DropIn>,
    /// What is left for people.
    pub by_hand: Vec<ByHand>,
}

impl Changes {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.drop_ins.is_empty()
    }

    /// Texts of the files that set the settings again at boot, by path.
    pub fn persistent(&self) -> Vec<(&'static str, String)> {
        let (mut tmpfiles, mut sysctl) = (String::new(), String::new());
        for change in &self.settings {
            match &change.setting {
                Setting::Sysctl(name) => sysctl += &format!("{name} = {}\n", change.to),
                _ => tmpfiles += &format!("w /{} - - - - {}\n", change.file, change.to),
            }
        }
        let files = [(TMPFILES, tmpfiles), (SYSCTL, sysctl)];
        let files = files.into_iter().filter(|(_, text)| !text.is_empty());
        files.map(|(path, text)| (path, format!("{HEAD}{text}"))).collect()
    }
}

/// What follows from a resolution, for these products; all, where none is named.
pub fn changes(resolution: &Resolution<'_>, products: &[String]) -> Changes {
    let is_asked = |id: &str| products.is_empty() || products.iter().any(|product| product == id);
    let mut changes = Changes::default();
    let wanted = resolution.wanted_global.filter(|mode| Some(*mode) != resolution.global);
    let steps: Vec<&Step<'_>> =
        resolution.steps.iter().filter(|step| is_asked(&step.product.id)).collect();
    if let Some(mode) = wanted.filter(|_| !steps.is_empty())
        && let Some(file) = resolution.global_file.clone().or_else(|| Setting::Thp.file())
    {
        changes.settings.push(Change {
            setting: Setting::Thp,
            file,
            from: resolution.global.map(|mode| mode.to_string()),
            to: mode.to_string(),
            rules: steps.iter().map(|step| step.rule.id.clone()).collect(),
        });
    }
    for one in &resolution.settings {
        let rules: Vec<String> = one.rules.iter().map(|rule| rule.id.clone()).collect();
        let is_asked = one.rules.iter().any(|rule| {
            products.is_empty() || products.iter().any(|id| rule.id.starts_with(&format!("{id}-")))
        });
        let (Some(to), Some(file)) = (&one.value, one.setting.file()) else { continue };
        // A kernel without the setting has no value.
        if one.actual.is_none() {
            continue;
        }
        if is_asked && one.actual.as_ref() != Some(to) {
            let (setting, from) = (one.setting.clone(), one.actual.clone());
            changes.settings.push(Change { setting, file, from, to: to.clone(), rules });
        }
    }
    let mut by_unit: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for step in steps {
        match drop_in_line(step) {
            Some((unit, line)) => {
                let lines = by_unit.entry(unit).or_default();
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            None if step.way == Way::Nothing => {}
            None => changes.by_hand.push(ByHand {
                product: step.product.id.clone(),
                rule: step.rule.id.clone(),
                way: step.way.clone(),
            }),
        }
    }
    for (unit, lines) in by_unit {
        let path = format!("{UNITS}{unit}{DROP_IN}");
        let text = format!("{HEAD}[Service]\n{}\n", lines.join("\n"));
        changes.drop_ins.push(DropIn { unit, path, text });
    }
    changes
}

/// The line of a drop-in that does it, and its unit.
fn drop_in_line(step: &Step<'_>) -> Option<(String, String)> {
    match &step.way {
        Way::Unit { unit, set } => is_unit(unit).then(|| (unit.clone(), set.clone())),
        Way::Environment { set } => {
            let unit = step.processes.iter().find_map(|process| process.unit.clone())?;
            let is_plain = |letter: char| letter.is_ascii_graphic() && !"\"\\%$".contains(letter);
            let is_right = is_unit(&unit) && set.chars().all(is_plain);
            is_right.then(|| (unit, format!("Environment=\"{set}\"")))
        }
        _ => None,
    }
}
