//! One run of a manager: what is checked, claimed and changed before the loop, and put back after
//! it.

use crate::admission::{able_to, lock, named_processes, no_experiment, wanted_settings};
use crate::control::{self, Desk};
use crate::earlier::Keeper;
use crate::journal::{JOURNAL, Journal};
use crate::options::Options;
use crate::privileges::{is_root, say_what_root_adds};
use crate::recording::RecordFile;
use crate::running::{self, Until};
use crate::service::Service;
use crate::settings::{self, OwnedSettings, Settings};
use crate::sink::{FileSink, Lines};
use crate::summary::{self, Ending, Rehearsal, SettingChange};
use crate::{abandoned, signals};
use anyhow::Context;
use hugewise_base::count::counted;
use hugewise_base::owner::STATE_DIR;
use hugewise_base::units::{Ns, ProcId};
use hugewise_console::exit;
use hugewise_console::say::{Progress, note};
use hugewise_linux::actuator::{ActuatorConfig, Reach};
use hugewise_linux::instance::{InstanceLock, Role};
use hugewise_linux::probe::{self, Abilities};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{self, Restored, make_dir};
use hugewise_linux::world::Live;
use hugewise_linux::{machine, priority};
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::engine::{Manager, Sink, Wake, World};
use hugewise_manager::guarantee::{self, Guarantee};
use hugewise_manager::ownership::{self, WantedSetting};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::record::{self, Record};
use hugewise_manager::replay::Recorder;
use hugewise_manager::select::Selection;
use hugewise_manager::status::{self, ManagerStatus, TargetStatus};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, mpsc};

/// How a manager ended.
#[derive(Debug)]
pub struct Ended {
    /// Its last state.
    pub status: ManagerStatus,
    /// What became of the guarantee that was asked for.
    pub guarantee: Option<Guarantee>,
    /// What was done, for people.
    pub summary: String,
    /// The exit code.
    pub code: u8,
}

/// What is known before anything is touched.
struct Start {
    root: Root,
    config: Config,
    mode: Mode,
    named: Option<BTreeSet<ProcId>>,
    able: Abilities,
    /// It acts, and no other manager may: neither `observe` nor a dry run. Those change nothing, so
    /// they may be anybody's, and run beside anybody.
    alone: bool,
}

impl Start {
    fn check(root: Root, options: &Options) -> anyhow::Result<Self> {
        let config = options.load_at_start(&root)?;
        let mode = options.mode.unwrap_or(config.mode);
        let named = named_processes(&root, &options.pids)?;
        // Refused before anything is touched; what is wanted is asked again once a crashed
        // manager's settings are back.
        let able = able_to(mode, &root, &config, options.probe)?;
        if mode == Mode::Guard && !config.demote.sample {
            note(GUARD_IS_BLIND);
        }
        let alone = mode != Mode::Observe && !options.dry_run;
        Ok(Self { root, config, mode, named, able, alone })
    }

    /// The lock of the one manager. No experiment begins between the check for one and this.
    fn claim(&self, options: &Options) -> anyhow::Result<Option<InstanceLock>> {
        if !self.alone {
            return Ok(None);
        }
        let outside = !options.in_experiment;
        let no_experiment = outside.then(|| no_experiment(&self.root, options)).transpose()?;
        let held = lock(&self.root, options, Role::Manager)?;
        drop(no_experiment);
        Ok(Some(held))
    }

    /// Settings that are owned from now on: of who really acts and has the lock. The trail of
    /// anybody else may be a living manager's.
    fn take_settings(
        &self,
        options: &Options,
        journal: &mut Journal,
    ) -> anyhow::Result<Option<OwnedSettings>> {
        let open = || OwnedSettings::open(&self.root, &options.state_dir, journal);
        let mut settings = self.alone.then(open).transpose()?;
        if self.alone {
            settings::give_damon_back(&self.root, &options.state_dir, journal)?;
        }
        if !options.keep_settings {
            let wanted = wanted_settings(&self.root, &self.config, self.mode)?;
            own(&self.root, &wanted, settings.as_mut(), journal)?;
        }
        Ok(settings)
    }
}

