//! What stands in configuration files, so that a plan outlives a reboot.

use serde::{Deserialize, Serialize};

use super::planned::{HugetlbPlan, PoolPlan};
use hugewise_base::owner::Owner;
use hugewise_base::units::Bytes;

/// Settings of sysctl. Late in the order, so that a distribution's defaults do not win.
pub const SYSCTL: &str = "etc/sysctl.d/90-hugewise-hugetlb.conf";
/// Limits of logins (pam_limits).
pub const LIMITS: &str = "etc/security/limits.d/90-hugewise-hugetlb.conf";
/// Pools of other sizes and of single NUMA nodes, which sysctl cannot name (tmpfiles.d writes
/// them when the machine starts).
pub const TMPFILES: &str = "etc/tmpfiles.d/90-hugewise-hugetlb.conf";
/// Name of a drop-in in a unit's directory.
const DROP_IN: &str = "90-hugewise-hugetlb.conf";
/// Where drop-ins of units are.
const UNITS: &str = "etc/systemd/system";

/// A file as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedFile {
    /// Path below the root.
    pub path: String,
    /// All of its text.
    pub text: String,
}

/// Whose configuration files these are.
pub const OWNER: Owner = Owner { trail: "hugetlb-files.jsonl", owns: is_own, over_reboots: true };

/// Whether a file is one of these, as it is written or as the root sees it.
pub fn is_own(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    [SYSCTL, LIMITS, TMPFILES].contains(&path)
        || path.strip_prefix(UNITS).is_some_and(|rest| {
            let rest = rest.trim_start_matches('/').split_once('/');
            rest.is_some_and(|(unit, name)| is_unit_folder(unit) && name == DROP_IN)
        })
}

fn is_unit_folder(name: &str) -> bool {
    name.strip_suffix(".d").is_some_and(is_unit)
}

/// Whether a name can be that of a service: nothing that could lead elsewhere in a path, and
/// nothing that could end a line (systemd.unit(5): letters, digits, and `:-_.\@`).
pub fn is_unit(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    let own = name.strip_suffix(".service").is_some_and(|own| !own.is_empty());
    own && name.len() < 256 && name.chars().all(allowed)
}

/// Whether a name can be that of a user in limits.d: no wildcard, group or range, and nothing
/// that could end the line.
pub fn is_user(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.len() < 65 && name.chars().all(allowed)
}

/// The files of a plan.
pub fn wanted(plan: &HugetlbPlan, default_page: Option<Bytes>) -> Vec<WantedFile> {
    let mut files = Vec::new();
    let mut add = |path: String, lines: Vec<String>| {
        if !lines.is_empty() {
            let text = format!("{}{}\n", HEADER, lines.join("\n"));
            files.push(WantedFile { path, text });
        }
    };
    let by_node = !plan.inputs.nodes.is_empty();
    let grown: Vec<&PoolPlan> = plan.pools.iter().filter(|pool| is_planned(pool)).collect();
    let by_sysctl = |pool: &&&PoolPlan| Some(pool.page_bytes) == default_page && !by_node;
    let mut sysctl: Vec<String> = grown
        .iter()
        .filter(by_sysctl)
        .map(|pool| format!("vm.nr_hugepages = {}", pool.target_pages))
        .collect();
    let settings = plan.settings.iter();
    sysctl.extend(settings.map(|setting| format!("{} = {}", setting.key, setting.value)));
    add(SYSCTL.to_owned(), sysctl);
    let others = grown.iter().filter(|pool| !by_sysctl(pool));
    add(TMPFILES.to_owned(), others.flat_map(|pool| tmpfiles(pool, by_node)).collect());
    if let Some(memlock) = &plan.memlock {
        let kb = memlock.limit_kb;
        let line = |user: &String, kind| format!("{user} {kind} memlock {kb}");
        let users = memlock.users.iter().filter(|user| is_user(user) && *user != "root");
        let lines = users.flat_map(|user| [line(user, "soft"), line(user, "hard")]);
        add(LIMITS.to_owned(), lines.collect());
        for unit in memlock.units.iter().filter(|unit| is_unit(unit)) {
            let lines = vec!["[Service]".to_owned(), format!("LimitMEMLOCK={kb}K")];
            add(format!("{UNITS}/{unit}.d/{DROP_IN}"), lines);
        }
    }
    files
}

fn is_planned(pool: &PoolPlan) -> bool {
    pool.needed_pages > 0 || pool.target_pages != pool.now_pages()
}

/// All of these files take `#` for a comment.
const HEADER: &str = "# Written by 'hugewise hugetlb apply --persist'.\n\
    # 'hugewise hugetlb revert' removes it; 'hugewise hugetlb verify' checks it.\n";

/// Lines of tmpfiles.d(5): type, path, mode, user, group, age, argument.
fn tmpfiles(pool: &PoolPlan, by_node: bool) -> Vec<String> {
    let line = |path: &str, pages| format!("w /{path} - - - - {pages}");
    if !by_node {
        return vec![line(&pool_file(pool.page_bytes), pool.target_pages)];
    }
    // All of them: what is there already has to come back, too.
    let nodes = pool.nodes.iter();
    nodes.map(|share| line(&node_file(pool.page_bytes, share.node), share.target_pages)).collect()
}

/// The file that sizes a pool, below the root.
pub fn pool_file(page: Bytes) -> String {
    format!("sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages", page.0 >> 10)
}

/// The file that sizes a NUMA node's share, below the root.
pub fn node_file(page: Bytes, node: u32) -> String {
    format!(
        "sys/devices/system/node/node{node}/hugepages/hugepages-{}kB/nr_hugepages",
        page.0 >> 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_lead_elsewhere() {
        assert!(is_unit("postgresql@15-main.service"));
        for bad in ["../x.service", "a/b.service", "a.service\nX=1", "a.socket", "..", ".service"] {
            assert!(!is_unit(bad), "{bad}");
        }
        assert!(is_user("oracle") && is_user("svc_db.1"));
        for bad in ["", "*", "@dba", "a b", "x\ny", "%dba", "-x"] {
            assert!(!is_user(bad), "{bad}");
        }
    }

    #[test]
    fn own_files_are_known_by_their_place() {
        assert!(is_own("/etc/sysctl.d/90-hugewise-hugetlb.conf") && is_own(LIMITS));
        assert!(is_own("etc/systemd/system/pg.service.d/90-hugewise-hugetlb.conf"));
        assert!(!is_own("etc/systemd/system/pg.service.d/other.conf"));
        assert!(!is_own("etc/systemd/system/../x.d/90-hugewise-hugetlb.conf"));
        assert!(!is_own("etc/passwd"));
    }
}
