//! Machines to plan for.

use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::facts::{
    Facts, Java, Limits, Memory, NodePool, Object, ObjectKind, Pool, Process,
};
use hugewise_evidence::hugetlb::input::Inputs;

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const HUGE: Bytes = Bytes(2 * MIB);

/// 64 GiB, of which half is available; an empty pool of 2 MiB pages on one node.
pub(crate) fn machine() -> Facts {
    Facts {
        source: "a made machine".into(),
        memory: Memory {
            total: Some(Bytes(64 * GIB)),
            available: Some(Bytes(32 * GIB)),
            free: Some(Bytes(30 * GIB)),
            page_tables: Some(Bytes(100 * MIB)),
            swap_total: Some(Bytes(0)),
            swap_free: Some(Bytes(0)),
        },
        default_page: Some(HUGE),
        pools: vec![pool(0, 0, 0)],
        limits: Limits {
            shm_group: Some(0),
            shmmax: Some(Bytes(u64::MAX)),
            shmall_pages: Some(u64::MAX),
            overcommit_memory: Some(0),
        },
        ..Facts::default()
    }
}

pub(crate) fn pool(total: u64, free: u64, reserved: u64) -> Pool {
    Pool {
        page: HUGE,
        total,
        free,
        reserved: Some(reserved),
        surplus: Some(0),
        overcommit: Some(0),
        nodes: vec![node(0, total, free)],
    }
}

pub(crate) fn node(node: u32, total: u64, free: u64) -> NodePool {
    NodePool { node, total, free, surplus: Some(0), memory_free: Some(Bytes(30 * GIB)) }
}

/// Processes `first..first + count` of a program, each with a number of KiB of page tables.
pub(crate) fn run(
    facts: &mut Facts,
    name: &str,
    first: u32,
    count: u32,
    tables_kib: u64,
) -> Vec<u32> {
    let pids: Vec<u32> = (first..first + count).collect();
    for pid in &pids {
        let process = Process {
            name: name.into(),
            program: Some(name.into()),
            uid: Some(500),
            user: Some("dba".into()),
            groups: vec![500, 501],
            page_tables: Some(Bytes::kib(tables_kib)),
            memlock: Some(Bytes(8 * MIB)),
            unit: Some(format!("{name}.service")),
            directory: None,
        };
        facts.processes.insert(*pid, process);
    }
    pids
}

pub(crate) fn share(facts: &mut Facts, kind: ObjectKind, bytes: u64, pids: &[u32], page: Bytes) {
    let name = match &kind {
        ObjectKind::SysV(key) => format!("/SYSV{key:08x}"),
        ObjectKind::Posix => "/dev/shm/ora_1".into(),
        ObjectKind::Memfd => "/memfd:ram".into(),
        ObjectKind::SharedAnonymous => "/dev/zero".into(),
        ObjectKind::HugetlbFile => "/dev/hugepages/rtemap_0".into(),
        ObjectKind::PrivateHuge => "/anon_hugepage".into(),
    };
    facts.objects.push(Object {
        kind,
        name,
        bytes: Bytes(bytes),
        page: Some(page),
        uid: Some(500),
        pids: pids.to_vec(),
        attached: pids.len() as u64,
        touched: None,
    });
}

pub(crate) fn java(facts: &mut Facts, pid: u32, flags: &str) {
    run(facts, "java", pid, 1, 900);
    let flags = flags.split_whitespace().map(str::to_owned).collect();
    facts.java.push(Java { pid, flags });
}

pub(crate) fn sga(segments: &[u64], headroom: u64) -> Inputs {
    Inputs {
        segments: segments.iter().map(|bytes| Bytes(*bytes)).collect(),
        headroom: Bytes(headroom),
        ..Inputs::default()
    }
}
