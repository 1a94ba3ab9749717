//! `/proc/PID/cgroup` (cgroups(7)): where a process is accounted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// Endings of the unit names systemd uses as directory names.
const UNIT_ENDINGS: [&str; 3] = [SERVICE, ".scope", ".slice"];

/// The ending of a service's.
const SERVICE: &str = ".service";

/// The kernel's mark on the path of a removed cgroup.
const DELETED: &str = " (deleted)";

/// The cgroups of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// Path in the unified hierarchy; `None` when there is none.
    pub v2_path: Option<String>,
    /// Path by controller in version 1 hierarchies; a named one as `name=systemd`.
    pub v1_paths: BTreeMap<String, String>,
}

impl Cgroup {
    /// Where its memory is accounted: the memory controller's path, else the unified one.
    pub fn memory(&self) -> Option<&str> {
        self.v1_paths.get("memory").or(self.v2_path.as_ref()).map(String::as_str)
    }

    /// The systemd unit: the last part of the path that is named like one and that the system's
    /// systemd has named: below a container, and below what a user's own systemd has, anybody names
    /// cgroups as he likes. Searched for in the unified hierarchy, then in systemd's own version 1
    /// hierarchy.
    pub fn unit(&self) -> Option<&str> {
        self.last_named(&UNIT_ENDINGS)
    }

    /// The service of the system's systemd: as [`Cgroup::unit`], past scopes and slices. Services
    /// of users (below `user.slice`) have whatever names users give them, and are none.
    pub fn service(&self) -> Option<&str> {
        let of_user = |path: &String| path.split('/').any(|part| part == "user.slice");
        let systemd = self.v1_paths.get("name=systemd");
        if self.v2_path.iter().chain(systemd).any(of_user) {
            return None;
        }
        self.last_named(&[SERVICE])
    }

    fn last_named(&self, endings: &[&str]) -> Option<&str> {
        let systemd = self.v1_paths.get("name=systemd");
        let paths = self.v2_path.iter().chain(systemd);
        paths.filter_map(|path| named_in(of_system(path), endings)).next()
    }
}

/// The beginning of a path that the system's systemd and a container's runtime have named.
fn of_system(path: &str) -> &str {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len() + 1;
        let of_user = part.starts_with("user@") || part.starts_with("session-");
        if of_user || container(part).is_some() {
            break;
        }
    }
    path.get(..end).unwrap_or(path).trim_end_matches('/')
}

fn named_in<'a>(path: &'a str, endings: &[&str]) -> Option<&'a str> {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    path.rsplit('/').find(|part| ends_in(part, endings))
}

fn ends_in(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
}

/// What a cgroup belongs to, as container runtimes and systemd call it in its path: a container by
/// the first twelve digits of its number, as their tools print them, with its Kubernetes pod; else
/// a unit. `None` where the path says nothing of that.
///
/// Only a name to show: whoever may make cgroups may call them as he likes. Below `user.slice`,
/// where any user may, there are no containers.
pub fn belongs_to(path: &str) -> Option<String> {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    let container = parts.iter().rev().find_map(|part| container(part));
    match container.filter(|_| !parts.contains(&"user.slice")) {
        Some(container) => Some(match parts.iter().find_map(|part| pod(part)) {
            Some(pod) => format!("pod {pod} container {container}"),
            None => format!("container {container}"),
        }),
        None => named_in(path, &UNIT_ENDINGS).map(str::to_owned),
    }
}

/// The container of `docker-ID.scope`, `cri-containerd-ID.scope`, `crio-ID.scope`,
/// `libpod-ID.scope`, of `ID` alone, or of `lxc.payload.NAME`.
fn container(part: &str) -> Option<&str> {
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(name);
    }
    let name = part.strip_suffix(".scope").unwrap_or(part);
    let id = name.rsplit('-').next().unwrap_or(name);
    let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| &id[..12])
}

/// The pod of `kubepods-burstable-podUID.slice`, in which the number has underscores, or of
/// `podUID`.
fn pod(part: &str) -> Option<String> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match name.strip_prefix("kubepods") {
        Some(rest) => rest.rsplit_once("-pod")?.1,
        None => name.strip_prefix("pod")?,
    };
    (uid.len() >= 32).then(|| uid.replace('_', "-"))
}

/// Whether a unit may be called so that [`Cgroup::unit`] finds it.
pub fn is_unit(name: &str) -> bool {
    ends_in(name, &UNIT_ENDINGS)
}

