//! The plots of a trial.

use super::model::{HUGEWISE, Trial};
use super::verdict::{Figures, duration};
use crate::render::axes::{Frame, Scale, WIDTH};
use crate::render::number::latency;
use crate::render::svg::{Anchor, Svg};
use hugewise_base::stats::Histogram;
use hugewise_base::units::Bytes;

/// Size of every plot.
const SIZE: (f64, f64) = (WIDTH, 270.0);
/// Corners of the plot proper.
const FRAME: Frame = Frame { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };
const LEFT: f64 = 58.0;
const RIGHT: f64 = 408.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 222.0;

/// Where the middle of bar `index` of `count` stands.
fn column(index: usize, count: usize) -> f64 {
    LEFT + (RIGHT - LEFT) * (index as f64 + 0.5) / count.max(1) as f64
}

fn axis(svg: &mut Svg, max: f64, unit: &str) -> Scale {
    FRAME.unit(svg, unit);
    FRAME.value_axis(svg, (0.0, max), 1.0)
}

/// Time of a random read: a bar a variant, whiskers from the fastest to the slowest run.
pub(crate) fn access(figures: &[Figures; 3]) -> Option<String> {
    let max = figures.iter().filter_map(|f| f.access.map(|a| a.max)).reduce(f64::max)?;
    let texts = figures.iter().filter_map(|f| {
        let access = f.access?;
        let (name, median) = (f.variant, access.median);
        Some(format!("{name} {median:.1} ns ({:.1} to {:.1})", access.min, access.max))
    });
    let description = texts.collect::<Vec<_>>().join(", ");
    let mut svg = Svg::new("access", SIZE, "Time of a random read", &description);
    let scale = axis(&mut svg, max, "ns, less is better");
    for (index, row) in figures.iter().enumerate() {
        let (x, name) = (column(index, figures.len()), row.variant);
        svg.text("label", (x, BOTTOM + 20.0), Anchor::Middle, name);
        let Some(access) = row.access else { continue };
        let y = scale.at(access.median);
        let title = format!("{name}: {:.1} ns", access.median);
        svg.bar(name, (x - 32.0, y), (64.0, BOTTOM - y), &title);
        let (low, high) = (scale.at(access.min), scale.at(access.max));
        svg.line("whisker", (x, low), (x, high));
        svg.line("whisker", (x - 7.0, low), (x + 7.0, low));
        svg.line("whisker", (x - 7.0, high), (x + 7.0, high));
        // Below the whisker's upper end there may be no room: the value goes to the foot.
        let text = format!("{:.1}", access.median);
        svg.text("value inside", (x, BOTTOM - 8.0), Anchor::Middle, &text);
    }
    FRAME.note(&mut svg, "whiskers: fastest and slowest run");
    Some(svg.finish())
}

