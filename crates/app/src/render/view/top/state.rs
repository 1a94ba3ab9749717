//! What the user of `top` has chosen, and what keys and clicks change of it.

use super::values::Shown;
use crate::render::view::status::choose::{Order, Test};
use crate::render::view::status::fields::TARGET;
use hugewise_manager::status::{CgroupStatus, TargetStatus};
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::{Position, Rect};

/// Rows that a turn of the mouse wheel passes.
const WHEEL: usize = 3;
/// Longest filter.
const FILTER_MAX: usize = 64;

/// A pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    /// The processes.
    Processes,
    /// cgroups, each with its processes.
    Groups,
    /// The region map of one process.
    Map,
    /// What the manager does.
    Manager,
    /// What a diagnosis found.
    Findings,
}

impl Tab {
    /// All of them, by their number keys.
    pub(crate) const ALL: [Self; 5] =
        [Self::Processes, Self::Groups, Self::Map, Self::Manager, Self::Findings];

    /// Its title.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Processes => "Processes",
            Self::Groups => "cgroups",
            Self::Map => "Map",
            Self::Manager => "Manager",
            Self::Findings => "Findings",
        }
    }

    fn number(self) -> usize {
        Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }
}

/// What a key asks for beyond the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing.
    None,
    /// The end.
    Quit,
    /// The map of this process.
    Map(u32),
    /// A diagnosis.
    Diagnose,
    /// So many recorded samples further.
    Samples(i64),
    /// So many seconds further.
    Seconds(i64),
    /// The moment of [`Ui::time`].
    Jump,
    /// One moment after the other, or no more.
    Play,
}

/// Where letters go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typing {
    /// To the filter.
    Filter,
    /// To the time of a moment.
    Time,
}

/// Where things are on the screen, for the mouse.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// The tabs.
    pub(crate) tabs: Vec<(Rect, usize)>,
    /// Headings of the table, with the keys of their fields.
    pub(crate) headings: Vec<(Rect, &'static str)>,
    /// The rows.
    pub(crate) rows: Rect,
    /// The first row that is seen.
    pub(crate) first: usize,
}

/// The user's choices.
#[derive(Debug, Clone)]
pub(crate) struct Ui {
    /// The pane.
    pub(crate) tab: Tab,
    /// The selected process.
    pub(crate) pid: Option<u32>,
    /// The first line of a pane of text that is seen.
    pub(crate) line: usize,
    /// The field by which processes are sorted.
    pub(crate) sort: &'static str,
    /// The largest first.
    pub(crate) descending: bool,
    /// Only processes whose name, id or cgroup has it, or for which it holds as a test.
    pub(crate) filter: String,
    /// The time of a recorded moment, as far as it is typed.
    pub(crate) time: String,
    /// Where letters go; `None`: they are keys.
    pub(crate) typing: Option<Typing>,
    /// The help is shown.
    pub(crate) help: bool,
    /// The screen stands still.
    pub(crate) still: bool,
    /// Where things are.
    pub(crate) places: Places,
}

impl Default for Ui {
    fn default() -> Self {
        Self {
            tab: Tab::Processes,
            pid: None,
            line: 0,
            sort: "anon",
            descending: true,
            filter: String::new(),
            time: String::new(),
            typing: None,
            help: false,
            still: false,
            places: Places::default(),
        }
    }
}

/// A row of the pane of cgroups.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Row<'a> {
    /// A cgroup.
    Group(&'a CgroupStatus),
    /// A process.
    Process(&'a TargetStatus),
}

impl Row<'_> {
    const fn pid(&self) -> Option<u32> {
        match self {
            Self::Process(process) => Some(process.pid),
            Self::Group(_) => None,
        }
    }
}

