//! Which values behind a finding are drawn: those that its chain of evidence quotes.

use super::time_plot::{Curve, TimePlot, draw};
use crate::render::text::capital;
use hugewise_base::escape::markup as escape;
use hugewise_base::escape::printable;
use hugewise_evidence::diagnose::{
    Context, Evidence, Finding, Line, Threshold, questions, written,
};
use hugewise_evidence::recording::{Clock, Field, Point, Recording, Span, Subject, Unit};
use std::fmt::Write;

/// Most plots beside a finding.
const PLOTS_MAX: usize = 4;
/// Most curves in a plot.
const CURVES_MAX: usize = 5;
/// Fewest values with a time that make a curve.
const POINTS_MIN: usize = 3;

/// One field, and whose values of it the evidence quotes.
struct Quoted<'a> {
    field: Field,
    limit: Option<Threshold>,
    lines: Vec<(&'a str, Line)>,
}

/// The limit that a field is held against, for a plot of one subject.
const fn limit_of(field: Field, machine: bool) -> Option<Threshold> {
    Some(match field {
        Field::CpuKernel if machine => Threshold::KernelHigh,
        Field::CpuKernel => Threshold::KernelCpuHigh,
        Field::CpuSoftirq if machine => Threshold::InterruptHigh,
        Field::CpuSoftirq => Threshold::InterruptCpuHigh,
        Field::CpuIowait => Threshold::IowaitHigh,
        Field::CpuSteal => Threshold::StealHigh,
        Field::CpuUser => Threshold::UserHigh,
        Field::ScanKswapd => Threshold::ReclaimScan,
        Field::CompactStall => Threshold::CompactHigh,
        Field::Fmfi => Threshold::FmfiHigh,
        Field::DiskBusy => Threshold::DiskBusy,
        Field::DiskQueue => Threshold::DiskQueue,
        Field::DiskAwait => Threshold::DiskAwait,
        Field::NetBusy => Threshold::LinkBusy,
        Field::GcPause => Threshold::GcPause,
        Field::CgroupThrottled => Threshold::ThrottledHigh,
        Field::PsiCpuSome | Field::PsiMemorySome | Field::PsiIoSome => Threshold::PsiHigh,
        _ => return None,
    })
}

/// Whether it is the low values that are bad.
const fn matters_low(field: Field) -> bool {
    use Field as F;
    matches!(
        field,
        F::CpuIdle
            | F::MemFree
            | F::MemAvailable
            | F::SwapFree
            | F::HugetlbFree
            | F::FreeHugeBlocks
            | F::ReclaimEfficiency
    )
}

/// The fields whose values a quantity may be computed from, itself first.
fn parts(field: Field) -> Vec<Field> {
    let more: &[Field] = match field {
        Field::CpuKernel => &[Field::CpuSystem],
        Field::ScanKswapd => &[Field::ScanDirect],
        _ => &[],
    };
    [&[field], more].concat()
}

/// All lines that the evidence's value may stand in, the computed ones first.
fn candidates(cx: &Context<'_>, field: Field, subject: &Subject) -> Vec<Line> {
    let scans = [Field::ScanKswapd, Field::ScanDirect];
    let computed = match field {
        Field::CpuKernel => cx.kernel(subject),
        Field::CpuUser => cx.user(subject),
        Field::CpuSoftirq => cx.interrupts(subject),
        Field::ScanKswapd => cx.sum(field, &scans, subject),
        _ => None,
    };
    computed.into_iter().chain(cx.line(field, subject)).collect()
}

/// The line that a piece of evidence is about, where there is enough of it.
fn line_of(cx: &Context<'_>, evidence: &Evidence) -> Option<Line> {
    let (field, name) = (evidence.field?, evidence.subject.as_deref()?);
    let fields = parts(field);
    let mut subjects = fields.iter().flat_map(|field| cx.host.subjects(*field));
    let subject = subjects.find(|(subject, _)| subject.to_string() == name)?.0;
    let all = candidates(cx, field, subject);
    let holds = |line: &&Line| {
        evidence.value.is_some_and(|value| line.points.iter().any(|point| point.value == value))
    };
    let line = all.iter().find(holds).or_else(|| all.first())?;
    let timed = |point: &&Point| point.at.is_some();
    let mut points = line.points.iter().filter(timed).map(|point| point.value);
    let enough = line.points.iter().filter(timed).count() >= POINTS_MIN;
    let first = points.next()?;
    // A size that never changes is no picture; a percentage or rate that does not may be one.
    let state = field.about().span == Span::Instant && field.about().unit != Unit::Percent;
    let changes = points.any(|value| value != first);
    (enough && (changes || !state)).then(|| line.clone())
}

