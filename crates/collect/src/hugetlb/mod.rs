//! HugeTLB pools of a machine, below a root: what is known of it ([`facts`]), and what changes it
//! ([`pool`] grows and shrinks, [`kept`] writes configuration files). What to do is decided in
//! `hugewise_evidence::hugetlb`.

mod configured;
mod devices;
pub mod kept;
mod notes;
mod objects;
pub mod pool;
pub mod pools;
pub mod postgres;
mod processes;
pub mod users;

use std::collections::BTreeMap;

use hugewise_base::parse;
use hugewise_base::parse::mountinfo::MountEntry;
use hugewise_base::parse::pid_stat::PidStat;
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::facts::{Facts, Kubelet, Limits, Memory, Mount};
use hugewise_evidence::hugetlb::pools::from_files;

pub use self::processes::ProcessSelection;

use self::notes::Notes;
use hugewise_linux::root::Root;

/// Everything that can be seen. What cannot is in [`Facts::missing`]; processes may end at any
/// time, which is no news.
pub fn facts(root: &Root, wanted: &ProcessSelection) -> Facts {
    let mut notes = Notes::default();
    let meminfo = notes.text(root, "/proc/meminfo").unwrap_or_default();
    let meminfo = parse::meminfo::parse(&meminfo).value;
    let texts = pools::texts(root);
    let mut facts = Facts {
        source: if root.is_live() { "this machine".into() } else { root.shown() },
        memory: Memory {
            total: meminfo.mem_total_bytes.map(Bytes),
            available: meminfo.mem_available_bytes.map(Bytes),
            free: meminfo.mem_free_bytes.map(Bytes),
            page_tables: meminfo.page_tables_bytes.map(Bytes),
            swap_total: meminfo.swap_total_bytes.map(Bytes),
            swap_free: meminfo.swap_free_bytes.map(Bytes),
        },
        default_page: meminfo.hugetlb_page_bytes.map(Bytes),
        pools: from_files(texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))),
        limits: limits(root, &mut notes),
        configured: configured::lines(root, &mut notes),
        ..Facts::default()
    };
    if facts.pools.is_empty() {
        notes.add(hugewise_evidence::hugetlb::pools::POOLS, "no pools there");
    }
    let mounted = notes.bytes(root, "/proc/self/mountinfo").unwrap_or_default();
    let mounted = parse::mountinfo::parse(&mounted).value;
    facts.mounts = mounted.iter().filter(|mount| mount.is_hugetlb()).map(mount).collect();
    let listed = processes::list(root, wanted, &mut notes);
    facts.kubelet = kubelet(root, &listed.all);
    facts.processes = processes::details(root, &listed, &mut notes);
    facts.java = processes::java(root, &facts.processes);
    let pids: Vec<u32> = facts.processes.keys().copied().collect();
    let pages: Vec<Bytes> = facts.pools.iter().map(|pool| pool.page).collect();
    facts.objects = objects::Search::new(root, &mounted, &mut notes).all(wanted, &pids, &pages);
    facts.missing = notes.finish();
    facts
}

fn limits(root: &Root, notes: &mut Notes) -> Limits {
    let mut number = |path: &str| -> Option<u64> { notes.text(root, path)?.trim().parse().ok() };
    Limits {
        shm_group: number("/proc/sys/vm/hugetlb_shm_group").and_then(|n| u32::try_from(n).ok()),
        shmmax: number("/proc/sys/kernel/shmmax").map(Bytes),
        shmall_pages: number("/proc/sys/kernel/shmall"),
        overcommit_memory: number("/proc/sys/vm/overcommit_memory")
            .and_then(|n| u32::try_from(n).ok()),
    }
}

fn mount(entry: &MountEntry) -> Mount {
    Mount {
        path: entry.path.clone(),
        page: entry.size_option("pagesize").map(Bytes),
        limit: entry.size_option("size").map(Bytes),
    }
}

/// A running one, or the directory that one leaves.
fn kubelet(root: &Root, all: &BTreeMap<u32, PidStat>) -> Option<Kubelet> {
    if all.values().any(|stat| stat.comm == "kubelet") {
        return Some(Kubelet::Running);
    }
    root.has("var/lib/kubelet").then_some(Kubelet::Installed)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trail_tests;
