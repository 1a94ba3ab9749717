//! Whether a rule holds for a product that runs on a machine.

use super::detect::fits;
use super::facts::{Machine, Process};
use super::rule::{Rule, When};
use super::version::{Range, Version};
use hugewise_base::units::Bytes;

/// Whether a condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It cannot be decided, for want of this.
    Unknown(String),
}

impl Holds {
    fn of(answer: Option<bool>, what: &str) -> Self {
        match answer {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown(what.to_owned()),
        }
    }
}

/// What a rule is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The version of the product.
    pub version: Option<&'a Version>,
    /// A process of it; `None`: the machine itself.
    pub process: Option<&'a Process>,
    /// Ids of the products that the process is, or, of a machine, that it runs.
    pub with: &'a [&'a str],
}

/// Whether a rule holds. What is false decides before what is unknown.
pub fn holds(rule: &Rule, subject: &Subject<'_>, today: &str) -> Holds {
    let mut unknown: Option<String> = None;
    for (what, given) in conditions(rule, subject, today) {
        match Holds::of(given, &what) {
            Holds::No => return Holds::No,
            Holds::Yes => {}
            Holds::Unknown(what) => unknown = unknown.or(Some(what)),
        }
    }
    if let Some(what) = unknown {
        return Holds::Unknown(what);
    }
    match &rule.when.only_if {
        Some(text) => Holds::Unknown(text.clone()),
        None => Holds::Yes,
    }
}

/// Each condition with its answer, and what it is about.
fn conditions(rule: &Rule, subject: &Subject<'_>, today: &str) -> Vec<(String, Option<bool>)> {
    let when = &rule.when;
    let mut all: Vec<(String, Option<bool>)> = Vec::new();
    if let Some(expires) = &rule.expires {
        // Days as ISO 8601 writes them are in order as texts.
        all.push(("the date".into(), Some(today < expires.as_str())));
    }
    if !rule.versions.is_all() {
        let inside = subject.version.map(|version| rule.versions.contains(version));
        all.push((format!("its version, which must be {}", rule.versions), inside));
    }
    all.extend(of_machine(when, subject.machine));
    all.extend(of_process(when, subject));
    all
}

fn of_machine(when: &When, machine: &Machine) -> Vec<(String, Option<bool>)> {
    let mut all: Vec<(String, Option<bool>)> = Vec::new();
    let kernel = machine.kernel.as_deref();
    if !when.arch.is_empty() {
        let is_one = machine.arch.as_ref().map(|arch| when.arch.contains(arch));
        all.push(("the architecture".into(), is_one));
    }
    if !when.os.is_empty() {
        all.push(("the distribution".into(), is_os(&when.os, machine)));
    }
    if let Some(range) = &when.kernel {
        // 5.14.21-150500.55-default: numbers behind the first dash are the package's.
        let release = kernel.and_then(|text| Version::of(&text.replace('-', ".")));
        all.push(("the kernel's release".into(), release.map(|found| range.contains(&found))));
    }
    let has_part = |parts: &[String]| {
        kernel.map(|kernel| parts.iter().any(|part| kernel.contains(part.as_str())))
    };
    if !when.flavour.is_empty() {
        all.push(("the kernel's name".into(), has_part(&when.flavour)));
    }
    if !when.not_flavour.is_empty() {
        let has_none = has_part(&when.not_flavour).map(|has| !has);
        all.push(("the kernel's name".into(), has_none));
    }
    if !when.page_kib.is_empty() {
        let is_one = machine.page.map(|page| when.page_kib.contains(&(page.0 >> 10)));
        all.push(("the base page".into(), is_one));
    }
    if let Some(range) = &when.nodes {
        all.push(("the NUMA nodes".into(), number_in(range, machine.nodes)));
    }
    if let Some(wanted) = when.is_virtual {
        let is_so = machine.is_virtual.map(|is_virtual| is_virtual == wanted);
        all.push(("whether it is a virtual machine".into(), is_so));
    }
    if let Some(range) = &when.memory_gib {
        all.push(("its memory".into(), gib_in(range, machine.memory)));
    }
    if !when.global.is_empty() {
        let is_one = machine.global().map(|mode| when.global.contains(&mode));
        all.push(("the global mode".into(), is_one));
    }
    if !when.cpu.is_empty() {
        let cpu = machine.cpu.as_ref().map(|cpu| cpu.to_lowercase());
        let is_one = cpu.map(|cpu| when.cpu.iter().any(|part| cpu.contains(&part.to_lowercase())));
        all.push(("the CPU".into(), is_one));
    }
    if let Some(file) = &when.file {
        // A file that is not there has nothing in it.
        let has = machine.files.get(&file.path).is_some_and(|text| text.contains(&file.has));
        all.push((file.path.clone(), Some(has)));
    }
    all
}

