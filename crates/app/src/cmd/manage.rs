//! `hugewise manage`.

use super::look;
use crate::cli::{Global, ManageArgs, STATE_DIR, duration, pids};
use crate::control::Desk;
use crate::daemon::{self, FileSink, Lines, OwnedSettings, Settings, Until};
use crate::journal::{JOURNAL, Journal};
use crate::made::Keeper;
use crate::output::Output;
use crate::recording::RecordFile;
use crate::render::view::revert;
use crate::say::{Progress, note};
use crate::service::Service;
use crate::{config, exit, left};
use anyhow::Context;
use hugewise_base::count::counted;
use hugewise_base::units::{Ns, ProcId};
use hugewise_experiment::settings;
use hugewise_linux::actuator::{Actuator, MixedNodes, OperatorNever, Reach};
use hugewise_linux::instance::{InstanceLock, LockError, Role};
use hugewise_linux::probe::{self, Abilities, ProbeChild};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{self, Restored, make_dir};
use hugewise_linux::world::Live;
use hugewise_linux::{machine, process};
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::engine::{Manager, Sink, World};
use hugewise_manager::ownership;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::record::{self, Record};
use hugewise_manager::replay::Recorder;
use hugewise_manager::select::Selection;
use hugewise_manager::state::made::Made;
use hugewise_manager::status::{self, TargetStatus};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, mpsc};

/// The configuration; what in it is of no use is said once, at the start.
fn config_at_start(root: &Root, args: &ManageArgs) -> anyhow::Result<Config> {
    let loaded = config::load(args.config.as_deref(), &args.set)?;
    config::warnings(root, &loaded).iter().for_each(|warning| note(warning));
    Ok(loaded.config.in_force(args.once))
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ManageArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    if !root.is_live() {
        return Err(exit::coded(
            exit::USAGE,
            "manage acts on the running machine only; leave out '--root', or use 'manage replay'",
        ));
    }
    let load = || Ok(config::load(args.config.as_deref(), &args.set)?.config.in_force(args.once));
    let config = config_at_start(&root, args)?;
    let mode = daemon::mode(args.mode, &config);
    let until = args.r#for.as_deref().map(duration).transpose()?;
    let named = named_processes(&root, &pids(&args.pid))?;
    // Refused before anything is touched; what is wanted is asked again once a crashed manager's
    // settings are back.
    let able = able_to(mode, &root, &config)?;
    if mode == Mode::Guard && !config.demote.sample {
        note(GUARD_IS_BLIND);
    }
    // Until ours is taken: none begins then without seeing it.
    // A dry run changes nothing: it may be anybody's, and beside anybody.
    let acts = mode != Mode::Observe;
    let alone = acts && !args.dry_run;
    let outside = alone && !args.in_experiment;
    let no_experiment = outside.then(|| no_experiment(&root, args)).transpose()?;
    let _lock = alone.then(|| lock(&root, args, Role::Manager)).transpose()?;
    drop(no_experiment);
    let record = args.record.as_deref().map(RecordFile::begin).transpose()?;
    // From here on signals are events: settings that were changed are always put back.
    let (send, events) = mpsc::channel();
    daemon::listen_to_signals(send.clone())?;

    if !alone {
        say_what_is_missing(&root, args);
    }
    let mut journal = journal(args, &config, alone)?;
    journal.write(&start_record(&root, args, mode));
    let settings = take_settings(&root, args, (&config, mode), alone, &mut journal)?;
    if let Some(settings) = settings.as_ref().filter(|_| !global.json) {
        note(&begins(mode, args, settings));
    }

    let desk = Arc::new(Desk::default());
    let _server =
        daemon::control_server(&args.daemon.run_dir, desk.clone(), send, !alone && !is_root());
    let (made, earlier) = made(&root, args, alone);
    let actuator = acts.then(|| actuator(&root, &config, args.dry_run));
    let world = Live::new(root, actuator, events).knowing(able.frees_zeros);
    let mut world = world.tracking(&args.state_dir);
    let now = world.now();
    let mut manager = Manager::new(config, mode, Selection { named }, now);
    manager.remember(earlier);
    let (progress, dry_run) = (Progress::new(!global.json), args.dry_run);
    let lines = (!global.json && !progress.is_watched()).then(|| Lines::new(now));
    let service = Service::from_environment();
    let settings = Settings::new(settings, args.keep_settings);
    let mut sink = FileSink { journal, desk, dry_run, progress, lines, made, service, settings };
    let until = Until { done: args.once, end: until.map(|wait| now + wait) };

    let (why, end) = match &record {
        None => daemon::run(&mut world, &mut manager, &mut sink, until, &load),
        Some(record) => {
            let mut world = Recorder::new(world, args.once, mode, record.writer());
            daemon::run(&mut world, &mut manager, &mut sink, until, &load)
        }
    };
    manager.refresh(end);
    let done = finish(global, &manager, sink, why, end)?;
    Ok(recorded(record.as_ref(), done))
}

