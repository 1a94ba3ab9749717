//! `hugewise status` as text and JSON.

pub(crate) mod bloat;
pub(crate) mod choose;
pub(crate) mod explain;
pub(crate) mod field;
pub(crate) mod fields;
pub(crate) mod machine;
mod manager;
mod parts;
mod summary;
pub(crate) mod values;

use self::fields::{Field, TARGET};
pub(crate) use self::parts::NONE_RUNS;
use self::parts::{cell, heading};
pub(crate) use self::values::{ManagerState, Occupant, View};
use crate::render::colour::Paint;
use crate::render::{number, text};
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_manager::status::{SCHEMA, TargetStatus};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// The view as text of 80 columns.
pub(crate) fn render(view: &View, paint: Paint) -> String {
    let recorded = view.recorded.as_ref().map_or_else(String::new, |recorded| {
        let host = printable(&recorded.host);
        format!("{}\n", paint.warn(&format!("As recorded on {host} at {}", recorded.at)))
    });
    joined(&[
        recorded,
        text::wrap("", &summary::summary(view)),
        machine::render(&view.machine, paint),
        manager::render(view, paint),
        bloat::cgroups(view, paint),
        processes(view, paint),
        bloat::processes(view, paint),
        left_alone(view, paint),
        reasons(view, paint),
        missing(view, paint),
    ])
}

/// Sections that say something, with an empty line between them.
fn joined(sections: &[String]) -> String {
    let said: Vec<_> = sections.iter().filter(|s| !s.is_empty()).map(String::as_str).collect();
    text::trimmed(&said.join("\n"))
}

/// What the manager does, why regions are not huge, and what could not be seen.
pub(crate) fn manager_pane(view: &View) -> String {
    let paint = Paint::plain();
    joined(&[
        manager::render(view, paint),
        left_alone(view, paint),
        reasons(view, paint),
        missing(view, paint),
    ])
}

/// The view for programs.
pub(crate) fn json(view: &View) -> Json {
    let process = |target: &TargetStatus| {
        let mut entry = serde_json::to_value(target).unwrap_or_default();
        entry["huge_percent"] = json!(fields::huge_percent(target));
        entry["coverage_percent"] = json!(target.coverage_percent());
        entry["known_bloat"] = json!(fields::known_bloat(target));
        // Unknown is null, never 0.
        entry["bloat"]["partially_mapped"] = json!(fields::partially_mapped(target));
        if !target.scanned {
            for key in ["huge", "eligible", "populated", "regions", "bloat", "kept"] {
                entry[key] = Json::Null;
            }
        }
        entry
    };
    let mut machine = serde_json::to_value(&view.machine).unwrap_or_default();
    machine["huge_percent"] = json!(view.machine.huge_percent());
    json!({
        "schema": SCHEMA,
        "summary": summary::summary(view),
        "partial": !view.missing.is_empty(),
        "missing": view.missing,
        "recorded": view.recorded,
        "base_page": view.geometry.base,
        "huge_page": view.geometry.huge,
        "machine": machine,
        "processes": view.processes.iter().map(process).collect::<Vec<_>>(),
        "processes_not_shown": view.more,
        "left_alone": view.left_alone,
        "manager": view.manager.status(),
        "fields": {
            "machine": fields::help(fields::MACHINE.iter()),
            "processes": fields::help(TARGET.iter().chain(fields::BLOAT)),
        },
    })
}

/// Fields of the table that a narrow terminal goes without, the first one first. The name may be
/// cut, and the reason comes last, where it wraps.
const DISPENSABLE: [&str; 4] = ["utilization_percent", "known_bloat", "eligible", "anon"];

/// The fields of the table that fit into so many columns, in its order.
pub(crate) fn fields_in(columns: usize) -> Vec<&'static Field<TargetStatus>> {
    let mut fields: Vec<_> = TARGET.iter().filter(|field| field.columns > 0).collect();
    let wide = |fields: &[&Field<_>]| fields.iter().map(|f| f.columns + 1).sum::<usize>() - 1;
    for key in DISPENSABLE {
        if wide(&fields) <= columns {
            break;
        }
        fields.retain(|field| field.key != key);
    }
    fields
}

