//! The tables of `data/listings.tsv`, and how a heading lays one out.

use std::cmp::Reverse;
use std::sync::LazyLock;

use serde::Deserialize;

use super::measure::Measure;
use crate::recording::base_page::ASSUMED_BYTES;
use crate::recording::readers::glance::bits;
use crate::recording::readers::sysstat::of_key;
use crate::recording::readers::words::{command_name, count};
use crate::recording::{Field, SourceKind, Subject};
use crate::table::{Row, table};

/// What the rows of a table are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ListingSubject {
    /// A part of the machine each: the sum of all rows is the machine's.
    Sum,
    /// A process, by its id and its command.
    Process,
    /// A program, by its name, whatever its processes.
    Program,
    /// A container or pod, as the cgroup that it is: by its name.
    Container,
    /// A machine of a cluster.
    Node,
    /// A network interface.
    Interface,
    /// A block device.
    Disk,
    /// A shared memory segment.
    Segment,
    /// What has a name of its own.
    Named,
}

/// The names that a column has in one version or another, each of some words.
type Names = Vec<Vec<&'static str>>;

/// A column that is known.
#[derive(Debug)]
struct Column {
    names: Names,
    measure: Measure,
    /// One for each value; none: it is passed over.
    fields: Vec<Field>,
}

/// A product of columns.
#[derive(Debug)]
struct Product {
    columns: Vec<Names>,
    factor: f64,
    field: Field,
}

/// What is left of a column without another one.
#[derive(Debug)]
struct Difference {
    columns: Vec<Names>,
    field: Field,
}

/// A listing of one heading and rows.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) source: SourceKind,
    kind: ListingSubject,
    /// The columns that name a row's subject: of each the first name that is there counts.
    subject: Vec<Names>,
    /// Columns that its heading has, all of them.
    marks: Vec<Names>,
    /// The letters in these.
    pub(super) letters: u128,
    columns: Vec<Column>,
    products: Vec<Product>,
    differences: Vec<Difference>,
    /// How many rows a subject has.
    rows: Option<Field>,
    /// Its usual headings, for rows that lost theirs, with the command that prints them.
    usual: Vec<(&'static str, String)>,
}

/// A column in its place.
#[derive(Clone, Copy, Debug)]
struct Cell {
    at: usize,
    measure: Measure,
    /// Which column of the table.
    column: Option<usize>,
    /// Which part of the subject's name, and by which of its names.
    subject: Option<(usize, usize)>,
}

/// Where things stand in the rows.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) table: &'static Table,
    cells: Vec<Cell>,
    /// Words of a row, and the one that more of them may follow: a command has arguments.
    width: usize,
    open: Option<usize>,
}

/// The values of a row.
pub(super) type Values = Vec<(Field, f64)>;

pub(super) static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| table!("listings.tsv").rows());

/// The tables of one section, the more particular ones first.
pub(super) static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let mut tables: Vec<Table> = Vec::new();
    for row in ROWS.iter().filter(|row| row.section == "tables") {
        match (row.fields[0], tables.last_mut()) {
            ("table", _) => tables.push(head(row)),
            ("column", Some(table)) => table.columns.push(column(row)),
            ("product", Some(table)) => table.products.push(product(row)),
            ("difference", Some(table)) => table.differences.push(difference(row)),
            ("rows", Some(table)) => {
                let [_, field] = row.fields();
                table.rows = Some(of_key(row, field));
            }
            ("usual", Some(table)) => {
                let [_, command, heading] = row.fields();
                table.usual.push((command, heading.to_owned()));
            }
            _ => row.refuse(
                "it is no table, and no column, product, difference, rows or heading of one",
            ),
        }
    }
    tables
});

