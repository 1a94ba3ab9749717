//! Signs of a container and of a virtual machine.

use crate::root::Root;
use hugewise_base::parse::cgroup;

/// Parts of cgroup paths that container managers write.
const CGROUP_SIGNS: [&str; 6] = ["docker", "kubepods", "libpod", "containerd", "lxc", "crio"];

/// What says that this is a container, quoted; `None`: nothing does, which proves nothing.
pub(super) fn evidence(root: &Root) -> Option<String> {
    if let Ok(manager) = root.read_line("run/systemd/container") {
        return Some(format!("/run/systemd/container says '{}'", manager.escape_debug()));
    }
    for file in [".dockerenv", "run/.dockerenv", "run/.containerenv"] {
        if root.has(file) {
            return Some(format!("/{file} exists"));
        }
    }
    if let Some(manager) = first_process_says(root) {
        return Some(format!("PID 1 was started with container={}", manager.escape_debug()));
    }
    let text = root.read("proc/1/cgroup").ok()?;
    let groups = cgroup::parse(&text).value;
    let path = groups
        .v2_path
        .iter()
        .chain(groups.v1_paths.values())
        .find(|path| CGROUP_SIGNS.iter().any(|sign| path.contains(sign)))?;
    Some(format!("PID 1 is in cgroup {}", path.escape_debug()))
}

/// The variable that systemd's container interface asks managers to set. Only this one is read.
fn first_process_says(root: &Root) -> Option<String> {
    let environment = root.read("proc/1/environ").ok()?;
    let value = environment.split(|byte| *byte == 0).find_map(|v| v.strip_prefix(b"container="))?;
    (!value.is_empty()).then(|| String::from_utf8_lossy(value).into_owned())
}

/// The CPU flag that hypervisors set for their guests; `None` where cpuinfo has no x86 flags.
pub(super) fn hypervisor(root: &Root) -> Option<bool> {
    let text = root.read_text("proc/cpuinfo").ok()?;
    let flags = text.lines().find(|line| line.starts_with("flags"))?;
    Some(flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}
