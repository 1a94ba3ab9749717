//! A running manager: settings, world, loop, journal, status; and everything put back at the end.

use crate::control::{Desk, Server};
use crate::journal::Journal;
use crate::made::Keeper;
use crate::render::number;
use crate::say::{Progress, note};
use crate::service::Service;
use anyhow::Context;
use hugewise_base::count::counted;
use hugewise_base::units::{Ns, ProcId};
use hugewise_linux::actuator::ActuatorConfig;
use hugewise_linux::root::Root;
use hugewise_linux::signals;
use hugewise_linux::track;
use hugewise_linux::trail::{self, Restored, Trail};
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::engine::{Manager, Sink, TickEnd, Wake, World, tick};
use hugewise_manager::ownership;
use hugewise_manager::record::Record;
use hugewise_manager::status;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Writes records to the journal, and the state for who asks through the control socket.
pub(crate) struct FileSink {
    /// The journal.
    pub(crate) journal: Journal,
    /// Where the control socket's status is put.
    pub(crate) desk: Arc<Desk>,
    /// `--dry-run`.
    pub(crate) dry_run: bool,
    /// Renewed after each tick.
    pub(crate) progress: Progress,
    /// Where nobody watches that line, it is said from time to time.
    pub(crate) lines: Option<Lines>,
    /// What the next manager has to know, where this one acts.
    pub(crate) made: Option<Keeper>,
    /// Told after each tick.
    pub(crate) service: Service,
    /// Kernel settings, as far as this manager changes some.
    pub(crate) settings: Settings,
}

impl Sink for FileSink {
    fn record(&mut self, _at: Ns, record: &Record) {
        self.journal.write(record);
    }

    fn tick_done(&mut self, at: Ns, manager: &Manager) {
        self.service.alive();
        self.settings.follow(manager, &mut self.journal);
        self.journal.flush();
        if let Some(made) = &mut self.made {
            made.keep(at, manager.state());
        }
        if self.progress.is_watched() {
            self.progress.show(&line(manager, at));
        } else if let Some(lines) = &mut self.lines {
            lines.say(at, || line(manager, at));
        }
    }

    fn shown(&mut self, at: Ns, manager: &Manager) {
        if let Ok(json) = serde_json::to_string(&status::manager(manager, self.dry_run, at)) {
            self.desk.put(json);
        }
    }
}

/// What the manager does, for a log: ten seconds after its start, then after twice as long each
/// time, at most an hour, and only where it is something new.
#[derive(Debug)]
pub(crate) struct Lines {
    next: Ns,
    pause: Ns,
    last: String,
}

impl Lines {
    const FIRST: Ns = Ns::s(10);
    const LONGEST: Ns = Ns::s(3600);

    pub(crate) fn new(now: Ns) -> Self {
        Self { next: now + Self::FIRST, pause: Self::FIRST, last: String::new() }
    }

    fn say(&mut self, now: Ns, line: impl FnOnce() -> String) {
        if now < self.next {
            return;
        }
        self.pause = Ns(self.pause.0 * 2).min(Self::LONGEST);
        self.next = now + self.pause;
        let line = line();
        if line != self.last {
            note(&line);
            self.last = line;
        }
    }
}

/// Kernel settings that this manager changed; dropping it puts them back, also on a panic.
pub(crate) struct OwnedSettings {
    trail: Trail,
    restored: bool,
}

impl OwnedSettings {
    /// Opens the trail, puts back what a crashed manager left, and reports that.
    pub(crate) fn open(
        root: &Root,
        state_dir: &Path,
        journal: &mut Journal,
    ) -> anyhow::Result<Self> {
        let trail = Trail::open(root.clone(), state_dir, ownership::OWNER)?;
        let mut settings = Self { trail, restored: false };
        if !settings.trail.entries().is_empty() {
            note("an earlier manager did not end properly: its settings go back");
            settings.put_back(journal);
            settings.restored = false;
        }
        Ok(settings)
    }

