//! The picture of an address space as text and JSON: one cell a region.

pub(crate) mod picture;
pub(crate) mod space;

use crate::render::colour::Paint;
use crate::render::text;
use crate::render::view::map::space::{
    CELL_STATES, Cell, CellState, Map, Mapping, Summary, explained, offset,
};
use hugewise_base::escape::printable;
use hugewise_base::units::Geometry;
use hugewise_manager::reason::SkipReason;
use serde_json::{Value as Json, json};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// Glyphs that the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    /// All.
    Utf8,
    /// ASCII only.
    Ascii,
}

/// How a picture in text is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Colour.
    pub(crate) paint: Paint,
    /// Glyphs.
    pub(crate) charset: Charset,
    /// Cells a line.
    pub(crate) width: usize,
    /// Whether what the glyphs mean stands above them: on a screen of which the end is not seen.
    pub(crate) legend_first: bool,
}

/// The picture as text.
pub(crate) fn render(map: &Map, style: Style) -> String {
    let paint = style.paint;
    let all = Summary::of(&map.mappings, map.geometry);
    let title = format!("{}: a cell is {}", paint.bold(&map.title()), map.geometry.huge);
    let mut out = text::wrap("", &title);
    out.push_str(&text::wrap("", &all.about_all()));
    if style.legend_first {
        out.push_str(&legend(map, style));
    }
    for (number, mapping) in map.drawn() {
        out.push('\n');
        out.push_str(&mapping_lines(number, mapping, map.geometry, style));
    }
    if map.drawn().next().is_none() {
        let none = "nothing to draw: no mapping that can have huge pages is populated";
        out.push_str(&format!("\n{}", text::wrap("", none)));
    }
    out.push('\n');
    if !style.legend_first {
        out.push_str(&legend(map, style));
    }
    out.extend(map.rest().map(|rest| text::wrap("", &rest)));
    for note in &map.notes {
        out.push_str(&text::wrap("note: ", note));
    }
    for what in &map.missing {
        out.push_str(&text::wrap("partial: ", &printable(what)));
    }
    text::trimmed(&out)
}

fn mapping_lines(number: usize, mapping: &Mapping, geometry: Geometry, style: Style) -> String {
    let size = mapping.size.to_string();
    let room = text::columns().saturating_sub(size.len() + 6).min(40);
    let label = format!("{number}. {}", text::fit(&printable(&mapping.label), room));
    let mut out = format!("{} {size}\n", style.paint.bold(&label));
    let summary = Summary::of([mapping], geometry).sentence();
    out.push_str(&style.paint.dim(text::wrap("  ", &summary).trim_end()));
    out.push('\n');
    let width = u64::try_from(style.width.max(1)).unwrap_or(64);
    for rows in mapping.rows(geometry, width) {
        // A line that says "1 row more" takes as much room as that row.
        let drawn = rows.count.min(if rows.count == 2 { 2 } else { 1 });
        for row in 0..drawn {
            let place = text::right(&offset(rows.first + row * width, geometry), 9);
            out.push_str(&format!("{place} {}\n", glyphs(&rows.looks, style)));
        }
        match (rows.count - drawn, style.charset) {
            (0, _) => {}
            (more, Charset::Utf8) => out.push_str(&format!("        … x {more} rows alike\n")),
            (more, Charset::Ascii) => out.push_str(&format!("      ... x {more} rows alike\n")),
        }
    }
    out
}

fn glyph(look: CellState, charset: Charset) -> char {
    let entry = CELL_STATES.iter().find(|(l, ..)| *l == look);
    entry.map_or('?', |(_, utf8, ascii, ..)| match charset {
        Charset::Utf8 => *utf8,
        Charset::Ascii => *ascii,
    })
}

fn painted(look: CellState, text: &str, paint: Paint) -> String {
    match look {
        CellState::Huge => paint.good(text),
        CellState::Partial => paint.bad(text),
        CellState::Hollow | CellState::Shared | CellState::Swapped => paint.warn(text),
        CellState::Empty | CellState::Unknown => paint.dim(text),
        CellState::Quarter | CellState::Half | CellState::Most | CellState::Full => text.to_owned(),
    }
}

/// Cells in a row; those of one look are painted together.
fn glyphs(looks: &[CellState], style: Style) -> String {
    let runs = looks.chunk_by(|a, b| a == b);
    let runs = runs.map(|run| {
        let text: String = run.iter().map(|look| glyph(*look, style.charset)).collect();
        run.first().map_or_else(String::new, |look| painted(*look, &text, style.paint))
    });
    runs.collect()
}

