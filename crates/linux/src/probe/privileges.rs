//! Who we are to the kernel.

use crate::root::Root;
use hugewise_base::parse::{pid_status, thp_choice};
use serde::Serialize;

use super::finding::Need;

/// The whole range of user ids maps to itself: `/proc/self/uid_map` of the initial namespace.
const IDENTITY_MAP: [&str; 3] = ["0", "0", "4294967295"];
/// The initial user namespace's inode, `PROC_USER_INIT_INO` (include/linux/proc_ns.h).
const INITIAL_NAMESPACE: &str = "user:[4026531837]";

/// One capability that something here needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// `CAP_SYS_NICE` and so on.
    pub name: &'static str,
    /// Whether it is effective; `None`: unknown.
    pub held: Option<bool>,
    /// How much it is needed.
    pub need: Need,
    /// What for.
    pub used_for: &'static str,
}

/// The rights of this process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Privileges {
    /// Effective user id.
    pub uid: Option<u32>,
    /// Those capabilities that matter.
    pub caps: Vec<Capability>,
    /// Whether capabilities count for the whole machine: `CAP_SYS_NICE` of another user namespace
    /// does not allow remote advice.
    pub initial_userns: Option<bool>,
}

impl Privileges {
    /// Names of required capabilities that are known to be missing.
    pub fn missing(&self) -> Vec<&'static str> {
        let needed = self.caps.iter().filter(|cap| cap.need == Need::Required);
        needed.filter(|cap| cap.held == Some(false)).map(|cap| cap.name).collect()
    }

    /// Who asks, where root could do more; `None` where nothing is missing.
    pub fn shortfall(&self) -> Option<String> {
        let missing = self.missing();
        match self.uid {
            Some(uid) if uid != 0 => Some(format!("you are user {uid}")),
            _ if !missing.is_empty() => Some(format!("without {}", missing.join(", "))),
            _ => None,
        }
    }
}

/// Name, number in `include/uapi/linux/capability.h`, need, use.
const CAPS: [(&str, u32, Need, &str); 7] = [
    ("CAP_SYS_NICE", 23, Need::Required, "advise another process"),
    ("CAP_SYS_PTRACE", 19, Need::Required, "look at processes of other users"),
    ("CAP_DAC_READ_SEARCH", 2, Need::Required, "open their pagemap"),
    ("CAP_CHECKPOINT_RESTORE", 40, Need::Useful, "see which pages shared memory has"),
    ("CAP_SYS_ADMIN", 21, Need::Useful, "see partially mapped huge pages ('status --map')"),
    ("CAP_PERFMON", 38, Need::Useful, "sample what CPUs run ('record', 'diagnose --freezes')"),
    ("CAP_SYS_RESOURCE", 24, Need::Unused, "PSI triggers before 6.5"),
];

pub(super) fn look(root: &Root) -> Privileges {
    let status = root.read("proc/self/status").map(|text| pid_status::parse(&text).value);
    let status = status.unwrap_or_default();
    let held = |bit: u32| status.cap_eff.map(|set| set >> bit & 1 == 1);
    let caps = CAPS
        .iter()
        .map(|&(name, bit, need, used_for)| Capability { name, held: held(bit), need, used_for })
        .collect();
    Privileges { uid: status.euid, caps, initial_userns: initial_userns(root) }
}

/// By the namespace's inode; where that is not shown, by the user id map.
fn initial_userns(root: &Root) -> Option<bool> {
    if let Ok(link) = std::fs::read_link(root.path("proc/self/ns/user")) {
        return Some(link.as_os_str() == INITIAL_NAMESPACE);
    }
    let map = root.read_text("proc/self/uid_map").ok()?;
    let words: Vec<&str> = map.split_ascii_whitespace().collect();
    (!words.is_empty()).then(|| words == IDENTITY_MAP)
}

/// The lockdown level in force; `None` where securityfs is not mounted or has no lockdown.
pub(super) fn lockdown(root: &Root) -> Option<String> {
    let text = root.read_line("sys/kernel/security/lockdown").ok()?;
    thp_choice::parse(&text).ok().map(|choice| choice.selected)
}
