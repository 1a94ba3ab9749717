//! How nodes read a recording: values within the times in question, quoted with their source.

use super::answer::{Answer, Evidence, Ground, Missing};
use super::interval::{Episode, Interval, episodes, latest_late, one_holds, one_meets, spacing_s};
use super::nearby::Nearby;
use super::reading::{Reading, least, most, most_by};
use super::relate::{aligned, rank_correlation};
use super::threshold::{Threshold, Thresholds};
use super::write;
use crate::recording::{
    ASSUMED, Field, Host, Point, Quote, Recording, Series, SourceId, SourceKind, Span, Stamp,
    Subject,
};
use hugewise_base::units::Bytes;

/// What a node sees: one machine, and the times for which its parent said yes.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// All machines.
    pub recording: &'a Recording,
    /// The machine in question.
    pub host: &'a Host,
    /// The thresholds in force.
    pub thresholds: &'a Thresholds,
    /// When the parent's answer was yes, [apart](super::apart); empty: always.
    pub times: &'a [Interval],
    /// CPU in use of all machines, in their order, as means over everything; empty where nobody
    /// compares machines.
    pub busy: &'a [Option<Reading>],
    /// Sources that were taken shortly before or after the one that shows the trouble.
    pub(super) nearby: &'a Nearby,
}

/// Values of one series, perhaps computed from several.
#[derive(Clone, Debug)]
pub struct Line {
    /// The quantity.
    pub field: Field,
    /// Whose.
    pub subject: Subject,
    /// From where: the first of the sources.
    pub source: SourceId,
    /// Later sources, each from its time on.
    pub later: Vec<(Stamp, SourceId)>,
    /// Whether it was computed.
    pub ground: Ground,
    /// The values.
    pub points: Vec<Point>,
}

impl Line {
    /// The value that `better` prefers, among those that `keep` keeps.
    fn best(&self, keep: impl Fn(&Point) -> bool, better: fn(f64, f64) -> bool) -> Option<Reading> {
        let kept = self.points.iter().filter(|point| keep(point)).copied();
        let best = kept.reduce(|a, b| if better(b.value, a.value) { b } else { a })?;
        Some(self.seen(best.value, Interval { from: None, to: best.at }))
    }

    /// A value of this line.
    pub fn seen(&self, value: f64, at: Interval) -> Reading {
        let source = Series::source_at(self.source, &self.later, at.to);
        Reading { field: self.field, subject: self.subject.clone(), value, at, source }
    }
}

/// Nothing was taken aside.
static NONE: Nearby = Nearby::new();

/// Two tools show the same rate where they differ by no more than this share of it.
const SAME_SHARE: f64 = 0.05;

impl<'a> Context<'a> {
    /// All times of one machine, by itself.
    pub fn alone(recording: &'a Recording, host: &'a Host, thresholds: &'a Thresholds) -> Self {
        Self { recording, host, thresholds, times: &[], busy: &[], nearby: &NONE }
    }

    /// The same at other times, which are [apart](super::apart); none: always.
    pub(crate) const fn during<'b>(&self, times: &'b [Interval]) -> Context<'b>
    where
        'a: 'b,
    {
        Context { times, ..*self }
    }
}

