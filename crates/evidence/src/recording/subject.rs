//! What a value is about.

use std::fmt;

use serde::Serialize;

/// Whose memory was used up when a program was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortage {
    /// The machine's.
    Machine,
    /// What a cgroup may have.
    Cgroup,
    /// What a container may have, by its cluster or engine.
    Container,
    /// That of the NUMA nodes to which a cpuset or a policy of memory confines the program.
    Nodes,
    /// Nobody's: a daemon killed by its own rule, such as systemd-oomd for memory pressure.
    Daemon,
    /// Nobody's: somebody asked for the kill (`sysrq f`).
    ByHand,
    /// The source does not say.
    Unknown,
}

/// Why a program stands still for its collector of garbage, or what takes the time meanwhile,
/// where that has an explanation of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// The heap was full before the collector had made room.
    Behind,
    /// A dump of the heap, or a histogram of classes.
    Dump,
    /// Somebody asked for it: the program, a tool or an agent.
    Explicit,
    /// An object of half a region or more.
    Humongous,
    /// The space of classes.
    Classes,
    /// Weak, soft and final references.
    References,
}

/// What a value is about. Names are as the source wrote them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The whole machine; for processor time the mean of its CPUs.
    Machine,
    /// One CPU.
    Cpu(u32),
    /// A block device, such as `sda`.
    Disk(String),
    /// A file system, by the place where it is mounted.
    Filesystem(String),
    /// A network interface, such as `eth0`.
    Interface(String),
    /// An interrupt or soft interrupt vector on a CPU (`None`: all CPUs).
    Vector {
        /// Its name, such as `NET_RX` or `24`.
        name: String,
        /// The CPU.
        cpu: Option<u32>,
    },
    /// A process or thread.
    Process {
        /// Its id, where the source has it.
        pid: Option<u32>,
        /// Its name: the kernel's, or the one the tool showed. Never arguments.
        name: String,
    },
    /// What passes between two ends of the network.
    Flow {
        /// This machine's end.
        local: String,
        /// The other one.
        remote: String,
    },
    /// A shared memory segment, by id or name.
    Segment(String),
    /// A cgroup, by path.
    Cgroup(String),
    /// Programs that were killed for memory.
    Kill {
        /// Whose memory was used up.
        scope: Shortage,
        /// The cgroup, container or pod whose limit was reached, where the source names it.
        limited: Option<String>,
        /// Who was killed, where the source names it.
        victim: Option<String>,
    },
    /// Another part of the machine, by its own name: `dentry`, `NUMA node 0`, `array md2`.
    Named(String),
    /// A function of the kernel or of a program.
    Symbol(String),
    /// How a program came into the kernel, and what it did there.
    Calls {
        /// The program's name.
        program: String,
        /// The way in, such as `read()` or `page fault`, and functions from there on.
        path: String,
    },
    /// A server program that answers for itself, such as `redis` or `redis :6380`.
    Service(String),
    /// A part of what it does: a command, a statement, a kind of wait.
    Part {
        /// The server.
        service: String,
        /// Which part.
        name: String,
    },
    /// A reason, an event or a part of a program's pauses for its collector.
    Pause {
        /// The program.
        service: String,
        /// As its log calls it.
        name: String,
        /// What that means, where it is known.
        mechanism: Option<Mechanism>,
    },
    /// Threads of a server program, and what they do.
    Threads {
        /// The server.
        service: String,
        /// Which of them: a pool of threads, the users of a pool of connections, the holder of a
        /// lock.
        group: String,
        /// What they do, or which thread it is.
        what: String,
    },
}

impl Subject {
    /// A part of what a server does.
    pub fn part(service: &str, name: &str) -> Self {
        Self::Part { service: service.to_owned(), name: name.to_owned() }
    }

    /// The server, where it is about one or a part of one.
    pub fn service(&self) -> Option<&str> {
        match self {
            Self::Service(service)
            | Self::Part { service, .. }
            | Self::Pause { service, .. }
            | Self::Threads { service, .. } => Some(service),
            _ => None,
        }
    }

    /// The name of a part of what a server does, or of a program's pauses.
    pub(crate) fn part_name(&self) -> Option<&str> {
        match self {
            Self::Part { name, .. } | Self::Pause { name, .. } => Some(name),
            _ => None,
        }
    }

    /// What the pauses that it is about mean.
    pub(crate) const fn mechanism(&self) -> Option<Mechanism> {
        if let Self::Pause { mechanism, .. } = self { *mechanism } else { None }
    }

    /// A process.
    pub fn process(pid: Option<u32>, name: &str) -> Self {
        Self::Process { pid, name: name.to_owned() }
    }

    /// The process's name, if it is one.
    pub(crate) fn process_name(&self) -> Option<&str> {
        if let Self::Process { name, .. } = self { Some(name) } else { None }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => f.write_str("machine"),
            Self::Cpu(number) => write!(f, "CPU {number}"),
            Self::Disk(name) | Self::Interface(name) | Self::Symbol(name) | Self::Named(name) => {
                f.write_str(name)
            }
            Self::Vector { name, cpu: Some(cpu) } => write!(f, "{name} on CPU {cpu}"),
            Self::Vector { name, cpu: None } => f.write_str(name),
            Self::Process { pid: Some(pid), name } => write!(f, "{name} ({pid})"),
            Self::Process { pid: None, name } => f.write_str(name),
            Self::Flow { local, remote } => write!(f, "{local} to {remote}"),
            Self::Filesystem(path) => write!(f, "file system {path}"),
            Self::Segment(name) => write!(f, "segment {name}"),
            // One without a name.
            Self::Cgroup(path) if path == "a cgroup" => f.write_str(path),
            Self::Cgroup(path) => write!(f, "cgroup {path}"),
            Self::Kill { limited, victim, .. } => {
                write!(f, "kill of {}", victim.as_deref().unwrap_or("a program"))?;
                limited.as_ref().map_or(Ok(()), |cgroup| write!(f, " in {cgroup}"))
            }
            Self::Calls { program, path } => write!(f, "{program}: {path}"),
            Self::Service(name) => f.write_str(name),
            Self::Part { service, name } | Self::Pause { service, name, .. } => {
                write!(f, "{service}, {name}")
            }
            Self::Threads { service, group, what } => write!(f, "{service}, {group}: {what}"),
        }
    }
}
