//! `hugewise manage replay`.

use crate::cli::{Global, ReplayArgs};
use crate::config::{self, Loaded, Origin};
use crate::exit;
use crate::output::Output;
use crate::say::note;
use anyhow::Context;
use hugewise_base::units::Ns;
use hugewise_manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_manager::record::Record;
use hugewise_manager::replay::{Event, Replay, check};
use hugewise_manager::select::Selection;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Largest recording that is replayed: all of it is held in memory.
const RECORDING_BYTES_MAX: u64 = 1 << 30;

/// Longest line: an observation, with all processes or many regions.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// What every input should have been.
const WANTED: &str = "not a recording of 'hugewise manage --record'";

/// A replay writes nothing down.
struct Forget;

impl Sink for Forget {
    fn record(&mut self, _at: Ns, _record: &Record) {}
    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ReplayArgs) -> anyhow::Result<Output> {
    let Loaded { config, origins, .. } = config::load(args.config.as_deref(), &args.set)?;
    let Recording { events, torn } = read(&args.file)?;
    let pids = events.iter().filter_map(|event| match event {
        Event::Observed { ask, .. } => Some(ask.targets.iter().copied()),
        Event::Began { .. } | Event::Paused { .. } | Event::Acted { .. } => None,
    });
    // Only processes that were managed then have scans in the recording.
    let named = Some(pids.flatten().collect());
    let mut world = Replay::new(events);
    let now = world.now();
    let recorded = world.mode().unwrap_or_default();
    let mode = match origins.get("mode") {
        None | Some(Origin::Default) => recorded,
        Some(_) => config.mode,
    };
    let config = config.in_force(world.once());
    let mut manager = Manager::new(config, mode, Selection { named }, now);
    let mut ticks = 0u64;
    while tick(&mut world, &mut manager, &mut Forget) == TickEnd::Done {
        ticks += 1;
    }
    let comparison = world.comparison();
    let code = if torn { exit::PARTIAL } else { exit::OK };
    if torn {
        note("the recording is cut in its last line: replayed up to there");
    }
    if global.json {
        let json = serde_json::json!({
            "schema": 1, "ticks": ticks, "decisions": comparison, "partial": torn,
        });
        return Output::json(&json, code);
    }
    let text = format!(
        "{ticks} ticks replayed. Decisions: {} as recorded, {} new, {} missing.\n",
        comparison.same, comparison.new, comparison.missing
    );
    Ok(Output::text(text, code))
}

/// What a file holds.
struct Recording {
    events: Vec<Event>,
    /// Its last line is not whole: the manager was killed, or the disk was full.
    torn: bool,
}

fn read(path: &Path) -> anyhow::Result<Recording> {
    let file = File::open(path)
        .with_context(|| format!("cannot open the recording '{}'", path.display()))?;
    let mut lines = BufReader::new(file.take(RECORDING_BYTES_MAX + 1));
    let (mut events, mut line, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut torn = false;
    loop {
        line.clear();
        let place = || format!("'{}' line {}", path.display(), events.len() + 1);
        let read = (&mut lines).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
        let read = read.with_context(|| format!("cannot read {}", place()))? as u64;
        if read == 0 {
            break;
        }
        bytes += read;
        anyhow::ensure!(
            bytes <= RECORDING_BYTES_MAX,
            "'{}' is larger than {} MiB: replay a part of it, from its first line on",
            path.display(),
            RECORDING_BYTES_MAX >> 20
        );
        anyhow::ensure!(
            read <= LINE_BYTES_MAX,
            "{} is longer than {} MiB: {WANTED}",
            place(),
            LINE_BYTES_MAX >> 20
        );
        match serde_json::from_slice(&line) {
            Ok(event) => events.push(event),
            Err(error) if error.is_eof() && !events.is_empty() && !line.ends_with(b"\n") => {
                torn = true;
            }
            Err(error) => anyhow::bail!("{}: {WANTED}: {error}", place()),
        }
    }
    anyhow::ensure!(!events.is_empty(), "'{}' is empty: nothing to replay", path.display());
    check(&events).map_err(|(number, why)| {
        anyhow::anyhow!("'{}' line {number}: {WANTED}, or it was changed: {why}", path.display())
    })?;
    Ok(Recording { events, torn })
}