fn processes(view: &View, paint: Paint) -> String {
    let note = match view.more {
        0 => String::new(),
        more if view.chosen => format!("the first; '-n' shows {more} more"),
        more => format!("the largest {}; '-n' shows {more} more", view.processes.len()),
    };
    let mut out = heading("PROCESSES", &note, paint);
    if view.processes.is_empty() {
        // A sample without a word on programs does not say that there are none.
        let unknown = view.recorded.is_some() && matches!(view.manager, ManagerState::Unknown);
        let none = match view.chosen {
            true => "none passes the filter",
            false if unknown => "not known",
            false => "none that could be promoted",
        };
        out.push_str(&format!("  {none}\n"));
        return out;
    }
    let shown = match &view.fields[..] {
        [] => fields_in(text::columns()),
        chosen => chosen.to_vec(),
    };
    let headings: Vec<_> = shown.iter().map(|f| cell(f, f.heading)).collect();
    out.push_str(&format!("{}\n", headings.join(" ").trim_end()));
    for target in &view.processes {
        let cells = shown.iter().map(|field| {
            let cell = cell(field, &field.short(target));
            // Nothing follows the last column.
            let cell = if field.key == "why" { cell.trim_end().to_owned() } else { cell };
            match field.key {
                "huge_percent" if fields::huge_percent(target) >= Some(90.0) => paint.good(&cell),
                "known_bloat" if fields::known_bloat(target) > Some(Bytes(0)) => paint.warn(&cell),
                "why" if target.refused.is_some() => paint.bad(&cell),
                _ => cell,
            }
        });
        let cells: Vec<_> = cells.collect();
        out.push_str(&format!("{}\n", cells.join(" ")));
    }
    let explained = ["huge_percent", "eligible", "utilization_percent", "known_bloat"];
    for field in shown.iter().filter(|field| explained.contains(&field.key)) {
        let what = format!("{}: {}", field.heading, field.help);
        out.push_str(&format!("{}\n", paint.dim(text::wrap("  ", &what).trim_end())));
    }
    out
}

fn left_alone(view: &View, paint: Paint) -> String {
    if view.left_alone.is_empty() {
        return String::new();
    }
    let mut out = heading("LEFT ALONE", "large processes that hugewise does not touch", paint);
    for process in &view.left_alone {
        let name = text::left(&printable(&process.name), 15);
        let anon = text::right(&number::short(process.anon), 5);
        let reason = paint.warn(process.reason.key());
        out.push_str(&format!("{:>7} {name} {anon} {reason}\n", process.pid));
    }
    out
}

fn reasons(view: &View, paint: Paint) -> String {
    let mut named = BTreeSet::new();
    let mut lines = String::new();
    for target in &view.processes {
        named.extend(target.refused);
        let skips = target.not_promoted.iter().filter(|(r, n)| **n > 0 && !fields::is_plain(**r));
        let mut skips: Vec<_> = skips.collect();
        skips.sort_by_key(|(reason, n)| (std::cmp::Reverse(**n), **reason));
        named.extend(skips.iter().map(|(reason, _)| **reason));
        let counts = skips.iter().map(|(reason, n)| format!("{n} {}", reason.key()));
        let all = target.refused.map(|reason| format!("everything {}", reason.key()));
        let mut what: Vec<_> = all.into_iter().chain(counts).collect();
        let kept: Vec<_> =
            target.not_split.iter().filter(|(_, n)| **n > 0 && target.scanned).collect();
        named.extend(kept.iter().map(|(reason, _)| **reason));
        for (place, (reason, n)) in kept.iter().enumerate() {
            let what_of = if place == 0 { "not split: " } else { "" };
            what.push(format!("{what_of}{n} {}", reason.key()));
        }
        if !what.is_empty() {
            let name = text::left(&printable(&target.name), 15);
            lines.push_str(&text::wrap(&format!("{:>7} {name} ", target.pid), &what.join(", ")));
        }
    }
    named.extend(view.left_alone.iter().map(|process| process.reason));
    if named.is_empty() {
        return String::new();
    }
    let size = view.geometry.huge;
    let note = format!("regions of {size} that are not huge, or not split, by reason");
    let mut out = heading("WHY", &note, paint);
    out.push_str(&lines);
    if !lines.is_empty() {
        out.push('\n');
    }
    let wide = named.iter().map(|reason| reason.key().len()).max().unwrap_or(0);
    for reason in named {
        let (means, remedy) = reason.text();
        out.push_str(&text::wrap(&format!("  {}  ", text::left(reason.key(), wide)), means));
        if !remedy.is_empty() {
            out.push_str(&text::wrap(&format!("  {}  -> ", " ".repeat(wide)), remedy));
        }
    }
    out
}