/// The same, or an error where the recording is not whole.
fn recorded(record: Option<&RecordFile>, done: Output) -> Output {
    match record.and_then(RecordFile::end) {
        Some(why) => {
            note(&format!("the recording is cut short: {why}"));
            done.with_code(exit::ERROR)
        }
        None => done,
    }
}

/// Settings that are owned from now on: of who really acts and has the lock. The trail of anybody
/// else may be a living manager's.
fn take_settings(
    root: &Root,
    args: &ManageArgs,
    (config, mode): (&Config, Mode),
    alone: bool,
    journal: &mut Journal,
) -> anyhow::Result<Option<OwnedSettings>> {
    let open = || OwnedSettings::open(root, &args.state_dir, journal);
    let mut settings = alone.then(open).transpose()?;
    if alone {
        daemon::give_damon_back(root, &args.state_dir, journal)?;
    }
    if !args.keep_settings {
        own(root, &wanted_settings(root, config, mode)?, settings.as_mut(), journal)?;
    }
    Ok(settings)
}

/// What an earlier manager made, for who acts after it.
fn made(root: &Root, args: &ManageArgs, alone: bool) -> (Option<Keeper>, Vec<Made>) {
    if !alone {
        return (None, Vec::new());
    }
    let (keeper, earlier) = Keeper::open(root, &args.state_dir, Ns(0));
    (Some(keeper), earlier)
}

/// What begins, what is changed meanwhile, and how it ends.
fn begins(mode: Mode, args: &ManageArgs, settings: &OwnedSettings) -> String {
    let changed = settings.changed();
    let kept = match changed {
        0 => String::new(),
        _ => {
            let changed = counted(changed, "setting", "settings");
            format!("; old values of {changed} are in {}", args.state_dir.display())
        }
    };
    format!("mode '{}'{kept}; Ctrl-C or SIGTERM ends it", mode.key())
}

/// Writes what the mode owns, or says what it would write.
fn own(
    root: &Root,
    wanted: &[ownership::WantedSetting],
    settings: Option<&mut OwnedSettings>,
    journal: &mut Journal,
) -> anyhow::Result<()> {
    let Some(settings) = settings else {
        daemon::rehearse_settings(wanted, journal);
        // Who is not root has been told what root adds.
        let mut refused =
            wanted.iter().filter_map(|want| probe::why_not_writable(root, &want.file));
        if let Some(why) = refused.next().filter(|_| is_root()) {
            note(&format!("without --dry-run this would stop here: {why}: {WRITABLE}"));
        }
        return Ok(());
    };
    settings.take(wanted, journal).map_err(|error| anyhow::anyhow!("{error:#}: {WRITABLE}"))
}

/// What helps where a setting cannot be written.
const WRITABLE: &str = "run as root on a writable /sys, or with '--keep-settings'";

fn actuator(root: &Root, config: &Config, dry_run: bool) -> Actuator {
    let reach = if dry_run { Reach::Rehearse } else { Reach::Act };
    let never = match config.promote.allow_under_never {
        true => OperatorNever::Override,
        false => OperatorNever::Respect,
    };
    let mixed = match config.promote.mixed_nodes {
        true => MixedNodes::Promote,
        false => MixedNodes::Refuse,
    };
    Actuator::new(root, reach, machine::geometry(root), never)
        .with_nodes(root, mixed, config.watermark.fmfi_high)
        .warming_ahead(config.controller.warm_cpu_percent)
}

/// Said when `guard` starts without leave to read.
const GUARD_IS_BLIND: &str = "guard: how much is used of huge pages that programs make \
    themselves is unknown without 'demote.sample = true': those are left alone, and 'hugewise \
    status' says how much memory that is";

