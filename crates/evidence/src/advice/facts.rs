//! What is known of a host and its programs, as far as rules need it. `None` is unknown.

use super::setting::{Mode, Setting};
use super::version::Version;
use hugewise_base::units::Bytes;
use serde::Serialize;
use std::collections::BTreeMap;

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// As `uname -m` has it.
    pub arch: Option<String>,
    /// As `uname -r` has it.
    pub kernel: Option<String>,
    /// `ID` of os-release and, behind it, those of `ID_LIKE`.
    pub os: Vec<String>,
    /// `VERSION_ID` of os-release.
    pub os_version: Option<Version>,
    /// Base page.
    pub page: Option<Bytes>,
    /// NUMA nodes.
    pub nodes: Option<u64>,
    /// Whether it is a virtual machine.
    pub is_virtual: Option<bool>,
    /// Its memory.
    pub memory: Option<Bytes>,
    /// Name of its CPU.
    pub cpu: Option<String>,
    /// Version of systemd.
    pub systemd: Option<u32>,
    /// Whether the kernel can keep huge pages from what a program did not advise (Linux 6.18).
    pub except_advised: Option<bool>,
    /// A manager of hugewise runs.
    pub managed: bool,
    /// The file that decides about the global mode, below the root.
    pub global_file: Option<String>,
    /// Values of settings that are files, or parameters of the kernel.
    pub settings: BTreeMap<Setting, String>,
    /// Files that rules ask for, by path.
    pub files: BTreeMap<String, String>,
}

impl Machine {
    /// The global mode.
    pub fn global(&self) -> Option<Mode> {
        Mode::named(self.settings.get(&Setting::Thp)?)
    }
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Path of its executable.
    pub exe: String,
    /// Its command line; never printed, as it may hold passwords.
    #[serde(skip)]
    pub arguments: Vec<String>,
    /// Those variables of its environment that rules name; never printed.
    #[serde(skip)]
    pub environment: Option<BTreeMap<String, String>>,
    /// Paths of the files that it maps.
    #[serde(skip)]
    pub libraries: Vec<String>,
    /// Its systemd unit.
    pub unit: Option<String>,
    /// Resident memory.
    pub rss: Option<Bytes>,
    /// Huge pages of it.
    pub huge: Option<Bytes>,
    /// It has refused transparent huge pages for itself (`PR_SET_THP_DISABLE`).
    pub thp_disabled: Option<bool>,
    /// Memory that was not advised can become huge, as far as the kernel says so.
    pub unadvised_eligible: Option<bool>,
    /// What its files say of its version.
    #[serde(skip)]
    pub version_sources: VersionSources,
}

/// Texts that have a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionSources {
    /// Names and versions of the packages that own the executable and what it maps.
    pub packages: Vec<(String, String)>,
    /// Texts of files beside the executable, by the product that has the version there.
    pub release: BTreeMap<String, String>,
    /// What the program answered, by the product that asks so.
    pub says: BTreeMap<String, String>,
    /// Which Go built it.
    pub go: Option<String>,
}