/// Runs a manager to its end.
///
/// # Errors
/// What keeps it from starting, with its exit code; nothing is left changed then.
pub fn run(options: &Options) -> anyhow::Result<Ended> {
    let root = Root::at(&options.root);
    if !root.is_live() {
        return Err(exit::coded(
            exit::USAGE,
            "manage acts on the running machine only; leave out '--root', or use 'manage replay'",
        ));
    }
    let start = Start::check(root, options)?;
    let _lock = start.claim(options)?;
    let record = options.record.as_deref().map(RecordFile::begin).transpose()?;
    // From here on signals are events: settings that were changed are always put back.
    let (send, events) = mpsc::channel();
    signals::listen(send.clone())?;
    if !start.alone {
        say_what_is_missing(&start.root, options);
    }
    let mut journal = journal(options, &start.config, start.alone)?;
    journal.write(&start_record(&start.root, options, start.mode));
    let settings = start.take_settings(options, &mut journal)?;
    if let Some(settings) = settings.as_ref().filter(|_| !options.quiet) {
        note(&begins(start.mode, options, settings));
    }
    managed(start, options, (send, events), record, journal, settings)
}

/// The loop, with everything around it in place; then the way back.
fn managed(
    start: Start,
    options: &Options,
    (send, events): (mpsc::Sender<Wake>, mpsc::Receiver<Wake>),
    record: Option<RecordFile>,
    journal: Journal,
    settings: Option<OwnedSettings>,
) -> anyhow::Result<Ended> {
    let Start { root, config, mode, named, able, alone } = start;
    let desk = Arc::new(Desk::default());
    let _server = control::server(&options.run_dir, desk.clone(), send, !alone && !is_root());
    let (earlier, made) = match alone {
        true => {
            let (keeper, made) = Keeper::open(&root, &options.state_dir, Ns(0));
            (Some(keeper), made)
        }
        false => (None, Vec::new()),
    };
    let actuator = (mode != Mode::Observe).then(|| actuator(&config, options.dry_run));
    if actuator.is_some() {
        priority::before_others();
    }
    let switch = machine::thp_files(&root, machine::geometry(&root)).effective();
    let world = Live::new(root, actuator, events).knowing(able.frees_zeros);
    let mut world = world.tracking(&options.state_dir);
    let now = world.now();
    let mut manager = Manager::new(config, mode, Selection { named }, now);
    manager.remember(made);
    let progress = Progress::new(!options.quiet);
    let lines = (!options.quiet && !progress.is_watched()).then(|| Lines::new(now));
    let mut sink = FileSink {
        journal,
        desk,
        dry_run: options.dry_run,
        progress,
        lines,
        earlier,
        service: Service::from_environment(),
        settings: Settings::new(settings, options.keep_settings, switch.map(|(_, file)| file)),
    };
    let covered = options.guarantee;
    let until =
        Until { done: options.once, covered, end: options.length.map(|length| now + length) };
    let load = || options.load();
    let (why, end) = match &record {
        None => running::run(&mut world, &mut manager, &mut sink, until, &load),
        Some(record) => {
            let mut world = Recorder::new(world, options.once, mode, record.writer());
            running::run(&mut world, &mut manager, &mut sink, until, &load)
        }
    };
    manager.refresh(end);
    let mut ended = finish(&manager, sink, why, options, end);
    if let Some(why) = record.and_then(|record| record.end()) {
        note(&format!("the recording is cut short: {why}"));
        ended.code = exit::ERROR;
    }
    Ok(ended)
}

