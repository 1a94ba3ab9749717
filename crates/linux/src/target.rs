//! One process under management: a pidfd and the pagemap file of one address space.
//!
//! A pidfd survives exec and then names another program's memory; the pagemap file stays bound to
//! the address space on which it was opened and fails once that is gone (kernel.md 1.5). Both
//! together say whom an action would hit.

use crate::content::Contents;
use crate::pages::{self, Counts, Detail, PageReader};
use crate::process::{self, Mapping};
use crate::root::Root;
use hugewise_core::reason::SkipReason;
use hugewise_core::snapshot::{LookAsk, LookReport, RegionSample, ScanAsk, ScanEnd, ScanReport};
use hugewise_core::units::{Addr, Geometry, Ns, ProcId};
use hugewise_sys::Errno;
use hugewise_sys::pidfd::PidFd;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;

/// See the module's text.
#[derive(Debug)]
pub struct Target {
    /// Identity.
    pub id: ProcId,
    pub(crate) pidfd: PidFd,
    pub(crate) pagemap: File,
    /// Opened when a sample of its contents is wanted for the first time.
    contents: Option<Contents>,
    mappings: Vec<Mapping>,
    /// Why the kernel refuses a mapping, by its start; forgotten when mappings are read anew.
    refusals: BTreeMap<Addr, SkipReason>,
}

impl Target {
    /// Opens a process; the start time is checked after the pidfd is held, so that a pid that was
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
        let pagemap = File::open(root.path(format!("proc/{}/pagemap", id.pid)))
            .map_err(|error| reason_of_io(&error))?;
        let refusals = BTreeMap::new();
        Ok(Self { id, pidfd, pagemap, contents: None, mappings: Vec::new(), refusals })
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
        if ask.from == Addr(0) || self.mappings.is_empty() {
            let error = |error: io::Error| reason_of_io(&error);
            self.mappings = process::mappings(root, self.id.pid).map_err(error)?;
            self.refusals.clear();
            for mapping in &self.mappings {
                if let (Some(reason), regions @ 1..) = (mapping.excluded, mapping.regions(geometry))
                {
                    *report.excluded.entry(reason).or_default() += regions;
                }
            }
        }
        for mapping in self.mappings.iter().filter(|m| m.excluded.is_none()) {
            let range = mapping.aligned(geometry);
            let start = range.start.max(ask.from.0);
            if start >= range.end {
                continue;
            }
            if !report.regions.is_empty() && spent() {
                return Ok(ScanEnd::Partial(Addr(start)));
            }
            let first = report.regions.len();
            let regions = &mut report.regions;
            let each = |at, counts| regions.extend(sample(at, counts, mapping.start));
            let stopped = pages
                .count(&self.pagemap, start, range.end, each, spent)
                .map_err(reason_of_errno)?;
            if ask.detail {
                self.add_details(pages, &mut report.regions[first..])?;
            }
            if stopped < range.end {
                return Ok(ScanEnd::Partial(Addr(stopped)));
            }
        }
        Ok(ScanEnd::Complete)
    }

    fn add_details(
        &self,
        pages: &mut PageReader,
        regions: &mut [RegionSample],
    ) -> Result<(), SkipReason> {
        for region in regions {
            let (counts, detail) = self.look(pages, region.at)?;
            let small = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
            region.populated = small(counts.populated());
            region.huge = counts.huge;
            region.zero_page = small(counts.zero);
            region.shared = Some(small(detail.shared));
            region.held = detail.held;
        }
        Ok(())
    }

    /// Looks closely at one region, and at a sample of its contents where that is asked for and
    /// the region is huge.
    pub fn look_closely(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        ask: &LookAsk,
        geometry: Geometry,
    ) -> LookReport {
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
        LookReport { target: ask.target, at: ask.region, region, refused, cost }
    }

    fn closely(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        ask: &LookAsk,
        geometry: Geometry,
    ) -> Result<(Option<RegionSample>, Option<SkipReason>), SkipReason> {
        let counts = pages.region(&self.pagemap, ask.region.0).map_err(reason_of_errno)?;
        let Some(mut region) = sample(ask.region.0, counts, ask.mapping) else {
            return Ok((None, None));
        };
        self.add_details(pages, std::slice::from_mut(&mut region))?;
        if !ask.sample || !region.huge {
            return Ok((Some(region), None));
        }
        match self.zero_pages(root, ask.region, geometry) {
            Ok(zeros) => Ok((Some(RegionSample { zeros: Some(zeros), ..region }), None)),
            Err(reason) => Ok((Some(region), Some(reason))),
        }
    }

    fn zero_pages(&mut self, root: &Root, at: Addr, geometry: Geometry) -> Result<u16, SkipReason> {
        let contents = match self.contents.take() {
            Some(contents) => contents,
            None => Contents::open(root, self.id.pid)?,
        };
        // The same pages each time would miss what changes elsewhere.
        let seed = hugewise_sys::cpu::thread_cpu_time_ns();
        self.contents.insert(contents).zero_pages(at, geometry, seed)
    }

    /// Counts and details of one region, now.
    ///
    /// # Errors
    /// The named reason.
    pub fn look(&self, pages: &mut PageReader, at: Addr) -> Result<(Counts, Detail), SkipReason> {
        let counts = pages.region(&self.pagemap, at.0).map_err(reason_of_errno)?;
        let detail = pages.detail(&self.pagemap, at.0, counts).map_err(reason_of_errno)?;
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
        if hugewise_core::parse::pid_status::parse(&status).value.thp_enabled == Some(false) {
            return SkipReason::ThpDisabledByProgram;
        }
        let statm = root.read_line(format!("proc/{}/statm", self.id.pid)).unwrap_or_default();
        let rss = hugewise_core::parse::statm::parse(&statm).map_or(u64::MAX, |s| s.resident);
        if rss > SMAPS_PAGES {
            return SkipReason::RefusedByKernel;
        }
        match smaps_flags(root, self.id.pid, mapping) {
            Some(flags) if flags.iter().any(|flag| flag == "nh") => SkipReason::AdvisedAgainst,
            _ => SkipReason::RefusedByKernel,
        }
    }
}

