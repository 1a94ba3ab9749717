//! The picture of an address space as SVG: self-contained, for light and dark, and the same bytes
//! for the same data. A region in base pages is a tile filled as far as it is populated; a huge
//! page is one solid tile. So it reads without colour, too.

use crate::render::text::{fit, width, wrap_at};
use crate::render::view::map::space::{Cell, CellState, Map, Mapping, Summary, explained, offset};
use hugewise_base::escape::markup;
use hugewise_base::escape::printable;
use hugewise_base::units::Geometry;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Distance from cell to cell.
const STEP: u64 = 12;
/// Distance from row to row.
const ROW: u64 = 17;
/// Width of a tile.
const TILE: u64 = 10;
/// Height of a tile: tall enough to show how full a region is.
const TALL: u64 = 14;
/// Where the cells begin: room for offsets.
const LEFT: u64 = 76;
/// Free room around everything.
const MARGIN: u64 = 20;
/// Cells a row.
const CELLS: u64 = 64;
/// Characters a line of text.
const LINE: usize = 112;
/// Width of the picture.
const WIDTH: u64 = LEFT + CELLS * STEP + MARGIN;

/// Colours of light and dark surfaces; the ramp is one hue, huge pages and problems differ in
/// hue and in shape, for readers who cannot tell some colours apart.
const STYLE: &str = "\
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}
.back{fill:#fff}.h1{font-size:16px;font-weight:600}.h2{font-weight:600}.dim{fill:#59636e}
.end{text-anchor:end}
.tile{fill:#e6ebf1}.level{fill:#8b9cb0}.full{fill:#52677f}.huge{fill:#0e9f6e}
.shared{fill:#3b82f6}.swapped{fill:#a855f7}.partial{fill:#e5484d}.hollow{fill:#d97706}
.unknown{fill:none;stroke:#afb8c1;stroke-dasharray:2 2}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}.dim{fill:#9198a1}
.tile{fill:#21262d}.level{fill:#60728a}.full{fill:#9db1c9}.huge{fill:#34d399}
.shared{fill:#60a5fa}.swapped{fill:#c084fc}.partial{fill:#ff6369}.hollow{fill:#f59e0b}
.unknown{stroke:#484f58}}
";

/// The picture.
pub(crate) fn render(map: &Map) -> String {
    let mut canvas = Canvas { body: String::new(), y: MARGIN + 14 };
    canvas.text(MARGIN, "h1", &format!("Address space of {}", map.title()));
    let all = Summary::of(&map.mappings, map.geometry).about_all();
    canvas.down(4);
    let about = format!("{all}. A cell is {}.", map.geometry.huge);
    canvas.paragraph(&about);
    canvas.down(8);
    canvas.legend(map);
    for (number, mapping) in map.drawn() {
        canvas.mapping(number, mapping, map.geometry);
    }
    let notes = map.rest().into_iter().chain(map.notes.iter().cloned());
    let notes = notes.chain(map.missing.iter().map(|m| format!("Partial: {m}")));
    canvas.down(8);
    for note in notes {
        canvas.paragraph(&printable(&note));
    }
    let height = canvas.y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">Address space of {}</title>\n<desc id=\"desc\">{}</desc>\n\
         <style>\n{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}</svg>\n",
        markup(&map.title()),
        markup(&about),
        canvas.body
    )
}

/// Path data by layer and CSS class: one path for all tiles of a class keeps the file small.
/// Layer 0 is drawn below layer 1.
type Paths = BTreeMap<(u8, &'static str), String>;

struct Canvas {
    body: String,
    y: u64,
}

impl Canvas {
    fn down(&mut self, by: u64) {
        self.y += by;
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    fn text(&mut self, x: u64, class: &str, text: &str) {
        let y = self.y;
        self.push(&format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", markup(text)));
    }

    fn paragraph(&mut self, text: &str) {
        for line in wrap_at("", text, LINE).lines().filter(|line| !line.is_empty()) {
            self.down(16);
            self.text(MARGIN, "dim", line);
        }
    }

    fn paths(&mut self, paths: &Paths) {
        for ((_, class), data) in paths {
            self.push(&format!("<path class=\"{class}\" d=\"{data}\"/>"));
        }
    }

    fn legend(&mut self, map: &Map) {
        let mut paths = Paths::new();
        let mut x = MARGIN;
        self.down(16);
        for (look, _, _, _, means) in explained(map) {
            let wide = 16 + 8 * means.len() as u64 + 14;
            if x + wide > WIDTH - MARGIN + 14 {
                x = MARGIN;
                self.down(20);
            }
            let level = match look {
                CellState::Quarter => 3,
                CellState::Half => 6,
                CellState::Most => 10,
                CellState::Hollow => 5,
                _ => TALL,
            };
            tile(&mut paths, (x, self.y - 11), *look, level);
            self.text(x + 16, "dim", means);
            x += wide;
        }
        self.paths(&paths);
        self.down(10);
    }

    fn mapping(&mut self, number: usize, mapping: &Mapping, geometry: Geometry) {
        self.down(32);
        let label = format!("{number}. {}", fit(&printable(&mapping.label), 40));
        let summary = Summary::of([mapping], geometry).sentence();
        let size = mapping.size;
        let beside = LINE.saturating_sub(width(&label) + size.to_string().len() + 4);
        let lines = wrap_at("", &summary, beside);
        let first = markup(lines.lines().next().unwrap_or_default());
        let more = lines.lines().skip(1).collect::<Vec<_>>().join(" ");
        let (label, summary) = (markup(&label), markup(&summary));
        self.push(&format!("<g><title>{label}: {summary}</title>"));
        let (x, y) = (MARGIN, self.y);
        self.push(&format!(
            "<text x=\"{x}\" y=\"{y}\"><tspan class=\"h2\">{label}</tspan> {size} \
             <tspan class=\"dim\" dx=\"8\">{first}</tspan></text>"
        ));
        self.paragraph(&more);
        self.down(9);
        let cells: BTreeMap<u64, &Cell> = mapping.cells.iter().map(|c| (c.index, c)).collect();
        let mut paths = Paths::new();
        for rows in mapping.rows(geometry, CELLS) {
            for (column, look) in rows.looks.iter().enumerate() {
                let region = rows.first + column as u64;
                let level = cells.get(&region).map_or(0, |cell| level(cell, geometry));
                tile(&mut paths, (LEFT + column as u64 * STEP, self.y), *look, level);
            }
            self.y += TALL - 3;
            self.text(LEFT - 8, "dim end", &offset(rows.first, geometry));
            self.y += ROW - TALL + 3;
            if rows.count > 1 {
                self.y += 11;
                let s = if rows.count > 2 { "s" } else { "" };
                self.text(LEFT, "dim", &format!("… × {} row{s} alike", rows.count - 1));
                self.y += 6;
            }
        }
        self.y -= ROW - TALL;
        self.paths(&paths);
        self.push("</g>");
    }
}

/// Height of a tile's filling; a single page is seen.
fn level(cell: &Cell, geometry: Geometry) -> u64 {
    let zeros = f64::from(cell.zeros.filter(|_| cell.huge).unwrap_or(0));
    let used = cell.utilization(geometry) - zeros / f64::from(geometry.pages_per_huge().max(1));
    let level = (used.max(0.0) * TALL as f64).floor();
    hugewise_base::units::saturating_u64(level).clamp(u64::from(cell.populated > 0), TALL)
}

fn add(paths: &mut Paths, class: &'static str, data: &str) {
    let layer = u8::from(class != "tile");
    paths.entry((layer, class)).or_default().push_str(data);
}

/// Draws one cell. Each look has a shape of its own.
fn tile(paths: &mut Paths, (x, y): (u64, u64), look: CellState, level: u64) {
    let mut square = String::new();
    let _ = write!(square, "M{x} {y}h{TILE}v{TALL}h-{TILE}z");
    let (right, bottom) = (x + TILE, y + TALL);
    match look {
        // An empty frame, inside the tile's bounds.
        CellState::Unknown => {
            let (x, y, wide, tall) = (x + 1, y + 1, TILE - 2, TALL - 2);
            add(paths, "unknown", &format!("M{x} {y}h{wide}v{tall}h-{wide}z"));
        }
        CellState::Empty => add(paths, "tile", &square),
        CellState::Quarter | CellState::Half | CellState::Most | CellState::Full => {
            add(paths, "tile", &square);
            let class = if look == CellState::Full { "full" } else { "level" };
            let top = bottom - level;
            add(paths, class, &format!("M{x} {top}h{TILE}v{level}h-{TILE}z"));
        }
        // A vessel, filled as far as it is used.
        CellState::Hollow => {
            let (wide, tall) = (TILE - 4, TALL - 4);
            let (inside, top, floor) = (x + 2, y + 2, bottom - 2);
            let hole = format!("M{inside} {top}v{tall}h{wide}v-{tall}z");
            add(paths, "hollow", &format!("{square}{hole}"));
            let level = level * tall / TALL;
            let top = floor - level;
            add(paths, "huge", &format!("M{inside} {top}h{wide}v{level}h-{wide}z"));
        }
        // A triangle: a corner is missing.
        CellState::Partial => add(paths, "partial", &format!("M{x} {y}V{bottom}H{right}z")),
        // A frame.
        CellState::Swapped => {
            let (x, y, wide, tall) = (x + 3, y + 3, TILE - 6, TALL - 6);
            let hole = format!("M{x} {y}v{tall}h{wide}v-{tall}z");
            add(paths, "swapped", &format!("{square}{hole}"));
        }
        // A rhombus.
        CellState::Shared => {
            let (half, tall) = (TILE / 2, TALL / 2);
            let top = x + half;
            let shape = format!("M{top} {y}l{half} {tall}l-{half} {tall}l-{half} -{tall}z");
            add(paths, "shared", &shape);
        }
        // Wider than a tile, so that neighbours become one surface.
        CellState::Huge => add(paths, "huge", &format!("M{x} {y}h{STEP}v{TALL}h-{STEP}z")),
    }
}
