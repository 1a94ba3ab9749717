//! `hugewise status`.

use crate::cli::{DaemonArgs, Global, StatusArgs, pids};
use crate::cmd::look;
use crate::control::{self, Verb};
use crate::exit;
use crate::left;
use crate::output::{Output, paint};
use crate::render::view::status::choose::Choice;
use crate::render::view::status::machine::COUNTERS;
use crate::render::view::status::values::{Counter, Machine, ThpSettings, Zone};
use crate::render::view::status::{self, Seen, View};
use hugewise_core::base::units::{Bytes, Geometry, Ns, ProcId};
use hugewise_core::manager::config::Config;
use hugewise_core::manager::engine::World;
use hugewise_core::manager::ownership::THP_DIR;
use hugewise_core::manager::policy::{self, View as PolicyView};
use hugewise_core::manager::reason::SkipReason;
use hugewise_core::manager::select::{Selection, select, select_all};
use hugewise_core::manager::snapshot::{Ask, MachineSample, ProcessSample};
use hugewise_core::manager::state::State;
use hugewise_core::manager::status::{
    LeftAloneStatus, ManagerStatus, Sources, TargetStatus, targets,
};
use hugewise_core::parse;
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How long counters are watched: long enough for a rate, short enough to wait for.
const WATCH: Ns = Ns::s(1);

/// Runs the command.
pub(crate) fn run(global: &Global, args: &StatusArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    look::say_what_root_adds(
        &root,
        "status",
        "sees programs of other users, and asks a running manager",
    );
    let view = look(&root, args)?;
    let code = match &view.manager {
        Seen::Absent { left } if !left.is_empty() => exit::WARNING,
        _ if view.missing.is_empty() => exit::OK,
        _ => exit::PARTIAL,
    };
    if global.json {
        return Output::json(&status::json(&view), code);
    }
    let text = match args.explain {
        Some(_) => status::explain::render(&view),
        None => status::render(&view, paint(global)),
    };
    Ok(Output::text(text, code))
}

fn look(root: &Root, args: &StatusArgs) -> anyhow::Result<View> {
    let choice = Choice::parse(args.fields.as_deref(), args.sort.as_deref(), &args.filter);
    let choice = choice.map_err(|error| exit::coded(exit::USAGE, error))?;
    let mut missing = Vec::new();
    let config = configuration(root, &mut missing);
    let mut world = Live::observer(root.clone());
    let began = world.now();
    let seen = world.observe(&Ask { machine: true, processes: true, ..Ask::default() });
    let samples = seen.processes.unwrap_or_default();
    let pids: BTreeSet<u32> = pids(&args.pid).into_iter().chain(args.explain).collect();
    look::all_there(&pids, &samples.iter().map(|p| p.id.pid).collect())?;
    let ids = samples.iter().map(|p| p.id).filter(|id| pids.contains(&id.pid));
    let selection = Selection { named: (!pids.is_empty()).then(|| ids.collect()) };

    let geometry = seen.machine.as_ref().map_or(Geometry::X86_64, |m| m.geometry);
    let mut state = State::new(&config, geometry, began);
    let first = seen.machine.as_ref().map(|m| m.vmstat.clone()).unwrap_or_default();
    if let Some(machine) = seen.machine {
        state.machine(&config, machine, seen.at);
    }
    state.list(&config, select_all(&config, &selection, samples.clone()), seen.at);
    let left_alone = left_alone(&config, &selection, &state, &samples);
    // Who is shown is known after the scan only, where it was chosen by what a scan sees.
    let all = selection.named.is_some() || choice.is_of_rows();
    let shown = largest(&state, if all { usize::MAX } else { args.top });
    let more = state.targets().len() - shown.len();
    state.keep_only(&shown);
    let manager = ask_manager(root, &args.daemon, &args.state_dir, &mut missing);

    if root.is_live() {
        let open = look::scan(&mut world, &shown, |report, now| state.scanned(report, now));
        missing.extend(not_scanned(&state, &open));
        world.wait_until(began + WATCH);
    } else {
        missing.push("copies of files have no page tables: processes are not scanned".to_owned());
    }
    let now = world.now();
    let plan = policy::of(config.policy.active).plan(
        &config,
        &PolicyView::new(&config, &state, false, now),
        now,
    );
    let limits = BTreeMap::new();
    let sources = Sources { config: &config, state: &state, plan: &plan, limits: &limits };
    let mut processes = targets(sources, now);
    merge(&mut processes, manager.status());
    choice.apply(&mut processes);
    let cut = if choice.is_of_rows() { processes.len().saturating_sub(args.top) } else { 0 };
    processes.truncate(processes.len() - cut);
    let again = world.observe(&Ask { machine: true, ..Ask::default() });
    let watched = again.at.since(seen.at);
    let machine = again.machine.map(|m| machine(root, &m, &first, watched)).unwrap_or_default();
    Ok(View {
        geometry,
        machine,
        processes,
        more: more + cut,
        left_alone,
        manager,
        missing,
        chosen: choice.is_of_rows(),
        fields: choice.fields,
    })
}

