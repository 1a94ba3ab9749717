//! The first line: is all well, what is changed, what to do.

use crate::render::number;
use crate::render::view::status::manager::sentence;
use crate::render::view::status::parts::NONE_RUNS;
use crate::render::view::status::values::{ManagerState, View};
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::status::ManagerStatus;

/// One sentence or two.
pub(crate) fn summary(view: &View) -> String {
    let rest = if view.missing.is_empty() {
        ""
    } else {
        " Some of it could not be read: see PARTIAL below."
    };
    let first = match &view.manager {
        ManagerState::Running(manager) => running(manager),
        ManagerState::Absent { left } if left.is_empty() => absent(view),
        ManagerState::Absent { left } => format!(
            "No manager runs, and {} still changed by one that was killed: 'hugewise revert' \
             undoes that.",
            match left.len() {
                1 => "a setting is".to_owned(),
                n => format!("{n} settings are"),
            }
        ),
        ManagerState::Elsewhere { role, holder } => {
            let mut sentence = role.sentence(holder);
            sentence[..1].make_ascii_uppercase();
            sentence + "."
        }
        ManagerState::Unknown => "Whether a manager runs is unknown.".to_owned(),
    };
    first + rest
}

fn running(manager: &ManagerStatus) -> String {
    let mode = printable(&manager.mode);
    let dry = if manager.dry_run { " as a dry run" } else { "" };
    let served = match &manager.pids {
        None => String::new(),
        Some(pids) if pids.len() == 1 => format!(" for process {} only", pids[0]),
        Some(pids) => format!(" for {} chosen processes only", pids.len()),
    };
    let begin = format!("A manager runs in mode '{mode}'{dry}{served}");
    if manager.paused {
        return format!("{begin} and is paused: 'hugewise manage resume' lets it go on.");
    }
    if let Some(gate) = manager.gate {
        return format!("{begin} and promotes nothing now: {}.", sentence(gate));
    }
    if manager.giving_back || manager.pressure.is_some() {
        return format!("{begin} and gives memory back.");
    }
    match manager.left_s {
        Some(left) => {
            format!("{begin}; all waiting regions will be huge in about {}.", number::wait(left))
        }
        None => format!("{begin}; all is well."),
    }
}

fn absent(view: &View) -> String {
    let counts = view
        .processes
        .iter()
        .filter_map(|process| process.not_promoted.get(&SkipReason::Unmanaged).copied());
    match counts.sum::<u64>() {
        0 => "No manager runs, and none has left a setting changed.".to_owned(),
        regions => {
            let could = Bytes(regions.saturating_mul(view.geometry.huge.0));
            format!(
                "No manager runs, and none has left a setting changed. {could} of the programs \
                 below could be huge: {NONE_RUNS}."
            )
        }
    }
}
