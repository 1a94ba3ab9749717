//! Settings of transparent huge pages.

use crate::render::number::short;
use crate::render::text::{left, width, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_collect::advice::Keeps;
use hugewise_manager::thp_settings::{Changed, Shown};

/// All settings, the long names set apart from the values.
pub(crate) fn shown(all: &[Shown]) -> String {
    let name = all.iter().map(|setting| width(&setting.key)).max().unwrap_or(0);
    let mut out = String::from("Below /sys/kernel/mm/transparent_hugepage:\n");
    for setting in all {
        let mut text = printable(&setting.value);
        if !setting.choices.is_empty() {
            let others = setting.choices.iter().filter(|choice| **choice != setting.value);
            let others: Vec<String> = others.map(|choice| printable(choice)).collect();
            text += &format!(" (or {})", others.join(", "));
        }
        if let Some(before) = &setting.before {
            text += &format!("; was {} before 'thp set'", printable(before));
        }
        out += &wrap(&format!("  {} ", left(&setting.key, name)), &text);
    }
    out
}

/// What was changed, or would be.
pub(crate) fn changed(
    all: &[Changed],
    file: Option<&str>,
    keep: &[Keeps],
    dry_run: bool,
) -> String {
    let mut out = String::new();
    for change in all {
        let (from, to) = (printable(&change.from), printable(&change.to));
        let text = match &change.now {
            Some(now) if *now != change.to => {
                format!("{from} -> {}, NOT {to}: the kernel did not take it", printable(now))
            }
            _ if change.from == change.to => format!("{to} already"),
            _ => format!("{from} -> {to}"),
        };
        out += &wrap(&format!("{}: ", printable(&change.key)), &text);
    }
    if !keep.is_empty() {
        const SHOWN: usize = 5;
        let process =
            |one: &Keeps| format!("{} ({}) {}", printable(&one.name), one.pid, short(one.huge));
        let mut shown: Vec<String> = keep.iter().take(SHOWN).map(process).collect();
        if let Some(more) = keep.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            shown.push(counted(more as u64, "other process", "other processes"));
        }
        let text = format!("These keep their huge pages until they restart: {}", shown.join(", "));
        out += &wrap("", &text);
    }
    if all.iter().any(|change| change.from != change.to) {
        out += "'hugewise advise' shows which products want otherwise.\n";
    }
    if let Some(file) = file {
        out += &wrap("", &format!("{file}: sets them again at boot"));
    }
    out += match dry_run {
        true => "Nothing was changed (--dry-run): that is what would happen.\n",
        false if all.iter().all(|change| change.from == change.to) => "",
        false => "'hugewise thp revert' puts the old values back.\n",
    };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_as_asked_for_is_said() {
        let change = |key: &str, to: &str, now: Option<&str>| Changed {
            key: key.into(),
            from: "madvise".into(),
            to: to.into(),
            now: now.map(str::to_owned),
        };
        let done = [change("enabled", "never", Some("never")), change("a", "never", Some("x"))];
        let text = changed(&done, None, &[], false);
        assert!(text.contains("enabled: madvise -> never\n"), "{text}");
        assert!(text.contains("a: madvise -> x, NOT never"), "{text}");
        let text = changed(&[change("defrag", "madvise", None)], Some("/etc/x"), &[], true);
        assert!(text.contains("madvise already") && text.contains("Nothing was changed"), "{text}");
    }

    #[test]
    fn a_setting_has_its_choices_and_what_it_was() {
        let shown_as = |before: Option<&str>| {
            let choices = vec!["always".into(), "never".into()];
            let (key, value) = ("enabled".into(), "never".into());
            shown(&[Shown { key, value, choices, before: before.map(str::to_owned) }])
        };
        assert!(shown_as(None).contains("enabled never (or always)"), "{}", shown_as(None));
        assert!(shown_as(Some("always")).contains("; was always before"));
    }
}
