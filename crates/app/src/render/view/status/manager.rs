//! What `hugewise status` says about a running manager.

use crate::render::colour::Paint;
use crate::render::view::status::parts::{NONE_RUNS, heading};
use crate::render::view::status::values::{ManagerState, View};
use crate::render::{number, text};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::{Bytes, Ns};
use hugewise_manager::limits::pressure::PressureSource;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::SizeCollapses;
use hugewise_manager::state::Compactions;
use hugewise_manager::state::bloat::Account;
use hugewise_manager::status::{CompactionStatus, FaultStatus, ManagerStatus};

/// Said where a split keeps zero pages.
const KEEPS_ZEROS: &str = "this kernel (before 6.12) keeps zero pages when a huge page is split: \
                           only partially mapped blocks give memory back";
/// Said where page frames are hidden.
const FRAMES_HIDDEN: &str = "partially mapped blocks are known only from earlier scans \
                             (needs CAP_SYS_ADMIN to see page frames)";

/// The section; a sentence where no manager runs.
pub(super) fn render(view: &View, paint: Paint) -> String {
    let manager = match &view.manager {
        ManagerState::Running(manager) => manager,
        ManagerState::Absent { left } if left.is_empty() => {
            return heading("MANAGER", &format!("none is running here: {NONE_RUNS}"), paint);
        }
        ManagerState::Absent { left } => {
            let mut out = heading("MANAGER", "none is running here", paint);
            out.push_str(&paint.bad(&line("Left changed", &killed(left))));
            return out;
        }
        ManagerState::Elsewhere { role, holder } => {
            return heading("MANAGER", &role.sentence(holder), paint);
        }
        ManagerState::Unknown => return heading("MANAGER", "unknown", paint),
    };
    let dry = if manager.dry_run { ", dry run: nothing is changed" } else { "" };
    let running = if manager.paused { "paused" } else { "running" };
    let mode = format!("{running} in mode '{}'{dry}", printable(&manager.mode));
    let mut out = heading("MANAGER", &mode, paint);
    if let Some(pids) = &manager.pids {
        let pids: Vec<_> = pids.iter().map(ToString::to_string).collect();
        out.push_str(&line("Serves only", &format!("{} (--pid)", pids.join(", "))));
    }
    let size = view.geometry.regions(manager.promoted);
    let promoted = format!(
        "{} ({size}) since it started; {} withheld, {} failed, {}",
        regions(manager.promoted),
        manager.withheld,
        counted(manager.failed, "call", "calls"),
        counted(manager.warm_ups, "warm-up", "warm-ups (in thp_fault_alloc, too)")
    );
    out.push_str(&line("Promoted", &promoted));
    let each = manager.targets.iter().any(|target| target.limit.is_some());
    let nothing =
        if each { "nothing as a whole; programs by what is named below" } else { "nothing" };
    let gate = manager.gate.map_or_else(|| nothing.to_owned(), sentence);
    let gate = line("Limited by", &gate);
    out.push_str(&if manager.gate.is_some() { paint.warn(&gate) } else { gate });
    let wait = |s: f64| format!("{s:.1} s more, after a failed huge page allocation");
    let wait = manager.allocation_backoff_s.map_or_else(|| "none".to_owned(), wait);
    out.push_str(&line("Back-off", &wait));
    out.push_str(&compaction(&manager.compaction));
    out.push_str(&faults(&manager.faults));
    out.push_str(&giving_back(manager, view, paint));
    let cpu =
        manager.own_cpu.map_or_else(|| "unknown".to_owned(), |t| format!("{:.2} s", t.as_s()));
    let warming = if manager.warming { "; warms destinations first" } else { "" };
    let idle = manager.warm_cpu.filter(|time| *time > Ns(0));
    let idle = idle.map_or_else(String::new, |t| format!(" and {:.2} s of idle CPU", t.as_s()));
    out.push_str(&paint.warn(&not_answering(manager)));
    out.push_str(&line("Own CPU", &format!("{cpu}{idle} since it started{warming}")));
    for (number, what) in progress(manager).iter().enumerate() {
        out.push_str(&line(if number == 0 { "Becomes huge" } else { "" }, what));
    }
    out
}

