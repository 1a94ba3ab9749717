//! Rules and hints of the configuration that no program is meant by which runs now.

use crate::bounds::Conditions;
use crate::config::Config;
use crate::select::hold;
use crate::snapshot::ProcessSample;
use std::collections::BTreeSet;
use std::fmt;

/// A name that begins like the one that was not found, with so many letters, may be what was
/// meant: `postgresql@15-main.service` for `postgresql.service`.
const ALIKE: usize = 5;
/// So many of those are named.
const MOST: usize = 3;

/// A rule or a hint that matches no program of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// `rule` or `hint`.
    pub kind: &'static str,
    /// Which of them, counted from 1.
    pub number: usize,
    /// The first of its conditions that no program has, as key and value; `None`: each is some
    /// program's, but no program has all of them.
    pub condition: Option<(&'static str, String)>,
    /// What programs have instead that begins alike.
    pub alike: Vec<String>,
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, number, .. } = self;
        match &self.condition {
            Some((key, value)) => {
                write!(f, "{kind} {number}: no program that runs has {key} = \"{value}\"")?;
            }
            None => write!(f, "{kind} {number}: no program that runs has all that it asks for")?,
        }
        match self.alike.as_slice() {
            [] => Ok(()),
            alike => write!(f, "; there is \"{}\"", alike.join("\", \"")),
        }
    }
}

/// Those that match none of these programs.
pub fn unmatched(config: &Config, programs: &[ProcessSample]) -> Vec<Unmatched> {
    let rules = config.rules.iter().map(|rule| rule.conditions()).enumerate();
    let hints = config.hints.iter().map(|hint| hint.conditions()).enumerate();
    let all = rules.map(|rule| ("rule", rule)).chain(hints.map(|hint| ("hint", hint)));
    let mut found = Vec::new();
    for (kind, (index, conditions)) in all {
        if programs.iter().any(|program| hold(conditions, program)) {
            continue;
        }
        let missing = conditions.each().into_iter().find(|(_, one)| {
            let is_some_programs = programs.iter().any(|program| hold(*one, program));
            !is_some_programs
        });
        let condition = missing.and_then(|(key, one)| Some((key, one.only()?.to_owned())));
        let alike = condition.as_ref().map_or_else(Vec::new, |one| alike(one, programs));
        found.push(Unmatched { kind, number: index + 1, condition, alike });
    }
    found
}

/// Values of the programs whose last part begins like the one that was asked for.
fn alike((key, wanted): &(&'static str, String), programs: &[ProcessSample]) -> Vec<String> {
    let value = |program: &ProcessSample| match *key {
        "exe" => program.exe.clone(),
        "cgroup" => program.cgroup.clone(),
        "unit" => program.unit.clone(),
        _ => program.user.clone(),
    };
    let name = last(wanted.trim_end_matches('*'));
    let values: BTreeSet<String> = programs.iter().filter_map(value).collect();
    let begins_alike = |found: &String| {
        let same = name.chars().zip(last(found).chars()).take_while(|(a, b)| a == b);
        same.count() >= ALIKE
    };
    values.into_iter().filter(begins_alike).take(MOST).collect()
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl<'a> Conditions<'a> {
    const NONE: Self = Self { exe: None, cgroup: None, unit: None, user: None };

    /// Each that is given, alone.
    fn each(self) -> Vec<(&'static str, Self)> {
        let all = [
            ("exe", Self { exe: self.exe, ..Self::NONE }),
            ("cgroup", Self { cgroup: self.cgroup, ..Self::NONE }),
            ("unit", Self { unit: self.unit, ..Self::NONE }),
            ("user", Self { user: self.user, ..Self::NONE }),
        ];
        all.into_iter().filter(|(_, one)| one.only().is_some()).collect()
    }

    /// The value of the only one.
    fn only(self) -> Option<&'a str> {
        self.exe.or(self.cgroup).or(self.unit).or(self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Rule, RuleAction};
    use hugewise_base::units::Bytes;

    fn program(exe: &str, unit: &str) -> ProcessSample {
        let (exe, unit) = (Some(exe.to_owned()), Some(unit.to_owned()));
        ProcessSample { exe, unit, ..ProcessSample::example(1, Bytes::mib(64)) }
    }

    fn said(exe: Option<&str>, unit: Option<&str>) -> Vec<String> {
        // As Debian has them.
        let programs = [
            program("/usr/bin/redis-check-rdb", "redis-server.service"),
            program("/usr/lib/postgresql/15/bin/postgres", "postgresql@15-main.service"),
        ];
        let (exe, unit) = (exe.map(str::to_owned), unit.map(str::to_owned));
        let (action, cgroup, user, share) = (RuleAction::Exclude, None, None, 1.0);
        let rules = vec![Rule { action, exe, cgroup, unit, user, share }];
        let config = Config { rules, ..Config::default() };
        unmatched(&config, &programs).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_what_runs_instead() {
        assert_eq!(
            said(None, Some("postgresql.service")),
            ["rule 1: no program that runs has unit = \"postgresql.service\"; there is \
              \"postgresql@15-main.service\""]
        );
        let redis = said(Some("/usr/bin/redis-server"), Some("redis-server.service"));
        assert!(redis[0].ends_with("there is \"/usr/bin/redis-check-rdb\""), "{redis:?}");
        assert!(said(None, Some("postgresql*")).is_empty());
        let both = said(Some("/usr/bin/redis-check-rdb"), Some("postgresql*"));
        assert_eq!(both, ["rule 1: no program that runs has all that it asks for"]);
        assert!(!said(None, Some("nginx.service"))[0].contains("there is"));
    }
}