    /// Writes what the mode owns.
    pub(crate) fn take(
        &mut self,
        wanted: &[ownership::WantedSetting],
        journal: &mut Journal,
    ) -> anyhow::Result<()> {
        for want in wanted {
            if let Some(from) = self.trail.set(&want.file, &want.value)? {
                journal.write(&Record::Setting {
                    file: want.file.clone(),
                    from,
                    to: Some(want.value.clone()),
                    why: want.why.into(),
                });
            }
        }
        journal.flush();
        Ok(())
    }

    /// How many settings are changed now.
    pub(crate) fn changed(&self) -> usize {
        self.trail.entries().len()
    }

    /// Puts everything back, and says so in the journal. Returns what could not be put back.
    pub(crate) fn put_back(&mut self, journal: &mut Journal) -> Vec<Restored> {
        let done = self.trail.restore();
        self.restored = true;
        Self::told(done, journal)
    }

    /// The same of one setting; the others stay.
    pub(crate) fn put_back_file(&mut self, file: &str, journal: &mut Journal) -> Vec<Restored> {
        let done = self.trail.restore_file(file);
        Self::told(done, journal)
    }

    fn told(done: Vec<Restored>, journal: &mut Journal) -> Vec<Restored> {
        for step in &done {
            if let Some(record) = restored_record(step) {
                journal.write(&record);
            }
        }
        journal.flush();
        done.into_iter()
            .filter(|step| matches!(step, Restored::Failed { .. } | Restored::Foreign { .. }))
            .collect()
    }
}

/// Kernel settings of a running manager, and one that comes and goes with shortage of memory.
pub(crate) struct Settings {
    /// Those that are changed; `None` where nothing may be, as in a dry run.
    pub(crate) owned: Option<OwnedSettings>,
    /// `--keep-settings`: none is, at any time.
    pub(crate) kept: bool,
    /// What was written because memory is short, or would have been.
    short: Option<ownership::WantedSetting>,
}

impl Settings {
    pub(crate) const fn new(owned: Option<OwnedSettings>, kept: bool) -> Self {
        Self { owned, kept, short: None }
    }

    /// Writes what the mode wants while memory is short, and puts it back afterwards.
    fn follow(&mut self, manager: &Manager, journal: &mut Journal) {
        let short = !self.kept && manager.state().pressure().on_machine().is_some();
        let wanted = ownership::while_short(manager.config(), manager.mode());
        match (short, self.short.take(), wanted) {
            (true, None, Some(want)) => self.begin(want, journal),
            (true, Some(written), Some(_)) => self.short = Some(written),
            (_, Some(written), _) => {
                if let Some(owned) = &mut self.owned {
                    owned.put_back_file(&written.file, journal);
                }
            }
            (_, None, _) => {}
        }
    }

    fn begin(&mut self, want: ownership::WantedSetting, journal: &mut Journal) {
        match &mut self.owned {
            None => rehearse_settings(std::slice::from_ref(&want), journal),
            Some(owned) => {
                if let Err(error) = owned.take(std::slice::from_ref(&want), journal) {
                    note(&format!("{}: {error:#}", want.why));
                }
            }
        }
        // Not tried again as long as memory is short, whatever came of it.
        self.short = Some(want);
    }
}

/// Gives DAMON back where a crashed manager left it running.
pub(crate) fn give_damon_back(
    root: &Root,
    state_dir: &Path,
    journal: &mut Journal,
) -> anyhow::Result<()> {
    let done = trail::revert(root, state_dir, &[(track::OWNER, "")], false)?;
    done.iter().filter_map(restored_record).for_each(|record| journal.write(&record));
    Ok(())
}

/// Says in the journal what a mode would write, where nothing may be written.
pub(crate) fn rehearse_settings(wanted: &[ownership::WantedSetting], journal: &mut Journal) {
    for want in wanted {
        journal.write(&Record::Setting {
            file: want.file.clone(),
            from: String::new(),
            to: None,
            why: format!("withheld: would be '{}': {}", want.value, want.why),
        });
    }
}

impl Drop for OwnedSettings {
    fn drop(&mut self) {
        if !self.restored {
            self.trail.restore();
        }
    }
}

