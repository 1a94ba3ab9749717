//! What is wrong with rules that can be read: what is missing, what contradicts itself, and
//! examples that are not recognised.

use super::detect::{is_product, process_of, version};
use super::rule::{Product, Rule, When};
use super::setting::{Mode, Setting, range_of};
use super::version::{Range, Version};
use hugewise_base::calendar;
use std::collections::BTreeSet;

/// Checks a product; each text says what is wrong, and what was expected.
pub fn product(product: &Product) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_id = |id: &str| {
        let usual = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !id.is_empty() && id.bytes().all(usual)
    };
    if !is_id(&product.id) {
        wrong.push(format!("id '{}': expected small letters, digits and '-'", product.id));
    }
    if product.name.is_empty() {
        wrong.push("no name".to_owned());
    }
    let names = [&product.programs, &product.arguments, &product.libraries];
    let is_named = names.iter().any(|names| !names.is_empty());
    if !product.host && !product.go && !is_named {
        wrong.push(
            "nothing to recognise it by: expected programs, arguments, libraries, go or host"
                .into(),
        );
    }
    // A pattern that fits everything would put a vendor's advice on every process.
    for pattern in names.into_iter().flatten().chain(&product.packages) {
        if pattern.trim_matches('*').len() < 2 {
            wrong
                .push(format!("'{pattern}' fits nearly everything: expected at least two letters"));
        }
    }
    if product.rules.is_empty() != product.silent.is_some() {
        wrong.push("expected either rules, or 'silent' with the reason why there are none".into());
    }
    let mut ids = BTreeSet::new();
    for one in &product.rules {
        wrong.extend(rule(product, one).into_iter().map(|what| format!("{}: {what}", one.id)));
        if !ids.insert(one.id.as_str()) {
            wrong.push(format!("{}: this id is there twice", one.id));
        }
    }
    for switch in &product.switches {
        let sources = sources(&switch.source, &switch.read_on);
        wrong.extend(sources.map(|what| format!("switch '{}': {what}", switch.text)));
    }
    wrong.extend(contradictions(product));
    wrong.extend(examples(product));
    wrong
}

fn rule(product: &Product, rule: &Rule) -> Vec<String> {
    let mut wrong = Vec::new();
    if !rule.id.starts_with(&format!("{}-", product.id)) {
        wrong.push(format!("expected an id that begins with '{}-'", product.id));
    }
    if rule.revision == 0 {
        wrong.push("revision 0: expected 1 or more".to_owned());
    }
    if rule.why.is_empty() {
        wrong.push("no reason (why)".to_owned());
    }
    wrong.extend(sources(&rule.source, &rule.read_on));
    for (name, day) in [("date", Some(&rule.date)), ("expires", rule.expires.as_ref())] {
        if let Some(day) = day.filter(|day| !is_day(day)) {
            wrong.push(format!("{name} '{day}': expected a day such as 2026-11-30"));
        }
    }
    if rule.accept.is_empty() {
        wrong.push("accepts nothing".to_owned());
    }
    for value in &rule.accept {
        let is_range = value.starts_with(['<', '>', '=']);
        let is_mode = Mode::named(value).is_some();
        if is_range && range_of(value).is_none() || rule.setting == Setting::Thp && !is_mode {
            wrong.push(format!("'{value}' is no value of {}", rule.setting));
        }
    }
    wrong.extend(rule.when.os.iter().filter_map(|text| {
        let (name, versions) = text.split_once(' ').unwrap_or((text, ""));
        let is_right = versions.is_empty() || Range::try_from(versions.to_owned()).is_ok();
        (name.is_empty() || !is_right).then(|| format!("os '{text}': expected 'sles >=15.5'"))
    }));
    wrong
}

/// What is wrong with a source and the day on which it was read.
fn sources<'a>(source: &'a str, read_on: &'a str) -> impl Iterator<Item = String> + 'a {
    let no_source = source.is_empty().then(|| "no source".to_owned());
    let no_day = (!is_day(read_on))
        .then(|| format!("read_on '{read_on}': expected a day such as 2026-11-30"));
    no_source.into_iter().chain(no_day)
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let &[year, month, day] = parts.as_slice() else { return false };
    let number = |text: &str, digits: usize| {
        let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i64>().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2))
    else {
        return false;
    };
    // What is no date counts on into the next month.
    (1..=12).contains(&month)
        && calendar::date(calendar::days(year, month, day)) == (year, month, day)
}

/// Rules of one product that can hold together, about the same setting, of which no value is
/// right for both.
fn contradictions(product: &Product) -> Vec<String> {
    let mut found = Vec::new();
    for (at, one) in product.rules.iter().enumerate() {
        for other in product.rules.iter().skip(at + 1) {
            let is_same = one.setting == other.setting && one.versions.overlaps(&other.versions);
            if is_same && !is_apart(&one.when, &other.when) && !have_common_value(one, other) {
                let (one, other) = (&one.id, &other.id);
                found.push(format!(
                    "{one} and {other} can hold together, and no value is right for both"
                ));
            }
        }
    }
    found
}

fn have_common_value(one: &Rule, other: &Rule) -> bool {
    one.accept.iter().any(|left| {
        other.accept.iter().any(|right| match (range_of(left), range_of(right)) {
            (None, None) => left == right,
            (Some(range), None) => Version::of(right).is_some_and(|value| range.contains(&value)),
            (None, Some(range)) => Version::of(left).is_some_and(|value| range.contains(&value)),
            (Some(left), Some(right)) => left.overlaps(&right),
        })
    })
}