impl Context<'_> {
    /// The value of a threshold, on the machine's page sizes: given are those of x86.
    pub fn limit(&self, threshold: Threshold) -> f64 {
        let pages = self.host.geometry();
        let by = |ours: Bytes, usual: Bytes| ours.0 as f64 / usual.0 as f64;
        let value = self.thresholds.get(threshold);
        match threshold {
            // The same bytes are fewer pages.
            Threshold::ReclaimScan | Threshold::DirectScanHigh => {
                value / by(pages.base, ASSUMED.base)
            }
            // Clearing it takes nearly all of the time.
            Threshold::CostHugeFault => value * by(pages.huge, ASSUMED.huge),
            _ => value,
        }
    }

    /// Whether a value's time is one of those in question.
    pub(crate) fn in_times(&self, point: &Point) -> bool {
        self.times.is_empty() || one_holds(self.times, point.at)
    }

    /// The series, as a line of its own.
    pub fn line(&self, field: Field, subject: &Subject) -> Option<Line> {
        self.view(field, subject).map(|series| line_of(field, subject, series))
    }

    /// The series to go by where several sources have the same: of rates and shares the worst view
    /// within the times in question, because a long quiet recording must not hide a short listing
    /// of the moment; of states the one with most values.
    fn view(&self, field: Field, subject: &Subject) -> Option<&Series> {
        let all = self.host.series.get(&field)?.get(subject)?;
        let averages = matches!(field.about().span, Span::Average | Span::Event);
        if all.len() < 2 || !averages {
            return self.host.series(field, subject);
        }
        // The less idle, the worse.
        let sign = if field == Field::CpuIdle { -1.0 } else { 1.0 };
        let worst = |series: &&Series| {
            let values = series.points.iter().filter(|point| self.in_times(point));
            values.map(|point| sign * point.value).fold(f64::NEG_INFINITY, f64::max)
        };
        let top = all.iter().rev().max_by(|a, b| worst(a).total_cmp(&worst(b)))?;
        // Of two that show the same, the one with times tells what else was so then.
        let timed = |series: &&Series| series.points.iter().all(|point| point.at.is_some());
        if timed(&top) {
            return Some(top);
        }
        let most = worst(&top);
        let same = |series: &&Series| (most - worst(series)).abs() <= SAME_SHARE * most.abs();
        Some(all.iter().rev().filter(same).find(timed).unwrap_or(top))
    }

    /// The lines of a field about all subjects that `keep` keeps.
    pub(crate) fn lines(&self, field: Field, keep: impl Fn(&Subject) -> bool) -> Vec<Line> {
        let subjects = self.host.subjects(field).map(|(subject, _)| subject);
        subjects.filter(|subject| keep(subject)).filter_map(|s| self.line(field, s)).collect()
    }

    /// Every reading of a state, whichever listing has it: several listings of one state are one
    /// line in their order, as somebody took them one after the other.
    pub(crate) fn all_readings(&self, field: Field) -> Vec<Line> {
        let mut lines = Vec::new();
        for (subject, all) in self.host.subjects(field) {
            let mut all: Vec<&Series> = all.iter().collect();
            all.sort_by_key(|series| series.source);
            let Some(first) = all.first() else { continue };
            let mut line = line_of(field, subject, first);
            line.points = all.iter().flat_map(|series| &series.points).copied().collect();
            lines.push(line);
        }
        lines
    }

    /// The sum of several fields of one subject, where all have values of the same time. Fields
    /// without a series count as 0, as long as the first has one.
    pub fn sum(&self, name: Field, fields: &[Field], subject: &Subject) -> Option<Line> {
        let first = self.view(*fields.first()?, subject)?;
        let (mut points, sources) = (first.points.clone(), first.sources());
        for field in &fields[1..] {
            let all = self.host.series.get(field).and_then(|all| all.get(subject));
            // Of the same source: another one's values would be of other times.
            let series = all.and_then(|all| all.iter().find(|s| s.is_of(&sources)));
            let Some(series) = series else { continue };
            for (index, point) in points.iter_mut().enumerate() {
                point.value += series.beside(index, point.at).unwrap_or(0.0);
            }
        }
        let (source, later) = (first.source, first.later.clone());
        let subject = subject.clone();
        Some(Line { field: name, subject, source, later, ground: Ground::Derived, points })
    }

    /// CPU in the kernel, interrupts included, of the machine or of a CPU.
    pub fn kernel(&self, subject: &Subject) -> Option<Line> {
        let parts = [Field::CpuSystem, Field::CpuIrq, Field::CpuSoftirq];
        let (whole, sum) =
            (self.line(Field::CpuKernel, subject), self.sum(Field::CpuKernel, &parts, subject));
        match (whole, sum) {
            (Some(whole), Some(sum)) if sum.points.len() > whole.points.len() => Some(sum),
            (Some(whole), _) => Some(whole),
            (None, sum) => sum,
        }
    }

    /// CPU in hardware and soft interrupts; called after the soft ones where there are no others.
    pub fn interrupts(&self, subject: &Subject) -> Option<Line> {
        let parts = [Field::CpuSoftirq, Field::CpuIrq];
        let hard = self.line(Field::CpuIrq, subject).and_then(|line| self.highest(&line));
        let name = match hard {
            Some(hard) if hard.value > 0.0 => Field::CpuInterrupts,
            _ => Field::CpuSoftirq,
        };
        self.sum(name, &parts, subject)
    }

    /// CPU in programs.
    pub fn user(&self, subject: &Subject) -> Option<Line> {
        self.sum(Field::CpuUser, &[Field::CpuUser, Field::CpuNice], subject)
    }

    /// CPU in use: whatever is neither idle nor iowait.
    pub(crate) fn busy(&self, subject: &Subject) -> Option<Line> {
        let mut line = self.sum(Field::CpuIdle, &[Field::CpuIdle, Field::CpuIowait], subject)?;
        for point in &mut line.points {
            point.value = (100.0 - point.value).clamp(0.0, 100.0);
        }
        Some(line)
    }

    /// Mean of the CPU in use of the machine.
    pub(crate) fn mean_busy(&self) -> Option<Reading> {
        self.mean(&self.busy(&Subject::Machine)?)
    }

    /// The highest value within the times in question.
    pub(crate) fn highest(&self, line: &Line) -> Option<Reading> {
        line.best(|point| self.in_times(point), |a, b| a > b)
    }

    /// The lowest value within the times in question.
    pub(crate) fn lowest(&self, line: &Line) -> Option<Reading> {
        line.best(|point| self.in_times(point), |a, b| a < b)
    }

    /// All values of a state of the machine, by source: one look at a bad moment counts, whatever
    /// other looks show.
    pub(crate) fn looks_at(&self, field: Field) -> impl Iterator<Item = Line> {
        let machine = &Subject::Machine;
        let all = self.host.series.get(&field).and_then(|all| all.get(machine));
        all.into_iter().flatten().map(move |series| line_of(field, machine, series))
    }

    /// The highest value of one subject.
    pub(crate) fn peak(&self, field: Field, subject: &Subject) -> Option<Reading> {
        self.highest(&self.line(field, subject)?)
    }

    /// The mean of one subject.
    pub(crate) fn mean_at(&self, field: Field, subject: &Subject) -> Option<Reading> {
        self.mean(&self.line(field, subject)?)
    }

    /// The highest value of all subjects.
    pub(crate) fn top(&self, field: Field) -> Option<Reading> {
        self.top_of(field, |_| true)
    }

    /// The highest value of these subjects.
    pub(crate) fn top_of(&self, field: Field, keep: impl Fn(&Subject) -> bool) -> Option<Reading> {
        most(self.lines(field, keep).iter().filter_map(|line| self.highest(line)))
    }

    /// The highest mean of all subjects.
    pub(crate) fn top_mean(&self, field: Field) -> Option<Reading> {
        most(self.lines(field, |_| true).iter().filter_map(|line| self.mean(line)))
    }

    /// The highest values of these subjects, the highest first.
    pub(crate) fn sorted(&self, field: Field, keep: impl Fn(&Subject) -> bool) -> Vec<Reading> {
        let lines = self.lines(field, keep);
        let mut all: Vec<Reading> = lines.iter().filter_map(|line| self.highest(line)).collect();
        all.sort_by(|a, b| b.value.total_cmp(&a.value));
        all
    }

    /// Whether a value reaches a limit; close where it nearly does.
    pub(crate) fn judged(
        &self,
        seen: Option<Reading>,
        limit: Threshold,
        weight: f64,
        missing: Missing,
    ) -> Answer {
        let Some(seen) = seen else { return Answer::unknown(&[missing]) };
        let limit = self.limit(limit);
        Answer::when(seen.value >= limit, weight, vec![self.quote(&seen)])
            .or_close(self.is_close(seen.value, limit))
    }

    /// As [`Context::say`], about what follows from the value.
    pub(crate) fn derive(&self, seen: &Reading, text: &str) -> Evidence {
        Evidence { ground: Ground::Derived, ..self.say(seen, text) }
    }

    /// The lowest value of a state of the machine, of all sources.
    pub(crate) fn lowest_of(&self, field: Field) -> Option<Reading> {
        least(self.looks_at(field).filter_map(|line| self.lowest(&line)))
    }

    /// The highest value of a state of the machine, of all sources.
    pub(crate) fn highest_of(&self, field: Field) -> Option<Reading> {
        most(self.looks_at(field).filter_map(|line| self.highest(&line)))
    }

    /// The mean within the times in question.
    pub(crate) fn mean(&self, line: &Line) -> Option<Reading> {
        let values = line.points.iter().filter(|point| self.in_times(point)).map(|p| p.value);
        let (sum, count) = values.fold((0.0, 0_usize), |(sum, n), value| (sum + value, n + 1));
        let at = if let [one] = self.times { *one } else { Interval::ALWAYS };
        (count > 0).then(|| line.seen(sum / count as f64, at))
    }

    /// The highest mean over a minute within the times in question, or over one sample where those
    /// are longer: a storm of ten minutes counts, though a day's mean hides it. The mean of all
    /// where they are shorter than a minute, or have no times.
    pub(crate) fn sustained(&self, line: &Line) -> Option<Reading> {
        let overall = self.mean(line)?;
        let points: Vec<Point> =
            line.points.iter().filter(|point| self.in_times(point)).copied().collect();
        let Some(spacing) = spacing_s(&points) else { return Some(overall) };
        let count = usize::try_from(60 / spacing.max(1)).unwrap_or(1).max(1);
        let windows = points.windows(count).filter_map(|window| {
            let (first, last) = (window.first()?.at?, window.last()?.at?);
            let from = Stamp(first.0.saturating_sub(spacing));
            // A gap is no minute.
            let near = last.0.saturating_sub(from.0) <= spacing.saturating_mul(2).max(120);
            let mean = window.iter().map(|point| point.value).sum::<f64>() / count as f64;
            near.then_some((mean, Interval { from: Some(from), to: Some(last) }))
        });
        let highest = most_by(windows, |(mean, _)| *mean).filter(|(mean, _)| *mean > overall.value);
        Some(highest.map_or(overall, |(mean, at)| line.seen(mean, at)))
    }

    /// Mean of a field about the machine within the times in question.
    pub(crate) fn mean_of(&self, field: Field) -> Option<Reading> {
        self.mean(&self.line(field, &Subject::Machine)?)
    }

    /// The last value known up to the end of the times in question, else the first after it:
    /// for states such as a memory's size, which need no sample of the very moment.
    pub(crate) fn latest(&self, field: Field, subject: &Subject) -> Option<Reading> {
        let line = self.line(field, subject)?;
        let end = self.times.iter().filter_map(|interval| interval.to).max();
        let in_time = |point: &&Point| match (end, point.at) {
            (Some(end), Some(at)) => at <= end,
            _ => true,
        };
        let point = line.points.iter().rev().find(in_time).or_else(|| line.points.first())?;
        Some(line.seen(point.value, Interval { from: None, to: point.at }))
    }

    /// How much a count since boot of the machine grew between the first and the last look at it,
    /// where there were two.
    pub(crate) fn grown(&self, field: Field) -> Option<Reading> {
        let all = self.host.series.get(&field)?.get(&Subject::Machine)?;
        let mut all: Vec<&Series> = all.iter().collect();
        all.sort_by_key(|series| series.source);
        let values: Vec<f64> = all.iter().flat_map(|s| &s.points).map(|p| p.value).collect();
        let [first, .., last] = values.as_slice() else { return None };
        let line = line_of(field, &Subject::Machine, all.last()?);
        (last >= first).then(|| line.seen(last - first, Interval::ALWAYS))
    }

    /// [`Context::latest`] of the machine.
    pub(crate) fn state(&self, field: Field) -> Option<Reading> {
        self.latest(field, &Subject::Machine)
    }

    /// All memory in bytes, as a source says it or lets it be computed. Never used and free
    /// together: what counts as used differs between tools and their versions.
    pub(crate) fn memory_bytes(&self) -> Option<f64> {
        if let Some(total) = self.state(Field::MemTotal) {
            return Some(total.value);
        }
        // BusyBox counts as used whatever is not free.
        let (used, free) = (self.state(Field::MemUsed)?, self.state(Field::MemFree)?);
        let source = self.recording.source(used.source)?;
        (source.kind == SourceKind::BusyBox).then_some(used.value + free.value)
    }

    /// Bytes of a base page: what the texts tell, else as on x86.
    pub(crate) fn base_page(&self) -> f64 {
        self.host.geometry().base.0 as f64
    }

    /// CPUs: as a source says, or as many as have values of their own.
    pub(crate) fn cpus(&self) -> Option<f64> {
        if let Some(count) = self.state(Field::CpuCount) {
            return Some(count.value);
        }
        let own = |(subject, _): &(&Subject, &[Series])| matches!(subject, Subject::Cpu(_));
        let count = [Field::CpuIdle, Field::CpuUser]
            .iter()
            .map(|field| self.host.subjects(*field).filter(own).count());
        count.max().filter(|count| *count > 0).map(|count| count as f64)
    }

    /// A setting.
    pub(crate) fn setting(&self, name: &str) -> Option<&Quote> {
        self.host.settings.get(name)
    }

    /// Says something about a setting.
    pub(crate) fn cite(&self, quote: &Quote, text: &str) -> Evidence {
        let mut evidence = Evidence::plain(Ground::Observed, text.to_owned());
        evidence.source = Some(quote.source);
        evidence
    }

    /// Rank correlation of two lines over the whole recording, with the number of samples.
    pub(crate) fn together(&self, a: &Line, b: &Line) -> Option<(f64, usize)> {
        let tolerance = spacing_s(&a.points)? / 2;
        let pairs = aligned(&a.points, &b.points, tolerance);
        rank_correlation(&pairs).map(|rho| (rho, pairs.len()))
    }

    /// Quotes a value.
    pub(crate) fn quote(&self, seen: &Reading) -> Evidence {
        self.say(seen, &write::sentence(seen))
    }

    /// Says something about a value.
    pub(crate) fn say(&self, seen: &Reading, text: &str) -> Evidence {
        let nearby = self.nearby.get(&(seen.source, seen.field));
        let nearby = nearby.map_or_else(String::new, |nearby| nearby.said(seen.value));
        let mut evidence = Evidence::plain(Ground::Observed, format!("{text}{nearby}"));
        evidence.source = Some(seen.source);
        (evidence.field, evidence.value) = (Some(seen.field), Some(seen.value));
        evidence.subject = Some(seen.subject.to_string());
        evidence.at = (seen.at != Interval::ALWAYS).then_some(seen.at);
        evidence
    }

    /// Whether a value below its limit is too near to it to rule anything out: the next sample, or
    /// the same by another tool, might have reached it.
    pub(crate) fn is_close(&self, value: f64, limit: f64) -> bool {
        value < limit && value >= limit * self.limit(Threshold::CloseShare) / 100.0
    }

    /// The plain question "does it reach this?": yes with the times and the peak, no with the
    /// highest value, unknown where no line has values in the times in question.
    pub(crate) fn reaches(
        &self,
        line: Option<Line>,
        limit: Threshold,
        missing: &[Missing],
    ) -> Answer {
        let limit = self.limit(limit);
        self.stands_out(line, limit, limit, missing)
    }

    /// As [`Context::reaches`], with a lower limit for neighbouring samples.
    pub(crate) fn stands_out(
        &self,
        line: Option<Line>,
        enter: f64,
        keep: f64,
        missing: &[Missing],
    ) -> Answer {
        let Some(line) = line else { return Answer::unknown(missing) };
        let Some(peak) = self.highest(&line) else { return Answer::unknown(missing) };
        if peak.value < enter {
            let close = self.is_close(peak.value, enter);
            return Answer::no(vec![self.quote(&peak)]).if_close(close);
        }
        // Of all values, because those of two times in question are no neighbours.
        let mut found = episodes(&line.points, enter, keep);
        found.retain(|episode| self.times.is_empty() || one_meets(self.times, &episode.interval));
        let shortest = self.limit(Threshold::EpisodeMin);
        found.retain(|episode| episode.seconds().is_none_or(|seconds| seconds >= shortest));
        if found.is_empty() {
            let text = format!("{}, for less than {shortest} s", write::sentence(&peak));
            return Answer::no(vec![self.say(&peak, &text)]).if_close(true);
        }
        // How bad it is follows from its mean, and a moment is not as bad as a while.
        let full = self.limit(Threshold::EpisodeFull);
        let badness = |episode: &Episode| {
            let long = episode.seconds().filter(|seconds| *seconds < full);
            episode.mean * long.map_or(1.0, |seconds| seconds / full)
        };
        let weight = found.iter().map(badness).fold(0.0, f64::max) / 100.0;
        let mut evidence = vec![self.say(&peak, &write::peaks(&peak, &found))];
        evidence.extend(self.late(&line, &found));
        let intervals = found.iter().map(|episode| episode.interval);
        let intervals = intervals.filter(|interval| *interval != Interval::ALWAYS).collect();
        Answer::yes(weight, evidence).during(intervals)
    }

    /// That the recorder itself had to wait in one of the episodes.
    fn late(&self, line: &Line, found: &[Episode]) -> Option<Evidence> {
        let least = self.limit(Threshold::LateMin);
        let intervals = found.iter().map(|episode| &episode.interval);
        let late = latest_late(&line.points, intervals, least)?;
        let text = format!(
            "the sample of {} came {} s late: the recorder itself had to wait",
            late.due,
            late.came.0.saturating_sub(late.due.0)
        );
        let mut evidence = Evidence::plain(Ground::Observed, text);
        evidence.source = Some(line.source);
        Some(evidence)
    }
}

fn line_of(field: Field, subject: &Subject, series: &Series) -> Line {
    let Series { source, later, points } = series.clone();
    Line { field, subject: subject.clone(), source, later, ground: Ground::Observed, points }
}