/// A bar of a variant: how far beside the middle, what it is of, how much, and whether it is the
/// one that counts.
type Bar = (f64, &'static str, Option<Bytes>, bool);

fn in_mib(bytes: Bytes) -> f64 {
    bytes.0 as f64 / f64::from(1 << 20)
}

/// Amounts of memory of each variant beside each other; `None` where none is known.
fn memory_bars(
    (id, title, description, note): (&str, &str, &str, &str),
    figures: &[Figures; 3],
    wide: f64,
    bars: impl Fn(&Figures) -> Vec<Bar>,
) -> Option<String> {
    let known = figures.iter().flat_map(&bars).filter_map(|(_, _, bytes, _)| bytes);
    let max = known.map(in_mib).reduce(f64::max)?;
    let mut svg = Svg::new(id, SIZE, title, description);
    let scale = axis(&mut svg, max, "MiB, less is better");
    for (index, row) in figures.iter().enumerate() {
        let (x, name) = (column(index, figures.len()), row.variant);
        svg.text("label", (x, BOTTOM + 20.0), Anchor::Middle, name);
        for (beside, kind, bytes, counts) in bars(row) {
            let Some(bytes) = bytes else { continue };
            let (y, middle) = (scale.at(in_mib(bytes)), x + beside);
            let (shade, class) = if counts { ("", "value inside") } else { (" pale", "value") };
            let (at, size) = ((middle - wide / 2.0, y), (wide, BOTTOM - y));
            svg.bar(&format!("{name}{shade}"), at, size, &format!("{name}, {kind}: {bytes}"));
            let text = format!("{:.0}", in_mib(bytes));
            svg.text(class, (middle, BOTTOM - 8.0), Anchor::Middle, &text);
        }
    }
    FRAME.note(&mut svg, note);
    Some(svg.finish())
}

/// Memory: what is resident, and what the cgroup was charged.
pub(crate) fn memory(figures: &[Figures; 3]) -> Option<String> {
    let text = |bytes: Option<Bytes>| bytes.map_or("unknown".into(), |bytes| bytes.to_string());
    let texts = figures
        .iter()
        .map(|f| format!("{}: RSS {}, cgroup {}", f.variant, text(f.rss), text(f.cgroup)));
    let description = texts.collect::<Vec<_>>().join("; ");
    let note = "left: RSS; right, pale: charged to its cgroup";
    let texts = ("memory", "Memory of the workload", description.as_str(), note);
    memory_bars(texts, figures, 42.0, |row| {
        vec![(-23.0, "RSS", row.rss, true), (23.0, "cgroup", row.cgroup, false)]
    })
}

/// Physical memory before most of it was freed, right after, and when it had settled.
pub(crate) fn freeing(figures: &[Figures; 3]) -> Option<String> {
    let texts = figures.iter().filter_map(|f| {
        let [before, after, later] = f.freeing?;
        Some(format!("{}: {before}, then {after}, settled {later}", f.variant))
    });
    let description = texts.collect::<Vec<_>>().join("; ");
    let note = "left to right: before, right after, settled";
    let texts = ("freeing", "Memory when most of it is freed", description.as_str(), note);
    memory_bars(texts, figures, 30.0, |row| {
        let at = |moment: usize| row.freeing.map(|all| all[moment]);
        vec![
            (-34.0, "before", at(0), false),
            (0.0, "right after", at(1), false),
            (34.0, "settled", at(2), true),
        ]
    })
}

/// Shares of all first touches, as "nines": each step to the right is ten times rarer.
const NINES: [(f64, &str); 6] =
    [(0.0, "0"), (1.0, "90 %"), (2.0, "99 %"), (3.0, "99.9 %"), (4.0, "99.99 %"), (5.0, "max")];

/// First touch of a page during the fill: latency by percentile, both axes logarithmic.
pub(crate) fn first_touch(figures: &[Figures; 3]) -> Option<String> {
    let max = figures.iter().filter_map(|f| f.first_touch.max()).max()? as f64;
    let min = figures.iter().filter_map(|f| f.first_touch.quantile(0.01)).min()? as f64;
    let tail = |f: &Figures| {
        let at = |q| duration(f.first_touch.quantile(q));
        format!("{}: median {}, 99.9 % {}", f.variant, at(0.5), at(0.999))
    };
    let description = figures.iter().map(tail).collect::<Vec<_>>().join("; ");
    let mut svg = Svg::new("touch", SIZE, "First touch of a page", &description);
    let floor = 10f64.powf(min.max(1.0).log10().floor());
    let top = 10f64.powf(max.max(10.0).log10().ceil());
    let (x, y) = (
        Scale::linear((0.0, 5.0), (LEFT, RIGHT - 14.0)),
        Scale::log((floor, top), (BOTTOM, TOP + 14.0)),
    );
    let mut decade = floor;
    while decade <= top * 1.001 {
        FRAME.row(&mut svg, y.at(decade), &latency(decade));
        decade *= 10.0;
    }
    for (nines, text) in NINES {
        FRAME.mark(&mut svg, x.at(nines), text);
    }
    FRAME.unit(&mut svg, "latency, less is better");
    for (index, row) in figures.iter().enumerate() {
        let name = row.variant;
        let points = curve(&row.first_touch);
        let points: Vec<_> = points.into_iter().map(|(n, ns)| (x.at(n), y.at(ns))).collect();
        svg.path(&format!("curve {name}"), &points);
        let at = LEFT + 6.0 + 92.0 * index as f64;
        svg.path(&format!("curve {name}"), &[(at, TOP + 4.0), (at + 20.0, TOP + 4.0)]);
        svg.text("label", (at + 25.0, TOP + 8.0), Anchor::Start, name);
    }
    let note = "share of touches that took at most so long";
    FRAME.note(&mut svg, note);
    Some(svg.finish())
}

fn curve(all: &Histogram) -> Vec<(f64, f64)> {
    let steps = (0..=50).map(|step| f64::from(step) / 10.0);
    let points = steps.filter_map(|nines| {
        let q = if nines >= 5.0 { 1.0 } else { 1.0 - 10f64.powf(-nines) };
        Some((nines, all.quantile(q)? as f64))
    });
    points.collect()
}

/// Share of each part that is huge while the manager works, a line a run.
pub(crate) fn coverage(trial: &Trial) -> Option<String> {
    let points = |part: &str| {
        let key = format!("{part}.huge_percent");
        let series = trial.of(HUGEWISE).flat_map(|record| &record.measured.series);
        series.filter(|series| series.key == key).map(|series| &series.points).collect::<Vec<_>>()
    };
    let dense = points("dense");
    let longest = dense.iter().flat_map(|run| run.iter()).map(|(at, _)| *at).reduce(f64::max)?;
    let ends = dense.iter().filter_map(|run| run.last()).map(|(_, share)| format!("{share:.0} %"));
    let ends = ends.collect::<Vec<_>>().join(", ");
    let description = format!("dense part at the end of each run: {ends}");
    let mut svg = Svg::new("coverage", SIZE, "Huge pages while hugewise works", &description);
    let y = axis(&mut svg, 100.0, "% huge");
    let x = FRAME.horizontal_axis(&mut svg, longest, " s");
    let parts =
        [("dense", "curve hugewise"), ("idle", "curve hugewise thin"), ("sparse", "curve always")];
    for (index, (name, class)) in parts.into_iter().enumerate() {
        for run in points(name) {
            let line = run.iter().map(|(at, share)| (x.at(*at), y.at(*share)));
            svg.path(class, &line.collect::<Vec<_>>());
        }
        let at = LEFT + 76.0 + 92.0 * index as f64;
        svg.path(class, &[(at, 8.0), (at + 20.0, 8.0)]);
        svg.text("label", (at + 25.0, 12.0), Anchor::Start, name);
    }
    let note = "time since the manager started; a line a run";
    FRAME.note(&mut svg, note);
    Some(svg.finish())
}
