//! Proof on a child's memory: what the kernel really does when it is asked.
//!
//! The child lends two regions: one full of data, one with [`SPARSE_PAGES`] pages of data. Both
//! are promoted and split from outside, and the child checks its data at the end.

use super::child::{Dialog, Lender, ProbeChild};
use super::finding::{Finding, Findings, State, named};
use crate::address_space::{self, SpaceFile};
use crate::root::Root;
use hugewise_base::parse::smaps;
use hugewise_sys::Errno;
use hugewise_sys::Presence;
use hugewise_sys::madvise::{self, MADV_COLD, MADV_COLLAPSE, RemoteAdvice};
use hugewise_sys::pagemap::{self, MAX_REGIONS, PageRegion, ScanQuery, category};
use hugewise_sys::pidfd::PidFd;
use hugewise_sys::prctl::{ThpDisable, get_thp_disable};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

/// Pages of the sparse region that hold data.
pub const SPARSE_PAGES: usize = 16;

/// Keys of the table that only a child can answer.
const KEYS: [&str; 10] = [
    "pidfd",
    "process_madvise",
    "remote_collapse",
    "remote_cold",
    "split_frees_zero_pages",
    "contents_unchanged",
    "pagemap_scan",
    "pagemap_exclusive_bit",
    "pagemap_pfn",
    "thp_disable_except_advised",
];

/// Largest huge page that a probe uses: 64 KiB base pages have huge pages of 512 MiB.
const HUGE_MAX: u64 = 32 << 20;
/// Tries and pause for what may fail in passing: a page not yet on the LRU, a lock held by
/// reclaim, a split that reported success and did nothing.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);
/// A collapse takes 0.7 ms, and ten times that where the host backs memory on first touch only.
const SLOW_MS: f64 = 3.0;
const SLOW_WHY: &str = " (slow: the machine is busy, or a host gives it memory on first touch \
                        only; 'manage' touches free blocks before it uses them)";
/// Bits of a pagemap entry (Documentation/admin-guide/mm/pagemap.rst).
const ENTRY_PRESENT: u64 = 1 << 63;
const ENTRY_EXCLUSIVE: u64 = 1 << 56;
const ENTRY_FRAME: u64 = (1 << 55) - 1;

