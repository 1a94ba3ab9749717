//! What files tell: presence, current values, and whether a setting could be written.

use super::cgroup;
use super::finding::{Finding, Findings, absent, named};
use crate::compact;
use crate::machine;
use crate::root::Root;
use hugewise_base::parse::kernel_release::KernelRelease;
use hugewise_base::parse::{buddyinfo, pressure, thp_choice};
use hugewise_base::size::Size;
use hugewise_base::units::{Geometry, Ns};
use hugewise_manager::config::Config;
use hugewise_manager::limits::budgets;
use hugewise_manager::ownership::{THP_DIR, ThpFiles};
use rustix::fs::{Access, AtFlags, CWD};
use std::io;

/// Per-VMA locks came with this release (include/linux/mm.h, `vma_start_read`).
const PER_VMA_LOCK_SINCE: (u32, u32) = (6, 4);

pub(super) fn observe(root: &Root, release: Option<KernelRelease>) -> Findings {
    let mm = "sys/kernel/mm";
    let thp = |file: &str| format!("{THP_DIR}/{file}");
    let size_dir = thp_files(root).per_size_dir;
    Findings::from([
        ("thp", transparent_huge_pages(root)),
        ("settings_writable", settings_writable(root)),
        ("per_vma_lock", per_vma_lock(release)),
        ("shrinker_underused", value(root, &thp("shrink_underused"), mm, "needs Linux 6.12")),
        (
            "per_size_thp_files",
            value(root, &thp(&format!("{size_dir}/enabled")), mm, "needs Linux 6.8"),
        ),
        ("per_size_thp_stats", size_stats(root, &thp(&format!("{size_dir}/stats")))),
        ("buddyinfo", free_blocks(root)),
        ("compaction", compaction(root)),
        ("defrag_mode", value(root, "proc/sys/vm/defrag_mode", "proc/sys/vm", "needs Linux 6.15")),
        ("psi_memory", memory_pressure(root)),
        ("memcg", cgroup::memcg(root)),
        ("kpageflags", kpageflags(root)),
        (
            "idle_page_tracking",
            presence(root, &format!("{mm}/page_idle/bitmap"), mm, "no CONFIG_IDLE_PAGE_TRACKING"),
        ),
        ("mglru", value(root, &format!("{mm}/lru_gen/enabled"), mm, "no CONFIG_LRU_GEN")),
        ("tracefs", tracefs(root)),
        ("perf_counters", perf_counters(root)),
        ("swap", swap(root)),
        ("zswap", value(root, "sys/module/zswap/parameters/enabled", "sys/module", "no zswap")),
    ])
}

fn presence(root: &Root, path: &str, witness: &str, why: &str) -> Finding {
    if root.has(path) { Finding::present() } else { absent(root, witness, why) }
}

/// A one-line setting: present with its value.
fn value(root: &Root, path: &str, witness: &str, why: &str) -> Finding {
    match root.read_line(path) {
        // What every one of these files says when its mechanism is built in and switched off.
        Ok(line) if matches!(line.as_str(), "0" | "N" | "0x0000") => {
            Finding::absent(format!("switched off (/{path} is {line})"))
        }
        Ok(line) => {
            let chosen = thp_choice::parse(&line).map(|choice| choice.selected);
            let detail: String = chosen.unwrap_or(line).chars().take(40).collect();
            Finding::with(format!("now {detail}"))
        }
        Err(error) => unreadable(root, &error, witness, why),
    }
}

fn unreadable(root: &Root, error: &io::Error, witness: &str, why: &str) -> Finding {
    match error.kind() {
        io::ErrorKind::NotFound => absent(root, witness, why),
        io::ErrorKind::PermissionDenied => Finding::refused(named(error)),
        _ => Finding::unknown(named(error)),
    }
}

/// The THP settings as they are now.
pub(super) fn thp_files(root: &Root) -> ThpFiles {
    machine::thp_files(root, machine::geometry(root))
}

