//! Values of the configuration that types alone cannot bound.

use hugewise_base::parse::cgroup;
use hugewise_base::units::Bytes;
use serde::Deserialize;
use std::fmt;

/// Accepts `4194304` as well as `"4 MiB"`.
pub(super) fn bytes_or_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "wanted a number of bytes, or a size such as \"256 MiB\"")]
    enum Either {
        Number(u64),
        Text(String),
    }
    match Either::deserialize(from)? {
        Either::Number(bytes) => Ok(Bytes(bytes)),
        Either::Text(text) => hugewise_base::size::parse(&text)
            .map(|size| Bytes(size.bytes()))
            .map_err(|error| serde::de::Error::custom(error.of_value())),
    }
}

/// Why a value is out of its range.
pub(super) fn out_of_range(value: f64, low: f64, high: f64) -> Option<String> {
    let is_within = (low..=high).contains(&value);
    (!is_within).then(|| format!("is {value}, but must be between {low} and {high}"))
}

/// What a rule or a hint says of the programs that it is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions<'a> {
    pub(super) exe: Option<&'a str>,
    pub(super) cgroup: Option<&'a str>,
    pub(super) unit: Option<&'a str>,
    pub(super) user: Option<&'a str>,
}

impl Conditions<'_> {
    /// Whether there are none.
    pub(super) const fn are_absent(&self) -> bool {
        self.exe.is_none() && self.cgroup.is_none() && self.unit.is_none() && self.user.is_none()
    }

    /// Why they can never hold, on any machine.
    pub(super) fn faults(&self) -> Vec<String> {
        let all =
            [("exe", self.exe), ("cgroup", self.cgroup), ("unit", self.unit), ("user", self.user)];
        let given = all.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let fault = |(name, text)| {
            never(name, text).map(|why| format!("{name} = \"{text}\" can never match: {why}"))
        };
        given.filter_map(fault).collect()
    }
}

/// Why no program has this.
fn never(name: &str, text: &str) -> Option<&'static str> {
    let (start, is_start) = text.strip_suffix('*').map_or((text, false), |start| (start, true));
    if text.is_empty() {
        return Some("it is empty");
    }
    if start.contains('*') {
        return Some("'*' stands for anything at the end only");
    }
    // A start may be as short as one likes: "*" is any.
    let is_path = start.starts_with('/') || (is_start && start.is_empty());
    match name {
        "exe" if !is_path => Some("it is a whole path, as \"/usr/bin/redis-server\""),
        "cgroup" if !is_path => Some("it is a whole path, as \"/system.slice\""),
        "unit" if !is_start && !cgroup::is_unit(text) => {
            Some("a unit ends in .service, .scope or .slice, as \"redis.service\"")
        }
        "user" if start.strip_prefix('#').is_some_and(|uid| uid.parse::<u32>().is_err()) => {
            Some("after '#' stands a user's number, as \"#1000\"")
        }
        "user" if is_start && start.starts_with('#') => Some("a user's number has no '*'"),
        _ => None,
    }
}

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigError {
    /// A value out of its range: of which key, and why.
    Key(&'static str, String),
    /// A rule or a hint: which kind, which one of all (counted from 1), and why.
    Part(&'static str, usize, String),
    /// The first value is above the second, and must not be.
    Order([(&'static str, f64); 2]),
}

impl ConfigError {
    /// What is wrong, saying which of several values are defaults.
    pub fn explain(&self, is_default: impl Fn(&str) -> bool) -> String {
        match self {
            Self::Key(key, why) => format!("'{key}' {why}"),
            Self::Part(kind, number, why) => format!("{kind} {number}: {why}"),
            Self::Order(both) => {
                let [low, high] = both.map(|(key, value)| {
                    let default = if is_default(key) { ", the default" } else { "" };
                    format!("'{key}' ({value}{default})")
                });
                format!("{low} must not be above {high}")
            }
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explain(|_| false))
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_match_is_named() {
        let none = Conditions { exe: None, cgroup: None, unit: None, user: None };
        let faults = |name: &str, text: &'static str| {
            let given = |wanted: &str| (name == wanted).then_some(text);
            let conditions = Conditions {
                exe: given("exe"),
                cgroup: given("cgroup"),
                unit: given("unit"),
                user: given("user"),
            };
            conditions.faults().join("; ")
        };
        for (name, text, why) in [
            ("exe", "redis-server", "it is a whole path, as \"/usr/bin/redis-server\""),
            ("exe", "*/redis", "'*' stands for anything at the end only"),
            ("exe", "/opt/*/x*", "'*' stands for anything at the end only"),
            ("exe", "", "it is empty"),
            ("cgroup", "system.slice", "it is a whole path, as \"/system.slice\""),
            ("unit", "redis", "a unit ends in .service, .scope or .slice, as \"redis.service\""),
            ("user", "#me", "after '#' stands a user's number, as \"#1000\""),
            ("user", "#10*", "a user's number has no '*'"),
        ] {
            assert_eq!(faults(name, text), format!("{name} = \"{text}\" can never match: {why}"));
        }
        for (name, text) in [
            ("exe", "/usr/bin/x*"),
            ("exe", "*"),
            ("cgroup", "/"),
            ("unit", "redis*"),
            ("unit", "a@1.scope"),
            ("user", "#0"),
            ("user", "*"),
        ] {
            assert_eq!(faults(name, text), "", "{name} {text}");
        }
        assert!(none.are_absent() && none.faults().is_empty());
    }

    #[test]
    fn of_two_values_both_are_told() {
        let error = ConfigError::Order([("a.low", 9.0), ("a.high", 8.0)]);
        let said = error.explain(|key| key == "a.high");
        assert_eq!(said, "'a.low' (9) must not be above 'a.high' (8, the default)");
    }
}