/// Starts the child, unless that makes no sense here, and asks the kernel.
pub(super) fn prove(root: &Root, how: &ProbeChild, found: &Findings) -> Findings {
    let all = |why: &str| KEYS.iter().map(|key| (*key, Finding::unknown(why))).collect();
    if !root.is_live() {
        return all("can only be asked on the live machine");
    }
    let huge = root.read_line("sys/kernel/mm/transparent_hugepage/hpage_pmd_size").ok();
    let huge = huge.and_then(|text| text.parse().ok());
    let thp = found.get("thp").map(|finding| &finding.state);
    let (huge, thp_why) = match (huge, thp) {
        (_, Some(State::Absent(why))) => (2 << 20, Some(why.clone())),
        (Some(huge), _) => (huge, None),
        (None, _) => return all("the huge page size (hpage_pmd_size) cannot be read"),
    };
    if !(4096..=HUGE_MAX).contains(&huge) {
        return all("huge pages of this size are too large for a quick probe");
    }
    let (lender, dialog) = match Lender::start(how, huge) {
        Ok(both) => both,
        Err(error) => return all(&format!("the probe child did not start: {}", named(&error))),
    };
    let (send, receive) = mpsc::channel();
    let until = Instant::now() + how.time_limit;
    // A thread of its own: a call that the kernel does not finish must not block the caller. When
    // the time is over the child is killed, which ends the calls and with them the thread.
    std::thread::spawn(move || {
        if let Err(why) = Prober::new(dialog, huge, send.clone()).and_then(|p| p.all(thp_why)) {
            let _ = send.send(("", Finding::unknown(why)));
        }
    });
    let mut proven = Findings::new();
    let mut rest = format!("no answer within {} s", how.time_limit.as_secs_f32());
    loop {
        match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(("", Finding { state: State::Unknown(why), .. })) => rest = why,
            Ok((key, finding)) => _ = proven.insert(key, finding),
            Err(mpsc::RecvTimeoutError::Timeout | mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    drop(lender);
    for key in KEYS {
        proven.entry(key).or_insert_with(|| Finding::unknown(rest.clone()));
    }
    proven
}

/// Whether the child's memory was put to the test at all.
#[derive(Clone, Copy)]
enum Moved {
    Nothing,
    Something,
}

/// One conversation. Fields are what is known so far.
struct Prober {
    dialog: Dialog,
    pidfd: PidFd,
    /// Open where allowed, and whether it can be scanned.
    pagemap: Option<File>,
    scannable: bool,
    /// Address of the dense region; the sparse one follows.
    at: u64,
    huge: u64,
    report: Sender<(&'static str, Finding)>,
}

impl Prober {
    fn new(
        mut dialog: Dialog,
        huge: u64,
        report: Sender<(&'static str, Finding)>,
    ) -> Result<Self, String> {
        let ready = dialog.line()?;
        let at = ready.strip_prefix("ready ").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let at = at.ok_or_else(|| format!("the probe child said '{}'", ready.escape_debug()))?;
        let pidfd = match PidFd::open(dialog.pid) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                let why = format!("pidfd_open: {}", named(&error));
                let _ = report.send(("pidfd", Finding::absent(&*why)));
                return Err(why);
            }
        };
        let pagemap = None;
        Ok(Self { dialog, pidfd, pagemap, scannable: false, at, huge, report })
    }

    fn say(&self, key: &'static str, finding: Finding) {
        // Nobody listens any more once the time is over.
        let _ = self.report.send((key, finding));
    }

    fn all(mut self, thp_why: Option<String>) -> Result<(), String> {
        self.say("pidfd", Finding::present());
        self.look_at_pagemap();
        let callable = match madvise::syscall_present() {
            Presence::Present => Finding::present(),
            Presence::Absent => Finding::absent("ENOSYS: needs Linux 5.10"),
            Presence::Refused => Finding::refused("EPERM: a seccomp filter answers in its place"),
        };
        self.say("process_madvise", callable);
        let changed = if let Some(why) = thp_why {
            for key in ["remote_collapse", "remote_cold", "split_frees_zero_pages"] {
                self.say(key, Finding::absent(&*why));
            }
            Moved::Nothing
        } else {
            self.promote_and_demote()?
        };
        let contents = match (self.dialog.ask("verify")?.as_str(), changed) {
            ("intact", Moved::Something) => {
                Finding::with("proven: a child checked its data after the calls above and below")
            }
            ("intact", Moved::Nothing) => {
                Finding::unknown("nothing was promoted or split, so nothing was put to the test")
            }
            (other, _) => Finding::absent(format!("THE CHILD'S DATA CHANGED: {other}")),
        };
        self.say("contents_unchanged", contents);
        let advised = match self.dialog.ask("except-advised")?.as_str() {
            "ok" => Finding::present(),
            other => Finding::absent(format!("{other}: needs Linux 6.18")),
        };
        self.say("thp_disable_except_advised", advised);
        Ok(())
    }

    fn look_at_pagemap(&mut self) {
        let file = match address_space::open(&Root::live(), self.dialog.pid, SpaceFile::Pagemap) {
            Ok(file) => file,
            Err(error) => {
                let why = format!("opening pagemap: {}", named(&error));
                for key in ["pagemap_scan", "pagemap_exclusive_bit", "pagemap_pfn"] {
                    self.say(key, Finding::refused(&*why));
                }
                return;
            }
        };
        let scan = match pagemap::scan_supported(file.as_fd(), category::HUGE) {
            Ok(()) => Finding::present(),
            Err(errno) if errno.name() == "ENOTTY" => Finding::absent("ENOTTY: needs Linux 6.7"),
            Err(errno) => Finding::unknown(errno.to_string()),
        };
        self.scannable = scan.state == State::Present;
        self.say("pagemap_scan", scan);
        let mut entry = [0; 8];
        let offset = self.at / rustix::param::page_size() as u64 * 8;
        let read = file.read_exact_at(&mut entry, offset).map(|()| u64::from_ne_bytes(entry));
        let (exclusive, frame) = match read {
            Ok(entry) if entry & ENTRY_PRESENT == 0 => {
                let why = "the child's page was swapped out meanwhile";
                (Finding::unknown(why), Finding::unknown(why))
            }
            Ok(entry) => {
                let unset = "not set on a page that nobody shares";
                let bit = entry & ENTRY_EXCLUSIVE != 0;
                let frame = entry & ENTRY_FRAME != 0;
                let hidden = "page frames are hidden: CAP_SYS_ADMIN is missing";
                (
                    if bit { Finding::present() } else { Finding::absent(unset) },
                    if frame { Finding::present() } else { Finding::refused(hidden) },
                )
            }
            Err(error) => {
                let why = format!("reading pagemap: {}", named(&error));
                (Finding::unknown(&*why), Finding::unknown(why))
            }
        };
        self.say("pagemap_exclusive_bit", exclusive);
        self.say("pagemap_pfn", frame);
        self.pagemap = Some(file);
    }

    /// Both regions: made base pages (THP 'always' may have filled them huge), promoted, split.
    fn promote_and_demote(&self) -> Result<Moved, String> {
        let accepted = |number| madvise::advice_accepted(self.pidfd.as_fd(), number);
        let (cold, collapse) = (accepted(MADV_COLD), accepted(MADV_COLLAPSE));
        if let Err(errno) = cold {
            self.say("remote_cold", not_accepted(errno, "5.10"));
            self.say("split_frees_zero_pages", Finding::unknown("cannot split from outside"));
        }
        if let Err(errno) = collapse {
            self.say("remote_collapse", not_accepted(errno, "6.1"));
        }
        let mut huge = self.huge_bytes()?;
        let mut moved = Moved::Nothing;
        // Huge since its first touch (THP 'always'): made small, so that it can be promoted. Where
        // it cannot be, it is left as it is, for the split below to be judged on.
        if cold.is_ok() && collapse.is_ok() && huge > 0 {
            huge = self.split()?.0;
            moved = Moved::Something;
        }
        let before = huge;
        if collapse.is_ok() {
            let began = Instant::now();
            let finding = match self.promote() {
                Ok(()) => {
                    moved = Moved::Something;
                    self.judge_promotion(before, began.elapsed())?
                }
                Err(errno) => why_not_promoted(errno),
            };
            self.say("remote_collapse", finding);
        }
        if cold.is_ok() {
            let huge = self.huge_bytes()?;
            if huge == 0 {
                // Also after the split above: that one was not measured.
                let why = "no huge page could be made to split";
                self.say("remote_cold", Finding::unknown(why));
                self.say("split_frees_zero_pages", Finding::unknown(why));
            } else {
                self.demote(huge)?;
                moved = Moved::Something;
            }
        }
        Ok(moved)
    }

    fn judge_promotion(&self, before: u64, took: Duration) -> Result<Finding, String> {
        let grown = self.huge_bytes()?.saturating_sub(before);
        let wanted = 2 * self.huge - before.min(2 * self.huge);
        let each = took.as_secs_f64() * 1e3 / 2.0;
        Ok(if wanted == 0 {
            Finding::unknown("the child's memory was huge from the start")
        } else if grown >= wanted {
            let slow = if each > SLOW_MS { SLOW_WHY } else { "" };
            Finding::with(format!("proven: 2 of 2 regions became huge, {each:.1} ms each{slow}"))
        } else {
            Finding::absent("the kernel reported success, but the regions are not huge")
        })
    }

    fn demote(&self, huge_before: u64) -> Result<(), String> {
        let began = Instant::now();
        let rss_before = self.rss()?;
        let (huge, errno) = self.split()?;
        let each = began.elapsed().as_secs_f64() * 1e3 / 2.0;
        if huge >= huge_before {
            let why = errno.map_or_else(
                || "the kernel reported success, but nothing was split".to_owned(),
                |errno| errno.to_string(),
            );
            self.say("remote_cold", Finding::unknown(why));
            let why = "cannot be seen without a split";
            self.say("split_frees_zero_pages", Finding::unknown(why));
            return Ok(());
        }
        self.say("remote_cold", Finding::with(format!("proven: split, {each:.1} ms each")));
        if huge > 0 {
            // Which of the two was split is not known: its zero pages may still be allocated.
            self.say("split_frees_zero_pages", Finding::unknown("only one region was split"));
            return Ok(());
        }
        let freed = rss_before.saturating_sub(self.rss()?);
        let zero = self.huge - (SPARSE_PAGES * rustix::param::page_size()) as u64;
        let kib = |bytes: u64| bytes / 1024;
        let finding = if freed >= zero / 2 {
            Finding::with(format!("proven: {} of {} KiB came back", kib(freed), kib(zero)))
        } else {
            Finding::absent(format!(
                "{} of {} KiB came back: needs Linux 6.12",
                kib(freed),
                kib(zero)
            ))
        };
        self.say("split_frees_zero_pages", finding);
        Ok(())
    }

    /// Promotes both regions; patient with what passes.
    fn promote(&self) -> Result<(), Errno> {
        for at in [self.at, self.at + self.huge] {
            let mut tries = TRIES;
            loop {
                let fd = self.pidfd.as_fd();
                match address_space::advise(fd, at, self.huge, RemoteAdvice::Collapse) {
                    Err(errno) if errno.name() == "EAGAIN" && tries > 0 => tries -= 1,
                    Err(errno) => return Err(errno),
                    Ok(_) => break,
                }
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Splits both regions, until that shows; returns what is huge still, and the last error.
    fn split(&self) -> Result<(u64, Option<Errno>), String> {
        let page = rustix::param::page_size() as u64;
        let mut last = None;
        for _ in 0..TRIES {
            for end in [self.at + self.huge, self.at + 2 * self.huge] {
                let fd = self.pidfd.as_fd();
                last = address_space::advise(fd, end - page, page, RemoteAdvice::Cold).err();
            }
            if self.huge_bytes()? == 0 {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        Ok((self.huge_bytes()?, last))
    }

    fn lent(&self) -> Range<u64> {
        self.at..self.at + 2 * self.huge
    }

    /// How much of the lent memory is mapped by whole huge pages.
    fn huge_bytes(&self) -> Result<u64, String> {
        let Some(pagemap) = self.pagemap.as_ref().filter(|_| self.scannable) else {
            return self.smaps(|entry| entry.anon_huge_pages_bytes);
        };
        let Range { start, end } = self.lent();
        let query = ScanQuery {
            start,
            end,
            any_of: category::HUGE,
            returned: category::HUGE,
            max_pages: 0,
        };
        let mut found = [PageRegion::default(); MAX_REGIONS];
        let scanned = pagemap::scan(pagemap.as_fd(), &query, &mut found)
            .map_err(|errno| format!("scanning the child: {errno}"))?;
        Ok(found[..scanned.regions].iter().map(|region| region.end - region.start).sum())
    }

    /// Resident memory of the mapping that holds the lent memory; the child is idle meanwhile.
    fn rss(&self) -> Result<u64, String> {
        self.smaps(|entry| entry.rss_bytes)
    }

    fn smaps(&self, field: fn(&smaps::SmapsEntry) -> Option<u64>) -> Result<u64, String> {
        let path = format!("/proc/{}/smaps", self.dialog.pid);
        let text = std::fs::read(path).map_err(|e| format!("reading smaps: {}", named(&e)))?;
        let lent = self.lent();
        let entries = smaps::parse(&text).value;
        let ours = entries.iter().filter(|e| e.map.start < lent.end && e.map.end > lent.start);
        ours.map(field).sum::<Option<u64>>().ok_or_else(|| "smaps lacks a field".to_owned())
    }
}

fn not_accepted(errno: Errno, since: &str) -> Finding {
    match errno.name() {
        "EPERM" => {
            Finding::refused(format!("{errno}: no CAP_SYS_NICE in the initial user namespace"))
        }
        "EACCES" => Finding::refused(format!("{errno}: CAP_SYS_PTRACE is missing")),
        "EINVAL" | "ENOSYS" => Finding::absent(format!("{errno}: needs Linux {since}")),
        _ => Finding::unknown(errno.to_string()),
    }
}

fn why_not_promoted(errno: Errno) -> Finding {
    match errno.name() {
        "ENOMEM" => Finding::unknown(format!("{errno}: no free huge page just now; try again")),
        "EBUSY" => Finding::unknown(format!("{errno}: this cgroup is at its memory limit")),
        "EAGAIN" => Finding::unknown(format!("{errno}: a page was busy all the time; try again")),
        "EINVAL" if get_thp_disable() == Ok(ThpDisable::Disabled) => Finding::unknown(format!(
            "{errno}: whoever started this program switched huge pages off for it \
             (PR_SET_THP_DISABLE)"
        )),
        "EINVAL" => Finding::absent(errno.to_string()),
        _ => not_accepted(errno, "6.1"),
    }
}