fn transparent_huge_pages(root: &Root) -> Finding {
    // `depends on ... !PREEMPT_RT` (mm/Kconfig).
    let real_time = root.read_line("proc/version").is_ok_and(|text| text.contains("PREEMPT_RT"));
    let why = match real_time {
        true => {
            "this kernel has no transparent huge pages: real-time kernels (PREEMPT_RT) have none"
        }
        false => "this kernel has no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE)",
    };
    if let Err(error) = root.read_line(format!("{THP_DIR}/enabled")) {
        return unreadable(root, &error, "sys/kernel/mm", why);
    }
    match thp_files(root).effective() {
        Some((mode, file)) => {
            let mode = mode.name();
            let file = file.strip_prefix(THP_DIR).unwrap_or(&file).trim_start_matches('/');
            Finding::with(format!("{file} is '{mode}'{}", too_large(machine::geometry(root))))
        }
        None => Finding::unknown("transparent_hugepage/enabled holds none of the known values"),
    }
}

/// Counters by size, and what khugepaged makes where it has such of its own.
fn size_stats(root: &Root, stats: &str) -> Finding {
    match machine::collapses_to_sizes(root, machine::geometry(root)) {
        true => Finding::with(
            "khugepaged makes sizes below a huge page, too, and takes only 0 or no bound as \
             max_ptes_none for these",
        ),
        false => presence(root, stats, "sys/kernel/mm", "needs Linux 6.10"),
    }
}

/// What is said of huge pages that take too long to make while a program runs.
fn too_large(geometry: Geometry) -> String {
    let most = Ns::ms(Config::default().promote.call_most_ms);
    let call = budgets::call_prior(geometry);
    if call <= most {
        return String::new();
    }
    format!(
        "; a huge page has {}, and making one would hold a program up for about {} ms: programs \
         are not promoted unless promote.call_most_ms allows it, and faults hand out smaller sizes",
        Size(geometry.huge.0),
        call.0 / 1_000_000
    )
}

/// Whether mode `ingens` could write what it owns. Asked with access(2): nothing is opened.
fn settings_writable(root: &Root) -> Finding {
    let mut files: Vec<String> = ["defrag", "khugepaged/max_ptes_none"]
        .iter()
        .chain(&["khugepaged/scan_sleep_millisecs"])
        .map(|file| format!("{THP_DIR}/{file}"))
        .collect();
    let deciding = thp_files(root).effective().map(|(_, file)| file);
    files.insert(0, deciding.unwrap_or_else(|| format!("{THP_DIR}/enabled")));
    for file in &files {
        if !root.has(file) {
            return absent(root, "sys/kernel/mm", &format!("/{file} is missing"));
        }
        if let Some(why) = why_not_writable(root, file) {
            return Finding::refused(why);
        }
    }
    if root.is_live() {
        Finding::present()
    } else {
        Finding::unknown("can only be asked on the live machine")
    }
}

/// Why this process could not write to a file of `/sys`, as far as that can be known without
/// opening it; `None` where it could.
pub fn why_not_writable(root: &Root, file: &str) -> Option<String> {
    if let Some(mount) = read_only_mount(root, file) {
        return Some(format!("{mount} is mounted read-only"));
    }
    // Effective ids: a program with file capabilities keeps its caller's real ones.
    let allowed = rustix::fs::accessat(CWD, root.path(file), Access::WRITE_OK, AtFlags::EACCESS);
    match allowed {
        Err(errno) if root.is_live() => {
            Some(format!("/{file}: {}", hugewise_sys::Errno::from(errno)))
        }
        _ => None,
    }
}