fn legend(map: &Map, style: Style) -> String {
    let mut out = String::new();
    let mut column = 0;
    for (look, _, _, _, means) in explained(map) {
        let wide = text::width(means) + 2;
        let gap = if column == 0 { "" } else { "   " };
        if column + gap.len() + wide > text::columns() {
            out.push('\n');
            column = 0;
        } else {
            out.push_str(gap);
            column += gap.len();
        }
        let glyph = painted(*look, &glyph(*look, style.charset).to_string(), style.paint);
        out.push_str(&format!("{glyph} {means}"));
        column += wide;
    }
    out.push('\n');
    out
}

/// The picture for programs: arrays with one entry a listed region.
pub(crate) fn json(map: &Map) -> Json {
    let mapping = |mapping: &Mapping| {
        let listed = &mapping.cells;
        let summary = Summary::of([mapping], map.geometry);
        json!({
            "label": mapping.label,
            "size": mapping.size,
            "regions": mapping.regions,
            "regions_seen": mapping.seen,
            "summary": summary_json(&summary),
            "index": listed.iter().map(|c| c.index).collect::<Vec<_>>(),
            "populated": listed.iter().map(|c| c.populated).collect::<Vec<_>>(),
            "swapped": listed.iter().map(|c| c.swapped).collect::<Vec<_>>(),
            "huge": listed.iter().map(|c| c.huge).collect::<Vec<_>>(),
            "shared": listed.iter().map(|c| c.shared).collect::<Vec<_>>(),
            "partially_mapped": listed.iter().map(Cell::partially_mapped).collect::<Vec<_>>(),
            "held_pages": listed.iter().map(Cell::held).collect::<Vec<_>>(),
            "zero_pages": listed.iter().map(|c| c.zeros).collect::<Vec<_>>(),
        })
    };
    let not_drawn = map.not_drawn.iter().map(|(reason, n)| {
        let reason = reason.map_or("smaller_than_region", SkipReason::key);
        json!({ "reason": reason, "mappings": n.mappings, "size": n.size })
    });
    json!({
        "schema": SCHEMA,
        "partial": !map.missing.is_empty(),
        "missing": map.missing,
        "notes": map.notes,
        "pid": map.pid,
        "name": map.name,
        "base_page": map.geometry.base,
        "huge_page": map.geometry.huge,
        "summary": summary_json(&Summary::of(&map.mappings, map.geometry)),
        "mappings": map.mappings.iter().map(mapping).collect::<Vec<_>>(),
        "not_drawn": not_drawn.collect::<Vec<_>>(),
        "help": "regions are numbered from the first aligned address of their mapping on; those \
                 not listed are empty, or not seen from 'regions_seen' on; populated, swapped, \
                 shared, held_pages (in blocks still held, mapped no more) and zero_pages (of a \
                 huge page, estimated; only with --sample) count base pages; null is unknown",
    })
}