/// What holds the manager up; nothing where nothing does.
fn not_answering(manager: &ManagerStatus) -> String {
    let mut out = String::new();
    if manager.age_ms > 0 {
        let age = number::wait(manager.age_ms as f64 / 1e3);
        let text = format!("{age} old: the manager is within one call or scan");
        out.push_str(&line("This state", &text));
    }
    if manager.abandoned_workers > 0 {
        let workers = counted(manager.abandoned_workers, "worker", "workers");
        let text = format!("{workers}: killed, waiting for a lock that a process holds");
        out.push_str(&line("Abandoned", &text));
    }
    out
}

/// What is done so that there are free blocks; nothing where nobody ever waited for any.
fn compaction(now: &CompactionStatus) -> String {
    let Compactions { runs, won, cpu, .. } = &now.totals;
    if now.wanted_blocks == 0 && now.reserve_blocks == 0 && *runs == 0 {
        return String::new();
    }
    let state = match now.held_back {
        _ if now.running => "under way".to_owned(),
        Some(reason) => sentence(reason),
        None => "nothing waits for it".to_owned(),
    };
    let wait = match now.wanted_blocks {
        0 => String::new(),
        blocks => {
            let cost = |cost: Ns| format!(", about {:.2} s of CPU", cost.as_s());
            let cost = now.expected_cpu.map_or_else(String::new, cost);
            format!("{} for a free block{cost}; ", waits(blocks))
        }
    };
    let kept = match now.reserve_blocks {
        0 => String::new(),
        blocks => format!("; keeps {blocks} free"),
    };
    let made = format!(
        "{kept}; {} so far, {} made in {:.2} s of CPU",
        counted(*runs, "run", "runs"),
        counted(*won, "block", "blocks"),
        cpu.as_s()
    );
    line("Compaction", &format!("{wait}{state}{made}"))
}

fn waits(regions: u64) -> String {
    let verb = if regions == 1 { "waits" } else { "wait" };
    format!("{} {verb}", self::regions(regions))
}

/// What a manager that was killed could not do.
fn killed(left: &[String]) -> String {
    let files: Vec<_> = left.iter().map(|file| format!("/{file}")).collect();
    format!(
        "by a manager that did not end properly: {} -> 'hugewise revert' puts the old values back, \
         and so does the next 'hugewise manage'",
        files.join(", ")
    )
}

/// How fast everything becomes huge, and how fast each program, with what holds it back.
fn progress(manager: &ManagerStatus) -> Vec<String> {
    let all = pace(manager.rate_bytes_per_s, manager.left_s);
    let all = all.map(|pace| format!("{pace}, all programs together"));
    let each = manager.targets.iter().filter_map(|target| {
        let pace = pace(target.rate_bytes_per_s, target.left_s);
        let limit = target.limit.map(|limit| format!("limited by {}", limit.config_key()));
        let what: Vec<_> = pace.into_iter().chain(limit).collect();
        let name = printable(&target.name);
        (!what.is_empty()).then(|| format!("{} {name}: {}", target.pid, what.join(", ")))
    });
    all.into_iter().chain(each).collect()
}

/// What faults hand out, and what that costs.
fn faults(faults: &FaultStatus) -> String {
    let size = faults.size.map_or_else(|| "base pages".to_owned(), |size| size.to_string());
    let mut said = format!("{size}: {}", faults.size_reason.text().0);
    if let Some((huge, reason)) = faults.huge.zip(faults.huge_reason) {
        let what = if huge { "huge pages" } else { "no huge pages" };
        said = format!("{what}: {}; else {said}", reason.text().0);
    }
    let mut out = line("Faults give", &said);
    if let Some((bytes, error)) = faults.unwritten.zip(faults.unwritten_error) {
        out.push_str(&line("Never written", &format!("{bytes} of it, give or take {error}")));
    }
    for size in &faults.sizes {
        let collapses = |count: fn(&SizeCollapses) -> u64| size.collapses.as_ref().map(count);
        let counts = [
            (size.folios, "folio", "folios"),
            (size.partially_mapped, "partially mapped", "partially mapped"),
            (size.faults, "fault", "faults"),
            (size.fallbacks, "fallback", "fallbacks"),
            (size.splits, "split", "splits"),
            (collapses(|c| c.made), "collapse", "collapses"),
            (collapses(|c| c.failed), "collapse without a block", "collapses without a block"),
            (collapses(|c| c.over_none), "stopped by max_ptes_none", "stopped by max_ptes_none"),
            (collapses(|c| c.over_swap), "stopped by swap", "stopped by swap"),
            (collapses(|c| c.over_shared), "stopped by sharing", "stopped by sharing"),
        ];
        let known = counts.into_iter().filter_map(|(count, one, many)| {
            count.filter(|count| *count > 0).map(|count| counted(count, one, many))
        });
        let known: Vec<_> = known.collect();
        if !known.is_empty() {
            out.push_str(&line(&format!("  of {}", size.size), &known.join(", ")));
        }
    }
    out
}