/// The configuration that a manager would use here: it decides what is eligible and why.
pub(super) fn configuration(root: &Root, missing: &mut Vec<String>) -> Config {
    if !root.is_live() {
        return Config::default();
    }
    match crate::config::load(None, &[]) {
        Ok(loaded) => loaded.config,
        Err(error) => {
            missing.push(format!("the configuration, so its defaults are used: {error:#}"));
            Config::default()
        }
    }
}

/// The `n` largest targets.
fn largest(state: &State, n: usize) -> Vec<ProcId> {
    let mut ids: Vec<_> = state.targets().values().map(|t| (t.sample.anon, t.sample.id)).collect();
    ids.sort_by_key(|key| std::cmp::Reverse(*key));
    ids.into_iter().take(n).map(|(_, id)| id).collect()
}

/// Large processes with a reason; of those named on the command line every one.
fn left_alone(
    config: &Config,
    selection: &Selection,
    state: &State,
    samples: &[ProcessSample],
) -> Vec<LeftAloneStatus> {
    let one = |sample: &ProcessSample, reason| LeftAloneStatus {
        pid: sample.id.pid,
        name: sample.name.clone(),
        anon: sample.anon,
        reason,
    };
    let Some(named) = &selection.named else {
        return state.left_alone().iter().map(|left| one(&left.sample, left.reason)).collect();
    };
    let named = samples.iter().filter(|sample| named.contains(&sample.id));
    named.filter_map(|s| select(config, selection, s).err().map(|reason| one(s, reason))).collect()
}

/// What a running manager says; what it could not be asked goes to `missing`.
pub(super) fn ask_manager(
    root: &Root,
    daemon: &DaemonArgs,
    state_dir: &Path,
    missing: &mut Vec<String>,
) -> Seen {
    if !root.is_live() {
        return Seen::Unknown;
    }
    let answer = control::request(&daemon.run_dir, Verb::Status);
    let status = answer.and_then(|json| Ok(json.map(serde_json::from_value).transpose()?));
    match status {
        Ok(Some(status)) => Seen::Running(Box::new(status)),
        Ok(None) => Seen::Absent { left: left::changed(root, state_dir) },
        Err(error) => {
            missing.push(format!("the manager's state: {error:#}"));
            Seen::Unknown
        }
    }
}

/// Sentences about processes that are not known completely.
fn not_scanned(
    state: &State,
    open: &BTreeMap<ProcId, hugewise_core::base::units::Addr>,
) -> Vec<String> {
    let mut missing = Vec::new();
    if !open.is_empty() {
        let pids: Vec<_> = open.keys().map(ToString::to_string).collect();
        missing.push(format!(
            "time was up before all memory was scanned of {}; 'status --pid' gives one all of it",
            pids.join(", ")
        ));
    }
    let mut refused: BTreeMap<SkipReason, u64> = BTreeMap::new();
    for reason in state.targets().values().filter_map(|target| target.refused) {
        *refused.entry(reason).or_default() += 1;
    }
    for (reason, n) in refused {
        missing.push(format!("not scanned, {n} of the processes: {}", look::sentence(reason)));
    }
    missing
}

/// A running manager knows more about its targets than one scan shows: what it promoted, what
/// waits and why.
pub(super) fn merge(processes: &mut [TargetStatus], manager: Option<&ManagerStatus>) {
    let known = manager.map_or(&[][..], |manager| &manager.targets);
    for process in processes {
        let Some(theirs) = known.iter().find(|t| t.pid == process.pid) else {
            // What one scan finds worth doing nobody does.
            for reasons in [&mut process.not_promoted, &mut process.not_split] {
                for wanted in [SkipReason::Scheduled, SkipReason::Settling] {
                    if let Some(n) = reasons.remove(&wanted) {
                        *reasons.entry(SkipReason::Unmanaged).or_default() += n;
                    }
                }
            }
            continue;
        };
        process.limit = theirs.limit;
        process.rate_bytes_per_s = theirs.rate_bytes_per_s;
        process.left_s = theirs.left_s;
        process.promoted = theirs.promoted;
        process.demoted = theirs.demoted;
        process.freed = theirs.freed;
        process.usage.clone_from(&theirs.usage);
        process.unfit.clone_from(&theirs.unfit);
        process.huge_by_us = theirs.huge_by_us;
        process.refused = theirs.refused.or(process.refused);
        if theirs.scanned {
            // Before its first pass it has no reasons yet; ours are better then.
            process.not_promoted.clone_from(&theirs.not_promoted);
            process.not_split.clone_from(&theirs.not_split);
            process.known_bloat = theirs.known_bloat;
            process.bloat = theirs.bloat;
        }
    }
}

