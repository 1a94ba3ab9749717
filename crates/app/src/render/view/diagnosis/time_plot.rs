//! Values over time, as a picture: where they stood out is shaded, and the peaks have their value.

use crate::render::axes::{self, Frame, LABEL, Scale, UNIT, WIDTH};
use crate::render::number;
use crate::render::svg::{Anchor, Svg};
use hugewise_evidence::diagnose::{Interval, episodes, spacing_s, written};
use hugewise_evidence::recording::{Clock, Point, Stamp, Unit};

/// Corners of the plot proper.
const FRAME: Frame = Frame { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };
const LEFT: f64 = 58.0;
const RIGHT: f64 = 402.0;
const TOP: f64 = 38.0;
const BOTTOM: f64 = 204.0;
/// Room below the plot proper for the times, and for the dates below them.
const FOOT: f64 = 24.0;
const DATES: f64 = 19.0;
/// Most points of a curve: more than a screen has columns for it.
const POINTS_MAX: usize = 600;
/// Points from which on a thinner line shows more.
const DENSE: usize = 200;
/// Distance of samples, in usual ones, from which on something is missing between them.
const GAP: f64 = 2.5;
/// Most peaks with a value.
const PEAKS_MAX: usize = 6;
/// Half the width of a letter of their values, and the height of a line.
const LETTER_HALF: f64 = 4.6;
const LINE: f64 = 17.0;
const DAY_S: i64 = 86_400;

/// One curve.
#[derive(Debug)]
pub(in crate::render::view) struct Curve {
    /// Whose values.
    pub(in crate::render::view) name: String,
    /// When and how much, in the order of time.
    pub(in crate::render::view) points: Vec<(i64, f64)>,
}

impl Curve {
    /// The values that have a time.
    pub(in crate::render::view) fn new(name: String, points: &[Point]) -> Self {
        let timed = points.iter().filter_map(|point| Some((point.at?.0, point.value)));
        let mut points: Vec<(i64, f64)> = timed.collect();
        points.sort_by_key(|(at, _)| *at);
        Self { name, points }
    }
}

/// What is drawn.
#[derive(Debug)]
pub(in crate::render::view) struct TimePlot<'a> {
    /// Unique on the page.
    pub(in crate::render::view) id: String,
    /// What the values are.
    pub(in crate::render::view) title: String,
    /// Their unit.
    pub(in crate::render::view) unit: Unit,
    /// The curves; at least one.
    pub(in crate::render::view) curves: Vec<Curve>,
    /// What is shaded.
    pub(in crate::render::view) shaded: &'a [Interval],
    /// A value that decides.
    pub(in crate::render::view) limit: Option<f64>,
    /// Whether it is low values that matter.
    pub(in crate::render::view) low: bool,
    /// Whose clock the times are on.
    pub(in crate::render::view) clock: Clock,
    /// Whether a value holds until the next one, however late that comes: nothing is missing then.
    pub(in crate::render::view) holds: bool,
}

/// What the numbers at the axis are counted in, and its name.
fn axis_unit(unit: Unit, max: f64) -> (f64, String) {
    let binary = || match max {
        m if m >= f64::from(1 << 30) => (f64::from(1 << 30), "GiB"),
        m if m >= f64::from(1 << 20) => (f64::from(1 << 20), "MiB"),
        m if m >= 1024.0 => (1024.0, "KiB"),
        _ => (1.0, "bytes"),
    };
    let large = number::large(max);
    let with = |(by, name): (f64, &str), more: &str| (by, format!("{name}{more}"));
    match unit {
        Unit::Percent => (1.0, "%".to_owned()),
        Unit::Bytes => with(binary(), ""),
        Unit::BytesPerSecond => with(binary(), "/s"),
        Unit::PerSecond if large.0 > 1.0 => with(large, " per second"),
        Unit::PerSecond => (1.0, "per second".to_owned()),
        Unit::Milliseconds if max >= 1e4 => (1e3, "seconds".to_owned()),
        Unit::Milliseconds => (1.0, "ms".to_owned()),
        Unit::Count => with(large, ""),
        Unit::Index => (1.0, "0 to 1".to_owned()),
    }
}

fn value_axis(svg: &mut Svg, plot: &TimePlot<'_>, max: f64) -> Scale {
    let max = if max > 0.0 { max } else { 1.0 };
    let (by, name) = axis_unit(plot.unit, max);
    FRAME.unit(svg, &name);
    FRAME.value_axis(svg, (0.0, max), by)
}

