//! `kubectl describe` of a pod or a node.

use super::super::kernel_log::clock_before;
use super::{container, events, memory};
use crate::recording::readers::prelude::*;

/// Keys without a value that are no name of a container.
const HEADINGS: [&str; 12] = [
    "Containers",
    "Init Containers",
    "Limits",
    "Requests",
    "Environment",
    "Mounts",
    "Conditions",
    "Volumes",
    "Events",
    "Args",
    "Command",
    "Allocated resources",
];

/// Whether a key without a value is a container's name.
fn is_container(key: &str) -> bool {
    !HEADINGS.contains(&key) && key.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Conditions of a node (`NodeConditionType`, and those of the node problem detector).
const CONDITIONS: [&str; 8] = [
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
    "OutOfDisk",
    "Ready",
    "KernelDeadlock",
    "ReadonlyFilesystem",
];

/// States of a container.
const STATES: [&str; 3] = ["Running", "Waiting", "Terminated"];

/// A line such as `    Restart Count:  14`.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let apart = value.is_empty() || value.starts_with([' ', '\t']);
    (apart && !key.is_empty() && key.len() <= 40).then(|| (key, value.trim()))
}

/// Whether a line is one that nothing else prints.
fn is_own(line: &str) -> bool {
    match pair(line) {
        Some(("State" | "Last State", state)) => STATES.contains(&state),
        Some(("Restart Count", restarts)) => count(restarts).is_some(),
        Some(("Reason", reason)) => matches!(reason, "OOMKilled" | "Evicted"),
        Some(("Allocated resources", "")) => true,
        _ => events::heads(line),
    }
}

/// The kind and the name of what a command describes: `kubectl describe pod cart-6f -n shop`.
fn described(command: &str) -> Option<&str> {
    let (_, rest) = command.split_once(" describe ")?;
    let mut words = rest.split_whitespace().filter(|word| !word.starts_with('-'));
    let kind = words.next()?;
    kind.split_once('/').map(|(_, name)| name).or_else(|| words.next())
}

/// Begins at a line that only `kubectl` prints, or at any of a description that was asked for.
pub(in super::super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let asked = described(out.latest_command()).is_some();
    let own = is_own(line) || asked && pair(line).is_some();
    own.then(|| {
        let about = described(out.latest_command()).unwrap_or_default().to_owned();
        let describe = Describe { object: about, ..Describe::default() };
        lines.begin(SourceKind::Kubectl, describe, out)
    })
}

/// What is known of one container.
#[derive(Default)]
struct Container {
    name: String,
    killed: bool,
    /// When it ended last.
    ended: Option<i64>,
    restarts: Option<u64>,
    limit: Option<f64>,
    request: Option<f64>,
    exit: Option<u64>,
}

#[derive(Default)]
struct Describe {
    /// The pod or the node.
    object: String,
    container: Container,
    in_containers: bool,
    /// Whether amounts that follow are limits (else what is requested).
    limits: bool,
    /// Whether times that follow are of a state that is over.
    over: bool,
    /// Whether a blank line was seen: after it only lines count that nothing else prints.
    parted: bool,
}

impl Describe {
    /// The container is over: puts down what is known of it.
    fn flush(&mut self, out: &mut Builder) {
        let container_ = std::mem::take(&mut self.container);
        let name = match (self.object.is_empty(), container_.name.is_empty()) {
            (false, false) => format!("{}/{}", self.object, container_.name),
            (true, _) => container_.name,
            (_, true) => self.object.clone(),
        };
        let subject = Subject::Named(name.clone());
        let restarts = container_.restarts.map(|restarts| restarts as f64);
        out.put_known(Field::Restarts, &subject, None, restarts);
        out.put_known(Field::ContainerLimit, &subject, None, container_.limit);
        out.put_known(Field::ContainerRequest, &subject, None, container_.request);
        let ended = container_.ended.map(|at| at as f64);
        if container_.killed {
            let kill = container(&name);
            out.put(Field::ProcKilled, &kill, None, 1.0);
            out.put_known(Field::OomLimit, &kill, None, container_.limit);
            out.put_known(Field::Restarts, &kill, None, restarts);
            out.put_known(Field::LogClock, &kill, None, ended);
            return;
        }
        // 128 and the signal: SIGBUS, SIGKILL.
        let signal = match container_.exit {
            Some(135) => Field::ServerSigbus,
            Some(137) => Field::ServerSigkill,
            _ => return,
        };
        out.put(signal, &Subject::Service(name.clone()), None, 1.0);
        out.put_known(Field::LogClock, &Subject::part(&name, signal.about().key), None, ended);
    }