impl Ui {
    /// The processes that pass the filter, in order.
    pub(crate) fn processes<'a>(&self, shown: &'a Shown) -> Vec<&'a TargetStatus> {
        let mut all: Vec<_> =
            shown.view.processes.iter().filter(|process| self.passes(process)).collect();
        if let Some(field) = TARGET.iter().find(|field| field.key == self.sort) {
            let order = Order { field, descending: self.descending };
            all.sort_by(|a, b| order.compare(a, b));
        }
        all
    }

    /// The same as a tree: each cgroup, and below it its processes.
    pub(crate) fn rows<'a>(&self, shown: &'a Shown) -> Vec<Row<'a>> {
        let processes = self.processes(shown);
        if self.tab != Tab::Groups {
            return processes.into_iter().map(Row::Process).collect();
        }
        let mut groups: Vec<&CgroupStatus> = shown.groups.iter().collect();
        groups.sort_by(|a, b| b.anon.cmp(&a.anon).then(a.cgroup.cmp(&b.cgroup)));
        let mut rows = Vec::new();
        for group in groups {
            let own = processes.iter().filter(|p| p.cgroup.as_ref() == Some(&group.cgroup));
            let own: Vec<Row<'_>> = own.map(|process| Row::Process(process)).collect();
            if !own.is_empty() || self.filter.is_empty() {
                rows.push(Row::Group(group));
                rows.extend(own);
            }
        }
        rows
    }

    fn passes(&self, process: &TargetStatus) -> bool {
        if let Ok(test) = Test::parse(&self.filter) {
            return test.holds(process);
        }
        let has = |text: &str| text.to_lowercase().contains(&self.filter.to_lowercase());
        let of = [process.cgroup.as_deref(), process.belongs_to.as_deref()];
        self.filter.is_empty()
            || has(&process.name)
            || process.pid.to_string() == self.filter
            || of.into_iter().flatten().any(has)
    }

    /// The row of the selected process; the first where it is none of them.
    pub(crate) fn selected(&self, rows: &[Row<'_>]) -> usize {
        let at = rows.iter().position(|row| row.pid().is_some() && row.pid() == self.pid);
        at.or_else(|| rows.iter().position(|row| row.pid().is_some())).unwrap_or(0)
    }

    /// A key was pressed.
    pub(crate) fn key(&mut self, key: KeyEvent, shown: &Shown) -> Wish {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Wish::Quit;
        }
        if let Some(typing) = self.typing {
            return self.typed(typing, key.code);
        }
        if self.help {
            self.help = false;
            return Wish::None;
        }
        if let Some(wish) = shown.past.as_ref().and_then(|_| self.gone(key.code)) {
            return wish;
        }
        match key.code {
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.help = true,
            KeyCode::Char(number @ '1'..='5') => {
                self.go(usize::from(number as u8 - b'1'));
            }
            KeyCode::Tab => self.go(self.tab.number() + 1),
            KeyCode::BackTab => self.go(self.tab.number() + Tab::ALL.len() - 1),
            KeyCode::Char(' ') => self.still = !self.still,
            KeyCode::Char('/') => self.typing = Some(Typing::Filter),
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('r') => self.descending = !self.descending,
            KeyCode::Char('>') => self.sort_by_next(1),
            KeyCode::Char('<') => self.sort_by_next(TARGET.len() - 1),
            KeyCode::Char('d') => {
                self.go(Tab::Findings.number());
                return Wish::Diagnose;
            }
            KeyCode::Enter => return self.map(shown),
            other => self.moved(other, shown),
        }
        Wish::None
    }

    /// What a key means among recorded moments.
    fn gone(&mut self, key: KeyCode) -> Option<Wish> {
        Some(match key {
            KeyCode::Left => Wish::Samples(-1),
            KeyCode::Right => Wish::Samples(1),
            KeyCode::Char('[') => Wish::Seconds(-60),
            KeyCode::Char(']') => Wish::Seconds(60),
            KeyCode::Char('{') => Wish::Seconds(-3600),
            KeyCode::Char('}') => Wish::Seconds(3600),
            KeyCode::Char(' ') => Wish::Play,
            KeyCode::Char('t') => {
                self.time.clear();
                self.typing = Some(Typing::Time);
                Wish::None
            }
            _ => return None,
        })
    }

    fn typed(&mut self, typing: Typing, key: KeyCode) -> Wish {
        let text = match typing {
            Typing::Filter => &mut self.filter,
            Typing::Time => &mut self.time,
        };
        match key {
            KeyCode::Enter | KeyCode::Esc => {
                self.typing = None;
                if key == KeyCode::Esc {
                    text.clear();
                } else if typing == Typing::Time {
                    return Wish::Jump;
                }
            }
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char(letter) if text.len() < FILTER_MAX => text.push(letter),
            _ => {}
        }
        Wish::None
    }

    fn go(&mut self, number: usize) {
        self.tab = Tab::ALL[number % Tab::ALL.len()];
        self.line = 0;
    }

    /// The map of the selected process, also once more.
    fn map(&mut self, shown: &Shown) -> Wish {
        let rows = self.rows(shown);
        let selected = rows.get(self.selected(&rows)).and_then(Row::pid);
        let pid = if self.tab == Tab::Map { self.pid.or(selected) } else { selected };
        let Some(pid) = pid else { return Wish::None };
        self.pid = Some(pid);
        self.go(Tab::Map.number());
        Wish::Map(pid)
    }

    fn sort_by_next(&mut self, by: usize) {
        let at = TARGET.iter().position(|field| field.key == self.sort).unwrap_or(0);
        self.sort = TARGET[(at + by) % TARGET.len()].key;
    }

    fn moved(&mut self, key: KeyCode, shown: &Shown) {
        let page = usize::from(self.places.rows.height).max(1);
        match key {
            KeyCode::Up | KeyCode::Char('k') => self.up(1, shown),
            KeyCode::Down | KeyCode::Char('j') => self.down(1, shown),
            KeyCode::PageUp => self.up(page, shown),
            KeyCode::PageDown => self.down(page, shown),
            KeyCode::Home | KeyCode::Char('g') => self.up(usize::MAX, shown),
            KeyCode::End | KeyCode::Char('G') => self.down(usize::MAX, shown),
            _ => {}
        }
    }

    const fn has_rows(&self) -> bool {
        matches!(self.tab, Tab::Processes | Tab::Groups)
    }

    fn up(&mut self, by: usize, shown: &Shown) {
        if !self.has_rows() {
            self.line = self.line.saturating_sub(by);
            return;
        }
        let rows = self.rows(shown);
        let above = rows[..self.selected(&rows).min(rows.len())].iter().rev();
        let mut above = above.filter_map(Row::pid);
        let last = above.clone().next_back();
        self.pid = above.nth(by.saturating_sub(1)).or(last).or(self.pid);
    }

    fn down(&mut self, by: usize, shown: &Shown) {
        if !self.has_rows() {
            // Drawing stops it at the end.
            self.line = self.line.saturating_add(by);
            return;
        }
        let rows = self.rows(shown);
        let below = rows.iter().skip(self.selected(&rows) + 1).filter_map(Row::pid);
        let last = below.clone().next_back();
        let next = below.clone().nth(by.saturating_sub(1));
        self.pid = next.or(last).or_else(|| rows.get(self.selected(&rows))?.pid());
    }

    /// A mouse button, or its wheel.
    pub(crate) fn mouse(&mut self, event: MouseEvent, shown: &Shown) {
        match event.kind {
            MouseEventKind::ScrollUp => self.up(WHEEL, shown),
            MouseEventKind::ScrollDown => self.down(WHEEL, shown),
            MouseEventKind::Down(MouseButton::Left) => {
                self.clicked(Position::new(event.column, event.row), shown);
            }
            _ => {}
        }
    }

    fn clicked(&mut self, at: Position, shown: &Shown) {
        if self.help {
            self.help = false;
            return;
        }
        let tab = self.places.tabs.iter().find(|(area, _)| area.contains(at));
        if let Some((_, number)) = tab {
            return self.go(*number);
        }
        let heading = self.places.headings.iter().find(|(area, _)| area.contains(at));
        if let Some((_, key)) = heading {
            self.descending = if self.sort == *key { !self.descending } else { true };
            self.sort = key;
            return;
        }
        if self.has_rows() && self.places.rows.contains(at) {
            let row = usize::from(at.y - self.places.rows.y) + self.places.first;
            self.pid = self.rows(shown).get(row).and_then(Row::pid).or(self.pid);
        }
    }
}
