//! Shared memory of a target: which pages there are, whoever touched them; and program text.
//!
//! A page table shows what its own process touched; the pages belong to an object that others map,
//! too. The object itself says where it has pages and where holes (`SEEK_DATA` and `SEEK_HOLE` of
//! lseek(2)); `/proc/PID/map_files` opens it, whether or not it has a name. What is in swap counts
//! as there: only `cachestat(2)` tells it apart.

use super::Target;
use crate::address_space;
use crate::machine;
use crate::mappings::Span;
use crate::pages::{Counts, PageReader};
use crate::reason::{reason_of_errno, reason_of_io};
use crate::root::Root;
use hugewise_base::parse::maps::Part;
use hugewise_base::parse::{meminfo, mountinfo};
use hugewise_base::units::{Addr, Bytes, Geometry};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::{ObjectId, RegionSample, ScanReport};
use hugewise_sys::page_cache;
use rustix::fs::{MemfdFlags, SeekFrom};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// A mapping of shared memory that has regions to promote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    span: Span,
    /// What the object took when it was scanned, in blocks of 512 bytes: the same later, and no
    /// page has gone. `None`: program text, of which the file has all.
    blocks: Option<u64>,
}

impl Known {
    /// Why the kernel refused it, as far as that can be told.
    pub(super) fn refusal(&self, root: &Root) -> Option<SkipReason> {
        match self.blocks {
            None => Some(SkipReason::TextRefused),
            Some(_) => machine::denies_shmem(root).then_some(SkipReason::ShmemDenied),
        }
    }
}

/// What a pass over an address space has to know of shared memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources {
    /// File systems whose files are shared memory.
    devices: BTreeSet<(u32, u32)>,
    /// Something on this machine is in swap.
    pub(super) swaps: bool,
}

impl Sources {
    /// As of now.
    pub(super) fn of(root: &Root) -> Self {
        let text = root.read("proc/meminfo").unwrap_or_default();
        let info = meminfo::parse(&String::from_utf8_lossy(&text)).value;
        let used = info.swap_total_bytes.zip(info.swap_free_bytes);
        // Unknown: there may be.
        let swaps = used.is_none_or(|(total, free)| total > free);
        Self { devices: devices(root), swaps }
    }

    /// Whether a mapping shows shared memory.
    pub(super) fn have(&self, part: Part) -> bool {
        self.devices.contains(&part.device)
    }
}

/// Devices of file systems that hold shared memory: the kernel's own, which is mounted nowhere
/// (shared anonymous memory, System V segments, memfds), and every tmpfs that is mounted here.
fn devices(root: &Root) -> BTreeSet<(u32, u32)> {
    let mut all = BTreeSet::new();
    if let Ok(file) = rustix::fs::memfd_create("device", MemfdFlags::CLOEXEC)
        && let Ok(stat) = rustix::fs::fstat(file.as_fd())
    {
        all.insert((rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev)));
    }
    let text = root.read("proc/self/mountinfo").unwrap_or_default();
    for mount in mountinfo::parse(&text).value {
        if mount.kind == "tmpfs" {
            all.insert((mount.dev_major, mount.dev_minor));
        }
    }
    all
}

/// Regions that are read before a scan may stop: 128 MiB on x86-64, less than a millisecond.
const PIECE: u64 = 64;

/// What a scan of shared memory has to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// The ask's cursor.
    pub(super) from: Addr,
    pub(super) geometry: Geometry,
    /// Something on this machine is in swap.
    pub(super) swaps: bool,
}

/// Pages of an object from some offset on, in whole regions of bytes: first none, then all of them;
/// then, where `holes` says so, a region of which some are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    skipped: u64,
    whole: u64,
    holes: bool,
}