/// Reads the file: bytes, because a directory name may contain any.
pub fn parse(text: &[u8]) -> Parsed<Cgroup> {
    let mut parsed = Parsed::<Cgroup>::empty();
    for (number, bytes) in numbered_lines(text) {
        let line = String::from_utf8_lossy(bytes);
        let mut parts = line.splitn(3, ':');
        let hierarchy = parts.next().and_then(decimal::<u32>);
        let (Some(hierarchy), Some(controllers), Some(path)) =
            (hierarchy, parts.next(), parts.next().filter(|path| path.starts_with('/')))
        else {
            parsed.note(ParseError::new("cgroup", number, bytes, "'id:controllers:/path'"));
            continue;
        };
        if hierarchy == 0 && controllers.is_empty() {
            parsed.value.v2_path = Some(path.to_owned());
            continue;
        }
        for controller in controllers.split(',').filter(|name| !name.is_empty()) {
            parsed.value.v1_paths.insert(controller.to_owned(), path.to_owned());
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_users_are_none() {
        let path = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/sshd.service\n";
        assert_eq!(parse(path.as_bytes()).value.service(), None);
        let path = "0::/system.slice/sshd.service\n";
        assert_eq!(parse(path.as_bytes()).value.service(), Some("sshd.service"));
    }

    #[test]
    fn reads_a_mixed_hierarchy() {
        let text = b"9:name=systemd:/\n4:memory:/jobs/7ef7:1\n1:cpu,cpuacct:/\n0::/\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        let cgroup = parsed.value;
        assert_eq!(cgroup.v2_path.as_deref(), Some("/"));
        assert_eq!(cgroup.v1_paths.get("memory").map(String::as_str), Some("/jobs/7ef7:1"));
        assert!(cgroup.v1_paths.contains_key("cpuacct"));
        assert_eq!(cgroup.unit(), None);
    }

    #[test]
    fn finds_the_unit_nearest_to_the_process() {
        let unit = |text: &str| parse(text.as_bytes()).value.unit().map(str::to_owned);
        let session = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope/sub";
        assert_eq!(unit(session).as_deref(), Some("user@1000.service"));
        let mine = "0::/user.slice/user-7.slice/session-2.scope/redis.service";
        assert_eq!(unit(mine).as_deref(), Some("session-2.scope"));
        let id = "0123456789abcdef".repeat(4);
        let inside = format!("0::/system.slice/docker-{id}.scope/system.slice/redis.service");
        assert_eq!(unit(&inside), Some(format!("docker-{id}.scope")));
        let service = |text: &str| parse(text.as_bytes()).value.service().map(str::to_owned);
        assert_eq!(service(session).as_deref(), None);
        assert_eq!(service("0::/user.slice/x.scope"), None);
        assert_eq!(unit("0::/system.slice/redis.service").as_deref(), Some("redis.service"));
        let gone = "0::/system.slice/redis.service (deleted)";
        assert_eq!(unit(gone).as_deref(), Some("redis.service"));
        let mixed = "1:name=systemd:/system.slice/cron.service\n0::/\n";
        assert_eq!(unit(mixed).as_deref(), Some("cron.service"));
        assert_eq!(unit("0::/.service"), None);
    }

    #[test]
    fn containers_pods_and_units_have_their_names() {
        let id = "0123456789abcdef".repeat(4);
        let name = |path: &str| belongs_to(&path.replace("ID", &id));
        for path in
            ["/docker/ID", "/system.slice/docker-ID.scope", "/machine.slice/libpod-ID.scope"]
        {
            assert_eq!(name(path).as_deref(), Some("container 0123456789ab"), "{path}");
        }
        let uid = "5d2a8f3e-0b1c-4d2e-9f3a-4b5c6d7e8f90";
        let systemd = format!(
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/\
             cri-containerd-ID.scope",
            uid.replace('-', "_")
        );
        let in_pod = format!("pod {uid} container 0123456789ab");
        for path in [systemd, format!("/kubepods/burstable/pod{uid}/ID (deleted)")] {
            assert_eq!(name(&path).as_deref(), Some(&*in_pod), "{path}");
        }
        assert_eq!(name("/lxc.payload.web/init.scope").as_deref(), Some("container web"));
        let unit = "/system.slice/redis.service/ab12";
        assert_eq!(name(unit).as_deref(), Some("redis.service"));
        // A user may call his scopes as he likes.
        let own = "/user.slice/user-7.slice/user@7.service/docker-ID.scope";
        assert_eq!(name(own), Some(format!("docker-{id}.scope")));
        assert_eq!((name("/"), name("/jobs/7")), (None, None));
    }

    #[test]
    fn reports_odd_lines() {
        let parsed = parse(b"x::/\n0:\n0::relative\n0::/ok\xff\n");
        assert_eq!(parsed.problems.len(), 3);
        assert_eq!(parsed.value.v2_path.as_deref(), Some("/ok\u{fffd}"));
    }
}
