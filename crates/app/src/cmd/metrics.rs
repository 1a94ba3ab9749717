//! `hugewise serve --once`.

use super::machine::machine;
use super::programs::ask_manager;
use crate::cli::{Global, ServeArgs};
use crate::cmd::scan;
use crate::exit;
use crate::output::{Asked, Output};
use crate::render::exposition::{self, Form};
use crate::render::view::metrics::{MetricsInput, SizeCounter, metrics};
use crate::render::view::status::ManagerState;
use crate::render::view::status::values::Machine;
use crate::say::note;
use hugewise_base::parse;
use hugewise_base::units::Bytes;
use hugewise_collect::hugetlb::pools::texts;
use hugewise_evidence::hugetlb::pools::from_files;
use hugewise_linux::probe;
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use hugewise_manager::engine::World;
use hugewise_manager::ownership::THP_DIR;
use hugewise_manager::snapshot::Ask;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ServeArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    // It takes no capability to ask: only the user counts.
    if probe::privileges(&root).uid != Some(0) {
        scan::say_what_root_adds(&root, "serve --once", "asks a running manager");
    }
    // With '--json' it is that which goes to standard output.
    let standard = args.output.as_os_str() == "-";
    let asked =
        (!standard || !global.json).then(|| Asked::begin(&args.output, global)).transpose()?;
    let mut missing = Vec::new();
    let metrics = metrics(&facts(&root, args, &mut missing));
    missing.iter().for_each(|what| note(&format!("not known: {what}")));
    let code = if missing.is_empty() { exit::OK } else { exit::PARTIAL };
    let form = if args.openmetrics { Form::OpenMetrics } else { Form::Prometheus };
    let text = asked.map(|asked| asked.finish(exposition::text(&metrics, form))).transpose()?;
    if global.json {
        return Output::json(&exposition::json(&metrics), code);
    }
    Ok(Output::text(text.flatten().unwrap_or_default(), code))
}

fn facts(root: &Root, args: &ServeArgs, missing: &mut Vec<String>) -> MetricsInput {
    let seen = Live::observer(root.clone()).observe(&Ask { machine: true, ..Ask::default() });
    let sample = seen.machine.as_ref();
    let machine = sample.map(|m| machine(root, m, None)).unwrap_or_default();
    let manager = ask_manager(root, &args.daemon, &args.state_dir, missing);
    with_files(root, machine, manager, args.top)
}

/// The same of a machine and a manager that are known, with what only metrics tell.
pub(super) fn with_files(
    root: &Root,
    machine: Machine,
    manager: ManagerState,
    top: usize,
) -> MetricsInput {
    let memory = root.read_text("proc/meminfo").map(|text| parse::meminfo::parse(&text).value);
    MetricsInput {
        machine,
        page_tables: memory.ok().and_then(|memory| memory.page_tables_bytes).map(Bytes),
        sizes: sizes(root),
        pools: from_files(texts(root).iter().map(|(path, text)| (path.as_str(), text.as_str()))),
        manager,
        top,
    }
}

/// Counters of each size of transparent huge pages (Linux 6.10 and later have some).
fn sizes(root: &Root) -> Vec<SizeCounter> {
    let mut all = Vec::new();
    for folder in root.names(THP_DIR, true) {
        let Some(size) = folder.strip_prefix("hugepages-") else { continue };
        let stats = format!("{THP_DIR}/{folder}/stats");
        for name in root.names(&stats, false) {
            let line = root.read_line(format!("{stats}/{name}")).ok();
            if let Some(value) = line.and_then(|line| line.parse().ok()) {
                all.push(SizeCounter { size: size.to_owned(), name, value });
            }
        }
    }
    all
}
