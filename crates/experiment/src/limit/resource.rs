//! Resources of a machine and of its programs that can be full, and how full they were.

use hugewise_evidence::recording::{Field, Host, Recording, Series, Subject};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A resource that serves requests, and that can be full.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Resource {
    /// All CPUs together.
    Cpus,
    /// Interrupts on one CPU: the scheduler cannot move them.
    Interrupts {
        /// The CPU.
        cpu: u32,
    },
    /// The busiest thread of this name: it uses one CPU at most.
    Thread {
        /// Its name.
        name: String,
    },
    /// A process of several threads which together use one CPU at most, as under one lock.
    OneAtATime {
        /// Its program.
        program: String,
    },
    /// A disk.
    Disk {
        /// Its name.
        name: String,
    },
    /// A network interface.
    Link {
        /// Its name.
        name: String,
    },
    /// The CPU quota of a cgroup.
    Quota {
        /// Its path.
        cgroup: String,
    },
    /// Something that takes some requests at a time and makes the others wait, while nothing on
    /// this machine is full: a pool, a lock, or another machine.
    Slots,
    /// The connections of the load itself.
    Connections,
    /// The load generator.
    Generator,
}

impl Resource {
    /// Whether its share grows in step with the rate, so that a line says where it is full.
    pub const fn is_linear(&self) -> bool {
        !matches!(self, Self::Quota { .. } | Self::Slots)
    }

    /// Whether it belongs to the measurement, and not to what is measured.
    pub const fn is_ours(&self) -> bool {
        matches!(self, Self::Connections | Self::Generator)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpus => f.write_str("all CPUs"),
            Self::Interrupts { cpu } => write!(f, "interrupts on CPU {cpu}"),
            Self::Thread { name } => write!(f, "a thread of '{name}'"),
            Self::OneAtATime { program } => {
                write!(f, "'{program}', whose threads work one at a time")
            }
            Self::Disk { name } => write!(f, "disk {name}"),
            Self::Link { name } => write!(f, "link {name}"),
            Self::Quota { cgroup } => write!(f, "the CPU quota of cgroup {cgroup}"),
            Self::Slots => f.write_str("something that takes a few requests at a time"),
            Self::Connections => f.write_str("the connections of the load"),
            Self::Generator => f.write_str("the load generator"),
        }
    }
}

/// How full a resource was at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// Which resource.
    pub resource: Resource,
    /// Its mean share in use; above 1 for threads that use more than one CPU.
    pub share: f64,
    /// Of interrupts: the vector that comes most often.
    pub mostly: Option<String>,
}

/// CPU time of a program, all processes of this name together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// CPUs that it kept busy on average.
    pub cpus: f64,
}

/// Connections that wait for a program to accept them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Path or address of the socket that listens.
    pub socket: String,
    /// Its program, as `PID/NAME`; `None` where this user may not know.
    pub program: Option<String>,
    /// Mean number of connections in it.
    pub waiting: f64,
}

/// Soft interrupts that work for others; the rest is the kernel's own timekeeping.
const AT_WORK: [&str; 4] = ["NET_RX", "NET_TX", "BLOCK", "TASKLET"];

/// How full each resource was on average, 0 to 1. `own_pid` is the load generator.
pub fn used(recording: &Recording, own_pid: u32) -> BTreeMap<Resource, f64> {
    let Some(host) = recording.hosts.first() else { return BTreeMap::new() };
    let mut used = BTreeMap::new();
    let machine = |field| host.series(field, &Subject::Machine).and_then(Series::mean);
    if let Some(idle) = machine(Field::CpuIdle) {
        let waits = machine(Field::CpuIowait).unwrap_or(0.0);
        used.insert(Resource::Cpus, (100.0 - idle - waits) / 100.0);
    }
    interrupts(host, &mut used);
    threads(host, own_pid, &mut used);
    devices(host, &mut used);
    used.retain(|_, share| share.is_finite());
    used.values_mut().for_each(|share| *share = share.max(0.0));
    used
}

/// Programs that use less of one CPU than this are not kept.
const CPUS_MIN: f64 = 0.005;

/// CPU time of each program, all processes of a name together. `own_pid` is the load generator.
pub fn programs(recording: &Recording, own_pid: u32) -> Vec<Program> {
    let Some(host) = recording.hosts.first() else { return Vec::new() };
    let mut all: BTreeMap<&str, f64> = BTreeMap::new();
    for (pid, name, cpus) in shares(host, Field::ProcCpu) {
        if pid != Some(own_pid) {
            *all.entry(name).or_default() += cpus;
        }
    }
    all.retain(|_, cpus| *cpus >= CPUS_MIN);
    all.into_iter().map(|(name, cpus)| Program { name: name.to_owned(), cpus }).collect()
}

