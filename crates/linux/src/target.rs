//! One process under management: a pidfd and the pagemap file of one address space.
//!
//! A pidfd survives exec and then names another program's memory; the pagemap file stays bound to
//! the address space on which it was opened and fails once that is gone
//! (`docs/measurements.md#address-space-lifetime`). Together they say whom an action would hit.

mod shared;

use self::shared::{Known, Scope, Sources};
use crate::address_space::{self, SpaceFile};
use crate::content::{self, Contents};
use crate::fuse;
use crate::mappings::{MapsReader, Span};
use crate::pages::{self, Counts, Detail, Frames, PageReader};
use crate::process;
use crate::reason::{reason_of_errno, reason_of_io};
use crate::root::Root;
use crate::threads::Threads;
use hugewise_base::parse::pid_stat::PidStat;
use hugewise_base::units::{Addr, Bytes, Geometry, Ns, ProcId};
use hugewise_manager::decision::Call;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::{
    InspectAsk, InspectReport, RegionSample, ScanAsk, ScanEnd, ScanReport,
};
use hugewise_sys::cpu;
use hugewise_sys::pidfd::PidFd;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// A managed process. Everything done to it goes through the files that are open here.
#[derive(Debug)]
pub struct Target {
    /// Identity.
    pub id: ProcId,
    pub(crate) pidfd: PidFd,
    pub(crate) pagemap: File,
    /// Opened when a sample of its contents is wanted for the first time.
    contents: Option<Contents>,
    /// When its CPU time was first seen to be what it is.
    still: Option<(Instant, u64)>,
    threads: Threads,
    /// Where the program's code and stack lie: after an exec they lie elsewhere.
    layout: (u64, u64),
    /// A pass that goes on with the next scan.
    pass: Option<Pass>,
    /// Whether it maps files of FUSE; asked once in a pass.
    maps_fuse: Option<bool>,
    /// Mappings of shared memory that has regions to promote, by their start.
    shared: BTreeMap<Addr, Known>,
    /// Why the kernel refuses a mapping, by its start; forgotten when mappings are read again.
    refusals: BTreeMap<Addr, SkipReason>,
}

/// How a program rests at a moment.
#[derive(Debug, Clone, Copy)]
struct Rest {
    /// Since when its CPU time is known to be what it is.
    since: Instant,
    /// All of its threads sleep, or it used no CPU time for [`STILL`].
    asleep: bool,
}

/// A pass under way: what is to be read next. No list of mappings is kept.
#[derive(Debug)]
struct Pass {
    maps: MapsReader,
    /// The mapping in which the last scan ended.
    within: Option<Span>,
    /// The cursor that the last scan gave away.
    at: Addr,
    /// Where shared memory comes from; `None`: no mapping asked for it yet.
    sources: Option<Sources>,
}

/// Whoever runs is seen to run within a timer tick, which lasts 10 ms at most (`CONFIG_HZ` of 100).
const STILL: Duration = Duration::from_millis(10);

/// The budget is asked for once in so many mappings: that costs as much as reading a few.
const MAPPINGS_A_CHECK: u32 = 16;
/// Most regions in one report: 640 KiB. A larger address space takes several scans.
const REPORT_REGIONS: usize = 16_384;
/// Most of smaps that is read to explain a refusal: some 300 mappings.
const SMAPS_BYTES: u64 = 256 << 10;

impl Pass {
    fn shows_shared_memory(&mut self, root: &Root, span: &Span) -> bool {
        span.excluded == Some(SkipReason::SharedMapping)
            && self.sources.get_or_insert_with(|| Sources::of(root)).have(span.part)
    }
}

impl Target {
    /// Opens a process; the start time is checked once the pidfd is open, so that a pid that was
    /// reused in between cannot slip in.
    ///
    /// # Errors
    /// The named reason.
    pub fn open(root: &Root, id: ProcId) -> Result<Self, SkipReason> {
        let pidfd = PidFd::open(id.pid).map_err(|error| match reason_of_io(&error) {
            // No address space was open yet that could have changed.
            SkipReason::AddressSpaceChanged => SkipReason::Gone,
            reason => reason,
        })?;
        let stat = process::stat(root, id.pid).ok_or(SkipReason::Gone)?;
        if stat.starttime != id.start_ticks {
            return Err(SkipReason::AddressSpaceChanged);
        }
        let pagemap = address_space::open(root, id.pid, SpaceFile::Pagemap)
            .map_err(|error| reason_of_io(&error))?;
        let layout = layout_of(&stat)?;
        let (refusals, shared) = (BTreeMap::new(), BTreeMap::new());
        let (contents, still, pass, maps_fuse) = (None, None, None, None);
        let threads = Threads::of(root, id.pid);
        Ok(Self {
            id,
            pidfd,
            pagemap,
            contents,
            still,
            threads,
            layout,
            pass,
            maps_fuse,
            shared,
            refusals,
        })
    }