/// Whether two conditions never hold together.
fn is_apart(one: &When, other: &When) -> bool {
    let lists = |left: &[String], right: &[String]| {
        !left.is_empty() && !right.is_empty() && left.iter().all(|one| !right.contains(one))
    };
    let ranges = |left: &Option<Range>, right: &Option<Range>| match (left, right) {
        (Some(left), Some(right)) => !left.overlaps(right),
        _ => false,
    };
    let pages = |left: &[u64], right: &[u64]| {
        !left.is_empty() && !right.is_empty() && left.iter().all(|one| !right.contains(one))
    };
    let global = |left: &[Mode], right: &[Mode]| {
        !left.is_empty() && !right.is_empty() && left.iter().all(|one| !right.contains(one))
    };
    let excludes = |left: &When, right: &When| {
        let by_flavour = left.flavour.iter().any(|part| right.not_flavour.contains(part));
        let by_product = left.with.iter().any(|id| right.without.contains(id));
        by_flavour || by_product || left.argument.is_some() && left.argument == right.no_argument
    };
    lists(&one.arch, &other.arch)
        || distributions_are_apart(&one.os, &other.os)
        || pages(&one.page_kib, &other.page_kib)
        || global(&one.global, &other.global)
        || ranges(&one.kernel, &other.kernel)
        || ranges(&one.nodes, &other.nodes)
        || ranges(&one.memory_gib, &other.memory_gib)
        || ranges(&one.process_gib, &other.process_gib)
        || one.is_virtual.zip(other.is_virtual).is_some_and(|(one, other)| one != other)
        || excludes(one, other)
        || excludes(other, one)
        // Each of them is shown as what a user has to decide.
        || one.only_if.is_some() && other.only_if.is_some() && one.only_if != other.only_if
        || one.file.is_some() && other.file.is_some() && one.file != other.file
}

fn distributions_are_apart(one: &[String], other: &[String]) -> bool {
    let parsed = |text: &String| {
        let (name, versions) = text.split_once(' ').unwrap_or((text, ""));
        (name.to_owned(), Range::try_from(versions.to_owned()).unwrap_or_default())
    };
    let meet = |left: &String| {
        let (name, range) = parsed(left);
        other.iter().map(parsed).any(|(id, versions)| id == name && range.overlaps(&versions))
    };
    !one.is_empty() && !other.is_empty() && !one.iter().any(meet)
}

/// Examples that are not recognised, or in another version.
fn examples(product: &Product) -> Vec<String> {
    if product.examples.is_empty() && !product.host {
        return vec!["no example of a process".to_owned()];
    }
    let mut wrong = Vec::new();
    for example in &product.examples {
        let process = process_of(&product.id, example);
        let exe = &example.exe;
        if !is_product(product, &process) {
            wrong.push(format!("example '{exe}' is not recognised"));
            continue;
        }
        let found = version(product, &process);
        let wanted = example.version.as_deref().and_then(Version::of);
        if found != wanted {
            let shown = |version: Option<Version>| {
                version.map_or_else(|| "none".to_owned(), |version| version.to_string())
            };
            let (found, wanted) = (shown(found), shown(wanted));
            wrong.push(format!("example '{exe}': found version {found}, expected {wanted}"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::tests::rule as made;

    /// What makes two rules differ.
    type Change = fn(&mut Rule, &mut Rule);

    fn faults(change: impl Fn(&mut Rule, &mut Rule)) -> Vec<String> {
        let (mut one, mut other) = (made("thp", &["always"]), made("thp", &["never"]));
        (one.id, other.id) = ("x-one".into(), "x-other".into());
        change(&mut one, &mut other);
        let product = Product { rules: vec![one, other], ..Product::default() };
        contradictions(&product)
    }

    fn range(text: &str) -> Range {
        Range::try_from(text.to_owned()).expect("a range")
    }

    #[test]
    fn rules_that_can_hold_together_must_have_a_value_in_common() {
        assert_eq!(faults(|_, _| {}).len(), 1);
        let apart: [(&str, Change); 7] = [
            ("versions", |one, other| {
                (one.versions, other.versions) = (range(">=8"), range("<8"));
            }),
            ("architectures", |one, other| {
                one.when.arch = vec!["x86_64".into()];
                other.when.arch = vec!["s390x".into()];
            }),
            ("distributions", |one, other| {
                one.when.os = vec!["sles >=15.5".into()];
                other.when.os = vec!["sles <15.5".into(), "rhel".into()];
            }),
            ("kernels", |one, other| {
                one.when.flavour = vec!["uek".into()];
                other.when.not_flavour = vec!["uek".into()];
            }),
            ("companions", |one, other| {
                one.when.with = vec!["mysql".into()];
                other.when.without = vec!["mysql".into()];
            }),
            ("arguments", |one, other| {
                one.when.argument = Some("-x".into());
                other.when.no_argument = Some("-x".into());
            }),
            ("a common value", |one, other| {
                one.accept.push("madvise".into());
                other.accept.push("madvise".into());
            }),
        ];
        for (what, change) in apart {
            assert_eq!(faults(change), Vec::<String>::new(), "{what}");
        }
        let overlap = faults(|one, other| {
            (one.versions, other.versions) = (range(">=7"), range("<8"));
        });
        assert_eq!(overlap.len(), 1);
    }

    #[test]
    fn days_are_dates() {
        assert!(is_day("2024-02-29") && is_day("2026-11-30"));
        for wrong in ["2026-02-29", "2026-13-01", "2026-1-1", "today", "", "2026-11-30x"] {
            assert!(!is_day(wrong), "{wrong}");
        }
    }
}