/// Puts the settings back, closes the journal, says what was done.
fn finish(manager: &Manager, mut sink: FileSink, why: &str, options: &Options, end: Ns) -> Ended {
    sink.service.ends();
    let not_restored = match sink.settings.owned.take() {
        Some(mut settings) => settings.put_back(&mut sink.journal),
        None => Vec::new(),
    };
    let totals = manager.state().totals().clone();
    if let Some(earlier) = &mut sink.earlier {
        earlier.write(manager.state());
    }
    sink.record(end, &Record::Stop { why: why.into(), totals });
    sink.journal.flush();
    sink.progress.show("");
    for step in &not_restored {
        note(&format!("not put back: {step}"));
    }
    if sink.journal.lost() > 0 {
        note(&format!("{} journal lines were lost", sink.journal.lost()));
    }
    let status = status::manager(manager, sink.dry_run, end);
    let failed = not_restored.iter().any(|step| matches!(step, Restored::Failed { .. }));
    let denied = |target: &TargetStatus| target.refused == Some(SkipReason::NoPermission);
    let blind = !status.targets.is_empty() && status.targets.iter().all(denied);
    if blind {
        let text = "it has no permission to read any of these programs, so it decided nothing";
        note(&format!("{text}: run it with sudo"));
    }
    let guarantee = options.guarantee.map(|percent| {
        let memory = guarantee::memory(manager).unwrap_or_default();
        Guarantee::of(percent, &memory, &status)
    });
    let missed = guarantee.is_some_and(|guarantee| !guarantee.reached);
    let code = if failed || blind || missed { exit::PARTIAL } else { exit::OK };
    let rehearsal = (sink.dry_run || manager.mode() == Mode::Observe).then(|| Rehearsal {
        settings: (manager.mode() != Mode::Observe)
            .then(|| rehearsed(manager, options, &sink.settings)),
        lock_share_percent: manager.config().controller.lock_share_percent,
    });
    let ending = Ending {
        why,
        once: options.once,
        guarantee: guarantee.as_ref(),
        rehearsal,
        geometry: machine::geometry(&Root::at(&options.root)),
    };
    let summary = summary::text(&status, &ending);
    Ended { summary, status, guarantee, code }
}

/// The settings that a run that changes nothing would have changed: at its start, and later because
/// of the state of memory.
fn rehearsed(manager: &Manager, options: &Options, settings: &Settings) -> Vec<SettingChange> {
    let root = Root::at(&options.root);
    let mut wanted = match options.keep_settings {
        true => Vec::new(),
        false => wanted_settings(&root, manager.config(), manager.mode()).unwrap_or_default(),
    };
    wanted.extend_from_slice(settings.withheld());
    let mut changes = Vec::new();
    for WantedSetting { file, value: to, why } in wanted {
        if let Ok(from) = trail::value(&root, &file)
            && from != to
        {
            changes.push(SettingChange { file, from, to, why });
        }
    }
    changes
}

/// What begins, what is changed meanwhile, and how it ends.
fn begins(mode: Mode, options: &Options, settings: &OwnedSettings) -> String {
    let changed = settings.changed();
    let kept = match changed {
        0 => String::new(),
        _ => {
            let changed = counted(changed, "setting", "settings");
            format!("; old values of {changed} are in {}", options.state_dir.display())
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
        settings::rehearse(wanted, journal);
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

fn actuator(config: &Config, dry_run: bool) -> (Reach, ActuatorConfig) {
    let reach = if dry_run { Reach::Rehearse } else { Reach::Act };
    (reach, running::actuator_config(config))
}

/// Said when `guard` starts without leave to read.
const GUARD_IS_BLIND: &str = "guard: how much is used of huge pages that programs make \
    themselves is unknown without 'demote.sample = true': those are left alone, and 'hugewise \
    status' says how much memory that is";

/// What somebody who only looks should know: what root adds, and what was left changed.
fn say_what_is_missing(root: &Root, options: &Options) {
    say_what_root_adds(root, "manage", ROOT_ADDS);
    abandoned::say(root, &options.state_dir);
}

/// What `observe` and a dry run have of root.
const ROOT_ADDS: &str = "sees programs of other users, keeps its journal in /var/lib/hugewise and \
    answers 'hugewise status'; meanwhile give --journal FILE and --run-dir DIR for those";

/// The journal; none for who does nothing, where the usual place is root's.
fn journal(options: &Options, config: &Config, alone: bool) -> anyhow::Result<Journal> {
    let max_bytes = config.journal.max_bytes.0;
    if let Some(path) = &options.journal {
        return Journal::open(path, max_bytes);
    }
    let made = make_dir(&options.state_dir).with_context(|| {
        format!("cannot create '{}'; give another with '--state-dir'", options.state_dir.display())
    });
    let open = || Journal::open(&options.state_dir.join(JOURNAL), max_bytes);
    match made.and_then(|()| open()) {
        Err(_) if !alone && !is_root() && options.state_dir == Path::new(STATE_DIR) => {
            Ok(Journal::absent())
        }
        journal => journal,
    }
}

fn start_record(root: &Root, options: &Options, mode: Mode) -> Record {
    Record::Start {
        schema: record::SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        mode,
        dry_run: options.dry_run,
        kernel: machine::kernel_release(root).unwrap_or_default(),
        boot_id: machine::boot_id(root),
        pids: (!options.pids.is_empty()).then(|| options.pids.clone()),
    }
}