/// Puts the settings back, closes the journal, says what was done.
fn finish(
    global: &Global,
    manager: &Manager,
    mut sink: FileSink,
    why: &str,
    end: Ns,
) -> anyhow::Result<Output> {
    sink.service.ends();
    let put_back = |mut settings: OwnedSettings| settings.put_back(&mut sink.journal);
    let not_restored = sink.settings.owned.take().map(put_back).unwrap_or_default();
    let totals = manager.state().totals().clone();
    if let Some(made) = &mut sink.made {
        made.write(manager.state());
    }
    sink.record(end, &Record::Stop { why: why.into(), totals });
    sink.journal.flush();
    sink.progress.show("");
    for step in &not_restored {
        note(&format!("not put back: {}", revert::setting(step)));
    }
    if sink.journal.lost() > 0 {
        note(&format!("{} journal lines were lost", sink.journal.lost()));
    }
    let status = status::manager(manager, sink.dry_run, end);
    let failed = not_restored.iter().any(|step| matches!(step, Restored::Failed { .. }));
    let denied = |target: &TargetStatus| target.refused == Some(SkipReason::NoPermission);
    let blind = !status.targets.is_empty() && status.targets.iter().all(denied);
    let code = if failed || blind { exit::PARTIAL } else { exit::OK };
    if global.json {
        return Output::json(&status, code);
    }
    if blind {
        let text = "it has no permission to read any of these programs, so it decided nothing";
        note(&format!("{text}: run it with sudo"));
    }
    Ok(Output::text(summary(&status, why) + "\n", code))
}

fn summary(status: &status::ManagerStatus, why: &str) -> String {
    use std::fmt::Write as _;
    let mut text = format!("Stopped: {why}.\n");
    let _ = write!(
        text,
        "Promoted {}, split {} which gave back {} ({}, {}",
        counted(status.promoted, "region", "regions"),
        status.demoted,
        status.freed,
        counted(status.warm_ups, "warm-up", "warm-ups"),
        counted(status.failed, "failed call", "failed calls")
    );
    if status.withheld > 0 {
        let _ = write!(text, ", {} withheld", counted(status.withheld, "decision", "decisions"));
    }
    text.push_str(").\n");
    for target in &status.targets {
        let coverage = target.coverage_percent();
        let coverage = coverage.map_or("nothing eligible".into(), |c| format!("{c:.0} % huge"));
        let name = target.name.escape_debug();
        let _ = write!(text, "  {} {name}: {coverage} of {}", target.pid, target.eligible);
        let reasons: Vec<_> = target.not_promoted.iter().map(|(r, n)| format!("{r} {n}")).collect();
        if let Some(reason) = target.refused {
            let _ = write!(text, "; {reason}");
        } else if !reasons.is_empty() {
            let _ = write!(text, "; left small: {}", reasons.join(", "));
        }
        text.push('\n');
    }
    for alone in status.left_alone.iter().take(5) {
        let (means, remedy) = alone.reason.text();
        let name = alone.name.escape_debug();
        let _ = writeln!(text, "  {} {name}: left alone: {means}. {remedy}", alone.pid);
    }
    text.trim_end().to_owned()
}

/// What this kernel can do. An error where the mode must not run, as where nothing can be promoted:
/// then khugepaged must not be kept from it either.
fn able_to(mode: Mode, root: &Root, config: &Config) -> anyhow::Result<Abilities> {
    let able = probe::abilities(root, &ProbeChild::this_program(&["lab", "workload", "probe"]));
    if mode != Mode::Ingens || able.promotes != Some(false) {
        return wanted_settings(root, config, mode).map(|_| able);
    }
    let message = "refused: this kernel cannot make a huge page from outside a process (Linux 6.1 \
                   and later can). '--mode guard' leaves that to khugepaged, stops it while memory \
                   is short, and takes waste back; '--mode observe' only looks";
    Err(exit::coded(exit::REFUSED, message))
}

fn wanted_settings(
    root: &Root,
    config: &Config,
    mode: Mode,
) -> anyhow::Result<Vec<ownership::WantedSetting>> {
    let files = machine::thp_files(root, machine::geometry(root));
    ownership::wanted(config, mode, &files).map_err(|reason| {
        let (means, remedy) = reason.text();
        let code = if reason == SkipReason::OperatorNever { exit::REFUSED } else { exit::ERROR };
        exit::coded(code, format!("refused: {means}. {remedy}; or '--mode observe'"))
    })
}

fn lock(root: &Root, args: &ManageArgs, role: Role) -> anyhow::Result<InstanceLock> {
    let lock = InstanceLock::take_to_keep(root, &args.state_dir, role).map_err(refused)?;
    lock.remarks().iter().for_each(|remark| note(remark));
    Ok(lock)
}

fn refused(error: LockError) -> anyhow::Error {
    match error {
        LockError::Taken(Role::Lab, holder) => exit::coded(
            exit::REFUSED,
            format!(
                "refused: a 'hugewise lab run' is running ({holder}), and the kernel settings are \
                 now those of its experiment; wait until it ends"
            ),
        ),
        LockError::Taken(..) => exit::coded(exit::REFUSED, error.to_string()),
        LockError::Io(..) if !is_root() => anyhow::Error::new(error).context(
            "managing other programs' memory needs root: run it with sudo, or see with --dry-run \
             what it would do",
        ),
        LockError::Io(..) => anyhow::Error::new(error)
            .context("cannot save the old values: give another directory with '--state-dir'"),
        LockError::Missing(..) => error.into(),
    }
}

