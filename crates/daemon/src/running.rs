//! The loop of a running manager, until it is asked to stop.

use crate::sink::FileSink;
use hugewise_base::units::{Ns, ProcId};
use hugewise_console::say::note;
use hugewise_linux::actuator::ActuatorConfig;
use hugewise_linux::root::Root;
use hugewise_manager::config::Config;
use hugewise_manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_manager::guarantee;
use hugewise_manager::limits::making::Making;
use hugewise_manager::record::Record;

/// When the loop ends by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until {
    /// Nothing is left to do.
    pub(crate) done: bool,
    /// So much is huge, percent.
    pub(crate) covered: Option<f64>,
    /// This time on the world's clock.
    pub(crate) end: Option<Ns>,
}

impl Until {
    /// Whether a guarantee still has time to find blocks for what waits for nothing else.
    fn waits_for_blocks(&self, manager: &Manager) -> bool {
        self.covered.is_some() && self.end.is_some() && manager.plan().compaction.is_some()
    }
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
        if is_covered(manager, until.covered) {
            return "as much is huge as was asked for";
        }
        let busy = manager.busy(world.now()) || until.waits_for_blocks(manager);
        if until.done && manager.state().listed() && !busy {
            return "nothing is left to do";
        }
        if until.end.is_some_and(|end| world.now() >= end) {
            return "the time is over";
        }
    }
}

/// Whether so much of the programs' memory is huge.
fn is_covered(manager: &Manager, percent: Option<f64>) -> bool {
    let coverage = || guarantee::memory(manager)?.coverage_percent();
    percent.is_some_and(|percent| coverage() >= Some(percent))
}

/// Said where a running manager cannot take over all that is new.
const NEEDS_A_RESTART: &str = "changes of mode, settings, journal, promote.allow_under_never, \
    promote.mixed_nodes, promote.make_blocks, controller.warm_cpu_percent, watermark.fmfi_high and \
    watermark.mem_available_stalled_percent take effect at the next start";

fn needs_a_restart(old: &Config, new: &Config) -> bool {
    let fixed = |of: &Config| (of.mode, of.settings.clone(), of.journal.clone());
    fixed(old) != fixed(new) || actuator_config(old) != actuator_config(new)
}

/// What an actuator is built from.
pub(crate) fn actuator_config(config: &Config) -> ActuatorConfig {
    ActuatorConfig {
        allow_under_never: config.promote.allow_under_never,
        mixed_nodes: config.promote.mixed_nodes,
        making: Making::of(config),
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

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_manager::config::Mode;

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
