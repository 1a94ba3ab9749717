//! The machine in a few lines.

use super::palette::Palette;
use super::values::{CpuSplit, PastAt, Shown};
use crate::render::number::{percent, short};
use crate::render::text::{fit, width};
use crate::render::view::status::values::{Machine, ManagerState};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_manager::snapshot::ThpMode;
use hugewise_manager::status::ManagerStatus;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// FMFI from which on most free memory is of no use for huge pages, and from which on nearly all.
const FRAGMENTED: (f64, f64) = (0.5, 0.9);
/// CPU in the kernel, percent, at which the number is coloured (`kernel_high_percent` of
/// `diagnose`).
const KERNEL_HIGH: f64 = 30.0;

/// The lines.
pub(super) fn lines(shown: &Shown, columns: u16, palette: Palette) -> Vec<Line<'static>> {
    let machine = &shown.view.machine;
    let mut lines = vec![
        title(shown, columns),
        cpu(shown, columns, palette),
        memory(machine, columns, palette),
        rates(machine, columns, palette),
        manager(shown, columns, palette),
    ];
    if let Some(at) = &shown.past {
        lines.insert(1, past(at, columns, palette));
    }
    lines
}

/// Which of the recorded moments it is.
fn past(past: &PastAt, columns: u16, palette: Palette) -> Line<'static> {
    let playing = if past.playing { "playing" } else { "recorded" };
    let place = format!("{playing} sample {} of {}", past.number, past.count);
    let (said, style) = match &past.problem {
        Some(problem) => (printable(problem), palette.bad()),
        None => (format!("{place}, {} to {} UTC", past.first, past.last), palette.warn()),
    };
    line("History", columns, vec![(said, style)])
}

fn title(shown: &Shown, columns: u16) -> Line<'static> {
    let left = format!("hugewise top  {}", printable(&shown.host));
    let room = usize::from(columns).saturating_sub(width(&left));
    let right = format!("{:>room$}", shown.time);
    Line::from(vec![Span::styled(left, Palette::bold()), Span::raw(right)])
}

/// A label, and pairs of a name and a value.
/// What does not fit whole into `columns` behind the first part is left out, and `~` says so: half
/// a number is another number.
fn line(label: &str, columns: u16, parts: Vec<(String, Style)>) -> Line<'static> {
    let label = format!("{label:<8}");
    let mut room = usize::from(columns).saturating_sub(width(&label));
    let mut spans = vec![Span::styled(label, Palette::bold())];
    let mut parts = parts.into_iter();
    if let Some((text, style)) = parts.next() {
        let text = fit(&text, room);
        room = room.saturating_sub(width(&text));
        spans.push(Span::styled(text, style));
    }
    for (text, style) in parts {
        let wide = width(&text) + 2;
        // Room for the sign stays.
        if wide + 2 > room {
            spans.push(Span::raw(" ~"));
            break;
        }
        room -= wide;
        spans.push(Span::raw("  "));
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

fn cpu(shown: &Shown, columns: u16, palette: Palette) -> Line<'static> {
    let plain = Style::new();
    let label = shown.cpus.map_or("CPU".to_owned(), |cpus| counted(cpus as u64, "CPU", "CPUs"));
    let Some(CpuSplit { user, system, interrupts, iowait, steal, idle }) = shown.cpu else {
        return line(&label, columns, vec![("?".to_owned(), plain)]);
    };
    let high = |value: f64, limit: f64| if value >= limit { palette.bad() } else { plain };
    let parts = vec![
        (format!("user {user:.0}%"), plain),
        (format!("system {system:.0}%"), high(system + interrupts, KERNEL_HIGH)),
        (format!("interrupts {interrupts:.0}%"), plain),
        (format!("iowait {iowait:.0}%"), high(iowait, KERNEL_HIGH)),
        (format!("steal {steal:.0}%"), high(steal, 10.0)),
        (format!("idle {idle:.0}%"), plain),
    ];
    line(&label, columns, parts)
}

fn known(bytes: Option<Bytes>) -> String {
    bytes.map_or("?".to_owned(), short)
}