/// Round times between two others, few enough for their labels.
fn time_ticks(from: i64, to: i64) -> (i64, Vec<i64>) {
    const STEPS: [i64; 22] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200,
        DAY_S, 172_800, 604_800, 2_592_000, 31_536_000,
    ];
    let span = to.saturating_sub(from);
    // Below a minute labels have seconds and are longer.
    let fits = |step: &&i64| span / **step <= if **step < 60 { 3 } else { 4 };
    let step = STEPS.iter().find(fits).copied().unwrap_or(span.max(1) / 4);
    let first = from.div_euclid(step) * step;
    let all = (0..8).map(|index| first.saturating_add(index * step));
    (step, all.filter(|at| (from..=to).contains(at)).collect())
}

/// A day, `2020-12-26`, or without its year; `day +1` where no date is known.
fn day(stamp: Stamp, whole: bool) -> String {
    match stamp.date() {
        Some((year, month, day)) if whole => format!("{year:04}-{month:02}-{day:02}"),
        Some((_, month, day)) => format!("{month:02}-{day:02}"),
        None => format!("day {:+}", stamp.day()).replace("+0", "0"),
    }
}

fn time_axis(svg: &mut Svg, clock: Clock, (from, to): (i64, i64)) -> Scale {
    let scale = Scale::linear((from as f64, to as f64), (LEFT, RIGHT));
    let (step, marks) = time_ticks(from, to);
    let days = Stamp(from).day() != Stamp(to).day();
    let mut last = None;
    for at in marks {
        let (x, stamp) = (scale.at(at as f64), Stamp(at));
        FRAME.notch(svg, x);
        let anchor = if x > RIGHT - 14.0 { Anchor::End } else { Anchor::Middle };
        let x = if x > RIGHT - 14.0 { WIDTH - 2.0 } else { x };
        let text = stamp.clock();
        let text = if step < 60 { &text } else { text.get(..5).unwrap_or(&text) };
        let mut row = BOTTOM + LABEL;
        if step < DAY_S {
            svg.text("tick", (x, row), anchor, text);
            row += DATES;
        }
        if days && last != Some(stamp.day()) {
            svg.text("tick", (x, row), anchor, &day(stamp, last.is_none()));
            last = Some(stamp.day());
        }
    }
    let note = match clock {
        Clock::Local => "",
        Clock::Utc => "UTC",
        Clock::Uptime => "since the start",
    };
    if !note.is_empty() {
        svg.text("note", (RIGHT, UNIT), Anchor::End, note);
    }
    scale
}

fn stamped(points: &[(i64, f64)]) -> Vec<Point> {
    let stamped = |(at, value): &(i64, f64)| Point { at: Some(Stamp(*at)), value: *value };
    points.iter().map(stamped).collect()
}

/// A kept value with the number of its stretch: a gap lies between stretches.
type PlotPoint = ((i64, f64), usize);

/// The curve's points, at most [`POINTS_MAX`]: of each bucket the lowest and the highest.
fn stretches(points: &[(i64, f64)], holds: bool) -> Vec<PlotPoint> {
    let usual = spacing_s(&stamped(points)).filter(|_| !holds);
    let gap = usual.map_or(f64::INFINITY, |usual| usual as f64 * GAP);
    let mut stretch = 0;
    let mut all: Vec<PlotPoint> = Vec::with_capacity(points.len());
    for point in points {
        let before = all.last().map_or(point.0, |kept| kept.0.0);
        if point.0.saturating_sub(before) as f64 > gap {
            stretch += 1;
        }
        all.push((*point, stretch));
    }
    axes::thinned(&all, POINTS_MAX, |kept| kept.0.1)
}

fn push_curve(svg: &mut Svg, index: usize, curve: (&Curve, bool), x: Scale, y: Scale) {
    let kept = stretches(&curve.0.points, curve.1);
    let thin = if kept.len() > DENSE { " thin" } else { "" };
    for stretch in kept.chunk_by(|a, b| a.1 == b.1) {
        let at = |kept: &PlotPoint| (x.at(kept.0.0 as f64), y.at(kept.0.1.max(0.0)));
        let points: Vec<(f64, f64)> = stretch.iter().map(at).collect();
        match points.as_slice() {
            [one] => svg.dot(&format!("point c{index}"), *one, 2.2),
            _ => svg.path(&format!("curve c{index}{thin}"), &points),
        }
    }
}

