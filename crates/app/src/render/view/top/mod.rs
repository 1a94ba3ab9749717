//! `hugewise top` on a screen: values and choices in, cells out.

mod header;
mod palette;
mod panes;
pub(crate) mod state;
mod table;
pub(crate) mod values;

#[cfg(test)]
mod tests;

pub(crate) use palette::Palette;
use state::{Places, Tab, Typing, Ui};
use values::Shown;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

/// Smaller screens show nothing but that.
const SMALLEST: (u16, u16) = (60, 12);

/// Draws everything; where things are then.
pub(crate) fn draw(frame: &mut Frame<'_>, shown: &Shown, ui: &Ui, palette: Palette) -> Places {
    let area = frame.area();
    let mut places = Places::default();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let said = format!("top needs {} columns and {} lines", SMALLEST.0, SMALLEST.1);
        frame.render_widget(Paragraph::new(said), area);
        return places;
    }
    let lines = header::lines(shown, area.width, palette);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let [head, tabs, body, foot] = Layout::vertical([
        Constraint::Length(height),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(lines), head);
    draw_tabs(frame, ui, tabs, &mut places);
    match ui.tab {
        Tab::Processes | Tab::Groups => table::draw(frame, shown, ui, body, palette, &mut places),
        _ => panes::draw(frame, shown, ui, body, palette, &mut places),
    }
    frame.render_widget(Paragraph::new(footer(shown, ui, palette)), foot);
    if ui.help {
        draw_help(frame, area);
    }
    places
}

fn draw_tabs(frame: &mut Frame<'_>, ui: &Ui, area: Rect, places: &mut Places) {
    let mut spans = Vec::new();
    let mut x = area.x;
    for (number, tab) in Tab::ALL.into_iter().enumerate() {
        let title = format!(" {} {} ", number + 1, tab.title());
        let width = u16::try_from(title.len()).unwrap_or(0);
        places.tabs.push((Rect::new(x, area.y, width, 1).intersection(area), number));
        x = x.saturating_add(width + 1);
        let style = if tab == ui.tab { Palette::selected() } else { Palette::bold() };
        spans.push(Span::styled(title, style));
        spans.push(Span::raw(" "));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

fn footer(shown: &Shown, ui: &Ui, palette: Palette) -> Line<'static> {
    match ui.typing {
        Some(Typing::Filter) => {
            return Line::from(format!("/{}_   Enter keeps it, Esc drops it", ui.filter));
        }
        Some(Typing::Time) => {
            let examples = "03:00, 2026-11-26 03:00:30, 10m ago; Enter jumps";
            return Line::from(format!("time: {}_   {examples}", ui.time));
        }
        None => {}
    }
    let filter = match ui.filter.as_str() {
        "" => String::new(),
        filter => format!("filter '{filter}' (Esc drops it)  "),
    };
    let still = if ui.still { "STANDS STILL (space)  " } else { "" };
    let keys = match shown.past {
        None => "? help  / filter  < > sort  r reverse  Enter map  d diagnose  q quit",
        Some(_) => "? help  Left, Right, [ ] { } step  t jump  space play  d diagnose  q quit",
    };
    Line::from(vec![
        Span::styled(format!("{still}{filter}"), palette.warn()),
        Span::styled(keys, palette.dim()),
    ])
}

/// Every key.
const HELP: [&str; 19] = [
    "1 to 5, Tab    the panes",
    "Up, Down, j k  select a process, or scroll",
    "PgUp, PgDn     a page",
    "Home, End      the first, the last",
    "< and >        sort by another column",
    "r              sort the other way round",
    "/              filter: name, pid, cgroup, anon>1GiB",
    "Esc            drop the filter",
    "Enter          map of the process; again: a new one",
    "d              watch for 10 s, and diagnose",
    "space          stand still, go on",
    "q, Ctrl-C      end",
    "",
    "In a history: Left, Right a sample, [ ] a minute,",
    "{ } an hour; t jumps to a time, space plays.",
    "",
    "A click selects a row, a pane or a column;",
    "the wheel scrolls. With Shift, the terminal",
    "selects text as usual.",
];

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let (width, height) = (56.min(area.width), 21.min(area.height));
    let at = Rect::new((area.width - width) / 2, (area.height - height) / 2, width, height);
    let lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::from(format!(" {line}"))).collect();
    frame.render_widget(Clear, at);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" Keys ")), at);
}
