//! `hugewise advise place`: how much of a program would be huge that does not run yet.

use crate::cli::{AdvisePlaceArgs, Global};
use crate::cmd::programs::configuration;
use crate::exit::{self, coded};
use crate::output::{Output, paint};
use crate::render::view::advise::place::{self, View};
use hugewise_base::units::Bytes;
use hugewise_linux::machine;
use hugewise_linux::room::{Rooms, rooms};
use hugewise_linux::root::Root;
use hugewise_manager::room::{Room, forecast, whole};

/// Runs the command.
pub(super) fn run(global: &Global, args: &AdvisePlaceArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let geometry = machine::geometry(&root);
    let mut missing = Vec::new();
    let config = configuration(&root, &mut missing);
    let Rooms { nodes, missing: files } = rooms(&root, geometry);
    if nodes.is_empty() {
        let why = "/proc/buddyinfo says nothing of free memory: is that a root with /proc?";
        return Err(coded(exit::ERROR, why));
    }
    let place = place_in(&nodes, args.node)?;
    missing.extend(files.into_iter().map(|file| format!("/{file}: see 'hugewise doctor'")));
    let size = Bytes(args.size.bytes());
    let of = |room: &Room| forecast(size, room, &config.watermark, geometry);
    let several = args.node.is_none() && nodes.len() > 1;
    let view = View {
        size,
        guarantee: args.guarantee,
        forecast: of(&place),
        nodes: nodes.iter().filter(|_| several).map(of).collect(),
        missing,
    };
    let code = match () {
        () if view.forecast.percent < args.guarantee => exit::WARNING,
        () if !view.missing.is_empty() => exit::PARTIAL,
        () => exit::OK,
    };
    if global.json {
        return Output::json(&place::json(&view), code);
    }
    Ok(Output::text(place::text(&view, paint(global)), code))
}

/// Where it would lie: on this node, or anywhere.
fn place_in(nodes: &[Room], node: Option<u32>) -> anyhow::Result<Room> {
    let Some(node) = node else { return Ok(whole(nodes)) };
    nodes.iter().find(|room| room.node == Some(node)).copied().ok_or_else(|| {
        let known = nodes.iter().filter_map(|room| room.node).map(|node| node.to_string());
        let known = known.collect::<Vec<_>>().join(", ");
        coded(exit::USAGE, format!("--node {node}: no such NUMA node here ({known})"))
    })
}
