//! `hugewise status`.

use crate::cli::{Global, StatusArgs, pids};
use crate::cmd::machine::machine;
use crate::cmd::programs::{ask_manager, configuration, merge};
use crate::cmd::{recorded, scan};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::status::choose::Choice;
use crate::render::view::status::values::Recorded;
use crate::render::view::status::{self, ManagerState, View};
use hugewise_base::units::{Geometry, Ns, ProcId};
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use hugewise_manager::config::Config;
use hugewise_manager::engine::World;
use hugewise_manager::policy::{self, View as PolicyView};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::select::{Selection, select, select_all};
use hugewise_manager::snapshot::{Ask, ProcessSample};
use hugewise_manager::state::State;
use hugewise_manager::status::{LeftAloneStatus, Sources, targets};
use std::collections::{BTreeMap, BTreeSet};

/// How long counters are watched: long enough for a rate, short enough to wait for.
const WATCH: Ns = Ns::ms(500);

/// Runs the command.
pub(crate) fn run(global: &Global, args: &StatusArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    if args.past.is_meant() {
        return recorded(global, args);
    }
    scan::say_what_root_adds(
        &root,
        "status",
        "sees programs of other users, and asks a running manager",
    );
    output(global, args, &look(&root, args)?)
}

fn output(global: &Global, args: &StatusArgs, view: &View) -> anyhow::Result<Output> {
    let code = match &view.manager {
        ManagerState::Absent { left } if !left.is_empty() => exit::WARNING,
        _ if view.missing.is_empty() => exit::OK,
        _ => exit::PARTIAL,
    };
    if global.json {
        return Output::json(&status::json(view), code);
    }
    let text = match args.explained() {
        Some(_) => status::explain::render(view),
        None => status::render(view, paint(global)),
    };
    Ok(Output::text(text, code))
}

/// A moment that was recorded.
fn recorded(global: &Global, args: &StatusArgs) -> anyhow::Result<Output> {
    let choice = chosen(args)?;
    let (mut past, at) = recorded::open(&args.past)?;
    let shown = recorded::shown_at(&mut past, at)?;
    let mut view = shown.view;
    view.recorded = Some(Recorded { at: shown.time, host: shown.host });
    view.missing.append(&mut past.problems);
    let pids: BTreeSet<u32> = pids(&args.pid).into_iter().chain(args.explained()).collect();
    scan::all_there(&pids, &view.processes.iter().map(|process| process.pid).collect())?;
    if !pids.is_empty() {
        view.processes.retain(|process| pids.contains(&process.pid));
    }
    choice.apply_or_largest_first(&mut view.processes);
    view.more = view.processes.len().saturating_sub(args.top);
    view.processes.truncate(args.top);
    (view.chosen, view.fields) = (choice.is_of_rows(), choice.fields);
    output(global, args, &view)
}

fn chosen(args: &StatusArgs) -> anyhow::Result<Choice> {
    let choice = Choice::parse(args.fields.as_deref(), args.sort.as_deref(), &args.filter);
    choice.map_err(|error| exit::coded(exit::USAGE, error))
}

fn look(root: &Root, args: &StatusArgs) -> anyhow::Result<View> {
    let choice = chosen(args)?;
    let mut missing = Vec::new();
    let mut config = configuration(root, &mut missing);
    // One list shows of nobody whether it shrinks.
    config.promote.watch_ms = 0;
    let mut world = Live::observer(root.clone());
    let began = world.now();
    let seen = world.observe(&Ask { machine: true, processes: true, ..Ask::default() });
    let samples = seen.processes.unwrap_or_default();
    let pids: BTreeSet<u32> = pids(&args.pid).into_iter().chain(args.explained()).collect();
    scan::all_there(&pids, &samples.iter().map(|p| p.id.pid).collect())?;
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
        let open = scan::scan(&mut world, &shown, |report, now| state.scanned(report, now));
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
    // Copies do not move: no difference is known.
    let since = root.is_live().then(|| (&first, again.at.since(seen.at)));
    let machine = again.machine.map(|m| machine(root, &m, since)).unwrap_or_default();
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
        recorded: None,
    })
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

/// Sentences about processes that are not known completely.
fn not_scanned(state: &State, open: &BTreeMap<ProcId, hugewise_base::units::Addr>) -> Vec<String> {
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
        missing.push(format!("not scanned, {n} of the processes: {}", scan::sentence(reason)));
    }
    missing
}