/// Sockets in whose queue connections waited to be accepted, the longest queue first.
pub fn queues(recording: &Recording) -> Vec<Queue> {
    let Some(host) = recording.hosts.first() else { return Vec::new() };
    let mut all = Vec::new();
    for (subject, series) in host.subjects(Field::AcceptWaiting) {
        let Subject::Named(socket) = subject else { continue };
        let Some(waiting) = series.first().and_then(Series::mean).filter(|mean| *mean > 0.0) else {
            continue;
        };
        let of = host.sockets.iter().filter(|one| one.local == *socket);
        let program = of.filter_map(|one| one.program.clone()).next();
        all.push(Queue { socket: socket.clone(), program, waiting });
    }
    all.sort_by(|a, b| b.waiting.total_cmp(&a.waiting));
    all
}

/// The soft interrupt that comes most often on a CPU, of those that work for others.
pub fn vector(recording: &Recording, cpu: u32) -> Option<String> {
    let rates = recording.hosts.first()?.subjects(Field::SoftirqRate);
    let of_cpu = rates.filter_map(|(subject, all)| match subject {
        Subject::Vector { name, cpu: Some(on) }
            if *on == cpu && AT_WORK.contains(&name.as_str()) =>
        {
            Some((name, all.first()?.mean()?))
        }
        _ => None,
    });
    of_cpu.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name.clone())
}

fn interrupts(host: &Host, used: &mut BTreeMap<Resource, f64>) {
    for field in [Field::CpuIrq, Field::CpuSoftirq] {
        for (subject, all) in host.subjects(field) {
            let Subject::Cpu(cpu) = subject else { continue };
            let Some(percent) = all.first().and_then(Series::mean) else { continue };
            *used.entry(Resource::Interrupts { cpu: *cpu }).or_default() += percent / 100.0;
        }
    }
}

/// The mean share of one CPU by process or thread. One that was not listed in a sample used nothing
/// then.
fn shares(host: &Host, field: Field) -> Vec<(Option<u32>, &str, f64)> {
    let all = || host.subjects(field).filter_map(|(subject, all)| Some((subject, all.first()?)));
    let samples = all().map(|(_, series)| series.points.len()).max().unwrap_or(0).max(1);
    let named = all().filter_map(|(subject, series)| {
        let Subject::Process { pid, name } = subject else { return None };
        let sum: f64 = series.points.iter().map(|point| point.value).sum();
        Some((*pid, name.as_str(), sum / samples as f64 / 100.0))
    });
    named.collect()
}

fn threads(host: &Host, own_pid: u32, used: &mut BTreeMap<Resource, f64>) {
    let mut most = |resource, share: f64| {
        let known = used.entry(resource).or_insert(share);
        *known = known.max(share);
    };
    let count = |pid, name: &str| {
        let subject = Subject::process(pid, name);
        host.series(Field::ProcThreads, &subject).and_then(Series::mean).unwrap_or(1.0)
    };
    for (pid, name, share) in shares(host, Field::ProcCpu) {
        let resource = if pid == Some(own_pid) {
            Resource::Generator
        } else if count(pid, name) > 1.0 {
            Resource::OneAtATime { program: name.to_owned() }
        } else {
            Resource::Thread { name: name.to_owned() }
        };
        most(resource, share);
    }
    for (tid, name, share) in shares(host, Field::ThreadCpu) {
        if tid != Some(own_pid) {
            most(Resource::Thread { name: name.to_owned() }, share);
        }
    }
}

fn devices(host: &Host, used: &mut BTreeMap<Resource, f64>) {
    let all = |field| {
        let all = host.subjects(field);
        all.filter_map(|(subject, all)| Some((subject, all.first()?.mean()? / 100.0)))
    };
    let disks: Vec<&str> = all(Field::DiskBusy)
        .filter_map(|(subject, _)| match subject {
            Subject::Disk(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    // A partition is busy when its disk is.
    let whole = |name: &str| !disks.iter().any(|other| name != *other && name.starts_with(other));
    for (subject, share) in all(Field::DiskBusy) {
        if let Subject::Disk(name) = subject
            && whole(name)
        {
            used.insert(Resource::Disk { name: name.clone() }, share);
        }
    }
    for (subject, share) in all(Field::NetBusy) {
        if let Subject::Interface(name) = subject {
            used.insert(Resource::Link { name: name.clone() }, share);
        }
    }
    for (subject, share) in all(Field::CgroupThrottled) {
        if let Subject::Cgroup(cgroup) = subject {
            used.insert(Resource::Quota { cgroup: cgroup.clone() }, share);
        }
    }
}
