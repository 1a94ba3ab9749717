//! Memory, paging, reclaim, compaction, fragmentation and shared segments.

use super::files::Files;
use super::previous::Now;
use crate::recording::readers::meminfo::{KEYS, POOL_KEYS, find};
use crate::recording::readers::vmstat_counts::{COUNTS, ZONES};
use crate::recording::{Field, Subject};
use hugewise_base::parse::vmstat::{self, VmStat};
use hugewise_base::parse::{buddyinfo, decimal, key_and_value, kib_to_bytes, sysv_shm};

/// Order of a huge page of 2 MiB in pages of 4 KiB, where the kernel does not say.
const HUGE_ORDER: u32 = 9;
/// Where the kernel says, in bytes.
const HUGE_SIZE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";

/// Counters of `/proc/vmstat` that a pasted file needs no rates of; like those of `COUNTS` they
/// count events or base pages.
const RATES: [(&str, Field); 5] = [
    ("thp_collapse_alloc_failed", Field::ThpCollapseFailed),
    ("thp_split_page", Field::ThpSplit),
    ("compact_migrate_scanned", Field::CompactMigrateScanned),
    ("compact_free_scanned", Field::CompactFreeScanned),
    ("pgmigrate_success", Field::PagesMigrated),
];

pub(super) fn read(files: &mut Files<'_>, now: &mut Now<'_>) {
    meminfo(files, now);
    counters(files, now);
    fragmentation(files, now);
    for segment in files.lines("/proc/sysvipc/shm", sysv_shm::parse).unwrap_or_default() {
        let subject = Subject::Segment(segment.id.to_string());
        now.known(Field::SegmentBytes, &subject, Some(segment.bytes));
        now.known(Field::SegmentAttached, &subject, Some(segment.attached));
    }
}

fn meminfo(files: &mut Files<'_>, now: &mut Now<'_>) {
    let text = files.text("/proc/meminfo");
    let pairs = || text.lines().filter_map(key_and_value);
    let page = pairs().find(|(key, _)| *key == "Hugepagesize");
    let page = page.and_then(|(_, value)| kib_to_bytes(value));
    for (key, value) in pairs() {
        if let Some(field) = find(&KEYS, key) {
            now.known(field, &Subject::Machine, kib_to_bytes(value));
        }
        if let Some(field) = find(&POOL_KEYS, key) {
            let bytes = decimal::<u64>(value).zip(page).and_then(|(n, page)| n.checked_mul(page));
            now.known(field, &Subject::Machine, bytes);
        }
    }
}

/// A counter, or the sum of its zones.
fn total(stat: &VmStat, name: &str) -> Option<u64> {
    let zones = || {
        let each = ZONES.iter().filter_map(|zone| stat.get(&format!("{name}_{zone}")));
        each.reduce(u64::saturating_add)
    };
    stat.get(name).or_else(zones)
}

fn counters(files: &mut Files<'_>, now: &mut Now<'_>) {
    let Some(stat) = files.lines("/proc/vmstat", vmstat::parse) else { return };
    let machine = &Subject::Machine;
    let sum = |names: [&str; 2]| {
        names.iter().filter_map(|name| total(&stat, name)).reduce(u64::saturating_add)
    };
    let steal = sum(["pgsteal_kswapd", "pgsteal_direct"]);
    let counts = COUNTS.iter().filter_map(|(name, field)| Some((*name, field.rate()?)));
    for (name, field) in counts.chain(RATES) {
        now.rate(field, machine, total(&stat, name), 1.0);
    }
    now.rate(Field::Steal, machine, steal, 1.0);
    let pins = stat.get("nr_foll_pin_acquired").zip(stat.get("nr_foll_pin_released"));
    let pinned = pins.and_then(|(pins, unpins)| pins.checked_sub(unpins));
    let pinned = pinned.zip(now.page_bytes).and_then(|(pages, page)| pages.checked_mul(page));
    now.known(Field::MemPinned, machine, pinned);
    // These two count KiB, not pages.
    now.rate(Field::PageIn, machine, stat.get("pgpgin"), 1024.0);
    now.rate(Field::PageOut, machine, stat.get("pgpgout"), 1024.0);
    if let Some(page) = now.page_bytes {
        now.rate(Field::SwapIn, machine, stat.get("pswpin"), page as f64);
        now.rate(Field::SwapOut, machine, stat.get("pswpout"), page as f64);
    }
    let scanned = sum(["pgscan_kswapd", "pgscan_direct"]);
    efficiency(now, scanned, steal);
}

/// Reclaimed of scanned pages; unknown where nothing was scanned.
fn efficiency(now: &mut Now<'_>, scanned: Option<u64>, steal: Option<u64>) {
    let (Some(scanned), Some(steal)) = (scanned, steal) else { return };
    now.counts.reclaim = Some((scanned, steal));
    let Some((scanned_before, steal_before)) = now.before.reclaim else { return };
    let grown = (scanned.checked_sub(scanned_before), steal.checked_sub(steal_before));
    if let (Some(scanned @ 1..), Some(steal)) = grown {
        let percent = (steal as f64 / scanned as f64 * 100.0).min(100.0);
        now.state(Field::ReclaimEfficiency, &Subject::Machine, percent);
    }
}

fn fragmentation(files: &mut Files<'_>, now: &mut Now<'_>) {
    let Some(zones) = files.lines("/proc/buddyinfo", buddyinfo::parse) else { return };
    let huge: Option<u64> = decimal(files.text(HUGE_SIZE).trim());
    let order = huge.zip(now.page_bytes).and_then(|(huge, page)| huge.checked_div(page));
    let order = order.and_then(u64::checked_ilog2).unwrap_or(HUGE_ORDER);
    let order = usize::try_from(order).unwrap_or(usize::MAX);
    if let Some(index) = buddyinfo::fmfi_total(&zones, order) {
        now.state(Field::Fmfi, &Subject::Machine, index);
    }
    if !zones.is_empty() {
        let blocks = buddyinfo::free_blocks_at_or_above(&zones, order);
        now.known(Field::FreeHugeBlocks, &Subject::Machine, Some(blocks));
    }
}
