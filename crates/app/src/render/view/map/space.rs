//! A process's address space as pictures show it: mappings, regions, rows.
//!
//! Holds offsets inside mappings only: an absolute address would help an attacker who can see
//! this output but not the process.

use crate::render::number::percent;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::{Bytes, Geometry};
use hugewise_manager::reason::SkipReason;
use std::collections::BTreeMap;

/// One region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Its number in its mapping; regions that nobody touched may be left out.
    pub(crate) index: u64,
    /// Populated base pages.
    pub(crate) populated: u16,
    /// ... of which swapped.
    pub(crate) swapped: u16,
    /// One huge page.
    pub(crate) huge: bool,
    /// Base pages shared with another process.
    pub(crate) shared: Option<u16>,
    /// Base pages of a huge page's block that are held though not mapped any more.
    pub(crate) held: Option<u16>,
    /// Base pages of a huge page that hold only zeros, estimated from a sample.
    pub(crate) zeros: Option<u16>,
}

/// One mapping whose regions are drawn.
#[derive(Debug, Clone)]
pub(crate) struct Mapping {
    /// Its name, untrusted.
    pub(crate) label: String,
    /// Its size.
    pub(crate) size: Bytes,
    /// Whole regions in it.
    pub(crate) regions: u64,
    /// From here on nothing was seen, for the scan ended before.
    pub(crate) seen: u64,
    /// The regions of which something is populated, ascending.
    pub(crate) cells: Vec<Cell>,
}

/// Mappings that are not drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NotDrawn {
    /// How many.
    pub(crate) mappings: u64,
    /// Their size.
    pub(crate) size: Bytes,
}

/// What the picture shows.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    /// Process id.
    pub(crate) pid: u32,
    /// Command name, untrusted.
    pub(crate) name: String,
    /// Page sizes.
    pub(crate) geometry: Geometry,
    /// Mappings that can have huge pages, in address order.
    pub(crate) mappings: Vec<Mapping>,
    /// Others by reason; without one: smaller than a region.
    pub(crate) not_drawn: BTreeMap<Option<SkipReason>, NotDrawn>,
    /// What a reader should know about this process, one sentence each.
    pub(crate) notes: Vec<String>,
    /// What could not be seen; with any, the picture is partial.
    pub(crate) missing: Vec<String>,
}

/// What a cell looks like, the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CellState {
    /// Not scanned.
    Unknown,
    /// Nothing populated.
    Empty,
    /// Below a quarter, in base pages.
    Quarter,
    /// Below a half.
    Half,
    /// Below the share at which the default configuration promotes.
    Most,
    /// From there on: could be huge.
    Full,
    /// Some pages shared with another process.
    Shared,
    /// Some pages in swap.
    Swapped,
    /// Pieces of a huge page that is still held.
    Partial,
    /// One huge page that holds many zeros.
    Hollow,
    /// One huge page.
    Huge,
}

/// Share of a huge page that is zeros from which on it is drawn as hollow, percent: from there on
/// the default configuration splits it when bloat is above its budget.
const HOLLOW_PERCENT: u32 = 20;

/// Every look with its glyph in UTF-8 and in ASCII, its CSS class, and what it means.
pub(crate) const CELL_STATES: &[(CellState, char, char, &str, &str)] = &[
    (CellState::Huge, 'H', 'H', "huge", "huge page"),
    (CellState::Hollow, 'Z', 'Z', "hollow", "huge page, 20% or more zeros"),
    (CellState::Full, '█', '#', "full", "base pages, 90% or more populated"),
    (CellState::Most, '▓', '=', "most", "50% to 90%"),
    (CellState::Half, '▒', '-', "half", "25% to 50%"),
    (CellState::Quarter, '░', ':', "quarter", "below 25%"),
    (CellState::Empty, '·', '.', "empty", "empty"),
    (CellState::Partial, 'P', 'P', "partial", "partially mapped huge page"),
    (CellState::Shared, 's', 's', "shared", "shared with another process"),
    (CellState::Swapped, 'w', 'w', "swapped", "swapped"),
    (CellState::Unknown, '?', '?', "unknown", "not seen"),
];

impl Cell {
    /// Share of base pages populated, 0 to 1.
    pub(crate) fn utilization(&self, geometry: Geometry) -> f64 {
        f64::from(self.populated) / f64::from(geometry.pages_per_huge().max(1))
    }

    /// Pages held though not mapped: none in a huge page, which is mapped as a whole.
    pub(crate) fn held(&self) -> Option<u16> {
        if self.huge { Some(0) } else { self.held }
    }

    /// Whether it has pieces of a block that is still held.
    pub(crate) fn partially_mapped(&self) -> Option<bool> {
        self.held().map(|held| held > 0)
    }

    /// Whether much of a huge page is zeros.
    fn hollow(&self, geometry: Geometry) -> bool {
        let zeros = 100 * u32::from(self.zeros.unwrap_or(0));
        self.huge && zeros > 0 && zeros >= HOLLOW_PERCENT * geometry.pages_per_huge()
    }