    fn pair(&mut self, key: &str, value: &str, out: &mut Builder) {
        match (key, value) {
            ("Name", name) if !name.is_empty() && !self.in_containers => {
                self.object = name.to_owned();
            }
            ("Containers" | "Init Containers", "") => self.in_containers = true,
            ("Volumes" | "Conditions", "") => self.in_containers = false,
            ("State" | "Last State", _) => self.over = value == "Terminated",
            ("Reason", "OOMKilled") => self.container.killed = true,
            ("Reason", "Evicted") => {
                let pod = if self.object.is_empty() { "a pod" } else { &self.object };
                out.put(Field::ClusterEvents, &Subject::part(pod, value), None, 1.0);
            }
            ("Exit Code", code) if self.over => self.container.exit = count(code),
            ("Finished", time) if self.over => self.container.ended = clock_before(time),
            ("Restart Count", restarts) => self.container.restarts = count(restarts),
            ("Limits", "") => self.limits = true,
            ("Requests", "") => self.limits = false,
            ("memory", amount) if self.limits => self.container.limit = memory(amount),
            ("memory", amount) => self.container.request = memory(amount),
            (name, "") if self.in_containers && is_container(name) => {
                self.flush(out);
                name.clone_into(&mut self.container.name);
            }
            _ => {}
        }
    }

    /// `MemoryPressure   True  ...`, `memory   7Gi (97%)   12Gi (160%)`.
    fn row(&self, line: &str, out: &mut Builder) -> bool {
        let words = words(line);
        let [name, second, rest @ ..] = words.as_slice() else { return false };
        let part = |what: &str| Subject::part(&self.object, what);
        if CONDITIONS.contains(name) && ["True", "False", "Unknown"].contains(second) {
            let holds = match *second {
                "True" => Some(1.0),
                "False" => Some(0.0),
                _ => None,
            };
            out.put_known(Field::NodeCondition, &part(name), None, holds);
            return true;
        }
        let shares = rest.iter().filter_map(|word| {
            percent(word.strip_prefix('(')?.strip_suffix(')')?.trim_end_matches('%'))
        });
        let shares: Vec<f64> = shares.collect();
        if let (true, [requests, limits]) = (["cpu", "memory"].contains(name), shares.as_slice()) {
            out.put(Field::NodeAllocated, &part(&format!("{name} requests")), None, *requests);
            out.put(Field::NodeAllocated, &part(&format!("{name} limits")), None, *limits);
            return true;
        }
        false
    }
}

/// A share of any size: more may be promised than there is.
fn percent(digits: &str) -> Option<f64> {
    count(digits).map(|percent| percent as f64)
}