/// The value that matters most in each shaded stretch, in each stretch beyond the limit, and in
/// all; the most extreme first.
fn peaks(plot: &TimePlot<'_>) -> Vec<(i64, f64)> {
    let key = |value: f64| if plot.low { -value } else { value };
    let better = |a: (i64, f64), b: (i64, f64)| if key(b.1) > key(a.1) { b } else { a };
    // Intervals are apart: all of them together are one walk through the curves.
    let within = |curve: &Curve, interval: &Interval| {
        let upto = |stamp: Stamp| curve.points.partition_point(|(at, _)| *at <= stamp.0);
        let (start, end) = (interval.from.map_or(0, upto), interval.to.map(upto));
        let points = curve.points.get(start..end.unwrap_or(curve.points.len()));
        points.unwrap_or_default().iter().copied().reduce(better)
    };
    let best = |interval: &Interval| {
        plot.curves.iter().filter_map(|curve| within(curve, interval)).reduce(better)
    };
    let mut found: Vec<(i64, f64)> = plot.shaded.iter().filter_map(best).collect();
    found.extend(best(&Interval::ALWAYS));
    if let Some(limit) = plot.limit {
        for curve in &plot.curves {
            let beyond = episodes(&stamped(&curve.points), limit, limit);
            let tops = beyond.iter().map(|episode| episode.peak);
            found.extend(tops.filter_map(|peak| Some((peak.at?.0, peak.value))));
        }
    }
    found.sort_by(|a, b| key(b.1).total_cmp(&key(a.1)).then(a.0.cmp(&b.0)));
    found.dedup();
    found
}

fn push_peaks(svg: &mut Svg, plot: &TimePlot<'_>, x: Scale, y: Scale) {
    // The middles of the texts so far, with half their widths.
    let mut placed: Vec<(f64, f64, f64)> = Vec::new();
    for (at, value) in peaks(plot) {
        let text = written(plot.unit, value);
        let (px, py) = (x.at(at as f64), y.at(value.max(0.0)));
        let half = text.chars().count() as f64 * LETTER_HALF;
        let middle = px.clamp(LEFT + half, (WIDTH - 2.0 - half).max(LEFT + half));
        let free = |base: &f64| {
            let beside = |(x, y, wide): &(f64, f64, f64)| {
                (x - middle).abs() >= wide + half || (y - base).abs() >= LINE
            };
            *base > LINE && *base < BOTTOM - 2.0 && placed.iter().all(beside)
        };
        let (above, below) = (py - 8.0, py + LINE + 3.0);
        let rows =
            if plot.low { [below, above, above - LINE] } else { [above, above - LINE, below] };
        let Some(base) = rows.into_iter().find(free) else { continue };
        svg.dot("peak", (px, py), 3.0);
        svg.text("value halo", (middle, base), Anchor::Middle, &text);
        placed.push((middle, base, half));
        if placed.len() == PEAKS_MAX {
            break;
        }
    }
}

/// What a screen reader says.
fn description(plot: &TimePlot<'_>, (from, to): (i64, i64)) -> String {
    let mut text = format!("{} to {}.", Stamp(from), Stamp(to));
    for curve in &plot.curves {
        let values = || curve.points.iter().map(|point| point.1);
        let (low, high) = (values().reduce(f64::min), values().reduce(f64::max));
        if let (Some(low), Some(high)) = (low, high) {
            let (low, high) = (written(plot.unit, low), written(plot.unit, high));
            text.push_str(&format!(" {}: {low} to {high}.", curve.name));
        }
    }
    let marked = peaks(plot).into_iter().take(PEAKS_MAX);
    let marked: Vec<String> = marked
        .map(|(at, value)| format!("{} at {}", written(plot.unit, value), Stamp(at)))
        .collect();
    if !marked.is_empty() {
        text.push_str(&format!(" Marked: {}.", marked.join(", ")));
    }
    text
}

