//! The loop of a running manager, until it is asked to stop.

use crate::sink::FileSink;
use hugewise_base::units::{Ns, ProcId};
use hugewise_console::say::note;
use hugewise_linux::root::Root;
use hugewise_manager::config::Config;
use hugewise_manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_manager::record::Record;

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
                    say_what_needs_a_restart(manager.config(), &config);
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

/// Mode, owned settings and the journal are fixed at the start.
fn say_what_needs_a_restart(old: &Config, new: &Config) {
    if needs_a_restart(old, new) {
        note(
            "changes of mode, settings, journal, promote.allow_under_never, promote.mixed_nodes, \
             controller.warm_cpu_percent and watermark.fmfi_high take effect at the next start",
        );
    }
}

fn needs_a_restart(old: &Config, new: &Config) -> bool {
    let never = old.promote.allow_under_never != new.promote.allow_under_never
        || old.promote.mixed_nodes != new.promote.mixed_nodes;
    let warm = old.controller.warm_cpu_percent != new.controller.warm_cpu_percent
        || old.watermark.fmfi_high != new.watermark.fmfi_high;
    let fixed = old.mode != new.mode || old.settings != new.settings || old.journal != new.journal;
    fixed || never || warm
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

    #[test]
    fn what_the_actuator_was_built_with_needs_a_restart() {
        let old = Config::default();
        let changed = |change: fn(&mut Config)| {
            let mut new = old.clone();
            change(&mut new);
            needs_a_restart(&old, &new)
        };
        let fixed: [fn(&mut Config); 7] = [
            |new| new.mode = Mode::Observe,
            |new| new.settings.guard_parks_khugepaged = !new.settings.guard_parks_khugepaged,
            |new| new.journal.max_bytes.0 += 1,
            |new| new.watermark.fmfi_high /= 2.0,
            |new| new.controller.warm_cpu_percent /= 2.0,
            |new| new.promote.mixed_nodes = !new.promote.mixed_nodes,
            |new| new.promote.allow_under_never = !new.promote.allow_under_never,
        ];
        assert_eq!(fixed.map(changed), [true; 7]);
        assert!(!changed(|new| new.promote.bloat_budget_percent /= 2.0));
    }
}