    /// How it is drawn.
    pub(crate) fn look(&self, geometry: Geometry) -> CellState {
        let utilization = self.utilization(geometry);
        match self {
            _ if self.partially_mapped() == Some(true) => CellState::Partial,
            _ if self.hollow(geometry) => CellState::Hollow,
            _ if self.huge => CellState::Huge,
            _ if self.swapped > 0 => CellState::Swapped,
            _ if self.shared > Some(0) => CellState::Shared,
            _ if self.populated == 0 => CellState::Empty,
            _ if utilization < 0.25 => CellState::Quarter,
            _ if utilization < 0.5 => CellState::Half,
            _ if utilization < 0.9 => CellState::Most,
            _ => CellState::Full,
        }
    }
}

/// Sums over regions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    /// Whole regions.
    pub(crate) regions: u64,
    /// ... with at least one populated page.
    pub(crate) used: u64,
    /// ... that are huge.
    pub(crate) huge: u64,
    /// ... with shared pages; `None` where that is not known of any.
    pub(crate) shared: Option<u64>,
    /// ... that are pieces of a held huge page.
    pub(crate) partially_mapped: Option<u64>,
    /// ... with pages in swap.
    pub(crate) swapped: u64,
    /// ... that were not seen.
    pub(crate) unseen: u64,
    /// Memory that partially mapped blocks hold; `None` where that is not known of any.
    pub(crate) held: Option<Bytes>,
    /// Zeros in huge pages; `None` where no contents were sampled.
    pub(crate) zeros: Option<Bytes>,
    /// Huge pages whose contents were not sampled.
    pub(crate) unknown: Bytes,
    /// Populated base pages in regions that are not huge.
    base_pages: u64,
    pages_per_huge: u64,
}

impl Summary {
    /// Over one or more mappings.
    pub(crate) fn of<'a>(
        mappings: impl IntoIterator<Item = &'a Mapping>,
        geometry: Geometry,
    ) -> Self {
        let pages_per_huge = u64::from(geometry.pages_per_huge());
        let mut sum = Self { pages_per_huge, ..Self::default() };
        for mapping in mappings {
            sum.regions += mapping.regions;
            sum.unseen += mapping.regions.saturating_sub(mapping.seen);
            for cell in &mapping.cells {
                sum.add(cell, geometry);
            }
        }
        sum
    }

    fn add(&mut self, cell: &Cell, geometry: Geometry) {
        self.used += u64::from(cell.populated > 0);
        self.huge += u64::from(cell.huge);
        self.swapped += u64::from(cell.swapped > 0);
        if let Some(shared) = cell.shared {
            *self.shared.get_or_insert(0) += u64::from(shared > 0);
        }
        if let Some(held) = cell.held() {
            *self.partially_mapped.get_or_insert(0) += u64::from(held > 0);
            *self.held.get_or_insert(Bytes(0)) += geometry.bytes(held.into());
        }
        match cell.zeros.filter(|_| cell.huge) {
            Some(zeros) => *self.zeros.get_or_insert(Bytes(0)) += geometry.bytes(zeros.into()),
            None if cell.huge => self.unknown += geometry.huge,
            None => {}
        }
        self.base_pages += if cell.huge { 0 } else { u64::from(cell.populated) };
    }

    /// Huge regions, percent of those used.
    pub(crate) fn huge_percent(&self) -> Option<f64> {
        (self.used > 0).then(|| 100.0 * self.huge as f64 / self.used as f64)
    }

    /// Populated pages of used regions that are not huge, percent.
    pub(crate) fn utilization_percent(&self) -> Option<f64> {
        let possible = (self.used - self.huge.min(self.used)) * self.pages_per_huge;
        (possible > 0).then(|| 100.0 * self.base_pages as f64 / possible as f64)
    }

    /// The sentence about all mappings: also how much is unknown.
    pub(crate) fn about_all(&self) -> String {
        if self.unknown == Bytes(0) {
            return self.sentence();
        }
        let hint = if self.zeros.is_none() { "; --sample reads samples to find out" } else { "" };
        format!("{}, use of {} in huge pages unknown{hint}", self.sentence(), self.unknown)
    }

    /// One line of text.
    pub(crate) fn sentence(&self) -> String {
        let mut parts =
            vec![format!("{} of {} used", self.used, counted(self.regions, "region", "regions"))];
        parts.extend(self.huge_percent().map(|p| format!("{} huge", percent(p))));
        let rest = if self.huge > 0 { "the rest" } else { "they are" };
        parts.extend(self.utilization_percent().map(|p| format!("{rest} {} full", percent(p))));
        let counts = [
            (self.shared, "shared"),
            (self.partially_mapped, "partially mapped"),
            (Some(self.swapped), "with swapped pages"),
            (Some(self.unseen), "not seen"),
        ];
        let counts = counts.iter().filter_map(|(n, what)| n.filter(|n| *n > 0).map(|n| (n, what)));
        parts.extend(counts.map(|(n, what)| format!("{n} {what}")));
        let held = self.held.filter(|held| *held > Bytes(0));
        parts.extend(held.map(|held| format!("{held} held by partially mapped blocks")));
        let zeros = self.zeros.map(|zeros| match zeros {
            Bytes(0) => "no zeros found in huge pages (sampled)".to_owned(),
            _ => format!("about {zeros} of zeros in huge pages (sampled)"),
        });
        parts.extend(zeros);
        parts.join(", ")
    }
}