/// The machine's section, with counters as they have moved since `first`, `watched` ago.
pub(super) fn machine(
    root: &Root,
    sample: &MachineSample,
    first: &BTreeMap<String, u64>,
    watched: Ns,
) -> Machine {
    let memory = root.read_text("proc/meminfo").map(|text| parse::meminfo::parse(&text).value);
    let memory = memory.unwrap_or_default();
    // Copies do not move: no difference is known.
    let live = root.is_live();
    let counter = |name: &'static str| {
        let total = sample.vmstat.get(name).copied();
        let before = first.get(name).filter(|_| live);
        let delta = total.zip(before).map(|(now, before)| now.saturating_sub(*before));
        Counter { name, total, delta }
    };
    Machine {
        thp: sample.thp,
        settings: settings(root, sample.geometry),
        mem_total: sample.mem_total,
        mem_available: sample.mem_available,
        anon: memory.anon_pages_bytes.map(Bytes),
        anon_huge: memory.anon_huge_pages_bytes.map(Bytes),
        fmfi: sample.fmfi,
        free_huge: sample.free_huge,
        psi_some_avg10: sample.psi_some_avg10,
        zones: zones(root, sample.geometry),
        counters: COUNTERS.iter().map(|(name, ..)| counter(name)).collect(),
        watched: live.then_some(watched),
    }
}

fn zones(root: &Root, geometry: Geometry) -> Option<Vec<Zone>> {
    let order = usize::try_from(geometry.huge_order()).unwrap_or(9);
    let zones = parse::buddyinfo::parse(&root.read_text("proc/buddyinfo").ok()?).value;
    // Zone DMA is too small to matter and counts nowhere (docs/measurements.md#fmfi).
    let zones = zones.into_iter().filter(|zone| zone.zone != "DMA");
    let zones = zones.map(|zone| Zone {
        node: zone.node,
        fmfi: parse::buddyinfo::fmfi(&zone.free_blocks, order),
        free_huge: parse::buddyinfo::free_blocks_at_or_above(std::slice::from_ref(&zone), order),
        zone: zone.zone,
    });
    Some(zones.collect())
}

fn settings(root: &Root, geometry: Geometry) -> ThpSettings {
    let per_size = format!("hugepages-{}kB/enabled", geometry.huge.0 >> 10);
    let files = ["enabled", &per_size, "defrag", "shmem_enabled", "khugepaged/max_ptes_none"];
    let files = files.iter().filter_map(|file| {
        let path = format!("{THP_DIR}/{file}");
        let text = root.read_line(&path).ok()?;
        let choice = parse::thp_choice::parse(&text).map(|choice| choice.selected);
        Some((path, choice.unwrap_or(text)))
    });
    ThpSettings { files: files.collect(), who: who(root) }
}

/// Places that set THP at boot or since, as far as files tell; programs that just write to sysfs
/// leave no trace.
fn who(root: &Root) -> Vec<String> {
    let mut who = Vec::new();
    let command_line = root.read_line("proc/cmdline").unwrap_or_default();
    let words = command_line.split_ascii_whitespace();
    let words =
        words.filter(|w| w.starts_with("transparent_hugepage") || w.starts_with("thp_anon"));
    who.extend(words.map(|word| format!("the kernel command line: {word}")));
    for dir in ["etc/tmpfiles.d", "run/tmpfiles.d", "usr/lib/tmpfiles.d"] {
        let Ok(entries) = std::fs::read_dir(root.path(dir)) else { continue };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let path = format!("{dir}/{}", name.to_string_lossy());
            let text = root.read_text(&path).unwrap_or_default();
            let sets = |line: &str| line.contains(THP_DIR) && !line.trim_start().starts_with('#');
            if text.lines().any(sets) {
                who.push(format!("/{path}, at boot"));
            }
        }
    }
    let profile = root.read_line("etc/tuned/active_profile").ok().filter(|p| !p.is_empty());
    who.extend(profile.map(|profile| format!("tuned, perhaps: profile '{profile}' is active")));
    who
}