/// Usual headings, laid out.
static USUAL: LazyLock<Vec<(&str, Layout)>> = LazyLock::new(|| {
    let all = TABLES.iter().flat_map(|table| table.usual.iter().map(move |usual| (table, usual)));
    let laid = all.map(|(table, (command, heading))| {
        let words: Vec<&str> = heading.split(' ').collect();
        let layout = table.layout(&words);
        (*command, layout.unwrap_or_else(|| panic!("no heading of its table: {heading}")))
    });
    laid.collect()
});

fn names(text: &'static str) -> Names {
    text.split('|').map(|name| name.split(' ').collect()).collect()
}

fn columns(text: &'static str) -> Vec<Names> {
    text.split("; ").map(names).collect()
}

/// How many words the one of these names has that stands here, and which it is; the longest one.
fn here(names: &Names, rest: &[&str]) -> Option<(usize, usize)> {
    let all = names.iter().enumerate().filter(|(_, name)| rest.starts_with(name));
    all.map(|(rank, name)| (name.len(), rank)).max()
}

/// The letters that all of these names have.
fn letters(names: &Names) -> u128 {
    let of = |name: &Vec<&str>| name.iter().fold(0, |all, word| all | bits(word));
    names.iter().map(of).fold(u128::MAX, |all, own| all & own)
}

/// The source of this label.
pub(super) fn source(row: &Row, label: &str) -> SourceKind {
    row.one_of(SourceKind::ALL, SourceKind::label, label)
}

/// The fields of their keys; `-` stands for none.
pub(super) fn fields(row: &Row, keys: &'static str) -> Vec<Option<Field>> {
    let keys = keys.split(' ');
    keys.map(|key| (key != "-").then(|| of_key(row, key))).collect()
}

fn head(row: &Row) -> Table {
    let [_, label, kind, subject, marks] = row.fields();
    let marks = columns(marks);
    Table {
        source: source(row, label),
        kind: row.word(kind),
        subject: if subject == "-" { Vec::new() } else { columns(subject) },
        letters: marks.iter().fold(0, |all, mark| all | letters(mark)),
        marks,
        columns: Vec::new(),
        products: Vec::new(),
        differences: Vec::new(),
        rows: None,
        usual: Vec::new(),
    }
}

fn column(row: &Row) -> Column {
    let [_, name, measure, keys] = row.fields();
    let fields = fields(row, keys).into_iter().flatten().collect();
    Column { names: names(name), measure: row.word(measure), fields }
}

fn product(row: &Row) -> Product {
    let [_, parts, factor, field] = row.fields();
    Product { columns: columns(parts), factor: amount(row, factor), field: of_key(row, field) }
}

/// A number, or the bytes of a base page.
fn amount(row: &Row, factor: &str) -> f64 {
    if factor == "page" { ASSUMED_BYTES } else { row.number(factor) }
}

fn difference(row: &Row) -> Difference {
    let [_, parts, field] = row.fields();
    Difference { columns: columns(parts), field: of_key(row, field) }
}