/// Rows of the picture that look alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rows {
    /// The first region of the first row.
    pub(crate) first: u64,
    /// How many rows.
    pub(crate) count: u64,
    /// The cells of each.
    pub(crate) looks: Vec<CellState>,
}

impl Mapping {
    /// The mapping's rows of `width` cells, those in a run that look alike together. The work
    /// grows with the populated regions, not with the address space.
    pub(crate) fn rows(&self, geometry: Geometry, width: u64) -> Vec<Rows> {
        let width = width.max(1);
        let mut by_row: BTreeMap<u64, Vec<CellState>> = BTreeMap::new();
        for cell in self.cells.iter().filter(|cell| cell.index < self.regions) {
            let row = cell.index / width;
            let looks = by_row.entry(row).or_insert_with(|| self.blank(row, width));
            let at = usize::try_from(cell.index % width).unwrap_or(0);
            if let Some(look) = looks.get_mut(at) {
                *look = cell.look(geometry);
            }
        }
        // Rows at which a stretch of empty or unseen cells begins or ends.
        for row in [0, self.seen / width, self.seen.div_ceil(width), self.regions / width] {
            if row * width < self.regions {
                by_row.entry(row).or_insert_with(|| self.blank(row, width));
            }
        }
        let last = self.regions.div_ceil(width);
        let next_rows: Vec<_> = by_row.keys().skip(1).copied().chain([last]).collect();
        let mut rows = Vec::new();
        for ((row, looks), next) in by_row.into_iter().zip(next_rows) {
            push(&mut rows, Rows { first: row * width, count: 1, looks });
            let gap = next.saturating_sub(row + 1);
            if gap > 0 {
                let looks = self.blank(row + 1, width);
                push(&mut rows, Rows { first: (row + 1) * width, count: gap, looks });
            }
        }
        rows
    }

    /// A row in which nothing is populated.
    fn blank(&self, row: u64, width: u64) -> Vec<CellState> {
        let cells = row * width..((row + 1) * width).min(self.regions);
        cells.map(|i| if i < self.seen { CellState::Empty } else { CellState::Unknown }).collect()
    }

    /// Nothing populated in all of it, and all of it seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen >= self.regions && self.cells.iter().all(|cell| cell.populated == 0)
    }
}

fn push(rows: &mut Vec<Rows>, next: Rows) {
    match rows.last_mut() {
        Some(last) if last.looks == next.looks => last.count += next.count,
        _ => rows.push(next),
    }
}

impl Map {
    /// Mappings worth a picture, each with its number among all: many have no name.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = (usize, &Mapping)> {
        let numbered = self.mappings.iter().enumerate().map(|(i, mapping)| (i + 1, mapping));
        numbered.filter(|(_, mapping)| !mapping.is_empty())
    }

    /// The process, safe to print.
    pub(crate) fn title(&self) -> String {
        format!("{} (pid {})", printable(&self.name), self.pid)
    }

    /// What is not in the picture, one sentence.
    pub(crate) fn rest(&self) -> Option<String> {
        let one = |n: &NotDrawn, what: &str| format!("{} {what} ({})", n.mappings, n.size);
        let mut empty = NotDrawn::default();
        for mapping in self.mappings.iter().filter(|mapping| mapping.is_empty()) {
            empty.mappings += 1;
            empty.size += mapping.size;
        }
        let mut parts = Vec::new();
        if empty.mappings > 0 {
            parts.push(one(&empty, "empty"));
        }
        for (reason, mappings) in &self.not_drawn {
            parts.push(one(mappings, reason.map_or("smaller than a region", SkipReason::key)));
        }
        (!parts.is_empty()).then(|| format!("Mappings not drawn: {}.", parts.join(", ")))
    }
}

/// Distance of a region from the first one of its mapping.
pub(crate) fn offset(region: u64, geometry: Geometry) -> String {
    let at = geometry.regions(region).0 >> 20;
    match at {
        0..=99_999 => format!("+{at}M"),
        _ => format!("+{:.1}G", at as f64 / 1024.0),
    }
}

fn has(map: &Map, wanted: CellState) -> bool {
    map.mappings.iter().any(|mapping| match wanted {
        CellState::Unknown => mapping.seen < mapping.regions,
        _ => mapping.cells.iter().any(|cell| cell.look(map.geometry) == wanted),
    })
}

/// Looks that the legend explains: the scale always, what is rare where it occurs.
pub(crate) fn explained(
    map: &Map,
) -> impl Iterator<Item = &'static (CellState, char, char, &'static str, &'static str)> {
    CELL_STATES.iter().filter(|(look, ..)| match look {
        CellState::Hollow
        | CellState::Partial
        | CellState::Shared
        | CellState::Swapped
        | CellState::Unknown => has(map, *look),
        _ => true,
    })
}
