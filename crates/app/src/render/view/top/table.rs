//! Processes, or cgroups with their processes, as a table.

use super::palette::Palette;
use super::state::{Places, Row, Tab, Ui};
use super::values::Shown;
use crate::render::number::short;
use crate::render::text::{fit, left, right};
use crate::render::view::status::fields::{self, Field, Kind, TARGET};
use crate::render::view::status::fields_in;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_manager::status::{CgroupStatus, TargetStatus};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Fields that a wide screen has room for.
const WIDE: [&str; 5] = ["rss", "huge", "coverage_percent", "partially_mapped", "promoted"];
/// The reason, which comes last and takes what is left, has at least so many columns.
const WHY: usize = 25;

/// Draws the table with its headings.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    shown: &Shown,
    ui: &Ui,
    area: Rect,
    palette: Palette,
    places: &mut Places,
) {
    let columns = columns(usize::from(area.width));
    let head = Rect { height: 1.min(area.height), ..area };
    let body = Rect { y: area.y + head.height, height: area.height - head.height, ..area };
    frame.render_widget(Paragraph::new(headings(&columns, ui, head, places)), head);
    let rows = ui.rows(shown);
    let height = usize::from(body.height).max(1);
    let selected = ui.selected(&rows);
    let last = rows.len().saturating_sub(height);
    let first = ui.places.first.clamp((selected + 1).saturating_sub(height), selected).min(last);
    places.rows = body;
    places.first = first;
    if rows.is_empty() {
        frame.render_widget(Paragraph::new(nobody(shown, ui)).style(palette.dim()), body);
        return;
    }
    let lines = rows.iter().enumerate().skip(first).take(height).map(|(at, row)| match row {
        Row::Group(group) => group_line(group, body.width),
        Row::Process(process) => process_line(process, &columns, at == selected, ui, palette),
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
}

/// The fields that fit, with their widths; the last one takes the rest.
fn columns(width: usize) -> Vec<(&'static Field<TargetStatus>, usize)> {
    let mut all: Vec<_> =
        fields_in(width).into_iter().map(|field| (field, field.columns)).collect();
    let used = |all: &[(&Field<TargetStatus>, usize)]| {
        all.iter().map(|(_, columns)| columns + 1).sum::<usize>()
    };
    for field in WIDE.iter().filter_map(|key| TARGET.iter().find(|field| field.key == *key)) {
        if used(&all) + field.width() < width {
            all.insert(all.len() - 1, (field, field.width()));
        }
    }
    let rest = width.saturating_sub(used(&all));
    if let Some((_, columns)) = all.last_mut() {
        *columns = (*columns + rest).max(WHY);
    }
    all
}

fn headings(
    columns: &[(&'static Field<TargetStatus>, usize)],
    ui: &Ui,
    area: Rect,
    places: &mut Places,
) -> Line<'static> {
    let mut spans = Vec::new();
    let mut x = area.x;
    for (field, columns) in columns {
        let name = match (field.key, ui.tab) {
            ("name", Tab::Groups) => "CGROUP, NAME",
            _ => field.heading,
        };
        let sorted = ui.sort == field.key;
        let mark = if ui.descending { "v" } else { "^" };
        let name = if sorted { format!("{name}{mark}") } else { name.to_owned() };
        let width = u16::try_from(*columns).unwrap_or(u16::MAX);
        places.headings.push((Rect::new(x, area.y, width, 1).intersection(area), field.key));
        x = x.saturating_add(width.saturating_add(1));
        let style = if sorted { Palette::selected() } else { Palette::bold() };
        spans.push(Span::styled(cell(field, &name, *columns), style));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

fn cell(field: &Field<TargetStatus>, text: &str, columns: usize) -> String {
    match field.kind {
        Kind::Text => left(text, columns),
        _ => right(text, columns),
    }
}

fn process_line(
    process: &TargetStatus,
    columns: &[(&'static Field<TargetStatus>, usize)],
    selected: bool,
    ui: &Ui,
    palette: Palette,
) -> Line<'static> {
    let indent = ui.tab == Tab::Groups;
    let mut spans = Vec::new();
    for (field, columns) in columns {
        let value = field.short(process);
        let value = if indent && field.key == "name" { format!(" {value}") } else { value };
        let style = if selected { Style::new() } else { style(field, process, palette) };
        spans.push(Span::styled(cell(field, &value, *columns), style));
        spans.push(Span::raw(" "));
    }
    let line = Line::from(spans);
    if selected { line.style(Palette::selected()) } else { line }
}

fn style(field: &Field<TargetStatus>, process: &TargetStatus, palette: Palette) -> Style {
    match field.key {
        "huge_percent" if fields::huge_percent(process) >= Some(90.0) => palette.good(),
        "known_bloat" if fields::known_bloat(process) > Some(Bytes(0)) => palette.warn(),
        "why" if process.refused.is_some() => palette.bad(),
        "why" => palette.dim(),
        _ => Style::new(),
    }
}

fn group_line(group: &CgroupStatus, columns: u16) -> Line<'static> {
    let huge = match group.anon {
        Bytes(0) => "?".to_owned(),
        anon => format!("{:.0}%", (100.0 * group.huge.0 as f64 / anon.0 as f64).min(100.0)),
    };
    let limit = group.memory.as_ref().map_or_else(String::new, |memory| {
        format!(", {} of its limit {}", short(memory.usage), short(memory.limit))
    });
    let short_of = if group.pressure.is_some() { ", SHORT OF MEMORY" } else { "" };
    let rest = format!(
        ": {}, {}, huge {huge}{limit}{short_of}",
        counted(group.processes, "process", "processes"),
        short(group.anon)
    );
    let name = group.belongs_to.as_deref().unwrap_or(&group.cgroup);
    let room = usize::from(columns).saturating_sub(rest.chars().count());
    let name = fit(&printable(name), room.max(12));
    Line::from(Span::styled(format!("{name}{rest}"), Palette::bold()))
}

/// Said where there is no row.
fn nobody(shown: &Shown, ui: &Ui) -> String {
    if !ui.filter.is_empty() {
        return format!(" No process or cgroup has '{}' in its name.", ui.filter);
    }
    match (ui.tab, shown.own) {
        (Tab::Groups, _) if !shown.view.processes.is_empty() => {
            " No process is in a cgroup of its own.".to_owned()
        }
        (_, true) => " No process has enough anonymous memory to matter.".to_owned(),
        (_, false) => " The manager has no processes to look after.".to_owned(),
    }
}
