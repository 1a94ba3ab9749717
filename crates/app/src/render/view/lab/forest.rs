//! Ratios with their intervals, a line a variant, the baseline at 1.

use super::frame::{class, marker};
use crate::render::axes::{Scale, WIDTH};
use crate::render::svg::{Anchor, Svg};
use crate::render::text::fit;
use hugewise_experiment::compare::Estimate;
use hugewise_experiment::summary::{Row, Summary, words};

/// Ends of the axis.
const LEFT: f64 = 14.0;
const RIGHT: f64 = 406.0;
/// Height of a metric's heading, of a variant's line, and of the axis.
const HEAD: f64 = 46.0;
const LINE: f64 = 38.0;
/// Where the interval's lane begins below the texts.
const LANE: f64 = 17.0;
const FOOT: f64 = 34.0;
/// Letters that fit into the heading and beside the figures.
const HEAD_LETTERS: usize = 50;
const NAME_LETTERS: usize = 19;
/// Ratios beyond these are drawn at the edge: one that is far away would hide all others.
const FARTHEST: (f64, f64) = (0.02, 50.0);
/// Ratios that a mark may stand at, those that matter most first.
const MARKS: [f64; 27] = [
    1.0, 2.0, 0.5, 10.0, 0.1, 5.0, 0.2, 1.5, 0.75, 1.2, 0.8, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 3.0,
    0.3, 20.0, 0.05, 1.01, 0.99, 50.0, 0.02, 4.0, 7.0,
];

/// A ratio of a deciding metric.
struct Entry {
    variant: usize,
    ratio: Estimate,
    verdict: &'static str,
}

fn entries(row: &Row) -> Vec<Entry> {
    let entry = |(variant, cell): (usize, &hugewise_experiment::summary::Cell)| {
        let against = cell.against.as_ref()?;
        let ratio = against.ratio.filter(|ratio| ratio.value.is_finite() && ratio.value > 0.0)?;
        let verdict = against.judgement.as_ref().map_or("", |verdict| verdict.short());
        Some(Entry { variant, ratio, verdict })
    };
    row.cells.iter().enumerate().filter_map(entry).collect()
}

fn within(ratio: f64) -> f64 {
    if ratio.is_nan() { 1.0 } else { ratio.clamp(FARTHEST.0, FARTHEST.1) }
}

/// The range of all ratios; 1 lies in it.
fn range(groups: &[(&Row, Vec<Entry>)]) -> (f64, f64) {
    let (mut low, mut high) = (0.98f64, 1.02f64);
    for (row, entries) in groups {
        let margin = row.equal_within_percent.unwrap_or(0.0) / 100.0;
        (low, high) = (low.min(1.0 - margin), high.max(1.0 + margin));
        for entry in entries {
            let ends = entry.ratio.interval.map(|interval| [interval.low, interval.high]);
            for ratio in ends.into_iter().flatten().chain([entry.ratio.value]) {
                (low, high) = (low.min(within(ratio)), high.max(within(ratio)));
            }
        }
    }
    // Room for the ends of whiskers.
    let more = (high / low).powf(0.03);
    (low / more, high * more)
}

/// The axis counts in thousandths: a logarithmic scale takes nothing below 1.
struct Axis {
    scale: Scale,
    range: (f64, f64),
}

impl Axis {
    fn new((low, high): (f64, f64)) -> Self {
        let scale = Scale::log((low * 1000.0, high * 1000.0), (LEFT, RIGHT));
        Self { scale, range: (low, high) }
    }

    fn at(&self, ratio: f64) -> f64 {
        let ratio = if ratio.is_nan() { 1.0 } else { ratio };
        self.scale.at(ratio.clamp(self.range.0, self.range.1) * 1000.0)
    }

    fn marks(&self) -> Vec<f64> {
        let mut taken: Vec<f64> = Vec::new();
        let mut all = Vec::new();
        for mark in MARKS {
            let x = self.at(mark);
            let inside = mark >= self.range.0 && mark <= self.range.1;
            if inside && taken.iter().all(|other| (other - x).abs() > 44.0) {
                taken.push(x);
                all.push(mark);
            }
        }
        all
    }
}