impl Reader for Describe {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            self.parted = true;
            return Taken::Yes;
        }
        if events::event(line, &self.object, out)
            || events::pod(line, out)
            || self.row(line, out)
            || events::heads(line)
        {
            return Taken::Yes;
        }
        let Some((key, value)) = pair(line) else {
            let part = line.starts_with([' ', '\t']) && !self.parted;
            return if part { Taken::Yes } else { Taken::No };
        };
        // A description has its values in a column, or below the key.
        let column = line.contains(":  ") || value.is_empty() || line.starts_with(' ');
        if !is_own(line) && (self.parted || !column) {
            return Taken::No;
        }
        self.pair(key, value, out);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.flush(out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{read, values};
    use super::*;
    use crate::recording::Shortage;

    #[test]
    fn a_container_that_was_killed_at_its_limit() {
        for (text, name) in [
            (
                [
                    "$ kubectl describe pod web-7c -n shop",
                    "Name:         web-7c",
                    "Containers:",
                    "  nginx:",
                    "    State:          Running",
                    "      Started:      Mon, 04 May 2026 10:00:00 +0000",
                    "    Last State:     Terminated",
                    "      Reason:       OOMKilled",
                    "      Exit Code:    137",
                    "      Finished:     Mon, 04 May 2026 09:59:58 +0000",
                    "    Restart Count:  3",
                    "    Limits:",
                    "      cpu:     1",
                    "      memory:  64Mi",
                    "    Requests:",
                    "      memory:  32Mi",
                    "  sidecar:",
                    "    State:          Running",
                    "    Restart Count:  0",
                    "    Limits:",
                    "      memory:  99Mi",
                ]
                .join("\n"),
                "web-7c/nginx",
            ),
            (
                [
                    "    Last State:     Terminated",
                    "      Reason:       OOMKilled",
                    "    Limits:",
                    "      memory:  64Mi",
                ]
                .join("\n"),
                "",
            ),
        ] {
            let recording = read(&text);
            let kill = container(name);
            assert_eq!(values(&recording, Field::ProcKilled, &kill), [1.0], "{text}");
            assert_eq!(values(&recording, Field::OomLimit, &kill), [67_108_864.0], "{text}");
        }
    }

    #[test]
    fn another_signal_is_no_kill_for_memory() {
        let recording = read(
            &[
                "    Last State:     Terminated",
                "      Reason:       Error",
                "      Exit Code:    135",
                "    Restart Count:  3",
            ]
            .join("\n"),
        );
        let host = &recording.hosts[0];
        assert_eq!(host.subjects(Field::ProcKilled).count(), 0);
        assert_eq!(host.subjects(Field::ServerSigbus).count(), 1);
    }

    #[test]
    fn nodes_and_their_events() {
        let recording = read(
            &[
                "$ kubectl describe node n7",
                "Conditions:",
                "  Type             Status  LastHeartbeatTime                Reason Message",
                "  MemoryPressure   True    Mon, 04 May 2026 10:00:00 +0000  Has    memory",
                "  DiskPressure     False   Mon, 04 May 2026 10:00:00 +0000   KubeletHas  disk",
                "Allocated resources:",
                "  Resource  Requests      Limits",
                "  --------  --------      ------",
                "  memory    7Gi (91%)     14Gi (182%)",
                "Events:",
                "  Type     Reason     Age                From     Message",
                "  ----     ------     ----               ----     -------",
                "  Warning  SystemOOM  4m (x3 over 9m)  kubelet  System OOM encountered, \
                     victim process: etcd, pid: 12",
                "  Warning  Evicted    2m               kubelet  The node was low on memory",
            ]
            .join("\n"),
        );
        let of = |field, subject: Subject| values(&recording, field, &subject);
        assert_eq!(of(Field::NodeCondition, Subject::part("n7", "MemoryPressure")), [1.0]);
        assert_eq!(of(Field::NodeCondition, Subject::part("n7", "DiskPressure")), [0.0]);
        assert_eq!(of(Field::NodeAllocated, Subject::part("n7", "memory limits")), [182.0]);
        assert_eq!(of(Field::ClusterEvents, Subject::part("n7", "Evicted")), [1.0]);
        let victim = Some("etcd".to_owned());
        let kill = Subject::Kill { scope: Shortage::Machine, limited: None, victim };
        assert_eq!(of(Field::ProcKilled, kill.clone()), [1.0; 3]);
        assert_eq!(of(Field::ClusterEventAge, kill), [240_000.0]);
    }

    #[test]
    fn lists_of_events_and_pods() {
        let recording = read(
            &[
                "LAST SEEN   TYPE      REASON       OBJECT      MESSAGE",
                "3m12s       Warning   OOMKilling   node/n1     Memory cgroup out of memory: \
                     Killed process 9 (java) total-vm:9kB, anon-rss:8kB",
                "2m          Warning   Unhealthy    pod/web-1   Liveness probe failed: timeout",
                "",
                "NAME    READY   STATUS      RESTARTS       AGE",
                "web-1   0/1     OOMKilled   14 (3m ago)    2h",
                "web-2   1/1     Running     0              2h",
            ]
            .join("\n"),
        );
        let of = |field, subject: Subject| values(&recording, field, &subject);
        assert_eq!(of(Field::ClusterEvents, Subject::part("pod/web-1", "Unhealthy")), [1.0]);
        let victim = Some("java".to_owned());
        let kill = Subject::Kill { scope: Shortage::Cgroup, limited: None, victim };
        assert_eq!(of(Field::ClusterEventAge, kill), [192_000.0]);
        assert_eq!(of(Field::ProcKilled, container("web-1")), [1.0]);
        assert_eq!(of(Field::Restarts, Subject::Named("web-1".to_owned())), [14.0]);
    }

    #[test]
    fn other_pairs_begin_nothing() {
        assert!(
            read(&["Reason: because", "Name:  me", "State:  unknown",].join("\n")).hosts.is_empty()
        );
    }
}