    /// Makes sure that it may be acted on, just before: it maps no file of FUSE, and pidfd and
    /// pagemap still name the same address space:
    /// a child that shared its parent's memory (`CLONE_VM`) and then became another program leaves
    /// an open pagemap file that lives on with the parent, while the pidfd names the new program.
    ///
    /// # Errors
    /// The named reason.
    pub(crate) fn renew(&mut self, root: &Root) -> Result<(), SkipReason> {
        if self.has_exited() {
            return Err(SkipReason::Gone);
        }
        let pid = self.id.pid;
        let pagemap = address_space::open(root, pid, SpaceFile::Pagemap);
        let stat = process::stat(root, pid).ok_or(SkipReason::Gone)?;
        if layout_of(&stat)? != self.layout || stat.starttime != self.id.start_ticks {
            return Err(SkipReason::AddressSpaceChanged);
        }
        self.pagemap = pagemap.map_err(|error| reason_of_io(&error))?;
        if self.maps_fuse.is_none() {
            let found = fuse::maps_fuse(root, pid).map_err(|error| reason_of_io(&error))?;
            self.maps_fuse = Some(found);
        }
        if self.maps_fuse == Some(true) { Err(SkipReason::MapsFuse) } else { Ok(()) }
    }

    /// Whether it has ended, as far as that can be told.
    pub(crate) fn has_exited(&self) -> bool {
        self.pidfd.has_exited().unwrap_or(true)
    }

    /// Waits a little for a moment in which all of the program sleeps, where there are such
    /// moments. Whether time passed.
    pub(crate) fn await_sleep(&mut self) -> bool {
        let rests = self.still_since().is_some_and(|since| since.elapsed() >= STILL);
        !rests && self.threads.await_sleep()
    }