impl Table {
    /// The rows' layout, where this is the table's heading.
    pub(super) fn layout(&'static self, words: &[&str]) -> Option<Layout> {
        let words = words.strip_prefix(&["#"]).unwrap_or(words);
        let has = |mark: &Names| {
            (0..words.len()).any(|at| mark.iter().any(|name| words[at..].starts_with(name)))
        };
        if !self.marks.iter().all(has) {
            return None;
        }
        let (mut cells, mut at, mut width, mut open) = (Vec::new(), 0, 0, None);
        while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
            // A name may come again, and means the next column of that name then.
            let used = |place: usize| cells.iter().any(|cell: &Cell| cell.column == Some(place));
            let left = self.columns.iter().enumerate().filter(|(place, _)| !used(*place));
            let named = left.filter_map(|(place, one)| Some((here(&one.names, rest)?.0, place)));
            let column = named.max_by_key(|(length, place)| (*length, Reverse(*place)));
            let subject = self.slot(rest);
            let measure = column.and_then(|(_, place)| self.columns.get(place));
            let measure = measure.map_or(Measure::Word, |column| column.measure);
            let (column, subject) =
                (column, subject.map(|(length, slot, rank)| (length, (slot, rank))));
            cells.push(Cell {
                at: width,
                measure,
                column: column.map(|(_, place)| place),
                subject: subject.map(|(_, slot)| slot),
            });
            if measure == Measure::Rest {
                open = Some(width);
            }
            width += measure.width();
            let length = column.map(|(length, _)| length).or(subject.map(|(length, _)| length));
            at += length.unwrap_or(1);
        }
        let mut layout = Layout { table: self, cells, width, open };
        let name = match self.kind {
            ListingSubject::Process => layout.part(1),
            ListingSubject::Program => layout.part(0),
            _ => None,
        };
        layout.open = name.map(|cell| cell.at).filter(|_| open.is_none()).or(open);
        let named = (usize::from(self.kind == ListingSubject::Process)..self.subject.len())
            .all(|slot| layout.part(slot).is_some());
        named.then_some(layout)
    }

    /// Where one of the columns that name the subject stands here: how many words its name has,
    /// which of the columns it is, and by which name.
    fn slot(&self, rest: &[&str]) -> Option<(usize, usize, usize)> {
        let mut slots = self.subject.iter().enumerate();
        slots.find_map(|(slot, names)| here(names, rest).map(|(length, rank)| (length, slot, rank)))
    }
}

/// Least cells with their unit that a row without a heading has.
const PLAIN_MIN: usize = 2;

/// The layout of a row without a heading: of the one command that it can be of, else of the one
/// that was typed.
pub(super) fn usual(words: &[&str], command: &str) -> Option<Layout> {
    let fits = |layout: &Layout| {
        let plain = layout.cells.iter().filter(|cell| {
            layout.cut(cell, words).first().is_some_and(|word| cell.measure.is_plain(word))
        });
        words.len() >= layout.width && plain.count() >= PLAIN_MIN && layout.row(words).is_some()
    };
    let all: Vec<_> = USUAL.iter().filter(|(_, layout)| fits(layout)).collect();
    let typed = all.iter().find(|(name, _)| command.contains(name));
    let only = || if let [one] = all.as_slice() { Some(one) } else { None };
    typed.or_else(only).map(|(_, layout)| layout.clone())
}

/// The name of a program in a list that may draw a tree before it.
fn program<'a>(words: &[&'a str]) -> &'a str {
    let drawn = |word: &&&str| word.chars().all(|c| "|`-_\\".contains(c) || !c.is_ascii());
    words.iter().find(|word| !drawn(word)).map_or("", |word| {
        command_name(word.trim_start_matches(|c: char| "|`\\".contains(c) || !c.is_ascii()))
    })
}