fn memory(machine: &Machine, columns: u16, palette: Palette) -> Line<'static> {
    let plain = Style::new();
    let huge = machine.huge_percent().map_or("?".to_owned(), percent);
    let stalls = machine.psi_some_avg10;
    let said = stalls.map_or("?".to_owned(), |stalls| format!("{stalls:.1}%"));
    let style = if stalls.is_some_and(|stalls| stalls >= 1.0) { palette.bad() } else { plain };
    let fmfi = machine.fmfi.map_or("?".to_owned(), |fmfi| format!("{fmfi:.2}"));
    let fragmented = match machine.fmfi {
        Some(fmfi) if fmfi >= FRAGMENTED.1 => palette.bad(),
        Some(fmfi) if fmfi >= FRAGMENTED.0 => palette.warn(),
        _ => plain,
    };
    line(
        "Memory",
        columns,
        vec![
            (known(machine.mem_total), plain),
            (format!("available {}", known(machine.mem_available)), plain),
            (format!("anonymous {}", known(machine.anon)), plain),
            (format!("huge {huge}"), palette.good()),
            (format!("stalls {said}"), style),
            (format!("FMFI {fmfi}"), fragmented),
        ],
    )
}

/// What happens in a second.
fn rates(machine: &Machine, columns: u16, palette: Palette) -> Line<'static> {
    let plain = Style::new();
    let seconds = machine.watched.map(|watched| watched.as_s()).filter(|seconds| *seconds > 0.0);
    let rate = |name: &str| {
        let counter = machine.counters.iter().find(|counter| counter.name == name)?;
        Some(counter.delta? as f64 / seconds?)
    };
    let said = |name: &str| rate(name).map_or("?".to_owned(), |rate| format!("{rate:.0}/s"));
    let stalls = match rate("compact_stall") {
        Some(rate) if rate > 0.0 => palette.bad(),
        _ => plain,
    };
    let blocks = machine.free_huge.map_or("?".to_owned(), |blocks| blocks.to_string());
    let mode = machine.thp.map_or("?", ThpMode::name);
    line(
        "THP",
        columns,
        vec![
            (mode.to_owned(), plain),
            (format!("free blocks {blocks}"), plain),
            (format!("faults {}", said("thp_fault_alloc")), plain),
            (format!("made {}", said("thp_collapse_alloc")), plain),
            (format!("split {}", said("thp_split_page")), plain),
            (format!("stalls {}", said("compact_stall")), stalls),
        ],
    )
}

/// In a line, what to do where no manager runs.
const NONE: &str = "none: 'hugewise manage --dry-run --once' shows what one would do";

fn manager(shown: &Shown, columns: u16, palette: Palette) -> Line<'static> {
    let plain = Style::new();
    let (text, style) = match &shown.view.manager {
        ManagerState::Running(manager) => running(manager, palette),
        ManagerState::Absent { left } if !left.is_empty() => {
            let text = "none; one that was killed left settings: 'hugewise revert'".to_owned();
            (text, palette.bad())
        }
        ManagerState::Absent { .. } => (NONE.to_owned(), plain),
        ManagerState::Elsewhere { role, holder } => (role.sentence(holder), plain),
        ManagerState::Unknown => ("unknown".to_owned(), palette.warn()),
    };
    line("Manager", columns, vec![(text, style)])
}

fn running(manager: &ManagerStatus, palette: Palette) -> (String, Style) {
    let mode = printable(&manager.mode);
    if manager.paused {
        return (format!("{mode}, paused: 'hugewise manage resume' lets it go on"), palette.warn());
    }
    let made = counted(manager.promoted, "region", "regions");
    let made = format!("{mode}, made {made} huge, split {}", manager.demoted);
    if let Some(gate) = manager.gate {
        return (format!("{made}; waits: {}", gate.key()), palette.warn());
    }
    let rate = manager.rate_bytes_per_s.filter(|rate| *rate > Bytes(0));
    let rate = rate.map_or_else(String::new, |rate| format!(", {}/s now", short(rate)));
    (format!("{made}{rate}"), palette.good())
}
