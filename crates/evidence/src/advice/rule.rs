//! What a file of rules says: one product, how it is recognised, its own switches, and what its
//! vendor advises. The form is described in `docs/reference/rules.md`.

use super::setting::{Mode, Setting};
use super::version::Range;
use serde::{Deserialize, Serialize};

/// A product and its rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Product {
    /// Its id: the file's name.
    pub id: String,
    /// As its vendor writes it.
    pub name: String,
    /// File names of its executables; a trailing `*` stands for any rest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Arguments of its command line, or the path of its executable; `*` at one end stands for
    /// anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// File names of what it maps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// File names of what it never maps: those of a product that is alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_libraries: Vec<String>,
    /// Every program that Go built.
    pub go: bool,
    /// The machine itself.
    pub host: bool,
    /// Packages that own its executables, or the library by which it is recognised.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// A file beside its executable that has the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// How to ask it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<Query>,
    /// The version is in the name of the mapped file of [`Product::libraries`].
    pub version_in_name: bool,
    /// Its usual systemd units.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// The experiment that would prove a rule on a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Why there is no rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<String>,
    /// What else a user must know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its own switches.
    #[serde(rename = "switch", skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<Switch>,
    /// What its vendor advises.
    #[serde(rename = "rule", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Processes that must be recognised.
    #[serde(rename = "example", skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

/// A file that has a version, relative to the directory of the executable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The path.
    pub file: String,
    /// `KEY="VALUE"`; without it, the first version in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// How to ask a program for its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Arguments that make it print the version and end.
    pub arguments: Vec<String>,
    /// The text before the version; without it, the first version in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What a product's own switch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwitchMode {
    /// The program refuses transparent huge pages.
    Never,
    /// The program takes them only where it asks for them.
    Madvise,
    /// The program asks for them itself.
    Always,
    /// The program takes HugeTLB pages.
    HugeTlb,
}

impl SwitchMode {
    /// The effective mode that it gives.
    pub const fn mode(self) -> Option<Mode> {
        match self {
            Self::Never => Some(Mode::Never),
            Self::Madvise => Some(Mode::Madvise),
            Self::Always => Some(Mode::Always),
            Self::HugeTlb => None,
        }
    }
}

/// Where a switch is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwitchKind {
    /// The program does it by itself.
    Code,
    /// Its configuration.
    Configuration,
    /// Its command line.
    Argument,
    /// Its environment.
    Environment,
}

/// A product's own switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// What it does.
    pub mode: SwitchMode,
    /// Where it is set.
    pub kind: SwitchKind,
    /// What to set.
    pub text: String,
    /// Global modes under which it works; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Mode>,
    /// Versions of the product that have it.
    #[serde(default, skip_serializing_if = "Range::is_all")]
    pub versions: Range,
    /// Where its vendor says so.
    pub source: String,
    /// When somebody read that.
    pub read_on: String,
}

/// How strong an advice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The vendor recommends it.
    Recommended,
    /// The vendor demands it, or its own check fails otherwise.
    Required,
}

/// Whose mode counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    /// That of the process.
    #[default]
    Process,
    /// The global file, which is read, and acted on.
    Global,
}

/// What a vendor advises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its id; begins with the product's.
    pub id: String,
    /// Counted up with each change.
    pub revision: u32,
    /// Day of this revision.
    pub date: String,
    /// Versions of the product.
    #[serde(default, skip_serializing_if = "Range::is_all")]
    pub versions: Range,
    /// What it is about.
    pub setting: Setting,
    /// Values that are right.
    pub accept: Vec<String>,
    /// How strong it is.
    pub level: Level,
    /// Whose mode the product acts on.
    #[serde(default)]
    pub reads: Reads,
    /// Whose mode a check of the vendor reads.
    #[serde(default)]
    pub check_reads: Reads,
    /// What the vendor's prose says, where its command sets something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prose: Option<String>,
    /// Why.
    pub why: String,
    /// Where the vendor says so.
    pub source: String,
    /// When somebody read that.
    pub read_on: String,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// What the same vendor says elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<String>,
    /// Where it holds.
    #[serde(default, skip_serializing_if = "When::is_always")]
    pub when: When,
}

/// Text in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileHas {
    /// Path of the file.
    pub path: String,
    /// What stands in it.
    pub has: String,
}

/// Where a rule holds: everything that is given. [`Default`] holds everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// Architectures, as `uname -m` has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arch: Vec<String>,
    /// Distributions: `ID` of os-release, and comparators on `VERSION_ID`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub os: Vec<String>,
    /// Releases of the kernel, the numbers of its package included: `<5.14.21.150500`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Range>,
    /// Parts of the kernel's name, one of which it must have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flavour: Vec<String>,
    /// Parts of the kernel's name, none of which it may have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_flavour: Vec<String>,
    /// Base pages, in KiB.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub page_kib: Vec<u64>,
    /// NUMA nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Range>,
    /// In a virtual machine, or not.
    #[serde(rename = "virtual", skip_serializing_if = "Option::is_none")]
    pub is_virtual: Option<bool>,
    /// Memory of the machine, in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_gib: Option<Range>,
    /// Resident memory of the process, in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_gib: Option<Range>,
    /// Global modes in which the advice holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub global: Vec<Mode>,
    /// Other products, by id, of which the process or the host must run one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// Other products, by id, none of which the process or the host may run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// An argument of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// An argument that the process must not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_argument: Option<String>,
    /// Parts of the CPU's name; on Arm, of the number of its part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu: Vec<String>,
    /// Text in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileHas>,
    /// What no program can see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_if: Option<String>,
}

impl When {
    /// Whether it holds everywhere.
    pub fn is_always(&self) -> bool {
        *self == Self::default()
    }
}

/// A process that must be recognised: made up, as the product's processes are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Example {
    /// Path of the executable.
    pub exe: String,
    /// Its command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Paths of what it maps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// Name and version of the package that owns the executable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// What it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Text of the file that has the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Which Go built it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub go: Option<String>,
    /// The version that must be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