    /// Carries out a call on it. All of the program slept through it where it rested before and
    /// after it, and its CPU time stayed the same.
    pub(crate) fn timed<T>(&mut self, call: impl FnOnce(BorrowedFd<'_>) -> T) -> (T, Call) {
        let before = self.rest();
        let began = Instant::now();
        let answer = call(self.pidfd.as_fd());
        let took = began.elapsed();
        let after = self.rest();
        let asleep = before.zip(after).is_some_and(|(before, after)| {
            before.since == after.since && before.asleep && after.asleep
        });
        let took = Ns(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        (answer, Call { took, asleep })
    }

    /// How it rests at this moment; `None` when it ended. Threads are asked only where CPU time
    /// does not say it, and before that: a thread that ran and sleeps by then was charged when it
    /// went to sleep.
    fn rest(&mut self) -> Option<Rest> {
        let since = self.still_since()?;
        if since.elapsed() >= STILL {
            return Some(Rest { since, asleep: true });
        }
        let asleep = self.threads.all_sleep() == Some(true);
        Some(Rest { since: self.still_since()?, asleep })
    }

    /// Since when its CPU time is known to be what it is now; `None` when it ended.
    fn still_since(&mut self) -> Option<Instant> {
        let time = cpu::process_cpu_time_of_ns(self.id.pid)?;
        let known = self.still.filter(|(_, before)| *before == time);
        let since = known.map_or_else(Instant::now, |(since, _)| since);
        self.still = Some((since, time));
        Some(since)
    }

    /// Scans candidate mappings from the ask's cursor until its budget of CPU time is spent.
    pub fn scan(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        ask: &ScanAsk,
        geometry: Geometry,
    ) -> ScanReport {
        let began = hugewise_sys::cpu::thread_cpu_time_ns();
        let cost = || Ns(hugewise_sys::cpu::thread_cpu_time_ns().saturating_sub(began));
        let mut report = ScanReport {
            target: ask.target,
            from: ask.from,
            end: ScanEnd::Complete,
            regions: Vec::new(),
            excluded: BTreeMap::new(),
            cost: Ns(0),
        };
        let end = self.scan_into(root, pages, ask, geometry, &mut report, &|| cost() >= ask.budget);
        // Afterwards: what was counted while the address space went away must not be believed.
        let alive = pages::check_alive(&self.pagemap).map_err(reason_of_errno);
        report.end = end.and_then(|end| alive.map(|()| end)).unwrap_or_else(ScanEnd::Refused);
        report.cost = cost();
        report
    }

    fn scan_into(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        ask: &ScanAsk,
        geometry: Geometry,
        report: &mut ScanReport,
        spent: &dyn Fn() -> bool,
    ) -> Result<ScanEnd, SkipReason> {
        let mut pass = self.resume(root, ask.from).map_err(|error| reason_of_io(&error))?;
        let mut read = 0;
        loop {
            let span = match pass.within.take() {
                Some(span) => span,
                None => match pass.maps.next().map_err(|error| reason_of_io(&error))? {
                    Some(span) => span,
                    None => return Ok(ScanEnd::Complete),
                },
            };
            let stopped = if ask.shared_memory && pass.shows_shared_memory(root, &span) {
                let swaps = pass.sources.as_ref().is_none_or(|sources| sources.swaps);
                let scope = Scope { from: ask.from, geometry, swaps };
                let stop = |regions| regions >= REPORT_REGIONS || spent();
                self.scan_shared(root, pages, scope, span, report, &stop)?
            } else if ask.text && span.text {
                let scope = Scope { from: ask.from, geometry, swaps: false };
                let stop = |regions| regions >= REPORT_REGIONS || spent();
                self.scan_text(pages, scope, span, report, &stop)?
            } else {
                count_excluded(report, span, ask.from, geometry);
                self.scan_span(pages, ask, geometry, report, span, spent)?
            };
            read += 1;
            let within = (stopped < span.end).then_some(span);
            let check = within.is_some() || read % MAPPINGS_A_CHECK == 0;
            if check && (within.is_some() || spent() || report.regions.len() >= REPORT_REGIONS) {
                self.pass = Some(Pass { within, at: stopped, ..pass });
                return Ok(ScanEnd::Partial(stopped));
            }
        }
    }

    /// The pass that goes on at `from`: the one under way, or a new one that skips what lies
    /// before.
    fn resume(&mut self, root: &Root, from: Addr) -> io::Result<Pass> {
        if let Some(pass) = self.pass.take().filter(|pass| pass.at == from && from > Addr(0)) {
            return Ok(pass);
        }
        self.refusals.clear();
        self.shared.clear();
        self.maps_fuse = None;
        let maps = MapsReader::open(root, self.id.pid)?;
        Ok(Pass { maps, within: None, at: from, sources: None })
    }

    /// Scans what lies of one mapping behind the ask's cursor. Where it stopped: the mapping's end
    /// when nothing is left of it.
    fn scan_span(
        &self,
        pages: &mut PageReader,
        ask: &ScanAsk,
        geometry: Geometry,
        report: &mut ScanReport,
        span: Span,
        spent: &dyn Fn() -> bool,
    ) -> Result<Addr, SkipReason> {
        let range = span.aligned(geometry);
        let start = range.start.max(ask.from.0);
        if span.excluded.is_some() || start >= range.end {
            return Ok(span.end);
        }
        let first = report.regions.len();
        if first > 0 && spent() {
            return Ok(Addr(start));
        }
        let found = Cell::new(first);
        let regions = &mut report.regions;
        let each = |at, counts| {
            regions.extend(sample(at, counts, span.start));
            found.set(regions.len());
        };
        let full = || found.get() >= REPORT_REGIONS || spent();
        let stopped =
            pages.count(&self.pagemap, start, range.end, each, full).map_err(reason_of_errno)?;
        if ask.detail {
            self.add_details(pages, &mut report.regions[first..])?;
        }
        Ok(if stopped < range.end { Addr(stopped) } else { span.end })
    }

    fn add_details(
        &self,
        pages: &mut PageReader,
        regions: &mut [RegionSample],
    ) -> Result<(), SkipReason> {
        for region in regions {
            let counts = pages.region(&self.pagemap, region.at.0).map_err(reason_of_errno)?;
            self.add_detail(pages, region, counts)?;
        }
        Ok(())
    }

    fn add_detail(
        &self,
        pages: &PageReader,
        region: &mut RegionSample,
        counts: Counts,
    ) -> Result<(), SkipReason> {
        let detail = pages.detail(&self.pagemap, region.at.0, counts, Frames::Wanted);
        let detail = detail.map_err(reason_of_errno)?;
        let small = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
        region.populated = small(counts.populated());
        region.huge = counts.huge;
        region.zero_page = small(counts.zero);
        region.shared = Some(small(detail.shared));
        region.held = detail.held;
        Ok(())
    }

    /// Inspects one region, and a sample of its contents where that is asked for.
    pub fn inspect(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        ask: &InspectAsk,
        geometry: Geometry,
    ) -> InspectReport {
        let began = hugewise_sys::cpu::thread_cpu_time_ns();
        let seen = self.closely(root, pages, ask, geometry);
        // Afterwards: what was read while the address space went away must not be believed.
        let alive = pages::check_alive(&self.pagemap).map_err(reason_of_errno);
        let seen = seen.and_then(|region| alive.map(|()| region));
        let cost = Ns(hugewise_sys::cpu::thread_cpu_time_ns().saturating_sub(began));
        let (region, refused) = match seen {
            Ok((region, refused)) => (region, refused),
            Err(reason) => (None, Some(reason)),
        };
        InspectReport { target: ask.target, at: ask.region, region, refused, cost }
    }

    fn closely(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        ask: &InspectAsk,
        geometry: Geometry,
    ) -> Result<(Option<RegionSample>, Option<SkipReason>), SkipReason> {
        let counts = pages.region(&self.pagemap, ask.region.0).map_err(reason_of_errno)?;
        let Some(mut region) = sample(ask.region.0, counts, ask.mapping) else {
            return Ok((None, None));
        };
        self.add_detail(pages, &mut region, counts)?;
        if !ask.sample {
            return Ok((Some(region), None));
        }
        match self.zero_pages(root, pages, ask.region, &counts, geometry) {
            Ok(zeros) => Ok((Some(RegionSample { zeros: Some(zeros), ..region }), None)),
            Err(reason) => Ok((Some(region), Some(reason))),
        }
    }

    /// About how many populated pages of a region hold only zeros.
    ///
    /// # Errors
    /// The named reason.
    pub(crate) fn zero_pages(
        &mut self,
        root: &Root,
        pages: &PageReader,
        at: Addr,
        counts: &Counts,
        geometry: Geometry,
    ) -> Result<u16, SkipReason> {
        // Of a region that is not huge only what is there and is nobody else's: reading a page that
        // was never populated would populate it, and one in swap would be read in.
        let own = match counts.huge {
            true => (0..geometry.pages_per_huge()).collect(),
            false => pages.own_pages(&self.pagemap, at.0).map_err(reason_of_errno)?,
        };
        // The same pages each time would miss what changes elsewhere.
        let seed = hugewise_sys::cpu::thread_cpu_time_ns();
        self.contents(root)?.zero_pages(at, &own, geometry, seed)
    }

    /// Base pages of a region that is not huge, by number, in pieces of folios that hold pages
    /// which nobody wrote, or whose other pieces were dropped: a call on each splits these folios.
    /// `largest`: of folios in pieces.
    ///
    /// # Errors
    /// The named reason.
    pub(crate) fn unwritten_pieces(
        &mut self,
        root: &Root,
        pages: &PageReader,
        at: Addr,
        geometry: Geometry,
        largest: Bytes,
    ) -> Result<Vec<u32>, SkipReason> {
        let own = pages.own_pages(&self.pagemap, at.0).map_err(reason_of_errno)?;
        let zeros = self.contents(root)?.zeros_among(at, &own, geometry)?;
        let largest = u32::try_from(largest.0 / geometry.base.0).unwrap_or(0);
        Ok(content::pieces(&own, &zeros, largest))
    }

    fn contents(&mut self, root: &Root) -> Result<&mut Contents, SkipReason> {
        let contents = match self.contents.take() {
            Some(contents) => contents,
            None => Contents::open(root, self.id.pid)?,
        };
        Ok(self.contents.insert(contents))
    }

    /// Counts and details of one region, now.
    ///
    /// # Errors
    /// The named reason.
    pub fn look(
        &self,
        pages: &mut PageReader,
        at: Addr,
        frames: Frames,
    ) -> Result<(Counts, Detail), SkipReason> {
        let counts = pages.region(&self.pagemap, at.0).map_err(reason_of_errno)?;
        let detail = pages.detail(&self.pagemap, at.0, counts, frames).map_err(reason_of_errno)?;
        Ok((counts, detail))
    }

    /// Why the kernel refused a region with EINVAL, as exactly as the process's files tell: its
    /// own switch, `MADV_NOHUGEPAGE`, or just refused.
    pub fn refusal(&mut self, root: &Root, mapping: Addr) -> SkipReason {
        if let Some(known) = self.refusals.get(&mapping) {
            return *known;
        }
        let reason = self.find_refusal(root, mapping);
        self.refusals.insert(mapping, reason);
        reason
    }

    fn find_refusal(&self, root: &Root, mapping: Addr) -> SkipReason {
        let status = root.read(format!("proc/{}/status", self.id.pid)).unwrap_or_default();
        if hugewise_base::parse::pid_status::parse(&status).value.thp_enabled == Some(false) {
            return SkipReason::ThpDisabledByProgram;
        }
        let statm = root.read_line(format!("proc/{}/statm", self.id.pid)).unwrap_or_default();
        let rss = hugewise_base::parse::statm::parse(&statm).map_or(u64::MAX, |s| s.resident);
        if rss > SMAPS_PAGES {
            return SkipReason::RefusedByKernel;
        }
        if let Some(reason) = self.shared.get(&mapping).and_then(|known| known.refusal(root)) {
            return reason;
        }
        match smaps_flags(root, self.id.pid, mapping) {
            Some(flags) if flags.iter().any(|flag| flag == "nh") => SkipReason::AdvisedAgainst,
            _ => SkipReason::RefusedByKernel,
        }
    }
}

/// Largest process, in base pages, whose smaps is read to explain a refusal. Reading holds the mm
/// lock over a whole mapping: 8 ms for 512 MiB of 4 KiB pages (`docs/measurements.md#smaps`).
const SMAPS_PAGES: u64 = 131_072;

/// `VmFlags` of one mapping. smaps walks page tables, so reading stops behind that mapping.
fn smaps_flags(root: &Root, pid: u32, mapping: Addr) -> Option<Vec<String>> {
    use std::io::{BufRead, Read};
    let file = address_space::open(root, pid, SpaceFile::Smaps).ok()?;
    let (header, mut entry) = (format!("{:x}-", mapping.0), Vec::new());
    for line in io::BufReader::with_capacity(4096, file.take(SMAPS_BYTES)).lines() {
        let line = line.ok()?;
        if !entry.is_empty() || line.starts_with(&header) {
            entry.extend_from_slice(line.as_bytes());
            entry.push(b'\n');
            if line.starts_with("VmFlags") {
                break;
            }
        }
    }
    hugewise_base::parse::smaps::parse(&entry).value.into_iter().next()?.vm_flags
}

/// Where code and stack lie. While a program is being started the kernel already shows the new
/// name and memory, but not yet where its code lies (0, `load_elf_binary` of Linux 6.18): two such
/// moments would look alike.
fn layout_of(stat: &PidStat) -> Result<(u64, u64), SkipReason> {
    match stat.start_code {
        0 => Err(SkipReason::AddressSpaceChanged),
        code => Ok((code, stat.start_stack)),
    }
}

/// Counts the regions of a mapping that is no candidate, unless an earlier scan of this pass did.
fn count_excluded(report: &mut ScanReport, span: Span, from: Addr, geometry: Geometry) {
    if let (Some(reason), regions @ 1..) = (span.excluded, span.regions(geometry))
        && span.start >= from
    {
        *report.excluded.entry(reason).or_default() += regions;
    }
}

/// A range with nothing populated is no region, and needs no reason.
fn sample(at: u64, counts: Counts, mapping: Addr) -> Option<RegionSample> {
    let small = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    (counts.populated() > 0).then(|| RegionSample {
        at: Addr(at),
        populated: small(counts.populated()),
        swapped: small(counts.swapped),
        zero_page: small(counts.zero),
        huge: counts.huge,
        mapping,
        shared: None,
        held: None,
        zeros: None,
        object: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_not_opened() {
        let root = Root::live();
        let pid = std::process::id();
        let stat = process::stat(&root, pid).expect("this process has a stat file");
        let id = |start_ticks| ProcId { pid, start_ticks };
        assert!(Target::open(&root, id(stat.starttime)).is_ok());
        let other = Target::open(&root, id(stat.starttime + 1)).map(|_| ());
        assert_eq!(other, Err(SkipReason::AddressSpaceChanged));
    }

    /// Met once: two moments between the new name and the new layout were taken for one program.
    #[test]
    fn a_program_that_is_being_started_is_no_target() {
        let pid = std::process::id();
        let mut stat = process::stat(&Root::live(), pid).expect("this process has a stat file");
        assert!(layout_of(&stat).is_ok());
        stat.start_code = 0;
        assert_eq!(layout_of(&stat), Err(SkipReason::AddressSpaceChanged));
    }

    #[test]
    fn who_sleeps_through_a_call_is_told_from_who_runs() -> io::Result<()> {
        let root = Root::live();
        for (script, sleeps) in [("exec sleep 60", true), ("while :; do :; done", false)] {
            let mut child = std::process::Command::new("sh").args(["-c", script]).spawn()?;
            std::thread::sleep(20 * STILL);
            let pid = child.id();
            let start_ticks = process::stat(&root, pid).expect("it runs").starttime;
            let mut target = Target::open(&root, ProcId { pid, start_ticks }).expect("own child");
            let mut call = || target.timed(|_| ()).1.asleep;
            assert_eq!(call(), sleeps, "{script}");
            std::thread::sleep(5 * STILL);
            let slept = call();
            child.kill()?;
            child.wait()?;
            assert_eq!(slept, sleeps, "{script}");
            assert!(!call(), "it ended: {script}");
        }
        Ok(())
    }

    /// The pagemap file of a child that shared its parent's memory lives on with the parent, so
    /// that it cannot tell. Where code and stack lie can.
    #[test]
    fn another_program_in_the_same_process_is_told_from_the_first() -> io::Result<()> {
        use std::io::Write;
        let script = "read line; exec sleep 60";
        let mut command = std::process::Command::new("sh");
        let mut child = command.args(["-c", script]).stdin(std::process::Stdio::piped()).spawn()?;
        let (root, pid) = (Root::live(), child.id());
        let name = || process::stat(&root, pid).map(|stat| stat.comm);
        let wait_for = |wanted: &str| {
            while name().as_deref() != Some(wanted) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        };
        wait_for("sh");
        let start_ticks = process::stat(&root, pid).map_or(0, |stat| stat.starttime);
        // While it is being started it is refused.
        let mut target = loop {
            match Target::open(&root, ProcId { pid, start_ticks }) {
                Err(SkipReason::AddressSpaceChanged) => std::thread::yield_now(),
                target => break target.expect("it lives"),
            }
        };
        let first = target.renew(&root);
        if let Some(mut requests) = child.stdin.take() {
            requests.write_all(b"go\n")?;
        }
        wait_for("sleep");
        let then = target.renew(&root);
        child.kill()?;
        child.wait()?;
        assert_eq!((first, then), (Ok(()), Err(SkipReason::AddressSpaceChanged)));
        Ok(())
    }

    #[test]
    fn a_dead_pid_is_gone() {
        // Above the largest pid that a kernel gives out (PID_MAX_LIMIT, 4 Mi).
        let id = ProcId { pid: (4 << 20) + 1, start_ticks: 1 };
        let reason = Target::open(&Root::live(), id).map(|_| ());
        assert_eq!(reason, Err(SkipReason::Gone));
    }

    /// Some kernels call a scan of a dead address space a success that found nothing.
    #[test]
    fn a_dead_address_space_is_told_from_an_empty_one() -> io::Result<()> {
        let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
        let pagemap = File::open(format!("/proc/{}/pagemap", child.id()))?;
        let before = pages::check_alive(&pagemap);
        child.kill()?;
        child.wait()?;
        assert_eq!(
            (before, pages::check_alive(&pagemap)),
            (Ok(()), Err(hugewise_sys::Errno::SRCH))
        );
        Ok(())
    }
}
