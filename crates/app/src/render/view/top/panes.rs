//! Panes of text: the region map, the manager, the findings.

use super::palette::Palette;
use super::state::{Places, Tab, Ui};
use super::values::{FindingLine, MapPane, Report, Shown};
use crate::render::colour::Paint;
use crate::render::text::wrap_at;
use crate::render::view::map;
use crate::render::view::status;
use hugewise_base::escape::printable;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Columns of a map beside its cells.
const PLACE: u16 = 10;
/// Most cells in a line of a map: more are hard to count.
const CELLS_MAX: u16 = 128;

/// Draws the pane that is chosen.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    shown: &Shown,
    ui: &Ui,
    area: Rect,
    palette: Palette,
    places: &mut Places,
) {
    let columns = usize::from(area.width);
    let lines = match ui.tab {
        Tab::Map => map_lines(shown, area.width),
        Tab::Manager => plain(&status::manager_pane(&shown.view)),
        _ => findings(shown, columns, palette),
    };
    let height = usize::from(area.height);
    let last = lines.len().saturating_sub(height);
    let first = ui.line.min(last);
    (places.rows, places.first) = (area, first);
    let seen: Vec<Line<'_>> = lines.into_iter().skip(first).take(height).collect();
    frame.render_widget(Paragraph::new(seen), area);
}

fn plain(text: &str) -> Vec<Line<'static>> {
    text.lines().map(|line| Line::from(line.to_owned())).collect()
}

fn map_lines(shown: &Shown, columns: u16) -> Vec<Line<'static>> {
    match &shown.map {
        MapPane::Nobody => plain("Select a process, and press Enter: its memory, cell by cell."),
        MapPane::Refused(why) => plain(&wrap_at("", &printable(why), usize::from(columns))),
        MapPane::ManagerState(seen) => {
            let width = usize::from(columns.saturating_sub(PLACE).min(CELLS_MAX)).max(1);
            let (paint, charset) = (Paint::plain(), map::Charset::Ascii);
            let style = map::Style { paint, charset, width, legend_first: true };
            plain(&map::render(seen, style))
        }
    }
}

fn findings(shown: &Shown, columns: usize, palette: Palette) -> Vec<Line<'static>> {
    match &shown.report {
        Report::None if shown.past.is_some() => plain(&wrap_at(
            "",
            "Press d: what the five minutes before this moment show is named.",
            columns,
        )),
        Report::None => plain(&wrap_at(
            "",
            "Press d: this machine is watched for 10 seconds, and what burns its CPU time in the \
             kernel, makes it wait or wastes its memory is named.",
            columns,
        )),
        Report::Running(seconds) => plain(&format!("Watching this machine, {seconds} s more.")),
        Report::Failed(why) => plain(&wrap_at("", &printable(why), columns)),
        Report::Done { time, findings } if findings.is_empty() => {
            let again = if shown.past.is_some() { "" } else { " d watches again." };
            plain(&format!("Nothing was found at {time}.{again}"))
        }
        Report::Done { time, findings } => {
            let mut lines = plain(&format!("Found at {time}; 'hugewise diagnose' says all."));
            for finding in findings {
                lines.push(Line::default());
                lines.extend(finding_lines(finding, columns, palette));
            }
            lines
        }
    }
}

fn finding_lines(told: &FindingLine, columns: usize, palette: Palette) -> Vec<Line<'static>> {
    let style = match told.severity.as_str() {
        "critical" => palette.bad(),
        "warning" => palette.warn(),
        _ => Style::new(),
    };
    let mut lines = Vec::new();
    let mut add = |first: &str, text: &str, style: Style| {
        let wrapped = wrap_at(first, &printable(text), columns);
        lines.extend(wrapped.lines().map(|line| Line::styled(line.to_owned(), style)));
    };
    let severity = format!("{:<9}", told.severity.to_uppercase());
    add(&severity, &told.title, style);
    for evidence in &told.evidence {
        add("         ", evidence, Style::new());
    }
    if let Some(remedy) = &told.remedy {
        add("      -> ", remedy, Style::new());
    }
    lines
}