fn missing(view: &View, paint: Paint) -> String {
    if view.missing.is_empty() {
        return String::new();
    }
    let mut out = format!("{}\n", paint.warn("PARTIAL"));
    for what in &view.missing {
        out.push_str(&text::wrap("  ", &printable(what)));
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::render::golden;
    use crate::render::view::status::machine::COUNTERS;
    use crate::render::view::status::values::{Counter, Machine, ThpSettings, Zone};
    use hugewise_base::units::Geometry;
    use hugewise_base::units::Ns;
    use hugewise_manager::access::{Offer, Tracker};
    use hugewise_manager::decision::Outlook;
    use hugewise_manager::limits::fault_size::SizeReason;
    use hugewise_manager::limits::huge_faults::HugeFaults;
    use hugewise_manager::limits::pressure::PressureSource;
    use hugewise_manager::reason::{Limit, SkipReason};
    use hugewise_manager::snapshot::{CgroupSample, SizeCollapses, SizeSample, ThpMode};
    use hugewise_manager::state::Compactions;
    use hugewise_manager::state::bloat::Account;
    use hugewise_manager::status::{
        CgroupStatus, CompactionStatus, FaultStatus, LeftAloneStatus, ManagerStatus, UseStatus,
    };
    use std::collections::BTreeMap;

    fn target(pid: u32, name: &str) -> TargetStatus {
        TargetStatus {
            pid,
            name: name.to_owned(),
            rss: Bytes::mib(1200),
            shmem: None,
            anon: Bytes::mib(1100),
            populated: Bytes::mib(1090),
            regions: 560,
            huge: Bytes::mib(1000),
            eligible: Bytes::mib(1040),
            utilization_percent: Some(71.4),
            known_bloat: Some(Bytes::mib(3)),
            bloat: Account {
                partially_mapped: Bytes::mib(1),
                remembered: Bytes::mib(2),
                unknown: Bytes::mib(40),
                ..Account::default()
            },
            partially_mapped: Some(Bytes::mib(4)),
            scanned: true,
            refused: None,
            not_promoted: BTreeMap::from([
                (SkipReason::BelowThreshold, 40),
                (SkipReason::Scheduled, 20),
                (SkipReason::FileMapping, 900),
            ]),
            limit: None,
            rate_bytes_per_s: None,
            left_s: None,
            promoted: 500,
            not_split: BTreeMap::from([(SkipReason::UnknownUse, 20), (SkipReason::Settling, 2)]),
            demoted: 12,
            freed: Bytes::mib(9),
            cgroup: Some("/system.slice".to_owned()),
            belongs_to: None,
            usage: Some(UseStatus {
                by: Some(Tracker::Referenced),
                age_s: Some(12.0),
                hot: Bytes::mib(200),
                hot_huge: Bytes::mib(198),
                idle: Bytes::mib(600),
                idle_huge: Bytes::mib(512),
                other: Bytes::mib(320),
            }),
            unfit: BTreeMap::from([(Tracker::Damon, SkipReason::TrackerBusy)]),
            guest: None,
            huge_by_us: 480,
        }
    }

    fn machine() -> Machine {
        let files = ["enabled", "hugepages-2048kB/enabled", "defrag", "khugepaged/max_ptes_none"];
        let files = files.iter().zip(["always", "inherit", "madvise", "511"]);
        let file = |(f, v): (&&str, &str)| {
            (format!("sys/kernel/mm/transparent_hugepage/{f}"), v.to_owned())
        };
        let who = vec!["the kernel command line: transparent_hugepage=always".to_owned()];
        let counters = COUNTERS.iter().enumerate().map(|(i, (name, ..))| {
            let total = (i != 5).then_some(1_000_000 * i as u64);
            Counter { name, total, delta: total.map(|_| i as u64 % 3) }
        });
        Machine {
            thp: Some(ThpMode::Always),
            settings: ThpSettings { files: files.map(file).collect(), who },
            mem_total: Some(Bytes::mib(24_000)),
            mem_available: Some(Bytes::mib(12_000)),
            anon: Some(Bytes::mib(9_000)),
            anon_huge: Some(Bytes::mib(4_000)),
            hugetlb: Some(Bytes::mib(2_048)),
            hugetlb_available: Some(Bytes::mib(512)),
            fmfi: Some(0.62),
            free_huge: Some(41),
            psi_some_avg10: None,
            zones: Some(vec![
                Zone { node: 0, zone: "DMA32".into(), fmfi: Some(0.01), free_huge: 40 },
                Zone { node: 0, zone: "Normal".into(), fmfi: None, free_huge: 1 },
            ]),
            counters: counters.collect(),
            watched: Some(Ns::ms(1004)),
        }
    }

    pub(crate) fn sample() -> View {
        let refused = Some(SkipReason::NoPermission);
        let unread = TargetStatus {
            refused,
            scanned: false,
            not_promoted: BTreeMap::from([(SkipReason::NoPermission, 0)]),
            utilization_percent: None,
            ..target(4_194_304, "ev\x1b[31mil\n\u{202e}x")
        };
        let limited = TargetStatus {
            limit: Some(Limit::LockShare),
            rate_bytes_per_s: Some(Bytes::mib(33)),
            left_s: Some(1.4),
            ..target(812, "postgres")
        };
        let alone = LeftAloneStatus {
            pid: 99,
            name: "redis-server".to_owned(),
            anon: Bytes::mib(5_000),
            reason: SkipReason::ThpDisabledByProgram,
        };
        View {
            geometry: Geometry::X86_64,
            machine: machine(),
            processes: vec![limited, unread],
            more: 3,
            left_alone: vec![alone],
            manager: ManagerState::Absent { left: vec!["sys/kernel/mm/x".to_owned()] },
            missing: vec!["something was not scanned".to_owned()],
            fields: Vec::new(),
            chosen: false,
            recorded: None,
        }
    }

    fn faults() -> FaultStatus {
        FaultStatus {
            size: Some(Bytes(32 << 10)),
            size_reason: SizeReason::Waste,
            size_changes: 1,
            huge: Some(false),
            huge_reason: Some(HugeFaults::Fragmented),
            huge_changes: 3,
            unwritten: Some(Bytes::mib(9)),
            unwritten_error: Some(Bytes::mib(2)),
            sizes: vec![SizeSample {
                size: Bytes(32 << 10),
                mode: ThpMode::Always,
                folios: Some(812),
                partially_mapped: Some(0),
                faults: Some(2001),
                fallbacks: Some(1),
                splits: None,
                fmfi: Some(0.1),
                collapses: Some(SizeCollapses { made: 41, over_none: 3, ..Default::default() }),
            }],
        }
    }

    pub(crate) fn with_manager() -> View {
        let view = sample();
        let memory = CgroupSample {
            usage: Bytes::mib(1400),
            limit: Bytes::mib(1500),
            stalled_us: None,
            limit_hits: None,
        };
        let limited = CgroupStatus {
            cgroup: "/lxc.payload.x\u{202e}y".to_owned(),
            belongs_to: Some("container x\u{202e}y".to_owned()),
            processes: 7,
            huge: Bytes::mib(1000),
            bloat: view.processes[0].bloat,
            memory: Some(memory),
            pressure: Some(PressureSource::CgroupUsage),
            ..CgroupStatus::default()
        };
        let other = CgroupStatus {
            cgroup: "/user.slice".to_owned(),
            processes: 1,
            bloat: Account { sampled: Bytes::mib(1), ..Account::default() },
            ..CgroupStatus::default()
        };
        let manager = ManagerStatus {
            schema: SCHEMA,
            age_ms: 2100,
            abandoned_workers: 1,
            mode: "ingens".to_owned(),
            pids: Some(vec![812]),
            dry_run: true,
            policy: "worth".to_owned(),
            faults: faults(),
            trackers: vec![Offer { tracker: Tracker::Referenced, refused: None }],
            outlook: Outlook { gain_ns_per_s: 12_000_000, cost_ns_per_s: 300_000 },
            paused: true,
            gate: Some(SkipReason::NoFreeHugePage),
            allocation_backoff_s: Some(3.25),
            compaction: compaction(),
            warming: true,
            own_cpu: None,
            warm_cpu: None,
            bloat_budget: Some(Bytes::mib(33)),
            known_bloat: Bytes::mib(3),
            bloat: view.processes[0].bloat,
            giving_back: true,
            pressure: Some(PressureSource::MemAvailable),
            frees_zeros: Some(false),
            frames_hidden: true,
            demoted: 12,
            freed: Bytes::mib(9),
            filled: 5,
            cgroups: vec![limited, other],
            promoted: 500,
            rate_bytes_per_s: Some(Bytes::mib(40)),
            left_s: Some(250.0),
            warm_ups: 2,
            withheld: 1,
            failed: 4,
            targets: view.processes.clone(),
            left_alone: Vec::new(),
        };
        View { manager: ManagerState::Running(Box::new(manager)), missing: Vec::new(), ..view }
    }

    fn compaction() -> CompactionStatus {
        let reasons = BTreeMap::from([(SkipReason::CompactionSlow, 2)]);
        CompactionStatus {
            wanted_blocks: 20,
            reserve_blocks: 163,
            expected_cpu: Some(Ns::ms(56)),
            running: false,
            held_back: Some(SkipReason::CompactionSlow),
            totals: Compactions { runs: 3, won: 145, cpu: Ns::ms(400), reasons },
        }
    }

    #[test]
    fn the_view_is_as_kept_and_fits_eighty_columns() {
        for (name, view) in [("status.txt", sample()), ("status-manager.txt", with_manager())] {
            let text = render(&view, Paint::plain());
            golden::check(name, &text);
            assert!(text.lines().all(|line| text::width(line) <= text::WIDTH), "{text}");
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
        }
    }

    #[test]
    fn a_program_is_explained_in_words() {
        for (name, view) in [("explain.txt", sample()), ("explain-manager.txt", with_manager())] {
            let text = explain::render(&view);
            golden::check(name, &text);
            assert!(text.lines().all(|line| text::width(line) <= text::WIDTH), "{text}");
        }
    }

    #[test]
    fn colour_adds_nothing_but_escapes() {
        let mut bare = render(&sample(), Paint::new(Some(true), false, false));
        for code in ["0", "1", "2", "31", "32", "33"] {
            bare = bare.replace(&format!("\x1b[{code}m"), "");
        }
        assert_eq!(bare, render(&sample(), Paint::plain()));
    }

    #[test]
    fn json_says_null_where_nothing_is_known() {
        let json = json(&sample());
        assert_eq!(json["schema"], 1);
        assert_eq!(json["partial"], true);
        assert!(json["processes"][1]["huge"].is_null());
        assert!(json["processes"][1]["huge_percent"].is_null());
        assert!(json["machine"]["psi_some_avg10"].is_null());
        assert_eq!(json["fields"]["processes"]["known_bloat"]["good"], "low");
    }

    #[test]
    fn blocks_that_nobody_could_look_for_are_unknown() {
        let blind = TargetStatus {
            huge: Bytes(0),
            known_bloat: Some(Bytes(0)),
            bloat: Account::default(),
            partially_mapped: None,
            ..target(1, "x")
        };
        let shown = json(&View { processes: vec![blind.clone()], ..sample() });
        assert!(shown["processes"][0]["known_bloat"].is_null());
        assert!(shown["processes"][0]["bloat"]["partially_mapped"].is_null());
        let view = View { processes: vec![blind.clone()], ..sample() };
        assert!(render(&view, Paint::plain()).contains("not known whether there are partially"));
        let all_huge = TargetStatus { huge: blind.populated, ..blind };
        assert_eq!(fields::known_bloat(&all_huge), Some(Bytes(0)));
    }

    #[test]
    fn what_has_the_machine_is_named_and_nothing_is_advised_that_would_be_refused() {
        for (role, words) in [
            (Occupant::Experiment, "An experiment runs ('hugewise lab', pid 12): "),
            (Occupant::Manager, "A manager runs (pid 12), and its socket is elsewhere"),
        ] {
            let manager = ManagerState::Elsewhere { role, holder: "pid 12".to_owned() };
            let said = summary::summary(&View { manager, ..sample() });
            assert!(said.starts_with(words), "{said}");
            assert!(!said.contains("'hugewise manage'"), "{said}");
        }
    }

    #[test]
    fn what_is_unknown_is_not_zero() {
        let view = View {
            machine: Machine::default(),
            processes: Vec::new(),
            more: 0,
            left_alone: Vec::new(),
            manager: ManagerState::Unknown,
            missing: Vec::new(),
            geometry: Geometry::X86_64,
            fields: Vec::new(),
            chosen: false,
            recorded: None,
        };
        let text = render(&view, Paint::plain());
        assert!(text.contains("THP mode                   ?"), "{text}");
        assert!(!text.contains(" 0%"), "{text}");
    }
}