/// The picture; `None` where there is nothing to see.
pub(in crate::render::view) fn draw(plot: &TimePlot<'_>) -> Option<String> {
    let points = || plot.curves.iter().flat_map(|curve| &curve.points);
    let from = points().map(|point| point.0).min()?;
    let to = points().map(|point| point.0).max().filter(|to| *to > from)?;
    let max = points().map(|point| point.1).fold(0.0, f64::max);
    // A limit far above everything would press the curves to the floor.
    let limit = plot.limit.filter(|limit| *limit <= max * 2.0);
    let foot = if Stamp(from).day() == Stamp(to).day() { FOOT } else { FOOT + DATES };
    let size = (WIDTH, BOTTOM + foot);
    let mut svg = Svg::new(&plot.id, size, &plot.title, &description(plot, (from, to)));
    let x = Scale::linear((from as f64, to as f64), (LEFT, RIGHT));
    for interval in plot.shaded.iter().filter(|interval| **interval != Interval::ALWAYS) {
        let start = interval.from.map_or(from, |stamp| stamp.0).clamp(from, to);
        let end = interval.to.map_or(to, |stamp| stamp.0).clamp(from, to);
        let (start, end) = (x.at(start as f64), x.at(end as f64));
        svg.bar("during", (start, TOP), ((end - start).max(2.0), BOTTOM - TOP), "in question");
    }
    let y = value_axis(&mut svg, plot, max.max(limit.unwrap_or(0.0)));
    let x = time_axis(&mut svg, plot.clock, (from, to));
    if let Some(limit) = limit {
        svg.line("limit", (LEFT, y.at(limit)), (RIGHT, y.at(limit)));
    }
    for (index, curve) in plot.curves.iter().enumerate().rev() {
        push_curve(&mut svg, index, (curve, plot.holds), x, y);
    }
    push_peaks(&mut svg, plot, x, y);
    Some(svg.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(i64, f64)>) -> TimePlot<'static> {
        TimePlot {
            id: "a".into(),
            title: "t".into(),
            unit: Unit::Percent,
            curves: vec![Curve { name: "machine".into(), points }],
            shaded: &[],
            limit: Some(30.0),
            low: false,
            clock: Clock::Local,
            holds: false,
        }
    }

    #[test]
    fn thinning_keeps_the_extremes() {
        let mut points: Vec<(i64, f64)> = (0..10_000).map(|at| (at, 50.0)).collect();
        (points[4321].1, points[8765].1) = (99.0, 1.0);
        let kept = stretches(&points, false);
        assert!(kept.len() <= POINTS_MAX, "{}", kept.len());
        assert!(kept.iter().any(|kept| kept.0 == (4321, 99.0)));
        assert!(kept.iter().any(|kept| kept.0 == (8765, 1.0)));
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let drawn = |points| draw(&plot(points)).expect("points").matches("<polyline").count();
        assert_eq!(drawn((0..10).map(|at| (at * 60, 5.0)).collect()), 1);
        let gap = (0..10).map(|at| (if at < 5 { at * 60 } else { at * 60 + 200 }, 5.0));
        assert_eq!(drawn(gap.collect()), 2);
    }

    #[test]
    fn times_have_few_round_labels() {
        for span in [1, 7, 59, 600, 3601, 40_000, DAY_S, 9 * DAY_S, 800 * DAY_S] {
            let (step, marks) = time_ticks(1_795_305_601, 1_795_305_601 + span);
            assert!(marks.len() <= 5, "{span}: {marks:?}");
            assert!(marks.iter().all(|at| at % step == 0));
        }
        assert_eq!(day(Stamp(0), true), "day 0");
        assert_eq!(day(Stamp(DAY_S), true), "day +1");
    }

    #[test]
    fn axes_speak_of_sizes_that_fit() {
        assert_eq!(axis_unit(Unit::Bytes, 5e9), (f64::from(1 << 30), "GiB".to_owned()));
        assert_eq!(axis_unit(Unit::BytesPerSecond, 5e3), (1024.0, "KiB/s".to_owned()));
        assert_eq!(axis_unit(Unit::PerSecond, 436_064.0), (1e3, "thousands per second".into()));
    }

    #[test]
    fn zeros_and_a_single_time_do_no_harm() {
        assert!(draw(&plot(vec![(5, 1.0)])).is_none());
        assert!(draw(&plot(Vec::new())).is_none());
        let flat = draw(&plot(vec![(0, 0.0), (1, 0.0), (2, 0.0)])).expect("a picture");
        assert!(!flat.contains("NaN") && !flat.contains("inf"), "{flat}");
    }
}