fn of_process(when: &When, subject: &Subject<'_>) -> Vec<(String, Option<bool>)> {
    let mut all: Vec<(String, Option<bool>)> = Vec::new();
    if !when.with.is_empty() {
        let has_one = when.with.iter().any(|id| subject.with.contains(&id.as_str()));
        all.push(("what it runs with".into(), Some(has_one)));
    }
    if !when.without.is_empty() {
        let has_none = when.without.iter().all(|id| !subject.with.contains(&id.as_str()));
        all.push(("what it runs with".into(), Some(has_none)));
    }
    let process = subject.process;
    if let Some(range) = &when.process_gib {
        all.push(("its memory".into(), gib_in(range, process.and_then(|process| process.rss))));
    }
    let has = |pattern: &str| {
        let process = process.filter(|process| !process.arguments.is_empty())?;
        Some(process.arguments.iter().any(|argument| fits(pattern, argument)))
    };
    if let Some(pattern) = &when.argument {
        all.push(("its arguments".into(), has(pattern)));
    }
    if let Some(pattern) = &when.no_argument {
        all.push(("its arguments".into(), has(pattern).map(|has| !has)));
    }
    all
}

/// Whether a machine runs one of these distributions: its own id counts, not those that it is
/// like, as versions are numbered by each.
fn is_os(wanted: &[String], machine: &Machine) -> Option<bool> {
    let id = machine.os.first()?;
    let mut unknown = false;
    for text in wanted {
        let (name, versions) = text.split_once(' ').unwrap_or((text, ""));
        if name != id {
            continue;
        }
        let range = Range::try_from(versions.to_owned()).ok().filter(|_| !versions.is_empty());
        let Some(range) = range else { return Some(true) };
        match &machine.os_version {
            Some(version) if range.contains(version) => return Some(true),
            Some(_) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(false) }
}

fn number_in(range: &Range, number: Option<u64>) -> Option<bool> {
    Version::of(&number?.to_string()).map(|number| range.contains(&number))
}

/// Memory is never a whole number of GiB: firmware and kernel take their part of it.
fn gib_in(range: &Range, memory: Option<Bytes>) -> Option<bool> {
    let tenths = memory?.0.checked_mul(10)? >> 30;
    Version::of(&format!("{}.{}", tenths / 10, tenths % 10)).map(|number| range.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::tests::rule;

    fn asked(rule: &Rule, machine: &Machine, version: Option<&str>) -> Holds {
        let version = version.and_then(Version::of);
        let subject =
            Subject { machine, version: version.as_ref(), process: None, with: &["glibc"] };
        holds(rule, &subject, "2026-11-30")
    }

    #[test]
    fn what_is_false_decides_before_what_is_unknown() {
        let mut one = rule("thp", &["never"]);
        one.versions = Range::try_from(">=8".to_owned()).expect("a range");
        one.when.arch = vec!["x86_64".into()];
        let machine = Machine { arch: Some("s390x".into()), ..Machine::default() };
        assert_eq!(asked(&one, &machine, None), Holds::No);
        let machine = Machine { arch: Some("x86_64".into()), ..Machine::default() };
        assert!(
            matches!(asked(&one, &machine, None), Holds::Unknown(what) if what.contains(">=8"))
        );
        assert_eq!(asked(&one, &machine, Some("8.0.4")), Holds::Yes);
        assert_eq!(asked(&one, &machine, Some("7.0")), Holds::No);
    }

    #[test]
    fn a_distribution_counts_by_its_own_numbers() {
        let mut one = rule("thp", &["madvise"]);
        one.when.os = vec!["sles >=15.5, <15.8".into(), "rhel >=9.2".into()];
        let machine = |id: &str, version: Option<&str>| Machine {
            os: vec![id.into(), "rhel".into()],
            os_version: version.and_then(Version::of),
            ..Machine::default()
        };
        assert_eq!(asked(&one, &machine("sles", Some("15.6")), None), Holds::Yes);
        assert_eq!(asked(&one, &machine("sles", Some("15.4")), None), Holds::No);
        assert_eq!(asked(&one, &machine("centos", Some("9.9")), None), Holds::No);
        assert!(matches!(asked(&one, &machine("rhel", None), None), Holds::Unknown(_)));
    }

    #[test]
    fn an_expired_rule_does_not_hold() {
        let mut one = rule("thp", &["never"]);
        one.expires = Some("2026-11-30".into());
        assert_eq!(asked(&one, &Machine::default(), None), Holds::No);
        one.expires = Some("2026-12-01".into());
        assert_eq!(asked(&one, &Machine::default(), None), Holds::Yes);
        one.when.only_if = Some("requests are short".into());
        assert!(matches!(asked(&one, &Machine::default(), None), Holds::Unknown(_)));
        one.when.with = vec!["jemalloc".into()];
        assert_eq!(asked(&one, &Machine::default(), None), Holds::No);
    }
}