fn restored_record(step: &Restored) -> Option<Record> {
    let (file, from, to, why) = match step {
        Restored::PutBack { file, from, to } => (file, from.clone(), Some(to.clone()), "put back"),
        Restored::Foreign { file, found, .. } => {
            (file, found.clone(), None, "changed by somebody else: left alone")
        }
        Restored::Failed { file, error } => (file, error.clone(), None, "could not be put back"),
        Restored::EarlierBoot { file } => (file, String::new(), None, "of an earlier boot"),
        // Pools and limits of cgroups are of other trails.
        Restored::Unchanged { .. } | Restored::InUse { .. } | Restored::Gone { .. } => return None,
    };
    Some(Record::Setting { file: file.clone(), from, to, why: why.into() })
}

/// When the loop ends by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until {
    /// Nothing is left to do.
    pub(crate) done: bool,
    /// This time on the world's clock.
    pub(crate) end: Option<Ns>,
}

/// Runs the loop until it is asked to stop, and says why and when it ended.
pub(crate) fn run(
    world: &mut impl World,
    manager: &mut Manager,
    sink: &mut FileSink,
    until: Until,
    reload: &dyn Fn() -> anyhow::Result<Config>,
) -> (&'static str, Ns) {
    let why = run_until(world, manager, sink, until, reload);
    let end = world.now();
    if let Some(record) = manager.end(world, end) {
        sink.record(end, &record);
    }
    (why, end)
}

fn run_until(
    world: &mut impl World,
    manager: &mut Manager,
    sink: &mut FileSink,
    until: Until,
    reload: &dyn Fn() -> anyhow::Result<Config>,
) -> &'static str {
    loop {
        match tick(world, manager, sink) {
            TickEnd::Stop => return "told to stop",
            TickEnd::Reload => {
                let loaded = reload();
                let error = loaded.as_ref().err().map(|error| format!("{error:#}"));
                if let Some(error) = &error {
                    note(&format!("the old configuration stays in force: {error}"));
                }
                if let Ok(config) = loaded {
                    if needs_a_restart(manager.config(), &config) {
                        note(NEEDS_A_RESTART);
                    }
                    manager.reload(config, world.now());
                }
                sink.record(world.now(), &Record::Reload { error });
            }
            TickEnd::Done => {}
        }
        if named_all_gone(manager) {
            return "all named processes ended";
        }
        if until.done && manager.state().listed() && !manager.busy(world.now()) {
            return "nothing is left to do";
        }
        if until.end.is_some_and(|end| world.now() >= end) {
            return "the time is over";
        }
    }
}

/// What the manager does, in a line.
fn line(manager: &Manager, now: Ns) -> String {
    let (state, waiting) = (manager.state(), manager.plan().waiting());
    let rate = state.rate().per_s(now).map_or(String::new(), |rate| {
        let mib = rate * state.geometry().huge.0 as f64 / f64::from(1 << 20);
        format!(" at {mib:.0} MiB/s")
    });
    let left = state.rate().left_s(waiting, now);
    let left = left.map_or(String::new(), |s| format!(", {} left", number::wait(s)));
    let limit = manager.limits().values().next();
    let limit = limit.map_or(String::new(), |l| format!(", held back by {}", l.config_key()));
    format!(
        "{}, {} promoted{rate}, {waiting} waiting{left}{limit}",
        counted(state.targets().len(), "process", "processes"),
        counted(state.totals().promoted, "region", "regions")
    )
}

/// Said where a running manager cannot take over all that is new.
const NEEDS_A_RESTART: &str = "changes of mode, settings, journal, promote.allow_under_never, \
    promote.mixed_nodes, controller.warm_cpu_percent and watermark.fmfi_high take effect at the \
    next start";

fn needs_a_restart(old: &Config, new: &Config) -> bool {
    let fixed = |of: &Config| (of.mode, of.settings.clone(), of.journal.clone());
    fixed(old) != fixed(new) || actuator_config(old) != actuator_config(new)
}

/// What an actuator is built from.
pub(crate) fn actuator_config(config: &Config) -> ActuatorConfig {
    ActuatorConfig {
        allow_under_never: config.promote.allow_under_never,
        mixed_nodes: config.promote.mixed_nodes,
        fmfi_high: config.watermark.fmfi_high,
        warm_cpu_percent: config.controller.warm_cpu_percent,
    }
}