fn summary_json(summary: &Summary) -> Json {
    json!({
        "regions": summary.regions,
        "used": summary.used,
        "huge": summary.huge,
        "huge_percent": summary.huge_percent(),
        "utilization_percent": summary.utilization_percent(),
        "swapped": summary.swapped,
        "unseen": summary.unseen,
        "shared": summary.shared,
        "partially_mapped": summary.partially_mapped,
        "held": summary.held,
        "zeros": summary.zeros,
        "use_unknown": summary.unknown,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::render::golden;
    use crate::render::view::map::space::NotDrawn;
    use hugewise_base::units::Bytes;
    use std::collections::BTreeMap;

    fn cell(index: u64, populated: u16) -> Cell {
        let (swapped, huge, shared, held, zeros) = (0, false, Some(0), Some(0), None);
        Cell { index, populated, swapped, huge, shared, held, zeros }
    }

    fn mapping(label: &str, regions: u64, cells: Vec<Cell>) -> Mapping {
        let size = Geometry::X86_64.regions(regions);
        Mapping { label: label.to_owned(), size, regions, seen: regions, cells }
    }

    /// Something of everything.
    pub(crate) fn sample() -> Map {
        let huge = |index| Cell { huge: true, ..cell(index, 512) };
        let mut heap: Vec<_> = (0..70).map(huge).collect();
        heap.extend((70..100).map(|i| cell(i, 512 - u16::try_from(i - 70).expect("small") * 17)));
        heap[9] = Cell { held: Some(130), ..cell(9, 382) };
        // Just enough zeros to be shown, and just too few.
        heap[20].zeros = Some(400);
        heap[21].zeros = Some(103);
        heap[22].zeros = Some(102);
        heap[98].swapped = 3;
        let shared = Cell { shared: Some(512), ..cell(1, 512) };
        let unknown = Cell { shared: None, held: None, ..cell(0, 300) };
        let not_drawn = NotDrawn { mappings: 12, size: Bytes::mib(31) };
        let tiny = NotDrawn { mappings: 3, size: Bytes::kib(400) };
        let unseen = Mapping { seen: 70, ..mapping("[anon:late]", 200, vec![cell(3, 1)]) };
        Map {
            pid: 4711,
            name: "ev\x1b[2Jil\n<&>".to_owned(),
            geometry: Geometry::X86_64,
            mappings: vec![
                mapping("[heap]", 102, heap),
                mapping("anonymous", 5_000_000, vec![cell(2_000_000, 40)]),
                mapping("[anon:\u{202e}fork]", 2, vec![unknown, shared]),
                mapping("anonymous", 64, Vec::new()),
                unseen,
            ],
            not_drawn: BTreeMap::from([(None, tiny), (Some(SkipReason::FileMapping), not_drawn)]),
            notes: vec!["a note".to_owned()],
            missing: vec!["the scan was ended early".to_owned()],
        }
    }

    fn plain(charset: Charset) -> Style {
        Style { paint: Paint::plain(), charset, width: 64, legend_first: false }
    }

    #[test]
    fn the_picture_is_as_kept() {
        let text = render(&sample(), plain(Charset::Utf8));
        golden::check("map.txt", &text);
        assert!(text.lines().all(|line| text::width(line) <= text::WIDTH), "{text}");
        golden::check("map.svg", &picture::render(&sample()));
    }

    #[test]
    fn ascii_is_enough() {
        let text = render(&sample(), plain(Charset::Ascii));
        assert!(text.is_ascii(), "{text}");
        golden::check("map-ascii.txt", &text);
    }

    #[test]
    fn colour_adds_nothing_but_escapes() {
        let paint = Paint::new(Some(true), false, false);
        let coloured = render(&sample(), Style { paint, ..plain(Charset::Utf8) });
        let mut bare = coloured;
        for code in ["0", "1", "2", "31", "32", "33"] {
            bare = bare.replace(&format!("\x1b[{code}m"), "");
        }
        assert_eq!(bare, render(&sample(), plain(Charset::Utf8)));
    }

    #[test]
    fn looks_differ_without_colour() {
        for charset in [Charset::Utf8, Charset::Ascii] {
            let mut glyphs: Vec<_> = CELL_STATES.iter().map(|l| glyph(l.0, charset)).collect();
            glyphs.sort_unstable();
            glyphs.dedup();
            assert_eq!(glyphs.len(), CELL_STATES.len());
        }
    }

    #[test]
    fn rows_cover_every_region_once_and_hide_none() {
        for (regions, seen) in [(1, 1), (64, 64), (65, 65), (1000, 1000), (1000, 130), (640, 0)] {
            let cells = [0, 1, 63, 64, 500, 999].iter().filter(|i| **i < regions.min(seen));
            let cells: Vec<_> = cells.map(|i| cell(*i, 512)).collect();
            let full = cells.len();
            let mapping = Mapping { seen, ..mapping("m", regions, cells) };
            let rows = mapping.rows(Geometry::X86_64, 64);
            let mut next = 0;
            let mut found = [0; 2];
            for rows in &rows {
                assert_eq!(rows.first, next);
                next += rows.count * 64;
                let count = |l: CellState| rows.looks.iter().filter(|x| **x == l).count();
                let times = usize::try_from(rows.count).expect("small");
                found[0] += count(CellState::Full) * times;
                found[1] += (rows.looks.len() - count(CellState::Unknown)) * times;
            }
            assert_eq!(next, regions.div_ceil(64) * 64);
            assert_eq!(found, [full, usize::try_from(seen).expect("small")], "{regions} {seen}");
        }
    }

    #[test]
    fn json_has_no_addresses_and_null_for_unknown() {
        let json = json(&sample());
        assert_eq!(json["schema"], 1);
        assert_eq!(json["partial"], true);
        assert_eq!(json["mappings"][2]["shared"], json!([null, 512]));
        assert_eq!(json["mappings"][2]["index"], json!([0, 1]));
        assert_eq!(json["mappings"][0]["summary"]["partially_mapped"], 1);
        assert_eq!(json["mappings"][0]["summary"]["held"], 130 * 4096);
        assert_eq!(json["mappings"][0]["summary"]["zeros"], 605 * 4096);
        assert_eq!(json["mappings"][0]["held_pages"][9], 130);
        assert_eq!(json["mappings"][0]["zero_pages"][20], 400);
        assert!(json["mappings"][0]["zero_pages"][23].is_null());
        assert!(json["mappings"][2]["held_pages"][0].is_null());
        assert!(json["mappings"][2]["summary"]["zeros"].is_null());
    }
}
