//! `hugewise status --map`.

use crate::cli::{Global, MapArgs};
use crate::cmd::scan;
use crate::exit;
use crate::output::{Asked, Output, paint};
use crate::render::text;
use crate::render::view::map::picture;
use crate::render::view::map::space::{Cell, Map, Mapping, NotDrawn};
use crate::render::view::map::{self, Charset, Style};
use crate::render::view::status::bloat::NOT_LOOKED_FOR;
use crate::say::note;
use anyhow::Context;
use hugewise_base::units::{Addr, Geometry};
use hugewise_linux::mappings;
use hugewise_linux::root::Root;
use hugewise_linux::space_text;
use hugewise_linux::world::Live;
use hugewise_manager::engine::World;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::{Ask, ProcessSample, RegionSample, ScanEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

/// Most cells a line that nobody asked for.
const CELLS: usize = 64;
/// Columns before the cells.
const PLACE: usize = 10;

/// What a reader should know about figures of `--sample`.
const SAMPLED: &str = "samples of this process's memory were read: 32 base pages of every huge \
                       page; amounts of zeros are estimates";

/// Runs the command.
pub(crate) fn run(global: &Global, pid: u32, args: &MapArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    anyhow::ensure!(
        root.is_live(),
        "'{}' holds copies of files, which have no page tables: '--map' needs the live machine",
        global.root.display()
    );
    scan::say_what_root_adds(
        &root,
        "status --map",
        "shows programs of other users, and blocks that are held though unmapped",
    );
    let asked = args.svg.as_ref().map(|path| Asked::begin(path, global)).transpose()?;
    let map = look(&root, pid, args.sample)?;
    let code = if map.missing.is_empty() { exit::OK } else { exit::PARTIAL };
    if let Some(asked) = asked
        && let Some(picture) = asked.finish(picture::render(&map))?
    {
        return Ok(Output::text(picture, code));
    }
    if global.json {
        return Output::json(&map::json(&map), code);
    }
    if let Some(path) = &args.svg {
        note(&format!("wrote '{}'", path.display()));
        return Ok(Output::text("", code));
    }
    let fits = text::columns().saturating_sub(PLACE).min(CELLS);
    let width = args.width.unwrap_or(fits).clamp(1, 4096);
    let (paint, charset) = (paint(global), charset());
    let style = Style { paint, charset, width, legend_first: false };
    Ok(Output::text(map::render(&map, style), code))
}

/// What the locale can show: the first of these variables that is set decides (POSIX).
fn charset() -> Charset {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(|n| std::env::var(n).ok()).find(|v| !v.is_empty());
    let locale = locale.unwrap_or_default().to_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") { Charset::Utf8 } else { Charset::Ascii }
}

/// The memory of a process as it is now.
pub(super) fn look(root: &Root, pid: u32, sample: bool) -> anyhow::Result<Map> {
    let mut world = Live::observer(root.clone());
    let ask = Ask { machine: true, processes: true, ..Ask::default() };
    let seen = world.observe(&ask);
    let geometry = seen.machine.map_or(Geometry::X86_64, |machine| machine.geometry);
    let processes = seen.processes.unwrap_or_default();
    let found: BTreeSet<u32> = processes.iter().map(|p| p.id.pid).collect();
    scan::all_there(&BTreeSet::from([pid]), &found)?;
    let process = processes.into_iter().find(|p| p.id.pid == pid);
    let process = process.context("the process ended")?;
    anyhow::ensure!(
        !process.kernel_thread,
        "process {pid} is a kernel thread: it has no memory of its own to draw"
    );
    let mappings = mappings(root, pid)?;
    let mut regions = Vec::new();
    let mut refused = None;
    let open = scan::scan(&mut world, &[process.id], |report, _| {
        regions.extend_from_slice(&report.regions);
        if let ScanEnd::Refused(reason) = report.end {
            refused = Some(reason);
        }
    });
    if let Some(reason) = refused {
        anyhow::bail!("cannot look at the pages of process {pid}: {}", scan::sentence(reason));
    }
    let open = open.get(&process.id).copied();
    let unsampled = sample.then(|| scan::sample(&mut world, process.id, &mut regions));
    let mut map = picture(&process, geometry, &mappings, &regions, open);
    if let Some(unsampled) = unsampled {
        map.notes.push(SAMPLED.to_owned());
        map.missing.extend(unsampled);
    }
    Ok(map)
}

fn mappings(root: &Root, pid: u32) -> anyhow::Result<Vec<mappings::Mapping>> {
    space_text::mappings(root, pid).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => anyhow::anyhow!(
            "no permission to read the mappings of process {pid}: that needs CAP_SYS_PTRACE in \
             its user namespace (root has it there), or run it as the process's own user"
        ),
        ErrorKind::NotFound => anyhow::anyhow!("process {pid} ended while it was read"),
        _ => anyhow::anyhow!("cannot read /proc/{pid}/maps: {error}"),
    })
}

/// Puts regions into their mappings and forgets addresses. `open`: where the scan ended early.
fn picture(
    process: &ProcessSample,
    geometry: Geometry,
    mappings: &[mappings::Mapping],
    regions: &[RegionSample],
    open: Option<Addr>,
) -> Map {
    let mut drawn = Vec::new();
    let mut not_drawn: BTreeMap<Option<SkipReason>, NotDrawn> = BTreeMap::new();
    for mappings::Mapping { span, label } in mappings {
        let count = span.regions(geometry);
        let size = hugewise_base::units::Bytes(span.end.0.saturating_sub(span.start.0));
        if span.excluded.is_some() || count == 0 {
            let entry = not_drawn.entry(span.excluded).or_default();
            entry.mappings += 1;
            entry.size += size;
            continue;
        }
        let range = span.aligned(geometry);
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
            label: label.clone(),
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
    let mut notes: Vec<_> = disabled.then(|| scan::sentence(reason)).into_iter().collect();
    let mut cells = drawn.iter().flat_map(|mapping: &Mapping| &mapping.cells);
    if cells.any(|cell| cell.populated > 0 && cell.held().is_none()) {
        notes.push(NOT_LOOKED_FOR.to_owned());
    }
    let (pid, name) = (process.id.pid, process.name.clone());
    Map { pid, name, geometry, mappings: drawn, not_drawn, notes, missing }
}
