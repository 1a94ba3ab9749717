//! What to do: ladders of remedies, the smallest reach first, each with its command and its check;
//! by `data/remedies.tsv`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::recording::readers::RED_HAT_THP;
use crate::table::{Row, table};

/// How far a remedy reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Changes nothing.
    Look,
    /// One program, by its own switch.
    Program,
    /// One service, by its unit or cgroup.
    Service,
    /// Every program of the machine; can be put back at once.
    Machine,
    /// The machine's hardware, size or place.
    Hardware,
}

impl Reach {
    /// In a word.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Program => "program",
            Self::Service => "service",
            Self::Machine => "machine",
            Self::Hardware => "hardware",
        }
    }
}

/// When a remedy is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Always.
    Always,
    /// From this version of Linux on.
    Linux(u32, u32),
    /// From this version of Java on, where one is known.
    Java(u32),
    /// Before that.
    JavaBefore(u32),
    /// Where a disk mostly reads.
    Reads,
    /// Where a disk mostly writes.
    Writes,
    /// Where a disk answers slowly by itself.
    SlowDisk,
    /// Where a disk answers as fast as such disks do.
    SoundDisk,
    /// Where no profile of the kernel was given.
    Unprofiled,
    /// Where interrupts are mostly the hardware's.
    Hardware,
    /// Where they are not.
    Software,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// How far it reaches.
    pub reach: Reach,
    /// What to do.
    pub what: &'static str,
    /// The command, filled in where the sources say with what.
    pub command: Cow<'static, str>,
    /// How to see that it helped.
    pub verify: &'static str,
    /// When it can be done, and helps.
    #[serde(skip)]
    pub when: When,
}

impl Remedy {
    /// A step that can always be done.
    pub(super) const fn new(
        reach: Reach,
        what: &'static str,
        command: &'static str,
        verify: &'static str,
    ) -> Self {
        Self { reach, what, command: Cow::Borrowed(command), verify, when: When::Always }
    }

    /// A step that is one only there.
    pub(super) const fn only(
        when: When,
        reach: Reach,
        what: &'static str,
        command: &'static str,
        verify: &'static str,
    ) -> Self {
        Self { reach, what, command: Cow::Borrowed(command), verify, when }
    }

    /// The same step with a command that names what the text names.
    pub(super) fn with(&self, command: String) -> Self {
        Self { command: Cow::Owned(command), ..self.clone() }
    }
}

/// What is known of the machine that decides which remedies are shown; `None`: they all are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MachineFacts {
    /// Its version of Linux.
    pub(super) linux: Option<(u32, u32)>,
    /// The version of Java that a log is of, 8 for 1.8 and those before.
    pub(super) java: Option<u32>,
    /// Whether its disk mostly reads.
    pub(super) reads: Option<bool>,
    /// Whether its disk answers slowly however few requests there are.
    pub(super) slow_disk: bool,
    /// Whether there is a profile of its kernel.
    pub(super) profiled: bool,
    /// Whether its interrupts are mostly the hardware's.
    pub(super) hardware: bool,
    /// Whether its settings of huge pages are where RHEL 6 has them.
    pub(super) red_hat_thp: bool,
}

impl MachineFacts {
    fn fit(self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Linux(major, minor) => self.linux.is_none_or(|linux| linux >= (major, minor)),
            When::Java(first) => self.java.is_none_or(|java| java >= first),
            When::JavaBefore(end) => self.java.is_none_or(|java| java < end),
            When::Reads => self.reads != Some(false),
            When::Writes => self.reads != Some(true),
            When::SlowDisk => self.slow_disk,
            When::SoundDisk => !self.slow_disk,
            When::Unprofiled => !self.profiled,
            When::Hardware => self.hardware,
            When::Software => !self.hardware,
        }
    }
}

/// The steps of a ladder that the machine can go.
pub(super) fn fitting(ladder: &[Remedy], facts: MachineFacts) -> Vec<Remedy> {
    let fit = ladder.iter().filter(|remedy| facts.fit(remedy.when)).cloned();
    if facts.red_hat_thp { fit.map(|remedy| on_red_hat(&remedy)).collect() } else { fit.collect() }
}

/// The steps of a cause that mend, those that reach so far first: where a step further up removes
/// the cause itself, and those before only ease it.
pub(super) fn with_first(cause: &str, reach: Reach) -> Vec<Remedy> {
    let ladder = ladder(cause).unwrap_or_default();
    let mends = ladder.iter().filter(|remedy| remedy.reach != Reach::Look).cloned();
    let (mut first, others): (Vec<Remedy>, Vec<Remedy>) =
        mends.partition(|remedy| remedy.reach == reach);
    first.extend(others);
    first
}

/// The same step where settings of huge pages are in RHEL 6's folder, which hugewise does not
/// write.
fn on_red_hat(remedy: &Remedy) -> Remedy {
    let set = remedy.command.strip_prefix("hugewise thp set ");
    let set = set.and_then(|rest| rest.split_whitespace().next()?.split_once('='));
    remedy.clone().with(match set {
        Some((file, value)) => format!("echo {value} > {RED_HAT_THP}{file}"),
        None => remedy.command.replace("/sys/kernel/mm/transparent_hugepage/", RED_HAT_THP),
    })
}

/// Version of a kernel by its release, `5.14.0-362.el9`.
pub(super) fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Version of Java by what it calls itself: 8 of `1.8.0_121`, 17 of `17.0.1+12`.
pub(super) fn java(name: &str) -> Option<u32> {
    let mut parts = name.split(|c: char| !c.is_ascii_digit());
    let first: u32 = parts.next()?.parse().ok()?;
    if first == 1 { parts.next()?.parse().ok() } else { Some(first) }
}

static LADDERS: LazyLock<BTreeMap<&str, Vec<Remedy>>> = LazyLock::new(|| {
    let mut ladders: BTreeMap<&str, Vec<Remedy>> = BTreeMap::new();
    for row in table!("remedies.tsv").rows() {
        ladders.entry(row.section).or_default().push(remedy(&row));
    }
    ladders
});

fn remedy(row: &Row) -> Remedy {
    let [place, what, command, verify] = row.fields();
    let (reach, when) = place.split_once(' ').unwrap_or((place, "always"));
    let linux = when.strip_prefix("linux ").and_then(version);
    let since = when.strip_prefix("java ").and_then(java).map(When::Java);
    let before = when.strip_prefix("java_before ").and_then(java).map(When::JavaBefore);
    let when = linux.map(|(major, minor)| When::Linux(major, minor));
    let when = when
        .or(since)
        .or(before)
        .unwrap_or_else(|| row.word(place.split_once(' ').map_or("always", |(_, when)| when)));
    Remedy { reach: row.word(reach), what, command: Cow::Borrowed(command), verify, when }
}

/// The ladder of that name.
pub(super) fn ladder(name: &str) -> Option<&'static [Remedy]> {
    LADDERS.get(name).map(Vec::as_slice)
}

/// All ladders of the table, by their names.
#[cfg(test)]
pub(super) fn ladders() -> impl Iterator<Item = (&'static str, &'static [Remedy])> {
    LADDERS.iter().map(|(name, ladder)| (*name, ladder.as_slice()))
}
