//! Processes: who they are, what they may, which service they belong to.

use hugewise_linux::address_space::SpaceFile;
use hugewise_linux::space_text;
use std::collections::BTreeMap;
use std::fs;

use hugewise_base::parse::arguments;
use hugewise_base::parse::pid_stat::PidStat;
use hugewise_base::parse::{cgroup, pid_limits, pid_status};
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::facts::{Java, Process};

use super::notes::Notes;
use hugewise_linux::process;
use hugewise_linux::root::Root;

/// Whom to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessSelection {
    /// These processes, and of shared memory only what they map; empty: all of both.
    pub pids: Vec<u32>,
}

/// Processes that have memory of their own.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// All of them.
    pub(super) all: BTreeMap<u32, PidStat>,
    /// Those that are asked for.
    pub(super) wanted: Vec<u32>,
}

pub(super) fn list(root: &Root, wanted: &ProcessSelection, notes: &mut Notes) -> Listed {
    let pids = process::pids(root).map_err(|error| notes.error("/proc", &error));
    let pids = pids.unwrap_or_default();
    let stats = pids.into_iter().filter_map(|pid| Some((pid, process::stat(root, pid)?)));
    // Zombies have given their memory back.
    let alive = |stat: &PidStat| !stat.is_kernel_thread() && !matches!(stat.state, 'Z' | 'X');
    let all: BTreeMap<u32, PidStat> = stats.filter(|(_, stat)| alive(stat)).collect();
    if wanted.pids.is_empty() {
        return Listed { wanted: all.keys().copied().collect(), all };
    }
    for pid in wanted.pids.iter().filter(|pid| !all.contains_key(pid)) {
        notes.add(&format!("process {pid}"), "no such process, or a thread of the kernel");
    }
    let wanted = wanted.pids.iter().copied().filter(|pid| all.contains_key(pid)).collect();
    Listed { all, wanted }
}

pub(super) fn details(root: &Root, listed: &Listed, notes: &mut Notes) -> BTreeMap<u32, Process> {
    let users = process::users(root);
    let mut processes = BTreeMap::new();
    for pid in &listed.wanted {
        let Some(stat) = listed.all.get(pid) else { continue };
        let mut found = details_of(root, *pid, stat, notes);
        found.user = found.uid.and_then(|uid| users.get(&uid).cloned());
        let parent = listed.all.get(&stat.ppid);
        if is_program(&found, "postgres") && parent.is_none_or(|p| p.comm != "postgres") {
            found.directory = postgres_directory(root, *pid);
        }
        processes.insert(*pid, found);
    }
    processes
}

fn details_of(root: &Root, pid: u32, stat: &PidStat, notes: &mut Notes) -> Process {
    let status = notes.of_process(root, pid, "status").unwrap_or_default();
    let status = pid_status::parse(&status).value;
    let limits = notes.of_process(root, pid, "limits").unwrap_or_default();
    let limits = pid_limits::parse(&String::from_utf8_lossy(&limits)).value;
    let cgroup = notes.of_process(root, pid, "cgroup").unwrap_or_default();
    Process {
        name: stat.comm.clone(),
        program: program(root, pid),
        uid: status.euid,
        user: None,
        groups: status.egid.into_iter().chain(status.groups.unwrap_or_default()).collect(),
        page_tables: status.vm_pte_bytes.map(Bytes),
        memlock: limits.memlock_bytes.map(Bytes),
        unit: cgroup::parse(&cgroup).value.service().map(ToOwned::to_owned),
        directory: None,
    }
}

/// The program's file name. An upgraded program runs on from a deleted file.
fn program(root: &Root, pid: u32) -> Option<String> {
    let path = fs::read_link(root.path(format!("proc/{pid}/exe"))).ok()?;
    let name = path.file_name()?.to_string_lossy();
    Some(name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned())
}

fn is_program(process: &Process, name: &str) -> bool {
    process.program.as_deref() == Some(name) || process.name == name
}

/// From its arguments; else the directory it works in, which is the same one.
fn postgres_directory(root: &Root, pid: u32) -> Option<String> {
    let cmdline = space_text::read(root, pid, SpaceFile::CommandLine).unwrap_or_default();
    let working = || fs::read_link(root.path(format!("proc/{pid}/cwd"))).ok();
    let working = || working().and_then(|path| path.into_os_string().into_string().ok());
    arguments::postgres_directory(&cmdline).or_else(working)
}

pub(super) fn java(root: &Root, processes: &BTreeMap<u32, Process>) -> Vec<Java> {
    let programs = processes.iter().filter(|(_, process)| is_program(process, "java"));
    let java = programs.map(|(pid, _)| {
        let cmdline = space_text::read(root, *pid, SpaceFile::CommandLine).unwrap_or_default();
        Java { pid: *pid, flags: arguments::java_memory_flags(&cmdline) }
    });
    java.collect()
}