/// Largest process, in base pages, whose smaps is read to explain a refusal. Reading holds the mm
/// lock for a whole mapping at 16.5 ms/GiB (kernel.md 1.3): 8 ms for the 512 MiB of 4 KiB pages.
const SMAPS_PAGES: u64 = 131_072;

/// `VmFlags` of one mapping. smaps walks page tables, so reading stops behind that mapping.
fn smaps_flags(root: &Root, pid: u32, mapping: Addr) -> Option<Vec<String>> {
    use std::io::BufRead;
    let file = File::open(root.path(format!("proc/{pid}/smaps"))).ok()?;
    let (header, mut entry) = (format!("{:x}-", mapping.0), Vec::new());
    for line in io::BufReader::with_capacity(4096, file).lines() {
        let line = line.ok()?;
        if !entry.is_empty() || line.starts_with(&header) {
            entry.extend_from_slice(line.as_bytes());
            entry.push(b'\n');
            if line.starts_with("VmFlags") {
                break;
            }
        }
    }
    hugewise_core::parse::smaps::parse(&entry).value.into_iter().next()?.vm_flags
}

/// Nothing populated is no region: whoever looks for a reason finds no memory there.
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
    })
}

/// The name of an error met while reading a process's files.
#[must_use]
pub fn reason_of_io(error: &io::Error) -> SkipReason {
    match error.raw_os_error() {
        Some(errno) => reason_of_errno(Errno(errno)),
        None => SkipReason::Unreadable,
    }
}

fn reason_of_errno(errno: Errno) -> SkipReason {
    match errno.0 {
        // ENOENT, ESRCH: no such process, or the address space behind an open file is gone. Which
        // of the two, the next listing tells.
        2 => SkipReason::Gone,
        3 => SkipReason::AddressSpaceChanged,
        1 | 13 => SkipReason::NoPermission,
        25 | 38 => SkipReason::NoMechanism,
        _ => SkipReason::Unreadable,
    }
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
        assert_eq!((before, pages::check_alive(&pagemap)), (Ok(()), Err(Errno(3))));
        Ok(())
    }
}
