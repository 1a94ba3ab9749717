//! Memory: how much programs can still have, and who holds the rest.

use super::bounds::Bounds;
use crate::diagnose::context::Context;
use crate::diagnose::reading::Reading;
use crate::recording::{Field, Subject};

/// What programs can have without anything being swapped, and the value that bounds it from below.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// In bytes.
    pub(crate) bytes: Bounds,
    /// Available memory as the kernel estimates it, else free memory.
    pub(crate) seen: Reading,
}

/// How much memory was available at its lowest within the times in question.
///
/// Before Linux 3.14, and in listings that leave it out, nobody says: it is at least what is free,
/// and at most that with all caches (`si_mem_available` in mm/show_mem.c counts no more).
pub(crate) fn room(cx: &Context<'_>) -> Option<Room> {
    if let Some(seen) = cx.lowest_of(Field::MemAvailable) {
        return Some(Room { bytes: Bounds::exact(seen.value), seen });
    }
    let seen = cx.lowest_of(Field::MemFree)?;
    let free = Bounds::at_least(seen.value);
    let Some(cached) = cx.state(Field::Cached) else { return Some(Room { bytes: free, seen }) };
    // Shared memory counts as cached and cannot be dropped.
    let shared = cx.state(Field::Shmem).map_or(0.0, |seen| seen.value);
    let more = [Field::Buffers, Field::SlabReclaimable].map(|field| cx.state(field));
    let more: f64 = more.into_iter().flatten().map(|seen| seen.value).sum();
    let caches = (cached.value - shared).max(0.0) + more;
    Some(Room { bytes: free.up_to(seen.value + caches), seen })
}

/// The same as a share of all memory, in percent; `None` where its size is not known either.
pub(crate) fn room_percent(cx: &Context<'_>) -> Option<Bounds> {
    Some(room(cx)?.bytes.percent_of(cx.memory_bytes()?))
}

/// Who holds memory, each byte once: what `/proc/meminfo` lists. Shared memory and the page cache
/// are both in `Cached` (Documentation/filesystems/proc.rst).
const HOLDERS: [Field; 7] = [
    Field::MemFree,
    Field::Buffers,
    Field::Cached,
    Field::Anon,
    Field::Slab,
    Field::PageTables,
    Field::KernelStacks,
];

/// Without these nothing follows from the rest: they are most of any machine's memory.
const DECISIVE: [Field; 3] = [Field::MemFree, Field::Cached, Field::Anon];

/// The memory that is accounted for, and what is not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    /// All of it, in bytes.
    pub(crate) total: f64,
    /// In nothing that is listed.
    pub(crate) unlisted: f64,
    /// Who is known to hold the rest.
    pub(crate) held_by: Holders,
}

/// Those whose memory an account knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holders {
    /// All that `/proc/meminfo` lists.
    Listed,
    /// The same without kernel objects, which are in what is unlisted.
    ListedWithoutSlab,
    /// The caches, and the processes by the sum of their resident memory, which counts shared
    /// pages several times: at least the rest is unlisted.
    Processes,
}

/// The account of one reading of `/proc/meminfo`, else of `free` beside all processes; `None` where
/// the readings are too short.
pub(crate) fn account(cx: &Context<'_>) -> Option<Account> {
    listed(cx).or_else(|| by_processes(cx))
}

/// What is used beyond caches and is in no process.
fn by_processes(cx: &Context<'_>) -> Option<Account> {
    let total = cx.state(Field::MemTotal)?;
    let resident = cx.state(Field::ResidentAll).map(|seen| seen.value);
    let resident = resident.or_else(|| resident_of_all(cx))?;
    let of_reading = |field: Field| cx.state(field).filter(|seen| seen.source == total.source);
    let free = of_reading(Field::MemFree)?.value + of_reading(Field::Cached)?.value;
    let buffers = of_reading(Field::Buffers).map_or(0.0, |seen| seen.value);
    let unlisted = (total.value - free - buffers - resident).max(0.0);
    Some(Account { total: total.value, unlisted, held_by: Holders::Processes })
}

/// The sum of a listing of all processes: of one that shows the first one, init, and the parent of
/// the kernel's threads, which hold next to nothing, nobody took rows away.
fn resident_of_all(cx: &Context<'_>) -> Option<f64> {
    const FIRST: [u32; 2] = [1, 2];
    let all = cx.sorted(Field::ProcRss, |_| true);
    let source = all.first()?.source;
    let mut first = FIRST.to_vec();
    let mut sum = 0.0;
    for seen in all.iter().filter(|seen| seen.source == source) {
        if let Subject::Process { pid: Some(pid), .. } = &seen.subject {
            first.retain(|wanted| wanted != pid);
        }
        sum += seen.value;
    }
    first.is_empty().then_some(sum)
}

fn listed(cx: &Context<'_>) -> Option<Account> {
    let total = cx.state(Field::MemTotal)?;
    let of_reading = |field: Field| cx.state(field).filter(|seen| seen.source == total.source);
    if DECISIVE.iter().any(|field| of_reading(*field).is_none()) {
        return None;
    }
    let held = HOLDERS.iter().filter_map(|field| of_reading(*field));
    let held: f64 = held.map(|seen| seen.value).sum();
    let pools = [Field::HugetlbAll, Field::HugetlbTotal].map(of_reading);
    let hugetlb = pools.into_iter().flatten().map(|seen| seen.value).fold(0.0, f64::max);
    let unlisted = (total.value - held - hugetlb).max(0.0);
    let slab = of_reading(Field::Slab).is_some();
    let held_by = if slab { Holders::Listed } else { Holders::ListedWithoutSlab };
    Some(Account { total: total.value, unlisted, held_by })
}