/// The next run from `from` on, the start of a region; `None`: no page comes any more.
fn next_run(file: &File, from: u64, huge: u64) -> io::Result<Option<Run>> {
    let data = match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(data) => data,
        Err(rustix::io::Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let skipped = data.saturating_sub(from) / huge * huge;
    let first = from + skipped;
    if data > first {
        return Ok(Some(Run { skipped, whole: 0, holes: true }));
    }
    let hole = rustix::fs::seek(file, SeekFrom::Hole(first))?;
    let whole = hole.saturating_sub(first) / huge * huge;
    // A page that went between the two calls leaves a hole behind.
    let holes = whole == 0 || !hole.saturating_sub(first).is_multiple_of(huge);
    Ok(Some(Run { skipped, whole, holes }))
}

/// Opens the object of a mapping.
///
/// # Errors
/// `no_permission` without `CAP_CHECKPOINT_RESTORE`; `hole` where it is not mapped any more, and
/// `shared_holes` where the mapping shows another object by now; `retry_later` while somebody has a
/// lease on it.
fn open(root: &Root, pid: u32, span: &Span) -> Result<File, SkipReason> {
    let opened = address_space::open_mapped(root, pid, span.start, span.end);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SkipReason::Hole,
        io::ErrorKind::WouldBlock => SkipReason::RetryLater,
        _ => reason_of_io(&error),
    })?;
    let stat = rustix::fs::fstat(&file).map_err(|_| SkipReason::Unreadable)?;
    let device = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    match device == span.part.device && stat.st_ino == span.part.inode {
        true => Ok(file),
        false => Err(SkipReason::SharedHoles),
    }
}

/// What lies of a mapping behind the cursor, in whole regions. `None`: nothing, or it is placed so
/// that no huge page fits, which is counted.
fn rest_of(span: &Span, scope: Scope, report: &mut ScanReport) -> Option<Range<u64>> {
    let range = span.aligned(scope.geometry);
    let rest = range.start.max(scope.from.0)..range.end;
    if rest.is_empty() {
        return None;
    }
    if !offset_of(span, rest.start).is_multiple_of(scope.geometry.huge.0) {
        leave(report, SkipReason::Misaligned, &rest, scope.geometry);
        return None;
    }
    Some(rest)
}

/// Counts regions that are left alone.
fn leave(report: &mut ScanReport, reason: SkipReason, range: &Range<u64>, geometry: Geometry) {
    let regions = (range.end - range.start) / geometry.huge.0;
    if regions > 0 {
        *report.excluded.entry(reason).or_default() += regions;
    }
}

/// Bytes of the object that a mapping shows at `at`.
fn offset_of(span: &Span, at: u64) -> u64 {
    span.part.offset.wrapping_add(at.wrapping_sub(span.start.0))
}

/// What the object takes, in blocks of 512 bytes.
fn blocks(file: &File) -> Result<u64, SkipReason> {
    Ok(file.metadata().map_err(|error| reason_of_io(&error))?.blocks())
}

impl Target {
    /// Scans what lies of one mapping of shared memory behind the cursor. Where it stopped.
    pub(super) fn scan_shared(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        scope: Scope,
        span: Span,
        report: &mut ScanReport,
        stop: &dyn Fn(usize) -> bool,
    ) -> Result<Addr, SkipReason> {
        let Some(range) = rest_of(&span, scope, report) else { return Ok(span.end) };
        let file = match open(root, self.id.pid, &span) {
            Ok(file) => file,
            Err(reason) => {
                leave(report, reason, &range, scope.geometry);
                return Ok(span.end);
            }
        };
        let huge = scope.geometry.huge.0;
        let (first, mut at) = (report.regions.len(), range.start);
        while at < range.end && (at == range.start || !stop(report.regions.len())) {
            let run = next_run(&file, offset_of(&span, at), huge);
            let Some(run) = run.map_err(|error| reason_of_io(&error))? else {
                at = range.end;
                break;
            };
            at = at.saturating_add(run.skipped).min(range.end);
            let end = at.saturating_add(run.whole).min(range.end);
            // A run may be terabytes long: whoever waits is asked for between its pieces.
            while at < end && (at == range.start || !stop(report.regions.len())) {
                let to = at.saturating_add(PIECE * huge).min(end);
                self.add_shared(pages, scope, &span, at..to, &file, report)?;
                at = to;
            }
            if at == end && run.holes {
                let behind = at.saturating_add(huge).min(range.end);
                leave(report, SkipReason::SharedHoles, &(at..behind), scope.geometry);
                at = behind;
            }
        }
        if report.regions.len() > first {
            self.shared.insert(span.start, Known { span, blocks: Some(blocks(&file)?) });
        }
        Ok(if at < range.end { Addr(at) } else { span.end })
    }

