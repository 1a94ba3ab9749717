//! Counters of the CPUs that note the address of an access which missed the TLB: which ones this
//! machine has, told from its files.

use crate::probe::{Capability, privileges};
use crate::root::Root;
use crate::sampling;
use hugewise_base::parse::cpulist;
use hugewise_manager::reason::SkipReason;
use hugewise_sys::perf::Event;
use std::collections::BTreeSet;

/// Folder of whoever counts anything.
const SOURCES: &str = "sys/bus/event_source/devices";
/// Whom the kernel lets sample (Documentation/admin-guide/sysctl/kernel.rst).
const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";
/// Intel's cores: all of one kind, or large and small ones, each with files of their own.
const INTEL: [&str; 3] = ["cpu", "cpu_core", "cpu_atom"];
/// `MEM_INST_RETIRED.STLB_MISS_LOADS`: event 0xd0, mask 0x11. Cores before Skylake, and small
/// ones, call the same number `MEM_UOPS_RETIRED.STLB_MISS_LOADS` (the kernel's list of events with
/// addresses, arch/x86/events/intel/ds.c, and Intel's lists of events).
const STLB_MISS_LOADS: u64 = 0x11d0;
/// How exact Intel's counters must be to note an address.
const PRECISE: u8 = 2;
/// AMD's samples of operations, and the bit that has them count operations and not cycles
/// (`cnt_ctl`, arch/x86/events/amd/ibs.c).
const IBS: &str = "ibs_op";
const IBS_COUNTS_OPERATIONS: u64 = 1 << 19;

/// Why a tracker cannot be used, and what says so.
pub(super) type Refusal = (SkipReason, String);

/// One kind of counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) event: Event,
    /// CPUs that have it.
    pub(super) cpus: BTreeSet<u32>,
    /// Whether it samples all operations, of which those are kept that are said to have missed.
    pub(super) all_operations: bool,
}

/// The counters of this machine, and whether they may be used.
pub(super) fn find(root: &Root, caps: &[Capability]) -> Result<Vec<Counter>, Refusal> {
    let no_mechanism = |why: String| (SkipReason::NoMechanism, why);
    let online = sampling::online(root).map_err(no_mechanism)?;
    let found = match intel(root, &online)? {
        counters if counters.is_empty() => amd(root, &online),
        counters => counters,
    };
    if found.is_empty() {
        return Err(no_mechanism("this CPU shows no counters that note addresses".into()));
    }
    may_be_used(root, caps)?;
    Ok(found)
}

/// Counters of Intel's cores; empty: this is no such CPU.
fn intel(root: &Root, online: &BTreeSet<u32>) -> Result<Vec<Counter>, Refusal> {
    let number = |file: String| root.read_line(file).ok()?.parse::<u32>().ok();
    let there: Vec<_> = INTEL.iter().filter(|name| root.has(format!("{SOURCES}/{name}"))).collect();
    if there.is_empty() || !is_intel(root) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for name in there {
        let kind = number(format!("{SOURCES}/{name}/type"));
        let precise = number(format!("{SOURCES}/{name}/caps/max_precise")).unwrap_or(0);
        let Some(kind) = kind.filter(|_| precise >= PRECISE.into()) else { continue };
        // Only where there are several kinds do they say which CPUs are theirs.
        let cpus = root.read_line(format!("{SOURCES}/{name}/cpus")).ok();
        let cpus = cpus.and_then(|list| cpulist::parse(&list).ok());
        let cpus = cpus.map_or_else(|| online.clone(), |cpus| &cpus & online);
        let event = Event { kind, config: STLB_MISS_LOADS, precise: PRECISE, user_only: true };
        found.push(Counter { event, cpus, all_operations: false });
    }
    if found.is_empty() {
        let why =
            "this CPU's counters note no addresses (max_precise), as in most virtual machines";
        return Err((SkipReason::NoMechanism, why.into()));
    }
    Ok(found)
}

fn is_intel(root: &Root) -> bool {
    let text = root.read_text("proc/cpuinfo").unwrap_or_default();
    let vendor = text.lines().find(|line| line.starts_with("vendor_id"));
    vendor.is_some_and(|line| line.ends_with("GenuineIntel"))
}

/// AMD's samples; empty: there are none.
fn amd(root: &Root, online: &BTreeSet<u32>) -> Vec<Counter> {
    let kind = root.read_line(format!("{SOURCES}/{IBS}/type"));
    let Some(kind) = kind.ok().and_then(|kind| kind.parse().ok()) else { return Vec::new() };
    let operations = root.has(format!("{SOURCES}/{IBS}/format/cnt_ctl"));
    let config = if operations { IBS_COUNTS_OPERATIONS } else { 0 };
    let event = Event { kind, config, precise: 0, user_only: false };
    vec![Counter { event, cpus: online.clone(), all_operations: true }]
}

/// To sample a whole CPU takes a capability wherever `perf_event_paranoid` is above 0.
pub(super) fn may_be_used(root: &Root, caps: &[Capability]) -> Result<(), Refusal> {
    let Ok(paranoid) = root.read_line(PARANOID) else {
        return Err((SkipReason::NoMechanism, format!("/{PARANOID} is missing")));
    };
    let lacks = |name| caps.iter().any(|cap| cap.name == name && cap.held == Some(false));
    let open = paranoid.parse::<i32>().is_ok_and(|level| level <= 0);
    if !open && lacks("CAP_PERFMON") && lacks("CAP_SYS_ADMIN") {
        let why = format!("needs CAP_PERFMON: kernel.perf_event_paranoid is {paranoid}");
        return Err((SkipReason::NoPermission, why));
    }
    Ok(())
}

/// The same of the machine that hugewise runs on, just before they are used.
pub(super) fn of_this_machine(root: &Root) -> Result<Vec<Counter>, SkipReason> {
    if !root.is_live() {
        return Err(SkipReason::NoMechanism);
    }
    find(root, &privileges(root).caps).map_err(|(reason, _)| reason)
}

#[cfg(test)]
mod tests;
