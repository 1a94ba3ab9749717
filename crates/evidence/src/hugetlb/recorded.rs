//! [`Facts`] out of what was recorded: a pasted text, what `hugewise record` wrote.

use std::collections::BTreeMap;

use super::facts::{
    ConfiguredLine, Facts, Limits, Memory, Missing, Object, ObjectKind, Pool, Process,
};
use super::pools;
use crate::recording::readers::awr;
use crate::recording::{Field, Host, Subject};
use hugewise_base::parse::decimal;
use hugewise_base::parse::sysctl::{self, Assignment};
use hugewise_base::units::{Bytes, saturating_u64};

/// Settings that size the pools or say who may use them, as `sysctl` names them.
pub const SETTINGS: [&str; 6] = [
    "kernel.shmmax",
    "kernel.shmall",
    "vm.nr_hugepages",
    "vm.nr_hugepages_mempolicy",
    "vm.nr_overcommit_hugepages",
    "vm.hugetlb_shm_group",
];

/// What is known of a host; `source` says for people where that comes from. Of values that were
/// recorded more than once the latest counts.
pub fn from_recording(host: &Host, source: &str) -> Facts {
    let default_page = bytes(host, Field::HugetlbPage).filter(|page| page.0 > 0);
    let mut facts = Facts {
        source: source.to_owned(),
        memory: Memory {
            total: bytes(host, Field::MemTotal),
            available: bytes(host, Field::MemAvailable),
            free: bytes(host, Field::MemFree),
            page_tables: bytes(host, Field::PageTables),
            swap_total: bytes(host, Field::SwapTotal),
            swap_free: bytes(host, Field::SwapFree),
        },
        default_page,
        objects: segments(host),
        processes: processes(host),
        limits: limits(host),
        configured: configured(host),
        ..Facts::default()
    };
    let settings = host.settings.iter();
    facts.pools = pools::from_files(settings.map(|(path, q)| (path.as_str(), q.text.as_str())));
    if let Some(page) = default_page
        && facts.pools.iter().all(|pool| pool.page != page)
    {
        match default_pool(host, page) {
            Some(pool) => facts.pools.push(pool),
            None => missing(&mut facts, "HugePages_Total and HugePages_Free"),
        }
        facts.pools.sort_by_key(|pool| pool.page);
    }
    missing(&mut facts, "mappings of processes");
    facts
}

fn missing(facts: &mut Facts, what: &str) {
    let why = "the recording does not have them";
    facts.missing.push(Missing { what: what.to_owned(), why: why.to_owned() });
}

fn bytes(host: &Host, field: Field) -> Option<Bytes> {
    host.latest(field, &Subject::Machine).map(|point| Bytes(saturating_u64(point.value)))
}

/// The pool of the default size out of `/proc/meminfo`. Recordings have it in bytes.
fn default_pool(host: &Host, page: Bytes) -> Option<Pool> {
    let pages = |field| bytes(host, field)?.0.checked_div(page.0);
    Some(Pool {
        page,
        total: pages(Field::HugetlbTotal)?,
        free: pages(Field::HugetlbFree)?,
        reserved: pages(Field::HugetlbReserved),
        surplus: pages(Field::HugetlbSurplus),
        overcommit: setting(host, "/proc/sys/vm/nr_overcommit_hugepages"),
        nodes: Vec::new(),
    })
}

/// Processes of an Oracle instance at least, which all attach its segment: one of the background,
/// and one of a session.
const INSTANCE_MIN: f64 = 2.0;

/// System V segments. Whether they are on huge pages, and who uses them, is in no recording. What
/// Oracle's report says of its own memory counts where none is listed.
fn segments(host: &Host) -> Vec<Object> {
    let attached = host.present(Field::SegmentAttached);
    let object = |(subject, bytes): (&Subject, f64)| {
        let Subject::Segment(name) = subject else { return None };
        let kind = ObjectKind::SysV(decimal(name)?);
        Some(segment(kind, format!("segment {name}"), bytes, *attached.get(subject)?))
    };
    let all = host.present(Field::SegmentBytes).into_iter();
    let listed: Vec<Object> = all.filter_map(object).collect();
    if listed.is_empty() { reported(host).into_iter().collect() } else { listed }
}

fn segment(kind: ObjectKind, name: String, bytes: f64, attached: f64) -> Object {
    Object {
        kind,
        name,
        bytes: Bytes(saturating_u64(bytes)),
        page: None,
        uid: None,
        pids: Vec::new(),
        attached: saturating_u64(attached),
        touched: None,
    }
}

/// Oracle's memory by its own report: with automatic memory the SGA is a part of that.
fn reported(host: &Host) -> Option<Object> {
    let attached = largest(host, Field::SegmentAttached, awr::SGA).unwrap_or(INSTANCE_MIN);
    if let Some(bytes) = largest(host, Field::SegmentBytes, awr::AUTOMATIC) {
        let name = "/dev/shm/ora_* (memory_target)".to_owned();
        return Some(segment(ObjectKind::Posix, name, bytes, attached));
    }
    let bytes = largest(host, Field::SegmentBytes, awr::SGA)?;
    Some(segment(ObjectKind::SysV(0), "SGA of Oracle".to_owned(), bytes, attached))
}

/// The largest value of all sections of a report: what is in use is less than what may be.
fn largest(host: &Host, field: Field, segment: &str) -> Option<f64> {
    let is_it = |subject: &Subject| matches!(subject, Subject::Segment(name) if name == segment);
    let all = host.subjects(field).filter(|(subject, _)| is_it(subject));
    let points = all.flat_map(|(_, all)| all.iter().flat_map(|series| &series.points));
    points.map(|point| point.value).max_by(f64::total_cmp)
}

fn processes(host: &Host) -> BTreeMap<u32, Process> {
    let process = |(subject, bytes): (&Subject, f64)| {
        let Subject::Process { pid: Some(pid), name } = subject else { return None };
        let page_tables = Some(Bytes(saturating_u64(bytes)));
        Some((*pid, Process { name: name.clone(), page_tables, ..Process::default() }))
    };
    host.present(Field::ProcPageTables).into_iter().filter_map(process).collect()
}

/// A setting that is one number.
fn setting(host: &Host, path: &str) -> Option<u64> {
    decimal(host.settings.get(path)?.text.trim())
}

fn limits(host: &Host) -> Limits {
    let group = setting(host, "/proc/sys/vm/hugetlb_shm_group");
    Limits {
        shm_group: group.and_then(|group| u32::try_from(group).ok()),
        shmmax: setting(host, "/proc/sys/kernel/shmmax").map(Bytes),
        shmall_pages: setting(host, "/proc/sys/kernel/shmall"),
        overcommit_memory: setting(host, "/proc/sys/vm/overcommit_memory")
            .and_then(|mode| u32::try_from(mode).ok()),
    }
}

fn configured(host: &Host) -> Vec<ConfiguredLine> {
    let file = "/proc/cmdline";
    let text = host.settings.get(file).map_or("", |quote| quote.text.as_str());
    let found = sysctl::kernel_parameters(text, &SETTINGS);
    found.into_iter().map(|line| configured_line(file, line)).collect()
}

/// A line that sets something, with its file.
pub fn configured_line(file: &str, found: Assignment) -> ConfiguredLine {
    let Assignment { line, key, value } = found;
    ConfiguredLine { file: file.to_owned(), line, key, value }
}

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod tests;