impl Layout {
    /// The words of a cell.
    fn cut<'a, 'w>(&self, cell: &Cell, words: &'w [&'a str]) -> &'w [&'a str] {
        // What a command has more of stands before the cells behind it.
        let more = words.len().saturating_sub(self.width);
        let behind = self.open.is_some_and(|open| cell.at > open);
        let from = if behind { cell.at + more } else { cell.at };
        words.get(from..words.len().min(from + cell.measure.width())).unwrap_or_default()
    }

    /// The cell of a part of the subject's name.
    fn part(&self, part: usize) -> Option<&Cell> {
        let named = self.cells.iter().filter_map(|cell| Some((cell.subject?, cell)));
        let named = named.filter(|((slot, _), _)| *slot == part);
        named.min_by_key(|((_, rank), _)| *rank).map(|(_, cell)| cell)
    }

    fn slot<'a>(&self, words: &[&'a str], slot: usize) -> Option<&'a str> {
        self.cut(self.part(slot)?, words).first().copied()
    }

    fn subject(&self, words: &[&str]) -> Option<Subject> {
        let name = self.slot(words, 0);
        let text = || name.map(str::to_owned);
        Some(match self.table.kind {
            ListingSubject::Sum => Subject::Machine,
            ListingSubject::Process | ListingSubject::Program => {
                let process = self.table.kind == ListingSubject::Process;
                let slot = usize::from(process);
                let command = program(words.get(self.part(slot)?.at..)?);
                let pid = if process { name.map(str::parse).transpose().ok()? } else { None };
                Some(Subject::process(pid, command)).filter(|_| !command.is_empty())?
            }
            ListingSubject::Container => {
                let part = self.slot(words, 1).map_or(String::new(), |part| format!("/{part}"));
                Subject::Cgroup(format!("of {}{part}", name?))
            }
            ListingSubject::Node => Subject::Named(format!("node {}", name?)),
            ListingSubject::Interface => Subject::Interface(text()?),
            ListingSubject::Disk => Subject::Disk(text()?),
            ListingSubject::Segment => Subject::Segment(text()?),
            ListingSubject::Named => Subject::Named(text()?),
        })
    }

    /// What a row says; `None` where it is none of this layout.
    pub(super) fn row(&self, words: &[&str]) -> Option<(Subject, Values)> {
        if words.len() < self.width || (words.len() > self.width && self.open.is_none()) {
            return None;
        }
        let subject = self.subject(words)?;
        let mut values = Vec::new();
        for cell in &self.cells {
            let read = cell.measure.read(self.cut(cell, words))?;
            let column = cell.column.and_then(|at| self.table.columns.get(at));
            let fields = column.map_or(&[][..], |column| column.fields.as_slice());
            let known = fields.iter().zip(read).filter_map(|(field, value)| Some((*field, value?)));
            values.extend(known);
        }
        for product in &self.table.products {
            if let Some(value) = self.product(product, words) {
                values.push((product.field, value));
            }
        }
        for difference in &self.table.differences {
            let parts = difference.columns.iter().map(|names| {
                let cell = self.named(names)?;
                cell.measure.read(self.cut(cell, words))?.first().copied()?
            });
            let parts: Option<Vec<f64>> = parts.collect();
            if let Some([whole, part]) = parts.as_deref() {
                values.push((difference.field, (whole - part).max(0.0)));
            }
        }
        values.extend(self.table.rows.map(|field| (field, 1.0)));
        Some((subject, values))
    }

    /// The cell of the column of these names.
    fn named(&self, names: &Names) -> Option<&Cell> {
        self.cells.iter().find(|cell| {
            let column = cell.column.and_then(|at| self.table.columns.get(at));
            column.is_some_and(|column| column.names == *names)
        })
    }

    fn product(&self, product: &Product, words: &[&str]) -> Option<f64> {
        let mut value = product.factor;
        for names in &product.columns {
            let cell = self.named(names)?;
            value *= count(self.cut(cell, words).first()?)? as f64;
        }
        Some(value)
    }

    /// The word of a row in the column that is so written.
    pub(super) fn text<'a>(&self, words: &[&'a str], measure: Measure) -> Option<&'a str> {
        let cell = self.cells.iter().find(|cell| cell.measure == measure)?;
        self.cut(cell, words).first().copied()
    }

    /// Whether a line that is no row of it was one: the process has its number, and something else
    /// is not as it should be.
    pub(super) fn is_torn(&self, words: &[&str]) -> bool {
        let pid = self.slot(words, 0).is_some_and(|pid| pid.parse::<u32>().is_ok());
        self.table.kind == ListingSubject::Process && pid && self.cells.len() >= words.len() / 2
    }

    /// Whether its values are sums over rows, reported at its end.
    pub(super) fn sums(&self) -> bool {
        self.table.kind == ListingSubject::Sum || self.table.rows.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert!(ROWS.iter().all(|row| ["tables", "lines", "metrics"].contains(&row.section)));
        assert!(TABLES.len() >= 15 && USUAL.len() >= 5);
        for table in TABLES.iter() {
            let used = !table.columns.is_empty() || table.rows.is_some();
            assert!(used && table.letters != 0, "{:?}", table.marks);
        }
    }
}
