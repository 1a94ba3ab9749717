//! Disks, as `iostat -x` and `sar -d` compute them.

use std::collections::BTreeSet;

use super::files::Files;
use super::previous::Now;
use crate::recording::{Field, Subject};
use hugewise_base::parse::diskstats::{self, Disk, SECTOR_BYTES};

/// Devices that are no disks of their own.
const LEFT_OUT: [&str; 2] = ["loop", "ram"];

pub(super) fn read(files: &mut Files<'_>, now: &mut Now<'_>) {
    let Some(all) = files.lines("/proc/diskstats", diskstats::parse) else { return };
    let used = |disk: &&Disk| disk.reads > 0 || disk.writes > 0;
    let plain = |disk: &&Disk| !LEFT_OUT.iter().any(|prefix| disk.name.starts_with(prefix));
    let names: BTreeSet<&str> = all.iter().map(|disk| disk.name.as_str()).collect();
    let whole = |disk: &&Disk| !diskstats::is_partition(&disk.name, &names);
    for disk in all.iter().filter(plain).filter(used).filter(whole) {
        if let (Some(before), Some(passed)) = (now.before.disks.get(&disk.name), now.passed_s)
            && let Some(grown) = grown(before, disk)
        {
            put(now, &grown, passed);
        }
        now.counts.disks.insert(disk.name.clone(), disk.clone());
    }
}

/// What was done meanwhile; `None` when a counter went back.
fn grown(before: &Disk, now: &Disk) -> Option<Disk> {
    let less = |of: fn(&Disk) -> u64| of(now).checked_sub(of(before));
    Some(Disk {
        name: now.name.clone(),
        reads: less(|d| d.reads)?,
        read_merges: less(|d| d.read_merges)?,
        read_sectors: less(|d| d.read_sectors)?,
        read_ms: less(|d| d.read_ms)?,
        writes: less(|d| d.writes)?,
        write_merges: less(|d| d.write_merges)?,
        write_sectors: less(|d| d.write_sectors)?,
        write_ms: less(|d| d.write_ms)?,
        busy_ms: less(|d| d.busy_ms)?,
        queue_ms: less(|d| d.queue_ms)?,
        discards: less(|d| d.discards)?,
        discard_sectors: less(|d| d.discard_sectors)?,
        discard_ms: less(|d| d.discard_ms)?,
    })
}

fn put(now: &mut Now<'_>, grown: &Disk, passed_s: f64) {
    let subject = Subject::Disk(grown.name.clone());
    let sector = SECTOR_BYTES as f64;
    // As floats: these counts come from a text, and sums could overflow.
    let sum = |counts: [u64; 3]| counts.iter().map(|count| *count as f64).sum::<f64>();
    let requests = sum([grown.reads, grown.writes, grown.discards]);
    let sectors = sum([grown.read_sectors, grown.write_sectors, grown.discard_sectors]);
    let waited_ms = sum([grown.read_ms, grown.write_ms, grown.discard_ms]);
    let (read_bytes, write_bytes) =
        (grown.read_sectors as f64 * sector, grown.write_sectors as f64 * sector);
    for (field, value) in [
        (Field::DiskReads, grown.reads as f64),
        (Field::DiskWrites, grown.writes as f64),
        (Field::DiskTransfers, requests),
        (Field::DiskReadBytes, read_bytes),
        (Field::DiskWriteBytes, write_bytes),
        (Field::DiskReadMerges, grown.read_merges as f64),
        (Field::DiskWriteMerges, grown.write_merges as f64),
        (Field::DiskQueue, grown.queue_ms as f64 / 1000.0),
    ] {
        now.state(field, &subject, value / passed_s);
    }
    let busy = grown.busy_ms as f64 / 1000.0 / passed_s * 100.0;
    now.state(Field::DiskBusy, &subject, busy.min(100.0));
    // Without requests there is no mean of them.
    for (field, all, requests) in [
        (Field::DiskAwait, waited_ms, requests),
        (Field::DiskReadAwait, grown.read_ms as f64, grown.reads as f64),
        (Field::DiskWriteAwait, grown.write_ms as f64, grown.writes as f64),
        (Field::DiskRequestBytes, sectors * sector, requests),
        (Field::DiskReadRequestBytes, read_bytes, grown.reads as f64),
        (Field::DiskWriteRequestBytes, write_bytes, grown.writes as f64),
    ] {
        if requests > 0.0 {
            now.state(field, &subject, all / requests);
        }
    }
}