/// Whether every process named by `--pid` has ended.
fn named_all_gone(manager: &Manager) -> bool {
    let Some(named) = &manager.selection().named else { return false };
    let alive = |id: &ProcId| {
        let stat = hugewise_linux::process::stat(&Root::live(), id.pid);
        stat.is_some_and(|stat| stat.starttime == id.start_ticks)
    };
    manager.state().targets().is_empty() && !named.iter().any(alive)
}

/// Turns signals into events, so that none which can be handled ends the manager before its
/// settings are back; from then on a further one does nothing. Left as they are: those that mean a
/// fault of the program itself (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP), and Ctrl-Z.
pub(crate) fn listen_to_signals(events: Sender<Wake>) -> anyhow::Result<()> {
    use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};
    signals::survive_harmless().context("cannot handle signals")?;
    // Who runs it in a terminal wants it to end with that, unless it was told to ignore it (nohup);
    // a daemon has none, and reads its configuration again.
    let outlives = !signals::has_terminal() || signals::is_ignored(SIGHUP);
    let hangup = if outlives { Wake::Reload } else { Wake::Stop };
    // SIGABRT comes from a watchdog; SIGXCPU, some time before SIGKILL, from a limit of CPU time.
    let handled = [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGABRT, SIGXCPU];
    let mut signals = signal_hook::iterator::Signals::new(handled)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let wake = if signal == SIGHUP { hangup } else { Wake::Stop };
            if events.send(wake).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}

/// The control socket, where it can be had: a manager without one still works. `expected`: that
/// was said already.
pub(crate) fn control_server(
    run_dir: &Path,
    desk: Arc<Desk>,
    events: Sender<Wake>,
    expected: bool,
) -> Option<Server> {
    match Server::start(run_dir, desk, events) {
        Ok(server) => Some(server),
        Err(_) if expected => None,
        Err(error) => {
            note(&format!("no status, pause and resume: {error:#}"));
            None
        }
    }
}

/// Effective mode: the command line's, else the configuration's.
pub(crate) fn mode(arg: Option<crate::cli::ModeArg>, config: &Config) -> Mode {
    match arg {
        Some(crate::cli::ModeArg::Ingens) => Mode::Ingens,
        Some(crate::cli::ModeArg::Guard) => Mode::Guard,
        Some(crate::cli::ModeArg::Observe) => Mode::Observe,
        None => config.mode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The configuration with one number, size or switch changed, and that key; each in turn.
    fn changed() -> Vec<(String, Config)> {
        let old = serde_json::to_value(Config::default()).expect("plain data");
        let mut all = Vec::new();
        for (section, values) in old.as_object().expect("sections") {
            for (key, value) in values.as_object().into_iter().flatten() {
                let other = match (value.as_bool(), value.as_f64()) {
                    (Some(switch), _) => serde_json::json!(!switch),
                    (_, Some(number)) if value.is_f64() => serde_json::json!(number + 1.0),
                    (_, Some(_)) => serde_json::json!(value.as_u64().unwrap_or(0) + 1),
                    _ => continue,
                };
                let mut new = old.clone();
                new[section][key] = other;
                let new = serde_json::from_value(new).expect("a configuration");
                all.push((format!("{section}.{key}"), new));
            }
        }
        all
    }

    #[test]
    fn what_the_actuator_was_built_with_needs_a_restart_and_is_named() {
        let (old, changed) = (Config::default(), changed());
        assert!(changed.len() > 40, "only {} keys", changed.len());
        for (key, new) in changed {
            assert_ne!(new, old, "{key}");
            let (section, _) = key.split_once('.').expect("a key of a section");
            let whole = ["settings", "journal"].contains(&section);
            let is_named = whole || NEEDS_A_RESTART.contains(&key);
            assert_eq!(needs_a_restart(&old, &new), is_named, "{key}");
        }
        let observing = Config { mode: Mode::Observe, ..old.clone() };
        assert!(needs_a_restart(&old, &observing));
    }
}