/// The mount point that makes `file` read-only, if one does.
fn read_only_mount(root: &Root, file: &str) -> Option<String> {
    let mounts = root.read_text("proc/self/mounts").ok()?;
    let file = format!("/{file}");
    let covers = |point: &str| {
        let rest = file.strip_prefix(point.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let mut deciding: Option<(&str, &str)> = None;
    for line in mounts.lines() {
        let mut words = line.split(' ').skip(1);
        let (Some(point), Some(options)) = (words.next(), words.nth(1)) else { continue };
        // The longest mount point decides, and of equal ones the last, which hides the others.
        if covers(point) && deciding.is_none_or(|(known, _)| point.len() >= known.len()) {
            deciding = Some((point, options));
        }
    }
    let (point, options) = deciding?;
    options.split(',').any(|option| option == "ro").then(|| point.to_owned())
}

fn per_vma_lock(release: Option<KernelRelease>) -> Finding {
    let Some(release) = release else {
        return Finding::unknown("the kernel release cannot be read");
    };
    let (major, minor) = PER_VMA_LOCK_SINCE;
    if release.at_least(major, minor) {
        Finding::with("by version: 6.4 and later")
    } else {
        Finding::absent("by version: needs Linux 6.4")
    }
}

fn free_blocks(root: &Root) -> Finding {
    let text = match root.read_text("proc/buddyinfo") {
        Ok(text) => text,
        Err(error) => return unreadable(root, &error, "proc/version", "no /proc/buddyinfo"),
    };
    let (zones, geometry) = (buddyinfo::parse(&text).value, machine::geometry(root));
    let order = usize::try_from(geometry.huge_order()).unwrap_or(usize::MAX);
    match buddyinfo::fmfi_total(&zones, order) {
        Some(fmfi) => {
            let free = buddyinfo::free_blocks_at_or_above(&zones, order);
            let size = Size(geometry.huge.0);
            Finding::with(format!("{free} free {size} blocks, fragmentation (FMFI) {fmfi:.2}"))
        }
        None => Finding::unknown("/proc/buddyinfo names no free memory"),
    }
}

/// Whether a run could be begun. Asked with access(2), as above.
fn compaction(root: &Root) -> Finding {
    let file = compact::file_of(root, 0);
    if !root.has(&file) {
        return absent(root, "proc/version", &format!("no /{file} (CONFIG_COMPACTION)"));
    }
    match why_not_writable(root, &file) {
        Some(why) => Finding::refused(why),
        None if root.is_live() => Finding::present(),
        None => Finding::unknown("can only be asked on the live machine"),
    }
}

fn memory_pressure(root: &Root) -> Finding {
    match root.read_text("proc/pressure/memory") {
        Ok(text) => match pressure::parse(&text).value.some {
            Some(some) => {
                Finding::with(format!("programs wait {:.2} % of the time (some avg10)", some.avg10))
            }
            None => Finding::unknown("/proc/pressure/memory could not be understood"),
        },
        // Built in and switched off, the file opens and reading it says so.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error()) => {
            Finding::absent("switched off: boot with psi=1")
        }
        Err(error) => unreadable(root, &error, "proc/version", "no CONFIG_PSI, or needs psi=1"),
    }
}

fn kpageflags(root: &Root) -> Finding {
    match std::fs::File::open(root.path("proc/kpageflags")) {
        Ok(_) => Finding::present(),
        Err(error) => unreadable(root, &error, "proc/version", "no CONFIG_PROC_PAGE_MONITOR"),
    }
}

fn tracefs(root: &Root) -> Finding {
    let events = "sys/kernel/tracing/events/huge_memory";
    match std::fs::metadata(root.path(events)) {
        Ok(_) => Finding::present(),
        Err(error) => {
            let why = "not mounted at /sys/kernel/tracing, or no tracepoints";
            unreadable(root, &error, "sys/kernel", why)
        }
    }
}

fn perf_counters(root: &Root) -> Finding {
    let paranoid = match root.read_line("proc/sys/kernel/perf_event_paranoid") {
        Ok(level) => level,
        Err(error) => return unreadable(root, &error, "proc/version", "no CONFIG_PERF_EVENTS"),
    };
    // Names of core PMUs: x86, hybrid x86, arm64.
    let devices = ["cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0"];
    let has = |device| root.has(format!("sys/bus/event_source/devices/{device}"));
    if devices.into_iter().any(has) {
        Finding::with(format!("not tried; perf_event_paranoid {paranoid}"))
    } else {
        absent(root, "sys/bus", "the CPU shows no counters")
    }
}

fn swap(root: &Root) -> Finding {
    match root.read_text("proc/swaps") {
        Ok(text) => match text.lines().skip(1).filter(|line| !line.is_empty()).count() {
            0 => Finding::absent("no swap area is in use"),
            areas => Finding::with(format!("{areas} in use")),
        },
        Err(error) => unreadable(root, &error, "proc/version", "no CONFIG_SWAP"),
    }
}
