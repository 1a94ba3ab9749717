//! How signatures are kept.

use super::feature::place;
use super::vector::{MOST, Vector};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the form.
pub const SCHEMA: u32 = 1;
/// Most signatures of a file.
pub const SIGNATURES_MAX: usize = 16;
/// Longest name of a signature.
const NAME_MAX: usize = 32;
/// Most CPUs of a machine: more than the 8,192 for which Linux can be built.
pub(super) const CPUS_MAX: u32 = 1 << 16;

/// What one stressor does on this machine, above what the machine does at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// Its name.
    pub name: String,
    /// Seconds that it was watched for.
    pub watched_s: f64,
    /// Rates by the names of [`super::feature::FEATURES`].
    pub rates: BTreeMap<String, f64>,
    /// Distance of the first half of that time from the second; `None` where one was too short.
    pub halves_distance: Option<f64>,
}

/// A stressor that did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// The distance of two signatures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Their names.
    pub names: [String; 2],
    /// How far apart they are, 0 to 1.
    pub distance: f64,
}

/// What all stressors do on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signatures {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of hugewise that made them.
    pub hugewise: String,
    /// When, in UTC.
    pub began: Option<String>,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Why the machine was not quiet; empty: it was.
    pub noisy: Vec<String>,
    /// What the machine does at rest, rates as in a signature.
    pub rest: BTreeMap<String, f64>,
    /// The signatures.
    pub signatures: Vec<Signature>,
    /// Stressors that did not run.
    pub skipped: Vec<Skipped>,
    /// How far they are apart, two by two.
    pub pairs: Vec<Pair>,
}

/// Only the version: what else there is, is another version's business.
#[derive(Deserialize)]
struct Version {
    schema: Option<u32>,
}

impl Signatures {
    /// Reads what was written.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let damaged = |error: serde_json::Error| match error.is_eof() {
            true => "it is cut off".to_owned(),
            false => format!("it holds no signatures of 'hugewise lab signatures': {error}"),
        };
        let version: Version = serde_json::from_str(text).map_err(damaged)?;
        match version.schema {
            Some(SCHEMA) => {}
            Some(other) => {
                return Err(format!(
                    "its form has the version {other}, this hugewise reads {SCHEMA}: make it anew \
                     by 'hugewise lab signatures'"
                ));
            }
            None => {
                let text = "it holds no signatures of 'hugewise lab signatures': it has no \
                            'schema'";
                return Err(text.to_owned());
            }
        }
        let found: Self = serde_json::from_str(text).map_err(damaged)?;
        found.fault().map_or(Ok(found), Err)
    }

    /// What makes no sense in it.
    fn fault(&self) -> Option<String> {
        let names: Vec<&str> = self.signatures.iter().map(|one| one.name.as_str()).collect();
        if names.is_empty() {
            return Some("it has no signature".to_owned());
        }
        if names.len() > SIGNATURES_MAX {
            return Some(format!("it has more than {SIGNATURES_MAX} signatures"));
        }
        if !(1..=CPUS_MAX).contains(&self.cpus) {
            return Some(format!("it is of a machine with {} CPUs", self.cpus));
        }
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name =
            |name: &&&str| (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(plain);
        if names.iter().filter(is_name).count() < names.len() {
            let rule = format!("at most {NAME_MAX} small letters, digits and '-'");
            return Some(format!("a name of a signature is not made of {rule}"));
        }
        let twice = |(index, name): &(usize, &&str)| names[..*index].contains(*name);
        if let Some((_, name)) = names.iter().enumerate().find(twice) {
            return Some(format!("it has two signatures '{name}'"));
        }
        let all = self.signatures.iter().map(|one| (one.name.as_str(), &one.rates));
        let all = all.chain([("rest", &self.rest)]);
        let wrong = |rates: &BTreeMap<String, f64>| {
            rates.values().any(|rate| !rate.is_finite() || !(0.0..=MOST).contains(rate))
        };
        let (name, _) = all.into_iter().find(|(_, rates)| wrong(rates))?;
        Some(format!("a rate of '{name}' is below 0 or more than any machine does"))
    }

    /// The vector of each signature, in order.
    pub fn vectors(&self) -> Vec<Vector> {
        self.signatures.iter().map(|one| Vector::of_rates(&one.rates)).collect()
    }

    /// Names of rates that this version does not know: they are not compared.
    pub(crate) fn unknown_rates(&self) -> usize {
        let mut names: Vec<&str> = self
            .signatures
            .iter()
            .flat_map(|one| one.rates.keys())
            .map(String::as_str)
            .filter(|key| place(key).is_none())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }
}
