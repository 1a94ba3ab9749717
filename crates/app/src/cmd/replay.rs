//! `hugewise replay`.

use crate::cli::{Global, ReplayArgs};
use crate::{config, exit};
use anyhow::Context;
use hugewise_core::config::Mode;
use hugewise_core::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_core::policy::select::Selection;
use hugewise_core::record::Record;
use hugewise_core::replay::{Event, Replay};
use hugewise_core::units::Ns;
use std::io::BufRead;

/// A replay writes nothing down.
struct Forget;

impl Sink for Forget {
    fn record(&mut self, _at: Ns, _record: &Record) {}
    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ReplayArgs) -> anyhow::Result<u8> {
    let config = config::load(args.config.as_deref(), &args.set)?.config;
    let events = read(&args.file)?;
    let pids = events.iter().filter_map(|event| match event {
        Event::Observed { ask, .. } => Some(ask.targets.iter().copied()),
        Event::Began { .. } | Event::Acted { .. } => None,
    });
    // Only processes that were managed then have scans in the recording.
    let named = Some(pids.flatten().collect());
    let mut world = Replay::new(events);
    let now = world.now();
    let mut manager = Manager::new(config, Mode::Ingens, Selection { named }, now);
    let mut ticks = 0u64;
    while tick(&mut world, &mut manager, &mut Forget) == TickEnd::Done {
        ticks += 1;
    }
    let comparison = world.comparison();
    if global.json {
        println!("{}", serde_json::json!({ "schema": 1, "ticks": ticks, "decisions": comparison }));
    } else {
        println!(
            "{ticks} ticks replayed. Decisions: {} as recorded, {} new, {} missing.",
            comparison.same, comparison.new, comparison.missing
        );
    }
    Ok(exit::OK)
}

fn read(path: &std::path::Path) -> anyhow::Result<Vec<Event>> {
    let file = std::fs::File::open(path)
        .with_context(|| format!("cannot open the recording '{}'", path.display()))?;
    let mut events = Vec::new();
    for (number, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read '{}'", path.display()))?;
        match serde_json::from_str(&line) {
            Ok(event) => events.push(event),
            Err(error) => anyhow::bail!(
                "'{}' line {}: not a recording of 'hugewise manage --record': {error}",
                path.display(),
                number + 1
            ),
        }
    }
    anyhow::ensure!(!events.is_empty(), "'{}' is empty: nothing to replay", path.display());
    Ok(events)
}
