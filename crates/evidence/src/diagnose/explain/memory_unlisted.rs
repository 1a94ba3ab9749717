//! Memory that nothing in `/proc/meminfo` lists.

use super::prelude::*;
use crate::diagnose::machine::memory::Holders;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::MemoryUnlisted,
    severity: Severity::Warning,
    title: "Much memory is unaccounted for: a kernel module, a driver or a balloon holds it",
    id: "memory.unlisted",
    question: "Is much memory in nothing that the kernel lists?",
    how: "All memory less what is free, cached, anonymous, in slabs, page tables, stacks and \
          HugeTLB pages, of one reading of /proc/meminfo.",
    limits: &[],
    leads_to: &[
        Cause::MemoryShort,
        Cause::Reclaim,
        Cause::Swapping,
        Cause::MemoryPressure,
        Cause::OomKills,
        Cause::KernelTime,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see who allocates pages directly: modules, drivers, ZFS's cache, a hypervisor's \
             balloon",
            "lsmod | sort -k2 -nr | head; cat /proc/spl/kstat/zfs/arcstats | grep '^size'; \
             dmesg | grep -i balloon; grep -E ' [0-9]{9,} ' /proc/vmallocinfo | head",
            "one of them has about as much as is missing",
        ),
        Remedy::new(
            Reach::Service,
            "limit what holds it: the ARC of ZFS, the balloon's target, a driver's rings",
            "echo BYTES > /sys/module/zfs/parameters/zfs_arc_max",
            "MemAvailable rises by as much",
        ),
        Remedy::new(
            Reach::Machine,
            "let the kernel count pages by the code that allocated them (Linux 6.10 and later, \
             CONFIG_MEM_ALLOC_PROFILING)",
            "sysctl vm.mem_profiling=1; sort -nr /proc/allocinfo | head -20",
            "its first lines name a driver or module",
        ),
    ],
    judge,
};

/// Network buffers, drivers' rings and per-CPU areas are unlisted on any machine: 0.2 to 2.7 % of
/// it in the whole listings of tests/corpus, 1.1 % in tests/recordings/capture/idle.txt. So much
/// more is somebody's.
const UNLISTED_MIN_PERCENT: f64 = 25.0;
const UNLISTED_MIN_BYTES: f64 = 1_073_741_824.0;

/// Is much memory in nothing that the kernel lists?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(account) = machine::memory::account(cx) else { return Answer::unknown(&[MEMINFO]) };
    let percent = account.unlisted / account.total * 100.0;
    // A listing that was cut short may leave out the kernel's own objects.
    let known = match account.held_by {
        Holders::Listed => {
            "neither free nor cached, anonymous, slab, page tables, stacks or HugeTLB pages"
        }
        Holders::ListedWithoutSlab => {
            "neither free nor cached, anonymous, page tables, stacks or HugeTLB pages; kernel \
             objects (Slab), which are not shown, are among it"
        }
        Holders::Processes => {
            "neither free nor cached, and in no process: kernel objects, HugeTLB pages, a \
             driver's pages or a balloon, which are not shown"
        }
    };
    let text = format!(
        "{} of {} ({percent:.0} %) are {known}",
        write::bytes(account.unlisted),
        write::bytes(account.total)
    );
    let Some(total) = cx.state(Field::MemTotal) else { return Answer::unknown(&[MEMINFO]) };
    let much = percent >= UNLISTED_MIN_PERCENT && account.unlisted >= UNLISTED_MIN_BYTES;
    let evidence = vec![cx.derive(&total, &text)];
    let answer = Answer::when(much, percent / 100.0, evidence);
    answer.or_close(cx.is_close(percent, UNLISTED_MIN_PERCENT))
}
