//! The machine's section of `status`, of `top` and of metrics.

use crate::render::view::status::machine::COUNTERS;
use crate::render::view::status::values::{Counter, Machine, ThpSettings, Zone};
use hugewise_base::parse;
use hugewise_base::parse::meminfo::MemInfo;
use hugewise_base::units::{Bytes, Geometry, Ns};
use hugewise_linux::root::Root;
use hugewise_manager::ownership::THP_DIR;
use hugewise_manager::snapshot::MachineSample;
use std::collections::BTreeMap;

/// The machine's section, with counters as they have moved since others, and how long ago that
/// was.
pub(super) fn machine(
    root: &Root,
    sample: &MachineSample,
    since: Option<(&BTreeMap<String, u64>, Ns)>,
) -> Machine {
    let memory = root.read_text("proc/meminfo").map(|text| parse::meminfo::parse(&text).value);
    let memory = memory.unwrap_or_default();
    let counter = |name: &'static str| {
        let total = sample.vmstat.get(name).copied();
        let before = since.and_then(|(first, _)| first.get(name));
        let delta = total.zip(before).map(|(now, before)| now.saturating_sub(*before));
        Counter { name, total, delta }
    };
    Machine {
        thp: sample.thp,
        settings: settings(root, sample.geometry),
        mem_total: sample.mem_total,
        mem_available: sample.mem_available,
        anon: memory.anon_pages_bytes.map(Bytes),
        anon_huge: memory.anon_huge_pages_bytes.map(Bytes),
        hugetlb: memory.hugetlb_bytes.map(Bytes),
        hugetlb_available: idle_in_pool(&memory),
        fmfi: sample.fmfi,
        free_huge: sample.free_huge,
        psi_some_avg10: sample.psi_some_avg10,
        zones: zones(root, sample.geometry),
        counters: COUNTERS.iter().map(|(name, ..)| counter(name)).collect(),
        watched: since.map(|(_, watched)| watched),
    }
}

/// What nobody has, and nobody was promised: pages that are free are promised to those who mapped
/// them and have not touched them yet.
fn idle_in_pool(memory: &MemInfo) -> Option<Bytes> {
    let (free, page) = (memory.hugetlb_free?, memory.hugetlb_page_bytes?);
    let idle = free.saturating_sub(memory.hugetlb_reserved?);
    Some(Bytes(idle.saturating_mul(page)))
}

fn zones(root: &Root, geometry: Geometry) -> Option<Vec<Zone>> {
    let order = usize::try_from(geometry.huge_order()).unwrap_or(9);
    let zones = parse::buddyinfo::parse(&root.read_text("proc/buddyinfo").ok()?).value;
    let zones = parse::zones::substantial(&zones).map(|zone| Zone {
        node: zone.node,
        fmfi: parse::buddyinfo::fmfi(&zone.free_blocks, order),
        free_huge: parse::buddyinfo::free_blocks_at_or_above(std::slice::from_ref(zone), order),
        zone: zone.zone.clone(),
    });
    Some(zones.collect())
}

fn settings(root: &Root, geometry: Geometry) -> ThpSettings {
    let per_size = format!("hugepages-{}kB/enabled", geometry.huge.0 >> 10);
    let files = ["enabled", &per_size, "defrag", "shmem_enabled", "khugepaged/max_ptes_none"];
    let files = files.iter().filter_map(|file| {
        let path = format!("{THP_DIR}/{file}");
        let text = root.read_line(&path).ok()?;
        let choice = parse::thp_choice::parse(&text).map(|choice| choice.selected);
        Some((path, choice.unwrap_or(text)))
    });
    ThpSettings { files: files.collect(), who: who(root) }
}

/// Places that set THP at boot or since, as far as files tell; programs that just write to sysfs
/// leave no trace.
fn who(root: &Root) -> Vec<String> {
    let mut who = Vec::new();
    let command_line = root.read_line("proc/cmdline").unwrap_or_default();
    let words = command_line.split_ascii_whitespace();
    let words =
        words.filter(|w| w.starts_with("transparent_hugepage") || w.starts_with("thp_anon"));
    who.extend(words.map(|word| format!("the kernel command line: {word}")));
    for dir in ["etc/tmpfiles.d", "run/tmpfiles.d", "usr/lib/tmpfiles.d"] {
        let Ok(entries) = std::fs::read_dir(root.path(dir)) else { continue };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let path = format!("{dir}/{}", name.to_string_lossy());
            let text = root.read_text(&path).unwrap_or_default();
            let sets = |line: &str| line.contains(THP_DIR) && !line.trim_start().starts_with('#');
            if text.lines().any(sets) {
                who.push(format!("/{path}, at boot"));
            }
        }
    }
    let profile = root.read_line("etc/tuned/active_profile").ok().filter(|p| !p.is_empty());
    who.extend(profile.map(|profile| format!("tuned, perhaps: profile '{profile}' is active")));
    who
}