/// How fast it goes and how long it will take.
fn pace(rate: Option<Bytes>, left_s: Option<f64>) -> Option<String> {
    let left = left_s.map_or(String::new(), |s| format!(", {} left", number::wait(s)));
    rate.map(|rate| format!("{:.0} MiB/s{left}", rate.0 as f64 / f64::from(1 << 20)))
}

fn regions(count: u64) -> String {
    counted(count, "region", "regions")
}

/// What is wasted, what was given back, and what stands in the way.
fn giving_back(manager: &ManagerStatus, view: &View, paint: Paint) -> String {
    let mut out = line("Known bloat", &known(&manager.bloat));
    let unknown = manager.bloat.unknown;
    let unknown = match unknown {
        Bytes(0) => "none".to_owned(),
        _ => format!("of {unknown} in huge pages that hugewise did not make"),
    };
    out.push_str(&line("Use unknown", &unknown));
    let budget = manager.bloat_budget.map_or_else(|| "unknown".to_owned(), |b| b.to_string());
    let over =
        if manager.giving_back { "; exceeded: giving back until half of it is left" } else { "" };
    let budget = line("Bloat budget", &format!("{budget} in all{over}"));
    out.push_str(&if manager.giving_back { paint.warn(&budget) } else { budget });
    let freed = format!("{} by splitting {}", manager.freed, regions(manager.demoted));
    out.push_str(&line("Given back", &freed));
    if manager.filled > 0 {
        let none = "khugepaged/max_ptes_none";
        let set = view.machine.settings.files.iter().find(|(file, _)| file.ends_with(none));
        let set = set.map_or_else(String::new, |(_, value)| format!("; {none} is {value} now"));
        let filled = format!(
            "{} below the threshold, by khugepaged or their program{set}",
            regions(manager.filled)
        );
        out.push_str(&line("Filled by others", &filled));
    }
    if let Some(source) = manager.pressure {
        out.push_str(&paint.warn(&line("Memory is short", pressure(source))));
    }
    if manager.frees_zeros == Some(false) {
        out.push_str(&paint.warn(&line("Note", KEEPS_ZEROS)));
    }
    if manager.frames_hidden {
        out.push_str(&paint.warn(&line("Note", FRAMES_HIDDEN)));
    }
    out
}

/// Known waste with its sources, those that have some.
fn known(bloat: &Account) -> String {
    let sources = [
        (bloat.partially_mapped, "held by partially mapped blocks"),
        (bloat.remembered, "was empty before it became huge"),
        (bloat.sampled, "of zeros (sampled)"),
    ];
    let sources = sources.iter().filter(|(bytes, _)| *bytes > Bytes(0));
    let sources: Vec<_> = sources.map(|(bytes, what)| format!("{bytes} {what}")).collect();
    match sources.len() {
        0 => "none".to_owned(),
        1 => sources.concat(),
        _ => format!("{}: {}", bloat.known(), sources.join(", ")),
    }
}

/// A sentence about a source of memory pressure.
const fn pressure(source: PressureSource) -> &'static str {
    match source {
        PressureSource::MemAvailable => {
            "MemAvailable is below its watermark: all known bloat is given back"
        }
        PressureSource::CgroupUsage => {
            "a cgroup's usage is above its watermark: its known bloat is given back"
        }
        PressureSource::MachineStalls => {
            "programs wait for memory, and little is left: all known bloat is given back"
        }
        PressureSource::CgroupStalls => {
            "a cgroup is nearly full and its programs wait: its known bloat is given back"
        }
    }
}

fn line(name: &str, rest: &str) -> String {
    text::wrap(&format!("  {}", text::left(name, 18)), rest)
}

/// A reason's meaning and remedy as one sentence.
pub(super) fn sentence(reason: SkipReason) -> String {
    let (means, remedy) = reason.text();
    if remedy.is_empty() { means.to_owned() } else { format!("{means} -> {remedy}") }
}