/// What the chain quotes, by field. The top question only repeats what those below say.
fn quoted<'a>(cx: &Context<'_>, finding: &'a Finding) -> Vec<Quoted<'a>> {
    let mut all: Vec<Quoted<'a>> = Vec::new();
    let rest = finding.chain.iter().skip(1).chain(finding.chain.first());
    for step in rest {
        let limits = questions::find(step.node).map_or(&[][..], |node| &node.limits[..]);
        for evidence in &step.evidence {
            let Some(subject) = evidence.subject.as_deref() else { continue };
            let Some(line) = line_of(cx, evidence) else { continue };
            let limit = limit_of(line.field, line.subject == Subject::Machine);
            let limit = limit.filter(|limit| limits.contains(limit));
            if let Some(known) = all.iter_mut().find(|known| known.field == line.field) {
                known.limit = known.limit.or(limit);
                let new = known.lines.iter().all(|(name, _)| *name != subject);
                if new && known.lines.len() < CURVES_MAX {
                    known.lines.push((subject, line));
                }
            } else if all.len() < PLOTS_MAX {
                all.push(Quoted { field: line.field, limit, lines: vec![(subject, line)] });
            }
        }
    }
    all
}

/// The plots of one finding as HTML; empty where nothing was recorded over time.
pub(super) fn figures(
    recording: &Recording,
    cx: &Context<'_>,
    finding: &Finding,
    number: usize,
) -> String {
    let mut out = String::new();
    for (index, quoted) in quoted(cx, finding).iter().enumerate() {
        let about = quoted.field.about();
        let title = match quoted.lines.as_slice() {
            [(_, line)] if line.subject != Subject::Machine => {
                format!("{}: {}", printable(&line.subject.to_string()), about.name)
            }
            _ => capital(about.name),
        };
        let curves = quoted.lines.iter();
        let curves = curves.map(|(name, line)| Curve::new(printable(name), &line.points));
        let source = quoted.lines.first().and_then(|(_, line)| recording.source(line.source));
        let limit = quoted.limit.map(|limit| (limit, cx.limit(limit)));
        let plot = TimePlot {
            id: format!("plot-{number}-{}", index + 1),
            title,
            unit: about.unit,
            curves: curves.collect(),
            shaded: &finding.intervals,
            limit: limit.map(|limit| limit.1),
            low: matters_low(quoted.field),
            clock: source.map_or(Clock::Local, |source| source.clock),
            holds: false,
        };
        let Some(picture) = draw(&plot) else { continue };
        let caption = escape(&plot.title);
        let _ = write!(out, "<figure><figcaption>{caption}</figcaption>\n{picture}");
        push_legend(&mut out, &plot, limit.filter(|_| picture.contains("class=\"limit\"")));
        out.push_str("</figure>\n");
    }
    if out.is_empty() { out } else { format!("<div class=\"plots evidence\">\n{out}</div>\n") }
}

/// What the curves and the shading mean, in words.
fn push_legend(out: &mut String, plot: &TimePlot<'_>, limit: Option<(Threshold, f64)>) {
    let mut entries = Vec::new();
    let key = |class: &str| {
        format!(
            "<svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><line class=\"{class}\" \
             x1=\"1\" y1=\"5\" x2=\"27\" y2=\"5\"/></svg>"
        )
    };
    if plot.curves.len() > 1 {
        for (index, curve) in plot.curves.iter().enumerate() {
            entries.push(format!("{}{}", key(&format!("curve c{index}")), escape(&curve.name)));
        }
    }
    if let Some((threshold, value)) = limit {
        let (name, value) = (threshold.entry().key, escape(&written(plot.unit, value)));
        entries.push(format!("{}limit {value} (<code>{name}</code>)", key("limit")));
    }
    if !plot.shaded.is_empty() {
        entries.push("<span class=\"key during\"></span>when it held".to_owned());
    }
    if !entries.is_empty() {
        let entries: Vec<String> =
            entries.iter().map(|entry| format!("<span class=\"entry\">{entry}</span>")).collect();
        let _ = writeln!(out, "<p class=\"legend\">{}</p>", entries.join(" "));
    }
}