    /// Adds regions of which the object has every page.
    fn add_shared(
        &self,
        pages: &mut PageReader,
        scope: Scope,
        span: &Span,
        range: Range<u64>,
        file: &File,
        report: &mut ScanReport,
    ) -> Result<(), SkipReason> {
        let mut huge = BTreeSet::new();
        let each = |at, counts: Counts| huge.extend(counts.huge.then_some(at));
        pages
            .count(&self.pagemap, range.start, range.end, each, || false)
            .map_err(reason_of_errno)?;
        let size = scope.geometry.huge.0;
        let small = |count: u64| u16::try_from(count).unwrap_or(u16::MAX);
        let mut at = range.start;
        while at < range.end {
            let swapped = match scope.swaps && !huge.contains(&at) {
                true => page_cache::evicted(file.as_fd(), offset_of(span, at), size).ok(),
                false => Some(0),
            };
            match swapped {
                // Unknown: it may be in swap.
                None => *report.excluded.entry(SkipReason::Swapped).or_default() += 1,
                Some(swapped) => report.regions.push(RegionSample {
                    at: Addr(at),
                    populated: small(scope.geometry.pages_per_huge().into()),
                    swapped: small(swapped),
                    zero_page: 0,
                    huge: huge.contains(&at),
                    mapping: span.start,
                    shared: None,
                    held: None,
                    zeros: None,
                    object: Some(ObjectId { device: span.part.device, inode: span.part.inode }),
                }),
            }
            at += size;
        }
        Ok(())
    }

    /// Scans what lies of one mapping of program text behind the cursor. Where it stopped.
    pub(super) fn scan_text(
        &mut self,
        pages: &mut PageReader,
        scope: Scope,
        span: Span,
        report: &mut ScanReport,
        stop: &dyn Fn(usize) -> bool,
    ) -> Result<Addr, SkipReason> {
        let Some(range) = rest_of(&span, scope, report) else { return Ok(span.end) };
        let object = Some(ObjectId { device: span.part.device, inode: span.part.inode });
        let found = Cell::new(report.regions.len());
        let each = |at, counts| {
            let sample = super::sample(at, counts, span.start);
            report.regions.extend(sample.map(|sample| RegionSample { object, ..sample }));
            found.set(report.regions.len());
        };
        let stopped = pages
            .count(&self.pagemap, range.start, range.end, each, || stop(found.get()))
            .map_err(reason_of_errno)?;
        self.shared.insert(span.start, Known { span, blocks: None });
        Ok(if stopped < range.end { Addr(stopped) } else { span.end })
    }

    /// Whether a region of shared memory, as of the last scan, still has all of its pages.
    pub(crate) fn is_whole(&self, root: &Root, mapping: Addr, at: Addr, huge: Bytes) -> bool {
        let Some(known) = self.shared.get(&mapping) else { return false };
        let Some(before) = known.blocks else { return true };
        let Ok(file) = open(root, self.id.pid, &known.span) else { return false };
        if blocks(&file) == Ok(before) {
            return true;
        }
        let run = next_run(&file, offset_of(&known.span, at.0), huge.0);
        run.is_ok_and(|run| run.is_some_and(|run| run.skipped == 0 && run.whole > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const HUGE: u64 = 2 << 20;

    fn object(len: u64) -> File {
        let memfd = rustix::fs::memfd_create("shared", MemfdFlags::CLOEXEC).expect("a memfd");
        let file = File::from(memfd);
        file.set_len(len).expect("a size");
        file
    }

    #[test]
    fn runs_of_whole_regions_are_told_from_holes() {
        let file = object(16 * HUGE);
        let write = |from: u64, len: u64| {
            let bytes = vec![1; usize::try_from(len).expect("small")];
            file.write_all_at(&bytes, from).expect("written");
        };
        write(2 * HUGE, 3 * HUGE + 4096);
        write(8 * HUGE + 4096, HUGE - 4096);
        let run = |from| next_run(&file, from * HUGE, HUGE).expect("an answer");
        let expected = Run { skipped: 2 * HUGE, whole: 3 * HUGE, holes: true };
        assert_eq!(run(0), Some(expected));
        assert_eq!(run(6), Some(Run { skipped: 2 * HUGE, whole: 0, holes: true }));
        assert_eq!(run(9), None);
        write(9 * HUGE, HUGE);
        assert_eq!(run(9), Some(Run { skipped: 0, whole: HUGE, holes: false }));
    }

    #[test]
    fn shared_memory_is_told_from_files_on_a_disk() {
        let sources = Sources::of(&Root::live());
        let part = |file: &File| {
            let stat = rustix::fs::fstat(file).expect("a stat");
            let device = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
            Part { device, inode: stat.st_ino, offset: 0 }
        };
        assert!(sources.have(part(&object(HUGE))));
        let own = File::open("/proc/self/exe").expect("this program");
        assert!(!sources.have(part(&own)));
    }
}