/// What an interval is held against: the marks, and what counts as the same. Only beside the
/// interval: behind the texts lines would be in the way.
fn push_lane(svg: &mut Svg, row: &Row, axis: &Axis, marks: &[f64], y: f64) {
    let (top, end) = (y + LANE, y + LINE - 2.0);
    if let Some(percent) = row.equal_within_percent {
        let (low, high) = (axis.at(1.0 - percent / 100.0), axis.at(1.0 + percent / 100.0));
        let title = format!("counts as the same: within {percent} %");
        svg.bar("margin", (low, top), (high - low, end - top), &title);
    }
    for mark in marks {
        let (x, class) = (axis.at(*mark), if *mark == 1.0 { "one" } else { "grid" });
        svg.line(class, (x, top), (x, end));
    }
}

fn push_entry(svg: &mut Svg, summary: &Summary, axis: &Axis, entry: &Entry, y: f64) {
    let name = summary.variants.get(entry.variant).map_or("", |variant| variant.name.as_str());
    let ratio = words::ratio(&entry.ratio);
    let interval = words::interval(&entry.ratio).map_or(String::new(), |text| format!(" ({text})"));
    let mut figures = format!("{ratio}{interval}");
    svg.text("label", (LEFT - 6.0, y + 13.0), Anchor::Start, &fit(name, NAME_LETTERS));
    if !entry.verdict.is_empty() {
        figures.push_str(&format!(", {}", entry.verdict));
    }
    svg.text("value", (RIGHT + 6.0, y + 13.0), Anchor::End, &figures);
    let middle = y + (LANE + LINE - 2.0) / 2.0;
    let class = class(entry.variant);
    if let Some(interval) = entry.ratio.interval {
        let (low, high) = (axis.at(interval.low), axis.at(interval.high));
        svg.line(&format!("whisker {class}"), (low, middle), (high, middle));
        for end in [low, high] {
            svg.line(&format!("whisker {class}"), (end, middle - 4.0), (end, middle + 4.0));
        }
    }
    let title = format!("{name}: {figures}");
    marker(svg, entry.variant, "", (axis.at(entry.ratio.value), middle), &title);
}

/// The deciding metrics; where none decides, all that have ratios. `None` without any ratio.
pub(super) fn draw(summary: &Summary) -> Option<String> {
    let decided = summary.rows.iter().any(|row| row.decides);
    let rows = summary.rows.iter().filter(|row| row.decides == decided);
    let groups: Vec<_> = rows.map(|row| (row, entries(row))).collect();
    let groups: Vec<_> = groups.into_iter().filter(|(_, all)| !all.is_empty()).collect();
    if groups.is_empty() {
        return None;
    }
    let baseline = summary.baseline.as_deref().unwrap_or("the baseline");
    let text = |entry: &Entry| {
        let name = summary.variants.get(entry.variant).map_or("", |one| one.name.as_str());
        format!("{name} {} {}", words::ratio(&entry.ratio), entry.verdict)
    };
    let of_group = |(row, all): &(&Row, Vec<Entry>)| {
        format!("{}: {}.", row.title, all.iter().map(text).collect::<Vec<_>>().join(", "))
    };
    let description = groups.iter().map(of_group).collect::<Vec<_>>().join(" ");
    let lines: usize = groups.iter().map(|(_, all)| all.len()).sum();
    let bottom = HEAD * groups.len() as f64 + LINE * lines as f64;
    let title = format!("Ratios to {baseline}");
    let mut svg = Svg::new("forest", (WIDTH, bottom + FOOT + 22.0), &title, &description);
    let axis = Axis::new(range(&groups));
    let marks = axis.marks();
    for mark in &marks {
        svg.text("tick", (axis.at(*mark), bottom + 19.0), Anchor::Middle, &format!("{mark} x"));
    }
    let mut y = 0.0;
    for (row, all) in &groups {
        let title = fit(&row.title, HEAD_LETTERS);
        svg.text("heading", (LEFT - 6.0, y + 20.0), Anchor::Start, &title);
        let direction = words::direction(row.better);
        svg.text("note", (LEFT - 6.0, y + 36.0), Anchor::Start, direction);
        y += HEAD;
        for entry in all {
            push_lane(&mut svg, row, &axis, &marks, y);
            push_entry(&mut svg, summary, &axis, entry, y);
            y += LINE;
        }
    }
    let percent = summary.error_rate * 100.0;
    let band = groups.iter().any(|(row, _)| row.equal_within_percent.is_some());
    let band = if band { "; shaded: the same" } else { "" };
    let note = format!("bars: intervals, {percent:.0} % error rate over all{band}");
    svg.text("note", (LEFT - 6.0, bottom + 42.0), Anchor::Start, &note);
    Some(svg.finish())
}