/// Refuses beside an experiment, and after one that was killed: the values of its variants would be
/// taken for the operator's, and written back for good in the end. While the lock that is returned
/// is held, none begins.
fn no_experiment(root: &Root, args: &ManageArgs) -> anyhow::Result<InstanceLock> {
    let lock = lock(root, args, Role::Lab)?;
    if args.keep_settings {
        return Ok(lock);
    }
    let left = trail::revert(root, &args.state_dir, &settings::LEFT, true)?;
    match left.iter().find_map(still_stands) {
        Some(file) => Err(exit::coded(
            exit::REFUSED,
            format!(
                "refused: an experiment that was killed has left its value in '/{file}'; put the \
                 old one back with 'hugewise revert --all', or go on with the experiment"
            ),
        )),
        None => Ok(lock),
    }
}

/// The file in which a value of an experiment still stands. Pools in use are no manager's matter,
/// and nobody could put them back now.
fn still_stands(step: &Restored) -> Option<&str> {
    match step {
        Restored::PutBack { file, .. } | Restored::Failed { file, .. } => Some(file),
        Restored::Unchanged { .. }
        | Restored::Foreign { .. }
        | Restored::InUse { .. }
        | Restored::Gone { .. }
        | Restored::EarlierBoot { .. } => None,
    }
}

/// Every named pid must be a process that can be managed: a typing error should not wait silently.
/// With their start times, so that a reused pid is not taken for the process that was meant.
fn named_processes(root: &Root, pids: &[u32]) -> anyhow::Result<Option<BTreeSet<ProcId>>> {
    let mut named = BTreeSet::new();
    for pid in pids {
        let Some(stat) = process::stat(root, *pid) else {
            anyhow::bail!(
                "there is no process {pid}; look it up with 'pidof' or 'hugewise status'"
            );
        };
        if stat.is_kernel_thread() {
            anyhow::bail!("{pid} is a kernel thread: it has no memory to manage");
        }
        if *pid == std::process::id() || *pid == 1 {
            return Err(exit::coded(exit::REFUSED, format!("process {pid} is never managed")));
        }
        named.insert(ProcId { pid: *pid, start_ticks: stat.starttime });
    }
    Ok((!named.is_empty()).then_some(named))
}

/// What somebody who only looks should know: what root adds, and what was left changed.
fn say_what_is_missing(root: &Root, args: &ManageArgs) {
    look::say_what_root_adds(root, "manage", ROOT_ADDS);
    left::say(root, &args.state_dir);
}

/// What `observe` and a dry run have of root.
const ROOT_ADDS: &str = "sees programs of other users, keeps its journal in /var/lib/hugewise and \
    answers 'hugewise status'; meanwhile give --journal FILE and --run-dir DIR for those";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The journal; none for who does nothing, where the usual place is root's.
fn journal(args: &ManageArgs, config: &Config, alone: bool) -> anyhow::Result<Journal> {
    let max_bytes = config.journal.max_bytes.0;
    if let Some(path) = &args.journal {
        return Journal::open(path, max_bytes);
    }
    let made = make_dir(&args.state_dir).with_context(|| {
        format!("cannot create '{}'; give another with '--state-dir'", args.state_dir.display())
    });
    let open = || Journal::open(&args.state_dir.join(JOURNAL), max_bytes);
    match made.and_then(|()| open()) {
        Err(_) if !alone && !is_root() && args.state_dir == Path::new(STATE_DIR) => {
            Ok(Journal::absent())
        }
        journal => journal,
    }
}

fn start_record(root: &Root, args: &ManageArgs, mode: Mode) -> Record {
    Record::Start {
        schema: record::SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        mode,
        dry_run: args.dry_run,
        kernel: machine::kernel_release(root).unwrap_or_default(),
        boot_id: machine::boot_id(root),
        pids: (!args.pid.is_empty()).then(|| pids(&args.pid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_put_back_keeps_a_manager_from_starting() {
        let (file, text) = (String::from("enabled"), String::from("always"));
        let stands = Restored::PutBack { file: file.clone(), from: text.clone(), to: text.clone() };
        assert_eq!(still_stands(&stands), Some("enabled"));
        let failed = Restored::Failed { file: file.clone(), error: text.clone() };
        assert_eq!(still_stands(&failed), Some("enabled"));
        // Settled by itself, or by somebody who knows better.
        for step in [
            Restored::EarlierBoot { file: file.clone() },
            Restored::Gone { file: file.clone() },
            Restored::Unchanged { file: file.clone() },
            Restored::Foreign { file, found: text.clone(), written: text },
        ] {
            assert_eq!(still_stands(&step), None, "{step:?}");
        }
    }
}
