//! The kernel's settings during a run, and whether somebody else changed them.

use hugewise_base::parse::thp_choice;
use hugewise_experiment::check::Checked;
use hugewise_experiment::settings;
use hugewise_linux::root::Root;
use std::collections::{BTreeMap, BTreeSet};

/// Noted for every run: they decide what any workload gets, whether a variant sets them or not.
const ALWAYS: [&str; 4] =
    ["defrag", "enabled", "khugepaged/max_ptes_none", "khugepaged/scan_sleep_millisecs"];

/// What stands now in the settings that any variant asks for, and in [`ALWAYS`]; each as the
/// kernel writes it. Those that cannot be read are left out.
pub(super) fn settings(root: &Root, checked: &Checked) -> BTreeMap<String, String> {
    let asked = checked.variants().iter().flat_map(|variant| checked.settings(variant).into_keys());
    let keys: BTreeSet<String> = asked.chain(ALWAYS.map(str::to_owned)).collect();
    let read = |key: String| {
        let line = root.read_line(settings::file(&key)?).ok()?;
        Some((key, line))
    };
    keys.into_iter().filter_map(read).collect()
}

/// What is no longer as a variant had it.
pub(super) fn changed(
    wanted: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<String> {
    let other = |(key, value): (&String, &String)| {
        let line = now.get(key)?;
        let stands = thp_choice::parse(line).map_or(line.clone(), |choice| choice.selected);
        (stands != *value).then(|| by_somebody(key, &stands))
    };
    wanted.iter().filter_map(other).collect()
}

/// The sentence about it.
pub(super) fn by_somebody(what: &str, value: &str) -> String {
    format!("{what} was changed to {value} by somebody else during the run")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn a_setting_that_somebody_changed_is_named() {
        let wanted = map([("enabled", "madvise"), ("vm.swappiness", "60"), ("defrag", "never")]);
        let now = map([("enabled", "always [madvise] never"), ("vm.swappiness", "60")]);
        assert_eq!(changed(&wanted, &now), Vec::<String>::new());
        let now = map([("enabled", "[always] madvise never"), ("vm.swappiness", "10")]);
        let lines = changed(&wanted, &now);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("enabled was changed to always by somebody"), "{lines:?}");
        assert!(lines[1].starts_with("vm.swappiness was changed to 10 "), "{lines:?}");
    }
}
