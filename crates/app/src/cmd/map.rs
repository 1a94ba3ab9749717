//! `hugewise map`.

use crate::cli::{Global, MapArgs};
use crate::cmd::look;
use crate::exit;
use crate::view::bloat::NOT_LOOKED_FOR;
use crate::view::map::{self, Charset, Style};
use crate::view::paint::Paint;
use crate::view::space::{Cell, Map, Mapping, NotDrawn};
use crate::view::svg;
use anyhow::Context;
use hugewise_core::engine::World;
use hugewise_core::reason::SkipReason;
use hugewise_core::snapshot::{Ask, ProcessSample, RegionSample, ScanEnd};
use hugewise_core::units::{Addr, Geometry};
use hugewise_linux::process;
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, IsTerminal};

/// Cells a line that fit 80 columns.
const CELLS: usize = 64;

/// What a reader should know about figures of `--sample`.
const SAMPLED: &str = "samples of this process's memory were read: 32 base pages of every huge \
                       page; amounts of zeros are estimates";

/// Runs the command.
pub(crate) fn run(global: &Global, args: &MapArgs) -> anyhow::Result<u8> {
    let root = Root::at(&global.root);
    anyhow::ensure!(
        root.is_live(),
        "'{}' is a captured tree and has no page tables: 'map' needs the live machine",
        global.root.display()
    );
    let map = look(&root, args.pid, args.sample)?;
    if let Some(path) = &args.svg {
        std::fs::write(path, svg::render(&map))
            .with_context(|| format!("cannot write '{}'", path.display()))?;
    }
    if global.json {
        look::print_json(&map::json(&map))?;
    } else if let Some(path) = &args.svg {
        eprintln!("hugewise: wrote '{}'", path.display());
    } else {
        let paint = Paint::new(global.color, std::io::stdout().is_terminal());
        let width = args.width.unwrap_or(CELLS).clamp(1, 4096);
        look::print(&map::render(&map, Style { paint, charset: charset(), width }))?;
    }
    Ok(if map.missing.is_empty() { exit::OK } else { exit::PARTIAL })
}

/// What the locale can show: the first of these variables that is set decides (POSIX).
fn charset() -> Charset {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(|n| std::env::var(n).ok()).find(|v| !v.is_empty());
    let locale = locale.unwrap_or_default().to_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") { Charset::Utf8 } else { Charset::Ascii }
}

fn look(root: &Root, pid: u32, sample: bool) -> anyhow::Result<Map> {
    let mut world = Live::observer(root.clone());
    let ask = Ask { machine: true, processes: true, ..Ask::default() };
    let seen = world.observe(&ask);
    let geometry = seen.machine.map_or(Geometry::X86_64, |machine| machine.geometry);
    let processes = seen.processes.unwrap_or_default();
    let found: BTreeSet<u32> = processes.iter().map(|p| p.id.pid).collect();
    look::all_there(&BTreeSet::from([pid]), &found)?;
    let process = processes.into_iter().find(|p| p.id.pid == pid);
    let process = process.context("the process ended")?;
    anyhow::ensure!(
        !process.kernel_thread,
        "process {pid} is a kernel thread: it has no memory of its own to draw"
    );
    let mappings = mappings(root, pid)?;
    let mut regions = Vec::new();
    let mut refused = None;
    let open = look::scan(&mut world, &[process.id], |report, _| {
        regions.extend_from_slice(&report.regions);
        if let ScanEnd::Refused(reason) = report.end {
            refused = Some(reason);
        }
    });
    if let Some(reason) = refused {
        anyhow::bail!("cannot look at the pages of process {pid}: {}", look::sentence(reason));
    }
    let open = open.get(&process.id).copied();
    let unsampled = sample.then(|| look::sample(&mut world, process.id, &mut regions));
    let mut map = picture(&process, geometry, &mappings, &regions, open);
    if let Some(unsampled) = unsampled {
        map.notes.push(SAMPLED.to_owned());
        map.missing.extend(unsampled);
    }
    Ok(map)
}

fn mappings(root: &Root, pid: u32) -> anyhow::Result<Vec<process::Mapping>> {
    process::mappings(root, pid).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => anyhow::anyhow!(
            "no permission to read the mappings of process {pid}: that needs CAP_SYS_PTRACE in \
             its user namespace (root has it there), or to be its own user"
        ),
        ErrorKind::NotFound => anyhow::anyhow!("process {pid} ended while it was looked at"),
        _ => anyhow::anyhow!("cannot read /proc/{pid}/maps: {error}"),
    })
}

/// Puts regions into their mappings and forgets addresses. `open`: where the scan ended early.
fn picture(
    process: &ProcessSample,
    geometry: Geometry,
    mappings: &[process::Mapping],
    regions: &[RegionSample],
    open: Option<Addr>,
) -> Map {
    let mut drawn = Vec::new();
    let mut not_drawn: BTreeMap<Option<SkipReason>, NotDrawn> = BTreeMap::new();
    for mapping in mappings {
        let count = mapping.regions(geometry);
        let size = hugewise_core::units::Bytes(mapping.end.0.saturating_sub(mapping.start.0));
        if mapping.excluded.is_some() || count == 0 {
            let entry = not_drawn.entry(mapping.excluded).or_default();
            entry.mappings += 1;
            entry.size += size;
            continue;
        }
        let range = mapping.aligned(geometry);
        let index = |at: u64| at.saturating_sub(range.start) / geometry.huge.0;
        let inside = regions.iter().filter(|r| range.contains(&r.at.0));
        let cells = inside.map(|region| Cell {
            index: index(region.at.0),
            populated: region.populated,
            swapped: region.swapped,
            huge: region.huge,
            shared: region.shared,
            held: region.held,
            zeros: region.zeros,
        });
        drawn.push(Mapping {
            label: mapping.label.clone(),
            size,
            regions: count,
            seen: open.map_or(count, |at| index(at.0).min(count)),
            cells: cells.collect(),
        });
    }
    let mut missing = Vec::new();
    if open.is_some() {
        missing.push("the scan took longer than 2 s and was ended; '?' was not seen".to_owned());
    }
    let disabled = process.thp_disabled == Some(true);
    let reason = SkipReason::ThpDisabledByProgram;
    let mut notes: Vec<_> = disabled.then(|| look::sentence(reason)).into_iter().collect();
    let mut cells = drawn.iter().flat_map(|mapping: &Mapping| &mapping.cells);
    if cells.any(|cell| cell.populated > 0 && cell.held().is_none()) {
        notes.push(NOT_LOOKED_FOR.to_owned());
    }
    let (pid, name) = (process.id.pid, process.name.clone());
    Map { pid, name, geometry, mappings: drawn, not_drawn, notes, missing }
}
